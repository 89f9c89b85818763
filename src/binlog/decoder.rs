//! Turns the events of a stream, one after the other, into typed ones.
//!
//! The decoder remembers what earlier events said: the format, whether checksums are on, and the descriptions of
//! tables. It must therefore see every event, in order. After an error its memory is as before, and the stream is
//! not to be trusted further.

use std::sync::Arc;

use bytes::Bytes;

use super::checksum::{self, CHECKSUM_LENGTH, ChecksumAlgorithm};
use super::compression::unpack_event;
use super::control::{Heartbeat, Incident, Rotate, XaPrepare, parse_checkpoint};
use super::cursor::Cursor;
use super::event::{Event, EventBody};
use super::format::{self, FormatDescription};
use super::header::{EventHeader, HEADER_LENGTH};
use super::mariadb_gtid::{GtidList, MariadbGtidEvent};
use super::mysql_gtid::MysqlGtidEvent;
use super::payload::Payload;
use super::query::QueryEvent;
use super::rows::RowsEvent;
use super::table_map::TableCache;
use super::{BinlogError, EventType};
use crate::model::Flavor;
use crate::model::gtid::MysqlGtidSet;

#[derive(Debug, Clone, Copy)]
pub struct DecoderOptions {
    /// How events are protected before the first format description: what the reader has told the server to send
    /// (`@source_binlog_checksum`). A made-up ROTATE comes first, with a checksum if that is on.
    pub checksum: ChecksumAlgorithm,
    /// The largest event to unpack.
    pub event_bytes_max: usize,
}

impl Default for DecoderOptions {
    fn default() -> Self {
        // The servers' own limit of an event.
        Self { checksum: ChecksumAlgorithm::Crc32, event_bytes_max: 1 << 30 }
    }
}

/// What one raw event is.
#[derive(Debug)]
pub enum Decoded {
    Event(Event),
    /// Many events in one; see [`Decoder::decode_next`].
    Payload(Payload),
}

/// Decodes the events of one stream.
#[derive(Debug)]
pub struct Decoder {
    checksum: ChecksumAlgorithm,
    event_bytes_max: usize,
    format: Option<Arc<FormatDescription>>,
    tables: TableCache,
}

impl Decoder {
    pub fn new(options: DecoderOptions) -> Self {
        let DecoderOptions { checksum, event_bytes_max } = options;
        Self { checksum, event_bytes_max, format: None, tables: TableCache::default() }
    }

    /// The format in force; None before the first event that tells it.
    pub fn format(&self) -> Option<&Arc<FormatDescription>> {
        self.format.as_ref()
    }

    /// Decodes one event as it came: header, body, and checksum if there is one.
    pub fn decode(&mut self, raw: Bytes) -> Result<Decoded, BinlogError> {
        let header = EventHeader::parse(&raw)?;
        let event = header.event_type;
        if header.event_size as usize != raw.len() {
            return Err(BinlogError::SizeDiffers { event, stated: header.event_size, received: raw.len() });
        }
        let body = self.checked_body(event, &raw)?;
        if event == EventType::TRANSACTION_PAYLOAD {
            let mut cursor = Cursor::new(event, &body, HEADER_LENGTH);
            return Payload::parse(header, &mut cursor, &body).map(Decoded::Payload);
        }
        let body = self.decode_body(&header, &body)?;
        Ok(Decoded::Event(Event { header, body }))
    }

    /// Decodes the next event of a packed transaction; None after the last.
    pub fn decode_next(&mut self, payload: &mut Payload) -> Result<Option<Event>, BinlogError> {
        let Some(raw) = payload.next_raw(self.event_bytes_max)? else {
            return Ok(None);
        };
        let header = EventHeader { next_position: payload.header.next_position, ..EventHeader::parse(&raw)? };
        let event = header.event_type;
        if matches!(event, EventType::TRANSACTION_PAYLOAD | EventType::FORMAT_DESCRIPTION | EventType::ROTATE) {
            return Err(BinlogError::NotInPayload { event });
        }
        let body = raw.slice(HEADER_LENGTH..);
        let body = self.decode_body(&header, &body)?;
        Ok(Some(Event { header, body }))
    }

    /// Verifies the checksum and gives what stands between header and checksum.
    fn checked_body(&self, event: EventType, raw: &Bytes) -> Result<Bytes, BinlogError> {
        let is_format = event == EventType::FORMAT_DESCRIPTION;
        let algorithm = if is_format { format::checksum_of(raw)? } else { self.checksum };
        let end = match algorithm {
            ChecksumAlgorithm::Crc32 => checksum::verify(event, raw)?.len(),
            // The format description has room for a checksum even if it is off; what stands there is stale.
            ChecksumAlgorithm::None if is_format => raw.len().saturating_sub(CHECKSUM_LENGTH),
            ChecksumAlgorithm::None => raw.len(),
        };
        let missing = BinlogError::Malformed { event, offset: end, expected: "a body before the checksum" };
        if end < HEADER_LENGTH { Err(missing) } else { Ok(raw.slice(HEADER_LENGTH..end)) }
    }

