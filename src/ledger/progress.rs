//! What a lane has applied, and where a new run goes on. Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::model::gtid::{Gtid, GtidSet};
use crate::model::{BinlogPosition, SourcePosition};

/// A source transaction, by an id that is the same when it is read again: its GTID, or its end position where there
/// are none. `origin` is `uuid[:tag]`, `domain-server`, or `@` and the binlog file; `number` the rest.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TransactionId {
    pub origin: std::sync::Arc<str>,
    pub number: u64,
}

/// A set of transactions, as text `origin=1-5.7;other=3`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AppliedSet {
    numbers: BTreeMap<std::sync::Arc<str>, BTreeSet<u64>>,
}

impl AppliedSet {
    pub fn insert(&mut self, id: TransactionId) {
        self.numbers.entry(id.origin).or_default().insert(id.number);
    }

    pub fn contains(&self, id: &TransactionId) -> bool {
        self.numbers.get(&id.origin).is_some_and(|numbers| numbers.contains(&id.number))
    }

    /// Removes it; whether it was there.
    pub fn remove(&mut self, id: &TransactionId) -> bool {
        let Some(numbers) = self.numbers.get_mut(&id.origin) else { return false };
        let was_there = numbers.remove(&id.number);
        if numbers.is_empty() {
            self.numbers.remove(&id.origin);
        }
        was_there
    }

    pub fn len(&self) -> usize {
        self.numbers.values().map(BTreeSet::len).sum()
    }

    pub fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }

    pub fn union(&mut self, other: Self) {
        for (origin, numbers) in other.numbers {
            self.numbers.entry(origin).or_default().extend(numbers);
        }
    }

    /// Forgets what a position has behind it.
    fn forget_before(&mut self, position: &SourcePosition) {
        let gtids: Option<GtidSet> = position.gtid.as_deref().and_then(|text| text.parse().ok());
        self.numbers.retain(|origin, numbers| {
            numbers.retain(|&number| match (origin.strip_prefix('@'), &gtids) {
                // such an id is the place where the transaction begins
                (Some(file), _) => BinlogPosition::new(file, number) >= position.binlog,
                (None, Some(gtids)) => !gtid_of(origin, number).is_some_and(|gtid| gtids.contains(&gtid)),
                (None, None) => true,
            });
            !numbers.is_empty()
        });
    }

    /// Reads the text form; None when it is not one.
    pub fn parse(text: &str) -> Option<Self> {
        let mut set = Self::default();
        for part in text.split(';').filter(|part| !part.is_empty()) {
            let (origin, runs) = part.rsplit_once('=')?;
            let numbers = set.numbers.entry(origin.into()).or_default();
            for run in runs.split('.') {
                match run.split_once('-') {
                    Some((first, last)) => {
                        let (first, last) = (first.parse::<u64>().ok()?, last.parse::<u64>().ok()?);
                        // A lane's set is bounded when written; a text that claims more is not ours.
                        if last < first || last - first > 1_000_000 {
                            return None;
                        }
                        numbers.extend(first..=last);
                    }
                    None => {
                        numbers.insert(run.parse().ok()?);
                    }
                }
            }
        }
        Some(set)
    }
}

impl fmt::Display for AppliedSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (origin, numbers)) in self.numbers.iter().enumerate() {
            if index > 0 {
                f.write_str(";")?;
            }
            write!(f, "{origin}=")?;
            let mut runs = runs(numbers).peekable();
            while let Some((first, last)) = runs.next() {
                if first == last {
                    write!(f, "{first}")?;
                } else {
                    write!(f, "{first}-{last}")?;
                }
                if runs.peek().is_some() {
                    f.write_str(".")?;
                }
            }
        }
        Ok(())
    }
}

