//! A task as it is stored, on the wire.

use crate::api::endpoint::SentEndpoint;
use crate::api::faults::common;
use crate::error::Fault;
use crate::model::Endpoint;
use crate::model::record::{SubtaskRecord, TaskRecord};
use crate::model::wire::Task;

/// The endpoint that a task's target says, with secrets that were not sent taken from the stored one.
pub fn target(task: &Task, stored: Option<&Endpoint>) -> Result<Endpoint, Fault> {
    let target = &task.target_config;
    SentEndpoint {
        field: "task.target_config",
        host: &target.host,
        port: target.port,
        user: &target.user,
        password: Some(&target.password),
        security: target.security.as_ref(),
    }
    .resolve(stored)
}

/// The task as a GET answers it. A PUT of the answer changes nothing. Sources that were deleted are left out.
pub fn view(record: &TaskRecord, subtasks: &[SubtaskRecord]) -> Result<Task, Fault> {
    let mut task: Task = serde_json::from_value(record.document.clone()).map_err(|error| {
        common(format!("the stored task {} cannot be understood", record.name), "please report this").with_cause(error)
    })?;
    let is_left = |name: &str| {
        subtasks.iter().any(|subtask| subtask.id.task == record.name && subtask.id.source.as_str() == name)
    };
    task.source_config.source_conf.retain(|source| is_left(&source.source_name));
    task.table_migrate_rule.retain(|rule| is_left(&rule.source.source_name));
    Ok(task)
}
