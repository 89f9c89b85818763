//! What the metastore remembers, as plain data. Its stored shapes are `metastore`'s own; these are the shapes that
//! every other room computes with. Times end in `_us`: microseconds since 1970, UTC.

use std::collections::BTreeMap;

use serde_json::Value;
use uuid::Uuid;

use super::report::SubtaskReport;
use super::subtask::{MigrateRule, OnDuplicate, Restart, StartAt, TaskMode, Wanted};
use super::{Endpoint, Epoch, Flavor, Generation, LedgerId, SourceName, SubtaskId, TaskName, WorkerName};

/// Counts the changes of a row. A change names the revision it was made from; another one in between fails it.
pub type Revision = u64;

/// What was found at a source when it was created or updated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerFacts {
    pub flavor: Flavor,
    /// As the server says it, for example `10.11.19-MariaDB`.
    pub version: String,
    /// `lower_case_table_names` is not 0.
    pub names_ignore_case: bool,
}

/// A source, and what the user sent for it.
#[derive(Debug, Clone)]
pub struct SourceRecord {
    pub name: SourceName,
    pub revision: Revision,
    /// Whether tasks may run on it.
    pub enabled: bool,
    /// What the user sent, whole, without its secrets: those are in `endpoint`.
    pub document: Value,
    pub endpoint: Endpoint,
    pub enable_gtid: bool,
    pub server: ServerFacts,
    pub created_us: i64,
    pub updated_us: i64,
}

/// What all subtasks of a task share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskSettings {
    pub mode: TaskMode,
    /// What the copy does with rows that the target has already.
    pub on_duplicate: OnDuplicate,
    /// The database in the target that holds the ledger.
    pub meta_schema: String,
    /// Collations the target does not know, by the one to use there.
    pub collation_map: BTreeMap<String, String>,
    pub export_threads: u32,
    pub import_threads: u32,
    pub replicate_lanes: u32,
    pub replicate_batch: u32,
}

/// A task, and what the user sent for it.
#[derive(Debug, Clone)]
pub struct TaskRecord {
    pub name: TaskName,
    pub revision: Revision,
    /// What the user sent, whole, without its secrets: those are in `target`.
    pub document: Value,
    pub target: Endpoint,
    pub settings: TaskSettings,
    pub created_us: i64,
    pub updated_us: i64,
}

/// What a subtask has of its own.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SubtaskSettings {
    /// The start given in the task, for mode `incremental`.
    pub start: Option<StartAt>,
    /// A start given with the call that starts the task; it applies once.
    pub restart: Option<Restart>,
    pub rules: Vec<MigrateRule>,
    /// Seconds a stop may wait for work in flight; None: the default.
    pub stop_grace_s: Option<u32>,
}

/// How a run ended, as the worker reported it.
#[derive(Debug, Clone)]
pub struct Conclusion {
    pub report: SubtaskReport,
    /// When the end was heard of, by the master's clock; the report's own times are the worker's.
    pub ended_us: i64,
    /// It was seen Running: it had taken the target over, so that no older run is alive there.
    pub worked: bool,
}

impl Conclusion {
    /// The run that ended.
    pub fn generation(&self) -> Generation {
        self.report.generation
    }
}

/// A task on one source: intent, the number of its run, and how the last run ended.
#[derive(Debug, Clone)]
pub struct SubtaskRecord {
    pub id: SubtaskId,
    pub revision: Revision,
    pub wanted: Wanted,
    /// The last generation given out; 0: never started.
    pub generation: Generation,
    /// Automatic retries since the last healthy stretch.
    pub attempts: u32,
    pub ledger_id: LedgerId,
    pub ledger_kept: bool,
    pub settings: SubtaskSettings,
    pub conclusion: Option<Conclusion>,
}

impl SubtaskRecord {
    /// How the run of the present generation ended, if it did.
    pub fn concluded(&self) -> Option<&SubtaskReport> {
        self.present_conclusion().map(|conclusion| &conclusion.report)
    }

    /// The failed run that the run of this generation is a retry of.
    pub fn failed_before(&self, generation: Generation) -> Option<&SubtaskReport> {
        let conclusion = self.conclusion.as_ref().filter(|_| self.attempts > 0)?;
        let is_retried = conclusion.generation() < generation && conclusion.report.error.is_some();
        is_retried.then_some(&conclusion.report)
    }

    /// As [`Self::concluded`], with the time.
    pub fn present_conclusion(&self) -> Option<&Conclusion> {
        self.conclusion.as_ref().filter(|conclusion| conclusion.generation() == self.generation)
    }
}

/// Which incarnation of which worker holds a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assignment {
    pub source: SourceName,
    pub worker: WorkerName,
    pub worker_epoch: Epoch,
    pub assigned_us: i64,
}

/// A worker that registered once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkerRecord {
    pub name: WorkerName,
    /// Where it says it can be reached; shown, never called.
    pub address: String,
    /// Its incarnation: given by the master at registration, one above the stored.
    pub epoch: Epoch,
    /// Sources it holds at most.
    pub capacity: u32,
    /// It said goodbye or its loss was recorded: nothing is expected of this incarnation any more.
    pub departed: bool,
    pub registered_us: i64,
}

/// What a deleted task left in its target.
#[derive(Debug, Clone)]
pub struct CleanupRecord {
    pub id: Uuid,
    pub task: TaskName,
    pub target: Endpoint,
    pub meta_schema: String,
    pub ledgers: Vec<AbandonedLedger>,
    /// The worker confirmed that it had closed every run. If not, a run may still be alive in the target, and a new
    /// task there waits until this record is closed.
    pub confirmed_off: bool,
    pub attempts: u32,
    pub tried_us: Option<i64>,
    /// Why the last try failed.
    pub cause: Option<String>,
    pub created_us: i64,
}

impl CleanupRecord {
    /// Whether a task must wait until this is closed: a run that nobody confirmed closed may be alive in its target,
    /// and the task came later.
    pub fn holds_up(&self, task: &TaskRecord) -> bool {
        let same_server = self.target.host == task.target.host && self.target.port == task.target.port;
        !self.confirmed_off && same_server && self.created_us < task.created_us
    }
}

/// The rows of one ledger id in a target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AbandonedLedger {
    pub source: SourceName,
    pub ledger_id: LedgerId,
    /// The last generation given out for it.
    pub generation: Generation,
}

/// A ledger that was left in the target for the next task of that name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptLedger {
    pub id: SubtaskId,
    pub ledger_id: LedgerId,
    pub generation: Generation,
    pub kept_us: i64,
}
