//! What the source holds: databases with their defaults, tables with their definitions, and what is not carried.

use std::collections::{BTreeMap, HashMap};

use crate::catalogue::{Settings, TableShape};
use crate::filter::Filter;
use crate::model::TableName;
use crate::mysql::{Connection, Deadline, identifier, string_literal};
use crate::worker::error::Error;

/// A database's defaults.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DatabaseDefaults {
    pub charset: String,
    pub collation: String,
}

#[derive(Debug, Clone)]
pub struct SourceTable {
    pub name: TableName,
    /// As SHOW CREATE TABLE prints it.
    pub definition: String,
    pub shape: TableShape,
    /// From the server's statistics: an estimate.
    pub rows: u64,
    pub bytes: u64,
}

#[derive(Debug, Default)]
pub struct SourceStructures {
    pub databases: BTreeMap<String, DatabaseDefaults>,
    pub tables: Vec<SourceTable>,
    /// Views and other objects that this copy does not carry, as words for a notice.
    pub not_carried: Vec<String>,
}

/// Reads all that the filter keeps, statistics apart. Meant to run while DDL is locked out. None: a table is locked, by
/// a DDL that waits or by LOCK TABLES; whoever locked DDL out lets it through and tries again.
///
/// Only statements that say so when a table is locked: `information_schema.tables` opens every table, and leaves out
/// with a warning what it cannot open.
pub async fn read(
    connection: &mut Connection,
    filter: &Filter,
    settings: &Settings,
    deadline: Deadline,
) -> Result<Option<SourceStructures>, Error> {
    let failed = |cause| Error::Source { doing: "read the structures", cause };
    let doing = "reading structures";
    let sql = "SELECT schema_name AS name, default_character_set_name AS charset, default_collation_name AS collation \
               FROM information_schema.schemata";
    let mut structures = SourceStructures::default();
    for row in connection.rows(sql, doing, deadline).await.map_err(failed)? {
        let name = row.text("name").map_err(failed)?;
        if filter.keeps_schema(&name) {
            let defaults = DatabaseDefaults {
                charset: row.text("charset").map_err(failed)?,
                collation: row.text("collation").map_err(failed)?,
            };
            structures.databases.insert(name, defaults);
        }
    }
    let databases: Vec<String> = structures.databases.keys().cloned().collect();
    for database in &databases {
        let Some(tables) = list_tables(connection, database, deadline).await? else { return Ok(None) };
        for (name, kind) in tables {
            if !filter.keeps_table(&name) {
                continue;
            }
            if kind != "BASE TABLE" && kind != "SYSTEM VERSIONED" {
                structures.not_carried.push(format!("{} {name}", kind.to_lowercase()));
                continue;
            }
            let definition = match definition(connection, &name, deadline).await {
                Ok(Some(definition)) => definition,
                Ok(None) => continue,
                Err(error) if is_locked(&error) => return Ok(None),
                Err(error) => return Err(error),
            };
            let shape = crate::catalogue::shape_of_definition(&name, &definition, settings)
                .map_err(|error| Error::Definition { table: name.clone(), why: error.to_string() })?;
            if let Some(engine) = shape.engine.as_deref().filter(|engine| !engine.eq_ignore_ascii_case("InnoDB")) {
                return Err(Error::Engine { table: name, engine: engine.to_owned() });
            }
            structures.tables.push(SourceTable { name, definition, shape, rows: 0, bytes: 0 });
        }
    }
    note_triggers(connection, filter, &mut structures, deadline).await?;
    Ok(Some(structures))
}

/// Names and kinds of a database's tables; None when one is locked.
async fn list_tables(
    connection: &mut Connection,
    database: &str,
    deadline: Deadline,
) -> Result<Option<Vec<(TableName, String)>>, Error> {
    let failed = |cause| Error::Source { doing: "list the tables", cause };
    let sql = format!("SHOW FULL TABLES FROM {}", identifier(database));
    let rows = match connection.rows(&sql, "listing tables", deadline).await {
        Ok(rows) => rows,
        Err(error) if error.server_code() == Some(LOCKED) => return Ok(None),
        // The database went between the listing and now.
        Err(error) if error.server_code() == Some(1049) => return Ok(Some(Vec::new())),
        Err(cause) => return Err(failed(cause)),
    };
    rows.iter()
        .map(|row| Ok((TableName::new(database, row.text_at(0)?), row.text_at(1)?)))
        .collect::<Result<_, _>>()
        .map(Some)
        .map_err(failed)
}

/// Asks the server's statistics how large the tables are: estimates, for progress and for the order of the copy. A
/// table that is locked meanwhile counts as empty.
pub async fn estimate(
    connection: &mut Connection,
    structures: &mut SourceStructures,
    deadline: Deadline,
) -> Result<(), Error> {
    let failed = |cause| Error::Source { doing: "read the statistics", cause };
    let databases: Vec<String> = structures.databases.keys().map(|name| string_literal(name)).collect();
    if databases.is_empty() {
        return Ok(());
    }
    let sql = format!(
        "SELECT table_schema AS db, table_name AS name, table_rows AS estimate, data_length AS bytes \
         FROM information_schema.tables WHERE table_schema IN ({})",
        databases.join(",")
    );
    let mut sizes = HashMap::new();
    for row in connection.rows(&sql, "reading statistics", deadline).await.map_err(failed)? {
        let name = TableName::new(row.text("db").map_err(failed)?, row.text("name").map_err(failed)?);
        let rows: u64 = row.optional_number("estimate").map_err(failed)?.unwrap_or(0);
        let bytes: u64 = row.optional_number("bytes").map_err(failed)?.unwrap_or(0);
        sizes.insert(name, (rows, bytes));
    }
    for table in &mut structures.tables {
        (table.rows, table.bytes) = sizes.get(&table.name).copied().unwrap_or_default();
    }
    Ok(())
}

/// `lock_wait_timeout` ran out.
const LOCKED: u16 = 1205;

fn is_locked(error: &Error) -> bool {
    matches!(error, Error::Source { cause, .. } if cause.server_code() == Some(LOCKED))
}

/// None: the table went between the listing and now.
pub async fn definition(
    connection: &mut Connection,
    name: &TableName,
    deadline: Deadline,
) -> Result<Option<String>, Error> {
    let sql = format!("SHOW CREATE TABLE {name}");
    match connection.first_row(&sql, "reading a table's definition", deadline).await {
        Ok(row) => row.text_at(1).map(Some).map_err(|cause| Error::Source { doing: "read a definition", cause }),
        Err(error) if matches!(error.server_code(), Some(1146 | 1049)) => Ok(None),
        Err(cause) => Err(Error::Source { doing: "read a definition", cause }),
    }
}

async fn note_triggers(
    connection: &mut Connection,
    filter: &Filter,
    structures: &mut SourceStructures,
    deadline: Deadline,
) -> Result<(), Error> {
    let failed = |cause| Error::Source { doing: "list the triggers", cause };
    let sql = "SELECT event_object_schema AS db, event_object_table AS name, trigger_name AS trg \
               FROM information_schema.triggers";
    for row in connection.rows(sql, "listing triggers", deadline).await.map_err(failed)? {
        let table = TableName::new(row.text("db").map_err(failed)?, row.text("name").map_err(failed)?);
        if filter.keeps_table(&table) {
            structures.not_carried.push(format!("trigger {} on {table}", row.text("trg").map_err(failed)?));
        }
    }
    Ok(())
}
