//! The one body of every failed request.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What went wrong, for people and for programs.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct ErrorWithMessage {
    /// What went wrong. For coded errors: `[code=C:class=K:scope=S:level=L], Message: …[, RawCause: …][, Workaround: …]`.
    #[schema(
        example = "[code=46008:class=scheduler:scope=internal:level=medium], Message: source config with ID mysql-01 not exists"
    )]
    pub error_msg: String,
    /// The stable number of the error; 0 for faults of the request's body or parameters.
    #[schema(example = 46008)]
    pub error_code: u32,
    /// What the caller can do about it; for code 0 it names the field and what was expected there.
    #[serde(default)]
    pub hint: String,
    /// The id under which the logs speak of this request; also sent as the header `x-request-id`.
    #[serde(default)]
    pub request_id: String,
}
