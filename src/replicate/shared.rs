//! What the lanes and the applier know together: what is under way, and up to where everything is done.

use parking_lot::Mutex;
use tokio::sync::Notify;

use super::low_water::{End, Tracker};
use crate::ledger::LowWater;
use crate::model::BinlogPosition;

/// A [`Tracker`] that several tasks use, and a bell that rings whenever it moves.
#[derive(Debug)]
pub struct Shared {
    tracker: Mutex<Tracker>,
    moved: Notify,
}

impl Shared {
    pub fn new(from: &LowWater) -> Self {
        Self { tracker: Mutex::new(Tracker::new(from)), moved: Notify::new() }
    }

    /// Looks at the tracker; nothing may be awaited inside.
    pub fn look<T>(&self, look: impl FnOnce(&Tracker) -> T) -> T {
        look(&self.tracker.lock())
    }

    pub fn take_on(&self, end: End) -> u64 {
        self.tracker.lock().take_on(end)
    }

    pub fn finish(&self, numbers: impl IntoIterator<Item = u64>) {
        self.tracker.lock().finish(numbers);
        self.moved.notify_waiters();
    }

    pub fn skip_to(&self, binlog: BinlogPosition) {
        self.tracker.lock().skip_to(binlog);
    }

    pub fn set_parts(&self, parts: u32) {
        self.tracker.lock().set_parts(parts);
    }

    pub fn low_water(&self) -> LowWater {
        self.tracker.lock().low_water()
    }

    /// Waits until the tracker satisfies a condition. Cancelled by dropping.
    pub async fn wait_until(&self, condition: impl Fn(&Tracker) -> bool) {
        loop {
            let moved = self.moved.notified();
            tokio::pin!(moved);
            // Registered before looking, so that a move in between is not missed.
            moved.as_mut().enable();
            if condition(&self.tracker.lock()) {
                return;
            }
            moved.await;
        }
    }
}
