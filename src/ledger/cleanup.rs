//! Removing a deleted subtask's ledger from the target.

use std::time::Duration;

use super::error::Error;
use super::tables;
use super::takeover::Ledger;
use crate::model::{Endpoint, Generation, LedgerId};
use crate::mysql::{Connection, Deadline, Purpose};

/// No run has this generation or a later one.
const LAST: Generation = Generation(i64::MAX as u64);

/// Ends what may still write under this ledger id, then removes its rows. Never a DROP: an abandoned one stays
/// queued at the server, blocks readers, and runs later. Safe to repeat; a ledger that is not there is clean.
pub async fn clean(endpoint: &Endpoint, meta_schema: &str, id: LedgerId, deadline: Deadline) -> Result<(), Error> {
    let failed = |cause| Error::Database { doing: "clean", id, cause };
    let mut connection = Connection::open(endpoint, Purpose::Writing, deadline).await.map_err(failed)?;
    let present = tables::existing(&mut connection, meta_schema, deadline).await.map_err(failed)?;
    let has = |table: &str| present.iter().any(|name| name.eq_ignore_ascii_case(table));
    if !has(tables::RUN) {
        return Ok(());
    }
    let ledger = Ledger::unclaimed(endpoint, meta_schema, id, LAST);
    let waits = "SET SESSION innodb_lock_wait_timeout=2, lock_wait_timeout=2";
    connection.run(waits, "bounding lock waits", deadline).await.map_err(failed)?;
    let raise = |table| {
        format!("UPDATE {} SET generation = {LAST} WHERE ledger_id = {}", ledger.table(table), ledger.id_literal())
    };
    connection.run(raise(tables::RUN), "fencing the ledger", deadline).await.map_err(failed)?;
    if has(tables::LANE) {
        ledger.outwait_sessions(&mut connection, deadline).await?;
        connection.run(raise(tables::LANE), "fencing the lanes", deadline).await.map_err(failed)?;
    }
    // The run's line goes last: as long as it is there, a late opening finds the last generation.
    for table in tables::ALL.into_iter().rev().filter(|table| has(table)) {
        let sql = format!("DELETE FROM {} WHERE ledger_id = {}", ledger.table(table), ledger.id_literal());
        connection.run(sql, "removing the ledger's rows", deadline).await.map_err(failed)?;
    }
    connection.close(deadline.at_most(Duration::from_millis(500))).await;
    Ok(())
}
