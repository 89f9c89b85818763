//! A source transaction as the lanes apply it: row changes whose cells are already text for the target.
//!
//! Text is written once, when the event is decoded, into one buffer for the whole transaction; what follows only
//! compares and copies slices of it.

use std::sync::Arc;

use bytes::Bytes;

use crate::ledger::TransactionId;
use crate::model::TableName;

/// How a column is compared with a literal when a row has no key to be found by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compare {
    /// Numbers, dates, binary strings: equal means the same.
    Exact,
    /// ENUM and SET, by their numbers.
    Member,
    /// Characters: the collation first, for an index; then the bytes.
    Characters,
    /// A JSON type of the server's own.
    Json,
    /// By its bytes in hexadecimal.
    Geometry,
}

/// A column of the target that is written. Its place is that of its cells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApplyColumn {
    /// Quoted.
    pub name: String,
    pub compare: Compare,
}

/// A table of the target, with what the statements need.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApplyTable {
    pub target: TableName,
    pub source: TableName,
    pub columns: Vec<ApplyColumn>,
    /// The columns of the key that finds a row (primary, else unique without NULL); empty: all columns do.
    pub identity: Vec<usize>,
    /// The columns of every other unique key.
    pub other_unique: Vec<Vec<usize>>,
    /// Columns that the server would set by itself in an UPDATE (ON UPDATE CURRENT_TIMESTAMP), so that they are
    /// always named.
    pub always_set: Vec<usize>,
    /// Tied to others by ON DELETE/UPDATE CASCADE or SET NULL: changes keep their order across those tables.
    pub keeps_order: bool,
    /// Without a key, and every column is written and can stand in a list: rows with equal cells are the same.
    pub is_multiset: bool,
    /// Without a key: the column that some index begins with.
    pub lead: Option<usize>,
}

impl ApplyTable {
    pub fn has_key(&self) -> bool {
        !self.identity.is_empty()
    }

    /// Whether a column's old value is needed beyond whether it changed: to find the row, or to tell whether it gives
    /// up a unique value.
    pub fn needs_old_value(&self, column: usize) -> bool {
        !self.has_key() || self.identity.contains(&column) || self.other_unique.iter().flatten().any(|&at| at == column)
    }
}

/// In the old image of an UPDATE, a large cell that no key is made of is left out; what stands there says whether the
/// new image has another value. Neither is a literal.
pub const LEFT_OUT_CHANGED: &[u8] = b"";
pub const LEFT_OUT_SAME: &[u8] = b"\0";
/// What a cell without a literal begins with.
const SHARED: u8 = 1;

/// A row: `columns.len()` cells from this index on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Image(pub u32);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Row {
    Insert { after: Image },
    Update { before: Image, after: Image },
    Delete { before: Image },
}

#[derive(Debug, Clone)]
pub struct Change {
    pub table: Arc<ApplyTable>,
    pub row: Row,
    /// Run with foreign key checks, so that the target cascades as the source did.
    pub cascades: bool,
    /// Holds an ENUM's error value, which strict mode refuses.
    pub relaxed: bool,
}

/// A large value, which stays in the event it came in.
#[derive(Debug, Clone)]
pub struct SharedValue {
    pub bytes: Bytes,
    /// None: bytes.
    pub charset: Option<Box<str>>,
}

/// Literals, one after the other.
#[derive(Debug, Default, Clone)]
pub struct CellText {
    text: Vec<u8>,
    ends: Vec<u32>,
    /// Values without a literal, by the index of their cell, in order.
    shared: Vec<(u32, SharedValue)>,
}

impl CellText {
    /// The buffer to write the next literal to; [`Self::end_cell`] closes it.
    pub fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.text
    }

    pub fn end_cell(&mut self) {
        self.ends.push(u32::try_from(self.text.len()).unwrap_or(u32::MAX));
    }

    /// Adds a cell without a literal. In its place stands where the value is in memory: equal means the same.
    pub fn share(&mut self, value: SharedValue) {
        let index = self.next_image().0;
        self.text.push(SHARED);
        self.text.extend_from_slice(&(value.bytes.as_ptr() as usize).to_le_bytes());
        self.text.extend_from_slice(&value.bytes.len().to_le_bytes());
        self.end_cell();
        self.shared.push((index, value));
    }

    /// The value of a cell without a literal.
    pub fn shared(&self, image: Image, column: usize) -> Option<&SharedValue> {
        let index = image.0.checked_add(u32::try_from(column).ok()?)?;
        let at = self.shared.binary_search_by_key(&index, |(index, _)| *index).ok()?;
        self.shared.get(at).map(|(_, value)| value)
    }

    /// Where the next row's cells will begin.
    pub fn next_image(&self) -> Image {
        Image(u32::try_from(self.ends.len()).unwrap_or(u32::MAX))
    }

    /// The literal of a column of a row.
    pub fn get(&self, image: Image, column: usize) -> &[u8] {
        let index = image.0 as usize + column;
        let start = match index.checked_sub(1) {
            None => 0,
            Some(before) => self.ends.get(before).copied().unwrap_or_default() as usize,
        };
        let end = self.ends.get(index).copied().unwrap_or_default() as usize;
        self.text.get(start..end).unwrap_or_default()
    }

    pub fn bytes(&self) -> usize {
        let shared: usize = self.shared.iter().map(|(_, value)| value.bytes.len()).sum();
        self.text.len() + self.ends.len() * 4 + shared
    }

    /// Forgets everything but keeps the memory.
    pub fn clear(&mut self) {
        self.text.clear();
        self.ends.clear();
        self.shared.clear();
    }
}

/// A source transaction, or the piece of one that fits into memory.
#[derive(Debug, Default, Clone)]
pub struct Transaction {
    /// Its place in the order of this run's ledger.
    pub number: u64,
    /// None for a piece: the whole is one target transaction, whose end carries the id.
    pub id: Option<TransactionId>,
    pub changes: Vec<Change>,
    pub cells: CellText,
    /// Where it ends in the source's binlog, for messages.
    pub position: String,
    /// The xid of a prepared transaction that this is the commit of: its note goes with the rows.
    pub ends_prepared: Option<String>,
}

impl Transaction {
    /// Bytes of memory it holds, about.
    pub fn weight(&self) -> usize {
        self.cells.bytes() + self.changes.len() * size_of::<Change>() + 200
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_found_by_row_and_column() {
        let mut cells = CellText::default();
        let mut images = Vec::new();
        for row in [["1", "'a'"], ["2", "NULL"]] {
            images.push(cells.next_image());
            for cell in row {
                cells.buffer().extend_from_slice(cell.as_bytes());
                cells.end_cell();
            }
        }
        assert_eq!((cells.get(images[0], 0), cells.get(images[0], 1)), (b"1".as_slice(), b"'a'".as_slice()));
        assert_eq!(cells.get(images[1], 1), b"NULL");
        assert_eq!(cells.get(images[1], 9), b"");
    }
}
