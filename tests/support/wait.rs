//! Waiting for a state, never for a length of time.

use std::fmt::Debug;
use std::future::Future;
use std::time::{Duration, Instant};

/// How often a state is looked at.
const PERIOD: Duration = Duration::from_millis(20);

pub const fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// Calls `look` until it finds what is waited for. What it saw last instead stands in the panic.
pub async fn until<T, Seen: Debug>(
    what: &str,
    deadline: Duration,
    mut look: impl AsyncFnMut() -> Result<T, Seen>,
) -> T {
    let end = Instant::now() + deadline;
    let mut last = None;
    loop {
        let left = end.saturating_duration_since(Instant::now());
        match tokio::time::timeout(left, look()).await {
            Ok(Ok(found)) => return found,
            Ok(Err(seen)) if Instant::now() < end => last = Some(seen),
            Ok(Err(seen)) => panic!("waited {deadline:?} for {what}; last seen: {seen:?}"),
            Err(_) => panic!("waited {deadline:?} for {what}; last seen: {last:?}; the last look has not ended"),
        }
        tokio::time::sleep(PERIOD).await;
    }
}

/// As [`until`], for a plain condition.
pub async fn until_true(what: &str, deadline: Duration, mut look: impl AsyncFnMut() -> bool) {
    until(what, deadline, async || if look().await { Ok(()) } else { Err("not yet") }).await;
}

/// Whether something becomes so in a time; for what may as well not come.
pub async fn is_so_within(time: Duration, mut look: impl FnMut() -> bool) -> bool {
    let end = Instant::now() + time;
    while !look() {
        if Instant::now() >= end {
            return false;
        }
        tokio::time::sleep(PERIOD).await;
    }
    true
}

/// Bounds one await.
pub async fn within<T>(what: &str, deadline: Duration, work: impl Future<Output = T>) -> T {
    match tokio::time::timeout(deadline, work).await {
        Ok(done) => done,
        Err(_) => panic!("{what} took longer than {deadline:?}"),
    }
}
