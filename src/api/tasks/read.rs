//! Reading tasks and how their subtasks stand.

use std::collections::{BTreeMap, BTreeSet};

use axum::extract::State;
use utoipa::IntoParams;

use super::document::view;
use super::statuses::Statuses;
use crate::api::app::App;
use crate::api::error::{ApiError, ApiResult};
use crate::api::extract::{FromQuery, Path, Query, QueryParameters, TaskPath};
use crate::api::failures::{NotFound, Refused};
use crate::api::faults;
use crate::api::page::Page;
use crate::api::pretty::Pretty;
use crate::model::TaskName;
use crate::model::record::SubtaskRecord;
use crate::model::wire::{GetTaskListResponse, GetTaskStatusResponse, SourceNameList, SubTaskStatus, Task, TaskStage};

/// The stages that can be asked for.
const STAGES: &[(&str, TaskStage)] = &[
    ("Stopped", TaskStage::Stopped),
    ("Running", TaskStage::Running),
    ("Finished", TaskStage::Finished),
    ("Paused", TaskStage::Paused),
];

#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct WithStatus {
    /// Add `status_list`.
    with_status: Option<bool>,
}

impl FromQuery for WithStatus {
    fn from_query(parameters: &QueryParameters) -> Result<Self, ApiError> {
        Ok(Self { with_status: parameters.boolean("with_status")? })
    }
}

#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct TaskFilter {
    /// Add `status_list`.
    with_status: Option<bool>,
    /// Keep tasks of which every subtask is in this stage.
    #[param(value_type = Option<TaskStage>)]
    stage: Option<TaskStage>,
    /// Keep tasks that have exactly these sources. Repeat the key for each.
    #[param(value_type = Option<SourceNameList>)]
    source_name_list: Vec<String>,
    #[param(ignore)]
    page: Page,
}

impl FromQuery for TaskFilter {
    fn from_query(parameters: &QueryParameters) -> Result<Self, ApiError> {
        Ok(Self {
            with_status: parameters.boolean("with_status")?,
            stage: parameters.one_of("stage", STAGES)?,
            source_name_list: parameters.list("source_name_list"),
            page: Page::from_query(parameters)?,
        })
    }
}

impl TaskFilter {
    fn keeps(&self, subtasks: &[SubtaskRecord], statuses: &[SubTaskStatus]) -> bool {
        let sources: BTreeSet<&str> = subtasks.iter().map(|subtask| subtask.id.source.as_str()).collect();
        let asked: BTreeSet<&str> = self.source_name_list.iter().map(String::as_str).collect();
        (asked.is_empty() || asked == sources)
            && self.stage.is_none_or(|stage| statuses.iter().all(|status| status.stage == stage))
    }
}

#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct SourcesOfStatus {
    /// Show these sources only. Repeat the key for each.
    #[param(value_type = Option<SourceNameList>)]
    source_name_list: Vec<String>,
}

impl FromQuery for SourcesOfStatus {
    fn from_query(parameters: &QueryParameters) -> Result<Self, ApiError> {
        Ok(Self { source_name_list: parameters.list("source_name_list") })
    }
}

/// Lists the tasks.
///
/// In the order of their names.
#[utoipa::path(get, path = "/api/v1/tasks", tag = "task", operation_id = "DMAPIGetTaskList",
    params(TaskFilter, Page),
    responses((status = 200, description = "the tasks", body = GetTaskListResponse), Refused))]
pub async fn list_tasks(
    State(app): State<App>,
    Query(filter): Query<TaskFilter>,
) -> ApiResult<Pretty<GetTaskListResponse>> {
    let statuses = Statuses::begin(&app).await?;
    let mut of_task: BTreeMap<TaskName, Vec<SubtaskRecord>> = BTreeMap::new();
    for subtask in app.store.subtasks().await? {
        of_task.entry(subtask.id.task.clone()).or_default().push(subtask);
    }
    let mut kept: Vec<Task> = Vec::new();
    for record in app.store.tasks().await? {
        let subtasks = of_task.remove(&record.name).unwrap_or_default();
        let status_list = statuses.of(&record, &subtasks);
        if filter.keeps(&subtasks, &status_list) {
            let mut task = view(&record, &subtasks)?;
            task.status_list = (filter.with_status == Some(true)).then_some(status_list);
            kept.push(task);
        }
    }
    let total = kept.len();
    let (data, next_cursor) = filter.page.cut(kept, |task| task.name.clone());
    Ok(Pretty(GetTaskListResponse { total, data, next_cursor }))
}

/// Shows a task.
///
/// Its target's password is never shown.
#[utoipa::path(get, path = "/api/v1/tasks/{task-name}", tag = "task", operation_id = "DMAPIGetTask",
    params(TaskPath, WithStatus), responses((status = 200, description = "the task", body = Task), NotFound))]
pub async fn get_task(
    State(app): State<App>,
    Path(path): Path<TaskPath>,
    Query(query): Query<WithStatus>,
) -> ApiResult<Pretty<Task>> {
    let name = TaskName::new(path.task_name);
    let record = app.store.task(&name).await?;
    let record = record.ok_or_else(|| faults::not_found(&faults::task_unknown(&name)))?;
    let subtasks = app.store.subtasks_of_task(&name).await?;
    let mut task = view(&record, &subtasks)?;
    if query.with_status == Some(true) {
        task.status_list = Some(Statuses::begin(&app).await?.of(&record, &subtasks));
    }
    Ok(Pretty(task))
}

/// Shows how a task's subtasks stand.
///
/// By the last reports of the workers; `reported_at` says how old each is.
#[utoipa::path(get, path = "/api/v1/tasks/{task-name}/status", tag = "task", operation_id = "DMAPIGetTaskStatus",
    params(TaskPath, SourcesOfStatus),
    responses((status = 200, description = "the subtasks", body = GetTaskStatusResponse), Refused))]
pub async fn get_status(
    State(app): State<App>,
    Path(path): Path<TaskPath>,
    Query(query): Query<SourcesOfStatus>,
) -> ApiResult<Pretty<GetTaskStatusResponse>> {
    let name = TaskName::new(path.task_name);
    let record = app.store.task(&name).await?.ok_or_else(|| faults::task_unknown(&name))?;
    let mut subtasks = app.store.subtasks_of_task(&name).await?;
    let asked = &query.source_name_list;
    if !asked.is_empty() {
        subtasks.retain(|subtask| asked.iter().any(|name| name == subtask.id.source.as_str()));
    }
    let data = Statuses::begin(&app).await?.of(&record, &subtasks);
    Ok(Pretty(GetTaskStatusResponse { total: data.len(), data }))
}
