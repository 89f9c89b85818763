//! Events as they are sent: with those that the server makes up.

use super::describe::describe;
use super::*;

fn decode_stream(name: &str, checksum: ChecksumAlgorithm) -> Vec<Event> {
    let options = DecoderOptions { checksum, ..DecoderOptions::default() };
    let mut decoder = Decoder::new(options);
    let raw = raw_events(fixture(&format!("{name}.stream")), 0);
    let events = raw.into_iter().flat_map(|(offset, raw)| {
        decode_one(&mut decoder, raw).unwrap_or_else(|error| panic!("{name} at {offset}: {error:?}"))
    });
    events.collect()
}

/// The beginning of the stream, and what is of the stream and not of its transactions.
fn shown(events: &[Event]) -> String {
    let tables = Tables::default();
    let of_stream = |event: &&Event| {
        matches!(
            event.body,
            EventBody::Rotate(_)
                | EventBody::FormatDescription(_)
                | EventBody::GtidList(_)
                | EventBody::Heartbeat(_)
                | EventBody::PreviousGtids(_)
                | EventBody::BinlogCheckpoint { .. }
        )
    };
    let lines = events.iter().filter(of_stream).map(|event| {
        let EventHeader { timestamp, next_position, .. } = event.header;
        let made_up = if timestamp == 0 { "made up" } else { "written" };
        let place = if next_position == 0 { "nowhere" } else { "placed" };
        format!("{made_up}, {place}: {}", describe(event, &tables))
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn the_first_made_up_rotate_has_a_checksum_when_asked_for() {
    for name in ["mariadb-10.11-position", "mariadb-11.8-position", "mysql-9.7-position"] {
        let events = decode_stream(name, ChecksumAlgorithm::Crc32);
        let EventBody::Rotate(rotate) = &events[0].body else { panic!("{:?}", events[0]) };
        assert!(rotate.artificial && rotate.file.starts_with("binlog.0"), "{rotate:?}");
        assert_eq!(rotate.file.len(), "binlog.000001".len());
        insta::assert_snapshot!(name, shown(&events));
    }
}

#[test]
fn a_reader_that_asks_for_no_checksums_may_get_them_after_the_format() {
    let events = decode_stream("mysql-9.7-position-unchecked", ChecksumAlgorithm::None);
    let with = decode_stream("mysql-9.7-position", ChecksumAlgorithm::Crc32);
    assert_eq!(shown(&events), shown(&with));
    assert_eq!(events.len(), with.len());
}

#[test]
fn a_start_by_gtid_is_answered_with_a_list() {
    for name in ["mariadb-10.11-gtid", "mariadb-11.8-gtid", "mysql-9.7-gtid"] {
        insta::assert_snapshot!(name, shown(&decode_stream(name, ChecksumAlgorithm::Crc32)));
    }
}

#[test]
fn events_before_the_format_are_refused() {
    let mut decoder = Decoder::new(DecoderOptions::default());
    let raw = raw_file("mysql-9.7-events");
    let error = decoder.decode(raw[2].1.clone()).unwrap_err();
    assert!(matches!(error, BinlogError::FormatMissing { .. }), "{error}");
}

#[test]
fn damage_is_found_by_the_checksum() {
    for name in ["mariadb-10.11-events", "mysql-9.7-events"] {
        let mut decoder = Decoder::new(DecoderOptions::default());
        for (_, raw) in raw_file(name) {
            let mut damaged = raw.to_vec();
            let middle = damaged.len() / 2;
            // The "in use" flag and the size are looked at in other ways.
            if !(9..19).contains(&middle) {
                damaged[middle] ^= 0x10;
                let error = decoder.decode(Bytes::from(damaged)).unwrap_err();
                assert!(matches!(error, BinlogError::ChecksumDiffers { .. }), "{error}");
            }
            decode_one(&mut decoder, raw).unwrap();
        }
    }
}

#[test]
fn an_open_file_has_a_valid_format() {
    let mut decoder = Decoder::new(DecoderOptions::default());
    let mut open = raw_file("mariadb-10.11-events")[0].1.to_vec();
    open[17] |= 1; // in use
    decoder.decode(Bytes::from(open)).unwrap();
}

#[test]
fn a_wrong_size_is_told() {
    let mut decoder = Decoder::new(DecoderOptions::default());
    let raw = raw_file("mysql-9.7-events")[0].1.clone();
    let error = decoder.decode(raw.slice(..raw.len() - 1)).unwrap_err();
    assert!(matches!(error, BinlogError::SizeDiffers { .. }), "{error}");
    assert!(decoder.decode(Bytes::new()).is_err());
}

#[test]
fn packed_events_keep_to_the_limit() {
    for name in ["mariadb-10.11-packed", "mysql-9.7-packed"] {
        let options = DecoderOptions { event_bytes_max: 1000, ..DecoderOptions::default() };
        let mut decoder = Decoder::new(options);
        let error = raw_file(name).into_iter().find_map(|(_, raw)| decode_one(&mut decoder, raw).err());
        assert!(matches!(error, Some(BinlogError::TooLarge { limit: 1000, .. })), "{error:?}");
    }
}

/// No server at hand writes these: a compressed event of the first version is turned into one of the second.
#[test]
fn packed_rows_of_the_second_version_read_the_same() {
    let mut decoder = Decoder::new(DecoderOptions::default());
    let mut compared = 0;
    for (_, raw) in raw_file("mariadb-10.11-packed") {
        let kind = raw[4];
        let first = decode_one(&mut decoder, raw.clone()).unwrap();
        if !(EventType::WRITE_ROWS_COMPRESSED_V1.0..=EventType::DELETE_ROWS_COMPRESSED_V1.0).contains(&kind) {
            continue;
        }
        let mut second = raw[..raw.len() - 4].to_vec();
        second[4] = kind + 3;
        second.splice(HEADER_LENGTH + 8..HEADER_LENGTH + 8, [5, 0, 1, 9, 0]); // a partition
        let size = second.len() as u32 + 4;
        second[9..13].copy_from_slice(&size.to_le_bytes());
        let crc = crc32fast::hash(&second);
        second.extend(crc.to_le_bytes());
        let second = decode_one(&mut decoder, Bytes::from(second)).unwrap();
        let (EventBody::Rows(first), EventBody::Rows(second)) = (&first[0].body, &second[0].body) else { panic!() };
        assert_eq!((first.kind, first.table_id, first.rows_size()), (second.kind, second.table_id, second.rows_size()));
        assert_eq!(first.after_columns(), second.after_columns());
        compared += 1;
    }
    assert_eq!(compared, 2);
}
