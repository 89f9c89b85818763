//! MySQL's binary JSON as text, exactly as MySQL prints it: keys in stored order, one blank after `,` and `:`.
//!
//! A document is a tree of offsets into its own bytes. They come from outside, so depth is limited as in MySQL,
//! and every byte is printed at most once: offsets that point to the same place again and again could make a huge
//! text from a small document. The surprise: what JSON has no type for (dates, bytes, bits) prints as a string, and
//! decimals print as plain numbers, so the text of such a document reads back as another one: see [`JsonFidelity`].

use super::ValueError;
use super::cursor::le_uint;
use super::value::temporal::{DateTime, Time};
use super::value::{Decimal, decimal, float, write_int, write_uint};

/// A JSON document in MySQL's binary form, not checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JsonBinary<'a>(pub &'a [u8]);

/// Whether a text reads back as an equal document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JsonFidelity {
    Exact,
    /// Some value has an SQL type that JSON does not have (DATE, TIME, DATETIME, DECIMAL, bytes, …): it would read
    /// back as a string or a double.
    TypesLost,
}

/// As in MySQL.
const DEPTH_MAX: usize = 100;

const SMALL_OBJECT: u8 = 0x00;
const LARGE_OBJECT: u8 = 0x01;
const SMALL_ARRAY: u8 = 0x02;
const LARGE_ARRAY: u8 = 0x03;
const LITERAL: u8 = 0x04;
const INT16: u8 = 0x05;
const UINT16: u8 = 0x06;
const INT32: u8 = 0x07;
const UINT32: u8 = 0x08;
const INT64: u8 = 0x09;
const UINT64: u8 = 0x0a;
const DOUBLE: u8 = 0x0b;
const STRING: u8 = 0x0c;
const OPAQUE: u8 = 0x0f;

impl JsonBinary<'_> {
    /// Appends the document's text. An empty document is `null`, as MySQL reads it: non-strict sessions can store
    /// such. After an error (virtual columns of old servers may be cut short) `out` is as it was before.
    pub fn write_text(&self, out: &mut Vec<u8>) -> Result<JsonFidelity, ValueError> {
        let Some((kind, data)) = self.0.split_first() else {
            out.extend_from_slice(b"null");
            return Ok(JsonFidelity::Exact);
        };
        let start = out.len();
        let fidelity = JsonFidelity::Exact;
        let mut writer = Writer { document: self.0, budget: self.0.len(), fidelity, out };
        let written = writer.write(*kind, data, 0);
        let fidelity = writer.fidelity;
        if written.is_err() {
            out.truncate(start);
        }
        written.map(|()| fidelity)
    }
}

struct Writer<'d, 'o> {
    document: &'d [u8],
    /// Bytes of the document not printed yet.
    budget: usize,
    fidelity: JsonFidelity,
    out: &'o mut Vec<u8>,
}

/// How wide offsets and counts of a container are, and what stands in its entries.
#[derive(Clone, Copy)]
struct Layout {
    word: usize,
    has_keys: bool,
}

