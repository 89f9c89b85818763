//! Which workers exist, who of them is alive, and what they last said of their subtasks.
//!
//! In: registrations, heartbeats, numbered reports, and the passing of time (an argument). Out: states of workers, the
//! last report of each subtask with its age, and waiting for a report. Never here: I/O, decisions about work, guesses:
//! a subtask that nobody reported has no *seen*. The surprise: a master that was itself frozen gives everybody's expiry
//! the time it did not listen; silence that nobody could hear is no silence.

mod clock;
mod entry;
mod liveness;
mod metrics;
mod seen;
mod tenure;
#[cfg(test)]
mod tests;
mod waiting;

use std::collections::{BTreeMap, BTreeSet};

use parking_lot::Mutex;
use tokio::sync::watch;

pub use clock::MasterClock;
pub use entry::{OpenRun, WorkerStatus};
pub use liveness::{Event, WorkerState};
pub use metrics::WorkMetrics;
pub use seen::Seen;
pub use tenure::Tenure;

use crate::model::record::WorkerRecord;
use crate::model::report::{RunState, SubtaskReport};
use crate::model::{Epoch, Generation, SubtaskId, TaskName, WorkerName};
use entry::Entry;

/// How long silence may last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Expiry {
    /// From the receipt of a message to the loss of its sender.
    pub worker_us: i64,
}

/// What a message's sender is to this master.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// Known and in office; the message counted.
    Known,
    /// As `Known`, but a new leader has not yet had a full report of it.
    Unheard,
    /// Unknown, declared lost, or an older incarnation: it must end.
    Terminate,
    /// It names an epoch that this master never gave: it must register.
    Register,
}

/// A worker's message about its runs.
#[derive(Debug, Clone)]
pub struct WorkerReport {
    pub worker: WorkerName,
    pub worker_epoch: Epoch,
    /// Grows with every report of this incarnation; a lower one came late and is dropped.
    pub number: u64,
    /// The version of the wanted subtasks that the worker had acted on when it put this together.
    pub applied_version: u64,
    /// Every run that is not closed: what is missing here writes nothing more.
    pub open_runs: Vec<OpenRun>,
    /// What is new of its subtasks; with `full`, all it has.
    pub subtasks: Vec<SubtaskReport>,
    pub full: bool,
}

pub struct Registry {
    inner: Mutex<Inner>,
    /// Counts changes, so that waiting is for a state and never for "a change".
    changes: watch::Sender<u64>,
}

struct Inner {
    expiry: Expiry,
    workers: BTreeMap<WorkerName, Entry>,
    seen: BTreeMap<SubtaskId, Seen>,
    /// The last run of each subtask that was seen to work since this process began.
    ran: BTreeMap<SubtaskId, Generation>,
    /// While a new leader waits for the workers of its predecessor: when it stops waiting.
    recovery_ends_us: Option<i64>,
    looked_us: Option<i64>,
}

impl Registry {
    pub fn new(expiry: Expiry) -> Self {
        Self {
            inner: Mutex::new(Inner {
                expiry,
                workers: BTreeMap::new(),
                seen: BTreeMap::new(),
                ran: BTreeMap::new(),
                recovery_ends_us: None,
                looked_us: None,
            }),
            changes: watch::Sender::new(0),
        }
    }

    fn changed(&self) {
        self.changes.send_modify(|count| *count = count.wrapping_add(1));
    }

