//! A flat list of what edits need: names, character sets and clauses by their place, whatever part of the tree they
//! belong to.

use super::Ident;
use crate::ddl::token::Span;
use crate::model::TableName;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Uses {
    pub tables: Vec<TableUse>,
    pub databases: Vec<DatabaseUse>,
    pub charsets: Vec<CharsetUse>,
    pub clauses: Vec<Clause>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableUse {
    pub table: TableName,
    /// The whole name, with its qualifier.
    pub span: Span,
    pub role: TableRole,
}

/// What a statement does with a table that it names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TableRole {
    /// Creates, changes, drops or renames it, or gives it that name.
    Subject,
    Like,
    /// The parent of a foreign key.
    References,
    /// The table whose rows a partition gives or takes.
    Partition,
    /// A part of a MERGE table.
    Union,
    /// Used in a default value.
    Sequence,
    /// The statement's own table, as a qualifier of a column in an expression.
    Qualifier,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DatabaseUse {
    pub name: String,
    pub span: Span,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CharsetPlace {
    Column,
    /// The default of a table.
    Table,
    /// The default of a database.
    Database,
    /// CONVERT TO CHARACTER SET.
    Convert,
    /// Inside of an expression or literal; nothing is ever inserted here.
    Expression,
}

/// A character set, a collation, or both, that belong to one thing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CharsetUse {
    pub place: CharsetPlace,
    /// Its span is that of the name alone.
    pub charset: Option<Ident>,
    pub collation: Option<Ident>,
    /// Where a ` COLLATE x` would stand that belongs to the character set. `None`: nowhere.
    pub collate_at: Option<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ClauseKind {
    IfExists,
    IfNotExists,
    OrReplace,
    Online,
    /// `WAIT n`, `NOWAIT`.
    Wait,
    /// `SET STATEMENT … FOR`.
    SetStatement,
    /// The option `START TRANSACTION`.
    StartTransaction,
    /// The option `AUTO_INCREMENT = n`.
    AutoIncrement,
}

/// A clause that an edit may cut.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Clause {
    pub kind: ClauseKind,
    pub span: Span,
    /// The clause belongs to an item of ALTER TABLE or an element of CREATE TABLE, not to the statement.
    pub inner: bool,
}
