//! CREATE TABLE in, the table's shape out.

use super::charset::Collation;
use super::column::column;
use super::column_type::{ColumnType, IntWidth};
use super::error::CatalogueError;
use super::foreign_key::{foreign_keys, kept_by};
use super::key::{KeyContext, KeyRequest, keys};
use super::settings::Settings;
use super::shape::{Column, Key, TableShape};
use crate::ddl::edit::INLINE_REFERENCES_SINCE;
use crate::ddl::{
    ColumnDefinition, CreateTable, DataType, ElementKind, ForeignKeyDefinition, KeyKind, OptionKind, TableElement,
    same_name,
};

/// The shape that a CREATE TABLE gives, in a database with the given default collation. `text` is the statement's.
pub(super) fn shape(
    create: &CreateTable,
    text: &str,
    database: &Collation,
    settings: &Settings,
) -> Result<TableShape, CatalogueError> {
    let table = &create.table.table;
    if create.select.is_some() {
        return Err(CatalogueError::ColumnsFromSelect { table: table.clone() });
    }
    let collation = settings.choose(&create.charset, database)?;
    let engine = engine(create.options.iter().map(|option| &option.kind));
    let mut wishes = Wishes::default();
    let mut columns = Vec::new();
    for element in &create.elements {
        if let ElementKind::Column(definition) = &element.kind {
            if columns.iter().any(|column: &Column| same_name(&column.name, &definition.name.value)) {
                let column = definition.name.value.clone();
                return Err(CatalogueError::ColumnExists { table: table.clone(), column });
            }
            columns.push(column(definition, &collation, settings)?);
        }
        wishes.add_element(element, text, settings);
    }
    let kept = kept_by(engine.as_deref());
    let foreign_keys = if kept { foreign_keys(&wishes.foreign_keys, table, &[], settings) } else { Vec::new() };
    let versioned_column = create.columns().any(|column| column.with_system_versioning);
    let system_versioned = create.system_versioning() || versioned_column;
    let context = KeyContext { table, columns: &columns, engine: engine.as_deref(), system_versioned, settings };
    let keys = keys(wishes.keys, &context)?;
    forbid_nulls(&mut columns, &keys, &wishes.not_null);
    Ok(TableShape {
        columns,
        keys,
        foreign_keys,
        collation,
        engine,
        system_versioned,
        sequence: create.options.iter().any(|option| option.kind == OptionKind::Other("SEQUENCE".to_owned())),
    })
}

/// The last engine that options name, in upper case.
pub(super) fn engine<'a>(options: impl Iterator<Item = &'a OptionKind>) -> Option<String> {
    let engines = options.filter_map(|option| match option {
        OptionKind::Engine(name) => Some(name.to_ascii_uppercase()),
        _ => None,
    });
    engines.last()
}

/// What elements ask for besides columns.
#[derive(Debug, Default)]
pub(super) struct Wishes<'a> {
    pub keys: Vec<KeyRequest>,
    pub foreign_keys: Vec<&'a ForeignKeyDefinition>,
    /// Columns of application-time periods.
    pub not_null: Vec<&'a str>,
}

impl<'a> Wishes<'a> {
    pub fn add_element(&mut self, element: &'a TableElement, text: &str, settings: &Settings) {
        match &element.kind {
            ElementKind::Column(definition) => self.add_column(definition, settings),
            ElementKind::Key(key) => self.keys.push(KeyRequest::written(key, text)),
            ElementKind::ForeignKey(written) => self.add_foreign_key(written),
            ElementKind::Period { start, end, .. } => self.not_null.extend([start.value.as_str(), end.value.as_str()]),
            ElementKind::Check { .. } => {}
        }
    }

    /// The keys that stand on the column itself.
    pub fn add_column(&mut self, definition: &'a ColumnDefinition, settings: &Settings) {
        let name = &definition.name.value;
        if definition.primary_key {
            self.keys.push(KeyRequest::of_column(name, KeyKind::Primary));
        }
        if definition.unique_key {
            self.keys.push(KeyRequest::of_column(name, KeyKind::Unique));
        }
        if let Some(written) = &definition.references
            && (settings.is_mariadb() || settings.version >= INLINE_REFERENCES_SINCE)
        {
            self.add_foreign_key(written);
        }
    }

    pub fn add_foreign_key(&mut self, written: &'a ForeignKeyDefinition) {
        self.keys.push(KeyRequest::for_foreign_key(written));
        self.foreign_keys.push(written);
    }
}

/// Columns of the primary key, and of periods, are NOT NULL whatever they say.
pub(super) fn forbid_nulls(columns: &mut [Column], keys: &[Key], periods: &[&str]) {
    let primary: Vec<&str> =
        keys.iter().filter(|key| key.kind == KeyKind::Primary).flat_map(super::shape::Key::columns).collect();
    for column in columns {
        if primary.iter().chain(periods).any(|name| same_name(name, &column.name)) {
            column.nullable = false;
        }
    }
}

/// The columns of a MariaDB sequence, which is a table of one row.
pub(super) fn sequence(data_type: Option<&DataType>, settings: &Settings) -> Result<TableShape, CatalogueError> {
    let table_collation = settings.server_collation.clone();
    let value = match data_type {
        Some(written) => ColumnType::resolve("next_not_cached_value", written, &table_collation, settings)?,
        None => ColumnType::Int { width: IntWidth::Big, unsigned: false },
    };
    let count = ColumnType::Int { width: IntWidth::Big, unsigned: false };
    let columns = [
        ("next_not_cached_value", value.clone()),
        ("minimum_value", value.clone()),
        ("maximum_value", value.clone()),
        ("start_value", value),
        ("increment", count.clone()),
        ("cache_size", ColumnType::Int { width: IntWidth::Big, unsigned: true }),
        ("cycle_option", ColumnType::Int { width: IntWidth::Tiny, unsigned: true }),
        ("cycle_count", count),
    ];
    let columns = columns.map(|(name, column_type)| Column {
        name: name.to_owned(),
        column_type,
        nullable: false,
        auto_increment: false,
        generated: None,
        invisible: false,
        compressed: false,
    });
    Ok(TableShape {
        columns: columns.into(),
        keys: Vec::new(),
        foreign_keys: Vec::new(),
        collation: table_collation,
        engine: None,
        system_versioned: false,
        sequence: true,
    })
}
