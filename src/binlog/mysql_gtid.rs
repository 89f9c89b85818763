//! MySQL's GTID events: the beginning of every transaction.
//!
//! Three kinds: with a GTID, without one (anonymous), and since 8.3 one for tagged GTIDs, which is written in
//! MySQL's own serialization format: numbers of one to nine bytes whose length stands in the low bits of the first.

use uuid::Uuid;

use super::cursor::{Cursor, le_uint};
use super::{BinlogError, EventType};
use crate::model::gtid::{GtidTag, MysqlGtid, NUMBER_MAX};

/// The beginning of a transaction, with what the server knows of it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MysqlGtidEvent {
    /// None: the source has GTIDs off.
    pub gtid: Option<MysqlGtid>,
    /// The transaction may hold statements to be executed, not only rows.
    pub may_have_statements: bool,
    /// Transactions between this and `sequence_number` did not conflict; numbers begin anew in each file.
    pub last_committed: i64,
    pub sequence_number: i64,
    /// Microseconds since the Unix epoch, at the server that is read and where the transaction began.
    pub immediate_commit_us: Option<u64>,
    pub original_commit_us: Option<u64>,
    /// Bytes of the whole transaction in the file, with this event.
    pub transaction_length: Option<u64>,
    /// Versions of the same two servers, as 80400.
    pub immediate_server_version: Option<u32>,
    pub original_server_version: Option<u32>,
}

const FLAG_MAY_HAVE_STATEMENTS: u8 = 1;
const LOGICAL_CLOCK: u8 = 2;

impl MysqlGtidEvent {
    /// The kinds with fixed fields, of which older servers write fewer.
    pub(super) fn parse(cursor: &mut Cursor<'_>) -> Result<Self, BinlogError> {
        let flags = cursor.u8("the flags")?;
        let uuid = Uuid::from_bytes(cursor.array("the server's UUID")?);
        let at = cursor.clone();
        let number = cursor.u64("the transaction's number")?;
        let gtid = if cursor.event() == EventType::ANONYMOUS_GTID {
            None
        } else if (1..=NUMBER_MAX).contains(&number) {
            Some(MysqlGtid::new(uuid, None, number))
        } else {
            return Err(at.malformed("a transaction's number"));
        };
        let mut event = Self { gtid, may_have_statements: flags & FLAG_MAY_HAVE_STATEMENTS != 0, ..Self::default() };
        event.parse_optional(cursor)?;
        Ok(event)
    }

    /// Each group of fields came with a version; an event ends where its server's knowledge ended.
    fn parse_optional(&mut self, cursor: &mut Cursor<'_>) -> Result<(), BinlogError> {
        const SECOND_FOLLOWS_TIME: u64 = 1 << 55;
        const SECOND_FOLLOWS_VERSION: u32 = 1 << 31;
        if cursor.is_empty() || cursor.u8("the logical clock's kind")? != LOGICAL_CLOCK {
            return Ok(());
        }
        self.last_committed = i64::from_le_bytes(cursor.array("the last committed number")?);
        self.sequence_number = i64::from_le_bytes(cursor.array("the sequence number")?);
        if cursor.remaining() < 7 {
            return Ok(());
        }
        let time = cursor.uint(7, "the commit time")?;
        self.immediate_commit_us = Some(time & !SECOND_FOLLOWS_TIME);
        self.original_commit_us = self.immediate_commit_us;
        if time & SECOND_FOLLOWS_TIME != 0 {
            self.original_commit_us = Some(cursor.uint(7, "the original commit time")?);
        }
        if cursor.is_empty() {
            return Ok(());
        }
        self.transaction_length = Some(cursor.lenenc("the transaction's length")?);
        if cursor.remaining() < 4 {
            return Ok(());
        }
        let version = cursor.u32("the server's version")?;
        self.immediate_server_version = Some(version & !SECOND_FOLLOWS_VERSION);
        self.original_server_version = self.immediate_server_version;
        if version & SECOND_FOLLOWS_VERSION != 0 {
            self.original_server_version = Some(cursor.u32("the original server's version")?);
        }
        Ok(()) // a ticket of group replication may follow
    }

