//! Errors as users see them: a stable code of DM's catalogue (or ours), a message, its cause, and what to do.
//!
//! A [`Fault`] is data: it travels from a worker to the master and into an answer. Inside a room errors are typed
//! enums with their causes as sources; each room turns its own into faults at its border.

pub mod codes;

use std::fmt;

use serde::{Deserialize, Serialize};

/// One entry of the error catalogue. `number` never changes its meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Code {
    pub number: u32,
    pub class: &'static str,
    pub level: &'static str,
}

impl Code {
    pub const fn new(number: u32, class: &'static str, level: &'static str) -> Self {
        Self { number, class, level }
    }

    /// A fault of this code; scope `internal`, no cause, no workaround.
    pub fn fault(self, message: impl Into<String>) -> Fault {
        Fault {
            code: self.number,
            class: self.class.to_owned(),
            scope: "internal".to_owned(),
            level: self.level.to_owned(),
            message: message.into(),
            cause: None,
            workaround: None,
        }
    }
}

/// Prints as `[code=C:class=K:scope=S:level=L], Message: M[, RawCause: R][, Workaround: W]`, the form DM's
/// clients look into.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    pub code: u32,
    pub class: String,
    /// `internal`, `upstream` (the source) or `downstream` (the target).
    pub scope: String,
    pub level: String,
    pub message: String,
    pub cause: Option<String>,
    pub workaround: Option<String>,
}

impl Fault {
    pub fn on_source(mut self) -> Self {
        self.scope = "upstream".to_owned();
        self
    }

    pub fn on_target(mut self) -> Self {
        self.scope = "downstream".to_owned();
        self
    }

    pub fn with_cause(mut self, cause: impl fmt::Display) -> Self {
        self.cause = Some(cause.to_string());
        self
    }

    pub fn with_workaround(mut self, workaround: impl Into<String>) -> Self {
        self.workaround = Some(workaround.into());
        self
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { code, class, scope, level, message, .. } = self;
        write!(f, "[code={code}:class={class}:scope={scope}:level={level}], Message: {message}")?;
        if let Some(cause) = &self.cause {
            write!(f, ", RawCause: {cause}")?;
        }
        if let Some(workaround) = &self.workaround {
            write!(f, ", Workaround: {workaround}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Fault {}

/// Prints an error with all its causes, once, for a log line: `cannot read chunk 3: connection refused`.
pub struct Chain<'a>(pub &'a (dyn std::error::Error + 'static));

impl fmt::Display for Chain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)?;
        let mut cause = self.0.source();
        while let Some(error) = cause {
            write!(f, ": {error}")?;
            cause = error.source();
        }
        Ok(())
    }
}