    /// Tells of every change of what is known here.
    pub fn subscribe(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// A leader takes office: the stored workers are waited for, except those that departed.
    pub fn take_office(&self, stored: &[WorkerRecord], now_us: i64) {
        let mut inner = self.inner.lock();
        let expiry_us = inner.expiry.worker_us;
        inner.workers = stored
            .iter()
            .filter(|record| !record.departed)
            .map(|record| (record.name.clone(), Entry::waiting(record.clone())))
            .collect();
        inner.recovery_ends_us = Some(now_us.saturating_add(expiry_us));
        inner.looked_us = Some(now_us);
        drop(inner);
        self.changed();
    }

    /// The new incarnation takes the place of the older one, whose reports are forgotten with it.
    pub fn register(&self, record: WorkerRecord, now_us: i64) {
        let mut inner = self.inner.lock();
        let expires_us = now_us.saturating_add(inner.expiry.worker_us);
        inner.seen.retain(|_, seen| seen.worker != record.name);
        inner.workers.insert(record.name.clone(), Entry::created(record, expires_us));
        drop(inner);
        self.changed();
    }

    /// A sign of life.
    pub fn heartbeat(&self, worker: &WorkerName, epoch: Epoch, now_us: i64) -> Standing {
        let mut inner = self.inner.lock();
        let (standing, news) = inner.hear(worker, epoch, now_us);
        drop(inner);
        if news {
            self.changed();
        }
        standing
    }

    /// A sign of life with news of subtasks.
    pub fn report(&self, report: WorkerReport, now_us: i64) -> Standing {
        let mut inner = self.inner.lock();
        let (mut standing, _) = inner.hear(&report.worker, report.worker_epoch, now_us);
        if matches!(standing, Standing::Known | Standing::Unheard) {
            if report.full {
                standing = Standing::Known;
            }
            inner.take_in(report, now_us);
        }
        drop(inner);
        self.changed();
        standing
    }

    /// The worker ends, all of its runs closed.
    pub fn goodbye(&self, worker: &WorkerName, epoch: Epoch) {
        let mut inner = self.inner.lock();
        if let Some(entry) = inner.workers.get_mut(worker).filter(|entry| entry.record.epoch == epoch) {
            entry.happen(Event::Goodbye);
        }
        drop(inner);
        self.changed();
    }

    /// Time passed. Gives the names of those that are newly lost.
    pub fn look(&self, now_us: i64) -> Vec<WorkerName> {
        let mut inner = self.inner.lock();
        let lost = inner.look(now_us);
        drop(inner);
        if !lost.is_empty() {
            self.changed();
        }
        lost
    }

    /// The loss of this incarnation is stored.
    pub fn loss_stored(&self, worker: &WorkerName, epoch: Epoch) {
        let mut inner = self.inner.lock();
        if let Some(entry) = inner.workers.get_mut(worker).filter(|entry| entry.record.epoch == epoch) {
            entry.happen(Event::LossStored);
        }
        drop(inner);
        self.changed();
    }

    /// Whether a new leader still waits for workers of its predecessor.
    pub fn is_recovering(&self) -> bool {
        self.inner.lock().recovery_ends_us.is_some()
    }

    /// All entries, by name.
    pub fn workers(&self) -> Vec<WorkerStatus> {
        self.inner.lock().workers.values().map(Entry::status).collect()
    }

    pub fn worker(&self, name: &WorkerName) -> Option<WorkerStatus> {
        self.inner.lock().workers.get(name).map(Entry::status)
    }

    /// An operator removed it.
    pub fn forget_worker(&self, name: &WorkerName) {
        self.inner.lock().workers.remove(name);
        self.changed();
    }

    /// The last report of a subtask. None: unknown, which is not "stopped".
    pub fn seen(&self, id: &SubtaskId) -> Option<Seen> {
        self.inner.lock().seen.get(id).cloned()
    }

    pub fn seen_of_task(&self, task: &TaskName) -> BTreeMap<SubtaskId, Seen> {
        let inner = self.inner.lock();
        inner.seen.iter().filter(|(id, _)| &id.task == task).map(|(id, seen)| (id.clone(), seen.clone())).collect()
    }

    pub fn all_seen(&self) -> BTreeMap<SubtaskId, Seen> {
        self.inner.lock().seen.clone()
    }

    /// The last run of it that was seen to work since this process began.
    pub fn last_worked(&self, id: &SubtaskId) -> Option<Generation> {
        self.inner.lock().ran.get(id).copied()
    }

    /// The subtask was deleted.
    pub fn forget(&self, id: &SubtaskId) {
        let mut inner = self.inner.lock();
        inner.seen.remove(id);
        inner.ran.remove(id);
        drop(inner);
        self.changed();
    }

    /// Whether a worker is surely off a subtask: it acted on `version` (which no longer has it) and has no open run
    /// of it, or it said goodbye. A lost worker is not sure: it may only be silent.
    pub fn is_off(&self, worker: &WorkerName, epoch: Epoch, id: &SubtaskId, version: u64) -> bool {
        let inner = self.inner.lock();
        match inner.workers.get(worker) {
            Some(entry) if entry.record.epoch == epoch => entry.is_off(id, version),
            _ => false,
        }
    }
}

impl Inner {
    /// Gives the standing, and whether the entry's state changed.
    fn hear(&mut self, worker: &WorkerName, epoch: Epoch, now_us: i64) -> (Standing, bool) {
        let expires_us = now_us.saturating_add(self.expiry.worker_us);
        let Some(entry) = self.workers.get_mut(worker) else { return (Standing::Terminate, false) };
        if epoch < entry.record.epoch {
            return (Standing::Terminate, false);
        }
        if epoch > entry.record.epoch {
            return (Standing::Register, false);
        }
        let before = entry.state;
        entry.happen(Event::Heartbeat);
        if !entry.state.is_in_office() {
            return (Standing::Terminate, false);
        }
        entry.expires_us = expires_us;
        entry.heard_us = Some(now_us);
        let standing = if entry.reported { Standing::Known } else { Standing::Unheard };
        (standing, before != entry.state)
    }

