//! Column types by their number on the wire, and the description each has in a table map.

use super::BinlogError;
use super::cursor::Cursor;
use crate::model::Flavor;

/// The number of a column's type in a table map.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ColumnType(pub u8);

impl ColumnType {
    pub const DECIMAL: Self = Self(0);
    pub const TINY: Self = Self(1);
    pub const SHORT: Self = Self(2);
    pub const LONG: Self = Self(3);
    pub const FLOAT: Self = Self(4);
    pub const DOUBLE: Self = Self(5);
    pub const NULL: Self = Self(6);
    pub const TIMESTAMP: Self = Self(7);
    pub const LONGLONG: Self = Self(8);
    pub const INT24: Self = Self(9);
    pub const DATE: Self = Self(10);
    pub const TIME: Self = Self(11);
    pub const DATETIME: Self = Self(12);
    pub const YEAR: Self = Self(13);
    pub const NEWDATE: Self = Self(14);
    pub const VARCHAR: Self = Self(15);
    pub const BIT: Self = Self(16);
    pub const TIMESTAMP2: Self = Self(17);
    pub const DATETIME2: Self = Self(18);
    pub const TIME2: Self = Self(19);
    pub const TYPED_ARRAY: Self = Self(20);
    /// MariaDB: a BLOB or TEXT column with `COMPRESSED`.
    pub const BLOB_COMPRESSED: Self = Self(140);
    /// MariaDB: a VARCHAR or VARBINARY column with `COMPRESSED`.
    pub const VARCHAR_COMPRESSED: Self = Self(141);
    /// MySQL 9.
    pub const VECTOR: Self = Self(242);
    pub const JSON: Self = Self(245);
    pub const NEWDECIMAL: Self = Self(246);
    pub const ENUM: Self = Self(247);
    pub const SET: Self = Self(248);
    pub const TINY_BLOB: Self = Self(249);
    pub const MEDIUM_BLOB: Self = Self(250);
    pub const LONG_BLOB: Self = Self(251);
    pub const BLOB: Self = Self(252);
    pub const VAR_STRING: Self = Self(253);
    pub const STRING: Self = Self(254);
    pub const GEOMETRY: Self = Self(255);

    /// Counted in the metadata of signedness.
    pub(super) fn is_numeric(self) -> bool {
        matches!(
            self,
            Self::TINY
                | Self::SHORT
                | Self::INT24
                | Self::LONG
                | Self::LONGLONG
                | Self::FLOAT
                | Self::DOUBLE
                | Self::NEWDECIMAL
                | Self::YEAR
        )
    }

    /// Counted in the metadata of character sets, binary strings and vectors included; MariaDB also counts geometries,
    /// MySQL does not.
    pub(super) fn is_character(self, flavor: Flavor) -> bool {
        match self {
            Self::STRING
            | Self::VAR_STRING
            | Self::VARCHAR
            | Self::VARCHAR_COMPRESSED
            | Self::TINY_BLOB
            | Self::MEDIUM_BLOB
            | Self::LONG_BLOB
            | Self::BLOB
            | Self::BLOB_COMPRESSED
            | Self::VECTOR => true,
            Self::GEOMETRY => flavor == Flavor::MariaDb,
            _ => false,
        }
    }
}

/// The type and its description as the table map has them. ENUM, SET and long CHAR hide inside STRING: its first
/// byte is the real type, with the two high bits of a length over 255 turned over in it.
pub(super) fn read_description(cursor: &mut Cursor<'_>, listed: ColumnType) -> Result<(ColumnType, u16), BinlogError> {
    const EXPECTED: &str = "a column's description";
    Ok(match listed {
        ColumnType::FLOAT
        | ColumnType::DOUBLE
        | ColumnType::TINY_BLOB
        | ColumnType::MEDIUM_BLOB
        | ColumnType::LONG_BLOB
        | ColumnType::BLOB
        | ColumnType::BLOB_COMPRESSED
        | ColumnType::GEOMETRY
        | ColumnType::VECTOR
        | ColumnType::JSON
        | ColumnType::TIME2
        | ColumnType::DATETIME2
        | ColumnType::TIMESTAMP2 => (listed, u16::from(cursor.u8(EXPECTED)?)),
        ColumnType::VARCHAR | ColumnType::VAR_STRING | ColumnType::VARCHAR_COMPRESSED | ColumnType::BIT => {
            (listed, cursor.u16(EXPECTED)?)
        }
        ColumnType::NEWDECIMAL => (listed, u16::from_be_bytes(cursor.array(EXPECTED)?)),
        ColumnType::STRING | ColumnType::ENUM | ColumnType::SET => {
            let [real, length] = cursor.array(EXPECTED)?;
            if real == 0 {
                (ColumnType::STRING, u16::from(length)) // written before 5.1
            } else if real & 0x30 == 0x30 {
                (ColumnType(real), u16::from(length))
            } else {
                (ColumnType(real | 0x30), u16::from(length) | u16::from((real & 0x30) ^ 0x30) << 4)
            }
        }
        ColumnType::TYPED_ARRAY => {
            // The type of the elements, then its own description, where lengths have three bytes.
            let element = ColumnType(cursor.u8(EXPECTED)?);
            if element == ColumnType::VARCHAR {
                cursor.uint(3, EXPECTED)?;
            } else {
                read_description(cursor, element)?;
            }
            (listed, u16::from(element.0))
        }
        _ => (listed, 0),
    })
}
