//! Making a task.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};

use super::checked::{CheckedSubtask, CheckedTask, check_task};
use super::document::target;
use super::precheck::{Sources, precheck};
use crate::api::app::App;
use crate::api::error::ApiResult;
use crate::api::extract::Json;
use crate::api::failures::Refused;
use crate::api::faults;
use crate::api::pretty::Pretty;
use crate::api::time::now_us;
use crate::model::change::Change;
use crate::model::record::{KeptLedger, SubtaskRecord, SubtaskSettings, TaskRecord};
use crate::model::subtask::Wanted;
use crate::model::wire::{CreateTaskRequest, OperateTaskResponse, Task};
use crate::model::{Generation, LedgerId, SourceName, SubtaskId};

/// Creates a task.
///
/// Nothing runs before it is started. Sources and target are checked first; `ignore_checking_items` leaves checks out.
#[utoipa::path(post, path = "/api/v1/tasks", tag = "task", operation_id = "DMAPICreateTask",
    request_body(content = CreateTaskRequest, description = "the task"),
    responses((status = 201, description = "created", body = OperateTaskResponse), Refused))]
pub async fn create_task(State(app): State<App>, Json(request): Json<CreateTaskRequest>) -> ApiResult<Response> {
    let checked = check_task(&request.task)?;
    let sources = Sources::find(&app, &checked.subtasks).await?;
    refuse_existing(&app, &checked).await?;
    let unplaced = app.wait_until_placed(&sources.names()).await?;
    if !unplaced.is_empty() {
        return Err(faults::sources_unbound(&unplaced).into());
    }
    let target = target(&request.task, None)?;
    let check_result = precheck(&checked, &sources, &target).await?;
    let kept = app.store.kept_ledgers(&checked.name).await?;
    let now_us = now_us();
    let mut changes = vec![Change::InsertTask(Box::new(TaskRecord {
        name: checked.name.clone(),
        revision: 0,
        document: checked.document.clone(),
        target,
        settings: checked.settings.clone(),
        created_us: now_us,
        updated_us: now_us,
    }))];
    for subtask in checked.subtasks {
        let id = SubtaskId { task: checked.name.clone(), source: subtask.source.clone() };
        let kept = kept.iter().find(|ledger| ledger.id == id);
        changes.extend(kept.map(|ledger| Change::TakeKeptLedger { id: ledger.id.clone() }));
        changes.push(Change::InsertSubtask(Box::new(subtask_record(id, subtask, kept))));
    }
    app.commit(changes).await?;
    let task: Task = serde_json::from_value(checked.document).map_err(|error| {
        faults::common("the task cannot be shown", "GET shows it; please report this").with_cause(error)
    })?;
    Ok((StatusCode::CREATED, Pretty(OperateTaskResponse { task, check_result })).into_response())
}

/// A task of that name, or a subtask of it, is never extended in silence.
async fn refuse_existing(app: &App, checked: &CheckedTask) -> ApiResult<()> {
    if app.store.task(&checked.name).await?.is_some() {
        let existing = app.store.subtasks_of_task(&checked.name).await?;
        let sources: Vec<SourceName> = existing.into_iter().map(|subtask| subtask.id.source).collect();
        return Err(faults::subtasks_exist(&checked.name, &sources).into());
    }
    Ok(())
}

/// A ledger that was kept for this name is taken up; its generations go on where they ended.
fn subtask_record(id: SubtaskId, subtask: CheckedSubtask, kept: Option<&KeptLedger>) -> SubtaskRecord {
    SubtaskRecord {
        id,
        revision: 0,
        wanted: Wanted::Stopped,
        generation: kept.map_or(Generation(0), |ledger| ledger.generation),
        attempts: 0,
        ledger_id: kept.map_or_else(LedgerId::new, |ledger| ledger.ledger_id),
        ledger_kept: kept.is_some(),
        settings: SubtaskSettings { start: subtask.start, restart: None, rules: subtask.rules, stop_grace_s: None },
        conclusion: None,
    }
}
