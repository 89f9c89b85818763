//! The ledger's tables: their names and how they are made.
//!
//! Character sets and collations are explicit, so that nothing depends on the server's defaults. Every table is
//! keyed by ledger id first: one subtask's rows lie together and no two subtasks share one.

use crate::mysql::{Connection, Deadline, identifier};

/// The layout of these tables. A ledger written by a later layout is refused.
pub const FORMAT: u32 = 1;

pub const RUN: &str = "ferrymaster_run";
pub const LANE: &str = "ferrymaster_lane";
pub const SNAPSHOT: &str = "ferrymaster_snapshot";
pub const TABLE: &str = "ferrymaster_table";
pub const RANGE: &str = "ferrymaster_range";
pub const STRUCTURE: &str = "ferrymaster_structure";
pub const ANNOUNCED: &str = "ferrymaster_announced_ddl";
pub const PREPARED: &str = "ferrymaster_prepared";

pub const ALL: [&str; 8] = [RUN, LANE, SNAPSHOT, TABLE, RANGE, STRUCTURE, ANNOUNCED, PREPARED];

/// `` `schema`.`table` `` for one of the names above.
pub fn qualified(meta_schema: &str, table: &str) -> String {
    format!("{}.{}", identifier(meta_schema), identifier(table))
}

/// Which of the tables exist.
pub async fn existing(
    connection: &mut Connection,
    meta_schema: &str,
    deadline: Deadline,
) -> Result<Vec<String>, crate::mysql::Error> {
    let sql = format!(
        "SELECT table_name AS name FROM information_schema.tables WHERE table_schema = {} AND table_name IN ({})",
        crate::mysql::string_literal(meta_schema),
        ALL.map(crate::mysql::string_literal).join(",")
    );
    let rows = connection.rows(&sql, "looking for the ledger's tables", deadline).await?;
    rows.iter().map(|row| row.text("name")).collect()
}

/// Makes what is missing. Asks first, so that an account without the right to create can use what is there.
pub async fn make(
    connection: &mut Connection,
    meta_schema: &str,
    deadline: Deadline,
) -> Result<(), crate::mysql::Error> {
    let present = existing(connection, meta_schema, deadline).await?;
    if ALL.iter().all(|table| present.iter().any(|name| name.eq_ignore_ascii_case(table))) {
        return Ok(());
    }
    let schema = identifier(meta_schema);
    let doing = "making the ledger's tables";
    connection
        .run(
            format!("CREATE DATABASE IF NOT EXISTS {schema} DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"),
            doing,
            deadline,
        )
        .await?;
    for (table, columns) in definitions() {
        let sql = format!(
            "CREATE TABLE IF NOT EXISTS {} ({columns}) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin",
            qualified(meta_schema, table)
        );
        connection.run(sql, doing, deadline).await?;
    }
    Ok(())
}

const ID: &str = "ledger_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL";
const NAMES: &str = "source_schema VARCHAR(64) NOT NULL, source_table VARCHAR(64) NOT NULL";

fn definitions() -> [(&'static str, String); 8] {
    [
        (
            RUN,
            format!(
                "{ID} PRIMARY KEY, generation BIGINT UNSIGNED NOT NULL, format INT UNSIGNED NOT NULL, \
                 task VARCHAR(128) NOT NULL, source VARCHAR(32) NOT NULL, phase VARCHAR(16) NOT NULL, \
                 source_identity VARCHAR(255) NOT NULL, \
                 restarted_under BIGINT UNSIGNED NOT NULL DEFAULT 0"
            ),
        ),
        (
            LANE,
            format!(
                "{ID}, lane VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL, \
                 generation BIGINT UNSIGNED NOT NULL, counter BIGINT UNSIGNED NOT NULL, \
                 low_water MEDIUMTEXT NULL, applied MEDIUMTEXT NOT NULL, PRIMARY KEY (ledger_id, lane)"
            ),
        ),
        (
            SNAPSHOT,
            format!(
                "{ID}, number INT UNSIGNED NOT NULL, position MEDIUMTEXT NOT NULL, PRIMARY KEY (ledger_id, number)"
            ),
        ),
        (
            TABLE,
            format!(
                "{ID}, number INT UNSIGNED NOT NULL, {NAMES}, target_schema VARCHAR(64) NOT NULL, \
                 target_table VARCHAR(64) NOT NULL, state VARCHAR(16) NOT NULL, origin TINYINT NOT NULL, \
                 snapshot INT UNSIGNED NOT NULL, later MEDIUMTEXT NOT NULL, PRIMARY KEY (ledger_id, number), \
                 UNIQUE KEY (ledger_id, source_schema, source_table)"
            ),
        ),
        (
            RANGE,
            format!(
                "{ID}, table_number INT UNSIGNED NOT NULL, number INT UNSIGNED NOT NULL, \
                 lower_key MEDIUMTEXT NULL, upper_key MEDIUMTEXT NULL, reached_key MEDIUMTEXT NULL, \
                 done TINYINT NOT NULL, snapshot INT UNSIGNED NOT NULL, copied_rows BIGINT UNSIGNED NOT NULL, \
                 copied_bytes BIGINT UNSIGNED NOT NULL, PRIMARY KEY (ledger_id, table_number, number)"
            ),
        ),
        (
            STRUCTURE,
            format!(
                "{ID}, {NAMES}, structure MEDIUMTEXT NOT NULL, PRIMARY KEY (ledger_id, source_schema, source_table)"
            ),
        ),
        (ANNOUNCED, format!("{ID} PRIMARY KEY, announced MEDIUMTEXT NOT NULL")),
        (
            PREPARED,
            format!(
                "{ID}, xid VARCHAR(300) CHARACTER SET ascii COLLATE ascii_bin NOT NULL, place MEDIUMTEXT NOT NULL, \
                 PRIMARY KEY (ledger_id, xid)"
            ),
        ),
    ]
}
