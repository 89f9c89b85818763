//! Row events: what was inserted, updated or deleted in one table.
//!
//! An event holds any number of rows, as raw bytes until a [`TablePlan`] reads them. Reading goes row by row into
//! two buffers that are used again and again. An image that leaves columns out is refused: with it an UPDATE could
//! not be applied surely, and the missing values would look like NULL.

use bytes::Bytes;

use super::cursor::Cursor;
use super::plan::{PlannedColumn, TablePlan};
use super::table_map::bit;
use super::value::Value;
use super::{BinlogError, EventType};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RowsKind {
    Insert,
    Update,
    Delete,
}

/// Flags of a row event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowsFlags(pub u16);

impl RowsFlags {
    const STATEMENT_END: u16 = 1;
    const NO_FOREIGN_KEY_CHECKS: u16 = 2;
    const RELAXED_UNIQUE_CHECKS: u16 = 4;
    const COMPLETE_ROWS: u16 = 8;
    const USE_SQL_FOREIGN_KEY: u16 = 16;

    /// The last event of its statement: the numbers of tables end with it.
    pub fn statement_end(self) -> bool {
        self.0 & Self::STATEMENT_END != 0
    }

    /// The session ran with `foreign_key_checks` off.
    pub fn no_foreign_key_checks(self) -> bool {
        self.0 & Self::NO_FOREIGN_KEY_CHECKS != 0
    }

    /// The session ran with `unique_checks` off.
    pub fn relaxed_unique_checks(self) -> bool {
        self.0 & Self::RELAXED_UNIQUE_CHECKS != 0
    }

    /// The rows have all columns, says the server.
    pub fn complete_rows(self) -> bool {
        self.0 & Self::COMPLETE_ROWS != 0
    }

    /// MySQL 9 with `innodb_native_foreign_keys` off, which is the default: cascades are row events of their own, so
    /// the reader must not cascade again. All row events of such a server have it; those of children come first and
    /// also say [`Self::no_foreign_key_checks`].
    pub fn uses_sql_foreign_keys(self) -> bool {
        self.0 & Self::USE_SQL_FOREIGN_KEY != 0
    }
}

/// Changes of rows of one table, not decoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowsEvent {
    pub table_id: u64,
    pub kind: RowsKind,
    pub flags: RowsFlags,
    pub column_count: usize,
    event: EventType,
    /// Which columns the images have; None where the kind has no such image.
    before_columns: Option<Bytes>,
    after_columns: Option<Bytes>,
    rows: Bytes,
    rows_offset: usize,
}

/// Second version of the events: more may stand between flags and columns.
fn has_extra_data(event: EventType) -> bool {
    matches!(
        event,
        EventType::WRITE_ROWS
            | EventType::UPDATE_ROWS
            | EventType::DELETE_ROWS
            | EventType::WRITE_ROWS_COMPRESSED
            | EventType::UPDATE_ROWS_COMPRESSED
            | EventType::DELETE_ROWS_COMPRESSED
    )
}

fn kind_of(event: EventType) -> RowsKind {
    match event {
        EventType::WRITE_ROWS_V1
        | EventType::WRITE_ROWS
        | EventType::WRITE_ROWS_COMPRESSED_V1
        | EventType::WRITE_ROWS_COMPRESSED => RowsKind::Insert,
        EventType::DELETE_ROWS_V1
        | EventType::DELETE_ROWS
        | EventType::DELETE_ROWS_COMPRESSED_V1
        | EventType::DELETE_ROWS_COMPRESSED => RowsKind::Delete,
        _ => RowsKind::Update,
    }
}

impl RowsEvent {
    /// A value's bytes, held together with the event instead of being copied. None: they are not part of it.
    pub fn share(&self, value: &[u8]) -> Option<Bytes> {
        let start = (value.as_ptr() as usize).checked_sub(self.rows.as_ptr() as usize)?;
        let end = start.checked_add(value.len())?;
        (end <= self.rows.len()).then(|| self.rows.slice(start..end))
    }

