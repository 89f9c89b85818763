//! How one column's values are read: its type and description, worked out once.

use std::borrow::Cow;

use super::column_type::ColumnType;
use super::compression::unpack_column;
use super::cursor::{be_uint, le_uint};
use super::json::JsonBinary;
use super::plan::ColumnDecoding;
use super::table_map::WireColumn;
use super::value::{Date, DateTime, Decimal, Time, Timestamp, Value, decimal, temporal};

/// The way to read a value. Widths and lengths are in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    Int {
        width: u8,
        unsigned: bool,
    },
    Float,
    Double,
    Decimal {
        precision: u8,
        scale: u8,
        size: u8,
    },
    /// Text or bytes after a length of `prefix` bytes.
    Bytes {
        prefix: u8,
    },
    CompressedBytes {
        prefix: u8,
    },
    Json {
        prefix: u8,
    },
    Bit {
        width: u8,
        bits: u8,
    },
    Enum {
        width: u8,
    },
    Set {
        width: u8,
    },
    Year,
    Date,
    OldTime,
    OldDateTime,
    OldTimestamp,
    MiddleTime {
        digits: u8,
    },
    MiddleDateTime {
        digits: u8,
    },
    MiddleTimestamp {
        digits: u8,
    },
    Time {
        digits: u8,
    },
    DateTime {
        digits: u8,
    },
    Timestamp {
        digits: u8,
    },
}

/// Why there is no step for a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NoStep {
    TypeUnsupported,
    ImpossibleMetadata,
}

impl Step {
    pub fn of(column: &WireColumn, decoding: ColumnDecoding) -> Result<Self, NoStep> {
        let ColumnDecoding { unsigned, fraction_digits: digits, .. } = decoding;
        let metadata = column.metadata;
        let [low, high] = metadata.to_le_bytes();
        let within = |fits: bool, step: Self| if fits { Ok(step) } else { Err(NoStep::ImpossibleMetadata) };
        // Lengths over 255 take two bytes before the value.
        let prefix = if metadata > 255 { 2 } else { 1 };
        let blob_fits = (1..=4).contains(&metadata);
        match column.column_type {
            ColumnType::TINY => Ok(Self::Int { width: 1, unsigned }),
            ColumnType::SHORT => Ok(Self::Int { width: 2, unsigned }),
            ColumnType::INT24 => Ok(Self::Int { width: 3, unsigned }),
            ColumnType::LONG => Ok(Self::Int { width: 4, unsigned }),
            ColumnType::LONGLONG => Ok(Self::Int { width: 8, unsigned }),
            ColumnType::FLOAT => within(metadata == 4, Self::Float),
            ColumnType::DOUBLE => within(metadata == 8, Self::Double),
            ColumnType::NEWDECIMAL => {
                let size = decimal::binary_size(high, low).ok_or(NoStep::ImpossibleMetadata)?;
                Ok(Self::Decimal { precision: high, scale: low, size })
            }
            ColumnType::VARCHAR | ColumnType::VAR_STRING | ColumnType::STRING => Ok(Self::Bytes { prefix }),
            ColumnType::VARCHAR_COMPRESSED => Ok(Self::CompressedBytes { prefix }),
            ColumnType::BLOB
            | ColumnType::TINY_BLOB
            | ColumnType::MEDIUM_BLOB
            | ColumnType::LONG_BLOB
            | ColumnType::GEOMETRY
            | ColumnType::VECTOR => within(blob_fits, Self::Bytes { prefix: low }),
            ColumnType::BLOB_COMPRESSED => within(blob_fits, Self::CompressedBytes { prefix: low }),
            ColumnType::JSON => within(blob_fits, Self::Json { prefix: low }),
            ColumnType::BIT => {
                // Bits beyond whole bytes, then whole bytes.
                let (bits, width) = (u16::from(low) + u16::from(high) * 8, high.saturating_add(u8::from(low > 0)));
                within(low < 8 && (1..=64).contains(&bits), Self::Bit { width, bits: bits as u8 })
            }
            ColumnType::ENUM => within((1..=2).contains(&metadata), Self::Enum { width: low }),
            ColumnType::SET => within((1..=8).contains(&metadata), Self::Set { width: low }),
            ColumnType::YEAR => Ok(Self::Year),
            ColumnType::DATE | ColumnType::NEWDATE => Ok(Self::Date),
            ColumnType::TIME if digits > 0 => within(digits <= 6, Self::MiddleTime { digits }),
            ColumnType::DATETIME if digits > 0 => within(digits <= 6, Self::MiddleDateTime { digits }),
            ColumnType::TIMESTAMP if digits > 0 => within(digits <= 6, Self::MiddleTimestamp { digits }),
            ColumnType::TIME => Ok(Self::OldTime),
            ColumnType::DATETIME => Ok(Self::OldDateTime),
            ColumnType::TIMESTAMP => Ok(Self::OldTimestamp),
            ColumnType::TIME2 => within(metadata <= 6, Self::Time { digits: low }),
            ColumnType::DATETIME2 => within(metadata <= 6, Self::DateTime { digits: low }),
            ColumnType::TIMESTAMP2 => within(metadata <= 6, Self::Timestamp { digits: low }),
            // The index of a multi-valued key: an array in the form of a JSON document.
            ColumnType::TYPED_ARRAY => Ok(Self::Json { prefix: 4 }),
            _ => Err(NoStep::TypeUnsupported),
        }
    }

