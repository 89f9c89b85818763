//! Changing a task that does not run.

use axum::extract::State;

use super::changes::{check_changes, with_omitted_sources};
use super::checked::check_task;
use super::document::{target, view};
use super::precheck::{Sources, precheck};
use super::statuses::Statuses;
use crate::api::app::App;
use crate::api::error::ApiResult;
use crate::api::extract::{Json, Path, TaskPath};
use crate::api::failures::Refused;
use crate::api::faults;
use crate::api::pretty::Pretty;
use crate::api::time::now_us;
use crate::model::change::{Change, Want};
use crate::model::record::{SubtaskRecord, TaskRecord};
use crate::model::subtask::Wanted;
use crate::model::wire::{OperateTaskResponse, TaskSourceConf, UpdateTaskRequest};
use crate::model::{SourceName, TaskName};

/// Changes a task.
///
/// Refused while it runs. Rules, filters and tuning may change, and the target's account; what the progress so far
/// depends on may not. Sources that are left out stay as they are.
#[utoipa::path(put, path = "/api/v1/tasks/{task-name}", tag = "task", operation_id = "DMAPIUpdateTask",
    params(TaskPath),
    request_body(content = UpdateTaskRequest, description = "the task as it shall be"),
    responses((status = 200, description = "changed", body = OperateTaskResponse), Refused))]
pub async fn update_task(
    State(app): State<App>,
    Path(path): Path<TaskPath>,
    Json(request): Json<UpdateTaskRequest>,
) -> ApiResult<Pretty<OperateTaskResponse>> {
    let name = TaskName::new(path.task_name);
    let stored = app.store.task(&name).await?.ok_or_else(|| faults::task_unknown(&name))?;
    if request.task.name != name.as_str() {
        return Err(faults::common(
            format!("the body speaks of task {}, and the path of {name}", request.task.name),
            "`task.name`: expected the name in the path; a task cannot be renamed",
        )
        .into());
    }
    let subtasks = app.store.subtasks_of_task(&name).await?;
    let before = view(&stored, &subtasks)?;
    check_task(&request.task)?;
    refuse_new_sources(&name, &request.task.source_config.source_conf, &subtasks)?;
    let task = with_omitted_sources(request.task, &before);
    let checked = check_task(&task)?;
    if let Some(running) = subtasks.iter().find(|subtask| subtask.wanted == Wanted::Running) {
        return Err(faults::subtask_not_updatable(
            &name,
            format!("it runs on source {}", running.id.source),
            "stop the task first",
        )
        .into());
    }
    let statuses = Statuses::begin(&app).await?.of(&stored, &subtasks);
    check_changes(&name, &before, &task, &subtasks, &statuses)?;
    let target = target(&task, Some(&stored.target))?;
    let sources = Sources::find(&app, &checked.subtasks).await?;
    let check_result = precheck(&checked, &sources, &target).await?;
    let mut changes = Vec::new();
    for subtask in &subtasks {
        let Some(new) = checked.subtasks.iter().find(|new| new.source == subtask.id.source) else { continue };
        let mut want = Want::of(subtask);
        want.settings.rules.clone_from(&new.rules);
        want.settings.start.clone_from(&new.start);
        changes.push(Change::Want(Box::new(want)));
    }
    let record =
        TaskRecord { document: checked.document, target, settings: checked.settings, updated_us: now_us(), ..stored };
    let task = view(&record, &subtasks)?;
    changes.insert(0, Change::UpdateTask(Box::new(record)));
    app.commit(changes).await?;
    Ok(Pretty(OperateTaskResponse { task, check_result }))
}

fn refuse_new_sources(name: &TaskName, sources: &[TaskSourceConf], subtasks: &[SubtaskRecord]) -> ApiResult<()> {
    let is_known = |source: &str| subtasks.iter().any(|subtask| subtask.id.source.as_str() == source);
    match sources.iter().find(|source| !is_known(&source.source_name)) {
        None => Ok(()),
        Some(source) => Err(faults::subtask_unknown(name, &SourceName::new(&source.source_name)).into()),
    }
}
