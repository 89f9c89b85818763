//! Foreign keys of a table: their names, and what other statements do to them.

use super::settings::Settings;
use super::shape::ForeignKey;
use crate::ddl::{ForeignKeyDefinition, Ident, same_name};
use crate::model::TableName;

/// Whether tables of this engine keep foreign keys; others read over them.
pub(super) fn kept_by(engine: Option<&str>) -> bool {
    matches!(engine, None | Some("INNODB" | "NDB" | "NDBCLUSTER" | "XTRADB"))
}

/// Foreign keys as written, each under its own name or `table_ibfk_1` and so on, counted from above the highest
/// number that the table had before the statement.
///
/// MariaDB takes the name after FOREIGN KEY too, which MySQL gives to the key alone.
pub(super) fn foreign_keys(
    written: &[&ForeignKeyDefinition],
    table: &TableName,
    before: &[ForeignKey],
    settings: &Settings,
) -> Vec<ForeignKey> {
    let highest = before.iter().filter_map(|other| generated_number(&other.name, &table.table)).max();
    let mut number = highest.unwrap_or(0);
    let names = |columns: &[Ident]| columns.iter().map(|column| column.value.clone()).collect();
    let made = written.iter().map(|written| {
        let index_name = written.index_name.as_ref().filter(|_| settings.is_mariadb());
        let name = match written.name.as_ref().or(index_name) {
            Some(name) => name.value.clone(),
            None => {
                number += 1;
                format!("{}_ibfk_{number}", table.table)
            }
        };
        ForeignKey {
            name,
            columns: names(&written.columns),
            parent: written.parent.table.clone(),
            parent_columns: names(&written.parent_columns),
            on_delete: written.on_delete,
            on_update: written.on_update,
        }
    });
    made.collect()
}

/// The number in a name that the server made up.
fn generated_number(name: &str, table: &str) -> Option<u64> {
    let beginning = name.get(..table.len())?;
    let digits = name.get(table.len()..)?.strip_prefix("_ibfk_")?;
    if same_name(beginning, table) && !digits.starts_with('0') { digits.parse().ok() } else { None }
}

/// The table gets another name: made-up names of its foreign keys follow, and those that point to itself.
pub(super) fn follow_own_rename(foreign_keys: &mut [ForeignKey], from: &TableName, to: &TableName) {
    for foreign_key in foreign_keys {
        if let Some(number) = generated_number(&foreign_key.name, &from.table) {
            foreign_key.name = format!("{}_ibfk_{number}", to.table);
        }
        if foreign_key.parent == *from {
            foreign_key.parent = to.clone();
        }
    }
}

/// A column of the table itself gets another name.
pub(super) fn rename_column(foreign_keys: &mut [ForeignKey], old: &str, new: &str) {
    for column in foreign_keys.iter_mut().flat_map(|foreign_key| foreign_key.columns.iter_mut()) {
        if same_name(column, old) {
            new.clone_into(column);
        }
    }
}

/// A column of the parent gets another name.
pub(super) fn rename_parent_column(foreign_keys: &mut [ForeignKey], parent: &TableName, old: &str, new: &str) {
    let of_parent = foreign_keys.iter_mut().filter(|foreign_key| foreign_key.parent == *parent);
    for column in of_parent.flat_map(|foreign_key| foreign_key.parent_columns.iter_mut()) {
        if same_name(column, old) {
            new.clone_into(column);
        }
    }
}
