//! Reads little-endian fields from the bytes of one event, and says where and what when they are not there.

use super::{BinlogError, EventType};

/// A place in an event. Every read moves it on or fails; it never passes the end.
#[derive(Debug, Clone)]
pub(super) struct Cursor<'a> {
    rest: &'a [u8],
    /// The offset of the end of `rest` in the event.
    end: usize,
    event: EventType,
}

macro_rules! fixed_width {
    ($($name:ident -> $type:ty),+) => {$(
        pub fn $name(&mut self, expected: &'static str) -> Result<$type, BinlogError> {
            self.array(expected).map(<$type>::from_le_bytes)
        }
    )+};
}

impl<'a> Cursor<'a> {
    /// `bytes` begin at `offset` of an event.
    pub fn new(event: EventType, bytes: &'a [u8], offset: usize) -> Self {
        Self { rest: bytes, end: offset + bytes.len(), event }
    }

    pub fn event(&self) -> EventType {
        self.event
    }

    pub fn offset(&self) -> usize {
        self.end - self.rest.len()
    }

    pub fn remaining(&self) -> usize {
        self.rest.len()
    }

    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// An error at this place.
    #[cold]
    pub fn malformed(&self, expected: &'static str) -> BinlogError {
        BinlogError::Malformed { event: self.event, offset: self.offset(), expected }
    }

    pub fn array<const N: usize>(&mut self, expected: &'static str) -> Result<[u8; N], BinlogError> {
        let (taken, rest) = self.rest.split_first_chunk::<N>().ok_or_else(|| self.malformed(expected))?;
        self.rest = rest;
        Ok(*taken)
    }

    pub fn bytes(&mut self, count: usize, expected: &'static str) -> Result<&'a [u8], BinlogError> {
        let (taken, rest) = self.rest.split_at_checked(count).ok_or_else(|| self.malformed(expected))?;
        self.rest = rest;
        Ok(taken)
    }

    /// All that is left.
    pub fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.rest)
    }

    /// A cursor over the next `count` bytes, which this one steps over.
    pub fn part(&mut self, count: usize, expected: &'static str) -> Result<Cursor<'a>, BinlogError> {
        let offset = self.offset();
        Ok(Cursor::new(self.event, self.bytes(count, expected)?, offset))
    }

    fixed_width!(u8 -> u8, u16 -> u16, u32 -> u32, u64 -> u64);

    /// An unsigned number of `width` bytes, at most 8.
    pub fn uint(&mut self, width: usize, expected: &'static str) -> Result<u64, BinlogError> {
        Ok(le_uint(self.bytes(width, expected)?))
    }

    /// The protocol's length-encoded integer.
    pub fn lenenc(&mut self, expected: &'static str) -> Result<u64, BinlogError> {
        match self.u8(expected)? {
            value @ 0..=250 => Ok(u64::from(value)),
            252 => self.uint(2, expected),
            253 => self.uint(3, expected),
            254 => self.uint(8, expected),
            251 | 255 => Err(self.malformed(expected)),
        }
    }

    /// A length-encoded integer that counts things in memory.
    pub fn length(&mut self, expected: &'static str) -> Result<usize, BinlogError> {
        let value = self.lenenc(expected)?;
        usize::try_from(value).map_err(|_| self.malformed(expected))
    }

    /// Bytes after their length-encoded length.
    pub fn lenenc_bytes(&mut self, expected: &'static str) -> Result<&'a [u8], BinlogError> {
        let length = self.length(expected)?;
        self.bytes(length, expected)
    }

    /// Bytes after a one-byte length.
    pub fn short_bytes(&mut self, expected: &'static str) -> Result<&'a [u8], BinlogError> {
        let length = self.u8(expected)?;
        self.bytes(usize::from(length), expected)
    }

    /// A text in UTF-8 of `count` bytes.
    pub fn text(&mut self, count: usize, expected: &'static str) -> Result<&'a str, BinlogError> {
        let at = self.clone();
        str::from_utf8(self.bytes(count, expected)?).map_err(|_| at.malformed(expected))
    }

    /// All that is left, as a text in UTF-8.
    pub fn rest_text(&mut self, expected: &'static str) -> Result<&'a str, BinlogError> {
        self.text(self.remaining(), expected)
    }
}

/// A little-endian number of at most 8 bytes; of more, the first 8.
#[inline]
pub(super) fn le_uint(bytes: &[u8]) -> u64 {
    bytes.iter().take(8).rev().fold(0, |value, byte| value << 8 | u64::from(*byte))
}

/// A big-endian number of at most 8 bytes; of more, the last 8.
#[inline]
pub(super) fn be_uint(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |value, byte| value << 8 | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cursor(bytes: &[u8]) -> Cursor<'_> {
        Cursor::new(EventType::QUERY, bytes, 19)
    }

    #[test]
    fn length_encoded_numbers_have_four_widths() {
        let bytes = [250, 252, 0xfb, 0, 253, 1, 2, 3, 254, 1, 0, 0, 0, 0, 0, 0, 0x80];
        let mut cursor = cursor(&bytes);
        let values: Vec<u64> = std::iter::from_fn(|| cursor.lenenc("a number").ok()).collect();
        assert_eq!(values, [250, 251, 0x03_02_01, 0x8000_0000_0000_0001]);
        assert!(cursor.is_empty());
    }

    #[test]
    fn a_missing_field_is_named_with_its_place() {
        let mut cursor = cursor(&[1, 2, 3]);
        cursor.u16("a flag").unwrap();
        let error = cursor.u32("the table id").unwrap_err();
        assert_eq!(error.to_string(), "QUERY event is malformed at byte 21: expected the table id");
        assert_eq!(cursor.remaining(), 1, "a failed read moves nothing");
        assert!(super::Cursor::new(EventType::QUERY, &[251], 0).lenenc("a number").is_err());
    }
}
