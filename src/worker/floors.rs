//! From the ledger's lines to the positions that tables, and stretches of tables, stand at. Pure.

use std::collections::{BTreeMap, BTreeSet};

use super::copy::remainder::{IntegerKey, integer_key};
use super::copy::transfer;
use crate::catalogue::StoredShape;
use crate::ledger::{CopiedRange, CopiedTable, Found};
use crate::model::SourcePosition;
use crate::replicate::floors::{Floors, Stretches};

/// Floors are needed only while tables stand at several positions.
pub fn floors(found: &Found) -> Floors {
    let snapshots = &found.snapshots;
    let (Some(latest), true) = (snapshots.iter().max_by_key(|snapshot| snapshot.number), snapshots.len() > 1) else {
        return Floors::default();
    };
    let mut floors = Floors::new(&latest.position);
    let mut by_table: BTreeMap<u32, Vec<&CopiedRange>> = BTreeMap::new();
    for range in &found.ranges {
        by_table.entry(range.table_number).or_default().push(range);
    }
    for table in &found.tables {
        let ranges = by_table.remove(&table.number).unwrap_or_default();
        let Some(highest) = position_of(found, table.snapshot) else { continue };
        if ranges.iter().any(|range| range.snapshot != table.snapshot) {
            floors.set_stretches(table.source.clone(), highest, stretches(found, table, &ranges));
        } else if table.snapshot != latest.number {
            floors.set(table.source.clone(), highest);
        }
    }
    floors
}

/// The numbers of the snapshots that rows in the target were read from.
pub fn snapshots_in_use(found: &Found) -> BTreeSet<u32> {
    let of_ranges = found.ranges.iter().map(|range| range.snapshot);
    found.tables.iter().map(|table| table.snapshot).chain(of_ranges).collect()
}

fn position_of(found: &Found, number: u32) -> Option<&SourcePosition> {
    found.snapshots.iter().find(|snapshot| snapshot.number == number).map(|snapshot| &snapshot.position)
}

fn stretches(found: &Found, table: &CopiedTable, ranges: &[&CopiedRange]) -> Stretches {
    let shape = found.structures.iter().find(|saved| saved.name == table.source);
    let shape = shape.and_then(|saved| StoredShape::from_json(&saved.structure).ok());
    // A statement behind all of the table's positions may have changed the key; it is not asked for any more then.
    let key = shape.and_then(|shape| transfer::integer_key(&shape)).unwrap_or_default();
    let bound = |text: &Option<String>| -> Option<IntegerKey> { text.as_deref().and_then(integer_key) };
    let mut ranges: Vec<_> = ranges
        .iter()
        .filter_map(|range| {
            Some((bound(&range.lower), (bound(&range.upper), position_of(found, range.snapshot)?.clone())))
        })
        .collect();
    ranges.sort_by(|one, other| one.0.cmp(&other.0));
    Stretches { key, ranges: ranges.into_iter().map(|(_, range)| range).collect() }
}
