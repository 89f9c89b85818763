//! A point in time by which a whole piece of work must be over.

use std::time::Duration;

use tokio::time::Instant;

/// Made once for a piece of work and handed down, so that ten steps share one limit instead of having ten.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Deadline(Instant);

impl Deadline {
    pub fn after(limit: Duration) -> Self {
        Self(Instant::now() + limit)
    }

    pub fn instant(self) -> Instant {
        self.0
    }

    pub fn remaining(self) -> Duration {
        self.0.saturating_duration_since(Instant::now())
    }

    pub fn is_over(self) -> bool {
        self.remaining().is_zero()
    }

    /// The nearer of this deadline and one `limit` from now.
    #[must_use]
    pub fn at_most(self, limit: Duration) -> Self {
        self.min(Self::after(limit))
    }
}
