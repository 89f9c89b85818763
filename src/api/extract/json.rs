//! Reads a JSON body by the contract's rules.
//!
//! `null` means the same as leaving a field out (a field with a default gets it, a required one is missing); unknown
//! fields are ignored; nothing at all, sent without a content type, is an empty object. Messages say where in the
//! body something is wrong and what was expected there, and never repeat a secret.
//!
//! The surprise: where the document calls the body optional, nothing at all is an empty object under any content type.
//! DM refuses it as JSON (`EOF`), but clients generated from its document send just that when the body is left out.

use axum::body::Bytes;
use axum::extract::{FromRequest, Request};
use axum::http::{HeaderMap, StatusCode, header};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::reader::Reader;
use crate::api::error::ApiError;

/// Of a value that does not fit.
const SHOWN_CHARACTERS: usize = 120;

/// A typed JSON body.
#[derive(Debug)]
pub struct Json<T>(pub T);

/// A typed JSON body that may be left out.
#[derive(Debug)]
pub struct OptionalJson<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Json<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> Result<Self, ApiError> {
        let content_type = ContentType::of(request.headers());
        parse(content_type, &read(request, state).await?).map(Self)
    }
}

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for OptionalJson<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> Result<Self, ApiError> {
        let content_type = ContentType::of(request.headers());
        let bytes = read(request, state).await?;
        let content_type = if bytes.is_empty() { ContentType::Missing } else { content_type };
        parse(content_type, &bytes).map(Self)
    }
}

