//! Whether this process leads, and until when it may believe so.
//!
//! The surprise: leadership ends by itself. A process that was frozen past its lease does not lead when it wakes up,
//! whatever it last knew; only the next renewal says otherwise.

use parking_lot::Mutex;
use tokio::time::Instant;

use crate::model::Epoch;

#[derive(Debug, Default)]
pub struct Tenure {
    held: Mutex<Option<(Epoch, Instant)>>,
}

impl Tenure {
    /// The epoch this process leads under now.
    pub fn epoch(&self) -> Option<Epoch> {
        self.epoch_at(Instant::now())
    }

    fn epoch_at(&self, now: Instant) -> Option<Epoch> {
        self.held.lock().filter(|(_, until)| now < *until).map(|(epoch, _)| epoch)
    }

    /// Took or renewed the lease; `until` is counted from the sending of the request that did.
    pub fn hold(&self, epoch: Epoch, until: Instant) {
        *self.held.lock() = Some((epoch, until));
    }

    pub fn give_up(&self) {
        *self.held.lock() = None;
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn leadership_ends_by_itself_when_it_is_not_renewed() {
        let tenure = Tenure::default();
        let start = Instant::now();
        let lease = Duration::from_secs(2);
        assert_eq!(tenure.epoch_at(start), None);
        tenure.hold(Epoch(3), start + lease);
        assert_eq!(tenure.epoch_at(start + lease / 2), Some(Epoch(3)));
        assert_eq!(tenure.epoch_at(start + lease), None);
        tenure.hold(Epoch(3), start + lease * 2);
        assert_eq!(tenure.epoch_at(start + lease), Some(Epoch(3)));
        tenure.give_up();
        assert_eq!(tenure.epoch_at(start), None);
    }
}