    /// Reads a value from the front of `input` into `slot`. Says what was expected if it is not there; then `input`
    /// may have moved on, and `slot` is as before.
    ///
    /// Writing in place matters: moving values out through results costs as much as decoding them.
    #[inline]
    pub fn read<'e>(self, input: &mut &'e [u8], slot: &mut Value<'e>) -> Result<(), &'static str> {
        match self {
            Self::Int { width, unsigned } => read_int(width, unsigned, input, slot)?,
            Self::Float => *slot = Value::Float(f32::from_le_bytes(take_array(input, "a FLOAT")?)),
            Self::Double => *slot = Value::Double(f64::from_le_bytes(take_array(input, "a DOUBLE")?)),
            Self::Decimal { precision, scale, size } => {
                *slot = Value::Decimal(Decimal::new(precision, scale, take(input, usize::from(size), "a DECIMAL")?));
            }
            Self::Bytes { prefix } => *slot = Value::Bytes(Cow::Borrowed(take_counted(input, prefix)?)),
            Self::CompressedBytes { prefix } => *slot = Value::Bytes(unpack_column(take_counted(input, prefix)?)?),
            Self::Json { prefix } => *slot = Value::Json(JsonBinary(take_counted(input, prefix)?)),
            Self::Bit { width, bits } => {
                *slot = Value::Bit { value: be_uint(take(input, usize::from(width), "bits")?), bits };
            }
            Self::Enum { width } => {
                *slot = Value::Enum(le_uint(take(input, usize::from(width), "an ENUM")?) as u16);
            }
            Self::Set { width } => *slot = Value::Set(le_uint(take(input, usize::from(width), "a SET")?)),
            Self::Year => {
                *slot = match take_array(input, "a YEAR")? {
                    [0] => Value::Year(0),
                    [since_1900] => Value::Year(1900 + u16::from(since_1900)),
                };
            }
            Self::Date => *slot = Value::Date(Date::from_packed(take_array(input, "a DATE")?)),
            Self::OldTime => *slot = Value::Time(Time::from_decimal(take_array(input, "a TIME")?)),
            Self::OldDateTime => *slot = Value::DateTime(DateTime::from_decimal(take_array(input, "a DATETIME")?)),
            Self::OldTimestamp => {
                *slot = Value::Timestamp(Timestamp::from_seconds(take_array(input, "a TIMESTAMP")?));
            }
            Self::MiddleTime { digits } => {
                let bytes = take(input, Time::middle_size(digits), "a TIME of MariaDB 5.3")?;
                *slot = Value::Time(Time::from_middle(bytes, digits));
            }
            Self::MiddleDateTime { digits } => {
                let bytes = take(input, DateTime::middle_size(digits), "a DATETIME of MariaDB 5.3")?;
                *slot = Value::DateTime(DateTime::from_middle(bytes, digits));
            }
            Self::MiddleTimestamp { digits } => {
                let bytes = take(input, Timestamp::middle_size(digits), "a TIMESTAMP of MariaDB 5.3")?;
                *slot = Value::Timestamp(Timestamp::from_middle(bytes, digits));
            }
            Self::Time { digits } => {
                let whole = take_array(input, "a TIME")?;
                let fraction = take(input, temporal::fraction_size(digits), "the fraction of a TIME")?;
                *slot = Value::Time(Time::from_packed(whole, fraction, digits));
            }
            Self::DateTime { digits } => {
                let whole = take_array(input, "a DATETIME")?;
                let fraction = take(input, temporal::fraction_size(digits), "the fraction of a DATETIME")?;
                let datetime = DateTime::from_packed(whole, fraction, digits);
                *slot = Value::DateTime(datetime.ok_or("a DATETIME not below zero")?);
            }
            Self::Timestamp { digits } => {
                let whole = take_array(input, "a TIMESTAMP")?;
                let fraction = take(input, temporal::fraction_size(digits), "the fraction of a TIMESTAMP")?;
                *slot = Value::Timestamp(Timestamp::from_packed(whole, fraction, digits));
            }
        }
        Ok(())
    }

