//! The optional end of a table map: names, character sets, keys; what there is depends on `binlog_row_metadata`.
//!
//! On the wire most fields count only the columns of their own kind (the third numeric one, the second SET). Here
//! all is turned to columns, so nobody else has to count. The servers' defaults write little: MariaDB nothing at
//! all, MySQL signedness, character sets and geometry types.

use super::BinlogError;
use super::column_type::ColumnType;
use super::cursor::Cursor;
use super::table_map::WireColumn;
use crate::model::Flavor;

/// What a table map says beyond the layout of rows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OptionalMetadata {
    /// One for each column of the table.
    pub columns: Vec<ColumnMetadata>,
    /// The primary key's columns in its order; None: not told, or there is none.
    pub primary_key: Option<Vec<KeyPart>>,
}

/// What is said of one column. None: not told, or without meaning for its type.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ColumnMetadata {
    pub name: Option<String>,
    pub unsigned: Option<bool>,
    /// Collation id; for ENUM and SET that of their members.
    pub collation: Option<u32>,
    /// The members of an ENUM or SET, in the column's character set.
    pub members: Option<Vec<Vec<u8>>>,
    /// The kind of geometry, 0 for any.
    pub geometry_type: Option<u32>,
    pub visible: Option<bool>,
    /// Dimensions of a VECTOR.
    pub dimensions: Option<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyPart {
    pub column: usize,
    /// Characters of a prefix; None: the whole value.
    pub prefix: Option<u32>,
}

const SIGNEDNESS: u8 = 1;
const DEFAULT_CHARSET: u8 = 2;
const COLUMN_CHARSET: u8 = 3;
const COLUMN_NAME: u8 = 4;
const SET_VALUES: u8 = 5;
const ENUM_VALUES: u8 = 6;
const GEOMETRY_TYPE: u8 = 7;
const SIMPLE_PRIMARY_KEY: u8 = 8;
const PRIMARY_KEY_WITH_PREFIX: u8 = 9;
const ENUM_AND_SET_DEFAULT_CHARSET: u8 = 10;
const ENUM_AND_SET_COLUMN_CHARSET: u8 = 11;
const COLUMN_VISIBILITY: u8 = 12;
const VECTOR_DIMENSIONS: u8 = 13;

fn is_enum_or_set(column: ColumnType) -> bool {
    matches!(column, ColumnType::ENUM | ColumnType::SET)
}

impl OptionalMetadata {
    /// Reads to the end of the event. Fields that this decoder does not know are passed over.
    pub(super) fn parse(flavor: Flavor, cursor: &mut Cursor<'_>, columns: &[WireColumn]) -> Result<Self, BinlogError> {
        let mut metadata = Self { columns: vec![ColumnMetadata::default(); columns.len()], primary_key: None };
        while !cursor.is_empty() {
            let kind = cursor.u8("a metadata field")?;
            let length = cursor.length("the length of a metadata field")?;
            let mut field = cursor.part(length, "a metadata field")?;
            metadata.read(flavor, kind, &mut field, columns)?;
        }
        Ok(metadata)
    }

