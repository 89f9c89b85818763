//! Why a wish was not granted.

use uuid::Uuid;

use crate::error::Fault;
use crate::metastore::StoreError;
use crate::model::{SourceName, TaskName};

#[derive(Debug, thiserror::Error)]
pub enum ControlError {
    #[error("this master does not lead")]
    NotLeader,
    #[error("task {task} does not exist")]
    UnknownTask { task: TaskName },
    #[error("source {source_name} does not exist")]
    UnknownSource { source_name: SourceName },
    #[error("task {task} has no source {}", list(sources))]
    UnknownSubtasks { task: TaskName, sources: Vec<SourceName> },
    /// Another call is changing the same task.
    #[error("task {task} is being changed by another request")]
    Busy { task: TaskName },
    /// They are wanted running.
    #[error("task {task} has running subtasks on {}", list(sources))]
    Running { task: TaskName, sources: Vec<SourceName> },
    #[error("source {source_name} still has tasks: {}", list(tasks))]
    SourceHasTasks { source_name: SourceName, tasks: Vec<TaskName> },
    #[error("cleanup {id} does not exist")]
    UnknownCleanup { id: Uuid },
    /// The progress is given up all the same; it is tried again later.
    #[error("what task {task} left in its target could not be removed")]
    CleanupFailed {
        task: TaskName,
        #[source]
        fault: Fault,
    },
    #[error(transparent)]
    Store(StoreError),
}

/// Constraint by constraint, what the metastore refused is what a user asked for.
impl From<StoreError> for ControlError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::NotLeader => Self::NotLeader,
            other => Self::Store(other),
        }
    }
}

fn list<T: ToString>(names: &[T]) -> String {
    names.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
