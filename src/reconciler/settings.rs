//! How patient the reconciler is.

use std::time::Duration;

use crate::scheduler::Retries;

#[derive(Debug, Clone)]
pub struct Settings {
    /// Between rounds, when nothing calls for one. Well below half of the workers' expiry.
    pub period: Duration,
    /// How long a round waits for what else changes in the same burst.
    pub gather: Duration,
    /// What a leader's lease is good for.
    pub lease: Duration,
    pub retries: Retries,
    /// How long a delete waits for workers to be off a task.
    pub off_wait: Duration,
    /// One try of a cleanup that no call waits for, connecting included. Longer than a call waits: a target that is
    /// merely slow must be clean in the end.
    pub cleanup_deadline: Duration,
    /// The cleanup of a call that gives progress up.
    pub remove_meta_deadline: Duration,
    pub cleanup_first: Duration,
    pub cleanup_longest: Duration,
    /// Cleanups under way at once; at most one for each target.
    pub cleanups_at_once: usize,
    /// What a stop may wait for work in flight when the user did not say.
    pub stop_grace_s: u32,
    /// How long stopping waits for what was begun.
    pub grace: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            period: Duration::from_millis(500),
            gather: Duration::from_millis(2),
            lease: Duration::from_secs(2),
            retries: Retries::default(),
            off_wait: Duration::from_secs(3),
            cleanup_deadline: Duration::from_secs(60),
            remove_meta_deadline: Duration::from_secs(10),
            cleanup_first: Duration::from_secs(1),
            cleanup_longest: Duration::from_secs(60),
            cleanups_at_once: 16,
            stop_grace_s: 10,
            grace: Duration::from_secs(2),
        }
    }
}
