//! Holds a shape against a table map of the binlog: how the rows that follow are laid out.
//!
//! One comparison for each new table map finds a wrong shape before a row of it is read. What a table map may or may
//! not tell (names, signs, members) is compared where it is told.

use std::fmt;

use super::charset::Collation;
use super::column_type::{BlobSize, ColumnType, IntWidth};
use super::shape::{GeneratedKind, LoggedColumn, TableShape};
use crate::binlog::{ColumnMetadata, ColumnType as WireType, TableMap, WireColumn};
use crate::ddl::same_name;
use crate::model::TableName;

/// The first difference, and both lists of columns for an operator to look at.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the table {table} has other columns in the binlog than are known here ({reason}); known: {}; binlog: {}",
    expected.join(", "),
    found.join(", ")
)]
pub struct Mismatch {
    pub table: TableName,
    pub reason: String,
    pub expected: Vec<String>,
    pub found: Vec<String>,
}

/// Whether the rows that follow a table map have this shape.
pub fn check(shape: &TableShape, map: &TableMap) -> Result<(), Mismatch> {
    let logged = shape.logged_columns();
    match difference(shape, &logged, map) {
        None => Ok(()),
        Some(reason) => Err(Mismatch {
            table: map.name.clone(),
            reason,
            expected: logged.iter().map(|column| Expected::of(column).to_string()).collect(),
            found: map.columns.iter().map(found_text).collect(),
        }),
    }
}

fn difference(shape: &TableShape, logged: &[LoggedColumn<'_>], map: &TableMap) -> Option<String> {
    if logged.len() != map.columns.len() {
        return Some(format!("{} columns instead of {}", map.columns.len(), logged.len()));
    }
    for (index, (known, wire)) in logged.iter().zip(&map.columns).enumerate() {
        let expected = Expected::of(known);
        if !expected.fits(*wire) {
            return Some(format!("column {} is {} instead of {expected}", index + 1, found_text(wire)));
        }
        if let Some(metadata) = map.metadata.columns.get(index)
            && let Some(reason) = metadata_difference(known, metadata)
        {
            return Some(format!("column {}: {reason}", index + 1));
        }
    }
    primary_key_difference(shape, logged, map)
}

/// What a column must look like on the wire.
struct Expected<'a> {
    name: &'a str,
    wire_type: WireType,
    metadata: u16,
    /// Another form of the same values: that of older tables, or of the other family.
    other: Option<(WireType, u16)>,
    nullable: bool,
}

impl<'a> Expected<'a> {
    fn of(column: &LoggedColumn<'a>) -> Self {
        let hidden = |name, wire_type, metadata, nullable| Self { name, wire_type, metadata, other: None, nullable };
        match column {
            LoggedColumn::HiddenRowStart => hidden("(row start)", WireType::TIMESTAMP2, 6, false),
            LoggedColumn::HiddenRowEnd => hidden("(row end)", WireType::TIMESTAMP2, 6, false),
            LoggedColumn::HiddenKeyHash => hidden("(hash of a key)", WireType::LONGLONG, 0, true),
            LoggedColumn::Declared(column) => {
                let (wire_type, metadata) = wire_type(&column.column_type, column.compressed);
                let other = match (wire_type, &column.column_type) {
                    (WireType::TIMESTAMP2, _) => Some((WireType::TIMESTAMP, 0)),
                    (WireType::DATETIME2, _) => Some((WireType::DATETIME, 0)),
                    (WireType::TIME2, _) => Some((WireType::TIME, 0)),
                    (WireType::DATE, _) => Some((WireType::NEWDATE, 0)),
                    // MariaDB's
                    (_, ColumnType::Vector { dimensions }) => {
                        let bytes = u16::try_from(dimensions.saturating_mul(4)).unwrap_or(u16::MAX);
                        Some((WireType::VARCHAR, bytes))
                    }
                    _ => None,
                };
                Self { name: &column.name, wire_type, metadata, other, nullable: column.nullable }
            }
        }
    }

    fn fits(&self, wire: WireColumn) -> bool {
        let found = (wire.column_type, wire.metadata);
        ((self.wire_type, self.metadata) == found || self.other == Some(found)) && self.nullable == wire.nullable
    }
}

impl fmt::Display for Expected<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.name, wire_text(self.wire_type, self.metadata, self.nullable))
    }
}

