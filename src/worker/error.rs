//! What can end a run. Each kind knows what was being done; [`super::verdict`] says what comes next.

use crate::model::TableName;
use crate::{ledger, load, mysql, replicate, snapshot};

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot {doing} of the source")]
    Source {
        doing: &'static str,
        #[source]
        cause: mysql::Error,
    },
    #[error("cannot {doing} the target")]
    Target {
        doing: &'static str,
        #[source]
        cause: mysql::Error,
    },
    /// Their rows would be in neither the copy nor the log that is read after it.
    #[error(
        "the source holds {count} XA transactions that were prepared before the copy and do not end: {shown}; a copy \
         could not see their rows"
    )]
    PreparedXa { count: usize, shown: String },
    #[error("the opening of the run did not end in time")]
    OpeningTimedOut,
    #[error("the rules of the task are not usable: {why}")]
    Rules { why: String },
    #[error("{why}")]
    SourceReplaced { why: String },
    /// The same server, and another log.
    #[error("{why}")]
    LogBegunAnew { why: String },
    /// What is needed next is not to be had any more.
    #[error("{why}")]
    BinlogGone {
        why: String,
        #[source]
        cause: Option<mysql::Error>,
    },
    #[error(
        "another reader took this task's place at the source: it calls itself server {server_id} too, and a source \
         sends its binlog to one reader of each id"
    )]
    ServerIdTaken {
        server_id: u32,
        #[source]
        cause: mysql::Error,
    },
    #[error("the source has no binlog (log_bin is off), which this task needs")]
    NoBinlog,
    #[error("{table} uses the engine {engine}, whose rows no snapshot can hold still")]
    Engine { table: TableName, engine: String },
    #[error("the definition of {table} is not understood: {why}")]
    Definition { table: TableName, why: String },
    #[error("{table} exists at the target and holds rows that this task has not written")]
    TargetNotEmpty { table: TableName },
    #[error("the copy into {table} was interrupted, and the table held rows of its own before")]
    TargetHalfCopied { table: TableName },
    #[error("{table} exists at the target and does not fit: {why}")]
    TargetMisfit { table: TableName, why: String },
    #[error("the target refuses to make {table}")]
    TargetTable {
        table: TableName,
        #[source]
        cause: mysql::Error,
    },
    #[error("the target refuses the statement: {statement}")]
    TargetStatement {
        statement: String,
        #[source]
        cause: mysql::Error,
    },
    #[error("mode {mode} is not built yet")]
    ModeUnsupported { mode: &'static str },
    #[error(transparent)]
    Snapshot(#[from] snapshot::Error),
    #[error(transparent)]
    Load(#[from] load::Error),
    #[error(transparent)]
    Replicate(#[from] replicate::Error),
    #[error(transparent)]
    Ledger(#[from] ledger::Error),
    /// A task of the run ended in a panic: a mistake of ours, reported instead of hidden.
    #[error("an internal error: {0}")]
    Internal(String),
    /// Asked to stop; no error for the user.
    #[error("the run was asked to stop")]
    Stopped,
}
