//! For those who watch the process: is it alive, can it serve, how does it do. Not part of the contract.

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;

use super::app::App;
use super::error::{ApiError, ApiResult};
use crate::telemetry::Metrics;

/// The process answers.
pub async fn healthz() -> &'static str {
    "ok\n"
}

/// The metastore answers, this process leads, and it is not shutting down.
pub async fn readyz(State(app): State<App>) -> ApiResult<&'static str> {
    if app.stopping.is_cancelled() {
        return Err(ApiError::refused(StatusCode::SERVICE_UNAVAILABLE, "shutting down", "call another master"));
    }
    if !app.leads() {
        return Err(ApiError::no_leader());
    }
    app.store.cluster_id().await.map_err(|error| {
        tracing::warn!(error = %crate::error::Chain(&error), "the metastore does not answer");
        ApiError::refused(
            StatusCode::SERVICE_UNAVAILABLE,
            "the metastore does not answer",
            "the log has the cause under this request_id",
        )
    })?;
    Ok("ready\n")
}

/// All metrics, in OpenMetrics text.
pub async fn metrics(State(app): State<App>) -> ApiResult<impl IntoResponse> {
    let text = app.metrics.text().map_err(|_| {
        ApiError::refused(StatusCode::INTERNAL_SERVER_ERROR, "the metrics cannot be written down", "please report this")
    })?;
    Ok(([(header::CONTENT_TYPE, Metrics::CONTENT_TYPE)], text))
}
