//! What the copy has done: snapshots with their positions, tables, and key ranges of tables.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::error::Error;
use super::prepared::PreparedTransaction;
use super::tables;
use super::takeover::Ledger;
use crate::model::{SourcePosition, TableName};
use crate::mysql::{Connection, Deadline, Row, string_literal};

/// A consistent view of the source that rows were read from. Number 1 is the first; a crash opens a second.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    pub number: u32,
    pub position: SourcePosition,
    /// What the source had prepared (XA) and not ended at that position.
    pub prepared: Vec<PreparedTransaction>,
}

/// As it is written.
#[derive(Debug, Serialize, Deserialize)]
struct SnapshotLine<'a> {
    #[serde(flatten)]
    position: Cow<'a, SourcePosition>,
    #[serde(default, skip_serializing_if = "is_empty")]
    prepared: Cow<'a, [PreparedTransaction]>,
}

fn is_empty(prepared: &[PreparedTransaction]) -> bool {
    prepared.is_empty()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableState {
    /// About to be made in the target, where it did not exist: whatever is there after a crash is ours.
    Announced,
    /// It exists in the target; rows are being copied.
    Copying,
    /// All rows are there.
    Copied,
    /// Keys and foreign keys that were put off are made too.
    Done,
}

impl TableState {
    fn as_str(self) -> &'static str {
        match self {
            Self::Announced => "announced",
            Self::Copying => "copying",
            Self::Copied => "copied",
            Self::Done => "done",
        }
    }

    fn parse(text: &str) -> Option<Self> {
        [Self::Announced, Self::Copying, Self::Copied, Self::Done].into_iter().find(|state| state.as_str() == text)
    }
}

/// What stood at the target when the task first looked: decides whether an unfinished copy may be emptied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// Nothing: the table is ours.
    Made,
    /// An empty table: whatever is in it is ours.
    FoundEmpty,
    /// A table with rows of its own.
    FoundRows,
}

impl Origin {
    fn number(self) -> u8 {
        match self {
            Self::FoundRows => 0,
            Self::Made => 1,
            Self::FoundEmpty => 2,
        }
    }

    fn from_number(number: u8) -> Option<Self> {
        [Self::FoundRows, Self::Made, Self::FoundEmpty].into_iter().find(|origin| origin.number() == number)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CopiedTable {
    pub number: u32,
    pub source: TableName,
    pub target: TableName,
    pub state: TableState,
    pub origin: Origin,
    /// The snapshot its rows are read from.
    pub snapshot: u32,
    /// Statements to run once its rows are there (keys, foreign keys), each whole.
    pub later: Vec<String>,
}

/// A stretch of a table by its key: above `lower`, up to `upper`, read up to `reached`. Bounds are JSON arrays of
/// key values in the text the source prints; None is unbounded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CopiedRange {
    pub table_number: u32,
    pub number: u32,
    pub lower: Option<String>,
    pub upper: Option<String>,
    pub reached: Option<String>,
    pub done: bool,
    pub snapshot: u32,
    pub rows: u64,
    pub bytes: u64,
}

fn optional(text: Option<&str>) -> String {
    text.map_or_else(|| "NULL".to_owned(), string_literal)
}

impl Ledger {
    pub fn snapshot_statement(&self, snapshot: &Snapshot) -> Result<String, Error> {
        let line =
            SnapshotLine { position: Cow::Borrowed(&snapshot.position), prepared: Cow::Borrowed(&snapshot.prepared) };
        Ok(format!(
            "REPLACE INTO {} (ledger_id, number, position) VALUES ({}, {}, {})",
            self.table(tables::SNAPSHOT),
            self.id_literal(),
            snapshot.number,
            string_literal(&self.write_json(&line)?)
        ))
    }

    pub fn table_statement(&self, table: &CopiedTable) -> Result<String, Error> {
        Ok(format!(
            "REPLACE INTO {} (ledger_id, number, source_schema, source_table, target_schema, target_table, state, \
             origin, snapshot, later) VALUES ({}, {}, {}, {}, {}, {}, '{}', {}, {}, {})",
            self.table(tables::TABLE),
            self.id_literal(),
            table.number,
            string_literal(&table.source.schema),
            string_literal(&table.source.table),
            string_literal(&table.target.schema),
            string_literal(&table.target.table),
            table.state.as_str(),
            table.origin.number(),
            table.snapshot,
            string_literal(&self.write_json(&table.later)?),
        ))
    }

    pub fn forget_table_statements(&self, table_number: u32) -> [String; 2] {
        let id = self.id_literal();
        [
            format!(
                "DELETE FROM {} WHERE ledger_id = {id} AND table_number = {table_number}",
                self.table(tables::RANGE)
            ),
            format!("DELETE FROM {} WHERE ledger_id = {id} AND number = {table_number}", self.table(tables::TABLE)),
        ]
    }

