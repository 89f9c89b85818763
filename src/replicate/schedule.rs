//! Which lane applies a transaction, and what it must wait for. Pure.
//!
//! In go transactions in the source's order, each with the keys it touches; out comes for each a lane and the
//! transactions of *other* lanes that must be committed first. A lane applies what it gets in order, so within one
//! lane nothing needs to be waited for. A transaction only ever waits for earlier ones, so there is no cycle.

use std::collections::HashMap;

use foldhash::fast::FixedState;

/// How a transaction uses a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Use {
    /// Does not mind others that share it.
    Shared,
    /// Must be ordered against every other use.
    Exclusive,
}

/// A key that orders transactions: the hash of a value of a unique key of the target, or of a whole table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ConflictKey {
    pub hash: u64,
    pub usage: Use,
}

/// Where a transaction goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assignment {
    pub lane: usize,
    /// Numbers of transactions of other lanes that must be committed before this one begins.
    pub after: Vec<u64>,
}

/// The last users of a key.
#[derive(Debug, Default)]
struct KeyState {
    exclusive: Option<Holder>,
    /// The last sharer in each lane, since the last exclusive use.
    shared: Vec<Holder>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Holder {
    number: u64,
    lane: usize,
}

/// Above this many keys, those of finished transactions are forgotten.
const KEYS_MAX: usize = 200_000;

#[derive(Debug)]
pub struct Schedule {
    keys: HashMap<u64, KeyState, FixedState>,
    /// Weight of what each lane has been given and not finished.
    load: Vec<u64>,
    forget_at: usize,
}

impl Schedule {
    pub fn new(lanes: usize) -> Self {
        Self { keys: HashMap::with_hasher(FixedState::default()), load: vec![0; lanes.max(1)], forget_at: KEYS_MAX }
    }

    /// Assigns transaction `number` (numbers grow). `done` tells whether an earlier one is committed; `low_water` is
    /// the number up to which all are.
    pub fn assign(
        &mut self,
        number: u64,
        keys: &[ConflictKey],
        weight: u64,
        low_water: u64,
        done: impl Fn(u64) -> bool,
    ) -> Assignment {
        if self.keys.len() > self.forget_at {
            self.forget(low_water);
        }
        let mut before: Vec<Holder> = Vec::new();
        for key in keys {
            let Some(state) = self.keys.get(&key.hash) else { continue };
            let sharers = if key.usage == Use::Exclusive { state.shared.as_slice() } else { &[] };
            for holder in state.exclusive.iter().chain(sharers) {
                if holder.number > low_water && !done(holder.number) && !before.contains(holder) {
                    before.push(*holder);
                }
            }
        }
        let lane = self.choose(&before);
        if let Some(load) = self.load.get_mut(lane) {
            *load += weight;
        }
        for key in keys {
            self.note(*key, Holder { number, lane });
        }
        // Of each other lane only the last matters: a lane commits in order.
        let mut after: Vec<Holder> = Vec::new();
        for holder in before.into_iter().filter(|holder| holder.lane != lane) {
            match after.iter_mut().find(|known| known.lane == holder.lane) {
                Some(known) => known.number = known.number.max(holder.number),
                None => after.push(holder),
            }
        }
        Assignment { lane, after: after.into_iter().map(|holder| holder.number).collect() }
    }

    /// A lane has committed work of this weight.
    pub fn finished(&mut self, lane: usize, weight: u64) {
        if let Some(load) = self.load.get_mut(lane) {
            *load = load.saturating_sub(weight);
        }
    }

    /// The lane of the latest predecessor, so that what follows it does not wait; without any, the idlest.
    fn choose(&self, before: &[Holder]) -> usize {
        if let Some(latest) = before.iter().max_by_key(|holder| holder.number) {
            return latest.lane;
        }
        self.load.iter().enumerate().min_by_key(|(_, load)| **load).map_or(0, |(lane, _)| lane)
    }

    fn note(&mut self, key: ConflictKey, holder: Holder) {
        let state = self.keys.entry(key.hash).or_default();
        match key.usage {
            Use::Exclusive => {
                state.exclusive = Some(holder);
                state.shared.clear();
            }
            Use::Shared => match state.shared.iter_mut().find(|known| known.lane == holder.lane) {
                Some(known) => *known = holder,
                None => state.shared.push(holder),
            },
        }
    }