async fn read<S: Send + Sync>(request: Request, state: &S) -> Result<Bytes, ApiError> {
    let encoding = request.headers().get(header::CONTENT_ENCODING);
    if encoding.is_some_and(|encoding| !encoding.as_bytes().eq_ignore_ascii_case(b"identity")) {
        return Err(ApiError::request(
            "the request's body is encoded",
            "send the body as it is, without the header Content-Encoding",
        ));
    }
    Bytes::from_request(request, state).await.map_err(|rejection| {
        if timed_out(&rejection) {
            return ApiError::refused(
                StatusCode::REQUEST_TIMEOUT,
                "the request's body did not arrive in time",
                "send the body without pauses",
            );
        }
        if rejection.status() == StatusCode::PAYLOAD_TOO_LARGE {
            return ApiError::refused(
                StatusCode::PAYLOAD_TOO_LARGE,
                "the request's body is too large",
                "send at most 4 MiB",
            );
        }
        ApiError::request("the request's body could not be read", "send the whole body, with its true length")
    })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ContentType {
    Missing,
    Json,
    Other,
}

impl ContentType {
    fn of(headers: &HeaderMap) -> Self {
        let Some(value) = headers.get(header::CONTENT_TYPE) else { return Self::Missing };
        let essence = value.to_str().unwrap_or_default().split(';').next().unwrap_or_default().trim();
        if essence.eq_ignore_ascii_case("application/json") { Self::Json } else { Self::Other }
    }
}

/// Whether reading the body ran into its deadline.
fn timed_out(rejection: &(dyn std::error::Error + 'static)) -> bool {
    std::iter::successors(Some(rejection), |error| error.source())
        .any(<dyn std::error::Error>::is::<tower_http::timeout::TimeoutError>)
}

fn parse<T: DeserializeOwned>(content_type: ContentType, bytes: &[u8]) -> Result<T, ApiError> {
    let value = match (content_type, bytes.is_empty()) {
        (ContentType::Json, true) => {
            return Err(ApiError::request("EOF", "the request's body is empty: send a JSON object"));
        }
        (_, true) => Value::Object(serde_json::Map::new()),
        (ContentType::Json, false) => serde_json::from_slice(bytes).map_err(|error| {
            ApiError::request(
                format!("the request's body is not valid JSON: {error}"),
                format!("look at line {}, column {} of the body", error.line(), error.column()),
            )
        })?,
        (ContentType::Missing | ContentType::Other, false) => {
            return Err(ApiError::request(
                "the header Content-Type has an unexpected value",
                "send the body with `Content-Type: application/json`",
            ));
        }
    };
    serde_path_to_error::deserialize(Reader(value)).map_err(|error| {
        let path = error.path().to_string();
        let place = if path == "." { "the body".to_owned() } else { format!("`{path}`") };
        let expected = plain_words(&error.into_inner().to_string());
        ApiError::request(
            format!("the request's body is not valid: {place}: {expected}"),
            format!("{place}: {expected}"),
        )
    })
}

/// The reader's message without words that only mean something in Rust.
fn plain_words(message: &str) -> String {
    let (found, expected) = match message.rsplit_once(", expected ") {
        Some((found, expected)) => (found, expected),
        None => return shortened(message),
    };
    let found = shortened(found);
    let expected = match expected {
        "u16" => "an integer from 0 to 65535",
        "u32" => "an integer from 0 to 4294967295",
        "u64" | "usize" => "an integer that is not negative",
        "i64" => "an integer",
        "f64" => "a number",
        "a sequence" => "an array",
        "a map" => "an object",
        other if other.starts_with("struct ") => "an object",
        other => other,
    };
    format!("{found}, expected {expected}")
}

/// Enough to recognise what was sent.
fn shortened(text: &str) -> String {
    match text.char_indices().nth(SHOWN_CHARACTERS) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::wire::{CreateSourceRequest, CreateTaskRequest, StartTaskRequest};

    fn hint_of<T: DeserializeOwned + std::fmt::Debug>(body: &str) -> String {
        let error = parse::<T>(ContentType::Json, body.as_bytes()).unwrap_err();
        let response = crate::api::error::render(axum::response::IntoResponse::into_response(error), "r1");
        let body = futures_util::FutureExt::now_or_never(axum::body::to_bytes(response.into_body(), 1 << 16));
        let body: Value = serde_json::from_slice(&body.unwrap().unwrap()).unwrap();
        assert_eq!(body["error_code"], 0);
        body["hint"].as_str().unwrap().to_owned()
    }

    fn source_with(field: &str, value: &str) -> String {
        let mut body: Value = serde_json::json!({"source": {
            "source_name": "s", "host": "h", "port": 3306, "user": "u", "enable": true, "enable_gtid": false}});
        body["source"][field] = serde_json::from_str(value).unwrap();
        body.to_string()
    }

    #[test]
    fn a_fault_names_the_field_and_what_was_expected() {
        for (body, hint) in [
            (
                source_with("port", "\"3306\""),
                "`source.port`: invalid type: string \"3306\", expected an integer from 0 to 65535",
            ),
            (
                source_with("port", "99999"),
                "`source.port`: invalid value: integer `99999`, expected an integer from 0 to 65535",
            ),
            (source_with("host", "null"), "`source`: missing field `host`"),
            (source_with("purge", "[]"), "`source.purge`: invalid type: sequence, expected an object"),
            ("{}".to_owned(), "the body: missing field `source`"),
            ("[]".to_owned(), "the body: invalid type: sequence, expected an object"),
        ] {
            assert_eq!(hint_of::<CreateSourceRequest>(&body), hint, "{body}");
        }
    }

    #[test]
    fn a_wrong_enum_value_is_answered_with_the_allowed_ones() {
        let body = r#"{"task": {"name": "t", "task_mode": "both"}}"#;
        let hint = hint_of::<CreateTaskRequest>(body);
        assert!(hint.starts_with("`task.task_mode`: unknown variant `both`, expected one of `full`"), "{hint}");
    }

    #[test]
    fn a_password_of_the_wrong_type_is_not_repeated() {
        let hint = hint_of::<CreateSourceRequest>(&source_with("password", "918273"));
        assert!(hint.contains("source.password") && !hint.contains("918273"), "{hint}");
    }

    #[test]
    fn a_long_value_that_does_not_fit_is_cut() {
        for value in ["é".repeat(100_000), "both".repeat(100_000)] {
            let hint = hint_of::<CreateSourceRequest>(&source_with("port", &format!("{value:?}")));
            assert!(hint.len() < 500 && hint.ends_with("…, expected an integer from 0 to 65535"), "{hint}");
            let body = serde_json::json!({"task": {"name": "t", "task_mode": value}}).to_string();
            let hint = hint_of::<CreateTaskRequest>(&body);
            assert!(hint.len() < 500 && hint.contains("…, expected one of `full`"), "{hint}");
        }
    }

    #[test]
    fn null_is_the_same_as_left_out() {
        let request: CreateSourceRequest = parse(ContentType::Json, source_with("enable", "null").as_bytes()).unwrap();
        assert!(!request.source.enable);
    }

    #[test]
    fn nothing_is_an_empty_object_only_without_a_content_type() {
        assert!(parse::<StartTaskRequest>(ContentType::Missing, b"").is_ok());
        let error = parse::<StartTaskRequest>(ContentType::Json, b"").unwrap_err();
        assert!(format!("{error:?}").contains("EOF"));
        assert!(parse::<StartTaskRequest>(ContentType::Missing, b"{}").is_err());
    }
}
