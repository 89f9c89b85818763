//! What can go wrong while rows are written.

use crate::model::TableName;
use crate::{ledger, mysql};

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot write rows to {table}")]
    Write {
        table: TableName,
        #[source]
        cause: mysql::Error,
    },
    /// The target refused one row; `key` is its key's text.
    #[error("{table} refuses the row with {key}")]
    Refused {
        table: TableName,
        key: String,
        #[source]
        cause: mysql::Error,
    },
    /// The target would have altered the row.
    #[error("{table} would alter the row with {key}: {warning}")]
    Altered { table: TableName, key: String, warning: String },
    #[error("{table} took {taken} of {sent} rows, and INSERTs did not tell which it refused")]
    Miscounted { table: TableName, sent: u64, taken: u64 },
    #[error(transparent)]
    Ledger(#[from] ledger::Error),
}