    fn forget(&mut self, low_water: u64) {
        self.keys.retain(|_, state| {
            state.exclusive = state.exclusive.filter(|holder| holder.number > low_water);
            state.shared.retain(|holder| holder.number > low_water);
            state.exclusive.is_some() || !state.shared.is_empty()
        });
        // When most are still in use, looking again at once would find the same.
        self.forget_at = KEYS_MAX.max(self.keys.len() * 2);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn exclusive(hash: u64) -> ConflictKey {
        ConflictKey { hash, usage: Use::Exclusive }
    }

    fn shared(hash: u64) -> ConflictKey {
        ConflictKey { hash, usage: Use::Shared }
    }

    #[test]
    fn independent_transactions_spread_over_the_lanes() {
        let mut schedule = Schedule::new(2);
        let first = schedule.assign(1, &[exclusive(1)], 10, 0, |_| false);
        let second = schedule.assign(2, &[exclusive(2)], 10, 0, |_| false);
        assert_ne!(first.lane, second.lane);
        assert!(first.after.is_empty() && second.after.is_empty());
    }

    #[test]
    fn a_transaction_follows_its_predecessor_into_its_lane_and_waits_for_the_others() {
        let mut schedule = Schedule::new(2);
        let one = schedule.assign(1, &[exclusive(1)], 10, 0, |_| false);
        let two = schedule.assign(2, &[exclusive(2)], 10, 0, |_| false);
        let both = schedule.assign(3, &[exclusive(1), exclusive(2)], 1, 0, |_| false);
        assert_eq!(both, Assignment { lane: two.lane, after: vec![1] });
        assert_ne!(one.lane, both.lane);
        let after = schedule.assign(4, &[exclusive(1)], 1, 0, |_| false);
        assert_eq!(after, Assignment { lane: both.lane, after: vec![] });
    }

    #[test]
    fn sharers_do_not_order_each_other_but_an_exclusive_use_orders_all() {
        let mut schedule = Schedule::new(3);
        for number in 1..=3 {
            assert!(schedule.assign(number, &[shared(7)], 5, 0, |_| false).after.is_empty());
        }
        let whole = schedule.assign(4, &[exclusive(7)], 1, 0, |_| false);
        assert_eq!(whole.after.len(), 2, "it waits for the two other lanes: {whole:?}");
        let next = schedule.assign(5, &[shared(7)], 1, 0, |_| false);
        assert_eq!(next.lane, whole.lane);
    }

    #[test]
    fn what_is_committed_orders_nothing() {
        let mut schedule = Schedule::new(2);
        schedule.assign(1, &[exclusive(1)], 1, 0, |_| false);
        assert!(schedule.assign(2, &[exclusive(1)], 1, 1, |_| false).after.is_empty());
        schedule.assign(3, &[exclusive(9)], 1, 1, |_| false);
        assert!(schedule.assign(4, &[exclusive(1)], 1, 1, |number| number == 2).after.is_empty());
    }

    proptest! {
        /// Whatever the keys: of two transactions that share a key in a way that needs order, the later is in the
        /// same lane, or waits (perhaps through the last of that lane) for the earlier.
        #[test]
        fn conflicting_transactions_are_always_ordered(
            transactions in proptest::collection::vec(
                proptest::collection::vec((0u64..6, any::<bool>()), 1..4), 1..60),
            lanes in 1usize..5,
        ) {
            let mut schedule = Schedule::new(lanes);
            let mut placed: Vec<(Vec<ConflictKey>, Assignment)> = Vec::new();
            for (index, keys) in transactions.iter().enumerate() {
                let keys: Vec<ConflictKey> = keys.iter()
                    .map(|&(hash, all)| if all { exclusive(hash) } else { shared(hash) })
                    .collect();
                let assignment = schedule.assign(index as u64 + 1, &keys, 1, 0, |_| false);
                placed.push((keys, assignment));
            }
            // before(a, b): b begins only when a is committed. Same lane: by order; `after`: the named one and, since
            // its lane commits in order, all before it there; transitively.
            let count = placed.len();
            let mut before = vec![vec![false; count]; count];
            for later in 0..count {
                for earlier in 0..later {
                    before[earlier][later] = placed[earlier].1.lane == placed[later].1.lane
                        || placed[later].1.after.iter().any(|&number| {
                            let named = number as usize - 1;
                            named == earlier || before[earlier][named]
                        });
                }
                for middle in 0..later {
                    if before[middle][later] {
                        for row in before.iter_mut().take(middle) {
                            row[later] |= row[middle];
                        }
                    }
                }
            }
            for later in 0..count {
                for earlier in 0..later {
                    let conflict = placed[earlier].0.iter().any(|one| placed[later].0.iter().any(|other| {
                        one.hash == other.hash && (one.usage == Use::Exclusive || other.usage == Use::Exclusive)
                    }));
                    prop_assert!(!conflict || before[earlier][later], "{earlier} and {later} are not ordered");
                }
            }
        }
    }
}
