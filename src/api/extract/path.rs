//! Names in paths, percent-decoded. Any character may stand in them.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use utoipa::IntoParams;

use crate::api::error::ApiError;

/// Typed path parameters.
#[derive(Debug)]
pub struct Path<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for Path<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        axum::extract::Path::from_request_parts(parts, state).await.map(|path| Self(path.0)).map_err(|rejection| {
            ApiError::request(
                "the request's path is not valid",
                format!("{}: write names in UTF-8, percent-encoded", rejection.body_text()),
            )
        })
    }
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct SourcePath {
    /// Name of the source.
    #[serde(rename = "source-name")]
    #[param(example = "mysql-01")]
    pub source_name: String,
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct SchemaPath {
    /// Name of the source.
    #[serde(rename = "source-name")]
    #[param(example = "mysql-01")]
    pub source_name: String,
    /// Name of the database.
    #[serde(rename = "schema-name")]
    #[param(example = "db1")]
    pub schema_name: String,
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct TaskPath {
    /// Name of the task.
    #[serde(rename = "task-name")]
    #[param(example = "task-1")]
    pub task_name: String,
}
