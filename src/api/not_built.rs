//! Operations of DM's API that are not built yet. They say so, and stay out of the document until they are.

use axum::Router;
use axum::extract::Request;
use axum::routing::{MethodRouter, any};

use super::app::App;
use super::error::ApiError;
use super::faults::common;

/// Their paths. What is fixed in a path wins over a name, so `templates` and `converters` are no tasks.
const PATHS: &[&str] = &[
    "/api/v1/sources/{source-name}/transfer",
    "/api/v1/sources/{source-name}/relay/enable",
    "/api/v1/sources/{source-name}/relay/disable",
    "/api/v1/sources/{source-name}/relay/purge",
    "/api/v1/tasks/converters",
    "/api/v1/tasks/templates",
    "/api/v1/tasks/templates/import",
    "/api/v1/tasks/templates/{task-name}",
    "/api/v1/tasks/{task-name}/sources/{source-name}/migrate_targets",
    "/api/v1/tasks/{task-name}/sources/{source-name}/schemas",
    "/api/v1/tasks/{task-name}/sources/{source-name}/schemas/{schema-name}",
    "/api/v1/tasks/{task-name}/sources/{source-name}/schemas/{schema-name}/{table-name}",
];

/// Adds the paths.
pub fn add(router: Router<App>) -> Router<App> {
    let handler: MethodRouter<App> = any(refuse);
    PATHS.iter().fold(router, |router, path| router.route(path, handler.clone()))
}

async fn refuse(request: Request) -> ApiError {
    let operation = format!("{} {}", request.method(), request.uri().path());
    ApiError::fault(&common(
        format!("{operation} is not built yet"),
        "GET /api/v1/docs lists the operations that are there",
    ))
}
