//! What is wanted of each incarnation of each worker, kept ready for its next call.
//!
//! In: whole sets from the reconciler. Out: versions, and waking of held calls. The surprise: a worker without a set is
//! not a worker with an empty one. Until the first set is put in, it is told nothing; an empty one would close its runs.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::watch;

use super::message::{SetVersion, WantedSet};
use crate::model::record::Revision;
use crate::model::subtask::{Wanted, WantedSubtask};
use crate::model::{Epoch, Generation, SubtaskId, WorkerName};

/// By what two wanted subtasks are told apart, without comparing secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fingerprint {
    pub id: SubtaskId,
    pub wanted: Wanted,
    pub generation: Generation,
    pub source: Revision,
    pub task: Revision,
    pub subtask: Revision,
}

struct Slot {
    fingerprints: Vec<Fingerprint>,
    set: watch::Sender<Option<Arc<WantedSet>>>,
}

#[derive(Default)]
pub struct Outbox {
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    epoch: Epoch,
    workers: BTreeMap<(WorkerName, Epoch), Slot>,
}

impl Outbox {
    /// A new leadership: versions begin anew, and nobody is told anything before the first sets are put in.
    pub fn take_office(&self, epoch: Epoch) {
        let mut inner = self.inner.lock();
        inner.epoch = epoch;
        for worker in inner.workers.values_mut() {
            worker.fingerprints.clear();
            worker.set.send_replace(None);
        }
    }

    /// Puts in what is wanted of a worker now. Gives the version that has it; the same one when nothing differs.
    pub fn put(
        &self,
        worker: &WorkerName,
        worker_epoch: Epoch,
        fingerprints: Vec<Fingerprint>,
        subtasks: impl FnOnce() -> Vec<WantedSubtask>,
    ) -> SetVersion {
        let mut inner = self.inner.lock();
        let master_epoch = inner.epoch;
        let slot = inner.slot(worker, worker_epoch);
        let present = slot.set.borrow().as_ref().map(|set| set.version);
        if let Some(version) = present
            && slot.fingerprints == fingerprints
        {
            return version;
        }
        let version = SetVersion { master_epoch, version: present.map_or(1, |present| present.version + 1) };
        slot.fingerprints = fingerprints;
        slot.set.send_replace(Some(Arc::new(WantedSet { version, subtasks: subtasks() })));
        version
    }

    /// Incarnations below this epoch are gone. A held call of theirs ends with the next check of its sender.
    pub fn retire(&self, worker: &WorkerName, below: Epoch) {
        self.inner.lock().workers.retain(|(name, epoch), _| name != worker || *epoch >= below);
    }

    pub(super) fn subscribe(&self, worker: &WorkerName, epoch: Epoch) -> watch::Receiver<Option<Arc<WantedSet>>> {
        self.inner.lock().slot(worker, epoch).set.subscribe()
    }
}

impl Inner {
    fn slot(&mut self, worker: &WorkerName, epoch: Epoch) -> &mut Slot {
        self.workers
            .entry((worker.clone(), epoch))
            .or_insert_with(|| Slot { fingerprints: Vec::new(), set: watch::Sender::new(None) })
    }
}
