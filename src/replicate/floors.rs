//! From which position on a table's events count. Pure.
//!
//! Tables copied from one snapshot begin where replication begins. After a crash in the copy some stand at a later
//! snapshot, and of a table that was half copied some stretches of its key: what the binlog says of them before it is
//! in their rows already.

use std::collections::HashMap;
use std::sync::Arc;

use crate::model::gtid::{Gtid, GtidSet};
use crate::model::{BinlogPosition, SourcePosition, TableName};

/// A place that some rows already stand at.
#[derive(Debug, Clone)]
struct Floor {
    binlog: BinlogPosition,
    gtids: Option<GtidSet>,
}

impl Floor {
    fn new(position: &SourcePosition) -> Self {
        Self {
            binlog: position.binlog.clone(),
            gtids: position.gtid.as_deref().and_then(|text| text.parse().ok()).filter(|set: &GtidSet| !set.is_empty()),
        }
    }

    /// Whether the transaction is before it.
    fn holds(&self, end: &BinlogPosition, gtid: Option<&Gtid>) -> bool {
        match (&self.gtids, gtid) {
            (Some(gtids), Some(gtid)) => gtids.contains(gtid),
            _ => *end <= self.binlog,
        }
    }
}

/// A table whose rows were read from several snapshots, by the ranges of its integer key.
#[derive(Debug, Clone)]
pub struct Stretches {
    /// The key's columns; empty: the table's structure has no such key any more.
    pub key: Vec<String>,
    /// In the key's order: up to which key, and the position that the rows there stand at. No bound is after all.
    pub ranges: Vec<(Option<Vec<i128>>, SourcePosition)>,
}

#[derive(Debug, Clone)]
struct TableFloors {
    /// What decides about the table as a whole.
    highest: Floor,
    /// Empty: all rows stand at `highest`.
    ranges: Arc<[(Option<Vec<i128>>, Floor)]>,
    key: Arc<[String]>,
}

impl TableFloors {
    fn at(position: &SourcePosition) -> Self {
        Self { highest: Floor::new(position), ranges: Arc::from([]), key: Arc::from([]) }
    }

    fn by_stretches(highest: &SourcePosition, stretches: Stretches) -> Self {
        let ranges = stretches.ranges.into_iter().map(|(upper, position)| (upper, Floor::new(&position))).collect();
        Self { highest: Floor::new(highest), ranges, key: stretches.key.into() }
    }
}

/// Which rows of an event count.
#[derive(Debug, Clone)]
pub enum Counting {
    All,
    None,
    /// Some do: each is judged by its key.
    ByKey(ByKey),
}

/// Judges rows of one transaction in a table with several floors.
#[derive(Debug, Clone)]
pub struct ByKey {
    ranges: Arc<[(Option<Vec<i128>>, Floor)]>,
    /// For each range, whether its rows hold the transaction already.
    held: Vec<bool>,
    /// The key's columns.
    pub key: Arc<[String]>,
}

impl ByKey {
    /// Whether a change of the row with this key counts.
    pub fn counts(&self, key: &[i128]) -> bool {
        let index =
            self.ranges.partition_point(|(upper, _)| upper.as_ref().is_some_and(|upper| upper.as_slice() < key));
        !self.held.get(index).copied().unwrap_or(false)
    }
}

/// The floors of all tables: the latest snapshot's for every name, but for tables that were begun before it.
/// A name that the latest snapshot did not show did not exist then, so what the log says of it before is over too.
#[derive(Debug, Clone, Default)]
pub struct Floors {
    latest: Option<Floor>,
    tables: HashMap<TableName, TableFloors>,
}

impl Floors {
    /// `latest`: the position of the last snapshot.
    pub fn new(latest: &SourcePosition) -> Self {
        Self { latest: Some(Floor::new(latest)), tables: HashMap::new() }
    }

    /// A table that stands at another position than the latest.
    pub fn set(&mut self, table: TableName, position: &SourcePosition) {
        self.tables.insert(table, TableFloors::at(position));
    }

    /// A table whose stretches stand at several positions, the last of them `highest`.
    pub fn set_stretches(&mut self, table: TableName, highest: &SourcePosition, stretches: Stretches) {
        self.tables.insert(table, TableFloors::by_stretches(highest, stretches));
    }

    /// Whether the table as a whole, its structure above all, already holds what the transaction did.
    pub fn hold(&self, table: &TableName, end: &BinlogPosition, gtid: Option<&Gtid>) -> bool {
        let Some(latest) = &self.latest else { return false };
        self.tables.get(table).map_or(latest, |floors| &floors.highest).holds(end, gtid)
    }