/// Neighbouring numbers, gathered into (first, last).
fn runs(numbers: &BTreeSet<u64>) -> impl Iterator<Item = (u64, u64)> {
    let mut rest = numbers.iter().copied().peekable();
    std::iter::from_fn(move || {
        let first = rest.next()?;
        let mut last = first;
        while rest.next_if(|&next| last.checked_add(1) == Some(next)).is_some() {
            last += 1;
        }
        Some((first, last))
    })
}

/// `uuid[:tag]` and 5 are `uuid[:tag]:5`, `0-1` and 42 are `0-1-42`.
fn gtid_of(origin: &str, number: u64) -> Option<Gtid> {
    [':', '-'].into_iter().find_map(|separator| format!("{origin}{separator}{number}").parse().ok())
}

/// What earlier runs had applied above the low-water that this run begins at. Their lanes' lines are written anew by
/// this run, so the control lane's line names all of it until the low-water has passed the last.
#[derive(Debug, Default)]
pub struct Inherited {
    all: AppliedSet,
    unread: AppliedSet,
    /// The highest number given to one of them in this run.
    last: u64,
}

impl Inherited {
    pub fn new(applied: AppliedSet) -> Self {
        Self { unread: applied.clone(), all: applied, last: 0 }
    }

    /// Whether the transaction that is read now is one of them.
    pub fn holds(&mut self, id: &TransactionId) -> bool {
        self.unread.remove(id)
    }

    /// One that this run has applied beside its lanes, under this number.
    pub fn add(&mut self, id: TransactionId, number: u64) {
        self.all.insert(id);
        self.passed(number);
    }

    /// One of them was passed over under this number.
    pub fn passed(&mut self, number: u64) {
        self.last = self.last.max(number);
    }

    /// What must still be written beside a low-water.
    pub fn above(&mut self, low_water: &LowWater) -> &AppliedSet {
        if self.unread.is_empty() && low_water.number >= self.last {
            self.all = AppliedSet::default();
        }
        &self.all
    }
}

/// Everything before `position` is in the target; of the transaction that begins there, the first `parts` parts too
/// (a CREATE … SELECT is a DDL and rows in one transaction, and each is applied on its own).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LowWater {
    /// How many source transactions this ledger has passed; grows with the position and is compared instead of it.
    pub number: u64,
    pub position: SourcePosition,
    #[serde(default)]
    pub parts: u32,
}

/// One lane's line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaneLine {
    pub lane: String,
    pub low_water: Option<LowWater>,
    /// What this lane has applied above its low-water.
    pub applied: AppliedSet,
}

/// Where to read on, and what to pass over because it is in the target already.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resume {
    pub low_water: LowWater,
    pub applied: AppliedSet,
}