    fn read(
        &mut self,
        flavor: Flavor,
        kind: u8,
        field: &mut Cursor<'_>,
        columns: &[WireColumn],
    ) -> Result<(), BinlogError> {
        let is_character = |column: ColumnType| column.is_character(flavor);
        match kind {
            SIGNEDNESS => {
                for (at, column) in self.of_kind(columns, ColumnType::is_numeric).enumerate() {
                    column.unsigned = Some(high_bit(field, at)?);
                }
            }
            DEFAULT_CHARSET => read_default_charset(field, self.of_kind(columns, is_character))?,
            COLUMN_CHARSET => {
                for column in self.of_kind(columns, is_character) {
                    column.collation = Some(read_u32(field, "a collation")?);
                }
            }
            ENUM_AND_SET_DEFAULT_CHARSET => read_default_charset(field, self.of_kind(columns, is_enum_or_set))?,
            ENUM_AND_SET_COLUMN_CHARSET => {
                for column in self.of_kind(columns, is_enum_or_set) {
                    column.collation = Some(read_u32(field, "a collation")?);
                }
            }
            COLUMN_NAME => {
                for column in &mut self.columns {
                    let length = field.length("the length of a column's name")?;
                    column.name = Some(field.text(length, "a column's name")?.to_owned());
                }
            }
            SET_VALUES => read_members(field, self.of_kind(columns, |column| column == ColumnType::SET))?,
            ENUM_VALUES => read_members(field, self.of_kind(columns, |column| column == ColumnType::ENUM))?,
            GEOMETRY_TYPE => {
                for column in self.of_kind(columns, |column| column == ColumnType::GEOMETRY) {
                    column.geometry_type = Some(read_u32(field, "a geometry's kind")?);
                }
            }
            SIMPLE_PRIMARY_KEY | PRIMARY_KEY_WITH_PREFIX => {
                let mut parts = Vec::new();
                while !field.is_empty() {
                    parts.push(read_key_part(field, kind == PRIMARY_KEY_WITH_PREFIX, columns.len())?);
                }
                self.primary_key = Some(parts);
            }
            COLUMN_VISIBILITY => {
                for (at, column) in self.columns.iter_mut().enumerate() {
                    column.visible = Some(high_bit(field, at)?);
                }
            }
            VECTOR_DIMENSIONS => {
                for column in self.of_kind(columns, |column| column == ColumnType::VECTOR) {
                    column.dimensions = Some(read_u32(field, "the dimensions of a vector")?);
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn of_kind<'s>(
        &'s mut self,
        columns: &'s [WireColumn],
        counts: impl Fn(ColumnType) -> bool + 's,
    ) -> impl Iterator<Item = &'s mut ColumnMetadata> {
        let pairs = self.columns.iter_mut().zip(columns);
        pairs.filter(move |(_, column)| counts(column.column_type)).map(|(metadata, _)| metadata)
    }
}

/// Bit `at`, counted from the highest bit of the first byte. Leaves the cursor alone.
fn high_bit(field: &Cursor<'_>, at: usize) -> Result<bool, BinlogError> {
    let bitmap = field.clone().rest();
    let byte = bitmap.get(at / 8).ok_or_else(|| field.malformed("a bit for each column"))?;
    Ok(byte << (at % 8) & 0x80 != 0)
}

fn read_u32(field: &mut Cursor<'_>, expected: &'static str) -> Result<u32, BinlogError> {
    let at = field.clone();
    u32::try_from(field.lenenc(expected)?).map_err(|_| at.malformed(expected))
}

/// One collation for all columns of the kind, then pairs of a column (counted inside the kind) and its own.
fn read_default_charset<'s>(
    field: &mut Cursor<'_>,
    columns: impl Iterator<Item = &'s mut ColumnMetadata>,
) -> Result<(), BinlogError> {
    let default = read_u32(field, "the default collation")?;
    let mut columns: Vec<_> = columns.collect();
    for column in &mut columns {
        column.collation = Some(default);
    }
    while !field.is_empty() {
        let at = field.clone();
        let index = field.length("a column")?;
        let collation = read_u32(field, "a collation")?;
        let column = columns.get_mut(index).ok_or_else(|| at.malformed("a column of the table"))?;
        column.collation = Some(collation);
    }
    Ok(())
}

fn read_members<'s>(
    field: &mut Cursor<'_>,
    columns: impl Iterator<Item = &'s mut ColumnMetadata>,
) -> Result<(), BinlogError> {
    for column in columns {
        let count = field.lenenc("the number of members")?;
        let members = (0..count).map(|_| field.lenenc_bytes("a member").map(<[u8]>::to_vec));
        column.members = Some(members.collect::<Result<_, _>>()?);
    }
    Ok(())
}

fn read_key_part(field: &mut Cursor<'_>, with_prefix: bool, columns: usize) -> Result<KeyPart, BinlogError> {
    let at = field.clone();
    let column = field.length("a key column")?;
    if column >= columns {
        return Err(at.malformed("a column of the table"));
    }
    let prefix = if with_prefix { read_u32(field, "the length of a prefix")? } else { 0 };
    Ok(KeyPart { column, prefix: Some(prefix).filter(|prefix| *prefix != 0) })
}

#[cfg(test)]
mod tests {
    use super::super::table_map::tests::table_of;
    use super::*;

    #[test]
    fn fields_are_turned_to_columns() {
        // INT, VARCHAR, YEAR, ENUM, BLOB, DOUBLE
        let types = [3, 15, 13, 254, 252, 5];
        let descriptions = [40, 0, 247, 1, 2, 8];
        let optional = [
            &[SIGNEDNESS, 1, 0b1010_0000][..],
            &[DEFAULT_CHARSET, 3, 45, 1, 63],
            &[ENUM_AND_SET_COLUMN_CHARSET, 1, 8],
            &[ENUM_VALUES, 5, 2, 1, b'x', 1, b'y'],
            &[COLUMN_NAME, 12, 1, b'a', 1, b'b', 1, b'c', 1, b'd', 1, b'e', 1, b'f'],
            &[PRIMARY_KEY_WITH_PREFIX, 4, 1, 10, 0, 0],
            &[COLUMN_VISIBILITY, 1, 0b0111_1100],
            &[77, 2, 1, 2],
        ];
        let table = table_of(&types, &descriptions, &optional.concat()).unwrap();
        let columns = &table.metadata.columns;
        let unsigned: Vec<_> = columns.iter().map(|column| column.unsigned).collect();
        assert_eq!(unsigned, [Some(true), None, Some(false), None, None, Some(true)]);
        let collations: Vec<_> = columns.iter().map(|column| column.collation).collect();
        assert_eq!(collations, [None, Some(45), None, Some(8), Some(63), None]);
        assert_eq!(columns[3].members, Some(vec![b"x".to_vec(), b"y".to_vec()]));
        assert_eq!((columns[0].name.as_deref(), columns[0].visible), (Some("a"), Some(false)));
        let key = [KeyPart { column: 1, prefix: Some(10) }, KeyPart { column: 0, prefix: None }];
        assert_eq!(table.metadata.primary_key.as_deref(), Some(&key[..]));
    }

    #[test]
    fn a_column_out_of_range_is_an_error() {
        assert!(table_of(&[15], &[40, 0], &[DEFAULT_CHARSET, 3, 45, 1, 63]).is_err());
        assert!(table_of(&[3], &[], &[SIMPLE_PRIMARY_KEY, 1, 1]).is_err());
        assert!(table_of(&[3], &[], &[SIGNEDNESS, 0]).is_err());
        assert!(table_of(&[3], &[], &[COLUMN_NAME, 2, 9, b'a']).is_err());
    }
}
