//! Up to where everything is in the target. Pure.
//!
//! Transactions are taken on in the source's order and finished in any; the low-water is the end of the longest
//! stretch from the beginning of which all are finished. It is what a lane writes beside its rows, and where a new
//! run begins to read.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::ledger::LowWater;
use crate::model::gtid::{Gtid, GtidSet};
use crate::model::{BinlogPosition, SourcePosition};

/// Where a transaction ends.
#[derive(Debug, Clone)]
pub struct End {
    pub file: Arc<str>,
    pub offset: u64,
    pub gtid: Option<Gtid>,
    /// Seconds of the source's clock when it was committed.
    pub committed_s: u32,
}

#[derive(Debug)]
struct Entry {
    end: End,
    finished: bool,
}

/// Holds what is under way; its length is bounded by whoever takes transactions on.
#[derive(Debug)]
pub struct Tracker {
    /// The number of the first entry, less one: all up to here are finished.
    number: u64,
    binlog: BinlogPosition,
    /// Everything up to the low-water, where the source has GTIDs.
    gtids: Option<GtidSet>,
    parts: u32,
    entries: VecDeque<Entry>,
    /// The commit time of the transaction at the low-water.
    committed_s: u32,
}

impl Tracker {
    /// Begins at a position that everything before is in the target of.
    pub fn new(from: &LowWater) -> Self {
        Self {
            number: from.number,
            binlog: from.position.binlog.clone(),
            gtids: from.position.gtid.as_deref().and_then(|text| text.parse().ok()),
            parts: from.parts,
            entries: VecDeque::new(),
            committed_s: 0,
        }
    }

    /// Takes on the next transaction and gives it its number.
    pub fn take_on(&mut self, end: End) -> u64 {
        self.entries.push_back(Entry { end, finished: false });
        self.number + self.entries.len() as u64
    }

    /// The number the next transaction gets.
    pub fn next_number(&self) -> u64 {
        self.number + self.entries.len() as u64 + 1
    }

    /// Marks transactions as committed in the target, or as needing nothing there.
    pub fn finish(&mut self, numbers: impl IntoIterator<Item = u64>) {
        for number in numbers {
            let Some(index) = number.checked_sub(self.number + 1) else { continue };
            if let Some(entry) = usize::try_from(index).ok().and_then(|index| self.entries.get_mut(index)) {
                entry.finished = true;
            }
        }
        while let Some(entry) = self.entries.pop_front_if(|entry| entry.finished) {
            self.pass(&entry.end);
        }
    }

    fn pass(&mut self, end: &End) {
        self.number += 1;
        self.parts = 0;
        if self.binlog.file.as_str() != &*end.file {
            end.file.as_ref().clone_into(&mut self.binlog.file);
        }
        self.binlog.offset = end.offset;
        self.committed_s = end.committed_s;
        // A run that does not know what was before it cannot know the set: only what it has seen would be in it, and a
        // start by that set would read everything else again.
        if let (Some(set), Some(gtid)) = (&mut self.gtids, &end.gtid) {
            // Families never mix within a stream; a set that refuses would be one of another source, which the
            // opening has ruled out.
            let _ = set.advance(gtid);
        }
    }

    /// Moves the low-water to a place between transactions where nothing is under way: a rotation, a stretch of
    /// events that no task needs. Never back within a file: a stream by GTID begins with the head of the file, although
    /// what is sent begins later.
    pub fn skip_to(&mut self, binlog: BinlogPosition) {
        let is_back = binlog.file == self.binlog.file && binlog.offset < self.binlog.offset;
        if self.entries.is_empty() && self.parts == 0 && !is_back {
            self.binlog = binlog;
        }
    }

    /// The first `parts` parts of the transaction after the low-water are in the target.
    pub fn set_parts(&mut self, parts: u32) {
        self.parts = parts;
    }

    pub fn is_finished(&self, number: u64) -> bool {
        match number.checked_sub(self.number + 1) {
            None => true,
            Some(index) => usize::try_from(index)
                .ok()
                .and_then(|index| self.entries.get(index))
                .is_some_and(|entry| entry.finished),
        }
    }

    /// Whether nothing is under way.
    pub fn is_idle(&self) -> bool {
        self.entries.is_empty()
    }

