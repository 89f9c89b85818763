//! ALTER TABLE: its items, in their order.

use super::{
    CharsetChoice, ColumnDefinition, DefaultValue, ForeignKeyDefinition, Ident, KeyDefinition, TableElement,
    TableOption, TableRef,
};
use crate::ddl::token::Span;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AlterTable {
    pub table: TableRef,
    pub if_exists: bool,
    /// Rows that break a new unique key go.
    pub ignore: bool,
    pub items: Vec<AlterItem>,
}

/// One item with its place in the text, so that it can be cut.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AlterItem {
    pub spec: AlterSpec,
    pub span: Span,
}

/// Where a column goes; none: at the end, or where it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    Unspecified,
    First,
    After(Ident),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AlterSpec {
    AddColumn {
        if_not_exists: bool,
        column: ColumnDefinition,
        place: Place,
    },
    /// `ADD (a …, b …, KEY …)`.
    AddElements {
        if_not_exists: bool,
        elements: Vec<TableElement>,
    },
    AddKey(KeyDefinition),
    AddForeignKey(ForeignKeyDefinition),
    AddCheck {
        name: Option<Ident>,
        if_not_exists: bool,
    },
    AddPeriod {
        if_not_exists: bool,
        name: Ident,
        start: Ident,
        end: Ident,
    },
    ChangeColumn {
        if_exists: bool,
        old: Ident,
        column: ColumnDefinition,
        place: Place,
    },
    ModifyColumn {
        if_exists: bool,
        column: ColumnDefinition,
        place: Place,
    },
    AlterColumn {
        if_exists: bool,
        name: Ident,
        change: DefaultChange,
    },
    DropColumn {
        if_exists: bool,
        name: Ident,
    },
    DropPrimaryKey,
    DropKey {
        if_exists: bool,
        name: Ident,
    },
    DropForeignKey {
        if_exists: bool,
        name: Ident,
    },
    DropCheck {
        name: Ident,
    },
    /// A constraint of any kind: a check, a foreign key, a unique or the primary key.
    DropConstraint {
        if_exists: bool,
        name: Ident,
    },
    DropPeriod {
        if_exists: bool,
        name: Ident,
    },
    RenameColumn {
        if_exists: bool,
        old: Ident,
        new: Ident,
    },
    RenameKey {
        if_exists: bool,
        old: Ident,
        new: Ident,
    },
    Rename(TableRef),
    /// VISIBLE, INVISIBLE, IGNORED, NOT IGNORED.
    AlterKey {
        if_exists: bool,
        name: Ident,
        ignored: bool,
    },
    /// `ALTER CHECK c [NOT] ENFORCED`.
    AlterCheck {
        name: Ident,
    },
    /// `CONVERT TO CHARACTER SET x COLLATE y`; `default` stands for the database's.
    ConvertCharset(CharsetChoice),
    /// Options without commas between them; `charset` is the new default that they set.
    Options {
        options: Vec<TableOption>,
        charset: CharsetChoice,
    },
    OrderBy,
    Force,
    EnableKeys,
    DisableKeys,
    DiscardTablespace,
    ImportTablespace,
    Algorithm(String),
    Lock(String),
    /// `WITH VALIDATION`, `WITHOUT VALIDATION`.
    Validation,
    AddSystemVersioning,
    DropSystemVersioning,
    Partition(PartitionAction),
}

/// `ALTER [COLUMN] c SET DEFAULT …`, `DROP DEFAULT`, `SET VISIBLE`, `SET INVISIBLE`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DefaultChange {
    Set(DefaultValue),
    Drop,
    SetInvisible(bool),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PartitionAction {
    /// `PARTITION BY …`.
    By,
    Remove,
    Add,
    /// Its rows go with it.
    Drop,
    /// Its rows go.
    Truncate,
    Coalesce,
    Reorganize,
    Rebuild,
    Exchange {
        with: TableRef,
    },
    /// MariaDB: the partition becomes a table of its own.
    ConvertToTable {
        table: TableRef,
    },
    /// MariaDB: a table becomes a partition.
    ConvertFromTable {
        table: TableRef,
    },
    /// ANALYZE, CHECK, OPTIMIZE, REPAIR, DISCARD, IMPORT.
    Maintain,
}
