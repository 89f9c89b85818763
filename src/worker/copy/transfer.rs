//! How the columns of a table travel: from the shapes on both sides to what is selected and what is loaded. Pure.

use crate::catalogue::{Column, ColumnType, Key, TableShape};
use crate::ddl::same_name;
use crate::load::statement::{Duplicates, TargetTable};
use crate::model::cell::{CellForm, CopiedColumn};
use crate::model::{Flavor, TableName};
use crate::snapshot::select::{KeyColumn, KeyForm, SourceTable};

/// Both ends of one table's copy.
#[derive(Debug, Clone)]
pub struct Transfer {
    pub source: SourceTable,
    pub target: TargetTable,
}

/// Why a table of the target cannot take the rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Misfit {
    /// The source's column is not there.
    Missing { column: String },
    /// The target computes the column.
    Generated { column: String },
}

/// Pairs the source's writable columns with the target's of the same names.
pub fn transfer(
    source: &TableName,
    shape: &TableShape,
    target: &TableName,
    target_shape: &TableShape,
    target_flavor: Flavor,
) -> Result<Transfer, Misfit> {
    let mut columns = Vec::new();
    let mut floats = Vec::new();
    for column in shape.writable_columns() {
        let other = target_shape.column(&column.name).ok_or_else(|| Misfit::Missing { column: column.name.clone() })?;
        if !other.is_writable() {
            return Err(Misfit::Generated { column: column.name.clone() });
        }
        if matches!(column.column_type, ColumnType::Float { .. }) {
            floats.push(columns.len());
        }
        columns.push(CopiedColumn {
            name: column.name.clone(),
            form: cell_form(&column.column_type),
            target_charset: other.column_type.collation().map(|collation| collation.charset().to_owned()),
        });
    }
    let key = reading_key(shape, &columns);
    let target_key = shape.primary_key().or_else(|| shape.unique_keys().next());
    let named = target_key
        .map(|key| key.columns().filter_map(|name| columns.iter().position(|column| same_name(&column.name, name))))
        .map(Iterator::collect)
        .unwrap_or_default();
    Ok(Transfer {
        source: SourceTable { name: source.clone(), columns: columns.clone(), floats, key },
        target: TargetTable {
            name: target.clone(),
            columns,
            key: named,
            json_is_a_type: target_flavor == Flavor::MySql,
            duplicates: Duplicates::Refuse,
        },
    })
}

fn cell_form(column_type: &ColumnType) -> CellForm {
    match column_type {
        ColumnType::Char { collation, .. }
        | ColumnType::VarChar { collation, .. }
        | ColumnType::Text { collation, .. } => CellForm::Characters { charset: collation.charset().to_owned() },
        ColumnType::Enum { .. } | ColumnType::Set { .. } => CellForm::Number,
        ColumnType::Json => CellForm::Json,
        ColumnType::Geometry { .. } => CellForm::Geometry,
        ColumnType::Binary { .. }
        | ColumnType::VarBinary { .. }
        | ColumnType::Blob { .. }
        | ColumnType::Bit { .. }
        | ColumnType::Vector { .. } => CellForm::Bytes,
        _ => CellForm::Text,
    }
}

/// The key to read the table by: the primary key, else a unique one without NULL, of whole columns whose order a
/// literal can stand for. None: the table is read as one stream.
fn reading_key(shape: &TableShape, columns: &[CopiedColumn]) -> Vec<KeyColumn> {
    let primary = shape.primary_key().into_iter();
    let others = shape.unique_keys().filter(|key| key.name != "PRIMARY");
    primary.chain(others).find_map(|key| key_columns(shape, key, columns)).unwrap_or_default()
}

/// The columns of the key that the table is read by, if all are integers and the table has no other unique key. Only
/// such a table can stand at several positions: which stretch a row belongs to is known here, and no value can collide
/// with one of another stretch.
pub fn integer_key(shape: &TableShape) -> Option<Vec<String>> {
    let mut unique = shape.unique_keys();
    let (key, None) = (unique.next()?, unique.next()) else { return None };
    if shape.system_versioned || shape.sequence {
        return None;
    }
    let is_plain = |column: &Column| {
        matches!(column.column_type, ColumnType::Int { .. }) && !column.nullable && column.is_writable()
    };
    let is_whole = !key.hashed && key.parts.iter().all(|part| part.prefix.is_none() && !part.descending);
    let names: Vec<String> = key.columns().map(ToOwned::to_owned).collect();
    let all_are = names.len() == key.parts.len() && names.iter().all(|name| shape.column(name).is_some_and(is_plain));
    (is_whole && all_are).then_some(names)
}

fn key_columns(shape: &TableShape, key: &Key, columns: &[CopiedColumn]) -> Option<Vec<KeyColumn>> {
    let whole = key.parts.iter().all(|part| part.prefix.is_none() && !part.descending) && !key.hashed;
    if !whole || key.columns().count() != key.parts.len() {
        return None;
    }
    key.columns()
        .map(|name| {
            let column = shape.column(name)?;
            let position = columns.iter().position(|copied| same_name(&copied.name, name))?;
            Some(KeyColumn { name: column.name.clone(), form: key_form(column)?, position })
        })
        .collect()
}

/// Types that a literal compares with exactly as stored values do. ENUM and SET compare as numbers or as text,
/// depending on the literal; floats may not equal their own text.
fn key_form(column: &Column) -> Option<KeyForm> {
    if column.nullable {
        return None;
    }
    match &column.column_type {
        ColumnType::Int { .. } => Some(KeyForm::Integer),
        ColumnType::Decimal { .. } => Some(KeyForm::Decimal),
        ColumnType::Date
        | ColumnType::Time { .. }
        | ColumnType::DateTime { .. }
        | ColumnType::Timestamp { .. }
        | ColumnType::Year
        | ColumnType::Uuid
        | ColumnType::Inet4
        | ColumnType::Inet6 => Some(KeyForm::Text),
        ColumnType::Char { collation, .. } | ColumnType::VarChar { collation, .. } => {
            Some(KeyForm::Characters { charset: collation.charset().to_owned() })
        }
        ColumnType::Binary { .. } | ColumnType::VarBinary { .. } => Some(KeyForm::Bytes),
        _ => None,
    }
}
