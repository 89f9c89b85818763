//! Small events about the binlog itself and about how transactions end.

use std::fmt;
use std::str::FromStr;

use bytes::Bytes;

use super::BinlogError;
use super::cursor::Cursor;
use super::header::EventHeader;
use crate::model::Flavor;

/// The stream goes on in another file. The header's position of a real one belongs to the file it ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rotate {
    pub file: String,
    /// Where the next event stands in `file`.
    pub position: u64,
    /// Made up by the server to name the file it sends from; else it stands in the file before.
    pub artificial: bool,
}

impl Rotate {
    pub(super) fn parse(header: &EventHeader, cursor: &mut Cursor<'_>) -> Result<Self, BinlogError> {
        let position = cursor.u64("the position in the next file")?;
        let file = file_name(cursor)?;
        // Servers before MariaDB 10 and MySQL 5.6 set no flag; a time of 0 is as good.
        Ok(Self { file, position, artificial: header.artificial() || header.timestamp == 0 })
    }
}

/// The source is alive and has nothing to send. Tells how far it has passed over events that are not sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heartbeat {
    pub file: String,
    pub position: u64,
}

impl Heartbeat {
    /// Version 1: the position is that of the header. In files over 4 GiB MariaDB puts 0 there and eight bytes
    /// before the name; MySQL's wraps round, which is why it has a version 2.
    pub(super) fn parse_v1(flavor: Flavor, header: &EventHeader, cursor: &mut Cursor<'_>) -> Result<Self, BinlogError> {
        let position = match header.next_position {
            0 if flavor == Flavor::MariaDb => cursor.u64("the position")?,
            position => u64::from(position),
        };
        Ok(Self { file: file_name(cursor)?, position })
    }

    /// Version 2: tagged fields, unknown ones passed over.
    pub(super) fn parse_v2(cursor: &mut Cursor<'_>) -> Result<Self, BinlogError> {
        const FILE: u64 = 1;
        const POSITION: u64 = 2;
        let (mut file, mut position) = (None, None);
        while !cursor.is_empty() {
            match next_field(cursor)? {
                None => break,
                Some((FILE, mut value)) => file = Some(file_name(&mut value)?),
                Some((POSITION, mut value)) => position = Some(value.lenenc("the position")?),
                Some(_) => {}
            }
        }
        let file = file.ok_or_else(|| cursor.malformed("a file name"))?;
        Ok(Self { file, position: position.ok_or_else(|| cursor.malformed("a position"))? })
    }
}

/// The source has lost events; what follows is not all that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Incident {
    pub number: u16,
    pub message: String,
}

impl Incident {
    pub(super) fn parse(cursor: &mut Cursor<'_>) -> Result<Self, BinlogError> {
        let number = cursor.u16("the incident's number")?;
        let message = cursor.short_bytes("the incident's message")?;
        Ok(Self { number, message: String::from_utf8_lossy(message).into_owned() })
    }
}

/// The name of a distributed transaction. Prints as XA statements write it: `X'6774',X'62',1`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct XaId {
    pub format: u32,
    pub global: Bytes,
    pub branch: Bytes,
}

impl XaId {
    pub(super) fn read(
        cursor: &mut Cursor<'_>,
        body: &Bytes,
        format: u32,
        global_length: u32,
        branch_length: u32,
    ) -> Result<Self, BinlogError> {
        const PART_MAX: u32 = 64;
        if global_length > PART_MAX || branch_length > PART_MAX {
            return Err(cursor.malformed("parts of an XA id of at most 64 bytes"));
        }
        let global = body.slice_ref(cursor.bytes(global_length as usize, "the XA id's first part")?);
        let branch = body.slice_ref(cursor.bytes(branch_length as usize, "the XA id's second part")?);
        Ok(Self { format, global, branch })
    }
}

impl FromStr for XaId {
    type Err = ();

    /// Reads what [`Self`] prints, as both servers write it into their logs: `X'6774',X'62',1`.
    fn from_str(text: &str) -> Result<Self, ()> {
        let mut parts = text.split(',').map(str::trim);
        let mut part = || -> Option<Bytes> {
            let hex = parts.next()?.strip_prefix(['X', 'x'])?.strip_prefix('\'')?.strip_suffix('\'')?;
            let digits: Vec<u8> =
                hex.chars().map(|digit| digit.to_digit(16).map(|digit| digit as u8)).collect::<Option<_>>()?;
            let (pairs, []) = digits.as_chunks::<2>() else { return None };
            Some(pairs.iter().map(|[high, low]| high << 4 | low).collect())
        };
        let (global, branch) = (part().ok_or(())?, part().ok_or(())?);
        let format = parts.next().and_then(|format| format.parse().ok()).ok_or(())?;
        parts.next().is_none().then_some(Self { format, global, branch }).ok_or(())
    }
}

impl fmt::Display for XaId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "X'{:x}',X'{:x}',{}", self.global, self.branch, self.format)
    }
}

/// The end of the prepared part of a distributed transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct XaPrepare {
    /// The transaction was committed at once (`XA COMMIT … ONE PHASE`) and no other event follows.
    pub one_phase: bool,
    pub xid: XaId,
}

impl XaPrepare {
    pub(super) fn parse(cursor: &mut Cursor<'_>, body: &Bytes) -> Result<Self, BinlogError> {
        let one_phase = cursor.u8("the one-phase flag")? != 0;
        let format = cursor.u32("the XA id's format")?;
        let global_length = cursor.u32("the length of the XA id's first part")?;
        let branch_length = cursor.u32("the length of the XA id's second part")?;
        Ok(Self { one_phase, xid: XaId::read(cursor, body, format, global_length, branch_length)? })
    }
}