    /// Everything but the rows, where the cursor is left.
    pub(super) fn parse_head(cursor: &mut Cursor<'_>, body: &Bytes) -> Result<Self, BinlogError> {
        let event = cursor.event();
        let table_id = cursor.uint(6, "the table's number")?;
        let flags = RowsFlags(cursor.u16("the flags")?);
        if has_extra_data(event) {
            let length = usize::from(cursor.u16("the length of extra data")?);
            let length = length.checked_sub(2).ok_or_else(|| cursor.malformed("extra data of two bytes or more"))?;
            cursor.bytes(length, "extra data")?; // partitions, and what NDB adds
        }
        let column_count = cursor.length("the number of columns")?;
        let kind = kind_of(event);
        let mut bitmap = |present: bool| {
            let columns = present.then(|| cursor.bytes(column_count.div_ceil(8), "which columns there are"));
            columns.transpose().map(|columns| columns.map(|columns| body.slice_ref(columns)))
        };
        let before_columns = bitmap(kind != RowsKind::Insert)?;
        let after_columns = bitmap(kind != RowsKind::Delete)?;
        let rows_offset = cursor.offset();
        let rows = Bytes::new();
        Ok(Self { table_id, kind, flags, column_count, event, before_columns, after_columns, rows, rows_offset })
    }

    pub(super) fn parse(cursor: &mut Cursor<'_>, body: &Bytes) -> Result<Self, BinlogError> {
        let mut event = Self::parse_head(cursor, body)?;
        event.rows = body.slice_ref(cursor.rest());
        Ok(event)
    }

    pub(super) fn with_rows(mut self, rows: Bytes) -> Self {
        self.rows = rows;
        self
    }

    /// Belongs to no table: only tells the end of a statement.
    pub fn is_dummy(&self) -> bool {
        const NO_TABLE: u64 = 0x00ff_ffff;
        self.table_id == NO_TABLE
    }

    /// Size of the rows in bytes.
    pub fn rows_size(&self) -> usize {
        self.rows.len()
    }

    /// Which columns the image before the change has, lowest bit first; None in inserts.
    pub fn before_columns(&self) -> Option<&[u8]> {
        self.before_columns.as_deref()
    }

    /// Which columns the image after the change has, lowest bit first; None in deletes.
    pub fn after_columns(&self) -> Option<&[u8]> {
        self.after_columns.as_deref()
    }

    /// Begins to read the rows. Fails if the plan has other columns than the event, or an image is not full.
    pub fn rows<'e>(&'e self, plan: &'e TablePlan) -> Result<RowReader<'e>, BinlogError> {
        let columns = plan.columns();
        if self.column_count != columns.len() {
            let table = plan.table().name.clone();
            let (wire, expected) = (self.column_count, columns.len());
            return Err(BinlogError::ColumnCountDiffers { table, wire, expected });
        }
        let image = |present: Option<&'e Bytes>| present.map(|present| self.image(present, plan)).transpose();
        Ok(RowReader {
            before: image(self.before_columns.as_ref())?,
            after: image(self.after_columns.as_ref())?,
            event: self,
            plan,
            input: &self.rows,
        })
    }

    fn image<'e>(&self, present: &'e Bytes, plan: &'e TablePlan) -> Result<Image<'e>, BinlogError> {
        let mut count = 0;
        for (at, column) in plan.columns().iter().enumerate() {
            if bit(present, at) {
                count += 1;
            } else if !column.skip {
                let table = plan.table().name.clone();
                return Err(BinlogError::PartialRowImage { event: self.event, table, column: at });
            }
        }
        let full = count == plan.columns().len();
        Ok(Image {
            columns: plan.columns(),
            present: (!full).then_some(present),
            nulls_size: count.div_ceil(8),
            values: vec![Value::Null; plan.columns().len()],
        })
    }
}

/// One changed row; each image has a value for every column of the table.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RowChange<'r, 'e> {
    /// None in inserts.
    pub before: Option<&'r [Value<'e>]>,
    /// None in deletes.
    pub after: Option<&'r [Value<'e>]>,
}

