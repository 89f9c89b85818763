//! The document and a page to read and try it. The page's parts are built in: it works without internet.

use std::sync::{Arc, LazyLock};

use axum::extract::Path;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{Html, IntoResponse, Response};
use utoipa_swagger_ui::Config;

use super::document::{Documents, documents};
use super::error::{ApiError, ApiResult};
use crate::model::wire::{Document, ErrorWithMessage};

const PAGE: &str = include_str!("docs.html");
/// Nothing from elsewhere; Swagger UI needs inline styles and pictures as data.
const CONTENT_SECURITY_POLICY: &str = "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; \
     object-src 'none'; base-uri 'none'; frame-ancestors 'none'";

static DOCUMENTS: LazyLock<Option<Documents>> = LazyLock::new(|| {
    documents().inspect_err(|error| tracing::error!(%error, "the API document could not be written")).ok()
});

static PAGE_SETTINGS: LazyLock<Arc<Config<'static>>> =
    LazyLock::new(|| Arc::new(Config::from("/api/v1/openapi.json").try_it_out_enabled(true)));

/// The page to read and try this API.
#[utoipa::path(get, path = "/api/v1/docs", tag = "doc", operation_id = "GetDocHTML",
    responses((status = 200, description = "the page", body = String, content_type = "text/html")))]
pub async fn get_page() -> Response {
    let policy = HeaderValue::from_static(CONTENT_SECURITY_POLICY);
    ([(header::CONTENT_SECURITY_POLICY, policy)], Html(PAGE)).into_response()
}

/// A part of the page; not in the document.
pub async fn get_part(Path(name): Path<String>) -> ApiResult<Response> {
    match utoipa_swagger_ui::serve(&name, Arc::clone(&PAGE_SETTINGS)) {
        Ok(Some(file)) => {
            let mut response = file.bytes.into_owned().into_response();
            if let Ok(content_type) = HeaderValue::from_str(&file.content_type) {
                response.headers_mut().insert(header::CONTENT_TYPE, content_type);
            }
            if file.gzpipped {
                response.headers_mut().insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
            }
            Ok(response)
        }
        Ok(None) => Err(ApiError::refused(
            StatusCode::NOT_FOUND,
            "the page has no such part",
            "GET /api/v1/docs is the page itself",
        )),
        Err(error) => {
            tracing::error!(%error, part = name, "a part of the documentation page could not be made");
            Err(unavailable())
        }
    }
}

/// This document as OpenAPI 3.1.
#[utoipa::path(get, path = "/api/v1/openapi.json", tag = "doc", operation_id = "GetOpenAPIDocument",
    responses((status = 200, description = "the document", body = Document),
              (status = 500, description = "the document could not be made", body = ErrorWithMessage)))]
pub async fn get_openapi_31() -> ApiResult<Response> {
    DOCUMENTS.as_ref().map(|documents| json(&documents.openapi_31)).ok_or_else(unavailable)
}

/// This document as OpenAPI 3.0.3.
#[utoipa::path(get, path = "/api/v1/dm.json", tag = "doc", operation_id = "GetDocJSON",
    responses((status = 200, description = "the document", body = Document),
              (status = 500, description = "the document could not be made", body = ErrorWithMessage)))]
pub async fn get_dm_30() -> ApiResult<Response> {
    DOCUMENTS.as_ref().map(|documents| json(&documents.dm_30)).ok_or_else(unavailable)
}

fn json(text: &'static str) -> Response {
    let content_type = HeaderValue::from_static("application/json; charset=utf-8");
    ([(header::CONTENT_TYPE, content_type)], text).into_response()
}

fn unavailable() -> ApiError {
    ApiError::refused(
        StatusCode::INTERNAL_SERVER_ERROR,
        "the document could not be made",
        "the log has the details under this request_id; please report it",
    )
}
