CREATE TABLE sources (
    name       VARCHAR(64) NOT NULL PRIMARY KEY,
    revision   BIGINT      NOT NULL,
    enabled    BIGINT      NOT NULL,
    content    TEXT        NOT NULL,
    created_us BIGINT      NOT NULL,
    updated_us BIGINT      NOT NULL
)