    /// The kind with tags.
    pub(super) fn parse_tagged(cursor: &mut Cursor<'_>) -> Result<Self, BinlogError> {
        const FIELDS: u64 = 12;
        let version = unsigned(cursor, "the serialization version")?;
        if version != 1 {
            return Err(BinlogError::FieldUnknown { event: cursor.event(), field: version });
        }
        // The size counts from the version on; fields end with the event either way.
        let _size = unsigned(cursor, "the size")?;
        let needed = unsigned(cursor, "the last field that must be known")?;
        if needed > FIELDS {
            return Err(BinlogError::FieldUnknown { event: cursor.event(), field: needed - 1 });
        }
        let mut event = Self::default();
        let (mut uuid, mut tag, mut number) = (None, None, None);
        while !cursor.is_empty() {
            match unsigned(cursor, "a field's number")? {
                0 => event.may_have_statements = byte(cursor)? & FLAG_MAY_HAVE_STATEMENTS != 0,
                1 => {
                    let mut bytes = [0; 16];
                    for slot in &mut bytes {
                        *slot = byte(cursor)?;
                    }
                    uuid = Some(Uuid::from_bytes(bytes));
                }
                2 => number = u64::try_from(signed(cursor, "the transaction's number")?).ok(),
                3 => {
                    let length = byte(cursor)?;
                    let at = cursor.clone();
                    let text = cursor.text(usize::from(length), "the tag")?;
                    let parsed = text.parse::<GtidTag>();
                    tag = if text.is_empty() { None } else { Some(parsed.map_err(|_| at.malformed("a tag"))?) };
                }
                4 => event.last_committed = signed(cursor, "the last committed number")?,
                5 => event.sequence_number = signed(cursor, "the sequence number")?,
                6 => event.immediate_commit_us = Some(unsigned(cursor, "the commit time")?),
                7 => event.original_commit_us = Some(unsigned(cursor, "the original commit time")?),
                8 => event.transaction_length = Some(unsigned(cursor, "the transaction's length")?),
                9 => event.immediate_server_version = Some(version_number(cursor)?),
                10 => event.original_server_version = Some(version_number(cursor)?),
                _ => break, // the ticket of group replication, and what later versions add as ignorable
            }
        }
        event.original_commit_us = event.original_commit_us.or(event.immediate_commit_us);
        event.original_server_version = event.original_server_version.or(event.immediate_server_version);
        let number = number.filter(|number| (1..=NUMBER_MAX).contains(number));
        let number = number.ok_or_else(|| cursor.malformed("a transaction's number"))?;
        let uuid = uuid.ok_or_else(|| cursor.malformed("the server's UUID"))?;
        event.gtid = Some(MysqlGtid::new(uuid, tag, number));
        Ok(event)
    }
}

/// A number of the serialization format: as many ones in the low bits of the first byte as bytes follow.
fn unsigned(cursor: &mut Cursor<'_>, expected: &'static str) -> Result<u64, BinlogError> {
    let first = cursor.u8(expected)?;
    let more = first.trailing_ones();
    let following = le_uint(cursor.bytes(more as usize, expected)?);
    Ok(match more {
        8 => following, // no bit is left in the first byte
        7 => following,
        _ => u64::from(first >> (more + 1)) | following << (7 - more),
    })
}

/// The sign stands in the lowest bit, and the numbers below zero count down from -1.
fn signed(cursor: &mut Cursor<'_>, expected: &'static str) -> Result<i64, BinlogError> {
    let value = unsigned(cursor, expected)?;
    Ok((value >> 1) as i64 ^ -((value & 1) as i64))
}

fn byte(cursor: &mut Cursor<'_>) -> Result<u8, BinlogError> {
    let at = cursor.clone();
    u8::try_from(unsigned(cursor, "a byte")?).map_err(|_| at.malformed("a byte"))
}

fn version_number(cursor: &mut Cursor<'_>) -> Result<u32, BinlogError> {
    let at = cursor.clone();
    u32::try_from(unsigned(cursor, "a version")?).map_err(|_| at.malformed("a version"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> u64 {
        unsigned(&mut Cursor::new(EventType::GTID_TAGGED, bytes, 19), "a number").unwrap()
    }

    #[test]
    fn serialized_numbers_carry_their_length_in_the_first_byte() {
        assert_eq!(read(&[0b0000_0010]), 1);
        assert_eq!(read(&[0b1111_1110]), 127);
        assert_eq!(read(&[0b1111_1011, 0xff, 0x07]), 65_535);
        assert_eq!(read(&[0x7f, 1, 0, 0, 0, 0, 0, 0x80]), 0x80_0000_0000_0001);
        assert_eq!(read(&[0xff, 1, 0, 0, 0, 0, 0, 0, 0x80]), 0x8000_0000_0000_0001);
    }

    #[test]
    fn serialized_signed_numbers_keep_small_magnitudes_short() {
        let read = |bytes: &[u8]| signed(&mut Cursor::new(EventType::GTID_TAGGED, bytes, 19), "a number").unwrap();
        assert_eq!(read(&[0b1111_0011, 0xff, 0x0f]), 65_535);
        assert_eq!(read(&[0b1111_1011, 0xff, 0x0f]), -65_536);
        assert_eq!(read(&[0b0000_0010]), -1);
    }

    #[test]
    fn an_old_event_ends_after_the_number() {
        let mut body = vec![1];
        body.extend([7; 16]);
        body.extend(5u64.to_le_bytes());
        let event = MysqlGtidEvent::parse(&mut Cursor::new(EventType::GTID, &body, 19)).unwrap();
        assert_eq!(event.gtid.unwrap().to_string(), "07070707-0707-0707-0707-070707070707:5");
        assert!(event.may_have_statements && event.immediate_commit_us.is_none());
        let anonymous = MysqlGtidEvent::parse(&mut Cursor::new(EventType::ANONYMOUS_GTID, &body, 19)).unwrap();
        assert_eq!(anonymous.gtid, None);
    }

    #[test]
    fn a_field_that_must_be_known_stops_the_reading() {
        let error = MysqlGtidEvent::parse_tagged(&mut Cursor::new(EventType::GTID_TAGGED, &[2, 8, 26], 19));
        assert!(matches!(error, Err(BinlogError::FieldUnknown { field: 12, .. })));
    }
}
