//! What a worker last said of a subtask. The only source of *seen*: no status is ever asked of a database.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{BinlogPosition, Generation, LedgerId, SourcePosition, SubtaskId, TableName};
use crate::error::Fault;

/// The state of a subtask's run on a worker. The allowed moves stand in `worker::run`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum RunState {
    /// Nothing is read and nothing will be written.
    Closed,
    /// Connections are being opened and the target taken over.
    Initializing,
    Running,
    /// Work in flight is being finished or aborted.
    Closing,
}

/// Why a run is closed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Outcome {
    /// Never opened.
    NeverRun,
    /// Asked to stop.
    Stopped,
    /// All of its work is done (mode `full`).
    Finished,
    /// It met an error; see [`SubtaskReport::error`].
    Failed,
}

/// The part of the work a run is in; DM's unit names on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Unit {
    Load,
    Sync,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SubtaskReport {
    pub id: SubtaskId,
    /// Tells a task from an earlier one of the same name, whose runs may be reported still.
    #[serde(default = "no_ledger")]
    pub ledger_id: LedgerId,
    pub generation: Generation,
    pub state: RunState,
    /// Given when `state` is Closed.
    pub outcome: Option<Outcome>,
    pub unit: Unit,
    pub load: Option<LoadProgress>,
    pub sync: Option<SyncProgress>,
    pub error: Option<ErrorReport>,
    /// Things worth telling that are no error, newest last (a ledger not found, a source statement passed over).
    pub notices: Vec<Notice>,
    /// The worker's clock when this was put together.
    pub reported_at_us: i64,
}

/// Of reports that were stored before they named it.
fn no_ledger() -> LedgerId {
    LedgerId(Uuid::nil())
}

impl SubtaskReport {
    /// Whether it says how a run ended: closed, after it was opened.
    pub fn is_end(&self) -> bool {
        self.state == RunState::Closed
            && matches!(self.outcome, Some(Outcome::Stopped | Outcome::Finished | Outcome::Failed))
    }

    /// The report of a retry that has not come to work yet: what the failed run before it had done still holds, and
    /// its lag has grown since.
    pub fn going_on_from(&self, failed: &Self) -> Self {
        let mut report = self.clone();
        if self.sync.is_some() || self.load.is_some() {
            return report;
        }
        report.unit = failed.unit;
        report.load.clone_from(&failed.load);
        report.sync = failed.sync.as_ref().map(|sync| sync.after_us(self.reported_at_us - failed.reported_at_us));
        report
    }
}

/// The error that closed the run, or that it is retrying.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ErrorReport {
    pub fault: Fault,
    pub verdict: Verdict,
    pub table: Option<TableName>,
    /// The source position the error speaks of.
    pub position: Option<SourcePosition>,
    pub at_us: i64,
    #[serde(default)]
    pub detail: ErrorDetail,
    #[serde(default)]
    pub history: ErrorHistory,
}

/// What an error is about beyond table and position, as far as it is about one row or one statement.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorDetail {
    /// The row's key; never the row.
    pub key: Option<String>,
    /// The source transaction.
    pub gtid: Option<String>,
    /// The number that the server itself gives the error.
    pub server_error: Option<u16>,
}

/// Failures in a row: since the task was started or worked for long enough. Kept by the master, which outlives runs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorHistory {
    /// 0: not counted yet.
    pub times: u32,
    /// When the first of them happened.
    pub first_us: Option<i64>,
    /// When the next run is due; None: none is.
    pub next_us: Option<i64>,
}

/// What happens after an error. One function decides it, from the error's kind (`worker::verdict`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Verdict {
    /// Opened again by itself, with backoff; the retries end.
    RetryLater,
    /// The ledger in the target already knows this generation or a later one (a metastore was restored): the next
    /// run needs a higher one.
    NeedsGenerationAbove(Generation),
    /// Waits for an operator, whose next step is the text.
    PauseFor(String),
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Notice {
    pub at_us: i64,
    pub text: String,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct LoadProgress {
    pub finished_tables: u64,
    pub total_tables: u64,
    pub finished_rows: u64,
    /// From the source's statistics: an estimate.
    pub estimated_rows: u64,
    pub finished_bytes: u64,
    pub estimated_bytes: u64,
    pub bytes_per_second: u64,
    pub rows_per_second: u64,
    /// The position the snapshot stands at; replication goes on from there.
    pub snapshot: Option<SourcePosition>,
    pub done: bool,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct SyncProgress {
    /// Row changes applied since this run was opened.
    pub applied_rows: u64,
    pub rows_per_second: u64,
    /// Row changes a second over the whole run.
    pub rows_per_second_total: u64,
    pub applied_transactions: u64,
    /// Where the source stands, as last asked or heard.
    pub source_position: Option<SourcePosition>,
    /// Up to here everything is surely in the target.
    pub applied_position: Option<SourcePosition>,
    /// Both are equal: nothing is left to apply.
    pub synced: bool,
    pub lag_seconds: u64,
    pub bytes_written: u64,
    pub bytes_read: u64,
    /// A DDL that is being applied now.
    pub running_ddl: Option<String>,
    pub statements_passed_over: u64,
    /// XA transactions that the source has prepared and not ended.
    #[serde(default)]
    pub prepared_transactions: u64,
    /// Where the first of them begins: the binlog is needed from there on.
    #[serde(default)]
    pub first_prepared: Option<BinlogPosition>,
}

impl SyncProgress {
    /// So much time after replication had ended without having been asked to: nobody knows what the source does, so
    /// the lag is what it may be at most.
    pub fn after_us(&self, elapsed_us: i64) -> Self {
        Self {
            lag_seconds: self.lag_seconds.saturating_add(u64::try_from(elapsed_us / 1_000_000).unwrap_or(0)),
            rows_per_second: 0,
            synced: false,
            running_ddl: None,
            ..self.clone()
        }
    }
}
