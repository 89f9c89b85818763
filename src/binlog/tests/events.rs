//! Whole files of events: kinds and positions against the server's own list, contents as snapshots.

use super::describe::describe_all;
use super::*;

/// The server's list: position, kind, end and description of each event.
fn listed(name: &str) -> Vec<(usize, String, u32, String)> {
    let text = fixture_text(&format!("{name}.events"));
    let mut events: Vec<(usize, String, u32, String)> = Vec::new();
    for line in text.lines() {
        let fields: Vec<_> = line.splitn(6, '\t').collect();
        match fields.as_slice() {
            [_, position, kind, _, end, info] => {
                events.push((position.parse().unwrap(), (*kind).to_owned(), end.parse().unwrap(), (*info).to_owned()));
            }
            _ => events.last_mut().unwrap().3 += line, // a statement of several lines
        }
    }
    events
}

/// The server's own name of a kind, from ours.
fn listed_name(event: EventType) -> &'static str {
    match event {
        EventType::FORMAT_DESCRIPTION => "Format_desc",
        EventType::QUERY => "Query",
        EventType::QUERY_COMPRESSED => "Query_compressed",
        EventType::ROTATE => "Rotate",
        EventType::XID => "Xid",
        EventType::TABLE_MAP => "Table_map",
        EventType::WRITE_ROWS_V1 => "Write_rows_v1",
        EventType::UPDATE_ROWS_V1 => "Update_rows_v1",
        EventType::DELETE_ROWS_V1 => "Delete_rows_v1",
        EventType::WRITE_ROWS => "Write_rows",
        EventType::UPDATE_ROWS => "Update_rows",
        EventType::DELETE_ROWS => "Delete_rows",
        EventType::WRITE_ROWS_COMPRESSED_V1 => "Write_rows_compressed_v1",
        EventType::UPDATE_ROWS_COMPRESSED_V1 => "Update_rows_compressed_v1",
        EventType::DELETE_ROWS_COMPRESSED_V1 => "Delete_rows_compressed_v1",
        EventType::PARTIAL_UPDATE_ROWS => "Update_rows_partial",
        EventType::GTID | EventType::MARIADB_GTID => "Gtid",
        EventType::GTID_TAGGED => "Gtid_tagged_log_event",
        EventType::ANONYMOUS_GTID => "Anonymous_Gtid",
        EventType::PREVIOUS_GTIDS => "Previous_gtids",
        EventType::GTID_LIST => "Gtid_list",
        EventType::BINLOG_CHECKPOINT => "Binlog_checkpoint",
        EventType::ANNOTATE_ROWS => "Annotate_rows",
        EventType::ROWS_QUERY => "Rows_query",
        EventType::XA_PREPARE => "XA_prepare",
        EventType::INTVAR => "Intvar",
        EventType::RAND => "RAND",
        EventType::USER_VAR => "User var",
        EventType::TRANSACTION_PAYLOAD => "Transaction_payload",
        other => panic!("no name for {other}"),
    }
}

/// Kinds, positions and what else the server tells of each event.
fn check_against_list(name: &str) {
    let mut decoder = Decoder::new(DecoderOptions::default());
    let raw = raw_file(name);
    // Of a packed transaction the server also lists what is inside, as if it were at the transaction's end.
    let mut listed = listed(name).into_iter().peekable();
    for (offset, raw) in raw {
        let header = EventHeader::parse(&raw).unwrap();
        let (position, kind, end, info) = listed.next().unwrap();
        assert_eq!((position, kind.as_str()), (offset, listed_name(header.event_type)), "{name}");
        assert_eq!(end, header.next_position, "{name} at {offset}");
        let events = decode_one(&mut decoder, raw).unwrap();
        if header.event_type == EventType::TRANSACTION_PAYLOAD {
            let (inner, ends): (Vec<_>, Vec<_>) =
                events.iter().map(|event| (listed_name(event.header.event_type), event.header.next_position)).unzip();
            let mut shown = Vec::new();
            while let Some((_, kind, ..)) = listed.next_if(|(position, _, end, _)| *position == *end as usize) {
                shown.push(kind);
            }
            assert_eq!(inner, shown, "{name} at {offset}");
            assert!(ends.iter().all(|end| *end == header.next_position));
            continue;
        }
        for event in events {
            check_info(&event, &info);
        }
    }
    assert_eq!(listed.next(), None, "{name}");
}

fn check_info(event: &Event, info: &str) {
    match &event.body {
        EventBody::MysqlGtid(gtid) => match &gtid.gtid {
            Some(gtid) => assert_eq!(info, format!("SET @@SESSION.GTID_NEXT= '{gtid}'")),
            None => assert_eq!(info, "SET @@SESSION.GTID_NEXT= 'ANONYMOUS'"),
        },
        EventBody::MariadbGtid(gtid) => assert!(info.contains(&format!("GTID {}", gtid.gtid)), "{info}"),
        EventBody::PreviousGtids(set) => assert_eq!(info.replace(['\n', '\r'], ""), set.to_string()),
        EventBody::GtidList(list) => {
            // The server sorts the domains otherwise for display than in the file.
            let shown = info.trim_matches(['[', ']']).split(',').filter(|gtid| !gtid.is_empty());
            let mut shown: Vec<_> = shown.map(|gtid| gtid.parse().unwrap()).collect();
            let mut gtids = list.gtids.clone();
            shown.sort_unstable();
            gtids.sort_unstable();
            assert_eq!(gtids, shown);
        }
        EventBody::BinlogCheckpoint { file } => assert_eq!(info, file),
        EventBody::Rotate(rotate) => assert_eq!(info, format!("{};pos={}", rotate.file, rotate.position)),
        EventBody::Xid(xid) => assert!(info.starts_with(&format!("COMMIT /* xid={xid} */")), "{info}"),
        EventBody::XaPrepare(prepare) => assert!(info.contains(&prepare.xid.to_string()), "{info} {}", prepare.xid),
        EventBody::TableMap(map) => {
            assert!(
                info.starts_with(&format!(
                    "table_id: {} ({}.{}",
                    map.table_id, map.table.name.schema, map.table.name.table
                )),
                "{info}"
            );
        }
        EventBody::Rows(rows) => {
            assert!(info.starts_with(&format!("table_id: {}", rows.table_id)), "{info}");
            assert_eq!(info.contains("STMT_END_F"), rows.flags.statement_end(), "{info}");
        }
        EventBody::Query(query) => {
            let sql = String::from_utf8_lossy(&query.sql).replace('\n', "");
            assert!(info.replace('\n', "").contains(sql.trim()), "{info} does not have {sql}");
        }
        _ => {}
    }
}