    /// Steps over a value without looking into it.
    pub fn skip(self, input: &mut &[u8]) -> Result<(), &'static str> {
        match self {
            Self::Bytes { prefix } | Self::CompressedBytes { prefix } | Self::Json { prefix } => {
                take_counted(input, prefix).map(|_| ())
            }
            _ => self.read(input, &mut Value::Null),
        }
    }
}

#[inline]
fn read_int<'e>(width: u8, unsigned: bool, input: &mut &[u8], slot: &mut Value<'e>) -> Result<(), &'static str> {
    const EXPECTED: &str = "an integer";
    *slot = match (width, unsigned) {
        (4, false) => Value::Int(i64::from(i32::from_le_bytes(take_array(input, EXPECTED)?))),
        (4, true) => Value::UInt(u64::from(u32::from_le_bytes(take_array(input, EXPECTED)?))),
        (8, false) => Value::Int(i64::from_le_bytes(take_array(input, EXPECTED)?)),
        (8, true) => Value::UInt(u64::from_le_bytes(take_array(input, EXPECTED)?)),
        (1, false) => Value::Int(i64::from(i8::from_le_bytes(take_array(input, EXPECTED)?))),
        (1, true) => Value::UInt(u64::from(u8::from_le_bytes(take_array(input, EXPECTED)?))),
        (2, false) => Value::Int(i64::from(i16::from_le_bytes(take_array(input, EXPECTED)?))),
        (2, true) => Value::UInt(u64::from(u16::from_le_bytes(take_array(input, EXPECTED)?))),
        (_, false) => {
            let [low, middle, high] = take_array(input, EXPECTED)?;
            Value::Int(i64::from(i32::from_le_bytes([0, low, middle, high]) >> 8))
        }
        (_, true) => {
            let [low, middle, high] = take_array(input, EXPECTED)?;
            Value::UInt(u64::from(u32::from_le_bytes([low, middle, high, 0])))
        }
    };
    Ok(())
}

#[inline]
fn take<'e>(input: &mut &'e [u8], count: usize, expected: &'static str) -> Result<&'e [u8], &'static str> {
    let (taken, rest) = input.split_at_checked(count).ok_or(expected)?;
    *input = rest;
    Ok(taken)
}

