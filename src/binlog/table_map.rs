//! TABLE_MAP: which table the row events after it speak of, and how its rows are laid out.
//!
//! Row events name a table by a number that holds until the end of their statement. The same table is described
//! again and again, so equal descriptions are parsed once and shared ([`TableCache`]).

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use foldhash::fast::FixedState;

use super::BinlogError;
use super::column_type::{ColumnType, read_description};
use super::cursor::Cursor;
use super::optional_metadata::OptionalMetadata;
use crate::model::Flavor;
use crate::model::TableName;

/// Which number stands for which table from here on.
#[derive(Debug, Clone)]
pub struct TableMapEvent {
    pub table_id: u64,
    pub flags: u16,
    /// The same allocation for the same description, while it stays in the decoder's memory: what was made of one
    /// can be kept by [`Arc::as_ptr`].
    pub table: Arc<TableMap>,
}

/// A table as the binlog describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableMap {
    pub name: TableName,
    pub columns: Vec<WireColumn>,
    pub metadata: OptionalMetadata,
}

/// The part of a column's definition that every table map has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WireColumn {
    /// The real type: ENUM and SET are told apart from STRING.
    pub column_type: ColumnType,
    /// Its meaning depends on the type: a length in bytes, digits of a fraction, precision and scale.
    pub metadata: u16,
    pub nullable: bool,
}

impl TableMap {
    fn parse(flavor: Flavor, cursor: &mut Cursor<'_>) -> Result<Self, BinlogError> {
        let name = TableName { schema: read_name(cursor)?, table: read_name(cursor)? };
        let count = cursor.length("the number of columns")?;
        let types = cursor.bytes(count, "the columns' types")?;
        let length = cursor.length("the length of the columns' descriptions")?;
        let mut descriptions = cursor.part(length, "the columns' descriptions")?;
        let nullable = cursor.bytes(count.div_ceil(8), "which columns may be NULL")?;
        let mut columns = Vec::with_capacity(count);
        for (at, listed) in types.iter().enumerate() {
            let (column_type, metadata) = read_description(&mut descriptions, ColumnType(*listed))?;
            columns.push(WireColumn { column_type, metadata, nullable: bit(nullable, at) });
        }
        if !descriptions.is_empty() {
            return Err(descriptions.malformed("the end of the columns' descriptions"));
        }
        let metadata = OptionalMetadata::parse(flavor, cursor, &columns)?;
        Ok(Self { name, columns, metadata })
    }
}

fn read_name(cursor: &mut Cursor<'_>) -> Result<String, BinlogError> {
    // One byte in all versions, though newer ones call it length-encoded; names end below 251 bytes.
    let length = cursor.u8("the length of a name")?;
    let name = cursor.text(usize::from(length), "a name")?.to_owned();
    if cursor.u8("the end of a name")? != 0 {
        return Err(cursor.malformed("a zero after a name"));
    }
    Ok(name)
}

/// Bit `at` of a bitmap that begins with the lowest bit of the first byte; false beyond its end.
#[inline]
pub(super) fn bit(bitmap: &[u8], at: usize) -> bool {
    bitmap.get(at / 8).is_some_and(|byte| byte >> (at % 8) & 1 != 0)
}

/// Descriptions already parsed, by their bytes.
#[derive(Debug, Default)]
pub(super) struct TableCache {
    tables: HashMap<Bytes, Arc<TableMap>, FixedState>,
}

impl TableCache {
    /// Descriptions kept at most; then the memory starts anew. More would mean tens of thousands of tables in use.
    const TABLES_MAX: usize = 4096;

    /// Reads an event, or only its first eight bytes if the rest is known.
    pub fn read(&mut self, flavor: Flavor, cursor: &mut Cursor<'_>) -> Result<TableMapEvent, BinlogError> {
        let table_id = cursor.uint(6, "the table's number")?;
        let flags = cursor.u16("the flags")?;
        let mut ahead = cursor.clone();
        let description = ahead.rest();
        let table = match self.tables.get(description) {
            Some(table) => table.clone(),
            None => {
                let table = Arc::new(TableMap::parse(flavor, cursor)?);
                if self.tables.len() >= Self::TABLES_MAX {
                    self.tables.clear();
                }
                // A copy, so that the memory does not hold on to the whole network packet.
                self.tables.insert(Bytes::copy_from_slice(description), table.clone());
                table
            }
        };
        Ok(TableMapEvent { table_id, flags, table })
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::EventType;
    use super::*;

    /// A table map of table `s`.`t`; all columns may be NULL.
    pub fn table_of(types: &[u8], descriptions: &[u8], optional: &[u8]) -> Result<Arc<TableMap>, BinlogError> {
        let mut bytes = vec![7, 0, 0, 0, 0, 0, 1, 0, 1, b's', 0, 1, b't', 0, types.len() as u8];
        bytes.extend(types);
        bytes.push(descriptions.len() as u8);
        bytes.extend(descriptions);
        bytes.extend(vec![0xff; types.len().div_ceil(8)]);
        bytes.extend(optional);
        let mut cursor = Cursor::new(EventType::TABLE_MAP, &bytes, 19);
        TableCache::default().read(Flavor::MySql, &mut cursor).map(|event| event.table)
    }

    #[test]
    fn enum_set_and_long_char_come_out_of_string() {
        // ENUM of one byte, SET of two, CHAR of 10 bytes, CHAR of 765 bytes (255 characters of utf8mb3).
        let table = table_of(&[254; 4], &[247, 1, 248, 2, 254, 10, 0xde, 0xfd], &[]).unwrap();
        let columns: Vec<_> = table.columns.iter().map(|column| (column.column_type, column.metadata)).collect();
        let (long, short) = ((ColumnType::STRING, 765), (ColumnType::STRING, 10));
        assert_eq!(columns, [(ColumnType::ENUM, 1), (ColumnType::SET, 2), short, long]);
    }

    #[test]
    fn equal_descriptions_are_shared() {
        let mut cache = TableCache::default();
        let mut read = |id: u8, table: u8| {
            let bytes = [id, 0, 0, 0, 0, 0, 1, 0, 1, b's', 0, 1, table, 0, 1, 3, 0, 0];
            cache.read(Flavor::MySql, &mut Cursor::new(EventType::TABLE_MAP, &bytes, 19)).unwrap()
        };
        let (first, again, other) = (read(7, b't'), read(8, b't'), read(8, b'u'));
        assert!(Arc::ptr_eq(&first.table, &again.table) && !Arc::ptr_eq(&first.table, &other.table));
        assert_eq!((first.table_id, again.table_id), (7, 8));
        assert_eq!(first.table.name.to_string(), "`s`.`t`");
    }

    #[test]
    fn left_over_descriptions_are_an_error() {
        assert!(table_of(&[3], &[1], &[]).is_err());
        assert!(table_of(&[15], &[1], &[]).is_err());
    }
}
