//! The binlog's table maps, held against the catalogue: a row is written into every table, and what the binlog says
//! of the table must be what the catalogue expects.

use std::time::Duration;

use ferrymaster::binlog::{ChecksumAlgorithm, Decoded, Decoder, DecoderOptions, EventBody, TableMap};
use ferrymaster::catalogue::{Catalogue, check};
use ferrymaster::model::{Endpoint, TableName};
use ferrymaster::mysql::{BinlogRequest, BinlogStart, Connection, Deadline, Purpose, open_binlog};
use mysql_async::Row;
use mysql_async::prelude::Queryable;

use crate::server::{Server, Session};

/// What differs between the catalogue and the table maps of rows written now.
pub async fn mismatches(session: &mut Session, catalogue: &Catalogue, schemas: &[&str]) -> String {
    let marker = TableName::new(session.schema.clone(), "zz_marker");
    if session.run(&format!("CREATE TABLE {marker} (a INT)")).await.is_err() {
        session.run(&format!("CREATE DATABASE `{}`", marker.schema)).await.unwrap();
        session.run(&format!("CREATE TABLE {marker} (a INT)")).await.unwrap();
    }
    session.run("SET foreign_key_checks = 0").await.unwrap();
    let start = position(session).await;
    for (table, shape) in catalogue.tables() {
        let write = match (shape.sequence, session.server) {
            (true, _) => format!("SELECT NEXTVAL({table})"),
            (false, _) => format!("INSERT IGNORE INTO {table} () VALUES ()"),
        };
        // a table that takes no such row (a geometry without default) is left out
        let _ = session.run(&write).await;
    }
    session.run(&format!("INSERT INTO {marker} VALUES (1)")).await.unwrap();
    let mut found = String::new();
    for map in table_maps(session, start, &marker).await {
        if !schemas.contains(&map.name.schema.as_str()) {
            continue;
        }
        let Some(shape) = catalogue.table(&map.name) else {
            found.push_str(&format!("{} is logged and not known\n", map.name));
            continue;
        };
        if let Err(mismatch) = check(shape, &map) {
            found.push_str(&format!("{mismatch}\n"));
        }
    }
    found
}

async fn position(session: &mut Session) -> BinlogStart {
    let query = match session.server {
        Server::MariaDb => "SHOW MASTER STATUS",
        Server::MySql => "SHOW BINARY LOG STATUS",
    };
    let row: Row = session.conn.query_first(query).await.unwrap().expect("the test server writes a binlog");
    BinlogStart::Position { file: row.get("File").unwrap(), offset: row.get("Position").unwrap() }
}

/// All table maps from a position up to that of the marker.
async fn table_maps(session: &Session, start: BinlogStart, marker: &TableName) -> Vec<TableMap> {
    let deadline = Deadline::after(Duration::from_secs(60));
    let address = session.server.address();
    let (host, port) = address.rsplit_once(':').expect("an address is host:port");
    let endpoint = Endpoint {
        host: host.to_owned(),
        port: port.parse().unwrap(),
        user: "root".to_owned(),
        password: String::new().into(),
        tls: None,
    };
    let connection = Connection::open(&endpoint, Purpose::Asking, deadline).await.unwrap();
    let flavor = connection.server().flavor;
    // the marker's name is this story's alone
    let server_id = 500_000 + marker.schema.bytes().fold(0, |sum: u32, byte| (sum * 31 + u32::from(byte)) % 1_000_000);
    let request = BinlogRequest { start, server_id, heartbeat: Duration::from_secs(1) };
    let mut stream = open_binlog(&endpoint, flavor, &request, deadline).await.unwrap();
    let mut decoder = Decoder::new(DecoderOptions { checksum: ChecksumAlgorithm::Crc32, ..DecoderOptions::default() });
    let mut maps = Vec::new();
    loop {
        let raw = stream.next(deadline).await.unwrap();
        let Decoded::Event(event) = decoder.decode(raw.0).unwrap() else { continue };
        if let EventBody::TableMap(map) = event.body {
            let map = TableMap::clone(&map.table);
            if map.name == *marker {
                return maps;
            }
            maps.push(map);
        }
    }
}
