//! How our sessions are set, so that nothing depends on what a server or an account has as its default.

use std::time::Duration;

/// Strict, so that a value the target would alter is an error; zero and impossible dates pass, since the source
/// holds them; 0 is a value and not "the next number".
pub const SESSION_SQL_MODE: &str =
    "STRICT_ALL_TABLES,STRICT_TRANS_TABLES,ALLOW_INVALID_DATES,NO_AUTO_VALUE_ON_ZERO,NO_ENGINE_SUBSTITUTION";

/// What a connection is for; decides its settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Questions whose answers are text: checks, browsing, SHOW statements. utf8mb4.
    Asking,
    /// Reading rows of the source: values come in the bytes they are stored in.
    ReadingRows,
    /// Writing to the target: counts are of matched rows, bytes arrive as they are, waits for locks are short, and
    /// the session ends by itself when we vanish.
    Writing,
}

impl Purpose {
    /// Statements to run on a fresh connection, in one packet.
    pub(super) fn statements(self) -> String {
        let common = format!("SET SESSION sql_mode='{SESSION_SQL_MODE}', time_zone='+00:00'");
        match self {
            Self::Asking => format!("{common}; SET NAMES utf8mb4"),
            // `binary` on the client side only: results NULL means "no conversion".
            Self::ReadingRows => format!(
                "{common}, net_write_timeout=3600, wait_timeout=28800; \
                 SET NAMES utf8mb4; SET SESSION character_set_results=NULL"
            ),
            Self::Writing => format!(
                "{common}, foreign_key_checks=0, innodb_lock_wait_timeout=5, lock_wait_timeout=60, wait_timeout=60, \
                 net_read_timeout=60; SET NAMES binary; SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED"
            ),
        }
    }

    pub(super) fn keepalive(self) -> Duration {
        Duration::from_secs(10)
    }
}
