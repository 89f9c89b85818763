//! The coded errors that the API itself raises, each with DM's text and with what to do.

use std::fmt::Display;

use axum::http::StatusCode;

use super::error::ApiError;
use crate::error::{Fault, codes};
use crate::model::{SourceName, TaskName, WorkerName};

pub fn source_exists(name: &SourceName) -> Fault {
    codes::SOURCE_EXISTS
        .fault(format!("source config with ID {name} already exists"))
        .with_workaround(format!("choose another name, or change the source with PUT /api/v1/sources/{name}"))
}

pub fn source_unknown(name: &SourceName) -> Fault {
    codes::SOURCE_UNKNOWN
        .fault(format!("source config with ID {name} not exists"))
        .with_workaround("GET /api/v1/sources lists the sources")
}

pub fn source_has_tasks(name: &SourceName, tasks: &[TaskName]) -> Fault {
    codes::SOURCE_HAS_TASKS
        .fault(format!("source with name {name} need to operate has existing tasks [{}]", joined(tasks)))
        .with_workaround("delete the tasks first, or add `force=true`, which takes the source out of them")
}

pub fn source_not_updatable(name: &SourceName, tasks: &[TaskName]) -> Fault {
    codes::SOURCE_NOT_UPDATABLE
        .fault(format!("source {name} cannot be updated while tasks run on it: [{}]", joined(tasks)))
        .with_workaround("stop these tasks, or disable the source, then try again")
}

pub fn source_unbound(name: &SourceName) -> Fault {
    codes::SOURCE_UNBOUND
        .fault(format!("no worker handles source {name}"))
        .with_workaround("start a worker, or wait until one is online: GET /api/v1/cluster/workers")
}

pub fn sources_unbound(names: &[SourceName]) -> Fault {
    codes::SOURCES_UNBOUND
        .fault(format!("sources [{}] have not bound", joined(names)))
        .with_workaround("start a worker, or wait until one is online: GET /api/v1/cluster/workers")
}

pub fn source_without_worker(name: &SourceName) -> Fault {
    codes::SOURCE_WITHOUT_WORKER
        .fault(format!("source {name} relevant worker-client not found"))
        .with_workaround("start a worker, or wait until one is online: GET /api/v1/cluster/workers")
}

pub fn worker_not_heard(name: &WorkerName) -> Fault {
    codes::WORKER_NOT_HEARD
        .fault(format!("nothing was heard of worker {name}"))
        .with_workaround("look whether the worker runs and reaches the master; its sources move if it stays silent")
}

pub fn source_disabled(task: &TaskName, source: &SourceName) -> Fault {
    codes::TASK_CANNOT_START
        .fault(format!("task {task} cannot start: its source {source} is not enabled"))
        .with_workaround(format!("POST /api/v1/sources/{source}/enable, then start the task"))
}

pub fn task_unknown(name: &TaskName) -> Fault {
    codes::TASK_UNKNOWN
        .fault(format!("task with name {name} not exist"))
        .with_workaround("GET /api/v1/tasks lists the tasks")
}

/// For start and stop, where DM has a code of its own.
pub fn operation_task_unknown(name: &TaskName) -> Fault {
    codes::OPERATION_TASK_UNKNOWN
        .fault(format!("subtasks with name {name} need to be operate not exist"))
        .with_workaround("GET /api/v1/tasks lists the tasks")
}

pub fn operation_sources_unknown(task: &TaskName, names: &[SourceName]) -> Fault {
    codes::OPERATION_SOURCES_UNKNOWN
        .fault(format!("sources [{}] need to be operate not exist", joined(names)))
        .with_workaround(format!("`source_name_list` may name the sources of the task: GET /api/v1/tasks/{task}"))
}

pub fn subtasks_exist(name: &TaskName, sources: &[SourceName]) -> Fault {
    codes::SUBTASKS_EXIST
        .fault(format!("subtasks with name {name} for sources [{}] already exist", joined(sources)))
        .with_workaround("choose another name, or delete the task first")
}

/// Another request is at the same thing.
pub fn in_use(doing: &str, resource: &str) -> Fault {
    codes::LATCH_IN_USE
        .fault(format!("when {doing}, resource {resource} is in use by other client"))
        .with_workaround("Please try again later")
}

pub fn subtask_unknown(task: &TaskName, source: &SourceName) -> Fault {
    codes::SUBTASK_UNKNOWN
        .fault(format!("subtask of task {task} for source {source} not exist"))
        .with_workaround("an update cannot add sources: delete the task and create it with all of them")
}

pub fn subtask_not_updatable(task: &TaskName, reason: impl Display, way_out: impl Into<String>) -> Fault {
    codes::SUBTASK_NOT_UPDATABLE.fault(format!("task {task} cannot be updated: {reason}")).with_workaround(way_out)
}

pub fn metadata_not_set(task: &TaskName, source: &SourceName) -> Fault {
    codes::METADATA_NOT_SET
        .fault(format!("source {source} of task {task} must set meta for task-mode incremental"))
        .with_workaround(
            "give `binlog_name` and `binlog_pos` or `binlog_gtid` in `source_conf`, or `start_time` with the start",
        )
}

pub fn worker_unknown(name: &WorkerName) -> Fault {
    codes::WORKER_UNKNOWN
        .fault(format!("dm-worker with name {name} not exists"))
        .with_workaround("GET /api/v1/cluster/workers lists the workers")
}

pub fn worker_online(name: &WorkerName) -> Fault {
    codes::WORKER_ONLINE
        .fault(format!("dm-worker with name {name} is still online"))
        .with_workaround("Please shut it down first.")
}

pub fn worker_not_free(name: &WorkerName) -> Fault {
    codes::WORKER_NOT_FREE
        .fault(format!("dm-worker with name {name} not free"))
        .with_workaround("name a worker that has room, or leave `worker_name` out")
}

pub fn master_unknown(name: &str) -> Fault {
    codes::MASTER_UNKNOWN
        .fault(format!("dm-master with name {name} not exists"))
        .with_workaround("GET /api/v1/cluster/masters lists the masters")
}

/// What has no code of its own.
pub fn common(message: impl Into<String>, way_out: impl Into<String>) -> Fault {
    codes::API_COMMON.fault(message).with_workaround(way_out)
}

/// A GET of one unknown thing.
pub fn not_found(fault: &Fault) -> ApiError {
    ApiError::fault_with(StatusCode::NOT_FOUND, fault)
}

fn joined<T: Display>(names: &[T]) -> String {
    names.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}
