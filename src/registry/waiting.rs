//! Waits for a state, with a deadline; never for a length of time, never for "a change".

use std::time::Duration;

use super::{Registry, Seen};
use crate::model::SubtaskId;

impl Registry {
    /// Waits until `is_so` holds of what is known here. False: the deadline passed first.
    pub async fn wait_until(&self, deadline: Duration, mut is_so: impl FnMut(&Self) -> bool + Send) -> bool {
        let mut changes = self.subscribe();
        let waiting = async {
            loop {
                // Marked before the look: a change in between wakes the wait below.
                changes.borrow_and_update();
                if is_so(self) {
                    return true;
                }
                if changes.changed().await.is_err() {
                    return false;
                }
            }
        };
        tokio::time::timeout(deadline, waiting).await.unwrap_or(false)
    }

    /// Waits until the last report of a subtask (None: there is none) is as asked.
    pub async fn wait_for(
        &self,
        id: &SubtaskId,
        deadline: Duration,
        mut is_so: impl FnMut(Option<&Seen>) -> bool + Send,
    ) -> bool {
        self.wait_until(deadline, |registry| is_so(registry.inner.lock().seen.get(id))).await
    }
}
