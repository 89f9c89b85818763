-- Which incarnation of which worker holds a source.
CREATE TABLE assignments (
    source       VARCHAR(64)  NOT NULL PRIMARY KEY,
    worker       VARCHAR(255) NOT NULL,
    worker_epoch BIGINT       NOT NULL,
    assigned_us  BIGINT       NOT NULL
)
