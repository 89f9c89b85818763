//! The CRC32 at the end of each event.
//!
//! The surprise: a format description is checked as if its "in use" flag were off, because the server clears that
//! flag in the file later without touching the checksum.

use super::header::{EventFlags, HEADER_LENGTH};
use super::{BinlogError, EventType};

/// How events are protected; one algorithm for a whole file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChecksumAlgorithm {
    None,
    Crc32,
}

pub(super) const CHECKSUM_LENGTH: usize = 4;
const FLAGS_OFFSET: usize = 17;

/// Checks the last four bytes against all before them, and gives the latter.
pub(super) fn verify(event: EventType, raw: &[u8]) -> Result<&[u8], BinlogError> {
    let Some((checked, stored)) = raw.split_last_chunk::<CHECKSUM_LENGTH>() else {
        return Err(BinlogError::Malformed { event, offset: raw.len(), expected: "a checksum" });
    };
    let stored = u32::from_le_bytes(*stored);
    let computed = if event == EventType::FORMAT_DESCRIPTION { closed_crc(checked) } else { crc32fast::hash(checked) };
    if stored == computed { Ok(checked) } else { Err(BinlogError::ChecksumDiffers { event, stored, computed }) }
}

/// The checksum with the "in use" flag off.
fn closed_crc(checked: &[u8]) -> u32 {
    let Some((header, body)) = checked.split_first_chunk::<HEADER_LENGTH>() else {
        return crc32fast::hash(checked);
    };
    let mut header = *header;
    if let Some(flags) = header.get_mut(FLAGS_OFFSET) {
        *flags &= !(EventFlags::IN_USE as u8);
    }
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&header);
    hasher.update(body);
    hasher.finalize()
}
