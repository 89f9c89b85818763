//! What deleted tasks left in their targets, and what an operator can do about it. Ours; DM has nothing like it.

use axum::extract::State;
use axum::http::StatusCode;
use serde::Deserialize;
use utoipa::IntoParams;
use uuid::Uuid;

use super::app::App;
use super::error::{ApiError, ApiResult};
use super::extract::{FromQuery, Json, Path, Query, QueryParameters};
use super::failures::{NotFound, Refused};
use super::faults;
use super::page::Page;
use super::pretty::Pretty;
use super::time::to_rfc3339;
use crate::model::Endpoint;
use crate::model::record::CleanupRecord;
use crate::model::wire::{Cleanup, GetCleanupListResponse, UpdateCleanupRequest};
use crate::reconciler::ControlError;

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct CleanupPath {
    /// Id of the cleanup.
    #[serde(rename = "cleanup-id")]
    #[param(example = "0199c5a0-0000-7000-8000-000000000001")]
    cleanup_id: String,
}

impl CleanupPath {
    /// What is no id is the id of nothing.
    fn id(&self) -> ApiResult<Uuid> {
        Uuid::parse_str(&self.cleanup_id).map_err(|_| {
            ApiError::request(
                format!("cleanup id {} is not valid", self.cleanup_id),
                "`cleanup-id`: expected an id as GET /api/v1/cleanups shows it",
            )
        })
    }
}

impl FromQuery for Page {
    fn from_query(parameters: &QueryParameters) -> Result<Self, ApiError> {
        Self::from_query(parameters)
    }
}

/// Lists the open cleanups.
///
/// What deleted tasks left in their targets and could not be removed yet, oldest first.
#[utoipa::path(get, path = "/api/v1/cleanups", tag = "cleanup", operation_id = "GetCleanupList", params(Page),
    responses((status = 200, description = "the open cleanups", body = GetCleanupListResponse), Refused))]
pub async fn list_cleanups(
    State(app): State<App>,
    Query(page): Query<Page>,
) -> ApiResult<Pretty<GetCleanupListResponse>> {
    let records = app.store.cleanups().await?;
    let total = records.len();
    let (records, next_cursor) = page.cut(records, |record| record.id.to_string());
    let data = records.iter().map(|record| view(&app, record)).collect();
    Ok(Pretty(GetCleanupListResponse { total, data, next_cursor }))
}

/// Gives up a cleanup.
///
/// What is left in the target stays there.
#[utoipa::path(delete, path = "/api/v1/cleanups/{cleanup-id}", tag = "cleanup", operation_id = "DeleteCleanup",
    params(CleanupPath), responses((status = 204, description = "given up"), NotFound))]
pub async fn delete_cleanup(State(app): State<App>, Path(path): Path<CleanupPath>) -> ApiResult<StatusCode> {
    app.reconciler.discard_cleanup(path.id()?).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Gives a cleanup another account.
///
/// For when the deleted task's own no longer works. It is tried again at once.
#[utoipa::path(put, path = "/api/v1/cleanups/{cleanup-id}", tag = "cleanup", operation_id = "UpdateCleanup",
    params(CleanupPath),
    request_body(content = UpdateCleanupRequest, description = "the account"),
    responses((status = 200, description = "the cleanup", body = Cleanup), NotFound))]
pub async fn update_cleanup(
    State(app): State<App>,
    Path(path): Path<CleanupPath>,
    Json(request): Json<UpdateCleanupRequest>,
) -> ApiResult<Pretty<Cleanup>> {
    let id = path.id()?;
    let record = app.store.cleanup(id).await?.ok_or(ControlError::UnknownCleanup { id })?;
    if request.password.is_mask() {
        return Err(faults::common("the password is the mask", "`password`: expected the password itself").into());
    }
    let target = Endpoint { user: request.user, password: request.password.into_inner(), ..record.target.clone() };
    app.reconciler.change_cleanup_account(id, target.clone()).await?;
    Ok(Pretty(view(&app, &CleanupRecord { target, ..record })))
}

fn view(app: &App, record: &CleanupRecord) -> Cleanup {
    Cleanup {
        id: record.id.to_string(),
        task_name: record.task.to_string(),
        source_name_list: record.ledgers.iter().map(|ledger| ledger.source.to_string()).collect(),
        target: record.target.to_string(),
        meta_schema: record.meta_schema.clone(),
        created_at: to_rfc3339(record.created_us),
        attempts: u64::from(record.attempts),
        last_error: record.cause.clone(),
        last_attempt_at: record.tried_us.map(to_rfc3339),
        next_attempt_at: app.reconciler.next_try_us(record).map(to_rfc3339),
    }
}
