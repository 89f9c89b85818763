-- Who leads. Every transaction that changes scheduling state begins by raising fence under its own epoch.
CREATE TABLE lease (
    name       VARCHAR(64)  NOT NULL PRIMARY KEY,
    holder     VARCHAR(255) NOT NULL,
    epoch      BIGINT       NOT NULL,
    fence      BIGINT       NOT NULL,
    renewed_us BIGINT       NOT NULL
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
