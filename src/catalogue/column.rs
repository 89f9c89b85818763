//! A column's definition as written in, a [`Column`] with the servers' defaults out.

use super::charset::Collation;
use super::column_type::ColumnType;
use super::error::CatalogueError;
use super::settings::Settings;
use super::shape::{Column, GeneratedKind};
use crate::ddl::{ColumnDefinition, Generated};

/// The column of a table with the given default collation. That a primary key makes its columns NOT NULL is not
/// looked at here.
pub(super) fn column(
    written: &ColumnDefinition,
    table: &Collation,
    settings: &Settings,
) -> Result<Column, CatalogueError> {
    let name = written.name.value.clone();
    let column_type = ColumnType::resolve(&name, &written.data_type, table, settings)?;
    let generated = written.generated.as_ref().map(|generated| match generated {
        Generated::Virtual(_) => GeneratedKind::Virtual,
        Generated::Stored(_) => GeneratedKind::Stored,
        Generated::RowStart => GeneratedKind::RowStart,
        Generated::RowEnd => GeneratedKind::RowEnd,
    });
    let is_period = matches!(generated, Some(GeneratedKind::RowStart | GeneratedKind::RowEnd));
    // a TIMESTAMP that says nothing was NOT NULL once
    let implicitly_not_null = matches!(column_type, ColumnType::Timestamp { .. })
        && !settings.explicit_defaults_for_timestamp
        && generated.is_none();
    let nullable = match written.nullable {
        _ if is_period || written.auto_increment => false,
        Some(nullable) => nullable,
        None => !implicitly_not_null,
    };
    Ok(Column {
        name,
        column_type,
        nullable,
        auto_increment: written.auto_increment,
        generated,
        invisible: written.invisible,
        compressed: written.compressed,
    })
}
