//! Values of the binlog as literals for the target. Pure.
//!
//! What is written stands equally in VALUES, SET and WHERE. Characters carry their character set, so that a column's
//! own collation decides a comparison and an index can be used; numbers with an exponent are doubles, not decimals.

use std::borrow::Cow;

use crate::binlog::{Value, ValueError};
use crate::mysql::append_string;

/// What a literal of a column must look like beyond what its value says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LiteralForm {
    /// As the value is: numbers, dates, bits.
    Plain,
    /// Bytes of this character set.
    Characters {
        charset: String,
    },
    /// Bytes; BINARY(n) is padded with zeros, which the binlog leaves out.
    Bytes {
        padded_to: Option<usize>,
    },
    /// A document for a column of the server's JSON type.
    Json,
    /// MariaDB's UUID: 16 bytes in text order, of which trailing zeros are left out.
    Uuid,
    /// 16 and 4 bytes of an address, of which trailing zeros are left out.
    Inet6,
    Inet4,
}

/// Appends the literal of a value.
pub fn append(out: &mut Vec<u8>, form: &LiteralForm, value: &Value<'_>) -> Result<(), ValueError> {
    match value {
        Value::Null | Value::Skipped => out.extend_from_slice(b"NULL"),
        Value::Int(_) | Value::UInt(_) | Value::Decimal(_) | Value::Enum(_) | Value::Set(_) => value.write_text(out)?,
        Value::Bit { value, .. } => Value::UInt(*value).write_text(out)?,
        // A double holds every float exactly; six digits, which the server prints, do not.
        Value::Float(value) => double(out, f64::from(*value))?,
        Value::Double(value) => double(out, *value)?,
        Value::Year(_) | Value::Date(_) | Value::Time(_) | Value::DateTime(_) | Value::Timestamp(_) => {
            out.push(b'\'');
            value.write_text(out)?;
            out.push(b'\'');
        }
        Value::Json(_) => {
            let mut text = Vec::new();
            value.write_text(&mut text)?;
            out.extend_from_slice(b"_utf8mb4");
            append_string(out, &text);
        }
        Value::Bytes(bytes) => bytes_literal(out, form, bytes),
    }
    Ok(())
}

fn double(out: &mut Vec<u8>, value: f64) -> Result<(), ValueError> {
    let start = out.len();
    Value::Double(value).write_text(out)?;
    if !out.get(start..).unwrap_or_default().contains(&b'e') {
        out.extend_from_slice(b"e0");
    }
    Ok(())
}

fn bytes_literal(out: &mut Vec<u8>, form: &LiteralForm, bytes: &[u8]) {
    match form {
        LiteralForm::Characters { charset } => {
            out.push(b'_');
            out.extend_from_slice(charset.as_bytes());
            append_string(out, bytes);
        }
        LiteralForm::Json => {
            out.extend_from_slice(b"_utf8mb4");
            append_string(out, bytes);
        }
        LiteralForm::Plain | LiteralForm::Bytes { padded_to: None } => {
            out.extend_from_slice(b"_binary");
            append_string(out, bytes);
        }
        LiteralForm::Bytes { padded_to: Some(length) } => {
            out.extend_from_slice(b"_binary");
            append_string(out, &padded(bytes, *length));
        }
        LiteralForm::Uuid => {
            let text = padded(bytes, 16).chunks(1).fold(String::new(), |mut text, byte| {
                if matches!(text.len(), 8 | 13 | 18 | 23) {
                    text.push('-');
                }
                byte.iter().for_each(|byte| text.push_str(&format!("{byte:02x}")));
                text
            });
            append_string(out, text.as_bytes());
        }
        LiteralForm::Inet6 => {
            let octets: [u8; 16] =
                padded(bytes, 16).get(..16).and_then(|bytes| bytes.try_into().ok()).unwrap_or_default();
            append_string(out, std::net::Ipv6Addr::from(octets).to_string().as_bytes());
        }
        LiteralForm::Inet4 => {
            let octets: [u8; 4] = padded(bytes, 4).get(..4).and_then(|bytes| bytes.try_into().ok()).unwrap_or_default();
            append_string(out, std::net::Ipv4Addr::from(octets).to_string().as_bytes());
        }
    }
}

fn padded(bytes: &[u8], length: usize) -> Cow<'_, [u8]> {
    if bytes.len() >= length {
        return Cow::Borrowed(bytes);
    }
    let mut full = bytes.to_vec();
    full.resize(length, 0);
    Cow::Owned(full)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn literal(form: &LiteralForm, value: &Value<'_>) -> String {
        let mut out = Vec::new();
        append(&mut out, form, value).expect("a literal");
        String::from_utf8_lossy(&out).into_owned()
    }

    fn bytes(form: LiteralForm, bytes: &[u8]) -> String {
        literal(&form, &Value::Bytes(bytes.into()))
    }

    #[test]
    fn numbers_keep_every_digit() {
        let plain = |value| literal(&LiteralForm::Plain, &value);
        assert_eq!(plain(Value::UInt(u64::MAX)), "18446744073709551615");
        assert_eq!(plain(Value::Float(0.1)), "0.10000000149011612e0");
        assert_eq!(plain(Value::Double(-2.5e300)), "-2.5e300");
        assert_eq!(plain(Value::Bit { value: 5, bits: 4 }), "5");
        assert_eq!(plain(Value::Enum(0)), "0");
        assert_eq!(plain(Value::Year(0)), "'0000'");
        assert_eq!(plain(Value::Null), "NULL");
    }

    #[test]
    fn bytes_become_what_their_column_is() {
        assert_eq!(bytes(LiteralForm::Characters { charset: "gbk".into() }, b"a'b"), "_gbk'a\\'b'");
        assert_eq!(bytes(LiteralForm::Bytes { padded_to: Some(4) }, b"a"), "_binary'a\\0\\0\\0'");
        assert_eq!(bytes(LiteralForm::Bytes { padded_to: None }, b"a"), "_binary'a'");
        assert_eq!(bytes(LiteralForm::Inet6, b""), "'::'");
        assert_eq!(bytes(LiteralForm::Inet6, &[0x20, 1, 0x0d, 0xb8]), "'2001:db8::'");
        assert_eq!(bytes(LiteralForm::Inet4, &[10]), "'10.0.0.0'");
        let uuid = [0x12, 0x3e, 0x45, 0x67, 0xe8, 0x9b, 0x12, 0xd3, 0xa4, 0x56, 0x42, 0x66, 0x55, 0x44];
        assert_eq!(bytes(LiteralForm::Uuid, &uuid), "'123e4567-e89b-12d3-a456-426655440000'");
    }
}
