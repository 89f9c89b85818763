//! What can stop replication. Every kind says where in the source's binlog it happened.

use crate::model::{BinlogPosition, TableName};
use crate::{ledger, mysql};

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot {doing}")]
    Source {
        doing: &'static str,
        #[source]
        cause: mysql::Error,
    },
    #[error("cannot {doing} the target at {position}")]
    Target {
        doing: &'static str,
        position: String,
        #[source]
        cause: mysql::Error,
    },
    #[error("the target refuses a change of {table} ({key}) at {position}")]
    Refused {
        table: TableName,
        key: String,
        position: String,
        #[source]
        cause: mysql::Error,
    },
    /// The cheapest detector of every mistake: an UPDATE or DELETE did not match exactly its row.
    #[error("a change of {table} ({key}) at {position} matched {found} rows of the target instead of {expected}")]
    Mismatch { table: TableName, key: String, position: String, expected: u64, found: u64 },
    /// The target took a value, but said that it is not the one that was sent.
    #[error("the target would alter a value of {table} ({key}) at {position}: {warning}")]
    Altered { table: TableName, key: String, position: String, warning: String },
    #[error("the binlog cannot be decoded after {position}")]
    Decode {
        position: String,
        #[source]
        cause: Box<crate::binlog::BinlogError>,
    },
    /// Something in the binlog that this version does not apply, and must not skip.
    #[error("{what} at {position} is not replicated")]
    Unsupported { what: String, position: String },
    #[error("the structure of {table} at {position} does not fit the binlog: {why}")]
    Structure { table: TableName, position: String, why: String },
    #[error("the statement at {position} is not understood: {why}: {statement}")]
    Statement { statement: String, position: String, why: String },
    /// As [`Self::UnknownCollation`], for a structure that comes with a statement.
    #[error("the statement at {position} cannot be run at the target: {why}: {statement}")]
    StatementCollation { statement: String, position: String, why: String },
    #[error("the target refuses the DDL at {position}: {statement}")]
    DdlRefused {
        statement: String,
        position: String,
        #[source]
        cause: mysql::Error,
    },
    /// `position`: of the first change that needs the table; filled in where changes are read.
    #[error("{table} at the target does not fit: {why}")]
    TargetTable { table: TableName, why: String, position: String },
    /// The source changed rows of a child and does not log such changes; the target cannot repeat them.
    #[error(
        "the change of {parent} at {position} changed rows of {child} by the foreign key {foreign_key}, which the \
         source does not log and the target cannot repeat"
    )]
    LostCascade { parent: TableName, child: TableName, foreign_key: String, position: String },
    #[error("column {column} of {table} has the collation {collation}, which the target does not know")]
    UnknownCollation { table: TableName, column: String, collation: String },
    /// A DDL was under way when an earlier run ended, and it cannot be told whether it was applied.
    #[error("it cannot be told whether the DDL at {position} was applied before the crash: {statement}")]
    UndecidedDdl { statement: String, position: String },
    /// Its XA PREPARE stands before what the task has read, so its rows were not seen.
    #[error("the XA transaction {xid}, committed at {position}, was prepared before the place that the task began at")]
    PreparedUnknown { xid: String, position: String },
    #[error("the XA transaction {xid}, committed at {position}, cannot be read again from {begins}: {why}")]
    PreparedGone {
        xid: String,
        begins: BinlogPosition,
        position: String,
        why: String,
        #[source]
        cause: Option<mysql::Error>,
    },
    #[error(transparent)]
    Ledger(#[from] ledger::Error),
    #[error("{0}")]
    Route(String),
    /// Asked to stop; no error for the user.
    #[error("replication was asked to stop")]
    Stopped,
}

impl Error {
    /// Where in the source's binlog it happened, if that is known.
    pub fn position(&self) -> Option<BinlogPosition> {
        let text = self.place()?;
        text.split_once(GTID_MARK).map_or(text, |(position, _)| position).parse().ok()
    }

    /// The GTID of the transaction it happened in, if that is known.
    pub fn gtid(&self) -> Option<&str> {
        self.place()?.split_once(GTID_MARK).map(|(_, gtid)| gtid)
    }

    /// The same, with a place if it had none.
    pub fn at(mut self, place: impl FnOnce() -> String) -> Self {
        if let Self::TargetTable { position, .. } = &mut self
            && position.is_empty()
        {
            *position = place();
        }
        self
    }

    /// The key of the row it is about.
    pub fn key(&self) -> Option<&str> {
        match self {
            Self::Refused { key, .. } | Self::Mismatch { key, .. } | Self::Altered { key, .. } => Some(key),
            _ => None,
        }
    }

    /// The position as it is told, with the transaction's own GTID behind it.
    fn place(&self) -> Option<&str> {
        match self {
            Self::Target { position, .. }
            | Self::Refused { position, .. }
            | Self::Mismatch { position, .. }
            | Self::Altered { position, .. }
            | Self::Decode { position, .. }
            | Self::Unsupported { position, .. }
            | Self::Structure { position, .. }
            | Self::Statement { position, .. }
            | Self::StatementCollation { position, .. }
            | Self::DdlRefused { position, .. }
            | Self::TargetTable { position, .. }
            | Self::LostCascade { position, .. }
            | Self::UndecidedDdl { position, .. }
            | Self::PreparedUnknown { position, .. }
            | Self::PreparedGone { position, .. } => Some(position),
            Self::Source { .. } | Self::UnknownCollation { .. } | Self::Ledger(_) | Self::Route(_) | Self::Stopped => {
                None
            }
        }
    }
}

/// Between a position and the GTID of its transaction.
const GTID_MARK: &str = " gtid ";
