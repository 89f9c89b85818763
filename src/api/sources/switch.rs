//! Enabling and disabling a source: its tasks run, or none does.

use axum::extract::State;
use axum::http::StatusCode;

use crate::api::app::{App, Tries};
use crate::api::error::ApiResult;
use crate::api::extract::{Path, Query, SourcePath};
use crate::api::failures::Refused;
use crate::api::faults;
use crate::api::time::now_us;
use crate::api::waiting::{Wait, stages_of};
use crate::model::change::{Change, Want};
use crate::model::record::{SourceRecord, SubtaskRecord, TaskRecord};
use crate::model::subtask::{TaskMode, Wanted};
use crate::model::{Generation, SourceName, TaskName};

/// Enables a source.
///
/// All of its tasks are asked to run. Answers once they say so, or after `wait`; 200 either way.
#[utoipa::path(post, path = "/api/v1/sources/{source-name}/enable", tag = "source", operation_id = "DMAPIEnableSource",
    params(SourcePath, Wait), responses((status = 200, description = "enabled"), Refused))]
pub async fn enable_source(
    State(app): State<App>,
    Path(path): Path<SourcePath>,
    Query(wait): Query<Wait>,
) -> ApiResult<StatusCode> {
    let name = SourceName::new(path.source_name);
    let (record, _) = find(&app, &name).await?;
    if app.store.assignments().await?.iter().all(|assignment| assignment.source != record.name) {
        return Err(faults::source_unbound(&record.name).into());
    }
    switch(&app, &name, true, wait).await?;
    Ok(StatusCode::OK)
}

/// Disables a source.
///
/// All of its tasks are asked to stop. Answers once they say so, or after `wait`; 200 either way.
#[utoipa::path(post, path = "/api/v1/sources/{source-name}/disable", tag = "source",
    operation_id = "DMAPIDisableSource", params(SourcePath, Wait),
    responses((status = 200, description = "disabled"), Refused))]
pub async fn disable_source(
    State(app): State<App>,
    Path(path): Path<SourcePath>,
    Query(wait): Query<Wait>,
) -> ApiResult<StatusCode> {
    switch(&app, &SourceName::new(path.source_name), false, wait).await?;
    Ok(StatusCode::OK)
}

async fn find(app: &App, name: &SourceName) -> ApiResult<(SourceRecord, Vec<SubtaskRecord>)> {
    let record = app.store.source(name).await?.ok_or_else(|| faults::source_unknown(name))?;
    let subtasks = app.store.subtasks_of_source(name).await?;
    Ok((record, subtasks))
}

/// Does nothing where the source is so already.
async fn switch(app: &App, name: &SourceName, enabled: bool, wait: Wait) -> ApiResult<()> {
    let mut tries = Tries::default();
    let expected = loop {
        let (record, subtasks) = find(app, name).await?;
        if record.enabled == enabled {
            return Ok(());
        }
        let wants = if enabled {
            want_all(&subtasks_to_start(&subtasks, &app.store.tasks().await?), Wanted::Running)
        } else {
            let running: Vec<&SubtaskRecord> =
                subtasks.iter().filter(|subtask| subtask.wanted == Wanted::Running).collect();
            want_all(&running, Wanted::Stopped)
        };
        let expected = stages_of(&wants);
        let record = SourceRecord { enabled, updated_us: now_us(), ..record };
        let mut changes = vec![Change::UpdateSource(Box::new(record))];
        changes.extend(wants);
        if app.commit_again(changes, &mut tries).await? {
            break expected;
        }
    };
    app.wait_for_stages(&expected, wait).await
}

/// The subtasks that can run: one of mode incremental that was never given a start cannot.
pub(super) fn subtasks_to_start<'a>(subtasks: &'a [SubtaskRecord], tasks: &[TaskRecord]) -> Vec<&'a SubtaskRecord> {
    let is_incremental =
        |name: &TaskName| tasks.iter().any(|task| &task.name == name && task.settings.mode == TaskMode::Incremental);
    let has_start = |subtask: &SubtaskRecord| {
        subtask.generation > Generation(0) || subtask.settings.start.is_some() || !is_incremental(&subtask.id.task)
    };
    subtasks.iter().filter(|subtask| subtask.wanted == Wanted::Stopped && has_start(subtask)).collect()
}

/// What is wanted of each; running needs a new generation.
pub(super) fn want_all(subtasks: &[&SubtaskRecord], wanted: Wanted) -> Vec<Change> {
    let want = |subtask: &&SubtaskRecord| {
        let mut want = Want { wanted, ..Want::of(subtask) };
        if wanted == Wanted::Running {
            want.generation = subtask.generation.next();
            want.attempts = 0;
        }
        Change::Want(Box::new(want))
    };
    subtasks.iter().map(want).collect()
}

/// The tasks of subtasks, each once, in order.
pub(super) fn tasks_of<'a>(subtasks: impl Iterator<Item = &'a SubtaskRecord>) -> Vec<TaskName> {
    let mut names: Vec<TaskName> = subtasks.map(|subtask| subtask.id.task.clone()).collect();
    names.sort_unstable();
    names.dedup();
    names
}
