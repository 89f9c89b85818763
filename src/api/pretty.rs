//! JSON as DM prints it: indented by four spaces.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde_json::Serializer;
use serde_json::ser::PrettyFormatter;

/// A body of indented JSON.
#[derive(Debug, Clone, Copy)]
pub struct Pretty<T>(pub T);

/// The JSON text.
pub fn to_pretty<T: Serialize>(value: &T) -> Result<Vec<u8>, serde_json::Error> {
    let mut bytes = Vec::new();
    value.serialize(&mut Serializer::with_formatter(&mut bytes, PrettyFormatter::with_indent(b"    ")))?;
    Ok(bytes)
}

impl<T: Serialize> IntoResponse for Pretty<T> {
    fn into_response(self) -> Response {
        match to_pretty(&self.0) {
            Ok(bytes) => {
                let json = HeaderValue::from_static("application/json; charset=utf-8");
                ([(header::CONTENT_TYPE, json)], bytes).into_response()
            }
            Err(error) => {
                tracing::error!(%error, "an answer could not be written as JSON");
                StatusCode::INTERNAL_SERVER_ERROR.into_response()
            }
        }
    }
}
