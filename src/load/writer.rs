//! One batch, one transaction: its rows, the ledger's line on how far they reach, and the lane's fence.

use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream;

use super::batch::Batch;
use super::error::Error;
use super::insert::insert;
use super::statement::{Duplicates, TargetTable, load_data};
use crate::faults::FaultPoint;
use crate::ledger::LaneSession;
use crate::mysql::{self, Deadline, Done};

/// A batch is small; a target that does not take it in this time is taken for dead.
const BATCH_PATIENCE: Duration = Duration::from_secs(300);
/// Deadlocks and lock waits are tried again this often before they become an error.
const PASSING_TRIES: u32 = 10;

/// How rows get in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// LOAD DATA LOCAL, falling back to INSERT for a batch that it does not take faithfully.
    Load,
    /// The target does not allow LOCAL.
    Insert,
}

/// Writes a batch and the ledger's statements (`range`: how far it reaches) in one transaction. On return it is
/// durable. Deadlocks and lock waits are tried again; anything else leaves nothing behind.
pub async fn write(
    session: &mut LaneSession,
    table: &TargetTable,
    batch: &Batch,
    range: &str,
    way: &mut Way,
) -> Result<(), Error> {
    let mut tries = 0;
    loop {
        let outcome = write_once(session, table, batch, range, way).await;
        match outcome {
            Err(error) if is_passing(&error) && tries < PASSING_TRIES => {
                tries += 1;
                session.roll_back(Deadline::after(BATCH_PATIENCE)).await;
                tokio::time::sleep(Duration::from_millis(50 * u64::from(tries))).await;
            }
            Err(error) => {
                session.roll_back(Deadline::after(BATCH_PATIENCE)).await;
                return Err(error);
            }
            Ok(()) => return Ok(()),
        }
    }
}

fn is_passing(error: &Error) -> bool {
    matches!(error, Error::Write { cause, .. } if matches!(cause.server_code(), Some(1205 | 1213)))
}

async fn write_once(
    session: &mut LaneSession,
    table: &TargetTable,
    batch: &Batch,
    range: &str,
    way: &mut Way,
) -> Result<(), Error> {
    let deadline = Deadline::after(BATCH_PATIENCE);
    let write = |cause| Error::Write { table: table.name.clone(), cause };
    session.connection().run("BEGIN", "beginning a batch", deadline).await.map_err(write)?;
    if batch.rows > 0 {
        let taken = match *way {
            Way::Load => load_or_insert(session, table, batch, way, deadline).await?,
            Way::Insert => insert(session.connection(), table, batch, deadline).await?,
        };
        if taken != batch.rows {
            return Err(Error::Miscounted { table: table.name.clone(), sent: batch.rows, taken });
        }
    }
    let packet = format!("{range}; {}", session.progress_statement(None)?);
    let done =
        session.connection().run_many(packet.as_bytes(), "writing the ledger's line", deadline).await.map_err(write)?;
    session.check_fence(&done.last().cloned().unwrap_or_default())?;
    FaultPoint::BeforeBatchCommit.reach();
    session.connection().run("COMMIT", "committing a batch", deadline).await.map_err(write)?;
    FaultPoint::AfterBatchCommit.reach();
    Ok(())
}

async fn load_or_insert(
    session: &mut LaneSession,
    table: &TargetTable,
    batch: &Batch,
    way: &mut Way,
    deadline: Deadline,
) -> Result<u64, Error> {
    let write = |cause| Error::Write { table: table.name.clone(), cause };
    let pieces: Vec<std::io::Result<bytes::Bytes>> = batch.pieces.iter().cloned().map(Ok).collect();
    let outcome =
        session.connection().load(&load_data(table), stream::iter(pieces).boxed(), "loading rows", deadline).await;
    match outcome {
        Ok(done) if is_faithful(&done, batch.rows, table.duplicates) => return Ok(batch.rows),
        Ok(_) => {}
        // LOCAL is switched off, at the server or for this account.
        Err(error) if matches!(error.server_code(), Some(1148 | 3948 | 4166)) => *way = Way::Insert,
        Err(error) if error.is_fatal() || matches!(error.server_code(), Some(1205 | 1213)) => return Err(write(error)),
        // A refusal of a row: INSERT will name it.
        Err(_) => {}
    }
    session.connection().run_many(b"ROLLBACK; BEGIN", "beginning the batch anew", deadline).await.map_err(write)?;
    insert(session.connection(), table, batch, deadline).await
}

/// Nothing altered, nothing warned about, nothing dropped that was not to be. Where rows that are there already stay,
/// each of them is skipped with one warning of its own.
fn is_faithful(done: &Done, rows: u64, duplicates: Duplicates) -> bool {
    let count = |name: &str| summary_count(&done.info, name);
    let (records, skipped) = (count("Records"), count("Skipped"));
    match duplicates {
        Duplicates::Refuse => done.rows == rows && done.warnings == 0 && skipped == Some(0),
        Duplicates::Replace => records == Some(rows) && done.warnings == 0 && skipped == Some(0),
        Duplicates::Keep => records == Some(rows) && skipped == Some(u64::from(done.warnings)),
    }
}

/// A number of `Records: 3  Deleted: 0  Skipped: 0  Warnings: 0`.
fn summary_count(info: &str, name: &str) -> Option<u64> {
    let after = info.split(name).nth(1)?.trim_start_matches(':').trim_start();
    after.split(|character: char| !character.is_ascii_digit()).next()?.parse().ok()
}

/// Whether the target takes LOAD DATA LOCAL at all.
pub async fn way_of(connection: &mut mysql::Connection, deadline: Deadline) -> Result<Way, mysql::Error> {
    let row = connection.first_row("SELECT @@GLOBAL.local_infile AS allowed", "asking for LOCAL", deadline).await?;
    Ok(if row.number::<u8>("allowed")? == 1 { Way::Load } else { Way::Insert })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn done(rows: u64, warnings: u16, info: &str) -> Done {
        Done { rows, warnings, info: info.to_owned() }
    }

    #[test]
    fn a_load_counts_only_when_nothing_was_dropped_or_altered() {
        let clean = done(3, 0, "Records: 3  Deleted: 0  Skipped: 0  Warnings: 0");
        assert!(is_faithful(&clean, 3, Duplicates::Refuse));
        assert!(!is_faithful(&clean, 4, Duplicates::Refuse));
        let duplicate = done(2, 1, "Records: 3  Deleted: 0  Skipped: 1  Warnings: 1");
        assert!(!is_faithful(&duplicate, 3, Duplicates::Refuse));
        assert!(is_faithful(&duplicate, 3, Duplicates::Keep));
        let altered = done(2, 2, "Records: 3  Deleted: 0  Skipped: 1  Warnings: 2");
        assert!(!is_faithful(&altered, 3, Duplicates::Keep));
        let replaced = done(4, 0, "Records: 3  Deleted: 1  Skipped: 0  Warnings: 0");
        assert!(is_faithful(&replaced, 3, Duplicates::Replace));
    }
}
