//! Damaged events whose checksums are right all the same: an event or an error, never a panic.

use proptest::prelude::*;
use proptest::sample::Index;

use super::*;

const FILES: [&str; 9] = [
    "mariadb-10.11-types",
    "mariadb-10.11-events",
    "mariadb-10.11-metadata",
    "mariadb-10.11-packed",
    "mariadb-11.8-events",
    "mysql-9.7-types",
    "mysql-9.7-events",
    "mysql-9.7-metadata",
    "mysql-9.7-packed",
];

/// Makes size and checksum fit the bytes.
fn repaired(mut raw: Vec<u8>) -> Bytes {
    raw.truncate(raw.len() - 4);
    if raw.len() >= HEADER_LENGTH {
        let size = (raw.len() + 4) as u32;
        raw[9..13].copy_from_slice(&size.to_le_bytes());
    }
    let crc = crc32fast::hash(&raw);
    raw.extend(crc.to_le_bytes());
    Bytes::from(raw)
}

/// Decodes all there is of an event, rows and their texts included.
fn decode_fully(decoder: &mut Decoder, tables: &mut Tables, raw: Bytes) {
    let Ok(events) = decode_one(decoder, raw) else { return };
    for event in events {
        tables.see(&event);
        let EventBody::Rows(rows) = &event.body else { continue };
        // Any table may stand behind the number of a damaged event.
        for table in tables.0.values() {
            let Ok(plan) = TablePlan::of_description(table.clone()) else { continue };
            let Ok(mut reader) = rows.rows(&plan) else { continue };
            let mut text = Vec::new();
            while let Ok(Some(change)) = reader.next_row() {
                for value in [change.before, change.after].into_iter().flatten().flatten() {
                    let _ = value.write_text(&mut text);
                }
            }
        }
    }
}

/// A change of an event.
#[derive(Debug, Clone)]
enum Damage {
    Flip(Index, u8),
    Set(Index, u8),
    Cut(Index),
    Repeat(Index, usize),
}

fn damage() -> impl Strategy<Value = Damage> {
    prop_oneof![
        4 => (any::<Index>(), 0u8..8).prop_map(|(at, bit)| Damage::Flip(at, 1 << bit)),
        3 => (any::<Index>(), prop::sample::select(vec![0, 1, 250, 251, 252, 253, 254, 255])).prop_map(|(at, byte)| Damage::Set(at, byte)),
        2 => any::<Index>().prop_map(Damage::Cut),
        1 => (any::<Index>(), 1usize..40).prop_map(|(at, count)| Damage::Repeat(at, count)),
    ]
}

fn damaged(raw: &Bytes, damages: &[Damage]) -> Bytes {
    let mut raw = raw.to_vec();
    for damage in damages {
        // The header's kind and flags may change too; the first bytes (the time) are of no interest.
        let place = |at: &Index, length: usize| 4 + at.index(length - 4);
        match damage {
            Damage::Flip(at, bits) => {
                let place = place(at, raw.len());
                raw[place] ^= bits;
            }
            Damage::Set(at, byte) => {
                let place = place(at, raw.len());
                raw[place] = *byte;
            }
            Damage::Cut(at) => raw.truncate(place(at, raw.len()).max(8)),
            Damage::Repeat(at, count) => {
                let place = place(at, raw.len());
                let byte = raw[place];
                raw.splice(place..place, vec![byte; *count]);
            }
        }
    }
    repaired(raw)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    #[test]
    fn damaged_events_give_an_event_or_an_error(
        file in prop::sample::select(FILES.to_vec()),
        damages in prop::collection::vec((any::<Index>(), prop::collection::vec(damage(), 1..4)), 1..6),
    ) {
        thread_local! {
            static LOADED: std::cell::RefCell<HashMap<&'static str, Vec<(usize, Bytes)>>> = std::cell::RefCell::default();
        }
        let mut raw = LOADED.with_borrow_mut(|loaded| loaded.entry(file).or_insert_with(|| raw_file(file)).clone());
        let count = raw.len();
        for (at, damages) in &damages {
            let event = &mut raw[at.index(count)].1;
            *event = damaged(event, damages);
        }
        let mut decoder = Decoder::new(DecoderOptions::default());
        let mut tables = Tables::default();
        for (_, raw) in raw {
            decode_fully(&mut decoder, &mut tables, raw);
        }
    }
}

#[test]
fn every_cut_of_every_event_gives_an_event_or_an_error() {
    for file in FILES {
        let mut decoder = Decoder::new(DecoderOptions::default());
        let mut tables = Tables::default();
        for (_, raw) in raw_file(file) {
            // Long events are cut at their ends only: their middles are alike.
            for length in (8..raw.len()).filter(|length| *length < 600 || raw.len() - length < 100) {
                decode_fully(&mut decoder, &mut tables, repaired(raw[..length].to_vec()));
            }
            decode_fully(&mut decoder, &mut tables, raw);
        }
    }
}
