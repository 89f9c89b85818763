//! Which columns a table had at the time of an event: shapes of tables, advanced statement by statement.
//!
//! In: `SHOW CREATE TABLE` texts as the baseline, then every DDL of the binlog, parsed. Out: for each table an
//! immutable [`TableShape`] behind an `Arc`, which older readers keep. Never here: I/O, and any guess: a statement
//! that cannot be followed is an error and changes nothing.
//! The surprise: a statement may name tables that are not known here, since a task may not need them. Those are
//! reported in [`Applied::unknown`] and judged by the caller, who knows the filters.

mod alter;
mod apply;
mod change;
pub mod charset;
mod check;
mod column;
mod column_type;
mod create;
mod error;
mod foreign_key;
mod key;
mod settings;
mod shape;
mod stored;

pub use apply::Applied;
pub use change::shape_changes;
pub use charset::Collation;
pub use check::{Mismatch, check};
pub use column_type::{BlobSize, ColumnType, GeometryKind, IntWidth};
pub use error::CatalogueError;
pub use settings::Settings;
pub use shape::{Column, ForeignKey, GeneratedKind, Key, KeyPart, KeyPartSource, LoggedColumn, TableShape};
pub use stored::{StoredDatabase, StoredShape};

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::ddl::{Context, Meaning, Statement, parse};
use crate::model::TableName;

/// The tables and databases of one source.
#[derive(Debug, Clone, Default)]
pub struct Catalogue {
    /// The source compares names without regard to case.
    names_ignore_case: bool,
    /// The default collation of each database.
    databases: BTreeMap<String, Collation>,
    /// By schema, then by table, so that a database can be dropped whole.
    tables: BTreeMap<TableName, Entry>,
}

#[derive(Debug, Clone)]
struct Entry {
    /// In the spelling of the statement that named it last.
    name: TableName,
    shape: Arc<TableShape>,
}

impl Catalogue {
    /// An empty one. `names_ignore_case`: the source's `lower_case_table_names` is not 0.
    pub fn new(names_ignore_case: bool) -> Self {
        Self { names_ignore_case, ..Self::default() }
    }

    fn folded(&self, name: &str) -> String {
        if self.names_ignore_case { name.to_lowercase() } else { name.to_owned() }
    }

    fn folded_table(&self, table: &TableName) -> TableName {
        TableName::new(self.folded(&table.schema), self.folded(&table.table))
    }

    /// Whether two names are one table to the source.
    pub fn is_same(&self, one: &TableName, other: &TableName) -> bool {
        self.folded_table(one) == self.folded_table(other)
    }

    pub fn table(&self, table: &TableName) -> Option<&Arc<TableShape>> {
        self.tables.get(&self.folded_table(table)).map(|entry| &entry.shape)
    }

    pub fn tables(&self) -> impl Iterator<Item = (&TableName, &Arc<TableShape>)> {
        self.tables.values().map(|entry| (&entry.name, &entry.shape))
    }

    /// The default collation of a database.
    pub fn database(&self, name: &str) -> Option<&Collation> {
        self.databases.get(&self.folded(name))
    }

    pub fn databases(&self) -> impl Iterator<Item = (&str, &Collation)> {
        self.databases.iter().map(|(name, collation)| (name.as_str(), collation))
    }

    /// A database as the baseline has it.
    pub fn add_database(&mut self, name: &str, collation: Collation) {
        self.databases.insert(self.folded(name), collation);
    }

    /// A table as the baseline has it, or as an operator corrects it.
    pub fn add_table(&mut self, table: TableName, shape: Arc<TableShape>) {
        let key = self.folded_table(&table);
        self.tables.insert(key, Entry { name: table, shape });
    }

    /// A table that is of no use any more.
    pub fn forget_table(&mut self, table: &TableName) {
        self.tables.remove(&self.folded_table(table));
    }
}

/// The shape that a `SHOW CREATE TABLE` tells, read under an sql_mode without ANSI_QUOTES and NO_TABLE_OPTIONS.
///
/// That text leaves one thing out: which keys were made for foreign keys only. They count as made by the user.
pub fn shape_of_definition(
    table: &TableName,
    definition: &str,
    settings: &Settings,
) -> Result<TableShape, CatalogueError> {
    let context = Context::new(settings.flavor, settings.version).with_default_schema(table.schema.clone());
    let parsed = parse(definition, &context);
    match &parsed.meaning {
        // the text always names the character set; a database's default is never needed
        Meaning::Understood(Statement::CreateTable(create)) => {
            create::shape(create, definition, &settings.server_collation, settings)
        }
        Meaning::NotUnderstood(reason) => {
            Err(CatalogueError::NotUnderstood { reason: reason.reason.clone(), offset: reason.offset })
        }
        other => {
            let found = match other {
                Meaning::Named(named) => format!("{named:?}"),
                _ => "another statement".to_owned(),
            };
            Err(CatalogueError::NotADefinition { table: table.clone(), found })
        }
    }
}
