//! Why a statement cannot be followed. The catalogue is as it was before.

use crate::model::TableName;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CatalogueError {
    #[error("the statement is not understood: {reason} at byte {offset}")]
    NotUnderstood { reason: String, offset: usize },
    #[error("{found} is no definition of the table {table}")]
    NotADefinition { table: TableName, found: String },
    #[error("the database `{database}` is not known here")]
    UnknownDatabase { database: String },
    #[error("the table {table} is not known here")]
    UnknownTable { table: TableName },
    #[error("the table {table} exists already")]
    TableExists { table: TableName },
    #[error("the table {table} has no column `{column}`")]
    UnknownColumn { table: TableName, column: String },
    #[error("the table {table} has a column `{column}` already")]
    ColumnExists { table: TableName, column: String },
    #[error("the table {table} has no key `{key}`")]
    UnknownKey { table: TableName, key: String },
    #[error("the table {table} has a key `{key}` already")]
    KeyExists { table: TableName, key: String },
    #[error("the table {table} has no foreign key `{name}`")]
    UnknownForeignKey { table: TableName, name: String },
    #[error("the character set `{charset}` is not known here")]
    UnknownCharset { charset: String },
    #[error("the type of `{column}` has no valid length")]
    InvalidLength { column: String },
    /// A source that logs rows never writes such a statement.
    #[error("the columns of {table} come from a SELECT")]
    ColumnsFromSelect { table: TableName },
    #[error("a stored shape cannot be read or written: {reason}")]
    Stored { reason: String },
}
