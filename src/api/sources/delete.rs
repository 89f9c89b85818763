//! Deleting a source.

use axum::extract::State;
use axum::http::StatusCode;
use utoipa::IntoParams;

use crate::api::app::App;
use crate::api::error::{ApiError, ApiResult};
use crate::api::extract::{FromQuery, Path, Query, QueryParameters, SourcePath};
use crate::api::failures::Refused;
use crate::model::SourceName;

#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct DeleteSourceParameters {
    /// Take it out of its tasks first; a task without another source goes with it.
    #[param(default = false)]
    force: Option<bool>,
}

impl FromQuery for DeleteSourceParameters {
    fn from_query(parameters: &QueryParameters) -> Result<Self, ApiError> {
        Ok(Self { force: parameters.boolean("force")? })
    }
}

/// Deletes a source.
///
/// Refused while tasks have it, unless forced. What its tasks left in their targets is removed behind.
#[utoipa::path(delete, path = "/api/v1/sources/{source-name}", tag = "source", operation_id = "DMAPIDeleteSource",
    params(SourcePath, DeleteSourceParameters), responses((status = 204, description = "deleted"), Refused))]
pub async fn delete_source(
    State(app): State<App>,
    Path(path): Path<SourcePath>,
    Query(parameters): Query<DeleteSourceParameters>,
) -> ApiResult<StatusCode> {
    let name = SourceName::new(path.source_name);
    app.reconciler.delete_source(&name, parameters.force.unwrap_or(false)).await?;
    Ok(StatusCode::NO_CONTENT)
}
