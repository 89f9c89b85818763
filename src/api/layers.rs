//! What stands round every handler, outermost first.
//!
//! Headers that carry credentials are marked so that nothing logs them; each request gets an id; each is logged once
//! when it is answered; every failure gets the one body; a panic becomes a 500; a page of another site may not change
//! anything; bodies and the whole request have limits.

use std::time::Duration;

use axum::Router;
use axum::extract::{DefaultBodyLimit, Request};
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::{Next, from_fn};
use axum::response::Response;
use tower::ServiceBuilder;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::compression::CompressionLayer;
use tower_http::csrf::CsrfLayer;
use tower_http::limit::RequestBodyLimitLayer;
use tower_http::sensitive_headers::SetSensitiveRequestHeadersLayer;
use tower_http::set_header::SetResponseHeaderLayer;
use tower_http::timeout::{RequestBodyDeadlineLayer, TimeoutLayer};
use tracing::Instrument;
use uuid::Uuid;

use super::error::render;

/// The longest body; a task with thousands of rules stays far below it.
const BODY_BYTES_MAX: usize = 4 << 20;
/// For the whole body, however slowly it comes.
const BODY_DEADLINE: Duration = Duration::from_secs(30);
/// For the whole request: more than any call's own deadline.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(120);

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Puts the layers round a finished router.
pub fn wrap(router: Router) -> Router {
    let layers = ServiceBuilder::new()
        .layer(SetSensitiveRequestHeadersLayer::new([header::AUTHORIZATION, header::COOKIE]))
        .layer(from_fn(answer))
        .layer(SetResponseHeaderLayer::if_not_present(
            header::X_CONTENT_TYPE_OPTIONS,
            HeaderValue::from_static("nosniff"),
        ))
        .layer(CatchPanicLayer::new())
        .layer(CsrfLayer::new())
        .layer(CompressionLayer::new())
        .layer(TimeoutLayer::with_status_code(StatusCode::GATEWAY_TIMEOUT, REQUEST_TIMEOUT))
        .layer(RequestBodyDeadlineLayer::new(BODY_DEADLINE))
        .layer(RequestBodyLimitLayer::new(BODY_BYTES_MAX))
        .layer(DefaultBodyLimit::disable());
    router.layer(layers)
}

/// Names the request, logs how it was answered, and gives failures their body.
async fn answer(request: Request, next: Next) -> Response {
    let request_id = request_id(&request);
    let method = request.method().clone();
    let path = request.uri().path().to_owned();
    let begun = std::time::Instant::now();
    let span = tracing::info_span!("request", request.id = %request_id);
    let mut response = render(next.run(request).instrument(span.clone()).await, &request_id);
    let status = response.status();
    let taken_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
    span.in_scope(|| {
        if status.is_server_error() {
            tracing::error!(http.status = status.as_u16(), taken_ms, "{method} {path} was answered with {status}");
        } else {
            tracing::debug!(http.status = status.as_u16(), taken_ms, "{method} {path} was answered with {status}");
        }
    });
    if let Ok(value) = HeaderValue::from_str(&request_id) {
        response.headers_mut().insert(REQUEST_ID, value);
    }
    response
}

/// The client's own id if it is a plain one, so that its logs and ours can be read together; else a new one.
fn request_id(request: &Request) -> String {
    request
        .headers()
        .get(&REQUEST_ID)
        .and_then(|value| value.to_str().ok())
        .filter(|id| !id.is_empty() && id.len() <= 64)
        .filter(|id| id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte)))
        .map_or_else(|| Uuid::now_v7().to_string(), str::to_owned)
}
