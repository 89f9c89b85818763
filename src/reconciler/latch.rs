//! One change of a task at a time. In the leader's memory only: after a change of leader nobody is changing anything.

use std::collections::BTreeSet;

use parking_lot::Mutex;

use crate::model::TaskName;

#[derive(Default)]
pub(super) struct Latches {
    held: Mutex<BTreeSet<TaskName>>,
}

/// Dropped, it lets the next one in.
#[must_use]
pub struct Latch<'a> {
    latches: &'a Latches,
    task: TaskName,
}

impl Latches {
    pub(super) fn hold(&self, task: &TaskName) -> Option<Latch<'_>> {
        let is_new = self.held.lock().insert(task.clone());
        is_new.then(|| Latch { latches: self, task: task.clone() })
    }
}

impl Drop for Latch<'_> {
    fn drop(&mut self) {
        self.latches.held.lock().remove(&self.task);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_is_held_by_one_and_free_again_afterwards() {
        let latches = Latches::default();
        let (one, two) = (TaskName::new("one"), TaskName::new("two"));
        let held = latches.hold(&one);
        assert!(held.is_some());
        assert!(latches.hold(&one).is_none());
        assert!(latches.hold(&two).is_some());
        drop(held);
        assert!(latches.hold(&one).is_some());
    }
}
