//! The 19 bytes before every event.

use super::cursor::Cursor;
use super::{BinlogError, EventType};

/// Size of the header of every event since MySQL 5.0.
pub const HEADER_LENGTH: usize = 19;

/// What every event says of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventHeader {
    /// Seconds since the Unix epoch when the statement began; 0 in events that the server makes up while sending.
    pub timestamp: u32,
    pub event_type: EventType,
    /// The server that wrote the event first.
    pub server_id: u32,
    /// Size with this header and the checksum.
    pub event_size: u32,
    /// Where the next event stands in the file, 32 bits wide: it wraps in files over 4 GiB, is 0 in made-up events
    /// and, since MariaDB 11.4, inside transactions. Count positions from the ends of whole transactions.
    pub next_position: u32,
    pub flags: EventFlags,
}

/// Flags of the header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventFlags(pub u16);

impl EventFlags {
    pub(super) const IN_USE: u16 = 0x01;
    const THREAD_SPECIFIC: u16 = 0x04;
    const SUPPRESS_USE: u16 = 0x08;
    const ARTIFICIAL: u16 = 0x20;
    const IGNORABLE: u16 = 0x80;
    const SKIP_REPLICATION: u16 = 0x8000;

    /// In a format description: the file was not closed when it was read.
    pub fn in_use(self) -> bool {
        self.0 & Self::IN_USE != 0
    }

    /// The statement depends on its session (temporary tables).
    pub fn thread_specific(self) -> bool {
        self.0 & Self::THREAD_SPECIFIC != 0
    }

    /// The statement needs no current schema.
    pub fn suppress_use(self) -> bool {
        self.0 & Self::SUPPRESS_USE != 0
    }

    /// Made up by the server while sending, and in no file: moves no position.
    pub fn artificial(self) -> bool {
        self.0 & Self::ARTIFICIAL != 0
    }

    /// A reader that does not know the kind may pass over the event.
    pub fn ignorable(self) -> bool {
        self.0 & Self::IGNORABLE != 0
    }

    /// MariaDB: written by a session with `skip_replication`.
    pub fn skip_replication(self) -> bool {
        self.0 & Self::SKIP_REPLICATION != 0
    }
}

impl EventHeader {
    /// Reads the header from the first bytes of an event.
    pub fn parse(raw: &[u8]) -> Result<Self, BinlogError> {
        let event_type = EventType(raw.get(4).copied().unwrap_or(0));
        let mut cursor = Cursor::new(event_type, raw, 0);
        Ok(Self {
            timestamp: cursor.u32("the event's time")?,
            event_type: EventType(cursor.u8("the event's type")?),
            server_id: cursor.u32("the server's id")?,
            event_size: cursor.u32("the event's size")?,
            next_position: cursor.u32("the next event's position")?,
            flags: EventFlags(cursor.u16("the event's flags")?),
        })
    }

    /// Whether the event stands in no file.
    pub fn artificial(&self) -> bool {
        self.flags.artificial()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_nineteen_bytes() {
        let raw = [1, 0, 0, 0, 4, 7, 0, 0, 0, 44, 0, 0, 0, 0, 1, 0, 0, 0x20, 0x80];
        let header = EventHeader::parse(&raw).unwrap();
        assert_eq!((header.timestamp, header.event_type, header.server_id), (1, EventType::ROTATE, 7));
        assert_eq!((header.event_size, header.next_position), (44, 256));
        assert!(header.artificial() && header.flags.skip_replication() && !header.flags.ignorable());
        assert!(EventHeader::parse(&raw[..18]).is_err());
    }
}
