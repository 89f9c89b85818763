//! Compares tables of two servers row by row, so that nothing different passes for equal.
//!
//! Rows are compared as multisets of exact texts: every column is named (invisible ones too), and fetched in a form in
//! which two different values never look alike (`HEX` of text and bytes, doubles for FLOAT, number and name of an ENUM,
//! seconds for TIMESTAMP). No collation of a server takes part. A type that is not known here is a panic, not a guess.
//!
//! The surprise: a value is judged by what both sides can say of it, so JSON that is a type of its own on one side and
//! text on the other is compared as parsed.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use mysql_async::{Row, Value};

use super::servers::{Kind, Server, Session};
use super::wait::until;

/// Differing rows that a report shows of each table and side.
const SHOWN_ROWS: usize = 5;
const SHOWN_BYTES: usize = 400;

/// Panics with a report unless both databases hold the same tables with the same rows.
pub async fn assert_databases_equal(source: (&Server, &str), target: (&Server, &str)) {
    if let Some(report) = database_differences(source, target).await {
        panic!("source and target differ\n{report}");
    }
}

/// Panics with a report unless both tables, given as (server, database, table), hold the same rows.
pub async fn assert_tables_equal(source: (&Server, &str, &str), target: (&Server, &str, &str)) {
    if let Some(report) = table_differences(source, target).await {
        panic!("source and target differ\n{report}");
    }
}

/// Waits until both databases are equal. The source must be quiet: two sessions do not see one moment.
pub async fn until_databases_equal(source: (&Server, &str), target: (&Server, &str), deadline: Duration) {
    until("both databases to be equal", deadline, async || {
        database_differences(source, target).await.map_or(Ok(()), Err)
    })
    .await;
}

/// What differs between two databases, or None. Views are left out.
pub async fn database_differences(source: (&Server, &str), target: (&Server, &str)) -> Option<String> {
    let tables = async |(server, database): (&Server, &str)| {
        let mut session = server.connect().await;
        let query = format!(
            "SELECT CAST(TABLE_NAME AS CHAR) FROM information_schema.TABLES WHERE TABLE_SCHEMA = '{database}' \
             AND TABLE_TYPE IN ('BASE TABLE', 'SYSTEM VERSIONED') ORDER BY BINARY TABLE_NAME"
        );
        let names: Vec<String> = session.rows(&query).await;
        session.close().await;
        names
    };
    let (ours, theirs) = (tables(source).await, tables(target).await);
    let mut report = String::new();
    if ours != theirs {
        writeln!(report, "tables in the source: {ours:?}\ntables in the target: {theirs:?}").unwrap();
    }
    for table in ours.iter().filter(|table| theirs.contains(table)) {
        if let Some(differences) = table_differences((source.0, source.1, table), (target.0, target.1, table)).await {
            report.push_str(&differences);
        }
    }
    (!report.is_empty()).then_some(report)
}

/// What differs between two tables, or None.
pub async fn table_differences(source: (&Server, &str, &str), target: (&Server, &str, &str)) -> Option<String> {
    let (mut ours, mut theirs) = (source.0.connect().await, target.0.connect().await);
    let our_columns = columns(&mut ours, source.1, source.2).await;
    let their_columns = columns(&mut theirs, target.1, target.2).await;
    let names = |columns: &[Column]| columns.iter().map(|column| column.name.clone()).collect::<Vec<_>>();
    if our_columns.is_empty() || names(&our_columns) != names(&their_columns) {
        return Some(format!(
            "columns of {}.{}: {:?}\ncolumns of {}.{}: {:?}\n",
            source.1,
            source.2,
            names(&our_columns),
            target.1,
            target.2,
            names(&their_columns)
        ));
    }
    let parsed: Vec<bool> =
        our_columns.iter().zip(&their_columns).map(|(one, other)| one.is_json() != other.is_json()).collect();
    let mut count_by_row: BTreeMap<Vec<Cell>, i64> = BTreeMap::new();
    for row in rows(&mut ours, source, &our_columns, &parsed).await {
        *count_by_row.entry(row).or_default() += 1;
    }
    for row in rows(&mut theirs, target, &their_columns, &parsed).await {
        *count_by_row.entry(row).or_default() -= 1;
    }
    ours.close().await;
    theirs.close().await;
    let mut report = String::new();
    for (side, sign) in [("source", 1), ("target", -1)] {
        let only: Vec<_> = count_by_row.iter().filter(|(_, count)| **count * sign > 0).collect();
        if only.is_empty() {
            continue;
        }
        let rows: i64 = only.iter().map(|(_, count)| **count * sign).sum();
        writeln!(report, "{}.{}: {rows} rows only in the {side}, the first of them:", source.1, source.2).unwrap();
        for (row, count) in only.into_iter().take(SHOWN_ROWS) {
            let cells: Vec<_> =
                our_columns.iter().zip(row).map(|(column, cell)| format!("{}={}", column.name, cell.show())).collect();
            let mut line = cells.join(" ");
            line.truncate(line.floor_char_boundary(SHOWN_BYTES));
            writeln!(report, "  {}x {line}", *count * sign).unwrap();
        }
    }
    (!report.is_empty()).then_some(report)
}