    fn decode_body(&mut self, header: &EventHeader, body: &Bytes) -> Result<EventBody, BinlogError> {
        let event = header.event_type;
        let mut cursor = Cursor::new(event, body, HEADER_LENGTH);
        let cursor = &mut cursor;
        let flavor = match (&self.format, event) {
            (_, EventType::FORMAT_DESCRIPTION) => {
                let format = Arc::new(FormatDescription::parse(body)?);
                self.checksum = format.checksum;
                self.format = Some(format.clone());
                return Ok(EventBody::FormatDescription(format));
            }
            (Some(format), _) => format.flavor,
            (None, EventType::ROTATE | EventType::HEARTBEAT | EventType::HEARTBEAT_V2) => Flavor::MySql,
            (None, _) => return Err(BinlogError::FormatMissing { event }),
        };
        Ok(match event {
            EventType::ROTATE => EventBody::Rotate(Rotate::parse(header, cursor)?),
            EventType::GTID | EventType::ANONYMOUS_GTID => {
                EventBody::MysqlGtid(Box::new(MysqlGtidEvent::parse(cursor)?))
            }
            EventType::GTID_TAGGED => EventBody::MysqlGtid(Box::new(MysqlGtidEvent::parse_tagged(cursor)?)),
            EventType::MARIADB_GTID => EventBody::MariadbGtid(Box::new(MariadbGtidEvent::parse(header, cursor, body)?)),
            EventType::PREVIOUS_GTIDS => {
                let set = MysqlGtidSet::decode(body).map_err(|cause| BinlogError::GtidSet { event, cause })?;
                EventBody::PreviousGtids(set)
            }
            EventType::GTID_LIST => EventBody::GtidList(GtidList::parse(cursor)?),
            EventType::BINLOG_CHECKPOINT => EventBody::BinlogCheckpoint { file: parse_checkpoint(cursor)? },
            EventType::QUERY => EventBody::Query(Box::new(QueryEvent::parse(cursor, body)?)),
            EventType::QUERY_COMPRESSED => {
                let mut query = QueryEvent::parse_head(cursor, body)?;
                query.sql = unpack_event(cursor, self.event_bytes_max)?;
                EventBody::Query(Box::new(query))
            }
            EventType::XID => EventBody::Xid(cursor.u64("the transaction's number")?),
            EventType::XA_PREPARE => EventBody::XaPrepare(XaPrepare::parse(cursor, body)?),
            EventType::TABLE_MAP => EventBody::TableMap(self.tables.read(flavor, cursor)?),
            EventType::WRITE_ROWS_V1
            | EventType::UPDATE_ROWS_V1
            | EventType::DELETE_ROWS_V1
            | EventType::WRITE_ROWS
            | EventType::UPDATE_ROWS
            | EventType::DELETE_ROWS => EventBody::Rows(RowsEvent::parse(cursor, body)?),
            EventType::WRITE_ROWS_COMPRESSED_V1
            | EventType::UPDATE_ROWS_COMPRESSED_V1
            | EventType::DELETE_ROWS_COMPRESSED_V1
            | EventType::WRITE_ROWS_COMPRESSED
            | EventType::UPDATE_ROWS_COMPRESSED
            | EventType::DELETE_ROWS_COMPRESSED => {
                let rows = RowsEvent::parse_head(cursor, body)?;
                EventBody::Rows(rows.with_rows(unpack_event(cursor, self.event_bytes_max)?))
            }
            EventType::ROWS_QUERY => {
                // One byte of length that wraps for long statements: all the rest is the statement.
                cursor.u8("the statement's length")?;
                EventBody::RowsQuery(body.slice_ref(cursor.rest()))
            }
            EventType::ANNOTATE_ROWS => EventBody::AnnotateRows(body.clone()),
            EventType::HEARTBEAT => EventBody::Heartbeat(Heartbeat::parse_v1(flavor, header, cursor)?),
            EventType::HEARTBEAT_V2 => EventBody::Heartbeat(Heartbeat::parse_v2(cursor)?),
            EventType::INCIDENT => EventBody::Incident(Incident::parse(cursor)?),
            EventType::STOP => EventBody::Stop,
            EventType::INTVAR => EventBody::IntVar,
            EventType::RAND => EventBody::Rand,
            EventType::USER_VAR => EventBody::UserVar,
            EventType::LOAD
            | EventType::NEW_LOAD
            | EventType::CREATE_FILE
            | EventType::APPEND_BLOCK
            | EventType::EXEC_LOAD
            | EventType::DELETE_FILE
            | EventType::BEGIN_LOAD_QUERY
            | EventType::EXECUTE_LOAD_QUERY => EventBody::LoadFamily,
            EventType::PARTIAL_UPDATE_ROWS => {
                EventBody::PartialUpdateRows { table_id: cursor.uint(6, "the table's number")? }
            }
            EventType::PARTIAL_ROW_DATA => EventBody::PartialRowData,
            EventType::TRANSACTION_CONTEXT => EventBody::TransactionContext,
            EventType::VIEW_CHANGE => EventBody::ViewChange,
            EventType::START_ENCRYPTION => EventBody::StartEncryption,
            EventType::IGNORABLE => EventBody::Ignorable,
            _ => EventBody::Unknown { ignorable: header.flags.ignorable() },
        })
    }
}
