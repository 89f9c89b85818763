//! MySQL's binary form of a set: in `COM_BINLOG_DUMP_GTID` and in the Previous_gtids event.
//!
//! Eight bytes of count, then for each source its UUID, the number of intervals, and each as first and
//! one-past-last, all little endian. A set with a tag anywhere uses the tagged form of MySQL 8.3: the count stands
//! in the middle six bytes between two bytes of value 1, and each UUID is followed by its tag. Servers before 8.3
//! refuse that form, so it is used only when needed.

use uuid::Uuid;

use super::intervals::{Interval, NUMBER_MAX};
use super::mysql::{GtidTag, MysqlGtidSet, MysqlGtidSource};

const FORMAT_UNTAGGED: u64 = 0;
const FORMAT_TAGGED: u64 = 1;
const COUNT_MASK: u64 = 0x0000_FFFF_FFFF_FFFF;

/// Why bytes are no set. The offset counts from their beginning.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a binary GTID set is malformed at byte {offset}: expected {expected}")]
pub struct GtidSetBytesError {
    pub offset: usize,
    pub expected: &'static str,
}

impl MysqlGtidSet {
    /// The binary form, as the server reads it.
    pub fn encode(&self) -> Vec<u8> {
        let tagged = self.iter().any(|(source, _)| source.tag.is_some());
        let count = self.iter().len() as u64;
        let head = if tagged { FORMAT_TAGGED << 56 | (count & COUNT_MASK) << 8 | FORMAT_TAGGED } else { count };
        let mut bytes = head.to_le_bytes().to_vec();
        for (source, numbers) in self.iter() {
            bytes.extend_from_slice(source.uuid.as_bytes());
            if tagged {
                let tag = source.tag.as_ref().map_or("", GtidTag::as_str);
                // The server's own variable-length integer: up to 63 it is one byte, shifted by one.
                bytes.push((tag.len() as u8) << 1);
                bytes.extend_from_slice(tag.as_bytes());
            }
            bytes.extend_from_slice(&(numbers.iter().len() as u64).to_le_bytes());
            for range in numbers.iter() {
                bytes.extend_from_slice(&range.first.to_le_bytes());
                bytes.extend_from_slice(&range.last.saturating_add(1).to_le_bytes());
            }
        }
        bytes
    }

    /// Reads the binary form; all bytes must be used.
    pub fn decode(bytes: &[u8]) -> Result<Self, GtidSetBytesError> {
        let mut reader = Reader { rest: bytes, whole: bytes.len() };
        let head = reader.number("the number of sources")?;
        let (tagged, count) = match head >> 56 {
            FORMAT_UNTAGGED => (false, head),
            FORMAT_TAGGED => (true, head >> 8 & COUNT_MASK),
            _ => return Err(reader.expected("a known format of the set")),
        };
        let mut set = Self::default();
        for _ in 0..count {
            let uuid = Uuid::from_bytes(reader.array("a UUID")?);
            let tag = if tagged { reader.tag()? } else { None };
            let source = MysqlGtidSource { uuid, tag };
            let intervals = reader.number("the number of intervals")?;
            for _ in 0..intervals {
                let first = reader.number("the first number of an interval")?;
                let end = reader.number("the end of an interval")?;
                if first == 0 || end <= first || end > NUMBER_MAX + 1 {
                    return Err(reader.expected("an interval in order"));
                }
                set.add_interval(source.clone(), Interval { first, last: end - 1 });
            }
        }
        if reader.rest.is_empty() { Ok(set) } else { Err(reader.expected("the end of the set")) }
    }
}

struct Reader<'a> {
    rest: &'a [u8],
    whole: usize,
}

impl<'a> Reader<'a> {
    fn expected(&self, expected: &'static str) -> GtidSetBytesError {
        GtidSetBytesError { offset: self.whole - self.rest.len(), expected }
    }

    fn array<const N: usize>(&mut self, expected: &'static str) -> Result<[u8; N], GtidSetBytesError> {
        let (taken, rest) = self.rest.split_first_chunk::<N>().ok_or_else(|| self.expected(expected))?;
        self.rest = rest;
        Ok(*taken)
    }

    fn number(&mut self, expected: &'static str) -> Result<u64, GtidSetBytesError> {
        self.array(expected).map(u64::from_le_bytes)
    }

    fn tag(&mut self) -> Result<Option<GtidTag>, GtidSetBytesError> {
        let [length] = self.array("the length of a tag")?;
        if length == 0 {
            return Ok(None);
        }
        let (text, rest): (&'a [u8], &'a [u8]) = Some(usize::from(length >> 1))
            .filter(|_| length & 1 == 0)
            .and_then(|length| self.rest.split_at_checked(length))
            .ok_or_else(|| self.expected("a tag"))?;
        let tag = str::from_utf8(text).ok().and_then(|text| text.parse().ok());
        let tag = tag.ok_or_else(|| self.expected("a tag"))?;
        self.rest = rest;
        Ok(Some(tag))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::mysql::tests::any_set;
    use super::*;

    #[test]
    fn an_untagged_set_has_the_old_form() {
        let set: MysqlGtidSet = "00000000-0000-0000-0000-0000000000ff:1-3:9".parse().unwrap();
        let mut expected = vec![1, 0, 0, 0, 0, 0, 0, 0];
        expected.extend([0; 15]);
        expected.push(0xff);
        for number in [2u64, 1, 4, 9, 10] {
            expected.extend(number.to_le_bytes());
        }
        assert_eq!(set.encode(), expected);
        assert_eq!(MysqlGtidSet::default().encode(), [0; 8]);
    }

    #[test]
    fn a_tag_anywhere_gives_every_source_a_tag_field() {
        let set: MysqlGtidSet = "00000000-0000-0000-0000-0000000000ff:1:ab:2".parse().unwrap();
        let mut expected = vec![1, 2, 0, 0, 0, 0, 0, 1];
        for (tag, number) in [(&[0u8][..], 1u64), (&[4, b'a', b'b'], 2)] {
            expected.extend([0; 15]);
            expected.push(0xff);
            expected.extend(tag);
            for number in [1, number, number + 1] {
                expected.extend(number.to_le_bytes());
            }
        }
        assert_eq!(set.encode(), expected);
        assert_eq!(MysqlGtidSet::decode(&expected).unwrap(), set);
    }

    proptest! {
        #[test]
        fn bytes_read_back_as_the_same_set(set in any_set()) {
            prop_assert_eq!(MysqlGtidSet::decode(&set.encode()).unwrap(), set);
        }

        #[test]
        fn any_bytes_are_read_or_refused(set in any_set(), cut in 0usize..300, at in 0usize..300, flip in any::<u8>()) {
            let mut bytes = set.encode();
            bytes.truncate(cut);
            if let Some(byte) = bytes.get_mut(at) {
                *byte ^= flip;
            }
            let _ = MysqlGtidSet::decode(&bytes);
        }
    }
}