/// The text of `SHOW CREATE TABLE` without the counter of AUTO_INCREMENT: for definitions within one family.
pub async fn definition(session: &mut Session, database: &str, table: &str) -> String {
    let rows: Vec<(String, String)> = session.rows(&format!("SHOW CREATE TABLE `{database}`.`{table}`")).await;
    let text = rows.into_iter().next().map(|(_, text)| text).unwrap_or_default();
    match text.split_once(" AUTO_INCREMENT=") {
        Some((before, after)) => format!("{before}{}", after.trim_start_matches(|c: char| c.is_ascii_digit())),
        None => text,
    }
}

struct Column {
    name: String,
    data_type: String,
    kind: Kind,
}

/// NULL, a text, or JSON that was parsed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Cell {
    Null,
    Text(Vec<u8>),
}

impl Cell {
    fn show(&self) -> String {
        match self {
            Self::Null => "NULL".to_owned(),
            Self::Text(text) => String::from_utf8_lossy(text).into_owned(),
        }
    }
}

impl Column {
    fn is_json(&self) -> bool {
        self.data_type == "json"
    }

    /// The expression that shows the whole value.
    fn expression(&self) -> String {
        let name = format!("`{}`", self.name.replace('`', "``"));
        match self.data_type.as_str() {
            "tinyint" | "smallint" | "mediumint" | "int" | "bigint" | "decimal" | "date" | "time" | "datetime"
            | "year" => name,
            // Without a calculation a FLOAT is shown with six digits; adding zero would take the sign from -0.
            "float" | "double" => format!("{name} * 1e0"),
            "timestamp" => format!("UNIX_TIMESTAMP({name})"),
            "char" | "varchar" | "tinytext" | "text" | "mediumtext" | "longtext" | "binary" | "varbinary"
            | "tinyblob" | "blob" | "mediumblob" | "longblob" | "bit" | "uuid" | "inet4" | "inet6" | "vector" => {
                format!("HEX({name})")
            }
            "enum" | "set" => format!("CONCAT({name} + 0, ':', HEX({name}))"),
            "json" => format!("HEX(CONVERT(CAST({name} AS CHAR) USING utf8mb4))"),
            "geometry" | "point" | "linestring" | "polygon" | "multipoint" | "multilinestring" | "multipolygon"
            | "geometrycollection" | "geomcollection" => {
                let bytes = match self.kind {
                    Kind::Mariadb => format!("ST_AsWKB({name})"),
                    Kind::Mysql => format!("ST_AsWKB({name}, 'axis-order=long-lat')"),
                };
                format!("CONCAT(ST_SRID({name}), ':', HEX({bytes}))")
            }
            other => panic!("no exact way is known to compare columns of type {other} (column {})", self.name),
        }
    }
}

async fn columns(session: &mut Session, database: &str, table: &str) -> Vec<Column> {
    let kind = session.kind();
    let escaped = table.replace('\\', "\\\\").replace('\'', "''");
    let query = format!(
        "SELECT CAST(COLUMN_NAME AS CHAR), CAST(DATA_TYPE AS CHAR) FROM information_schema.COLUMNS \
         WHERE TABLE_SCHEMA = '{database}' AND BINARY TABLE_NAME = '{escaped}' ORDER BY ORDINAL_POSITION"
    );
    let columns: Vec<(String, String)> = session.rows(&query).await;
    columns.into_iter().map(|(name, data_type)| Column { name, data_type: data_type.to_lowercase(), kind }).collect()
}

async fn rows(
    session: &mut Session,
    (_, database, table): (&Server, &str, &str),
    columns: &[Column],
    parsed: &[bool],
) -> Vec<Vec<Cell>> {
    let expressions: Vec<_> = columns.iter().map(Column::expression).collect();
    let query = format!("SELECT {} FROM `{database}`.`{}`", expressions.join(", "), table.replace('`', "``"));
    let rows: Vec<Row> = session.rows(&query).await;
    rows.into_iter()
        .map(|row| {
            let cells = row.unwrap().into_iter().zip(parsed);
            cells.map(|(value, parsed)| if *parsed { json_cell(value) } else { cell(value) }).collect()
        })
        .collect()
}

fn cell(value: Value) -> Cell {
    match value {
        Value::NULL => Cell::Null,
        Value::Bytes(bytes) => Cell::Text(bytes),
        other => panic!("the text protocol gave {other:?}"),
    }
}

/// Hexadecimal JSON text, brought into one form: keys sorted, no blanks.
fn json_cell(value: Value) -> Cell {
    let Cell::Text(hex) = cell(value) else { return Cell::Null };
    let digits = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    let bytes: Vec<u8> = hex.chunks(2).map(digits).collect();
    let parsed: serde_json::Value = serde_json::from_slice(&bytes).expect("a JSON column holds JSON");
    Cell::Text(sorted(&parsed).to_string().into_bytes())
}

fn sorted(value: &serde_json::Value) -> serde_json::Value {
    use serde_json::Value::{Array, Object};
    match value {
        Object(members) => {
            let ordered: BTreeMap<_, _> = members.iter().map(|(key, value)| (key.clone(), sorted(value))).collect();
            Object(ordered.into_iter().collect())
        }
        Array(items) => Array(items.iter().map(sorted).collect()),
        plain => plain.clone(),
    }
}
