//! The master's clock: microseconds since 1970 that never step back.
//!
//! In: nothing. Out: the wall time at the start of the process, plus what a monotonic clock counted since. Surprise: a
//! wall clock that is set later is not followed; silences and backoffs are lengths, and must not jump with it.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

#[derive(Debug, Clone, Copy)]
pub struct MasterClock {
    started: Instant,
    started_us: i64,
}

impl MasterClock {
    pub fn start() -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self { started: Instant::now(), started_us: i64::try_from(since.as_micros()).unwrap_or(i64::MAX) }
    }

    pub fn now_us(&self) -> i64 {
        let passed = i64::try_from(self.started.elapsed().as_micros()).unwrap_or(i64::MAX);
        self.started_us.saturating_add(passed)
    }
}
