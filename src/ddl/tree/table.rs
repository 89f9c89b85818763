//! CREATE TABLE and what stands between its parentheses and after them.

use super::{CharsetChoice, ColumnDefinition, Ident, TableRef};
use crate::ddl::token::Span;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreateTable {
    pub or_replace: bool,
    pub if_not_exists: bool,
    pub table: TableRef,
    /// In their order, which decides the names of keys that have none. Empty for `CREATE TABLE t SELECT …`.
    pub elements: Vec<TableElement>,
    pub options: Vec<TableOption>,
    /// The explicit default of the table.
    pub charset: CharsetChoice,
    /// Where a `DEFAULT CHARACTER SET … COLLATE …` would stand.
    pub options_at: usize,
    /// `PARTITION BY …` to its end.
    pub partitions: Option<Span>,
    /// `[IGNORE | REPLACE] [AS] SELECT …`: what makes further columns and the rows.
    pub select: Option<Span>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreateTableLike {
    pub or_replace: bool,
    pub if_not_exists: bool,
    pub table: TableRef,
    pub like: TableRef,
}

impl CreateTable {
    pub fn columns(&self) -> impl Iterator<Item = &ColumnDefinition> {
        self.elements.iter().filter_map(|element| match &element.kind {
            ElementKind::Column(column) => Some(column),
            _ => None,
        })
    }

    /// `WITH SYSTEM VERSIONING` on the table.
    pub fn system_versioning(&self) -> bool {
        self.options.iter().any(|option| option.kind == OptionKind::SystemVersioning)
    }
}

/// One item between the parentheses of CREATE TABLE or of ADD (…).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableElement {
    pub kind: ElementKind,
    pub span: Span,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ElementKind {
    Column(ColumnDefinition),
    Key(KeyDefinition),
    ForeignKey(ForeignKeyDefinition),
    Check {
        name: Option<Ident>,
    },
    /// `PERIOD FOR SYSTEM_TIME (a, b)` or, with any other name, an application-time period.
    Period {
        name: Ident,
        start: Ident,
        end: Ident,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum KeyKind {
    Primary,
    Unique,
    Plain,
    FullText,
    Spatial,
    Vector,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyDefinition {
    pub kind: KeyKind,
    /// The name of the key, else of its constraint.
    pub name: Option<Ident>,
    pub if_not_exists: bool,
    pub parts: Vec<KeyPart>,
    /// `USING HASH`.
    pub hash: bool,
    pub span: Span,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyPart {
    pub source: KeyPartSource,
    /// In characters for texts, in bytes for binary strings.
    pub prefix: Option<u64>,
    pub descending: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyPartSource {
    Column(Ident),
    /// `(expression)`: MySQL's functional and multi-valued keys.
    Expression(Span),
    /// `p WITHOUT OVERLAPS`, p being a period.
    Period(Ident),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForeignKeyDefinition {
    /// The constraint's name.
    pub name: Option<Ident>,
    /// The name after FOREIGN KEY, which the key made for it may get.
    pub index_name: Option<Ident>,
    pub if_not_exists: bool,
    pub columns: Vec<Ident>,
    pub parent: TableRef,
    /// Empty if left out.
    pub parent_columns: Vec<Ident>,
    pub on_delete: ReferenceAction,
    pub on_update: ReferenceAction,
    pub span: Span,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum ReferenceAction {
    /// Nothing was said; the same as RESTRICT.
    #[default]
    Unspecified,
    Restrict,
    NoAction,
    Cascade,
    SetNull,
    SetDefault,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableOption {
    pub kind: OptionKind,
    pub span: Span,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OptionKind {
    Engine(String),
    AutoIncrement(u64),
    /// The character set, in lower case.
    Charset(String),
    /// The collation, in lower case.
    Collate(String),
    /// The tables of a MERGE table.
    Union(Vec<TableRef>),
    SystemVersioning,
    /// MySQL writes `START TRANSACTION` at the end of a CREATE TABLE whose rows follow in the same transaction.
    StartTransaction,
    /// Any other, by its first word in upper case.
    Other(String),
}
