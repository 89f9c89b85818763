//! What the source holds: databases with their defaults, tables with their definitions, and what is not carried.

use std::collections::BTreeMap;

use crate::catalogue::{Settings, TableShape};
use crate::filter::Filter;
use crate::model::TableName;
use crate::mysql::{Connection, Deadline, string_literal};
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

/// Reads all that the filter keeps. Meant to run while DDL is locked out.
pub async fn read(
    connection: &mut Connection,
    filter: &Filter,
    settings: &Settings,
    deadline: Deadline,
) -> Result<SourceStructures, Error> {
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
    for row in list_tables(connection, structures.databases.keys(), deadline).await? {
        let name = TableName::new(row.text("db").map_err(failed)?, row.text("name").map_err(failed)?);
        if !filter.keeps_table(&name) {
            continue;
        }
        let kind = row.text("kind").map_err(failed)?;
        if kind != "BASE TABLE" && kind != "SYSTEM VERSIONED" {
            structures.not_carried.push(format!("{} {name}", kind.to_lowercase()));
            continue;
        }
        let engine = row.optional_text("engine").map_err(failed)?.unwrap_or_default();
        if !engine.eq_ignore_ascii_case("InnoDB") {
            return Err(Error::Engine { table: name, engine });
        }
        let rows = row.optional_number("estimate").map_err(failed)?.unwrap_or(0);
        let bytes = row.optional_number("bytes").map_err(failed)?.unwrap_or(0);
        let Some(definition) = definition(connection, &name, deadline).await? else { continue };
        let shape = crate::catalogue::shape_of_definition(&name, &definition, settings)
            .map_err(|error| Error::Definition { table: name.clone(), why: error.to_string() })?;
        structures.tables.push(SourceTable { name, definition, shape, rows, bytes });
    }
    note_triggers(connection, filter, &mut structures, deadline).await?;
    Ok(structures)
}

async fn list_tables(
    connection: &mut Connection,
    databases: impl Iterator<Item = &String>,
    deadline: Deadline,
) -> Result<Vec<crate::mysql::Row>, Error> {
    let failed = |cause| Error::Source { doing: "list the tables", cause };
    let names: Vec<String> = databases.map(|name| string_literal(name)).collect();
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let sql = format!(
        "SELECT table_schema AS db, table_name AS name, table_type AS kind, engine AS engine, \
         table_rows AS estimate, data_length AS bytes FROM information_schema.tables WHERE table_schema IN ({}) \
         ORDER BY table_schema, table_name",
        names.join(",")
    );
    connection.rows(&sql, "listing tables", deadline).await.map_err(failed)
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
