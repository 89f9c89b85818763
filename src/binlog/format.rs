//! FORMAT_DESCRIPTION: the first event of every file, which says how to read the others.

use super::checksum::{CHECKSUM_LENGTH, ChecksumAlgorithm};
use super::cursor::Cursor;
use super::header::HEADER_LENGTH;
use super::{BinlogError, EventType};
use crate::model::Flavor;

/// How the events of one file are laid out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FormatDescription {
    /// The server's version, as `@@version` says it.
    pub server_version: String,
    pub flavor: Flavor,
    /// When the server started, if this is its first file; else 0.
    pub created: u32,
    pub checksum: ChecksumAlgorithm,
    /// Size of the fixed part after the header, for each kind of event from number 1 on.
    post_header_lengths: Box<[u8]>,
}

const BINLOG_VERSION: u16 = 4;
const SERVER_VERSION_LENGTH: usize = 50;
/// The algorithm's number and room for the checksum, at the event's end whether the checksum is on or not.
const TRAILER_LENGTH: usize = 1 + CHECKSUM_LENGTH;

/// The fixed parts this decoder relies on. A server that writes others is refused, not guessed at.
const POST_HEADERS: [(EventType, u8); 10] = [
    (EventType::QUERY, 13),
    (EventType::ROTATE, 8),
    (EventType::TABLE_MAP, 8),
    (EventType::WRITE_ROWS_V1, 8),
    (EventType::UPDATE_ROWS_V1, 8),
    (EventType::DELETE_ROWS_V1, 8),
    (EventType::WRITE_ROWS, 10),
    (EventType::UPDATE_ROWS, 10),
    (EventType::DELETE_ROWS, 10),
    (EventType::MARIADB_GTID, 19),
];

/// Tells the checksum algorithm from the raw event, before the checksum itself can be looked at.
pub(super) fn checksum_of(raw: &[u8]) -> Result<ChecksumAlgorithm, BinlogError> {
    let at = raw.len().checked_sub(TRAILER_LENGTH);
    match at.and_then(|at| raw.get(at)) {
        Some(0) => Ok(ChecksumAlgorithm::None),
        Some(1) => Ok(ChecksumAlgorithm::Crc32),
        Some(other) => Err(BinlogError::FormatUnsupported { reason: format!("checksum algorithm {other}") }),
        None => Err(BinlogError::Malformed {
            event: EventType::FORMAT_DESCRIPTION,
            offset: raw.len(),
            expected: "the checksum algorithm",
        }),
    }
}

impl FormatDescription {
    /// `body` ends before the checksum, which always has its room in this event.
    pub(super) fn parse(body: &[u8]) -> Result<Self, BinlogError> {
        let unsupported = |reason: String| BinlogError::FormatUnsupported { reason };
        let mut cursor = Cursor::new(EventType::FORMAT_DESCRIPTION, body, HEADER_LENGTH);
        let binlog_version = cursor.u16("the binlog version")?;
        if binlog_version != BINLOG_VERSION {
            return Err(unsupported(format!("binlog version {binlog_version}")));
        }
        let version = cursor.bytes(SERVER_VERSION_LENGTH, "the server version")?;
        let version = version.split(|byte| *byte == 0).next().unwrap_or_default();
        let server_version = String::from_utf8_lossy(version).into_owned();
        let created = cursor.u32("the time the file was begun")?;
        let header_length = cursor.u8("the size of event headers")?;
        if usize::from(header_length) != HEADER_LENGTH {
            return Err(unsupported(format!("event headers of {header_length} bytes")));
        }
        let lengths = cursor.remaining().checked_sub(1).ok_or_else(|| cursor.malformed("the checksum algorithm"))?;
        let post_header_lengths: Box<[u8]> = cursor.bytes(lengths, "the sizes of post-headers")?.into();
        let checksum = match cursor.u8("the checksum algorithm")? {
            0 => ChecksumAlgorithm::None,
            1 => ChecksumAlgorithm::Crc32,
            other => return Err(unsupported(format!("checksum algorithm {other}"))),
        };

        let flavor = if server_version.contains("MariaDB") { Flavor::MariaDb } else { Flavor::MySql };
        // Older servers write no checksum trailer into this very event; all that are supported do.
        let oldest = if flavor == Flavor::MariaDb { (5, 3) } else { (5, 7) };
        if version_numbers(&server_version) < oldest {
            return Err(unsupported(format!("server version {server_version:?}")));
        }
        let format = Self { server_version, flavor, created, checksum, post_header_lengths };
        for (event, expected) in POST_HEADERS {
            // Zero is how newer servers say that they never write a kind.
            let length = format.post_header_length(event).filter(|length| *length != 0);
            if length.is_some_and(|length| length != expected) {
                return Err(unsupported(format!("post-header of {event} events")));
            }
        }
        Ok(format)
    }

    /// Size of the fixed part of a kind of event; None if the server does not know the kind.
    pub fn post_header_length(&self, event: EventType) -> Option<u8> {
        self.post_header_lengths.get(usize::from(event.0).checked_sub(1)?).copied()
    }
}

/// `10.11.19-MariaDB` → (10, 11).
fn version_numbers(version: &str) -> (u32, u32) {
    let mut numbers = version.split(|c: char| !c.is_ascii_digit()).map(|digits| digits.parse().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(version: &str, lengths: &[u8]) -> Vec<u8> {
        let mut body = vec![4, 0];
        body.extend(version.as_bytes());
        body.resize(2 + SERVER_VERSION_LENGTH, 0);
        body.extend([0, 0, 0, 0, 19]);
        body.extend(lengths);
        body.push(1);
        body
    }

    #[test]
    fn the_version_tells_the_family() {
        let format = FormatDescription::parse(&body("10.11.19-MariaDB-log", &[56, 13])).unwrap();
        assert_eq!((format.flavor, format.checksum), (Flavor::MariaDb, ChecksumAlgorithm::Crc32));
        assert_eq!(format.post_header_length(EventType::QUERY), Some(13));
        assert_eq!(format.post_header_length(EventType::ROTATE), None);
        assert_eq!(FormatDescription::parse(&body("9.7.4", &[0, 13])).unwrap().flavor, Flavor::MySql);
    }

    #[test]
    fn unknown_layouts_are_refused() {
        for (version, lengths) in [("5.6.51", &[0, 13][..]), ("5.2.14-MariaDB", &[0, 13]), ("8.0.40", &[0, 14])] {
            let error = FormatDescription::parse(&body(version, lengths)).unwrap_err();
            assert!(matches!(error, BinlogError::FormatUnsupported { .. }), "{error}");
        }
    }
}
