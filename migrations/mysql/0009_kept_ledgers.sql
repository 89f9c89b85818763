-- Ledger ids that a delete with keep_meta left for the next task of that name.
CREATE TABLE kept_ledgers (
    task       VARCHAR(128) NOT NULL,
    source     VARCHAR(64)  NOT NULL,
    ledger_id  VARCHAR(36)  NOT NULL,
    generation BIGINT       NOT NULL,
    kept_us    BIGINT       NOT NULL,
    PRIMARY KEY (task, source)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
