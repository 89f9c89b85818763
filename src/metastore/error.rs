//! What can go wrong with the metastore, and which of it is worth another try.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use crate::secrets::SealError;

/// The kind of row that an error speaks of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Object {
    Source,
    Task,
    Subtask,
    Assignment,
    Worker,
    Cleanup,
    KeptLedger,
    Lease,
    ClusterFact,
}

impl fmt::Display for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Source => "source",
            Self::Task => "task",
            Self::Subtask => "subtask",
            Self::Assignment => "assignment of source",
            Self::Worker => "worker",
            Self::Cleanup => "cleanup",
            Self::KeptLedger => "kept ledger of",
            Self::Lease => "lease",
            Self::ClusterFact => "cluster fact",
        })
    }
}

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("cannot open the metastore {place}")]
    Open {
        place: String,
        #[source]
        cause: sqlx::Error,
    },
    #[error("cannot bring the metastore {place} to this release's schema")]
    Migrate {
        place: String,
        #[source]
        cause: sqlx::migrate::MigrateError,
    },
    #[error("the metastore address {url} is none of sqlite:, mysql: and mariadb:")]
    UnknownEngine { url: String },
    #[error("the data directory {path} cannot be named in a metastore address")]
    BadPath { path: PathBuf },
    #[error(
        "the secrets in the metastore were sealed with another key: put back the ferrymaster.key they were made with"
    )]
    OtherKey,
    #[error("cannot read {object} {name}")]
    Read {
        object: Object,
        name: String,
        #[source]
        cause: sqlx::Error,
    },
    #[error("cannot write {object} {name}")]
    Write {
        object: Object,
        name: String,
        #[source]
        cause: sqlx::Error,
    },
    #[error("cannot begin or end a transaction of the metastore")]
    Transaction {
        #[source]
        cause: sqlx::Error,
    },
    #[error("the metastore did not answer within {within:?} while {doing}")]
    TimedOut { doing: &'static str, within: Duration },
    /// The commit was sent and not answered: it may have happened. The world must be read again.
    #[error("whether the change was stored is unknown")]
    OutcomeUnknown {
        #[source]
        cause: Option<sqlx::Error>,
    },
    /// The lease has another holder or epoch: this process must stop acting as the leader.
    #[error("this master no longer leads")]
    NotLeader,
    #[error("{object} {name} exists")]
    Exists { object: Object, name: String },
    #[error("{object} {name} does not exist")]
    Missing { object: Object, name: String },
    /// Somebody else changed it in between.
    #[error("{object} {name} was changed meanwhile")]
    Conflict { object: Object, name: String },
    #[error("source {source_name} still has tasks: {}", tasks.join(", "))]
    SourceInUse { source_name: String, tasks: Vec<String> },
    #[error("the stored {object} {name} cannot be understood")]
    Unreadable {
        object: Object,
        name: String,
        #[source]
        cause: serde_json::Error,
    },
    #[error("the {object} {name} cannot be put into words for storing")]
    Unwritable {
        object: Object,
        name: String,
        #[source]
        cause: serde_json::Error,
    },
    #[error("the stored {object} {name} holds the unknown value {value} in {column}")]
    UnknownValue { object: Object, name: String, column: &'static str, value: String },
    #[error("cannot seal or open the secrets of {object} {name}")]
    Secret {
        object: Object,
        name: String,
        #[source]
        cause: SealError,
    },
}

impl StoreError {
    pub(super) fn read(object: Object, name: impl fmt::Display) -> impl FnOnce(sqlx::Error) -> Self {
        move |cause| Self::Read { object, name: name.to_string(), cause }
    }

    /// Turns a unique violation into its meaning.
    pub(super) fn write(object: Object, name: impl fmt::Display) -> impl FnOnce(sqlx::Error) -> Self {
        move |cause| match cause.as_database_error() {
            Some(error) if error.is_unique_violation() => Self::Exists { object, name: name.to_string() },
            _ => Self::Write { object, name: name.to_string(), cause },
        }
    }

    pub(super) fn secret(object: Object, name: impl fmt::Display) -> impl FnOnce(SealError) -> Self {
        move |cause| Self::Secret { object, name: name.to_string(), cause }
    }

    /// The engine undid the transaction because others were at the same rows: the same one may succeed now.
    pub(super) fn is_serialization_failure(&self) -> bool {
        match self {
            Self::Read { cause, .. } | Self::Write { cause, .. } | Self::Transaction { cause } => lost_a_race(cause),
            _ => false,
        }
    }
}

/// Deadlock 1213, lock wait timeout 1205, TiDB's write conflicts, Galera's certification failure (a 1213), and
/// SQLite's BUSY and LOCKED families.
pub(super) fn lost_a_race(cause: &sqlx::Error) -> bool {
    let Some(error) = cause.as_database_error() else { return false };
    if let Some(error) = error.try_downcast_ref::<sqlx::mysql::MySqlDatabaseError>() {
        return error.code() == Some("40001") || matches!(error.number(), 1205 | 1213 | 8002 | 8022 | 8028 | 9007);
    }
    if error.try_downcast_ref::<sqlx::sqlite::SqliteError>().is_some() {
        let code: u32 = error.code().and_then(|code| code.parse().ok()).unwrap_or(0);
        return matches!(code & 0xff, 5 | 6);
    }
    false
}
