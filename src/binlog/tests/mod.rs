//! Tests over binlogs of real servers (`tests/fixtures/binlog`).

mod describe;
mod events;
mod mutation;
mod stream;
mod values;

use std::collections::HashMap;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;

use super::*;

/// The unpacked bytes of a fixture.
fn fixture(name: &str) -> Vec<u8> {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/binlog").join(name).with_added_extension("gz");
    let packed = std::fs::read(&path).unwrap_or_else(|error| panic!("cannot read {}: {error}", path.display()));
    let mut bytes = Vec::new();
    flate2::read::GzDecoder::new(packed.as_slice()).read_to_end(&mut bytes).unwrap();
    bytes
}

fn fixture_text(name: &str) -> String {
    String::from_utf8_lossy(&fixture(name)).into_owned()
}

/// The raw events that stand one after the other in `bytes`, with their offsets.
fn raw_events(bytes: Vec<u8>, mut offset: usize) -> Vec<(usize, Bytes)> {
    let bytes = Bytes::from(bytes);
    let mut events = Vec::new();
    while offset < bytes.len() {
        let header = EventHeader::parse(&bytes[offset..]).unwrap();
        events.push((offset, bytes.slice(offset..offset + header.event_size as usize)));
        offset += header.event_size as usize;
    }
    events
}

const FILE_MAGIC: &[u8] = b"\xfebin";

fn raw_file(name: &str) -> Vec<(usize, Bytes)> {
    let bytes = fixture(&format!("{name}.binlog"));
    assert!(bytes.starts_with(FILE_MAGIC));
    raw_events(bytes, FILE_MAGIC.len())
}

/// One raw event as one or more typed ones.
fn decode_one(decoder: &mut Decoder, raw: Bytes) -> Result<Vec<Event>, BinlogError> {
    match decoder.decode(raw)? {
        Decoded::Event(event) => Ok(vec![event]),
        Decoded::Payload(mut payload) => {
            let mut events = Vec::new();
            while let Some(event) = decoder.decode_next(&mut payload)? {
                events.push(event);
            }
            Ok(events)
        }
    }
}

/// All events of a file, flat.
fn decode_file(name: &str) -> Vec<Event> {
    let mut decoder = Decoder::new(DecoderOptions::default());
    let events = raw_file(name).into_iter().flat_map(|(offset, raw)| {
        decode_one(&mut decoder, raw).unwrap_or_else(|error| panic!("{name} at {offset}: {error:?}"))
    });
    events.collect()
}

/// Which table a number stands for, as a reader keeps it.
#[derive(Default)]
struct Tables(HashMap<u64, Arc<TableMap>>);

impl Tables {
    fn see(&mut self, event: &Event) {
        if let EventBody::TableMap(map) = &event.body {
            self.0.insert(map.table_id, map.table.clone());
        }
    }

    fn of(&self, rows: &RowsEvent) -> Arc<TableMap> {
        self.0[&rows.table_id].clone()
    }
}

fn text_of(value: &Value<'_>) -> Vec<u8> {
    let mut text = Vec::new();
    value.write_text(&mut text).unwrap();
    text
}
