//! MariaDB's GTID events: the beginning of every transaction, and the list at the beginning of every file.

use bytes::Bytes;

use super::BinlogError;
use super::control::XaId;
use super::cursor::Cursor;
use super::header::EventHeader;
use crate::model::gtid::{MariadbGtid, MariadbGtidList};

/// The beginning of a transaction or of a single statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MariadbGtidEvent {
    pub gtid: MariadbGtid,
    pub flags: MariadbGtidFlags,
    /// Transactions with the same number were committed together, so they do not conflict.
    pub commit_id: Option<u64>,
    /// This transaction is prepared, committed or rolled back under this name.
    pub xa: Option<XaId>,
    /// A part of an ALTER that was logged in two phases; None: whole.
    pub alter: Option<AlterPhase>,
}

/// Flags of the event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MariadbGtidFlags(pub u8);

impl MariadbGtidFlags {
    const STANDALONE: u8 = 1;
    const GROUP_COMMIT_ID: u8 = 2;
    const TRANSACTIONAL: u8 = 4;
    const ALLOW_PARALLEL: u8 = 8;
    const WAITED: u8 = 16;
    const DDL: u8 = 32;
    const PREPARED_XA: u8 = 64;
    const COMPLETED_XA: u8 = 128;

    /// One statement follows that ends by itself: no XID or COMMIT comes.
    pub fn standalone(self) -> bool {
        self.0 & Self::STANDALONE != 0
    }

    /// All of it can be rolled back.
    pub fn transactional(self) -> bool {
        self.0 & Self::TRANSACTIONAL != 0
    }

    pub fn allow_parallel(self) -> bool {
        self.0 & Self::ALLOW_PARALLEL != 0
    }

    /// It waited for a row lock at the source.
    pub fn waited(self) -> bool {
        self.0 & Self::WAITED != 0
    }

    pub fn ddl(self) -> bool {
        self.0 & Self::DDL != 0
    }

    /// It ends with XA PREPARE.
    pub fn prepared_xa(self) -> bool {
        self.0 & Self::PREPARED_XA != 0
    }

    /// It is the XA COMMIT or XA ROLLBACK of one prepared before.
    pub fn completed_xa(self) -> bool {
        self.0 & Self::COMPLETED_XA != 0
    }
}

/// The same ALTER comes again with its outcome, told apart only by this.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AlterPhase {
    Start,
    /// The number is that of the transaction with the start, in the same domain.
    Commit {
        start_sequence: u64,
    },
    Rollback {
        start_sequence: u64,
    },
}

impl MariadbGtidEvent {
    pub(super) fn parse(header: &EventHeader, cursor: &mut Cursor<'_>, body: &Bytes) -> Result<Self, BinlogError> {
        let sequence = cursor.u64("the sequence number")?;
        let domain = cursor.u32("the domain")?;
        let flags = MariadbGtidFlags(cursor.u8("the flags")?);
        let gtid = MariadbGtid { domain, server: header.server_id, sequence };
        let commit_id = (flags.0 & MariadbGtidFlags::GROUP_COMMIT_ID != 0)
            .then(|| cursor.u64("the number of the group commit"))
            .transpose()?;
        let xa = if flags.prepared_xa() || flags.completed_xa() {
            let format = cursor.u32("the XA id's format")?;
            let global_length = u32::from(cursor.u8("the length of the XA id's first part")?);
            let branch_length = u32::from(cursor.u8("the length of the XA id's second part")?);
            Some(XaId::read(cursor, body, format, global_length, branch_length)?)
        } else {
            None
        };
        Ok(Self { gtid, flags, commit_id, xa, alter: parse_extra(cursor)? })
    }
}

