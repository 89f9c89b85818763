CREATE TABLE workers (
    name          VARCHAR(255) NOT NULL PRIMARY KEY,
    address       VARCHAR(255) NOT NULL,
    epoch         BIGINT       NOT NULL,
    capacity      BIGINT       NOT NULL,
    departed      BIGINT       NOT NULL,
    registered_us BIGINT       NOT NULL
)