/// The highest low-water of all lines, less the union of their sets. None: no lane has written yet.
///
/// A set may name transactions below the highest low-water: its lane did not commit again after they were passed.
/// They are never read again, and are left out.
pub fn resume(lines: &[LaneLine]) -> Option<Resume> {
    let low_water = lines
        .iter()
        .filter_map(|line| line.low_water.as_ref())
        .max_by_key(|low_water| (low_water.number, low_water.parts))?
        .clone();
    let mut applied = AppliedSet::default();
    for line in lines {
        applied.union(line.applied.clone());
    }
    applied.forget_before(&low_water.position);
    Some(Resume { low_water, applied })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::BinlogPosition;

    fn id(origin: &str, number: u64) -> TransactionId {
        TransactionId { origin: origin.into(), number }
    }

    fn low(number: u64) -> LowWater {
        let position = SourcePosition { binlog: BinlogPosition::new("b.000001", number * 100), gtid: None };
        LowWater { number, position, parts: 0 }
    }

    fn applied(ids: &[(&str, u64)]) -> AppliedSet {
        let mut set = AppliedSet::default();
        ids.iter().for_each(|&(origin, number)| set.insert(id(origin, number)));
        set
    }

    #[test]
    fn what_an_earlier_run_had_applied_is_written_until_all_of_it_is_passed() {
        let mut inherited = Inherited::new(applied(&[("0-1", 103), ("0-1", 105)]));
        assert_eq!(inherited.above(&low(100)).len(), 2);
        assert!(inherited.holds(&id("0-1", 103)) && !inherited.holds(&id("0-1", 104)));
        inherited.passed(3);
        // A crash now reads 103 again: it must still be known.
        assert_eq!(inherited.above(&low(100)).len(), 2);
        assert!(inherited.holds(&id("0-1", 105)));
        inherited.passed(5);
        assert_eq!(inherited.above(&low(4)).len(), 2);
        assert!(inherited.above(&low(5)).is_empty());
    }

    #[test]
    fn a_resume_forgets_what_its_position_has_behind_it() {
        let line = |lane: &str, low_water: LowWater, set: AppliedSet| LaneLine {
            lane: lane.to_owned(),
            low_water: Some(low_water),
            applied: set,
        };
        let mariadb = LowWater {
            position: SourcePosition { gtid: Some("0-1-104,1-1-7".to_owned()), ..low(4).position },
            ..low(4)
        };
        let lines = [
            line("apply0", low(2), applied(&[("0-1", 103), ("0-1", 105), ("1-1", 7), ("2-1", 1)])),
            line("apply1", mariadb, AppliedSet::default()),
        ];
        assert_eq!(resume(&lines).unwrap().applied, applied(&[("0-1", 105), ("2-1", 1)]));
        let places = applied(&[("@b.000001", 399), ("@b.000001", 400), ("@b.000002", 4)]);
        let lines = [line("apply0", low(3), places), line("apply1", low(4), AppliedSet::default())];
        assert_eq!(resume(&lines).unwrap().applied, applied(&[("@b.000001", 400), ("@b.000002", 4)]));
        let uuid = "3e11fa47-71ca-11e1-9e33-c80aa9429562";
        let mysql =
            LowWater { position: SourcePosition { gtid: Some(format!("{uuid}:1-6")), ..low(4).position }, ..low(4) };
        let lines = [line("apply0", mysql, applied(&[(uuid, 6), (uuid, 8)]))];
        assert_eq!(resume(&lines).unwrap().applied, applied(&[(uuid, 8)]));
    }

    #[test]
    fn sets_read_back_what_they_write() {
        let mut set = AppliedSet::default();
        for number in [5, 1, 2, 3, 9] {
            set.insert(id("0-1", number));
        }
        set.insert(id("3e11fa47-71ca-11e1-9e33-c80aa9429562:tag", 7));
        set.insert(id("@bin=x.000001", 4_294_967_400));
        let text = set.to_string();
        assert_eq!(text, "0-1=1-3.5.9;3e11fa47-71ca-11e1-9e33-c80aa9429562:tag=7;@bin=x.000001=4294967400");
        assert_eq!(AppliedSet::parse(&text), Some(set));
        assert_eq!(AppliedSet::parse(""), Some(AppliedSet::default()));
        for wrong in ["x", "a=", "a=1-", "a=3-1", "a=1-99999999", "a=1;;b=x"] {
            assert_eq!(AppliedSet::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_resume_takes_the_highest_low_water_and_every_lane_s_set() {
        let mut ahead = AppliedSet::default();
        ahead.insert(id("0-1", 12));
        let mut behind = AppliedSet::default();
        behind.insert(id("0-1", 8));
        let lines = [
            LaneLine { lane: "r0".into(), low_water: Some(low(10)), applied: ahead },
            LaneLine { lane: "r1".into(), low_water: Some(low(5)), applied: behind },
            LaneLine { lane: "r2".into(), low_water: None, applied: AppliedSet::default() },
        ];
        let found = resume(&lines).expect("two lanes have written");
        assert_eq!(found.low_water, low(10));
        assert!(found.applied.contains(&id("0-1", 12)) && found.applied.contains(&id("0-1", 8)));
        assert_eq!(resume(&lines[2..]), None);
    }
}
