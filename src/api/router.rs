//! A line for each path.

use axum::Router;
use axum::extract::Request;
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use utoipa::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::app::App;
use super::document::BaseDocument;
use super::error::ApiError;
use super::{cluster, docs, health, layers, not_built, sources, tasks};

/// All operations of the document.
pub fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::with_openapi(BaseDocument::openapi())
        .routes(routes!(docs::get_page))
        .routes(routes!(docs::get_openapi_31))
        .routes(routes!(docs::get_dm_30))
        .routes(routes!(sources::create::create_source, sources::read::list_sources))
        .routes(routes!(sources::read::get_source, sources::update::update_source))
        .routes(routes!(sources::read::get_status))
        .routes(routes!(sources::switch::enable_source))
        .routes(routes!(sources::switch::disable_source))
        .routes(routes!(sources::browse::list_schemas))
        .routes(routes!(sources::browse::list_tables))
        .routes(routes!(tasks::create::create_task, tasks::read::list_tasks))
        .routes(routes!(tasks::read::get_task, tasks::update::update_task))
        .routes(routes!(tasks::read::get_status))
        .routes(routes!(tasks::start::start_task))
        .routes(routes!(tasks::stop::stop_task))
        .routes(routes!(cluster::get_info, cluster::update_info))
        .routes(routes!(cluster::list_masters))
        .routes(routes!(cluster::delete_master))
        .routes(routes!(cluster::list_workers))
        .routes(routes!(cluster::delete_worker))
}

/// The whole API, ready to be served.
pub fn router(app: App) -> Router {
    let (router, _) = routes().split_for_parts();
    let router = router
        .route("/api/v1/docs/{*part}", get(docs::get_part))
        .route("/healthz", get(health::healthz))
        .route("/readyz", get(health::readyz))
        .route("/metrics", get(health::metrics))
        .fallback(unknown_path);
    layers::wrap(not_built::add(router).with_state(app))
}

/// A path with a slash too many is sent to the one without; anything else is unknown.
async fn unknown_path(request: Request) -> Response {
    let path = request.uri().path();
    let trimmed = path.trim_end_matches('/');
    if trimmed.len() < path.len() && trimmed.starts_with("/api/v1/") {
        let query = request.uri().query().map(|query| format!("?{query}")).unwrap_or_default();
        if let Ok(location) = HeaderValue::from_str(&format!("{trimmed}{query}")) {
            let status = if request.method() == Method::GET {
                StatusCode::MOVED_PERMANENTLY
            } else {
                StatusCode::TEMPORARY_REDIRECT
            };
            return (status, [(header::LOCATION, location)]).into_response();
        }
    }
    ApiError::refused(StatusCode::NOT_FOUND, "no matching operation was found", "GET /api/v1/docs lists all operations")
        .into_response()
}
