CREATE TABLE subtasks (
    task        VARCHAR(128) NOT NULL,
    source      VARCHAR(64)  NOT NULL,
    revision    BIGINT       NOT NULL,
    wanted      VARCHAR(16)  NOT NULL,
    generation  BIGINT       NOT NULL,
    attempts    BIGINT       NOT NULL,
    ledger_id   VARCHAR(36)  NOT NULL,
    ledger_kept BIGINT       NOT NULL,
    content     TEXT         NOT NULL,
    conclusion  TEXT         NULL,
    PRIMARY KEY (task, source)
)