/// MariaDB: the oldest file that recovery after a crash needs. Nothing for a reader to do.
pub(super) fn parse_checkpoint(cursor: &mut Cursor<'_>) -> Result<String, BinlogError> {
    let length = cursor.u32("the length of a file name")?;
    cursor.text(length as usize, "a file name").map(str::to_owned)
}

/// The next of MySQL's tagged fields: a number, a length, and that much; None at the mark of their end.
fn next_field<'a>(cursor: &mut Cursor<'a>) -> Result<Option<(u64, Cursor<'a>)>, BinlogError> {
    const END: u64 = 0;
    let field = cursor.lenenc("a field's number")?;
    if field == END {
        return Ok(None);
    }
    let length = cursor.length("a field's length")?;
    Ok(Some((field, cursor.part(length, "a field")?)))
}

/// All that is left. The name ends before the first NUL, should there be one.
fn file_name(cursor: &mut Cursor<'_>) -> Result<String, BinlogError> {
    let at = cursor.clone();
    let name = cursor.rest_text("a file name")?;
    match name.split('\0').next() {
        Some(name) if !name.is_empty() => Ok(name.to_owned()),
        _ => Err(at.malformed("a file name")),
    }
}

/// MySQL: a transaction in one packed event; see [`super::payload`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PayloadHead {
    pub method: u64,
    pub packed_size: usize,
    /// What the event says; not to be trusted.
    pub unpacked_size: u64,
}

impl PayloadHead {
    /// Leaves the cursor at the first packed byte.
    pub(super) fn parse(cursor: &mut Cursor<'_>) -> Result<Self, BinlogError> {
        const PACKED_SIZE: u64 = 1;
        const METHOD: u64 = 2;
        const UNPACKED_SIZE: u64 = 3;
        let (mut method, mut packed_size, mut unpacked_size) = (None, None, 0);
        while let Some((field, mut value)) = next_field(cursor)? {
            match field {
                PACKED_SIZE => packed_size = Some(value.length("the packed size")?),
                METHOD => method = Some(value.lenenc("the packing method")?),
                UNPACKED_SIZE => unpacked_size = value.lenenc("the unpacked size")?,
                _ => {}
            }
        }
        let method = method.ok_or_else(|| cursor.malformed("the packing method"))?;
        let packed_size = packed_size.filter(|size| *size <= cursor.remaining());
        let packed_size = packed_size.ok_or_else(|| cursor.malformed("the packed size"))?;
        Ok(Self { method, packed_size, unpacked_size })
    }
}

#[cfg(test)]
mod tests {
    use super::super::EventType;
    use super::super::header::EventFlags;
    use super::*;

    fn header(event_type: EventType, next_position: u32) -> EventHeader {
        EventHeader { timestamp: 0, event_type, server_id: 1, event_size: 0, next_position, flags: EventFlags(0) }
    }

    #[test]
    fn a_heartbeat_past_four_gib_has_its_own_position() {
        let header = header(EventType::HEARTBEAT, 0);
        let body = b"\x05\0\0\0\x01\0\0\0m-bin.000001";
        let mut cursor = Cursor::new(EventType::HEARTBEAT, body, 19);
        let heartbeat = Heartbeat::parse_v1(Flavor::MariaDb, &header, &mut cursor).unwrap();
        assert_eq!(heartbeat, Heartbeat { file: "m-bin.000001".to_owned(), position: (1 << 32) + 5 });
    }

    #[test]
    fn a_second_version_heartbeat_passes_over_new_fields() {
        let body = b"\x01\x03b.1\x09\x02zz\x02\x09\xfe\x05\0\0\0\x01\0\0\0\0";
        let heartbeat = Heartbeat::parse_v2(&mut Cursor::new(EventType::HEARTBEAT_V2, body, 19)).unwrap();
        assert_eq!(heartbeat, Heartbeat { file: "b.1".to_owned(), position: (1 << 32) + 5 });
        assert!(Heartbeat::parse_v2(&mut Cursor::new(EventType::HEARTBEAT_V2, b"\x01\x03b.1", 19)).is_err());
    }

    #[test]
    fn xa_ids_print_as_statements_write_them() {
        let body = Bytes::from_static(b"\0\x01\0\0\0\x02\0\0\0\x01\0\0\0gtb");
        let prepare = XaPrepare::parse(&mut Cursor::new(EventType::XA_PREPARE, &body, 19), &body).unwrap();
        assert!(!prepare.one_phase);
        assert_eq!(prepare.xid.to_string(), "X'6774',X'62',1");
        assert_eq!("X'6774',X'62',1".parse(), Ok(prepare.xid.clone()));
        assert_eq!("x'6774', X'',4294967295".parse::<XaId>().unwrap().to_string(), "X'6774',X'',4294967295");
        for wrong in ["", "'gt','b',1", "X'6774',X'62'", "X'677',X'62',1", "X'6774',X'62',1,1", "X'67é4',X'62',1"] {
            assert!(wrong.parse::<XaId>().is_err(), "{wrong}");
        }
        let long = Bytes::from_static(b"\0\x01\0\0\0\x41\0\0\0\0\0\0\0");
        assert!(XaPrepare::parse(&mut Cursor::new(EventType::XA_PREPARE, &long, 19), &long).is_err());
    }
}