impl<'d> Writer<'d, '_> {
    /// An error at the beginning of `data`, which must be a part of the document.
    fn malformed(&self, data: &[u8], expected: &'static str) -> ValueError {
        let offset = (data.as_ptr() as usize).saturating_sub(self.document.as_ptr() as usize);
        ValueError { offset: offset.min(self.document.len()), expected }
    }

    fn spend(&mut self, bytes: usize, data: &[u8]) -> Result<(), ValueError> {
        let left = self.budget.checked_sub(bytes);
        self.budget = left.ok_or_else(|| self.malformed(data, "parts that do not overlap"))?;
        Ok(())
    }

    fn take(&mut self, data: &'d [u8], count: usize, expected: &'static str) -> Result<&'d [u8], ValueError> {
        self.spend(count, data)?;
        data.get(..count).ok_or_else(|| self.malformed(data, expected))
    }

    fn write(&mut self, kind: u8, data: &'d [u8], depth: usize) -> Result<(), ValueError> {
        match kind {
            SMALL_OBJECT => self.write_container(data, Layout { word: 2, has_keys: true }, depth),
            LARGE_OBJECT => self.write_container(data, Layout { word: 4, has_keys: true }, depth),
            SMALL_ARRAY => self.write_container(data, Layout { word: 2, has_keys: false }, depth),
            LARGE_ARRAY => self.write_container(data, Layout { word: 4, has_keys: false }, depth),
            _ => self.write_scalar(kind, data),
        }
    }

    fn write_scalar(&mut self, kind: u8, data: &'d [u8]) -> Result<(), ValueError> {
        match kind {
            LITERAL => {
                let text: &[u8] = match self.take(data, 1, "a literal")? {
                    [0] => b"null",
                    [1] => b"true",
                    [2] => b"false",
                    _ => return Err(self.malformed(data, "null, true or false")),
                };
                self.out.extend_from_slice(text);
            }
            INT16 => self.write_signed(data, 2)?,
            INT32 => self.write_signed(data, 4)?,
            INT64 => self.write_signed(data, 8)?,
            UINT16 => self.write_unsigned(data, 2)?,
            UINT32 => self.write_unsigned(data, 4)?,
            UINT64 => self.write_unsigned(data, 8)?,
            DOUBLE => {
                let bits = le_uint(self.take(data, 8, "a double")?);
                let start = self.out.len();
                float::write_double(f64::from_bits(bits), self.out);
                // A double stays one when read back.
                if !self.out.iter().skip(start).any(|byte| matches!(byte, b'.' | b'e')) {
                    self.out.extend_from_slice(b".0");
                }
            }
            STRING => {
                let (length, rest) = self.read_length(data)?;
                let text = self.take(rest, length, "a string")?;
                self.write_quoted(text);
            }
            OPAQUE => self.write_opaque(data)?,
            _ => return Err(self.malformed(data, "a known type")),
        }
        Ok(())
    }

    fn write_signed(&mut self, data: &'d [u8], width: usize) -> Result<(), ValueError> {
        let value = le_uint(self.take(data, width, "a number")?);
        let unused = 64 - 8 * width as u32;
        write_int((value << unused) as i64 >> unused, self.out);
        Ok(())
    }

    fn write_unsigned(&mut self, data: &'d [u8], width: usize) -> Result<(), ValueError> {
        let value = le_uint(self.take(data, width, "a number")?);
        write_uint(value, self.out);
        Ok(())
    }

    /// Seven bits a byte, the lowest first, the high bit says that more follow.
    fn read_length(&mut self, data: &'d [u8]) -> Result<(usize, &'d [u8]), ValueError> {
        const BYTES_MAX: usize = 5;
        let mut length = 0u64;
        for (at, byte) in data.iter().take(BYTES_MAX).enumerate() {
            length |= u64::from(byte & 0x7f) << (7 * at);
            if byte & 0x80 == 0 {
                let rest = data.get(at + 1..).unwrap_or_default();
                let length = usize::try_from(length).map_err(|_| self.malformed(data, "a length"))?;
                return Ok((length, rest));
            }
        }
        Err(self.malformed(data, "a length"))
    }

    fn write_container(&mut self, data: &'d [u8], layout: Layout, depth: usize) -> Result<(), ValueError> {
        let Layout { word, has_keys } = layout;
        if depth >= DEPTH_MAX {
            return Err(self.malformed(data, "at most 100 levels"));
        }
        let head = self.take(data, 2 * word, "a container's head")?;
        let (count, size) = head.split_at_checked(word).unwrap_or_default();
        let (count, size) = (le_uint(count) as usize, le_uint(size) as usize);
        // All offsets count from here and stay inside.
        let data = data.get(..size).ok_or_else(|| self.malformed(data, "a container of its size"))?;
        let entries = data.get(2 * word..).unwrap_or_default();

        let key_size = if has_keys { word + 2 } else { 0 };
        let split = count.checked_mul(key_size).and_then(|size| entries.split_at_checked(size));
        let (keys, values) = split.ok_or_else(|| self.malformed(entries, "an entry for each key"))?;
        let values_size = count.checked_mul(1 + word).filter(|size| *size <= values.len());
        let values_size = values_size.ok_or_else(|| self.malformed(values, "an entry for each value"))?;
        self.spend(keys.len() + values_size, data)?;

        let mut keys = keys.chunks_exact(key_size.max(1));
        self.out.push(if has_keys { b'{' } else { b'[' });
        for (at, entry) in values.chunks_exact(1 + word).take(count).enumerate() {
            if at > 0 {
                self.out.extend_from_slice(b", ");
            }
            if let Some(key) = keys.next().filter(|_| has_keys) {
                let (offset, length) = key.split_at_checked(word).unwrap_or_default();
                let key = data.get(le_uint(offset) as usize..).unwrap_or_default();
                let key = self.take(key, le_uint(length) as usize, "a key")?;
                self.write_quoted(key);
                self.out.extend_from_slice(b": ");
            }
            self.write_entry(entry, data, word, depth)?;
        }
        self.out.push(if has_keys { b'}' } else { b']' });
        Ok(())
    }

    /// An entry holds small values itself, and of others the offset.
    fn write_entry(&mut self, entry: &'d [u8], data: &'d [u8], word: usize, depth: usize) -> Result<(), ValueError> {
        let Some((kind, content)) = entry.split_first() else {
            return Err(self.malformed(entry, "a value"));
        };
        let inline = match *kind {
            LITERAL | INT16 | UINT16 => true,
            INT32 | UINT32 => word == 4,
            _ => false,
        };
        if inline {
            self.budget += content.len(); // paid for with the entries
            return self.write_scalar(*kind, content);
        }
        let offset = le_uint(content) as usize;
        match data.get(offset..) {
            Some(value) if offset > 0 => self.write(*kind, value, depth + 1),
            _ => Err(self.malformed(content, "an offset inside the container")),
        }
    }

    /// A value of an SQL type that JSON does not have: the type's number, a length, and bytes.
    fn write_opaque(&mut self, data: &'d [u8]) -> Result<(), ValueError> {
        const NEWDECIMAL: u8 = 246;
        const DATE: u8 = 10;
        const TIME: u8 = 11;
        const DATETIME: u8 = 12;
        const TIMESTAMP: u8 = 7;
        let Some((sql_type, rest)) = data.split_first() else {
            return Err(self.malformed(data, "the type of an opaque value"));
        };
        self.fidelity = JsonFidelity::TypesLost;
        let (length, rest) = self.read_length(rest)?;
        let bytes = self.take(rest, length, "an opaque value")?;
        if *sql_type == NEWDECIMAL {
            let decimal = bytes.split_first_chunk::<2>().and_then(|([precision, scale], digits)| {
                let digits = digits.get(..usize::from(decimal::binary_size(*precision, *scale)?))?;
                Some(Decimal::new(*precision, *scale, digits))
            });
            let decimal = decimal.ok_or_else(|| self.malformed(rest, "a decimal"))?;
            return decimal.write_text(self.out).map_err(|_| self.malformed(rest, "a decimal"));
        }
        let memory = bytes.first_chunk::<8>().map(|bytes| i64::from_le_bytes(*bytes));
        let memory = memory.ok_or_else(|| self.malformed(rest, "eight bytes of date and time"));
        self.out.push(b'"');
        match *sql_type {
            DATE => DateTime::from_memory(memory?).date.write_text(self.out),
            TIME => Time::from_memory(memory?).write_text(self.out),
            DATETIME | TIMESTAMP => DateTime::from_memory(memory?).write_text(self.out),
            other => {
                self.out.extend_from_slice(b"base64:type");
                write_uint(u64::from(other), self.out);
                self.out.push(b':');
                self.write_base64(bytes);
            }
        }
        self.out.push(b'"');
        Ok(())
    }

    /// MySQL breaks base64 into lines of 76, and then escapes the line breaks.
    fn write_base64(&mut self, bytes: &[u8]) {
        use base64::Engine;
        const BYTES_A_LINE: usize = 57;
        for (at, line) in bytes.chunks(BYTES_A_LINE).enumerate() {
            if at > 0 {
                self.out.extend_from_slice(b"\\n");
            }
            let text = base64::engine::general_purpose::STANDARD.encode(line);
            self.out.extend_from_slice(text.as_bytes());
        }
    }

    fn write_quoted(&mut self, text: &[u8]) {
        self.out.push(b'"');
        let mut rest = text;
        while let Some(at) = rest.iter().position(|byte| matches!(byte, 0..=0x1f | b'"' | b'\\')) {
            let (plain, from) = rest.split_at_checked(at).unwrap_or_default();
            self.out.extend_from_slice(plain);
            let Some((special, after)) = from.split_first() else { break };
            rest = after;
            let short = match special {
                0x08 => b'b',
                b'\t' => b't',
                b'\n' => b'n',
                0x0c => b'f',
                b'\r' => b'r',
                b'"' | b'\\' => *special,
                _ => {
                    const HEX: &[u8; 16] = b"0123456789abcdef";
                    self.out.extend_from_slice(b"\\u00");
                    self.out.push(HEX.get(usize::from(special >> 4)).copied().unwrap_or(b'0'));
                    self.out.push(HEX.get(usize::from(special & 15)).copied().unwrap_or(b'0'));
                    continue;
                }
            };
            self.out.extend_from_slice(&[b'\\', short]);
        }
        self.out.extend_from_slice(rest);
        self.out.push(b'"');
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn text(document: &[u8]) -> Result<String, ValueError> {
        let mut out = Vec::new();
        JsonBinary(document).write_text(&mut out).map(|_| String::from_utf8(out).unwrap())
    }

    #[test]
    fn scalars_print_as_mysql_prints_them() {
        assert_eq!(text(&[]).unwrap(), "null");
        assert_eq!(text(&[4, 0]).unwrap(), "null");
        assert_eq!(text(&[5, 0xff, 0xff]).unwrap(), "-1");
        assert_eq!(text(&[10, 255, 255, 255, 255, 255, 255, 255, 255]).unwrap(), "18446744073709551615");
        let double = |value: f64| [&[11][..], &value.to_le_bytes()].concat();
        assert_eq!(text(&double(2.0)).unwrap(), "2.0");
        assert_eq!(text(&double(1e20)).unwrap(), "1e20");
        assert_eq!(text(&double(-0.0)).unwrap(), "-0.0");
        assert_eq!(text(b"\x0c\x0aa\"\\\x08\x0c\n\r\t\x01/").unwrap(), r#""a\"\\\b\f\n\r\t\u0001/""#);
        assert_eq!(text(&[15, 246, 4, 3, 2, 0x81, 0x0a]).unwrap(), "1.10");
        assert_eq!(text(&[15, 16, 1, 0x55]).unwrap(), "\"base64:type16:VQ==\"");
    }

    #[test]
    fn containers_print_keys_in_stored_order() {
        // {"a": 1, "bb": [true, "x"]}
        let array = [2, 0, 12, 0, 4, 1, 0, 12, 10, 0, 1, b'x'];
        let mut object = vec![0, 2, 0, 33, 0, 18, 0, 1, 0, 19, 0, 2, 0, 5, 1, 0, 2, 21, 0, b'a', b'b', b'b'];
        object.extend(array);
        assert_eq!(text(&object).unwrap(), r#"{"a": 1, "bb": [true, "x"]}"#);
        assert_eq!(text(&[0, 0, 0, 4, 0]).unwrap(), "{}");
        assert_eq!(text(&[3, 0, 0, 0, 0, 8, 0, 0, 0]).unwrap(), "[]");
    }

    #[test]
    fn dates_print_as_strings_with_six_digits() {
        let packed = |day: i64, clock: i64, micros: i64| ((day << 17 | clock) << 24 | micros).to_le_bytes();
        let day = ((2015 * 13 + 1) << 5) | 15;
        let clock = 23 << 12 | 24 << 6 | 25;
        let opaque = |sql_type: u8, bytes: [u8; 8]| [&[15, sql_type, 8][..], &bytes].concat();
        assert_eq!(text(&opaque(12, packed(day, clock, 12))).unwrap(), "\"2015-01-15 23:24:25.000012\"");
        assert_eq!(text(&opaque(7, packed(day, clock, 0))).unwrap(), "\"2015-01-15 23:24:25.000000\"");
        assert_eq!(text(&opaque(10, packed(day, 0, 0))).unwrap(), "\"2015-01-15\"");
        assert_eq!(text(&opaque(11, (-(clock << 24)).to_le_bytes())).unwrap(), "\"-23:24:25.000000\"");
    }

    #[test]
    fn a_text_that_reads_back_otherwise_is_told() {
        let fidelity = |document: &[u8]| JsonBinary(document).write_text(&mut Vec::new()).unwrap();
        assert_eq!(fidelity(&[2, 1, 0, 7, 0, 5, 1, 0]), JsonFidelity::Exact);
        let decimal_in_array = [2, 1, 0, 13, 0, 15, 7, 0, 246, 4, 3, 2, 0x81, 0x0a];
        assert_eq!(text(&decimal_in_array).unwrap(), "[1.10]");
        assert_eq!(fidelity(&decimal_in_array), JsonFidelity::TypesLost);
    }

    #[test]
    fn cut_documents_are_errors_and_leave_no_text() {
        let mut out = b"kept".to_vec();
        let error = JsonBinary(&[0, 1, 0, 20, 0, 11]).write_text(&mut out).unwrap_err();
        assert_eq!((out.as_slice(), error.expected), (&b"kept"[..], "a container of its size"));
        assert!(text(&[12, 5, b'a']).is_err());
        assert!(text(&[99]).is_err());
    }

    #[test]
    fn shared_parts_cannot_blow_a_document_up() {
        // Arrays of two, both entries pointing to the next array.
        let mut document = vec![2u8];
        for _ in 0..60 {
            document.extend([2, 0, 10, 0, 2, 10, 0, 2, 10, 0]);
        }
        // The sizes reach to the end, as a hostile writer would set them.
        for level in 0..60 {
            let size = (document.len() - 1 - level * 10) as u16;
            document[3 + level * 10..5 + level * 10].copy_from_slice(&size.to_le_bytes());
        }
        assert_eq!(text(&document).unwrap_err().expected, "parts that do not overlap");
    }

    #[test]
    fn depth_is_limited() {
        let mut document = vec![4, 0];
        for _ in 0..150 {
            let size = (document.len() - 1 + 7) as u16;
            let kind = document[0];
            let mut outer = vec![2, 1, 0, size as u8, (size >> 8) as u8, kind, 7, 0];
            outer.extend(&document[1..]);
            document = outer;
        }
        assert_eq!(text(&document).unwrap_err().expected, "at most 100 levels");
    }

    proptest! {
        #[test]
        fn any_bytes_print_or_fail(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let mut out = Vec::new();
            let _ = JsonBinary(&bytes).write_text(&mut out);
        }
    }
}
