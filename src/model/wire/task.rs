//! A task: one migration, made of one subtask for each of its sources.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{
    SourceNameList, SubTaskStatus, TaskBinLogFilterRule, TaskSourceConfig, TaskTableMigrateRule, TaskTargetDataBase,
};
use crate::model::subtask::{OnDuplicate, TaskMode};

/// The database in the target that holds progress, when none is named.
pub const DEFAULT_META_SCHEMA: &str = "dm_meta";

/// A task: one migration, from one or more sources to one target.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct Task {
    /// The task's unique name, 1 to 128 bytes.
    #[schema(example = "task-1", min_length = 1, max_length = 128)]
    pub name: String,
    /// What is migrated: existing rows (`full`), changes (`incremental`) or both (`all`).
    #[schema(inline)]
    pub task_mode: TaskMode,
    /// How sharded tables are merged. Not built yet: refused.
    #[schema(inline, nullable = false)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard_mode: Option<ShardMode>,
    /// Only with `shard_mode` `optimistic`.
    #[schema(nullable = false, default = false)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strict_optimistic_shard_mode: Option<bool>,
    /// The database in the target that holds progress.
    #[schema(default = "dm_meta")]
    #[serde(default = "Task::default_meta_schema")]
    pub meta_schema: String,
    /// An IANA name or `±hh:mm`. Checked and kept; sessions always run in UTC, which gives the same rows.
    #[schema(nullable = false, example = "+08:00")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timezone: Option<String>,
    /// Whether tables of online schema change tools are known as such.
    #[schema(required = true, default = true)]
    #[serde(default = "Task::default_enhance_online_schema_change")]
    pub enhance_online_schema_change: bool,
    /// What the copy does with rows that the target has already.
    #[schema(inline)]
    pub on_duplicate: OnDuplicate,
    /// The target.
    pub target_config: TaskTargetDataBase,
    /// Event filters by name; rules refer to them.
    #[schema(nullable = false)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub binlog_filter_rule: Option<BTreeMap<String, TaskBinLogFilterRule>>,
    /// Which tables, and where they go. Empty: everything, under its own name.
    pub table_migrate_rule: Vec<TaskTableMigrateRule>,
    /// The sources.
    pub source_config: TaskSourceConfig,
    /// How the subtasks stand; only in answers, with `with_status`.
    #[schema(nullable = false)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status_list: Option<Vec<SubTaskStatus>>,
    /// Precheck items to leave out, or `all`.
    #[schema(nullable = false)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ignore_checking_items: Option<Vec<String>>,
}

impl Task {
    fn default_meta_schema() -> String {
        DEFAULT_META_SCHEMA.to_owned()
    }

    fn default_enhance_online_schema_change() -> bool {
        true
    }
}

/// How sharded tables are merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum ShardMode {
    Pessimistic,
    Optimistic,
}

/// Asks for a new task.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct CreateTaskRequest {
    /// The task to create.
    pub task: Task,
}

/// Changes a task that does not run.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct UpdateTaskRequest {
    /// The task as it shall be.
    pub task: Task,
}

/// The task as it is stored, and what the precheck found.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct OperateTaskResponse {
    /// The task.
    pub task: Task,
    /// `pre-check is passed. `, or the warnings.
    #[schema(example = "pre-check is passed. ")]
    pub check_result: String,
}

/// Asks for a task to run.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
pub struct StartTaskRequest {
    /// Forget all progress of the named sources first.
    #[schema(nullable = false, default = false)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remove_meta: Option<bool>,
    /// The sources to start; left out or empty: all.
    #[schema(nullable = false)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_name_list: Option<SourceNameList>,
    /// Where replication begins in mode `incremental`: the first event at or after this time,
    /// `YYYY-MM-DD hh:mm:ss` with an optional zone (`Z` or `±hh:mm`; else the source's zone).
    #[schema(nullable = false, example = "2006-01-02 15:04:05")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_time: Option<String>,
    /// Accepted and needless: applying is exact from the first event on.
    #[schema(nullable = false, example = "10s")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub safe_mode_time_duration: Option<String>,
}

/// Asks for a task to stop.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
pub struct StopTaskRequest {
    /// How long work in flight may take before it is aborted.
    #[schema(nullable = false, example = "15s")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_duration: Option<String>,
    /// The sources to stop; left out or empty: all.
    #[schema(nullable = false)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_name_list: Option<SourceNameList>,
}

/// Tasks, in the order of their names.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct GetTaskListResponse {
    /// How many `data` has.
    pub total: usize,
    /// The tasks.
    pub data: Vec<Task>,
    /// Send it as `cursor` to get the next page; absent on the last one.
    #[schema(nullable = false)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}
