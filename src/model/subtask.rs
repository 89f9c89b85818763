//! What a worker needs to know to run one subtask.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Endpoint, Generation, LedgerId, SubtaskId};

/// What users asked for. Stored; only the API and the scheduler write it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Wanted {
    Running,
    Stopped,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum TaskMode {
    Full,
    Incremental,
    All,
    Dump,
    Load,
}

impl TaskMode {
    /// Whether existing rows are copied.
    pub fn copies(self) -> bool {
        !matches!(self, Self::Incremental)
    }

    /// Whether the binlog is followed.
    pub fn replicates(self) -> bool {
        matches!(self, Self::Incremental | Self::All)
    }
}

/// What the copy does with a row whose key the target has already.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum OnDuplicate {
    /// The source's row takes its place.
    Replace,
    /// The subtask stops with an error that names the row.
    #[default]
    Error,
    /// The target's row stays.
    Ignore,
}

/// A subtask as the master wants it on a worker: intent, the generation its next run must use, and everything
/// the run needs. Carries passwords: see [`Endpoint`].
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct WantedSubtask {
    pub id: SubtaskId,
    pub wanted: Wanted,
    /// A run is opened only under a generation that this worker has not used before for this subtask.
    pub generation: Generation,
    pub config: SubtaskConfig,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SubtaskConfig {
    pub ledger_id: LedgerId,
    /// The ledger was kept when a task of this name was deleted: not found in the target, the run starts anew and says so.
    pub ledger_kept: bool,
    pub mode: TaskMode,
    /// What the copy does with rows that the target has already.
    #[serde(default)]
    pub on_duplicate: OnDuplicate,
    pub source: Endpoint,
    /// Follow the source by GTID; else by file and position.
    pub enable_gtid: bool,
    /// The source compares names without regard to case (`lower_case_table_names` is not 0).
    pub names_ignore_case: bool,
    pub target: Endpoint,
    /// The database in the target that holds the ledger.
    pub meta_schema: String,
    /// Where replication begins when there was no full copy.
    pub start: Option<StartAt>,
    /// Begin again elsewhere, once; see [`Restart`].
    #[serde(default)]
    pub restart: Option<Restart>,
    /// Which tables, and where they go. Empty: everything, under its own name.
    pub rules: Vec<MigrateRule>,
    /// Collations the target does not know, by the one to use there.
    pub collation_map: BTreeMap<String, String>,
    /// How many sessions read the snapshot.
    pub export_threads: u32,
    /// How many sessions write the copy.
    pub import_threads: u32,
    /// How many lanes apply the binlog.
    pub replicate_lanes: u32,
    /// Source transactions put into one target transaction at most.
    pub replicate_batch: u32,
    /// Seconds a stop may wait for work in flight.
    pub stop_grace_s: u32,
}

/// The start given by the user, for mode `incremental`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum StartAt {
    /// File and offset; with a GTID set too, the set decides when GTID is enabled.
    Position { file: Option<String>, offset: Option<u64>, gtid: Option<String> },
    /// The first event at or after this time.
    Time { at_us: i64 },
}

/// A start that a user gave with the call that starts a task. It applies once: a ledger that has recorded this
/// generation (or a later one) as its last restart ignores it; else the ledger takes the new position and this
/// generation in one transaction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Restart {
    /// The generation under which it was asked for.
    pub generation: Generation,
    pub at: StartAt,
}

/// One `table_migrate_rule` of the task, for this source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MigrateRule {
    /// Patterns: `*`, `?`, `[a-z]`, `[!a-z]`; a leading `~` makes the rest a regular expression.
    pub schema: String,
    /// Empty: the whole schema.
    pub table: String,
    /// None or empty: keep the source's name.
    pub target_schema: Option<String>,
    pub target_table: Option<String>,
    pub filters: Vec<EventFilter>,
}

/// One `binlog_filter_rule`: what matches is left out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventFilter {
    pub ignore_event: Vec<String>,
    pub ignore_sql: Vec<String>,
}
