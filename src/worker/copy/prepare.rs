//! Makes the target's databases and tables, or checks those that are there.

use std::collections::BTreeMap;

use super::structures::{DatabaseDefaults, SourceStructures, SourceTable, definition};
use crate::catalogue::{Collation, TableShape};
use crate::ddl::edit::{DefaultCharset, DeferredKey, Rewrite, add_key_statements};
use crate::ddl::{self, Context};
use crate::model::TableName;
use crate::mysql::{Connection, Deadline, identifier};
use crate::replicate::sides::Sides;
use crate::worker::error::Error;

/// `CREATE DATABASE IF NOT EXISTS` with the source's defaults.
pub async fn make_database(
    connection: &mut Connection,
    sides: &Sides,
    target: &str,
    defaults: &DatabaseDefaults,
    deadline: Deadline,
) -> Result<(), Error> {
    let collation = sides.mapped(Collation::new(&defaults.collation).as_str());
    let statement = format!(
        "CREATE DATABASE IF NOT EXISTS {} DEFAULT CHARACTER SET {} COLLATE {collation}",
        identifier(target),
        defaults.charset
    );
    connection
        .run(&statement, "making a database", deadline)
        .await
        .map_err(|cause| Error::TargetStatement { statement: statement.clone(), cause })?;
    Ok(())
}

/// How a table stands at the target before anything is written.
#[derive(Debug)]
pub enum Standing {
    Absent,
    /// It exists; `empty`: without rows.
    Present {
        shape: Box<TableShape>,
        empty: bool,
    },
}

pub async fn standing(
    connection: &mut Connection,
    sides: &Sides,
    target: &TableName,
    deadline: Deadline,
) -> Result<Standing, Error> {
    let failed = |cause| Error::Target { doing: "look at a table of", cause };
    let Some(text) = definition(connection, target, deadline).await? else { return Ok(Standing::Absent) };
    let shape = crate::catalogue::shape_of_definition(target, &text, &sides.target)
        .map_err(|error| Error::TargetMisfit { table: target.clone(), why: error.to_string() })?;
    let sql = format!("SELECT 1 FROM {target} LIMIT 1");
    let row = connection.optional_row(&sql, "looking for rows", deadline).await.map_err(failed)?;
    Ok(Standing::Present { shape: Box::new(shape), empty: row.is_none() })
}

/// The statements that make a table: one for now, the others for when its rows are there. The last of `later` may
/// add foreign keys, which wait for all tables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Making {
    pub create: String,
    pub keys: Vec<String>,
    pub foreign_keys: Vec<String>,
}

/// Turns the source's definition into the target's.
pub fn making(
    table: &SourceTable,
    target: &TableName,
    route: impl Fn(&TableName) -> TableName,
    sides: &Sides,
) -> Result<Making, Error> {
    let context =
        Context::new(sides.source.flavor, sides.source.version).with_default_schema(table.name.schema.clone());
    let parsed = ddl::parse(&table.definition, &context);
    if parsed.statement().is_none() {
        return Err(Error::Definition {
            table: table.name.clone(),
            why: "SHOW CREATE TABLE printed something that is not understood".to_owned(),
        });
    }
    let mut rewrite = Rewrite::new(&parsed);
    rewrite.route(&route, |schema| route(&TableName::new(schema, "")).schema);
    let charset = shape_default(&table.shape);
    sides.map_collations(&mut rewrite, Some(charset));
    rewrite.fit_to(sides.target.flavor, sides.target.version);
    let (create, deferred) = rewrite.finish_deferred();
    let (foreign, keys): (Vec<DeferredKey>, Vec<DeferredKey>) =
        deferred.into_iter().partition(|key| key.kind.is_none());
    Ok(Making { create, keys: add_key_statements(target, &keys), foreign_keys: add_key_statements(target, &foreign) })
}

fn shape_default(shape: &TableShape) -> DefaultCharset {
    DefaultCharset { charset: shape.collation.charset().to_owned(), collation: shape.collation.as_str().to_owned() }
}

/// The databases that tables are routed into, each with the defaults of the first source database that goes there.
pub fn target_databases(
    structures: &SourceStructures,
    route: impl Fn(&TableName) -> TableName,
    keeps_whole: impl Fn(&str) -> bool,
) -> BTreeMap<String, &DatabaseDefaults> {
    let mut databases = BTreeMap::new();
    for table in &structures.tables {
        if let Some(defaults) = structures.databases.get(&table.name.schema) {
            databases.entry(route(&table.name).schema).or_insert(defaults);
        }
    }
    // A database without tables is carried when the task takes the whole of it.
    for (name, defaults) in structures.databases.iter().filter(|(name, _)| keeps_whole(name)) {
        databases.entry(route(&TableName::new(name.clone(), "")).schema).or_insert(defaults);
    }
    databases
}
