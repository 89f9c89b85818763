//! Removing what a deleted task left in its target.

use super::Side;
use super::error::server_fault;
use crate::error::{Chain, Fault, codes};
use crate::ledger;
use crate::model::record::CleanupRecord;
use crate::mysql::Deadline;

/// Ends what may still write for the record's ledgers, and removes their rows. Safe to repeat.
pub async fn clean(record: &CleanupRecord, deadline: Deadline) -> Result<(), Fault> {
    for abandoned in &record.ledgers {
        ledger::clean(&record.target, &record.meta_schema, abandoned.ledger_id, deadline)
            .await
            .map_err(|error| fault(&error))?;
    }
    Ok(())
}

fn fault(error: &ledger::Error) -> Fault {
    match error {
        ledger::Error::Database { cause, .. } => server_fault(Side::Target, error, cause),
        ledger::Error::StillHeld { .. } => codes::DATABASE_EXECUTE_FAILED
            .fault(Chain(error).to_string())
            .on_target()
            .with_workaround("it is tried again by itself, once the server has undone the old transaction"),
        ledger::Error::GenerationStale { .. }
        | ledger::Error::TakenOver { .. }
        | ledger::Error::Superseded { .. }
        | ledger::Error::Unreadable { .. } => {
            codes::DATABASE_EXECUTE_FAILED.fault(Chain(error).to_string()).on_target()
        }
    }
}