#[test]
fn mariadb_events_are_where_the_server_says() {
    for name in ["types", "events", "metadata", "packed", "unchecked"] {
        check_against_list(&format!("mariadb-10.11-{name}"));
        check_against_list(&format!("mariadb-11.8-{name}"));
    }
}

#[test]
fn mysql_events_are_where_the_server_says() {
    for name in ["types", "events", "metadata", "packed", "unchecked", "anonymous"] {
        check_against_list(&format!("mysql-9.7-{name}"));
    }
}

#[test]
fn mariadb_events_say_what_happened() {
    insta::assert_snapshot!("mariadb-10.11", describe_all(&decode_file("mariadb-10.11-events")));
    insta::assert_snapshot!("mariadb-11.8", describe_all(&decode_file("mariadb-11.8-events")));
}

#[test]
fn mysql_events_say_what_happened() {
    insta::assert_snapshot!("mysql-9.7", describe_all(&decode_file("mysql-9.7-events")));
}

#[test]
fn packed_events_are_like_others() {
    insta::assert_snapshot!("packed_mariadb", describe_all(&decode_file("mariadb-10.11-packed")));
    insta::assert_snapshot!("packed_mysql", describe_all(&decode_file("mysql-9.7-packed")));
}

#[test]
fn files_without_checksums_read_the_same() {
    insta::assert_snapshot!("unchecked_mariadb", describe_all(&decode_file("mariadb-10.11-unchecked")));
    insta::assert_snapshot!("unchecked_mysql", describe_all(&decode_file("mysql-9.7-unchecked")));
}

#[test]
fn anonymous_transactions_have_no_gtid() {
    let events = decode_file("mysql-9.7-anonymous");
    let gtids = events.iter().filter_map(|event| match &event.body {
        EventBody::MysqlGtid(gtid) => Some(&gtid.gtid),
        _ => None,
    });
    assert_eq!(gtids.collect::<Vec<_>>(), [&None; 3]);
}

#[test]
fn full_metadata_describes_columns() {
    for name in ["mariadb-10.11", "mariadb-11.8", "mysql-9.7"] {
        let events = decode_file(&format!("{name}-metadata"));
        let described: Vec<_> = events
            .iter()
            .filter_map(|event| match &event.body {
                EventBody::TableMap(map) => Some(format!("{:#?}", map.table.metadata)),
                _ => None,
            })
            .collect();
        let mut different = described.clone();
        different.dedup();
        insta::assert_snapshot!(format!("metadata_{name}"), different.join("\n"));
    }
}

#[test]
fn a_set_with_tags_is_written_as_the_server_writes_it() {
    let mut tagged = 0;
    for (_, raw) in raw_file("mysql-9.7-metadata") {
        if EventHeader::parse(&raw).unwrap().event_type == EventType::PREVIOUS_GTIDS {
            let body = &raw[HEADER_LENGTH..raw.len() - 4];
            let set = crate::model::gtid::MysqlGtidSet::decode(body).unwrap();
            assert_eq!(set.encode(), body);
            tagged += set.iter().filter(|(source, _)| source.tag.is_some()).count();
        }
    }
    assert!(tagged > 0);
}

#[test]
fn a_transaction_has_the_length_that_its_beginning_says() {
    for name in ["types", "events", "packed", "anonymous"] {
        let name = format!("mysql-9.7-{name}");
        let mut decoder = Decoder::new(DecoderOptions::default());
        let mut transactions: Vec<(u64, u64)> = Vec::new();
        for (_, raw) in raw_file(&name) {
            let size = raw.len() as u64;
            let events = decode_one(&mut decoder, raw).unwrap();
            match events.first().map(|event| &event.body) {
                Some(EventBody::MysqlGtid(gtid)) => {
                    transactions.push((gtid.transaction_length.unwrap(), size));
                    assert_eq!(gtid.immediate_server_version, Some(90_704), "{name}");
                    assert_eq!(gtid.original_server_version, Some(90_704), "{name}");
                    assert_eq!(gtid.sequence_number, transactions.len() as i64, "{name}");
                    assert!(gtid.last_committed < gtid.sequence_number, "{name}");
                    assert!(gtid.immediate_commit_us > Some(1_700_000_000_000_000), "{name}");
                    assert_eq!(gtid.immediate_commit_us, gtid.original_commit_us, "{name}");
                }
                Some(EventBody::Rotate(_)) | None => {}
                Some(_) => transactions.iter_mut().last().into_iter().for_each(|(_, found)| *found += size),
            }
        }
        assert!(!transactions.is_empty());
        assert!(transactions.iter().all(|(told, found)| told == found), "{name}: {transactions:?}");
    }
}
