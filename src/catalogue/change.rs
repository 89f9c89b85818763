//! What differs between two shapes of a table, in the words of the binlog filter: the kinds of change that a
//! statement alone does not tell.

use super::column_type::ColumnType;
use super::shape::{Column, TableShape};
use crate::ddl::EventKind;

/// The kinds of change from one shape to the next that depend on what was there before.
pub fn shape_changes(before: &TableShape, after: &TableShape) -> Vec<EventKind> {
    let mut kinds = Vec::new();
    let mut add = |kind: EventKind, holds: bool| {
        if holds && !kinds.contains(&kind) {
            kinds.push(kind);
        }
    };
    for old in &before.columns {
        let Some(new) = after.column(&old.name) else { continue };
        add(EventKind::ValueRangeDecrease, range_shrinks(old, new));
        add(EventKind::PrecisionDecrease, precision_shrinks(&old.column_type, &new.column_type));
        add(EventKind::RemoveAutoIncrement, old.auto_increment && !new.auto_increment);
    }
    let lost = |key: &super::Key| key.kind == crate::ddl::KeyKind::Unique && after.key(&key.name).is_none();
    add(EventKind::DropUniqueKey, before.keys.iter().any(lost));
    kinds
}

/// Whether some value of the old type has no place in the new one.
fn range_shrinks(old: &Column, new: &Column) -> bool {
    if old.nullable && !new.nullable {
        return true;
    }
    match (&old.column_type, &new.column_type) {
        (
            ColumnType::Int { width: old_width, unsigned: old_unsigned },
            ColumnType::Int { width: new_width, unsigned: new_unsigned },
        ) => {
            let (old_width, new_width) = (*old_width as u8, *new_width as u8);
            match (old_unsigned, new_unsigned) {
                (false, true) => true,
                (true, false) => new_width <= old_width,
                _ => new_width < old_width,
            }
        }
        (
            ColumnType::Decimal { precision: p1, scale: s1, unsigned: u1 },
            ColumnType::Decimal { precision: p2, scale: s2, unsigned: u2 },
        ) => p2.saturating_sub(*s2) < p1.saturating_sub(*s1) || (!u1 && *u2),
        (ColumnType::Enum { members: old, .. }, ColumnType::Enum { members: new, .. })
        | (ColumnType::Set { members: old, .. }, ColumnType::Set { members: new, .. }) => {
            old.iter().any(|member| !new.contains(member))
        }
        (ColumnType::Text { size: old, .. }, ColumnType::Text { size: new, .. })
        | (ColumnType::Blob { size: old }, ColumnType::Blob { size: new }) => new < old,
        (old, new) => match (old.length(), new.length()) {
            (Some(old), Some(new)) => new < old,
            _ => false,
        },
    }
}

/// Whether digits after the point are lost.
fn precision_shrinks(old: &ColumnType, new: &ColumnType) -> bool {
    match (old, new) {
        (ColumnType::Decimal { scale: old, .. }, ColumnType::Decimal { scale: new, .. })
        | (ColumnType::Time { fraction: old }, ColumnType::Time { fraction: new })
        | (ColumnType::DateTime { fraction: old }, ColumnType::DateTime { fraction: new })
        | (ColumnType::Timestamp { fraction: old }, ColumnType::Timestamp { fraction: new }) => new < old,
        (ColumnType::Double { .. }, ColumnType::Float { .. }) => true,
        _ => false,
    }
}
