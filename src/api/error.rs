//! What a caller gets when a request fails: one body everywhere, one place that knows HTTP statuses.
//!
//! In: [`Fault`]s of the core and faults of the request. Out: a status with an [`ErrorWithMessage`] body. A handler's
//! error travels to the outermost layer as an extension of an empty response; that layer ([`render`]) writes the
//! body, since it alone knows the request's id, and gives the same body to what axum and tower refuse on their own.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};

use super::pretty::Pretty;
use crate::error::Fault;
use crate::model::wire::ErrorWithMessage;

/// Far above the longest precheck.
const TEXT_BYTES_MAX: usize = 64 << 10;

/// Why a request failed.
#[derive(Debug, Clone)]
pub struct ApiError {
    status: StatusCode,
    /// 0 for faults of the request itself.
    code: u32,
    message: String,
    hint: String,
}

pub type ApiResult<T> = Result<T, ApiError>;

impl ApiError {
    /// A coded error. 400 for all that DM answers with 400.
    pub fn fault(fault: &Fault) -> Self {
        Self::fault_with(StatusCode::BAD_REQUEST, fault)
    }

    /// A coded error with a status of its own, such as 404 for a GET of one unknown thing.
    pub fn fault_with(status: StatusCode, fault: &Fault) -> Self {
        Self {
            status,
            code: fault.code,
            message: fault.to_string(),
            hint: fault.workaround.clone().unwrap_or_default(),
        }
    }

    /// A fault of the request's body or parameters; the hint names the field and what was expected.
    pub fn request(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { status: StatusCode::BAD_REQUEST, code: 0, message: message.into(), hint: hint.into() }
    }

    /// A refusal without a code in the catalogue.
    pub fn refused(status: StatusCode, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { status, code: 0, message: message.into(), hint: hint.into() }
    }

    /// This process does not lead, and knows nobody who does.
    pub fn no_leader() -> Self {
        Self::refused(
            StatusCode::SERVICE_UNAVAILABLE,
            "no master leads at the moment",
            "try again in a second: GET /readyz says when",
        )
    }

    /// What axum or tower refused on their own, or a panic.
    fn of_status(status: StatusCode) -> Self {
        let (message, hint) = match status {
            StatusCode::FORBIDDEN => (
                "the request was refused because it comes from a page of another site",
                "call the API from its own address, or from a program that is no browser",
            ),
            StatusCode::NOT_FOUND => ("no matching operation was found", "GET /api/v1/docs lists all operations"),
            StatusCode::METHOD_NOT_ALLOWED => {
                ("method not allowed", "the header `allow` lists the methods of this path")
            }
            StatusCode::REQUEST_TIMEOUT => {
                ("the request's body did not arrive in time", "send the body without pauses")
            }
            StatusCode::PAYLOAD_TOO_LARGE => ("the request's body is too large", "send at most 4 MiB"),
            StatusCode::GATEWAY_TIMEOUT => (
                "the request was not done in time; what it asked for may still happen",
                "read the state with a GET before trying again",
            ),
            StatusCode::INTERNAL_SERVER_ERROR => {
                ("internal error", "the log has the details under this request_id; please report it")
            }
            _ => (
                status.canonical_reason().unwrap_or("the request failed"),
                "GET /api/v1/docs says what each operation takes",
            ),
        };
        Self { status, code: 0, message: message.to_owned(), hint: hint.to_owned() }
    }

    pub fn status(&self) -> StatusCode {
        self.status
    }
}

impl From<Fault> for ApiError {
    fn from(fault: Fault) -> Self {
        Self::fault(&fault)
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut response = self.status.into_response();
        if self.status == StatusCode::SERVICE_UNAVAILABLE {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        }
        response.extensions_mut().insert(self);
        response
    }
}

/// Gives every failed response the one body.
pub fn render(response: Response, request_id: &str) -> Response {
    let status = response.status();
    if !status.is_client_error() && !status.is_server_error() {
        return response;
    }
    let (mut parts, _) = response.into_parts();
    let error = parts.extensions.remove::<ApiError>().unwrap_or_else(|| ApiError::of_status(status));
    let body = ErrorWithMessage {
        error_msg: shortened(error.message),
        error_code: error.code,
        hint: shortened(error.hint),
        request_id: request_id.to_owned(),
    };
    let rendered = Pretty(body).into_response();
    for unfit in [header::CONTENT_LENGTH, header::CONTENT_TYPE, header::CONTENT_ENCODING, header::TRANSFER_ENCODING] {
        parts.headers.remove(unfit);
    }
    let (rendered_parts, rendered_body) = rendered.into_parts();
    parts.headers.extend(rendered_parts.headers);
    Response::from_parts(parts, rendered_body)
}

/// A message may repeat what a client sent, and that may be megabytes.
fn shortened(mut text: String) -> String {
    if text.len() > TEXT_BYTES_MAX {
        text.truncate(text.floor_char_boundary(TEXT_BYTES_MAX));
        text.push('…');
    }
    text
}
