//! What a wish that was not granted is to a caller.

use super::error::ApiError;
use super::faults;
use crate::model::{SourceName, TaskName};
use crate::reconciler::ControlError;

impl From<ControlError> for ApiError {
    fn from(error: ControlError) -> Self {
        match error {
            ControlError::NotLeader => Self::no_leader(),
            ControlError::Store(error) => error.into(),
            ControlError::UnknownTask { task } => faults::task_unknown(&task).into(),
            ControlError::UnknownSource { source_name } => faults::source_unknown(&source_name).into(),
            ControlError::UnknownSubtasks { task, sources } => {
                faults::operation_sources_unknown(&task, &sources).into()
            }
            ControlError::Busy { task } => faults::in_use("changing it", &format!("task {task}")).into(),
            ControlError::Running { task, sources } => running(&task, &sources).into(),
            ControlError::SourceHasTasks { source_name, tasks } => {
                faults::source_has_tasks(&source_name, &tasks).into()
            }
            ControlError::UnknownCleanup { id } => {
                let fault = faults::common(
                    format!("cleanup with id {id} not exists"),
                    "GET /api/v1/cleanups lists the open ones; one that succeeded is gone",
                );
                faults::not_found(&fault)
            }
            ControlError::CleanupFailed { fault, .. } => fault.into(),
        }
    }
}

/// DM's refusal of a delete, and ours of whatever else needs a stopped task.
fn running(task: &TaskName, sources: &[SourceName]) -> crate::error::Fault {
    let names: Vec<&str> = sources.iter().map(SourceName::as_str).collect();
    faults::common(
        format!("task {task} has running subtasks on sources [{}]", names.join(" ")),
        format!("POST /api/v1/tasks/{task}/stop first; a delete may also be forced with `force=true`"),
    )
}