    /// Which of the table's rows the transaction's changes are still to be applied to.
    pub fn counting(&self, table: &TableName, end: &BinlogPosition, gtid: Option<&Gtid>) -> Counting {
        let Some(latest) = &self.latest else { return Counting::All };
        let (highest, floors) = match self.tables.get(table) {
            Some(floors) => (&floors.highest, Some(floors).filter(|floors| !floors.ranges.is_empty())),
            None => (latest, None),
        };
        match floors {
            _ if !highest.holds(end, gtid) => Counting::All,
            None => Counting::None,
            Some(floors) => {
                let held: Vec<bool> = floors.ranges.iter().map(|(_, floor)| floor.holds(end, gtid)).collect();
                if held.iter().all(|held| *held) {
                    return Counting::None;
                }
                Counting::ByKey(ByKey { ranges: Arc::clone(&floors.ranges), held, key: Arc::clone(&floors.key) })
            }
        }
    }

    /// Whether databases, and names nobody has copied, already stand after the transaction.
    pub fn hold_others(&self, end: &BinlogPosition, gtid: Option<&Gtid>) -> bool {
        self.latest.as_ref().is_some_and(|latest| latest.holds(end, gtid))
    }

    pub fn is_empty(&self) -> bool {
        self.latest.is_none()
    }

    /// Forgets all floors once the stream is past the highest.
    pub fn pass(&mut self, end: &BinlogPosition, gtid: Option<&Gtid>) {
        if self.latest.as_ref().is_some_and(|latest| !latest.holds(end, gtid)) {
            *self = Self::default();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(offset: u64) -> SourcePosition {
        SourcePosition { binlog: BinlogPosition::new("b.000001", offset), gtid: None }
    }

    fn end(offset: u64) -> BinlogPosition {
        BinlogPosition::new("b.000001", offset)
    }

    #[test]
    fn a_table_counts_from_its_own_snapshot_and_an_unknown_name_from_the_latest() {
        let mut floors = Floors::new(&at(500));
        floors.set(TableName::new("d", "early"), &at(100));
        let holds = |floors: &Floors, table: &str, offset| floors.hold(&TableName::new("d", table), &end(offset), None);
        assert!(holds(&floors, "early", 100) && !holds(&floors, "early", 300));
        assert!(holds(&floors, "late", 300) && holds(&floors, "late", 500) && !holds(&floors, "late", 600));
        floors.pass(&end(500), None);
        assert!(!floors.is_empty());
        floors.pass(&end(600), None);
        assert!(floors.is_empty() && !holds(&floors, "late", 300));
    }

    #[test]
    fn rows_of_a_half_copied_table_count_from_the_snapshot_of_their_stretch() {
        let table = TableName::new("d", "half");
        let mut floors = Floors::new(&at(500));
        let ranges = vec![(Some(vec![10]), at(100)), (Some(vec![20]), at(300)), (None, at(200))];
        floors.set_stretches(table.clone(), &at(300), Stretches { key: vec!["id".to_owned()], ranges });
        assert!(matches!(floors.counting(&table, &end(100), None), Counting::None));
        assert!(matches!(floors.counting(&table, &end(400), None), Counting::All));
        let Counting::ByKey(rows) = floors.counting(&table, &end(150), None) else { panic!("not by key") };
        assert_eq!([-3, 10, 11, 20, 21].map(|key| rows.counts(&[key])), [true, true, false, false, false]);
        let Counting::ByKey(rows) = floors.counting(&table, &end(250), None) else { panic!("not by key") };
        assert_eq!([-3, 10, 11, 20, 21].map(|key| rows.counts(&[key])), [true, true, false, false, true]);
        assert!(floors.hold(&table, &end(300), None) && !floors.hold(&table, &end(301), None));
    }

    #[test]
    fn gtids_decide_where_there_are_any() {
        let latest = SourcePosition { gtid: Some("0-1-50".into()), ..at(4) };
        let floors = Floors::new(&latest);
        let gtid = |text: &str| text.parse::<Gtid>().expect("a GTID");
        let end = BinlogPosition::new("other.000009", 10);
        assert!(floors.hold(&TableName::new("d", "t"), &end, Some(&gtid("0-1-50"))));
        assert!(!floors.hold(&TableName::new("d", "t"), &end, Some(&gtid("0-1-51"))));
    }
}
