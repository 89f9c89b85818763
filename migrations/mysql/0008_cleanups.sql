-- What deleted tasks left in their targets and what became of the tries to remove it.
CREATE TABLE cleanups (
    id            VARCHAR(36)  NOT NULL PRIMARY KEY,
    task          VARCHAR(128) NOT NULL,
    content       LONGTEXT     NOT NULL,
    confirmed_off BIGINT       NOT NULL,
    attempts      BIGINT       NOT NULL,
    tried_us      BIGINT       NULL,
    cause         LONGTEXT     NULL,
    created_us    BIGINT       NOT NULL
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
