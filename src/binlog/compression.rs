//! MariaDB's packed events and columns: zlib, with the unpacked size before it.
//!
//! Sizes come from outside and are checked against a limit before anything is unpacked; what comes out must have
//! exactly the size that was told.

use std::borrow::Cow;
use std::io::{self, Read};

use bytes::Bytes;
use flate2::read::{DeflateDecoder, ZlibDecoder};

use super::BinlogError;
use super::cursor::{Cursor, be_uint};

/// Unpacks what is left of an event of type QUERY_COMPRESSED or `…_ROWS_COMPRESSED`.
pub(super) fn unpack_event(cursor: &mut Cursor<'_>, limit: usize) -> Result<Bytes, BinlogError> {
    // One byte: marker, method, length of the size; then the size, highest byte first.
    const MARKER: u8 = 0x80;
    let event = cursor.event();
    let head = cursor.u8("the head of packed data")?;
    if head & MARKER == 0 {
        return Err(cursor.malformed("packed data"));
    }
    let method = head >> 4 & 7;
    if method != 0 {
        return Err(BinlogError::CompressionUnknown { event, method: u64::from(method) });
    }
    let width = usize::from(head & 7);
    if !(1..=4).contains(&width) {
        return Err(cursor.malformed("an unpacked size of one to four bytes"));
    }
    let size = be_uint(cursor.bytes(width, "the unpacked size")?);
    if size > limit as u64 {
        return Err(BinlogError::TooLarge { event, size, limit });
    }
    let unpacked = read_exactly(ZlibDecoder::new(cursor.rest()), size as usize);
    unpacked.map(Bytes::from).map_err(|cause| BinlogError::Decompress { event, cause })
}

/// Unpacks the value of a column with `COMPRESSED`. Says what was expected if the value is malformed.
pub(super) fn unpack_column(packed: &[u8]) -> Result<Cow<'_, [u8]>, &'static str> {
    // One byte: method, whether zlib's own frame is left out, length of the size; then the size, highest byte first.
    const METHOD_ZLIB: u8 = 8;
    const BARE: u8 = 8;
    const UNPACKED_MAX: u64 = u32::MAX as u64;
    let Some((head, rest)) = packed.split_first() else {
        return Ok(Cow::Borrowed(packed)); // an empty value has no head
    };
    match head >> 4 {
        0 => Ok(Cow::Borrowed(rest)),
        METHOD_ZLIB => {
            let width = usize::from(head & 7);
            let (size, data) = rest.split_at_checked(width).filter(|_| width <= 4).ok_or("an unpacked size")?;
            let size = Some(be_uint(size)).filter(|size| *size <= UNPACKED_MAX).ok_or("an unpacked size")?;
            let unpacked = if head & BARE != 0 {
                read_exactly(DeflateDecoder::new(data), size as usize)
            } else {
                read_exactly(ZlibDecoder::new(data), size as usize)
            };
            unpacked.map(Cow::Owned).map_err(|_| "zlib data of the size told")
        }
        _ => Err("a known packing method"),
    }
}

/// Reads all, which must be `size` bytes. Memory grows with what really comes, not with what was told.
fn read_exactly(unpacker: impl Read, size: usize) -> io::Result<Vec<u8>> {
    const FIRST_ALLOCATION_MAX: usize = 1 << 20;
    let mut unpacked = Vec::with_capacity(size.min(FIRST_ALLOCATION_MAX));
    unpacker.take(size as u64 + 1).read_to_end(&mut unpacked)?;
    if unpacked.len() == size {
        Ok(unpacked)
    } else {
        let found = if unpacked.len() > size { "more".to_owned() } else { unpacked.len().to_string() };
        Err(io::Error::new(io::ErrorKind::InvalidData, format!("{size} bytes were told, {found} came out")))
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::{DeflateEncoder, ZlibEncoder};

    use super::super::EventType;
    use super::*;

    fn zlib(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn unpack(packed: &[u8], limit: usize) -> Result<Bytes, BinlogError> {
        unpack_event(&mut Cursor::new(EventType::QUERY_COMPRESSED, packed, 19), limit)
    }

    #[test]
    fn packed_events_unpack_to_the_size_told() {
        let text = b"insert".repeat(100);
        let packed = |size: u16| [&[0x82][..], &size.to_be_bytes(), &zlib(&text)].concat();
        assert_eq!(unpack(&packed(600), 600).unwrap(), text);
        assert!(matches!(unpack(&packed(600), 599), Err(BinlogError::TooLarge { size: 600, limit: 599, .. })));
        assert!(matches!(unpack(&packed(599), 1000), Err(BinlogError::Decompress { .. })));
        assert!(matches!(unpack(&packed(601), 1000), Err(BinlogError::Decompress { .. })));
        assert!(matches!(unpack(&[0x92, 0, 1], 9), Err(BinlogError::CompressionUnknown { method: 1, .. })));
        assert!(matches!(unpack(&[0x02], 9), Err(BinlogError::Malformed { .. })));
    }

    #[test]
    fn packed_columns_may_be_plain_framed_or_bare() {
        let text = b"abc".repeat(50);
        let mut bare = DeflateEncoder::new(Vec::new(), Compression::default());
        bare.write_all(&text).unwrap();
        let bare = [&[0x89, 150][..], &bare.finish().unwrap()].concat();
        let framed = [&[0x81, 150][..], &zlib(&text)].concat();
        assert_eq!(unpack_column(b"").unwrap(), &b""[..]);
        assert_eq!(unpack_column(b"\0plain").unwrap(), &b"plain"[..]);
        assert_eq!(unpack_column(&bare).unwrap(), text);
        assert_eq!(unpack_column(&framed).unwrap(), text);
        assert!(unpack_column(&framed[..9]).is_err());
        assert!(unpack_column(&[0x30]).is_err());
    }
}