    fn take_in(&mut self, report: WorkerReport, now_us: i64) {
        let Some(entry) = self.workers.get_mut(&report.worker) else { return };
        if !entry.take_in(&report) {
            return;
        }
        if report.full {
            let named: BTreeSet<&SubtaskId> = report.subtasks.iter().map(|subtask| &subtask.id).collect();
            self.seen.retain(|id, seen| seen.worker != report.worker || named.contains(id));
        }
        for subtask in report.subtasks {
            if subtask.state == RunState::Running {
                let last = self.ran.entry(subtask.id.clone()).or_default();
                *last = subtask.generation.max(*last);
            }
            let older = self.seen.get(&subtask.id);
            let is_stale = |older: &Seen| {
                older.report.ledger_id == subtask.ledger_id && older.report.generation > subtask.generation
            };
            if older.is_some_and(is_stale) {
                continue;
            }
            let seen = Seen::next(older, subtask, &report.worker, report.worker_epoch, now_us);
            self.seen.insert(seen.report.id.clone(), seen);
        }
    }

    fn look(&mut self, now_us: i64) -> Vec<WorkerName> {
        self.allow_for_own_absence(now_us);
        let mut lost = Vec::new();
        if let Some(ends_us) = self.recovery_ends_us {
            let all_heard = self.workers.values().all(|entry| entry.state != WorkerState::Waiting);
            if all_heard || now_us >= ends_us {
                self.recovery_ends_us = None;
                for (name, entry) in &mut self.workers {
                    if entry.state == WorkerState::Waiting {
                        entry.happen(Event::RecoveryOver);
                        lost.push(name.clone());
                    }
                }
            }
        }
        for (name, entry) in &mut self.workers {
            let judged = matches!(entry.state, WorkerState::Created | WorkerState::Online);
            if judged && now_us >= entry.expires_us {
                entry.happen(Event::Expired);
                lost.push(name.clone());
            }
        }
        lost
    }

    /// Looks come many times within an expiry. A gap of half of it means that this process did not run.
    fn allow_for_own_absence(&mut self, now_us: i64) {
        let gap_us = now_us.saturating_sub(self.looked_us.unwrap_or(now_us));
        self.looked_us = Some(now_us);
        if gap_us < self.expiry.worker_us / 2 {
            return;
        }
        tracing::warn!(gap_ms = gap_us / 1000, "this master did not run for a while; workers are not judged by it");
        for entry in self.workers.values_mut() {
            entry.expires_us = entry.expires_us.saturating_add(gap_us);
        }
        self.recovery_ends_us = self.recovery_ends_us.map(|ends_us| ends_us.saturating_add(gap_us));
    }
}
