//! Asking for a task to stop.

use std::time::Duration;

use axum::extract::State;
use axum::http::StatusCode;

use super::selection::select;
use crate::api::app::{App, Tries};
use crate::api::duration::parse_duration;
use crate::api::error::{ApiError, ApiResult};
use crate::api::extract::{OptionalJson, Path, Query, TaskPath};
use crate::api::failures::Refused;
use crate::api::waiting::{Wait, stages_of};
use crate::model::TaskName;
use crate::model::change::{Change, Want};
use crate::model::record::SubtaskRecord;
use crate::model::subtask::Wanted;
use crate::model::wire::StopTaskRequest;

/// Work in flight may not take longer than this before it is aborted.
const LONGEST_GRACE: Duration = Duration::from_secs(3_600);

/// Stops a task.
///
/// The wish is stored, for the named sources or all. Answers once the workers report that nothing more will be
/// written, or after `wait`; 200 either way.
#[utoipa::path(post, path = "/api/v1/tasks/{task-name}/stop", tag = "task", operation_id = "DMAPIStopTask",
    params(TaskPath, Wait),
    request_body(content = StopTaskRequest, description = "how to stop; may be left out"),
    responses((status = 200, description = "the wish is stored"), Refused))]
pub async fn stop_task(
    State(app): State<App>,
    Path(path): Path<TaskPath>,
    Query(wait): Query<Wait>,
    OptionalJson(request): OptionalJson<StopTaskRequest>,
) -> ApiResult<StatusCode> {
    let grace_s = grace(&request)?;
    let name = TaskName::new(path.task_name);
    let mut tries = Tries::default();
    let expected = loop {
        let selected = select(&app, &name, request.source_name_list.as_ref()).await?;
        let wants: Vec<Change> = selected.subtasks.iter().map(|subtask| want_stopped(subtask, grace_s)).collect();
        let expected = stages_of(&wants);
        if app.commit_again(wants, &mut tries).await? {
            break expected;
        }
    };
    app.wait_for_stages(&expected, wait).await?;
    Ok(StatusCode::OK)
}

/// Whole seconds, rounded up.
fn grace(request: &StopTaskRequest) -> ApiResult<Option<u32>> {
    let Some(text) = request.timeout_duration.as_deref().filter(|text| !text.is_empty()) else { return Ok(None) };
    let duration = parse_duration(text).filter(|duration| *duration <= LONGEST_GRACE).ok_or_else(|| {
        ApiError::request(
            format!("timeout_duration {text} is not valid"),
            format!("`timeout_duration`: expected a duration such as `15s`, at most {}s", LONGEST_GRACE.as_secs()),
        )
    })?;
    Ok(u32::try_from(duration.as_millis().div_ceil(1_000)).ok())
}

fn want_stopped(subtask: &SubtaskRecord, grace_s: Option<u32>) -> Change {
    let mut want = Want::of(subtask);
    want.wanted = Wanted::Stopped;
    want.settings.stop_grace_s = grace_s;
    Change::Want(Box::new(want))
}
