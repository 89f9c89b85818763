//! Reads the rows of one key range.

use std::time::Duration;

use super::error::Error;
use super::select::{KeyValues, SourceTable, rows_between};
use super::split::KeyRange;
use crate::mysql::{Cells, Connection, RowStream};

/// How long the source may take for the next row. The first may need a sort.
const ROW_PATIENCE: Duration = Duration::from_secs(600);

/// The rows of a range, one by one, in the key's order.
pub struct RangeRows<'a> {
    rows: RowStream<'a>,
    table: &'a SourceTable,
}

impl<'a> RangeRows<'a> {
    /// `sql` must live as long as the rows are read: see [`statement`].
    pub async fn open(session: &'a mut Connection, table: &'a SourceTable, sql: &'a str) -> Result<Self, Error> {
        let rows = session
            .stream(sql, "reading rows", ROW_PATIENCE)
            .await
            .map_err(|cause| Error::of_rows(&table.name, cause))?;
        Ok(Self { rows, table })
    }

    pub async fn next(&mut self) -> Result<Option<Cells>, Error> {
        self.rows.next().await.map_err(|cause| Error::of_rows(&self.table.name, cause))
    }
}

/// The statement for [`RangeRows::open`].
pub fn statement(table: &SourceTable, range: &KeyRange) -> String {
    rows_between(table, range.lower.as_ref(), range.upper.as_ref())
}

/// The key of a row.
pub fn key_of(table: &SourceTable, cells: &Cells) -> KeyValues {
    table.key.iter().map(|column| cells.get(column.position).unwrap_or_default().to_vec()).collect()
}
