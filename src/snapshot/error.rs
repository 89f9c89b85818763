//! What can go wrong while a source is read.

use crate::model::TableName;
use crate::mysql;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot {doing} of the source")]
    Source {
        doing: &'static str,
        #[source]
        cause: mysql::Error,
    },
    #[error("cannot read the rows of {table}")]
    Rows {
        table: TableName,
        #[source]
        cause: mysql::Error,
    },
    /// A DDL reached the table between the snapshot and the reading of its rows.
    #[error("{table} was changed by DDL before all of its rows were read")]
    StructureChanged { table: TableName },
    /// Somebody holds a lock that only DDL or LOCK TABLES takes, and it would not go.
    #[error("the structures of the source could not be read: a table stayed locked for more than {waited_s} s")]
    StructuresLocked { waited_s: u64 },
    #[error("the sessions could not be brought to see the same moment: {why}")]
    NotConsistent { why: String },
}

impl Error {
    /// An error of a statement that reads a table. "Table definition has changed", "doesn't exist", "unknown column":
    /// a DDL was quicker than the reading.
    pub(super) fn of_rows(table: &TableName, cause: mysql::Error) -> Self {
        match cause.server_code() {
            Some(1412 | 1146 | 1054 | 1049) => Self::StructureChanged { table: table.clone() },
            _ => Self::Rows { table: table.clone(), cause },
        }
    }
}
