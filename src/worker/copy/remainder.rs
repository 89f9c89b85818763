//! What of a half-copied table is in the target, and which stretches of its key are missing. Pure.
//!
//! Only for keys of integers: those are compared here exactly as the server does.

use crate::ledger::{CopiedRange, Snapshot};
use crate::snapshot::select::KeyValues;
use crate::snapshot::split::KeyRange;

/// A key of integers. Several columns are compared one after the other.
pub type IntegerKey = Vec<i128>;

/// A half-copied table, ready to be gone on with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remainder {
    /// The stretches that are there, each cut off where its reading had got to.
    pub copied: Vec<CopiedRange>,
    /// What is left, with numbers that no line has yet.
    pub missing: Vec<(u32, KeyRange)>,
}

impl Remainder {
    pub fn rows(&self) -> u64 {
        self.copied.iter().map(|range| range.rows).sum()
    }

    pub fn bytes(&self) -> u64 {
        self.copied.iter().map(|range| range.bytes).sum()
    }

    /// The oldest of the snapshots that rows were read from.
    pub fn oldest<'a>(&self, snapshots: &'a [Snapshot]) -> Option<&'a Snapshot> {
        let number = self.copied.iter().map(|range| range.snapshot).min()?;
        snapshots.iter().find(|snapshot| snapshot.number == number)
    }
}

/// Works out what is left of a table from its lines in the ledger. None: nothing of it is there, or a bound is not of
/// integers.
pub fn remainder(lines: &[CopiedRange]) -> Option<Remainder> {
    let mut stretches = Vec::new();
    for line in lines {
        let upper = if line.done { line.upper.clone() } else { line.reached.clone() };
        if !line.done && upper.is_none() {
            continue;
        }
        let range = CopiedRange { upper, reached: None, done: true, ..line.clone() };
        stretches.push((bound(range.lower.as_deref())?, bound(range.upper.as_deref())?, range));
    }
    // No lower bound is before every other.
    stretches.sort_by(|one, other| one.0.cmp(&other.0));
    let mut number = lines.iter().map(|line| line.number).max()?.checked_add(1)?;
    let mut missing = Vec::new();
    let mut add = |lower: Option<IntegerKey>, upper: Option<IntegerKey>| {
        missing.push((number, KeyRange { lower: lower.map(values), upper: upper.map(values) }));
        number = number.saturating_add(1);
    };
    let mut end = None;
    let mut is_whole = false;
    for (index, (lower, upper, _)) in stretches.iter().enumerate() {
        let adjoins = *lower == end && (index > 0 || lower.is_none());
        if !adjoins {
            add(end.take(), lower.clone());
        }
        is_whole = upper.is_none();
        end.clone_from(upper);
    }
    if stretches.is_empty() {
        return None;
    }
    if !is_whole {
        add(end, None);
    }
    Some(Remainder { copied: stretches.into_iter().map(|(_, _, range)| range).collect(), missing })
}

/// A bound of the ledger: none, or a JSON array of decimal numbers. None: something else.
#[expect(clippy::option_option, reason = "what is not a number differs from what has no bound")]
fn bound(text: Option<&str>) -> Option<Option<IntegerKey>> {
    text.map_or(Some(None), |text| integer_key(text).map(Some))
}

/// Reads a key of the ledger.
pub fn integer_key(text: &str) -> Option<IntegerKey> {
    let values: Vec<String> = serde_json::from_str(text).ok()?;
    values.iter().map(|value| value.parse().ok()).collect()
}

fn values(key: IntegerKey) -> KeyValues {
    key.into_iter().map(|value| value.to_string().into_bytes()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(value: i128) -> String {
        format!("[\"{value}\"]")
    }

    fn line(number: u32, lower: Option<i128>, upper: Option<i128>, reached: Option<i128>, done: bool) -> CopiedRange {
        CopiedRange {
            table_number: 1,
            number,
            lower: lower.map(key),
            upper: upper.map(key),
            reached: reached.map(key),
            done,
            snapshot: 1,
            rows: 10,
            bytes: 100,
        }
    }

    fn range(lower: Option<i128>, upper: Option<i128>) -> KeyRange {
        KeyRange { lower: lower.map(|bound| values(vec![bound])), upper: upper.map(|bound| values(vec![bound])) }
    }

    #[test]
    fn what_was_not_reached_and_what_was_not_begun_is_missing() {
        let lines = [
            line(2, Some(200), Some(300), Some(250), false),
            line(0, None, Some(100), Some(100), true),
            line(3, Some(300), None, None, false),
        ];
        let remainder = remainder(&lines).expect("a remainder");
        assert_eq!(remainder.missing, [(4, range(Some(100), Some(200))), (5, range(Some(250), None))]);
        assert_eq!((remainder.copied.len(), remainder.rows()), (2, 20));
        assert_eq!(remainder.copied[1].upper, Some(key(250)));
    }

    #[test]
    fn the_beginning_may_be_missing_too() {
        let remainder = remainder(&[line(1, Some(-5), Some(9), None, true)]).expect("a remainder");
        assert_eq!(remainder.missing, [(2, range(None, Some(-5))), (3, range(Some(9), None))]);
    }

    #[test]
    fn a_whole_table_lacks_nothing() {
        let lines = [line(0, None, Some(3), None, true), line(1, Some(3), None, None, true)];
        assert_eq!(remainder(&lines).expect("a remainder").missing, []);
        assert_eq!(remainder(&[line(0, None, None, None, true)]).expect("a remainder").missing, []);
    }

    #[test]
    fn nothing_copied_and_keys_of_text_have_no_remainder() {
        assert_eq!(remainder(&[]), None);
        assert_eq!(remainder(&[line(0, None, None, None, false)]), None);
        let text = CopiedRange { reached: Some("[\"m\"]".to_owned()), ..line(0, None, None, None, false) };
        assert_eq!(remainder(&[text]), None);
    }

    #[test]
    fn keys_of_several_columns_are_compared_column_by_column() {
        let reached = |text: &str| Some(text.to_owned());
        let lines = [
            CopiedRange { reached: reached("[\"9\",\"2\"]"), ..line(0, None, None, None, false) },
            CopiedRange { lower: reached("[\"10\",\"-1\"]"), ..line(1, None, None, None, true) },
        ];
        let between = |one: [i128; 2], other: [i128; 2]| KeyRange {
            lower: Some(values(one.to_vec())),
            upper: Some(values(other.to_vec())),
        };
        assert_eq!(remainder(&lines).expect("a remainder").missing, [(2, between([9, 2], [10, -1]))]);
    }
}
