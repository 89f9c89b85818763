//! The API's document, generated from the handlers: OpenAPI 3.1 as it comes, and 3.0.3 for clients that know no other.

mod conversion;
mod inlined;

use serde_json::Value;
use utoipa::OpenApi;
use utoipa::openapi::{OpenApi as OpenApiDocument, RefOr, Required};

pub use conversion::to_openapi_30;

use super::pretty::to_pretty;
use super::router;

const WITH_OPTIONAL_BODY: &[&str] = &["DMAPIStartTask", "DMAPIStopTask"];

/// What stands in the document besides the operations.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "ferrymaster",
        description = "Migrates live MySQL-family databases: a full copy first, then the binlog, until you switch over.\n\
            Wire-compatible with the OpenAPI v1 of DM. Errors of every kind have one body, `ErrorWithMessage`.",
    ),
    servers((url = "/", description = "this server")),
    tags(
        (name = "source", description = "Sources: servers that are read from"),
        (name = "task", description = "Tasks: migrations from sources to a target"),
        (name = "cluster", description = "Masters and workers"),
        (name = "cleanup", description = "What deleted tasks left in targets that were down"),
        (name = "doc", description = "This document"),
    )
)]
pub struct BaseDocument;

/// Both documents.
#[derive(Debug, Clone)]
pub struct Documents {
    /// OpenAPI 3.1, indented.
    pub openapi_31: String,
    /// OpenAPI 3.0.3, indented.
    pub dm_30: String,
}

/// The documents as they are served and kept in `openapi/`; each ends with a line break.
pub fn documents() -> Result<Documents, serde_json::Error> {
    let (_, mut document) = router::routes().split_for_parts();
    make_bodies_optional(&mut document);
    let mut document = serde_json::to_value(document)?;
    inlined::merge_inlined(&mut document);
    Ok(Documents { dm_30: text(&to_openapi_30(document.clone()))?, openapi_31: text(&document)? })
}

/// Bodies that may be left out; the macro calls every body required.
fn make_bodies_optional(document: &mut OpenApiDocument) {
    for item in document.paths.paths.values_mut() {
        let Some(operation) = &mut item.post else { continue };
        if operation.operation_id.as_deref().is_some_and(|id| WITH_OPTIONAL_BODY.contains(&id))
            && let Some(RefOr::T(body)) = &mut operation.request_body
        {
            body.required = Some(Required::False);
        }
    }
}

fn text(document: &Value) -> Result<String, serde_json::Error> {
    let mut text = String::from_utf8_lossy(&to_pretty(document)?).into_owned();
    text.push('\n');
    Ok(text)
}