/// The number of a type and its description: lengths in bytes, digits of a fraction, precision and scale.
fn wire_type(column_type: &ColumnType, compressed: bool) -> (WireType, u16) {
    let bytes = |length: u64, column_type: &ColumnType| {
        let character = column_type.collation().map_or(1, Collation::bytes_per_character);
        u16::try_from(length.saturating_mul(u64::from(character))).unwrap_or(u16::MAX)
    };
    let varying = |length: u64| {
        let wire_type = if compressed { WireType::VARCHAR_COMPRESSED } else { WireType::VARCHAR };
        // a compressed value has one byte more, which tells how it is compressed
        (wire_type, bytes(length, column_type).saturating_add(u16::from(compressed)))
    };
    let blob = |size: BlobSize| {
        let wire_type = if compressed { WireType::BLOB_COMPRESSED } else { WireType::BLOB };
        (wire_type, length_bytes(size))
    };
    let digits = |digits: u32| u16::try_from(digits).unwrap_or(u16::MAX);
    match column_type {
        ColumnType::Int { width, .. } => match width {
            IntWidth::Tiny => (WireType::TINY, 0),
            IntWidth::Small => (WireType::SHORT, 0),
            IntWidth::Medium => (WireType::INT24, 0),
            IntWidth::Normal => (WireType::LONG, 0),
            IntWidth::Big => (WireType::LONGLONG, 0),
        },
        ColumnType::Decimal { precision, scale, .. } => {
            (WireType::NEWDECIMAL, digits(*precision) << 8 | digits(*scale) & 0xff)
        }
        ColumnType::Float { .. } => (WireType::FLOAT, 4),
        ColumnType::Double { .. } => (WireType::DOUBLE, 8),
        ColumnType::Bit { length } => (WireType::BIT, digits(length / 8) << 8 | digits(length % 8)),
        ColumnType::Date => (WireType::DATE, 0),
        ColumnType::Time { fraction } => (WireType::TIME2, digits(*fraction)),
        ColumnType::DateTime { fraction } => (WireType::DATETIME2, digits(*fraction)),
        ColumnType::Timestamp { fraction } => (WireType::TIMESTAMP2, digits(*fraction)),
        ColumnType::Year => (WireType::YEAR, 0),
        ColumnType::Char { length, .. } => (WireType::STRING, bytes(*length, column_type)),
        ColumnType::Binary { length } => (WireType::STRING, bytes(*length, column_type)),
        ColumnType::VarChar { length, .. } => varying(*length),
        ColumnType::VarBinary { length } => varying(*length),
        ColumnType::Text { size, .. } => blob(*size),
        ColumnType::Blob { size } => blob(*size),
        ColumnType::Enum { members, .. } => (WireType::ENUM, if members.len() < 256 { 1 } else { 2 }),
        ColumnType::Set { members, .. } => {
            let bytes = members.len().div_ceil(8);
            (WireType::SET, if bytes > 4 { 8 } else { u16::try_from(bytes).unwrap_or(8) })
        }
        ColumnType::Json => (WireType::JSON, 4),
        ColumnType::Geometry { .. } => (WireType::GEOMETRY, 4),
        ColumnType::Uuid | ColumnType::Inet6 => (WireType::STRING, 16),
        ColumnType::Inet4 => (WireType::STRING, 4),
        ColumnType::Vector { .. } => (WireType::VECTOR, 4),
    }
}

/// How many bytes hold the length of a value.
fn length_bytes(size: BlobSize) -> u16 {
    match size {
        BlobSize::Tiny => 1,
        BlobSize::Normal => 2,
        BlobSize::Medium => 3,
        BlobSize::Long => 4,
    }
}

fn found_text(wire: &WireColumn) -> String {
    wire_text(wire.column_type, wire.metadata, wire.nullable)
}

fn wire_text(wire_type: WireType, metadata: u16, nullable: bool) -> String {
    format!("type {} ({metadata}){}", wire_type.0, if nullable { "" } else { " NOT NULL" })
}

/// What the optional part of the table map says otherwise of a column.
fn metadata_difference(known: &LoggedColumn<'_>, metadata: &ColumnMetadata) -> Option<String> {
    let LoggedColumn::Declared(column) = known else { return None };
    if let Some(name) = metadata.name.as_ref().filter(|name| !same_name(name, &column.name)) {
        return Some(format!("it is called `{name}` instead of `{}`", column.name));
    }
    let unsigned = match &column.column_type {
        ColumnType::Int { unsigned, .. }
        | ColumnType::Decimal { unsigned, .. }
        | ColumnType::Float { unsigned }
        | ColumnType::Double { unsigned } => Some(*unsigned),
        _ => None,
    };
    if let (Some(known), Some(told)) = (unsigned, metadata.unsigned)
        && known != told
    {
        let sign = if told { "unsigned" } else { "signed" };
        return Some(format!("`{}` is {sign}", column.name));
    }
    if let (ColumnType::Enum { members, .. } | ColumnType::Set { members, .. }, Some(told)) =
        (&column.column_type, &metadata.members)
        && members.len() != told.len()
    {
        return Some(format!("`{}` has {} members instead of {}", column.name, told.len(), members.len()));
    }
    match (&column.column_type, metadata.dimensions) {
        (ColumnType::Vector { dimensions }, Some(told)) if u64::from(told) != *dimensions => {
            Some(format!("`{}` has {told} dimensions instead of {dimensions}", column.name))
        }
        _ => None,
    }
}

/// A primary key that is told must be the known one. Of a table without any the servers tell the first unique key
/// that takes no NULL.
fn primary_key_difference(shape: &TableShape, logged: &[LoggedColumn<'_>], map: &TableMap) -> Option<String> {
    let told = map.metadata.primary_key.as_ref()?;
    let known = shape.primary_key()?;
    // in a table that keeps its history the end of a row's time is part of the key, and may be hidden
    let is_period = |name: &str| {
        let generated = shape.column(name).and_then(|column| column.generated);
        matches!(generated, Some(GeneratedKind::RowStart | GeneratedKind::RowEnd))
    };
    let told: Vec<&str> = told
        .iter()
        .filter_map(|part| match logged.get(part.column) {
            Some(LoggedColumn::Declared(column)) => Some(column.name.as_str()),
            _ => None,
        })
        .filter(|name| !is_period(name))
        .collect();
    let known: Vec<&str> = known.columns().filter(|name| !is_period(name)).collect();
    let same = told.len() == known.len() && told.iter().zip(&known).all(|(one, other)| same_name(one, other));
    (!same).then(|| format!("the primary key is ({}) instead of ({})", told.join(", "), known.join(", ")))
}
