//! From which position on a table's events count. Pure.
//!
//! Tables copied from one snapshot begin where replication begins. After a crash in the copy some stand at a later
//! snapshot, so what the binlog says of them before it is in their rows already.

use std::collections::HashMap;

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

/// The floors of all tables: the latest snapshot's for every name, but for tables that were finished before it.
/// A name that the latest snapshot did not show did not exist then, so what the log says of it before is over too.
#[derive(Debug, Clone, Default)]
pub struct Floors {
    latest: Option<Floor>,
    earlier: HashMap<TableName, Floor>,
}

impl Floors {
    /// `latest`: the position of the last snapshot; `earlier`: tables that stand at another one.
    pub fn new<'a>(
        latest: &SourcePosition,
        earlier: impl IntoIterator<Item = (TableName, &'a SourcePosition)>,
    ) -> Self {
        Self {
            latest: Some(Floor::new(latest)),
            earlier: earlier.into_iter().map(|(table, position)| (table, Floor::new(position))).collect(),
        }
    }

    /// Whether the table's rows already hold what the transaction did.
    pub fn hold(&self, table: &TableName, end: &BinlogPosition, gtid: Option<&Gtid>) -> bool {
        let Some(latest) = &self.latest else { return false };
        self.earlier.get(table).unwrap_or(latest).holds(end, gtid)
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

    #[test]
    fn a_table_counts_from_its_own_snapshot_and_an_unknown_name_from_the_latest() {
        let (early, late) = (at(100), at(500));
        let mut floors = Floors::new(&late, [(TableName::new("d", "early"), &early)]);
        let holds = |floors: &Floors, table: &str, offset| {
            floors.hold(&TableName::new("d", table), &BinlogPosition::new("b.000001", offset), None)
        };
        assert!(holds(&floors, "early", 100) && !holds(&floors, "early", 300));
        assert!(holds(&floors, "late", 300) && holds(&floors, "late", 500) && !holds(&floors, "late", 600));
        floors.pass(&BinlogPosition::new("b.000001", 500), None);
        assert!(!floors.is_empty());
        floors.pass(&BinlogPosition::new("b.000001", 600), None);
        assert!(floors.is_empty() && !holds(&floors, "late", 300));
    }

    #[test]
    fn gtids_decide_where_there_are_any() {
        let latest = SourcePosition { gtid: Some("0-1-50".into()), ..at(4) };
        let floors = Floors::new(&latest, []);
        let gtid = |text: &str| text.parse::<Gtid>().expect("a GTID");
        let end = BinlogPosition::new("other.000009", 10);
        assert!(floors.hold(&TableName::new("d", "t"), &end, Some(&gtid("0-1-50"))));
        assert!(!floors.hold(&TableName::new("d", "t"), &end, Some(&gtid("0-1-51"))));
    }
}
