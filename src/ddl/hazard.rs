//! What a statement does to rows that another server may do otherwise: such a DDL must not just be sent on.
//!
//! Time is not among it: a DDL runs under the `timestamp` of its event, so `NOW()` gives the same there. `SYSDATE()`
//! does not.

use super::tree::{AlterSpec, ColumnDefinition, DefaultKind, ElementKind, PartitionAction, Statement};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hazard {
    /// A new column takes a default for the rows that are there, and the default is another one each time, or
    /// depends on the server. `function` is what it calls, or `@` for a variable.
    ColumnDefault { column: String, function: String },
    /// The rows that are there get numbers, in the order in which the server happens to read them. Harmless if the
    /// table has a primary key and the column is new.
    AutoIncrement { column: String, new_column: bool },
    /// `ALTER IGNORE TABLE`: rows that break a new unique key go, and which ones depends on the order of reading.
    RowsIgnored,
    /// Rows leave or come by partition: the partitions must be the same at the target.
    PartitionRows,
}

/// Functions whose result is another one each time, or elsewhere.
const NOT_REPEATABLE: [&str; 32] = [
    "UUID",
    "UUID_SHORT",
    "UUID_V4",
    "UUID_V7",
    "SYS_GUID",
    "RAND",
    "RANDOM_BYTES",
    "SYSDATE",
    "NEXTVAL",
    "LASTVAL",
    "SETVAL",
    "USER",
    "CURRENT_USER",
    "CURRENT_ROLE",
    "SESSION_USER",
    "SYSTEM_USER",
    "CONNECTION_ID",
    "LAST_INSERT_ID",
    "DATABASE",
    "SCHEMA",
    "VERSION",
    "ROW_COUNT",
    "FOUND_ROWS",
    "BENCHMARK",
    "SLEEP",
    "LOAD_FILE",
    "GET_LOCK",
    "RELEASE_LOCK",
    "IS_FREE_LOCK",
    "IS_USED_LOCK",
    "PS_CURRENT_THREAD_ID",
    "ENCRYPT",
];

/// The hazards of a statement. Only ALTER TABLE has any: a new table has no rows.
pub fn hazards(statement: &Statement) -> Vec<Hazard> {
    let Statement::AlterTable(alter) = statement else { return Vec::new() };
    let mut found = Vec::new();
    if alter.ignore {
        found.push(Hazard::RowsIgnored);
    }
    for item in &alter.items {
        match &item.spec {
            AlterSpec::AddColumn { column, .. } => found.extend(column_hazards(column, true)),
            AlterSpec::AddElements { elements, .. } => {
                found.extend(elements.iter().flat_map(|element| match &element.kind {
                    ElementKind::Column(column) => column_hazards(column, true),
                    _ => Vec::new(),
                }));
            }
            AlterSpec::ChangeColumn { column, .. } | AlterSpec::ModifyColumn { column, .. } => {
                found.extend(column_hazards(column, false));
            }
            AlterSpec::Partition(
                PartitionAction::Drop
                | PartitionAction::Truncate
                | PartitionAction::Exchange { .. }
                | PartitionAction::ConvertToTable { .. }
                | PartitionAction::ConvertFromTable { .. },
            ) => found.push(Hazard::PartitionRows),
            _ => {}
        }
    }
    found
}

fn column_hazards(column: &ColumnDefinition, new_column: bool) -> Vec<Hazard> {
    let name = || column.name.value.clone();
    let mut found = Vec::new();
    if column.auto_increment {
        found.push(Hazard::AutoIncrement { column: name(), new_column });
    }
    // a changed column's default is for rows to come, which arrive with their values
    let Some(DefaultKind::Expression(expression)) = column.default.as_ref().map(|default| &default.kind) else {
        return found;
    };
    if !new_column {
        return found;
    }
    let calls = expression.functions.iter().map(String::as_str);
    let variable = expression.reads_variables.then_some("@");
    let function = calls.filter(|function| NOT_REPEATABLE.contains(function)).chain(variable).next();
    found.extend(function.map(|function| Hazard::ColumnDefault { column: name(), function: function.to_owned() }));
    found
}
