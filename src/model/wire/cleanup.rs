//! What deleted tasks left behind in a target that could not be cleaned at once. Ours; DM has nothing like it.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Progress rows of a deleted task that are still in its target. Removal is tried again until it succeeds, or the
/// record is discarded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Cleanup {
    /// The record's id.
    pub id: String,
    /// The deleted task.
    pub task_name: String,
    /// The source of the deleted subtask.
    pub source_name: String,
    /// The target, as `user@host:port`.
    pub target: String,
    /// The database in the target that holds the rows.
    pub meta_schema: String,
    /// When the task was deleted.
    #[schema(format = DateTime)]
    pub created_at: String,
    /// How often removal was tried.
    pub attempts: u64,
    /// Why the last try failed.
    #[schema(nullable = false)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
    /// When it was last tried.
    #[schema(nullable = false, format = DateTime)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_attempt_at: Option<String>,
    /// When it is tried next.
    #[schema(nullable = false, format = DateTime)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_attempt_at: Option<String>,
}

/// Open cleanups, oldest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct GetCleanupListResponse {
    /// How many `data` has.
    pub total: usize,
    /// The cleanups.
    pub data: Vec<Cleanup>,
    /// Send it as `cursor` to get the next page; absent on the last one.
    #[schema(nullable = false)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}
