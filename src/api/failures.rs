//! The failures that every operation may answer with, for the document.

use utoipa::IntoResponses;

use crate::model::wire::ErrorWithMessage;

/// Operations that answer 400 for everything they refuse.
#[derive(IntoResponses)]
#[expect(dead_code, reason = "only described, never made")]
pub enum Refused {
    /// Refused: `error_code` and `hint` say why and what to do.
    #[response(status = 400)]
    Refused(ErrorWithMessage),
    /// Any other failure: no leader (503), not done in time (504), a fault of the server (500).
    #[response(status = "default")]
    Failed(ErrorWithMessage),
}

/// Operations on one thing that may be unknown.
#[derive(IntoResponses)]
#[expect(dead_code, reason = "only described, never made")]
pub enum NotFound {
    /// Refused: `error_code` and `hint` say why and what to do.
    #[response(status = 400)]
    Refused(ErrorWithMessage),
    /// There is nothing of that name.
    #[response(status = 404)]
    Unknown(ErrorWithMessage),
    /// Any other failure: no leader (503), not done in time (504), a fault of the server (500).
    #[response(status = "default")]
    Failed(ErrorWithMessage),
}
