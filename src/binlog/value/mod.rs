//! One value of a row, as it stands in the event, and its text as the server prints it.
//!
//! Values borrow from the event and are made without allocation (compressed columns excepted). Nothing is
//! converted: text stays in the column's character set, BINARY(n) lacks its trailing zeros, ENUM and SET are
//! numbers, because only the table's definition knows better.

pub mod decimal;
pub mod float;
pub mod temporal;

use std::borrow::Cow;

pub use decimal::Decimal;
pub use temporal::{Date, DateTime, Time, Timestamp};

use super::ValueError;
use super::json::JsonBinary;

/// A value of a column.
#[derive(Debug, Clone, PartialEq)]
pub enum Value<'a> {
    /// Not decoded, because the plan says so.
    Skipped,
    Null,
    Int(i64),
    UInt(u64),
    Float(f32),
    Double(f64),
    Decimal(Decimal<'a>),
    /// CHAR, VARCHAR, BINARY, BLOB, TEXT, GEOMETRY, VECTOR, and MariaDB's UUID and INET types.
    Bytes(Cow<'a, [u8]>),
    /// The bits as a number, and how many the column has.
    Bit {
        value: u64,
        bits: u8,
    },
    /// 1 for the first member; 0 is the error value.
    Enum(u16),
    /// Bit 0 for the first member.
    Set(u64),
    /// 0 or 1901 to 2155.
    Year(u16),
    Date(Date),
    Time(Time),
    DateTime(DateTime),
    Timestamp(Timestamp),
    Json(JsonBinary<'a>),
}

impl Value<'_> {
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    /// Appends the text that the server would print: timestamps in UTC, fractions as wide as the column's, floats as
    /// the shortest text that reads back as the same number. ENUM and SET print as their numbers, BIT as its bytes,
    /// NULL and what was skipped as nothing. Of JSON see [`super::JsonFidelity`]. After an error `out` is as it was
    /// before.
    pub fn write_text(&self, out: &mut Vec<u8>) -> Result<(), ValueError> {
        match self {
            Self::Skipped | Self::Null => {}
            Self::Int(value) => write_int(*value, out),
            Self::UInt(value) => write_uint(*value, out),
            Self::Float(value) => float::write_float(*value, out),
            Self::Double(value) => float::write_double(*value, out),
            Self::Decimal(value) => value.write_text(out)?,
            Self::Bytes(value) => out.extend_from_slice(value),
            Self::Bit { value, bits } => {
                let bytes = value.to_be_bytes();
                let width = usize::from(bits.div_ceil(8)).min(bytes.len());
                out.extend(bytes.iter().skip(bytes.len() - width));
            }
            Self::Enum(index) => write_uint(u64::from(*index), out),
            Self::Set(members) => write_uint(*members, out),
            Self::Year(year) => push_digits(u32::from(*year), 4, out),
            Self::Date(value) => value.write_text(out),
            Self::Time(value) => value.write_text(out),
            Self::DateTime(value) => value.write_text(out),
            Self::Timestamp(value) => value.write_text(out),
            Self::Json(value) => {
                value.write_text(out)?;
            }
        }
        Ok(())
    }
}

pub(super) fn write_int(value: i64, out: &mut Vec<u8>) {
    if value < 0 {
        out.push(b'-');
    }
    write_uint(value.unsigned_abs(), out);
}

pub(super) fn write_uint(mut value: u64, out: &mut Vec<u8>) {
    let mut digits = [b'0'; 20];
    let mut count = 0;
    for slot in digits.iter_mut().rev() {
        *slot = b'0' + (value % 10) as u8;
        value /= 10;
        count += 1;
        if value == 0 {
            break;
        }
    }
    out.extend(digits.iter().skip(digits.len() - count));
}

/// The last `width` digits, with leading zeros.
pub(super) fn push_digits(mut value: u32, width: usize, out: &mut Vec<u8>) {
    let start = out.len();
    out.resize(start + width, b'0');
    for slot in out.iter_mut().skip(start).rev() {
        *slot = b'0' + (value % 10) as u8;
        value /= 10;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn text(value: &Value<'_>) -> String {
        let mut out = Vec::new();
        value.write_text(&mut out).unwrap();
        String::from_utf8_lossy(&out).into_owned()
    }

    #[test]
    fn values_print_as_the_server_prints_them() {
        assert_eq!(text(&Value::Int(i64::MIN)), "-9223372036854775808");
        assert_eq!(text(&Value::UInt(u64::MAX)), "18446744073709551615");
        assert_eq!(text(&Value::Year(0)), "0000");
        assert_eq!(text(&Value::Bit { value: 0x4142, bits: 15 }), "AB");
        assert_eq!(text(&Value::Bit { value: 0x41, bits: 1 }), "A");
        assert_eq!(text(&Value::Null), "");
        assert_eq!(text(&Value::Enum(2)), "2");
    }

    #[test]
    fn a_value_is_no_larger_than_four_words() {
        assert!(size_of::<Value<'_>>() <= 32);
    }

    proptest! {
        #[test]
        fn integers_print_as_rust_prints_them(signed in any::<i64>(), unsigned in any::<u64>()) {
            prop_assert_eq!(text(&Value::Int(signed)), signed.to_string());
            prop_assert_eq!(text(&Value::UInt(unsigned)), unsigned.to_string());
        }
    }
}
