//! The states of a worker entry and the one table of moves between them. Pure: no clock, no I/O.

/// What the master holds of a worker's incarnation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WorkerState {
    /// Registered, not yet heard.
    Created,
    /// Loaded from the metastore after a change of leader, not yet heard. Not judged until the recovery is over.
    Waiting,
    /// Heard within the expiry.
    Online,
    /// Silent or gone; its loss is being recorded and its subtasks get new generations.
    Offline,
    /// The loss is recorded. Nothing is sent to it but `terminate`; it comes back only as a new epoch.
    Tombstone,
}

/// What happens to a worker entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// A message of this incarnation came.
    Heartbeat,
    /// The expiry passed without one.
    Expired,
    /// It said that it ends, all of its runs closed.
    Goodbye,
    /// The recovery of a new leader ended without a word of it.
    RecoveryOver,
    /// Its loss, and the new generations that follow from it, are stored.
    LossStored,
}

impl WorkerState {
    /// The whole state machine. What is not a move leaves the state as it is.
    pub fn after(self, event: Event) -> Self {
        use Event::{Expired, Goodbye, Heartbeat, LossStored, RecoveryOver};
        match (self, event) {
            (Self::Created | Self::Waiting | Self::Online, Heartbeat) => Self::Online,
            (Self::Created | Self::Online, Expired) => Self::Offline,
            (Self::Waiting, RecoveryOver) => Self::Offline,
            (Self::Created | Self::Waiting | Self::Online, Goodbye) => Self::Offline,
            (Self::Offline, LossStored) => Self::Tombstone,
            (state, _) => state,
        }
    }

    /// Whether messages of it count, and work may be given to it.
    pub fn is_in_office(self) -> bool {
        matches!(self, Self::Created | Self::Waiting | Self::Online)
    }
}

#[cfg(test)]
mod tests {
    use Event::*;
    use WorkerState::*;

    use super::*;

    #[test]
    fn every_cell_of_the_table_is_as_designed() {
        let table = [
            (Created, [Online, Offline, Offline, Created, Created]),
            (Waiting, [Online, Waiting, Offline, Offline, Waiting]),
            (Online, [Online, Offline, Offline, Online, Online]),
            (Offline, [Offline, Offline, Offline, Offline, Tombstone]),
            (Tombstone, [Tombstone, Tombstone, Tombstone, Tombstone, Tombstone]),
        ];
        for (state, expected) in table {
            let events = [Heartbeat, Expired, Goodbye, RecoveryOver, LossStored];
            assert_eq!(events.map(|event| state.after(event)), expected, "from {state:?}");
        }
    }

    #[test]
    fn nothing_leads_back_into_office() {
        for state in [Offline, Tombstone] {
            for event in [Heartbeat, Expired, Goodbye, RecoveryOver, LossStored] {
                assert!(!state.after(event).is_in_office());
            }
        }
    }
}
