//! Deleting a task.

use std::time::Duration;

use axum::extract::State;
use axum::http::StatusCode;
use utoipa::IntoParams;

use crate::api::app::App;
use crate::api::error::{ApiError, ApiResult};
use crate::api::extract::{FromQuery, Path, Query, QueryParameters, TaskPath};
use crate::api::failures::Refused;
use crate::model::TaskName;
use crate::reconciler::DeleteTask;

/// Longer than this no caller is kept waiting for a target.
const LONGEST: Duration = Duration::from_secs(60);

#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct DeleteTaskParameters {
    /// Delete it even if it runs.
    #[param(default = false)]
    force: Option<bool>,
    /// Leave its progress in the target; the next task of this name goes on from there.
    #[param(default = false)]
    keep_meta: Option<bool>,
    /// How long the whole call may take, at most `60s`; left out: `10s`. What is left in the target then is cleaned
    /// later: `GET /api/v1/cleanups`. `0s` answers at once and cleans behind.
    #[param(value_type = Option<String>, example = "10s")]
    wait: Option<Duration>,
}

impl FromQuery for DeleteTaskParameters {
    fn from_query(parameters: &QueryParameters) -> Result<Self, ApiError> {
        Ok(Self {
            force: parameters.boolean("force")?,
            keep_meta: parameters.boolean("keep_meta")?,
            wait: parameters.duration("wait", LONGEST)?,
        })
    }
}

/// Deletes a task.
///
/// Never held up by its target: what cannot be removed there in time is removed later.
#[utoipa::path(delete, path = "/api/v1/tasks/{task-name}", tag = "task", operation_id = "DMAPIDeleteTask",
    params(TaskPath, DeleteTaskParameters), responses((status = 204, description = "deleted"), Refused))]
pub async fn delete_task(
    State(app): State<App>,
    Path(path): Path<TaskPath>,
    Query(parameters): Query<DeleteTaskParameters>,
) -> ApiResult<StatusCode> {
    let request = DeleteTask {
        task: TaskName::new(path.task_name),
        force: parameters.force.unwrap_or(false),
        keep_meta: parameters.keep_meta.unwrap_or(false),
        wait: parameters.wait.unwrap_or(app.delete_wait),
    };
    app.reconciler.delete_task(request).await?;
    Ok(StatusCode::NO_CONTENT)
}
