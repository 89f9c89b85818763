//! How to decode the rows of a table: made once for a table's description, used for all its row events.

use std::sync::Arc;

use super::BinlogError;
use super::step::{NoStep, Step};
use super::table_map::TableMap;

/// What the binlog does not say of a column (unless `binlog_row_metadata` is on) and the caller must know.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ColumnDecoding {
    pub unsigned: bool,
    /// Step over the column's values: a generated column, of which old servers write broken documents. Only such
    /// columns may be missing from a row image.
    pub skip: bool,
    /// Digits of the fraction of a TIME, DATETIME or TIMESTAMP that is still in the form of MariaDB 5.3, 0 for all
    /// others. `information_schema` marks such a column's type with `/* mariadb-5.3 */`; the binlog does not tell.
    pub fraction_digits: u8,
}

/// The steps through a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TablePlan {
    table: Arc<TableMap>,
    columns: Box<[PlannedColumn]>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PlannedColumn {
    pub step: Step,
    pub skip: bool,
}

impl TablePlan {
    /// `columns` are those of the table at the event's time, in order; as many as the description has.
    pub fn new(table: Arc<TableMap>, columns: &[ColumnDecoding]) -> Result<Self, BinlogError> {
        if columns.len() != table.columns.len() {
            let table = &table;
            let (wire, expected) = (table.columns.len(), columns.len());
            return Err(BinlogError::ColumnCountDiffers { table: table.name.clone(), wire, expected });
        }
        let planned = table.columns.iter().zip(columns).enumerate().map(|(at, (column, decoding))| {
            let type_code = column.column_type.0;
            let step = Step::of(column, *decoding).map_err(|reason| match reason {
                NoStep::TypeUnsupported => {
                    BinlogError::ColumnTypeUnsupported { table: table.name.clone(), column: at, type_code }
                }
                NoStep::ImpossibleMetadata => {
                    let metadata = column.metadata;
                    BinlogError::ColumnMetadata { table: table.name.clone(), column: at, type_code, metadata }
                }
            })?;
            Ok(PlannedColumn { step, skip: decoding.skip })
        });
        let columns = planned.collect::<Result<_, BinlogError>>()?;
        Ok(Self { table, columns })
    }

    /// A plan from the description alone; numbers whose sign it does not tell are taken as signed.
    pub fn of_description(table: Arc<TableMap>) -> Result<Self, BinlogError> {
        let unsigned = |at: usize| table.metadata.columns.get(at).and_then(|column| column.unsigned);
        let decoding = |at| ColumnDecoding { unsigned: unsigned(at).unwrap_or(false), ..ColumnDecoding::default() };
        let columns: Vec<_> = (0..table.columns.len()).map(decoding).collect();
        Self::new(table, &columns)
    }

    pub fn table(&self) -> &Arc<TableMap> {
        &self.table
    }

    pub(super) fn columns(&self) -> &[PlannedColumn] {
        &self.columns
    }
}
