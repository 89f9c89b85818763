//! What a statement says, as plain data. Names are unquoted; every piece that may be edited keeps its [`Span`].
//!
//! A table that is not qualified has the default schema here: the parser refuses a statement whose names it cannot
//! complete, as the server would have.

mod alter;
mod column;
mod named;
mod table;
mod uses;

pub use alter::{AlterItem, AlterSpec, AlterTable, DefaultChange, PartitionAction, Place};
pub use column::{ColumnDefinition, DataType, DefaultKind, DefaultValue, Expression, Generated, TypeName};
pub use named::{Action, Named, RoutineKind, TransactionControl};
pub use table::{
    CreateTable, CreateTableLike, ElementKind, ForeignKeyDefinition, KeyDefinition, KeyKind, KeyPart, KeyPartSource,
    OptionKind, ReferenceAction, TableElement, TableOption,
};
pub use uses::{CharsetPlace, CharsetUse, Clause, ClauseKind, DatabaseUse, TableRole, TableUse, Uses};

use super::token::Span;
use crate::model::TableName;

/// A name, unquoted, and where it stands with its quotes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ident {
    pub value: String,
    pub span: Span,
}

impl Ident {
    /// Names of columns, keys and constraints do not differ by case.
    pub fn is(&self, other: &str) -> bool {
        same_name(&self.value, other)
    }
}

/// Whether two names of columns, keys or constraints are the same to the servers.
pub fn same_name(one: &str, other: &str) -> bool {
    one.eq_ignore_ascii_case(other)
        || (!one.is_ascii() && one.chars().flat_map(char::to_lowercase).eq(other.chars().flat_map(char::to_lowercase)))
}

/// A table by its full name; the span covers the qualifier too, if there is one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableRef {
    pub table: TableName,
    pub span: Span,
}

/// A statement that changes shapes or names of tables or databases, understood whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Statement {
    CreateTable(CreateTable),
    CreateTableLike(CreateTableLike),
    AlterTable(AlterTable),
    DropTable(DropTable),
    RenameTable(RenameTable),
    TruncateTable(TableRef),
    CreateIndex(CreateIndex),
    DropIndex(DropIndex),
    CreateDatabase(CreateDatabase),
    AlterDatabase(AlterDatabase),
    DropDatabase(DropDatabase),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DropTable {
    pub if_exists: bool,
    pub tables: Vec<TableRef>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RenameTable {
    pub if_exists: bool,
    /// Carried out in this order; a later pair may use the name that an earlier one has freed.
    pub pairs: Vec<(TableRef, TableRef)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreateIndex {
    pub or_replace: bool,
    pub table: TableRef,
    pub key: KeyDefinition,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DropIndex {
    pub if_exists: bool,
    pub table: TableRef,
    /// May be `PRIMARY`.
    pub name: Ident,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreateDatabase {
    pub or_replace: bool,
    pub if_not_exists: bool,
    pub name: Ident,
    pub charset: CharsetChoice,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AlterDatabase {
    /// The default schema if the statement names none.
    pub name: String,
    pub charset: CharsetChoice,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DropDatabase {
    pub if_exists: bool,
    pub name: Ident,
}

/// A `CHARACTER SET x COLLATE y`, in lower case; `default` is a word of its own there.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CharsetChoice {
    pub charset: Option<String>,
    pub collation: Option<String>,
}

impl CharsetChoice {
    pub fn is_empty(&self) -> bool {
        self.charset.is_none() && self.collation.is_none()
    }
}

impl Statement {
    /// The tables that the statement creates, changes, drops or renames (old and new names), in its order. Tables
    /// that it only refers to (LIKE, REFERENCES, a sequence) are not among them.
    pub fn tables(&self) -> Vec<&TableName> {
        match self {
            Self::CreateTable(create) => vec![&create.table.table],
            Self::CreateTableLike(create) => vec![&create.table.table],
            Self::AlterTable(alter) => {
                let others = alter.items.iter().filter_map(|item| match &item.spec {
                    AlterSpec::Rename(to) => Some(&to.table),
                    AlterSpec::Partition(PartitionAction::Exchange { with }) => Some(&with.table),
                    AlterSpec::Partition(PartitionAction::ConvertToTable { table }) => Some(&table.table),
                    AlterSpec::Partition(PartitionAction::ConvertFromTable { table }) => Some(&table.table),
                    _ => None,
                });
                std::iter::once(&alter.table.table).chain(others).collect()
            }
            Self::DropTable(drop) => drop.tables.iter().map(|table| &table.table).collect(),
            Self::RenameTable(rename) => rename.pairs.iter().flat_map(|(from, to)| [&from.table, &to.table]).collect(),
            Self::TruncateTable(table) => vec![&table.table],
            Self::CreateIndex(create) => vec![&create.table.table],
            Self::DropIndex(drop) => vec![&drop.table.table],
            Self::CreateDatabase(_) | Self::AlterDatabase(_) | Self::DropDatabase(_) => Vec::new(),
        }
    }

    /// The database, if the statement is about one as a whole.
    pub fn database(&self) -> Option<&str> {
        match self {
            Self::CreateDatabase(create) => Some(&create.name.value),
            Self::AlterDatabase(alter) => Some(&alter.name),
            Self::DropDatabase(drop) => Some(&drop.name.value),
            _ => None,
        }
    }
}