    pub fn forget_ranges_statement(&self, table_number: u32) -> String {
        let [ranges, _] = self.forget_table_statements(table_number);
        ranges
    }

    pub fn range_statement(&self, range: &CopiedRange) -> String {
        format!(
            "REPLACE INTO {} (ledger_id, table_number, number, lower_key, upper_key, reached_key, done, snapshot, \
             copied_rows, copied_bytes) VALUES ({}, {}, {}, {}, {}, {}, {}, {}, {}, {})",
            self.table(tables::RANGE),
            self.id_literal(),
            range.table_number,
            range.number,
            optional(range.lower.as_deref()),
            optional(range.upper.as_deref()),
            optional(range.reached.as_deref()),
            u8::from(range.done),
            range.snapshot,
            range.rows,
            range.bytes,
        )
    }
}

pub async fn read_snapshots(
    ledger: &Ledger,
    connection: &mut Connection,
    deadline: Deadline,
) -> Result<Vec<Snapshot>, Error> {
    let rows = select(ledger, connection, "number, position", tables::SNAPSHOT, "number", deadline).await?;
    let failed = |cause| Error::Database { doing: "read", id: ledger.id(), cause };
    rows.iter()
        .map(|row| {
            let line = row.text("position").map_err(failed)?;
            let line: SnapshotLine<'_> = ledger.read_json(&line, "a snapshot's position")?;
            Ok(Snapshot {
                number: row.number("number").map_err(failed)?,
                position: line.position.into_owned(),
                prepared: line.prepared.into_owned(),
            })
        })
        .collect()
}

pub async fn read_tables(
    ledger: &Ledger,
    connection: &mut Connection,
    deadline: Deadline,
) -> Result<Vec<CopiedTable>, Error> {
    let columns = "number, source_schema, source_table, target_schema, target_table, state, origin, snapshot, later";
    let rows = select(ledger, connection, columns, tables::TABLE, "number", deadline).await?;
    rows.iter().map(|row| table(ledger, row)).collect()
}

fn table(ledger: &Ledger, row: &Row) -> Result<CopiedTable, Error> {
    let id = ledger.id();
    let failed = |cause| Error::Database { doing: "read", id, cause };
    let text = |column: &str| row.text(column).map_err(failed);
    let state = text("state")?;
    let origin: u8 = row.number("origin").map_err(failed)?;
    Ok(CopiedTable {
        number: row.number("number").map_err(failed)?,
        source: TableName::new(text("source_schema")?, text("source_table")?),
        target: TableName::new(text("target_schema")?, text("target_table")?),
        state: TableState::parse(&state)
            .ok_or_else(|| Error::Unreadable { id, what: format!("the table state {state}") })?,
        origin: Origin::from_number(origin)
            .ok_or_else(|| Error::Unreadable { id, what: format!("the table origin {origin}") })?,
        snapshot: row.number("snapshot").map_err(failed)?,
        later: ledger.read_json(&text("later")?, "statements put off")?,
    })
}

pub async fn read_ranges(
    ledger: &Ledger,
    connection: &mut Connection,
    deadline: Deadline,
) -> Result<Vec<CopiedRange>, Error> {
    let columns = "table_number, number, lower_key, upper_key, reached_key, done, snapshot, copied_rows, copied_bytes";
    let rows = select(ledger, connection, columns, tables::RANGE, "table_number, number", deadline).await?;
    let failed = |cause| Error::Database { doing: "read", id: ledger.id(), cause };
    rows.iter()
        .map(|row| {
            Ok(CopiedRange {
                table_number: row.number("table_number").map_err(failed)?,
                number: row.number("number").map_err(failed)?,
                lower: row.optional_text("lower_key").map_err(failed)?,
                upper: row.optional_text("upper_key").map_err(failed)?,
                reached: row.optional_text("reached_key").map_err(failed)?,
                done: row.number::<u8>("done").map_err(failed)? != 0,
                snapshot: row.number("snapshot").map_err(failed)?,
                rows: row.number("copied_rows").map_err(failed)?,
                bytes: row.number("copied_bytes").map_err(failed)?,
            })
        })
        .collect()
}

async fn select(
    ledger: &Ledger,
    connection: &mut Connection,
    columns: &str,
    table: &str,
    order: &str,
    deadline: Deadline,
) -> Result<Vec<Row>, Error> {
    let sql = format!(
        "SELECT {columns} FROM {} WHERE ledger_id = {} ORDER BY {order}",
        ledger.table(table),
        ledger.id_literal()
    );
    connection.rows(&sql, "reading the ledger", deadline).await.map_err(|cause| Error::Database {
        doing: "read",
        id: ledger.id(),
        cause,
    })
}