/// Goes through the rows of an event.
#[derive(Debug)]
pub struct RowReader<'e> {
    event: &'e RowsEvent,
    plan: &'e TablePlan,
    input: &'e [u8],
    before: Option<Image<'e>>,
    after: Option<Image<'e>>,
}

#[derive(Debug)]
struct Image<'e> {
    columns: &'e [PlannedColumn],
    /// Which columns there are; None: all.
    present: Option<&'e [u8]>,
    nulls_size: usize,
    values: Vec<Value<'e>>,
}

/// What is wrong in which column.
struct ImageError {
    column: usize,
    expected: &'static str,
}

impl<'e> RowReader<'e> {
    /// The next row; None after the last. The values are overwritten by the next call.
    pub fn next_row(&mut self) -> Result<Option<RowChange<'_, 'e>>, BinlogError> {
        if self.input.is_empty() {
            return Ok(None);
        }
        let left = self.input.len();
        for image in [&mut self.before, &mut self.after].into_iter().flatten() {
            if let Err(ImageError { column, expected }) = image.read(&mut self.input) {
                return Err(value_error(self.event, self.plan, self.input, column, expected));
            }
        }
        if self.input.len() == left {
            return Err(value_error(self.event, self.plan, self.input, 0, "a row with columns"));
        }
        Ok(Some(RowChange {
            before: self.before.as_ref().map(|image| image.values.as_slice()),
            after: self.after.as_ref().map(|image| image.values.as_slice()),
        }))
    }
}

#[cold]
fn value_error(event: &RowsEvent, plan: &TablePlan, left: &[u8], column: usize, expected: &'static str) -> BinlogError {
    let offset = event.rows_offset + event.rows.len() - left.len();
    BinlogError::Value { event: event.event, table: plan.table().name.clone(), column, offset, expected }
}

impl<'e> Image<'e> {
    fn read(&mut self, input: &mut &'e [u8]) -> Result<(), ImageError> {
        let missing = ImageError { column: 0, expected: "which values are NULL" };
        let (nulls, rest) = input.split_at_checked(self.nulls_size).ok_or(missing)?;
        *input = rest;
        match self.present {
            None => self.read_full(nulls, input),
            Some(present) => self.read_some(present, nulls, input),
        }
    }

    /// The usual case, in which the bits of `nulls` are those of the columns.
    #[inline]
    fn read_full(&mut self, nulls: &'e [u8], input: &mut &'e [u8]) -> Result<(), ImageError> {
        let columns = self.columns.chunks(8).zip(self.values.chunks_mut(8)).zip(nulls).enumerate();
        for (eighth, ((columns, values), nulls)) in columns {
            let mut nulls = *nulls;
            for (at, (column, value)) in columns.iter().zip(values).enumerate() {
                if nulls & 1 != 0 {
                    *value = Value::Null;
                } else if let Err(expected) = column.read(input, value) {
                    return Err(ImageError { column: eighth * 8 + at, expected });
                }
                nulls >>= 1;
            }
        }
        Ok(())
    }

    /// Columns that are to be skipped may be missing, and have no bit in `nulls` then.
    fn read_some(&mut self, present: &[u8], nulls: &[u8], input: &mut &'e [u8]) -> Result<(), ImageError> {
        let mut in_image = 0;
        for (at, (column, value)) in self.columns.iter().zip(&mut self.values).enumerate() {
            if !bit(present, at) {
                *value = Value::Skipped;
                continue;
            }
            if bit(nulls, in_image) {
                *value = Value::Null;
            } else if let Err(expected) = column.read(input, value) {
                return Err(ImageError { column: at, expected });
            }
            in_image += 1;
        }
        Ok(())
    }
}

impl PlannedColumn {
    #[inline]
    fn read<'e>(&self, input: &mut &'e [u8], slot: &mut Value<'e>) -> Result<(), &'static str> {
        if self.skip {
            *slot = Value::Skipped;
            return self.step.skip(input);
        }
        self.step.read(input, slot)
    }
}
