//! How the subtasks of a task stand, by the last reports of their workers.

use serde::{Deserialize, Serialize};
use utoipa::openapi::{ObjectBuilder, RefOr, Schema, Type};
use utoipa::{PartialSchema, ToSchema};

/// The stage of a subtask.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum TaskStage {
    /// Never run.
    Stopped,
    /// Opening, working or closing.
    Running,
    /// All of its work is done.
    Finished,
    /// Stopped or failed: nothing more will be written.
    Paused,
    /// Its worker was not heard, or it has none; `error_msg` says which.
    #[serde(rename = "")]
    Unknown,
}

/// By hand: the derived one calls the stage without a word by its variant's name, and clients would refuse the answer.
impl PartialSchema for TaskStage {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new()
            .schema_type(Type::String)
            .description(Some("The stage of a subtask; empty while nothing is known of it."))
            .enum_values(Some(Self::ALL.map(Self::as_str)))
            .into()
    }
}

impl ToSchema for TaskStage {}

impl TaskStage {
    const ALL: [Self; 5] = [Self::Stopped, Self::Running, Self::Finished, Self::Paused, Self::Unknown];

    /// The word on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Stopped => "Stopped",
            Self::Running => "Running",
            Self::Finished => "Finished",
            Self::Paused => "Paused",
            Self::Unknown => "",
        }
    }
}

/// How one subtask stands.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SubTaskStatus {
    /// The task.
    pub name: String,
    /// The source.
    pub source_name: String,
    /// The worker that holds the source; empty: none.
    pub worker_name: String,
    /// The stage last reported.
    pub stage: TaskStage,
    /// `Load` while existing rows are copied, `Sync` while the binlog is followed; empty while unknown.
    #[schema(example = "Sync")]
    pub unit: String,
    /// Of sharded tasks; always empty.
    #[schema(nullable = false)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unresolved_ddl_lock_id: Option<String>,
    /// The copy, seen from the target.
    #[schema(nullable = false)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load_status: Option<LoadStatus>,
    /// Replication.
    #[schema(nullable = false)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sync_status: Option<SyncStatus>,
    /// The copy, seen from the source.
    #[schema(nullable = false)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dump_status: Option<DumpStatus>,
    /// The errors, each on a line of its own.
    #[schema(nullable = false)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_msg: Option<String>,
    /// The error in parts: its code, when and where it happened, and what comes next.
    #[schema(nullable = false)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<SubTaskError>,
    /// Things worth telling that are no error, newest last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notices: Vec<SubTaskNotice>,
    /// Whether work in flight is being finished or aborted.
    #[schema(nullable = false)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closing: Option<bool>,
    /// When the worker put together the report that this answer shows.
    #[schema(nullable = false, format = DateTime)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reported_at: Option<String>,
}

/// The error of a subtask, in parts: that which ended its run, or which is being tried again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SubTaskError {
    /// The stable number of the error.
    pub code: u32,
    /// What went wrong.
    pub message: String,
    /// Why: what the server or the network said.
    #[schema(nullable = false)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
    /// The number that the server itself gives the error.
    #[schema(nullable = false, example = 1406)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_error: Option<u16>,
    /// What comes next: `retry` (by itself) or `pause` (an operator must act).
    #[schema(example = "pause")]
    pub next: String,
    /// What an operator can do.
    #[schema(nullable = false)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// The table it speaks of.
    #[schema(nullable = false)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub table: Option<String>,
    /// The key of the row it speaks of; never the whole row.
    #[schema(nullable = false)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The source position it speaks of: where the transaction ends.
    #[schema(nullable = false)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position: Option<String>,
    /// The GTID of the source transaction it speaks of.
    #[schema(nullable = false)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gtid: Option<String>,
    /// When it happened.
    #[schema(format = DateTime)]
    pub at: String,
    /// When the first of the failures in a row happened: since the task was started, or last worked for long enough.
    #[schema(format = DateTime)]
    #[serde(default)]
    pub first_at: String,
    /// How many failures in a row there are, this one included.
    #[schema(example = 1)]
    #[serde(default)]
    pub times: u32,
    /// When it is tried again; missing while that is being done.
    #[schema(nullable = false, format = DateTime)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_at: Option<String>,
}

