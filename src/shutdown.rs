//! Stopping: the signals that ask for it, and a bound on how long it takes.
//!
//! Every task has an owner that waits for it. The order matters: first what makes work, then what records results.

use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::Instant;

/// SIGTERM and SIGINT, no longer deadly.
pub struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    /// From now on the signals are kept for [`Signals::asked`].
    pub fn catch() -> std::io::Result<Self> {
        Ok(Self { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    /// Waits for one of them. Gives its name.
    pub async fn asked(&mut self) -> &'static str {
        tokio::select! {
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.interrupt.recv() => "SIGINT",
        }
    }
}

/// One deadline for all of the stopping, spent part by part.
#[derive(Debug, Clone, Copy)]
pub struct Budget {
    ends: Instant,
}

impl Budget {
    pub fn of(length: Duration) -> Self {
        Self { ends: Instant::now() + length }
    }

    pub fn left(&self) -> Duration {
        self.ends.saturating_duration_since(Instant::now())
    }

    /// Waits for a part of the stopping, for what is left. False: it was not over in time, and is said so.
    pub async fn wait_for(&self, what: &'static str, part: impl Future<Output = ()>) -> bool {
        let in_time = tokio::time::timeout(self.left(), part).await.is_ok();
        if !in_time {
            tracing::warn!("{what} did not stop in time and is dropped; the next start takes up from there");
        }
        in_time
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn parts_share_one_deadline() {
        let budget = Budget::of(Duration::from_millis(100));
        assert!(budget.wait_for("the quick part", async {}).await);
        assert!(!budget.wait_for("the slow part", std::future::pending()).await);
        assert_eq!(budget.left(), Duration::ZERO);
        assert!(!budget.wait_for("the next part", std::future::pending()).await);
    }
}