/// A second set of flags, then what they announce. Short events are filled up with zeros, which say nothing.
fn parse_extra(cursor: &mut Cursor<'_>) -> Result<Option<AlterPhase>, BinlogError> {
    const MULTI_ENGINE: u8 = 1;
    const START_ALTER: u8 = 2;
    const COMMIT_ALTER: u8 = 4;
    const ROLLBACK_ALTER: u8 = 8;
    if cursor.is_empty() {
        return Ok(None);
    }
    let flags = cursor.u8("the second flags")?;
    if flags & MULTI_ENGINE != 0 {
        cursor.u8("the number of engines")?;
    }
    if flags & COMMIT_ALTER != 0 {
        return Ok(Some(AlterPhase::Commit { start_sequence: cursor.u64("the number of the ALTER's start")? }));
    }
    if flags & ROLLBACK_ALTER != 0 {
        return Ok(Some(AlterPhase::Rollback { start_sequence: cursor.u64("the number of the ALTER's start")? }));
    }
    Ok((flags & START_ALTER != 0).then_some(AlterPhase::Start))
}

/// The transactions before this place: at the beginning of a file, for each domain and server the last one; made up
/// (its header is artificial) when the server tells a client where it stands without sending what lies between.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GtidList {
    /// For each domain the last transaction stands last.
    pub gtids: Vec<MariadbGtid>,
    /// The client asked to be told when it has all up to a place, and this is it.
    pub until_reached: bool,
    /// The GTIDs count as applied although no event of them was sent.
    pub ignored: bool,
}

impl GtidList {
    const COUNT_MASK: u32 = (1 << 28) - 1;
    const UNTIL_REACHED: u32 = 1 << 28;
    const IGNORED: u32 = 1 << 29;

    pub(super) fn parse(cursor: &mut Cursor<'_>) -> Result<Self, BinlogError> {
        let head = cursor.u32("the number of GTIDs")?;
        let gtids = (0..head & Self::COUNT_MASK)
            .map(|_| {
                let domain = cursor.u32("a domain")?;
                let server = cursor.u32("a server's id")?;
                Ok(MariadbGtid { domain, server, sequence: cursor.u64("a sequence number")? })
            })
            .collect::<Result<_, BinlogError>>()?;
        let until_reached = head & Self::UNTIL_REACHED != 0;
        Ok(Self { gtids, until_reached, ignored: head & Self::IGNORED != 0 })
    }

    /// The last transaction of each domain.
    pub fn to_list(&self) -> MariadbGtidList {
        self.gtids.iter().copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::EventType;
    use super::super::header::EventFlags;
    use super::*;

    fn parse(body: &[u8]) -> Result<MariadbGtidEvent, BinlogError> {
        let header = EventHeader {
            timestamp: 1,
            event_type: EventType::MARIADB_GTID,
            server_id: 9,
            event_size: 0,
            next_position: 0,
            flags: EventFlags(0),
        };
        let body = Bytes::copy_from_slice(body);
        MariadbGtidEvent::parse(&header, &mut Cursor::new(EventType::MARIADB_GTID, &body, 19), &body)
    }

    #[test]
    fn filling_zeros_say_nothing() {
        let event = parse(&[42, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 1 | 32, 0, 0, 0, 0, 0, 0]).unwrap();
        assert_eq!(event.gtid.to_string(), "3-9-42");
        assert!(event.flags.standalone() && event.flags.ddl() && !event.flags.transactional());
        assert_eq!((event.commit_id, event.xa, event.alter), (None, None, None));
    }

    #[test]
    fn the_outcome_of_an_alter_names_its_start() {
        let mut body = vec![43, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 33, 4];
        body.extend(41u64.to_le_bytes());
        assert_eq!(parse(&body).unwrap().alter, Some(AlterPhase::Commit { start_sequence: 41 }));
        if let Some(flags) = body.get_mut(13) {
            *flags = 8;
        }
        assert_eq!(parse(&body).unwrap().alter, Some(AlterPhase::Rollback { start_sequence: 41 }));
        body.truncate(15);
        assert!(parse(&body).is_err());
    }

    #[test]
    fn in_a_list_the_last_of_a_domain_counts() {
        let mut body = vec![2, 0, 0, 0x10];
        for (server, sequence) in [(1u32, 50u64), (2, 7)] {
            body.extend(0u32.to_le_bytes());
            body.extend(server.to_le_bytes());
            body.extend(sequence.to_le_bytes());
        }
        let list = GtidList::parse(&mut Cursor::new(EventType::GTID_LIST, &body, 19)).unwrap();
        assert!(list.until_reached && !list.ignored);
        assert_eq!(list.to_list().to_string(), "0-2-7");
    }
}
