//! What the checks need to know of a server, asked in a few statements.

use std::collections::{BTreeMap, BTreeSet};

use super::grants::Grants;
use crate::model::subtask::MigrateRule;
use crate::model::{Endpoint, Flavor, TableName};
use crate::mysql::{Connection, Deadline, Error, Server};
use crate::probe::connection::open;
use crate::probe::rules::Rules;
use crate::probe::{ProbeError, Side};

const VARIABLES: &str = "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('log_bin', 'binlog_format', \
     'binlog_row_image', 'binlog_row_value_options', 'server_id', 'read_only', 'super_read_only')";
const TABLES: &str = "SELECT TABLE_SCHEMA AS s, TABLE_NAME AS t, ENGINE AS e, TABLE_COLLATION AS c \
     FROM information_schema.TABLES WHERE TABLE_TYPE IN ('BASE TABLE', 'SYSTEM VERSIONED') \
     AND TABLE_SCHEMA NOT IN ('mysql', 'sys', 'information_schema', 'performance_schema')";
const COLUMN_COLLATIONS: &str = "SELECT TABLE_SCHEMA AS s, TABLE_NAME AS t, MIN(COLUMN_NAME) AS n, \
     COLLATION_NAME AS c FROM information_schema.COLUMNS WHERE COLLATION_NAME IS NOT NULL \
     AND TABLE_SCHEMA NOT IN ('mysql', 'sys', 'information_schema', 'performance_schema') \
     GROUP BY TABLE_SCHEMA, TABLE_NAME, COLLATION_NAME";
const SCHEMA_COLLATIONS: &str = "SELECT SCHEMA_NAME AS s, DEFAULT_COLLATION_NAME AS c FROM information_schema.SCHEMATA";
/// Keys that find one row: unique, of whole columns, without NULL.
const ROW_KEYS: &str = "SELECT TABLE_SCHEMA AS s, TABLE_NAME AS t FROM information_schema.STATISTICS \
     WHERE NON_UNIQUE = 0 AND TABLE_SCHEMA NOT IN ('mysql', 'sys', 'information_schema', 'performance_schema') \
     GROUP BY TABLE_SCHEMA, TABLE_NAME, INDEX_NAME \
     HAVING SUM(NULLABLE = 'YES' OR SUB_PART IS NOT NULL OR COLUMN_NAME IS NULL) = 0";
const TRIGGERS: &str = "SELECT EVENT_OBJECT_SCHEMA AS s, EVENT_OBJECT_TABLE AS t, TRIGGER_NAME AS n \
     FROM information_schema.TRIGGERS";

/// What a source says.
#[derive(Debug, Clone)]
pub struct SourceSurvey {
    pub server: Server,
    pub variables: BTreeMap<String, String>,
    pub grants: Grants,
    /// The tables that are migrated, as far as the account sees them.
    pub tables: Vec<SourceTable>,
    pub collations: Vec<CollationUse>,
    pub databases: BTreeSet<String>,
    /// Databases that a rule names outright, without wildcards. No rule at all: None, everything is migrated.
    pub named_databases: Option<BTreeSet<String>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceTable {
    pub name: TableName,
    pub target: TableName,
    pub engine: String,
    /// A primary key, or a unique one without NULL.
    pub has_key: bool,
}

/// Where a collation is used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CollationUse {
    pub collation: String,
    /// For people: a column, a table or a database.
    pub place: String,
}

/// What a target says.
#[derive(Debug, Clone)]
pub struct TargetSurvey {
    pub server: Server,
    pub variables: BTreeMap<String, String>,
    pub grants: Grants,
    /// Lower case.
    pub collations: BTreeSet<String>,
    /// Tables with triggers, by trigger.
    pub triggers: Vec<(String, TableName)>,
    /// Servers that take writes, this one included, as far as it knows.
    pub writable_servers: u64,
}

impl SourceSurvey {
    pub async fn read(
        endpoint: &Endpoint,
        rules: &Rules,
        patterns: &[MigrateRule],
        deadline: Deadline,
    ) -> Result<Self, ProbeError> {
        let mut connection = open(endpoint, Side::Source, deadline).await?;
        let ask = |cause| ProbeError::Ask { side: Side::Source, cause };
        let server = connection.server().clone();
        let variables = variables(&mut connection, deadline).await.map_err(ask)?;
        let grants = grants(&mut connection, deadline).await.map_err(ask)?;
        let mut survey = Self {
            server,
            variables,
            grants,
            tables: Vec::new(),
            collations: Vec::new(),
            databases: BTreeSet::new(),
            named_databases: named_databases(patterns),
        };
        survey.read_databases(&mut connection, rules, deadline).await?;
        survey.read_tables(&mut connection, rules, deadline).await?;
        survey.read_columns(&mut connection, deadline).await.map_err(ask)?;
        connection.close(deadline).await;
        Ok(survey)
    }

    async fn read_databases(
        &mut self,
        connection: &mut Connection,
        rules: &Rules,
        deadline: Deadline,
    ) -> Result<(), ProbeError> {
        let ask = |cause| ProbeError::Ask { side: Side::Source, cause };
        for row in connection.rows(SCHEMA_COLLATIONS, "listing databases", deadline).await.map_err(ask)? {
            let name = row.text("s").map_err(ask)?;
            if rules.keeps_schema(&name) {
                let collation = row.text("c").map_err(ask)?;
                self.collations.push(CollationUse { collation, place: format!("the default of database {name}") });
            }
            self.databases.insert(name);
        }
        Ok(())
    }