/// Something worth telling that is no error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SubTaskNotice {
    /// When it happened.
    #[schema(format = DateTime)]
    pub at: String,
    /// What happened.
    pub text: String,
}

/// The copy, seen from the source.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct DumpStatus {
    /// Tables to copy.
    pub total_tables: u64,
    /// Tables copied.
    #[schema(format = "double")]
    pub completed_tables: f64,
    /// Bytes read.
    #[schema(format = "double")]
    pub finished_bytes: f64,
    /// Rows read.
    #[schema(format = "double")]
    pub finished_rows: f64,
    /// Rows to read, by the source's statistics.
    #[schema(format = "double")]
    pub estimate_total_rows: f64,
    /// Bytes a second.
    pub bps: u64,
    /// Share of the rows, like `12.34 %`.
    #[schema(example = "12.34 %")]
    pub progress: String,
}

/// The copy, seen from the target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct LoadStatus {
    /// Bytes written.
    pub finished_bytes: u64,
    /// Bytes to write, by the source's statistics.
    pub total_bytes: u64,
    /// Share of the bytes, like `12.34 %`.
    #[schema(example = "12.34 %")]
    pub progress: String,
    /// The position that the copy stands at; replication goes on from there.
    #[schema(example = "(mysql-bin.000001, 1979)")]
    pub meta_binlog: String,
    /// The GTID set that the copy stands at.
    pub meta_binlog_gtid: String,
    /// Bytes a second.
    pub bps: u64,
    /// Rows written.
    #[serde(default)]
    pub finished_rows: u64,
    /// Rows to write, by the source's statistics.
    #[serde(default)]
    pub estimate_total_rows: u64,
    /// Tables written.
    #[serde(default)]
    pub finished_tables: u64,
    /// Tables to write.
    #[serde(default)]
    pub total_tables: u64,
    /// Rows a second.
    #[serde(default)]
    pub rows_per_second: u64,
}

/// Replication.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SyncStatus {
    /// Row changes applied.
    pub total_events: u64,
    /// Row changes a second, over the whole run.
    pub total_tps: u64,
    /// Row changes a second, of late.
    pub recent_tps: u64,
    /// The source's position.
    #[schema(example = "(mysql-bin.000001, 1979)")]
    pub master_binlog: String,
    /// The source's GTID set.
    pub master_binlog_gtid: String,
    /// Up to here everything is surely in the target.
    #[schema(example = "(mysql-bin.000001, 1979)")]
    pub syncer_binlog: String,
    /// The GTID set that is surely in the target.
    pub syncer_binlog_gtid: String,
    /// DDL statements that hold replication up.
    pub blocking_ddls: Vec<String>,
    /// Of sharded tasks; always empty.
    pub unresolved_groups: Vec<ShardingGroup>,
    /// Whether nothing is left to apply.
    pub synced: bool,
    /// `remote`: the binlog comes from the source; `local`: from relay logs.
    #[schema(example = "remote")]
    pub binlog_type: String,
    /// Seconds behind the source; while replication is broken off, what they are at most.
    pub seconds_behind_master: u64,
    /// Bytes sent to the target.
    pub io_total_bytes: u64,
    /// Bytes read from the source.
    pub dump_io_total_bytes: u64,
    /// Source transactions applied.
    #[serde(default)]
    pub applied_transactions: u64,
    /// Statements of the source that were passed over because they change nothing that is migrated.
    #[serde(default)]
    pub statements_passed_over: u64,
    /// XA transactions that the source has prepared and neither committed nor rolled back.
    #[serde(default)]
    pub prepared_transactions: u64,
    /// Where the first of them begins: the source must keep its binlog from there on. Empty: there are none.
    #[serde(default)]
    pub first_prepared_binlog: String,
}

/// Tables of a sharded task that wait for one another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ShardingGroup {
    /// The target table.
    pub target: String,
    /// The DDL statements.
    pub ddl_list: Vec<String>,
    /// Where the first stands.
    pub first_location: String,
    /// Tables that have come to it.
    pub synced: Vec<String>,
    /// Tables that have not.
    pub unsynced: Vec<String>,
}

/// One entry for each source of the task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct GetTaskStatusResponse {
    /// How many `data` has.
    pub total: usize,
    /// The subtasks.
    pub data: Vec<SubTaskStatus>,
}
