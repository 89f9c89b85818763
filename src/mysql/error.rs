//! What can go wrong between us and a server.

use std::fmt;

/// What was being done, at which server, and why it failed.
#[derive(Debug, thiserror::Error)]
#[error("{doing} at {server}: {kind}")]
pub struct Error {
    /// In words: `connecting`, `reading SHOW CREATE TABLE …`. Never holds a row's values or a password.
    pub doing: Box<str>,
    /// `user@host:port`.
    pub server: Box<str>,
    pub kind: ErrorKind,
}

/// Callers act on the kind, never on the text.
#[derive(Debug)]
pub enum ErrorKind {
    /// No connection could be made, or it broke.
    Connection(Box<str>),
    /// TLS could not be agreed on.
    Tls(Box<str>),
    /// The deadline ran out while waiting for the server.
    TimedOut,
    /// The server answered with an error of its own; the connection goes on.
    Server { code: u16, state: Box<str>, message: Box<str> },
    /// The server said something the driver does not understand.
    Protocol(Box<str>),
    /// The answer lacks a column or holds a value of another form.
    Answer(Box<str>),
}

/// "Could not find first log file name", "the master has purged", and everything else that ends a binlog stream.
pub const FATAL_OF_STREAM: u16 = 1236;

impl Error {
    /// The server's error number, when it was the server that refused.
    pub fn server_code(&self) -> Option<u16> {
        match self.kind {
            ErrorKind::Server { code, .. } => Some(code),
            _ => None,
        }
    }

    /// Whether the connection is gone or must not be used again.
    pub fn is_fatal(&self) -> bool {
        match &self.kind {
            // The server ends the session with these: shutdown, killed, read error, timeouts, too large a packet.
            ErrorKind::Server { code, .. } => {
                matches!(code, 1053 | 1152..=1161 | 1184 | 1927 | 3032 | 3169 | 4031)
            }
            ErrorKind::Answer(_) => false,
            _ => true,
        }
    }

    pub(super) fn new(doing: &str, server: &str, kind: ErrorKind) -> Self {
        Self { doing: doing.into(), server: server.into(), kind }
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connection(text) => write!(f, "connection failed: {text}"),
            Self::Tls(text) => write!(f, "TLS failed: {text}"),
            Self::TimedOut => f.write_str("no answer in time (deadline exceeded)"),
            Self::Server { code, state, message } => write!(f, "Error {code} ({state}): {message}"),
            Self::Protocol(text) => write!(f, "unexpected answer: {text}"),
            Self::Answer(text) => write!(f, "unexpected result: {text}"),
        }
    }
}

impl From<mysql_async::Error> for ErrorKind {
    fn from(error: mysql_async::Error) -> Self {
        use mysql_async::{DriverError, Error as Driver, IoError};
        match error {
            Driver::Server(server) => {
                Self::Server { code: server.code, state: server.state.into(), message: server.message.into() }
            }
            Driver::Io(IoError::Io(io)) => Self::Connection(io.to_string().into()),
            Driver::Io(IoError::Tls(tls)) => Self::Tls(tls.to_string().into()),
            Driver::Driver(DriverError::ConnectionClosed) => Self::Connection("closed by the server".into()),
            Driver::Driver(DriverError::NoClientSslFlagFromServer) => {
                Self::Tls("the server does not offer TLS, and the endpoint asks for it".into())
            }
            other => Self::Protocol(other.to_string().into()),
        }
    }
}