    async fn read_tables(
        &mut self,
        connection: &mut Connection,
        rules: &Rules,
        deadline: Deadline,
    ) -> Result<(), ProbeError> {
        let ask = |cause| ProbeError::Ask { side: Side::Source, cause };
        let mut keyed = BTreeSet::new();
        for row in connection.rows(ROW_KEYS, "listing keys", deadline).await.map_err(ask)? {
            keyed.insert(TableName::new(row.text("s").map_err(ask)?, row.text("t").map_err(ask)?));
        }
        for row in connection.rows(TABLES, "listing tables", deadline).await.map_err(ask)? {
            let name = TableName::new(row.text("s").map_err(ask)?, row.text("t").map_err(ask)?);
            let Some(target) = rules.target_of(&name)? else { continue };
            let engine = row.optional_text("e").map_err(ask)?.unwrap_or_default();
            if let Some(collation) = row.optional_text("c").map_err(ask)? {
                self.collations.push(CollationUse { collation, place: format!("the default of table {name}") });
            }
            let has_key = keyed.contains(&name);
            self.tables.push(SourceTable { name, target, engine, has_key });
        }
        Ok(())
    }

    async fn read_columns(&mut self, connection: &mut Connection, deadline: Deadline) -> Result<(), Error> {
        let migrated: BTreeSet<TableName> = self.tables.iter().map(|table| table.name.clone()).collect();
        for row in connection.rows(COLUMN_COLLATIONS, "listing the columns' collations", deadline).await? {
            let table = TableName::new(row.text("s")?, row.text("t")?);
            if migrated.contains(&table) {
                let place = format!("column `{}` of {table}", row.text("n")?);
                self.collations.push(CollationUse { collation: row.text("c")?, place });
            }
        }
        Ok(())
    }
}

impl TargetSurvey {
    pub async fn read(endpoint: &Endpoint, deadline: Deadline) -> Result<Self, ProbeError> {
        let mut connection = open(endpoint, Side::Target, deadline).await?;
        Self::ask(&mut connection, deadline).await.map_err(|cause| ProbeError::Ask { side: Side::Target, cause })
    }

    async fn ask(connection: &mut Connection, deadline: Deadline) -> Result<Self, Error> {
        let server = connection.server().clone();
        let mut triggers = Vec::new();
        for row in connection.rows(TRIGGERS, "listing triggers", deadline).await? {
            triggers.push((row.text("n")?, TableName::new(row.text("s")?, row.text("t")?)));
        }
        Ok(Self {
            variables: variables(connection, deadline).await?,
            grants: grants(connection, deadline).await?,
            collations: collations(connection, deadline).await?,
            triggers,
            writable_servers: writable_servers(connection, server.flavor, deadline).await?,
            server,
        })
    }
}

async fn variables(connection: &mut Connection, deadline: Deadline) -> Result<BTreeMap<String, String>, Error> {
    let rows = connection.rows(VARIABLES, "reading variables", deadline).await?;
    rows.iter().map(|row| Ok((row.text("Variable_name")?.to_ascii_lowercase(), row.text("Value")?))).collect()
}

/// Without FOR: both families then add what comes through the roles that are active in our sessions.
async fn grants(connection: &mut Connection, deadline: Deadline) -> Result<Grants, Error> {
    let rows = connection.rows("SHOW GRANTS", "reading the account's grants", deadline).await?;
    let lines = rows.iter().map(|row| row.text_at(0)).collect::<Result<Vec<_>, _>>()?;
    Ok(Grants::parse(lines.iter().map(String::as_str)))
}

/// MariaDB lists newer collations without their character set, and with it only in a column that others lack.
async fn collations(connection: &mut Connection, deadline: Deadline) -> Result<BTreeSet<String>, Error> {
    let statement = "SELECT * FROM information_schema.COLLATION_CHARACTER_SET_APPLICABILITY";
    let mut names = BTreeSet::new();
    for row in connection.rows(statement, "listing collations", deadline).await? {
        let full =
            row.index_of("FULL_COLLATION_NAME").and_then(|_| row.optional_text("FULL_COLLATION_NAME").ok().flatten());
        let name = match full {
            Some(name) => name,
            None => row.text("COLLATION_NAME")?,
        };
        names.insert(name.to_ascii_lowercase());
    }
    Ok(names)
}

async fn writable_servers(connection: &mut Connection, flavor: Flavor, deadline: Deadline) -> Result<u64, Error> {
    let doing = "asking whether the target is one of several";
    let members = match flavor {
        Flavor::MariaDb => {
            let row = connection.optional_row("SHOW GLOBAL STATUS LIKE 'wsrep_cluster_size'", doing, deadline).await?;
            row.map(|row| row.number("Value")).transpose()?
        }
        Flavor::MySql => {
            let statement = "SELECT COUNT(*) AS n FROM performance_schema.replication_group_members \
                 WHERE MEMBER_STATE = 'ONLINE' AND MEMBER_ROLE = 'PRIMARY'";
            match connection.optional_row(statement, doing, deadline).await {
                Ok(row) => row.map(|row| row.number("n")).transpose()?,
                // An account without a right to look, or a server without that table: taken for a single one.
                Err(error) if !error.is_fatal() => None,
                Err(error) => return Err(error),
            }
        }
    };
    Ok(members.unwrap_or(0).max(1))
}

fn named_databases(rules: &[MigrateRule]) -> Option<BTreeSet<String>> {
    if rules.is_empty() {
        return None;
    }
    let is_plain = |pattern: &&str| !pattern.starts_with('~') && !pattern.contains(['*', '?', '[']);
    Some(rules.iter().map(|rule| rule.schema.as_str()).filter(is_plain).map(str::to_owned).collect())
}
