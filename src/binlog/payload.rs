//! MySQL's TRANSACTION_PAYLOAD: a whole transaction, packed, in one event.
//!
//! Inside are ordinary events without checksums. They are unpacked one by one as they are asked for, so memory
//! holds one of them, whatever the event says of its size.

use std::io::{self, Read};

use bytes::{Buf, Bytes};

use super::control::PayloadHead;
use super::cursor::Cursor;
use super::header::{EventHeader, HEADER_LENGTH};
use super::{BinlogError, EventType};

/// A packed transaction that is being unpacked. Give it to [`super::Decoder::decode_next`] until that says None.
pub struct Payload {
    /// That of the packed event.
    pub header: EventHeader,
    /// The size that the event tells; for display only.
    pub unpacked_size: u64,
    source: Source,
}

enum Source {
    Plain(bytes::buf::Reader<Bytes>),
    Zstd(Box<zstd::stream::read::Decoder<'static, bytes::buf::Reader<Bytes>>>),
}

impl std::fmt::Debug for Payload {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { header, unpacked_size, source: _ } = self;
        f.debug_struct("Payload").field("header", header).field("unpacked_size", unpacked_size).finish_non_exhaustive()
    }
}

const EVENT: EventType = EventType::TRANSACTION_PAYLOAD;

fn failed(cause: io::Error) -> BinlogError {
    BinlogError::Decompress { event: EVENT, cause }
}

impl Payload {
    pub(super) fn parse(header: EventHeader, cursor: &mut Cursor<'_>, body: &Bytes) -> Result<Self, BinlogError> {
        const ZSTD: u64 = 0;
        const NONE: u64 = 255;
        let head = PayloadHead::parse(cursor)?;
        let packed = body.slice_ref(cursor.bytes(head.packed_size, "the packed transaction")?).reader();
        let source = match head.method {
            NONE => Source::Plain(packed),
            ZSTD => Source::Zstd(Box::new(zstd::stream::read::Decoder::with_buffer(packed).map_err(failed)?)),
            method => return Err(BinlogError::CompressionUnknown { event: EVENT, method }),
        };
        Ok(Self { header, unpacked_size: head.unpacked_size, source })
    }

    /// The bytes of the next event; None at the end, which must lie between two events.
    pub(super) fn next_raw(&mut self, limit: usize) -> Result<Option<Bytes>, BinlogError> {
        let source: &mut dyn Read = match &mut self.source {
            Source::Plain(source) => source,
            Source::Zstd(source) => source.as_mut(),
        };
        let mut header = [0; HEADER_LENGTH];
        let (first, others) = header.split_at_mut(1);
        if source.read(first).map_err(failed)? == 0 {
            return Ok(None);
        }
        source.read_exact(others).map_err(failed)?;
        let parsed = EventHeader::parse(&header)?;
        let size = parsed.event_size as usize;
        if size > limit {
            return Err(BinlogError::TooLarge { event: parsed.event_type, size: size as u64, limit });
        }
        let body_size = size.checked_sub(HEADER_LENGTH).ok_or(BinlogError::Malformed {
            event: parsed.event_type,
            offset: 9,
            expected: "a size of 19 or more",
        })?;
        // Grows with what comes, not with what is told.
        let mut raw = header.to_vec();
        source.take(body_size as u64).read_to_end(&mut raw).map_err(failed)?;
        if raw.len() != size {
            let (stated, received) = (parsed.event_size, raw.len());
            return Err(BinlogError::SizeDiffers { event: parsed.event_type, stated, received });
        }
        Ok(Some(Bytes::from(raw)))
    }
}
