CREATE TABLE tasks (
    name       VARCHAR(128) NOT NULL PRIMARY KEY,
    revision   BIGINT       NOT NULL,
    content    TEXT         NOT NULL,
    created_us BIGINT       NOT NULL,
    updated_us BIGINT       NOT NULL
)