#[inline]
fn take_array<const N: usize>(input: &mut &[u8], expected: &'static str) -> Result<[u8; N], &'static str> {
    let (taken, rest) = input.split_first_chunk::<N>().ok_or(expected)?;
    *input = rest;
    Ok(*taken)
}

/// Bytes after their length of `prefix` bytes.
#[inline]
fn take_counted<'e>(input: &mut &'e [u8], prefix: u8) -> Result<&'e [u8], &'static str> {
    const LENGTH: &str = "the length of a value";
    let length = match prefix {
        1 => usize::from(u8::from_le_bytes(take_array(input, LENGTH)?)),
        2 => usize::from(u16::from_le_bytes(take_array(input, LENGTH)?)),
        _ => le_uint(take(input, usize::from(prefix), LENGTH)?) as usize,
    };
    take(input, length, "a value of its length")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(column_type: ColumnType, metadata: u16, unsigned: bool, bytes: &[u8]) -> String {
        let decoding = ColumnDecoding { unsigned, ..ColumnDecoding::default() };
        let step = Step::of(&WireColumn { column_type, metadata, nullable: true }, decoding).unwrap();
        let mut input = bytes;
        let mut value = Value::Null;
        step.read(&mut input, &mut value).unwrap();
        assert!(input.is_empty());
        let mut skipped = bytes;
        step.skip(&mut skipped).unwrap();
        assert!(skipped.is_empty());
        let mut out = Vec::new();
        value.write_text(&mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn integers_have_the_sign_that_the_table_gives_them() {
        for (column_type, bytes, signed, unsigned) in [
            (ColumnType::TINY, &[0xff][..], "-1", "255"),
            (ColumnType::SHORT, &[0, 0x80], "-32768", "32768"),
            (ColumnType::INT24, &[0, 0, 0x80], "-8388608", "8388608"),
            (ColumnType::LONG, &[0, 0x28, 0x6b, 0xee], "-294967296", "4000000000"),
            (ColumnType::LONGLONG, &[0, 0, 0, 0, 0, 0, 0, 0x80], "-9223372036854775808", "9223372036854775808"),
        ] {
            assert_eq!(read(column_type, 0, false, bytes), signed);
            assert_eq!(read(column_type, 0, true, bytes), unsigned);
        }
    }

    #[test]
    fn values_are_read_by_their_descriptions() {
        assert_eq!(read(ColumnType::VARCHAR, 255, false, b"\x02ab"), "ab");
        assert_eq!(read(ColumnType::VARCHAR, 256, false, b"\x02\x00ab"), "ab");
        assert_eq!(read(ColumnType::BLOB, 3, false, b"\x02\x00\x00ab"), "ab");
        assert_eq!(read(ColumnType::BIT, 0x0103, false, &[0x07, 0x41]), "\u{7}A");
        assert_eq!(read(ColumnType::ENUM, 2, false, &[0x2c, 1]), "300");
        assert_eq!(read(ColumnType::SET, 3, false, &[1, 0, 0x80]), "8388609");
        assert_eq!(read(ColumnType::YEAR, 0, false, &[0]), "0000");
        assert_eq!(read(ColumnType::YEAR, 0, false, &[255]), "2155");
        assert_eq!(read(ColumnType::JSON, 4, false, &[2, 0, 0, 0, 4, 1]), "true");
        assert_eq!(read(ColumnType::BLOB_COMPRESSED, 2, false, b"\x03\x00\x00ab"), "ab");
    }

    #[test]
    fn impossible_descriptions_have_no_step() {
        let step = |column_type, metadata| {
            Step::of(&WireColumn { column_type, metadata, nullable: true }, ColumnDecoding::default())
        };
        for (column_type, metadata) in [
            (ColumnType::FLOAT, 8),
            (ColumnType::BLOB, 5),
            (ColumnType::NEWDECIMAL, 0x4200),
            (ColumnType::BIT, 0x0008),
            (ColumnType::BIT, 0x0801),
            (ColumnType::SET, 9),
            (ColumnType::DATETIME2, 7),
        ] {
            assert_eq!(step(column_type, metadata), Err(NoStep::ImpossibleMetadata), "{column_type:?} {metadata}");
        }
        assert_eq!(step(ColumnType::DECIMAL, 0), Err(NoStep::TypeUnsupported));
    }
}
