CREATE TABLE sources (
    name       VARCHAR(64) NOT NULL PRIMARY KEY,
    revision   BIGINT      NOT NULL,
    enabled    BIGINT      NOT NULL,
    content    LONGTEXT    NOT NULL,
    created_us BIGINT      NOT NULL,
    updated_us BIGINT      NOT NULL
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
