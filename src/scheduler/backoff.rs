//! When a failed run is tried again, and when no longer.

use std::hash::BuildHasher as _;

use crate::model::{Generation, SubtaskId};

/// The rule of automatic retries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retries {
    pub first_us: i64,
    pub longest_us: i64,
    /// After so many, an operator is waited for.
    pub tries: u32,
    /// A run that works for so long begins the count anew.
    pub healthy_us: i64,
    /// Spreads the retries of many subtasks that failed together.
    pub seed: u64,
}

impl Default for Retries {
    fn default() -> Self {
        Self { first_us: 1_000_000, longest_us: 300_000_000, tries: 600, healthy_us: 600_000_000, seed: 0 }
    }
}

impl Retries {
    /// How long to wait after the failure that follows `attempts` retries: half fixed, half by the seed.
    pub(super) fn delay_us(&self, id: &SubtaskId, generation: Generation, attempts: u32) -> i64 {
        let doubled = self.first_us.saturating_mul(1_i64.checked_shl(attempts.min(32)).unwrap_or(i64::MAX));
        let whole = doubled.clamp(0, self.longest_us);
        let half = whole / 2;
        let share = foldhash::quality::FixedState::with_seed(self.seed).hash_one((id, generation)) & 0xffff;
        let part = i128::from(whole - half) * i128::from(share) / 0xffff;
        half.saturating_add(i64::try_from(part).unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{SourceName, TaskName};

    #[test]
    fn delays_double_up_to_the_longest_and_stay_within_their_half() {
        let id = SubtaskId { task: TaskName::new("t"), source: SourceName::new("s") };
        for seed in 0..50 {
            let retries = Retries { seed, ..Retries::default() };
            for (attempts, whole) in [(0, 1), (1, 2), (2, 4), (8, 256), (9, 300), (40, 300), (u32::MAX, 300)] {
                let delay = retries.delay_us(&id, Generation(seed), attempts);
                assert!((whole * 500_000..=whole * 1_000_000).contains(&delay), "{attempts}: {delay}");
            }
        }
    }

    #[test]
    fn subtasks_that_failed_together_do_not_come_back_together() {
        let retries = Retries::default();
        let delays: std::collections::BTreeSet<i64> = (0..100)
            .map(|number| SubtaskId { task: TaskName::new(format!("t{number}")), source: SourceName::new("s") })
            .map(|id| retries.delay_us(&id, Generation(1), 5))
            .collect();
        assert!(delays.len() > 90);
    }
}
