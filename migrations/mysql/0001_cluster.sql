-- What the whole cluster shares: its id, the topology a user stored, the proof of the sealing key.
CREATE TABLE cluster (
    name  VARCHAR(64) NOT NULL PRIMARY KEY,
    value LONGTEXT    NOT NULL
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
