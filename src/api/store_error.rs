//! What a failure of the metastore is to a caller.
//!
//! The metastore's own text goes to the log only: it may name tables and files.

use super::error::ApiError;
use super::faults;
use crate::error::{Chain, Fault, codes};
use crate::metastore::{Object, StoreError};
use crate::model::{SourceName, TaskName};

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        if let StoreError::NotLeader = error {
            return Self::no_leader();
        }
        Self::fault(&fault(&error))
    }
}

/// The fault of a store error other than a lost leadership.
fn fault(error: &StoreError) -> Fault {
    match error {
        StoreError::Exists { object: Object::Source, name } => faults::source_exists(&SourceName::new(name)),
        StoreError::Exists { object: Object::Task | Object::Subtask, name } => {
            faults::subtasks_exist(&TaskName::new(name), &[])
        }
        StoreError::Missing { object: Object::Source, name } => faults::source_unknown(&SourceName::new(name)),
        StoreError::Missing { object: Object::Task | Object::Subtask, name } => {
            faults::task_unknown(&TaskName::new(name))
        }
        StoreError::SourceInUse { source_name, tasks } => {
            let tasks: Vec<TaskName> = tasks.iter().map(TaskName::new).collect();
            faults::source_has_tasks(&SourceName::new(source_name), &tasks)
        }
        StoreError::Exists { object, name }
        | StoreError::Missing { object, name }
        | StoreError::Conflict { object, name } => faults::in_use("changing it", &format!("{object} {name}")),
        StoreError::OutcomeUnknown { .. } => {
            tracing::error!(error = %Chain(error), "the outcome of a change is unknown");
            codes::METASTORE_FAILED
                .fault("whether the change was stored is unknown")
                .with_workaround("read the state with a GET, then try again if it is as before")
        }
        other => {
            tracing::error!(error = %Chain(other), "the metastore failed");
            codes::METASTORE_FAILED
                .fault("the metastore failed; nothing was changed")
                .with_workaround("the log has the cause under this request_id")
        }
    }
}
