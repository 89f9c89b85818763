//! A set of transaction numbers, kept as the fewest possible ranges: sorted, disjoint, never touching.

use std::fmt;

/// The highest number a transaction can have; the server's numbers are signed 64-bit and end below this.
pub const NUMBER_MAX: u64 = i64::MAX as u64 - 1;

/// Numbers from `first` to `last`, both included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Interval {
    pub first: u64,
    pub last: u64,
}

/// A set of numbers between 1 and [`NUMBER_MAX`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Intervals(Vec<Interval>);

impl Intervals {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn iter(&self) -> impl ExactSizeIterator<Item = Interval> + '_ {
        self.0.iter().copied()
    }

    /// How many numbers the set has.
    pub fn count(&self) -> u64 {
        self.0.iter().map(|range| range.last - range.first + 1).sum()
    }

    pub fn contains(&self, number: u64) -> bool {
        let after = self.0.partition_point(|range| range.first <= number);
        after.checked_sub(1).and_then(|at| self.0.get(at)).is_some_and(|range| number <= range.last)
    }

    /// Adds all numbers of `added`, which must be in order (`first <= last`); else nothing is added.
    pub fn insert(&mut self, added: Interval) {
        if added.first > added.last {
            return;
        }
        // The usual case first: a source's next transaction lengthens the last range by one.
        if let Some(last) = self.0.last_mut()
            && added.first > last.first
            && added.first <= last.last.saturating_add(1)
        {
            last.last = last.last.max(added.last);
            return;
        }
        // All ranges that overlap or touch the new one become one with it.
        let from = self.0.partition_point(|range| range.last.saturating_add(1) < added.first);
        let to = self.0.partition_point(|range| range.first <= added.last.saturating_add(1)).max(from);
        let mut merged = added;
        for range in self.0.drain(from..to) {
            merged = Interval { first: merged.first.min(range.first), last: merged.last.max(range.last) };
        }
        self.0.insert(from, merged);
    }

    pub fn union(&mut self, other: &Self) {
        for range in other.iter() {
            self.insert(range);
        }
    }

    /// Takes all numbers of `other` out.
    pub fn subtract(&mut self, other: &Self) {
        let mut kept = Vec::with_capacity(self.0.len());
        let mut removed = other.iter().peekable();
        for range in self.0.drain(..) {
            let mut first = range.first;
            while removed.next_if(|gone| gone.last < first).is_some() {}
            let mut used_up = false;
            while let Some(gone) = removed.peek().copied().filter(|gone| gone.first <= range.last) {
                if first < gone.first {
                    kept.push(Interval { first, last: gone.first - 1 });
                }
                if gone.last >= range.last {
                    used_up = true;
                    break; // it may reach into the next range too
                }
                first = gone.last + 1;
                removed.next();
            }
            if !used_up {
                kept.push(Interval { first, last: range.last });
            }
        }
        self.0 = kept;
    }

    pub fn is_subset_of(&self, other: &Self) -> bool {
        self.0.iter().all(|range| {
            let after = other.0.partition_point(|candidate| candidate.first <= range.first);
            after.checked_sub(1).and_then(|at| other.0.get(at)).is_some_and(|whole| range.last <= whole.last)
        })
    }
}

/// As the server prints them: `1-3:5`.
impl fmt::Display for Intervals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, range) in self.0.iter().enumerate() {
            if at > 0 {
                f.write_str(":")?;
            }
            if range.first == range.last {
                write!(f, "{}", range.first)?;
            } else {
                write!(f, "{}-{}", range.first, range.last)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn set_of(ranges: &[(u64, u64)]) -> Intervals {
        let mut set = Intervals::default();
        for &(first, last) in ranges {
            set.insert(Interval { first, last });
        }
        set
    }

    fn numbers(set: &Intervals) -> BTreeSet<u64> {
        set.iter().flat_map(|range| range.first..=range.last).collect()
    }

    #[test]
    fn touching_ranges_become_one() {
        assert_eq!(set_of(&[(5, 7), (1, 2), (3, 4)]).to_string(), "1-7");
        assert_eq!(set_of(&[(1, 1), (2, 2), (4, 4)]).to_string(), "1-2:4");
        assert_eq!(set_of(&[(10, 20), (1, 30)]).to_string(), "1-30");
    }

    #[test]
    fn one_removal_may_cut_several_ranges() {
        let mut set = set_of(&[(1, 5), (8, 12), (20, 20)]);
        set.subtract(&set_of(&[(2, 2), (4, 9), (12, 30)]));
        assert_eq!(set.to_string(), "1:3:10-11");
    }

    #[test]
    fn the_largest_numbers_do_not_overflow() {
        let mut set = set_of(&[(u64::MAX, u64::MAX)]);
        set.insert(Interval { first: u64::MAX - 1, last: u64::MAX });
        set.subtract(&set_of(&[(u64::MAX, u64::MAX)]));
        assert_eq!(set.iter().next(), Some(Interval { first: u64::MAX - 1, last: u64::MAX - 1 }));
    }

    fn ranges() -> impl Strategy<Value = Vec<(u64, u64)>> {
        prop::collection::vec((1u64..60, 0u64..8).prop_map(|(first, more)| (first, first + more)), 0..12)
    }

    proptest! {
        #[test]
        fn set_operations_agree_with_plain_sets(a in ranges(), b in ranges()) {
            let (set_a, set_b) = (set_of(&a), set_of(&b));
            let (plain_a, plain_b) = (numbers(&set_a), numbers(&set_b));
            prop_assert_eq!(&plain_a, &a.iter().flat_map(|&(first, last)| first..=last).collect());

            let mut union = set_a.clone();
            union.union(&set_b);
            prop_assert_eq!(numbers(&union), plain_a.union(&plain_b).copied().collect());
            let mut difference = set_a.clone();
            difference.subtract(&set_b);
            prop_assert_eq!(numbers(&difference), plain_a.difference(&plain_b).copied().collect());
            prop_assert_eq!(set_a.is_subset_of(&set_b), plain_a.is_subset(&plain_b));
            prop_assert_eq!(set_a.count(), plain_a.len() as u64);
            for number in 1..70 {
                prop_assert_eq!(set_a.contains(number), plain_a.contains(&number));
            }
            for set in [&union, &difference] {
                let all: Vec<_> = set.iter().collect();
                prop_assert!(all.windows(2).all(|pair| pair[0].last + 1 < pair[1].first), "fewest ranges: {}", set);
            }
        }
    }
}