    pub fn under_way(&self) -> usize {
        self.entries.len()
    }

    pub fn number(&self) -> u64 {
        self.number
    }

    /// The commit time, at the source, of the oldest transaction that is not yet in the target.
    pub fn oldest_under_way_s(&self) -> Option<u32> {
        self.entries.front().map(|entry| entry.end.committed_s)
    }

    /// The low-water once the next transaction, which ends here, is finished too and nothing else is under way.
    pub fn low_water_after(&self, end: &End) -> LowWater {
        let mut gtids = self.gtids.clone();
        if let (Some(set), Some(gtid)) = (&mut gtids, &end.gtid) {
            let _ = set.advance(gtid);
        }
        LowWater {
            number: self.number + 1,
            position: SourcePosition {
                binlog: BinlogPosition::new(&*end.file, end.offset),
                gtid: gtids.as_ref().map(ToString::to_string),
            },
            parts: 0,
        }
    }

    pub fn low_water(&self) -> LowWater {
        LowWater {
            number: self.number,
            position: SourcePosition {
                binlog: self.binlog.clone(),
                gtid: self.gtids.as_ref().map(ToString::to_string),
            },
            parts: self.parts,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start() -> LowWater {
        let position = SourcePosition { binlog: BinlogPosition::new("b.000001", 4), gtid: Some("0-1-10".into()) };
        LowWater { number: 100, position, parts: 0 }
    }

    fn end(offset: u64, sequence: u64) -> End {
        End {
            file: "b.000001".into(),
            offset,
            gtid: Some(format!("0-1-{sequence}").parse().expect("a GTID")),
            committed_s: 7,
        }
    }

    #[test]
    fn the_low_water_never_passes_what_is_under_way() {
        let mut tracker = Tracker::new(&start());
        let numbers: Vec<u64> = (1..=3).map(|i| tracker.take_on(end(i * 100, 10 + i))).collect();
        assert_eq!(numbers, [101, 102, 103]);
        tracker.finish([103, 102]);
        assert_eq!(tracker.low_water(), start());
        assert!(tracker.is_finished(102) && !tracker.is_finished(101) && !tracker.is_finished(104));
        tracker.finish([101]);
        let low_water = tracker.low_water();
        assert_eq!((low_water.number, low_water.position.binlog.offset), (103, 300));
        assert_eq!(low_water.position.gtid.as_deref(), Some("0-1-13"));
        assert!(tracker.is_idle() && tracker.is_finished(101));
    }

    #[test]
    fn a_set_whose_beginning_is_not_known_is_not_begun() {
        let position = SourcePosition { gtid: None, ..start().position };
        let mut tracker = Tracker::new(&LowWater { position, ..start() });
        let number = tracker.take_on(end(200, 11));
        tracker.finish([number]);
        assert_eq!(tracker.low_water().position.gtid, None);
    }

    #[test]
    fn parts_belong_to_the_next_transaction_only() {
        let mut tracker = Tracker::new(&start());
        tracker.set_parts(1);
        assert_eq!(tracker.low_water().parts, 1);
        let number = tracker.take_on(end(200, 11));
        tracker.finish([number]);
        assert_eq!(tracker.low_water().parts, 0);
    }

    #[test]
    fn a_quiet_place_moves_the_low_water_only_when_nothing_is_under_way() {
        let mut tracker = Tracker::new(&start());
        tracker.skip_to(BinlogPosition::new("b.000002", 4));
        assert_eq!(tracker.low_water().position.binlog, BinlogPosition::new("b.000002", 4));
        let number = tracker.take_on(end(300, 11));
        tracker.skip_to(BinlogPosition::new("b.000003", 4));
        assert_eq!(tracker.low_water().position.binlog, BinlogPosition::new("b.000002", 4));
        tracker.finish([number]);
        tracker.skip_to(BinlogPosition::new("b.000003", 4));
        tracker.skip_to(BinlogPosition::new("b.000003", 900));
        tracker.skip_to(BinlogPosition::new("b.000003", 4));
        assert_eq!(tracker.low_water().position.binlog, BinlogPosition::new("b.000003", 900));
        tracker.skip_to(BinlogPosition::new("b.000004", 4));
        assert_eq!(tracker.low_water().position.binlog, BinlogPosition::new("b.000004", 4));
    }
}
