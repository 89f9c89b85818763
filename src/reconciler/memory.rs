//! The world in memory: read whole on taking office, then kept up by every commit.
//!
//! The surprise: commits are told in a queue, and taken in whenever the world is looked at. So a world that is looked at
//! after a commit returned has it.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::mpsc::UnboundedReceiver;
use uuid::Uuid;

use crate::metastore::{Committed, Everything, Outcome};
use crate::model::SubtaskId;
use crate::model::change::Change;
use crate::model::record::{CleanupRecord, SourceRecord, SubtaskRecord, TaskRecord};
use crate::registry::{Registry, WorkerState};
use crate::scheduler::{Retries, SeenRun, Standing, WorkerView, World};

pub(super) struct Memory {
    inner: Mutex<Inner>,
}

struct Inner {
    commits: UnboundedReceiver<Committed>,
    /// All but what the registry knows.
    world: World,
    /// Commits up to here are in the world.
    sequence: u64,
    /// Nothing was read yet, or a commit was not answered.
    doubtful: bool,
}

impl Memory {
    pub(super) fn new(commits: UnboundedReceiver<Committed>) -> Self {
        let inner = Inner { commits, world: World::default(), sequence: 0, doubtful: true };
        Self { inner: Mutex::new(inner) }
    }

    pub(super) fn is_doubtful(&self) -> bool {
        let mut inner = self.inner.lock();
        inner.catch_up();
        inner.doubtful
    }

    /// Takes what was read in place of what was remembered. Marks of deletion stay: they are memory's own.
    pub(super) fn replace(&self, everything: Everything) {
        let mut inner = self.inner.lock();
        inner.sequence = everything.sequence;
        inner.doubtful = false;
        let (leaving, returning) =
            (std::mem::take(&mut inner.world.leaving), std::mem::take(&mut inner.world.returning));
        inner.world = World { leaving, returning, ..read(everything) };
        inner.catch_up();
    }

    /// Nothing is believed until it is read again: another master may have changed it.
    pub(super) fn doubt(&self) {
        self.inner.lock().doubtful = true;
    }

    /// The world now, with what the registry knows. Reports of subtasks that are gone, though others may have their
    /// names now, are forgotten on the way.
    pub(super) fn world(&self, registry: &Registry, retries: Retries) -> World {
        let mut world = {
            let mut inner = self.inner.lock();
            inner.catch_up();
            inner.world.clone()
        };
        for (id, seen) in registry.all_seen() {
            if world.subtasks.get(&id).is_some_and(|subtask| subtask.ledger_id == seen.report.ledger_id) {
                if let Some(generation) = registry.last_worked(&id) {
                    world.ran.insert(id.clone(), generation);
                }
                world.seen.insert(id, SeenRun { report: seen.report, since_us: seen.since_us });
            } else {
                registry.forget(&id);
            }
        }
        for status in registry.workers() {
            let standing = match status.state {
                WorkerState::Created | WorkerState::Waiting | WorkerState::Online => Standing::InOffice,
                WorkerState::Offline => Standing::Lost,
                WorkerState::Tombstone => Standing::Recorded,
            };
            let view = WorkerView { epoch: status.record.epoch, capacity: status.record.capacity, standing };
            world.workers.insert(status.record.name, view);
        }
        world.recovering = registry.is_recovering();
        world.retries = retries;
        world
    }

    /// Marks subtasks as being deleted until the mark is dropped.
    pub(super) fn mark_leaving(&self, subtasks: &[SubtaskRecord]) -> Leaving<'_> {
        let ids: Vec<SubtaskId> = subtasks.iter().map(|subtask| subtask.id.clone()).collect();
        self.inner.lock().world.leaving.extend(ids.iter().cloned());
        Leaving { memory: self, ids }
    }

    pub(super) fn cleanups(&self) -> Vec<Arc<CleanupRecord>> {
        let mut inner = self.inner.lock();
        inner.catch_up();
        inner.world.cleanups.values().cloned().collect()
    }

    /// The next try need not wait for its backoff.
    pub(super) fn hurry(&self, cleanup: Uuid) {
        let mut inner = self.inner.lock();
        inner.catch_up();
        if let Some(record) = inner.world.cleanups.get_mut(&cleanup) {
            Arc::make_mut(record).tried_us = None;
        }
    }
}

/// See [`Memory::mark_leaving`].
#[must_use]
pub(super) struct Leaving<'a> {
    memory: &'a Memory,
    ids: Vec<SubtaskId>,
}

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        let mut inner = self.memory.inner.lock();
        inner.catch_up();
        for id in &self.ids {
            inner.world.leaving.remove(id);
            if inner.world.subtasks.contains_key(id) {
                inner.world.returning.insert(id.clone());
            }
        }
    }
}

impl Inner {
    fn catch_up(&mut self) {
        while let Ok(committed) = self.commits.try_recv() {
            if committed.sequence <= self.sequence {
                continue;
            }
            match committed.outcome {
                Outcome::Stored(changes) => changes.iter().for_each(|change| apply(&mut self.world, change)),
                Outcome::Unknown => self.doubtful = true,
            }
            self.sequence = committed.sequence;
        }
    }
}

fn read(everything: Everything) -> World {
    World {
        sources: everything.sources.into_iter().map(|record| (record.name.clone(), Arc::new(record))).collect(),
        tasks: everything.tasks.into_iter().map(|record| (record.name.clone(), Arc::new(record))).collect(),
        subtasks: everything.subtasks.into_iter().map(|record| (record.id.clone(), Arc::new(record))).collect(),
        assignments: everything.assignments.into_iter().map(|given| (given.source.clone(), given)).collect(),
        cleanups: everything.cleanups.into_iter().map(|record| (record.id, Arc::new(record))).collect(),
        ..World::default()
    }
}

/// Does to the world what the metastore did to its rows.
fn apply(world: &mut World, change: &Change) {
    match change {
        Change::InsertSource(record) => {
            let record = SourceRecord { revision: 1, ..record.as_ref().clone() };
            world.sources.insert(record.name.clone(), Arc::new(record));
        }
        Change::UpdateSource(record) => {
            let record = SourceRecord { revision: record.revision + 1, ..record.as_ref().clone() };
            world.sources.insert(record.name.clone(), Arc::new(record));
        }
        Change::RemoveSource { name, .. } => {
            world.sources.remove(name);
            world.assignments.remove(name);
        }
        Change::InsertTask(record) => {
            let record = TaskRecord { revision: 1, ..record.as_ref().clone() };
            world.tasks.insert(record.name.clone(), Arc::new(record));
        }
        Change::UpdateTask(record) => {
            let record = TaskRecord { revision: record.revision + 1, ..record.as_ref().clone() };
            world.tasks.insert(record.name.clone(), Arc::new(record));
        }
        Change::RemoveTask { name, .. } => {
            world.tasks.remove(name);
            world.subtasks.retain(|id, _| &id.task != name);
            world.returning.retain(|id| &id.task != name);
        }
        Change::InsertSubtask(record) => {
            let record = SubtaskRecord { revision: 1, conclusion: None, ..record.as_ref().clone() };
            world.subtasks.insert(record.id.clone(), Arc::new(record));
        }
        Change::RemoveSubtask { id, .. } => {
            world.subtasks.remove(id);
            world.returning.remove(id);
        }
        Change::Want(want) => {
            if let Some(record) = world.subtasks.get_mut(&want.id) {
                let record = Arc::make_mut(record);
                if want.generation > record.generation {
                    world.returning.remove(&want.id);
                }
                record.revision = want.revision + 1;
                record.wanted = want.wanted;
                record.generation = want.generation;
                record.attempts = want.attempts;
                record.ledger_id = want.ledger_id;
                record.ledger_kept = want.ledger_kept;
                record.settings = want.settings.clone();
            }
        }
        Change::Advance { id, to, attempts, .. } => {
            world.returning.remove(id);
            if let Some(record) = world.subtasks.get_mut(id) {
                let record = Arc::make_mut(record);
                record.revision += 1;
                record.generation = *to;
                record.attempts = *attempts;
            }
        }
        Change::ForgetAttempts { id, .. } => {
            if let Some(record) = world.subtasks.get_mut(id) {
                Arc::make_mut(record).attempts = 0;
            }
        }
        Change::Conclude { id, conclusion } => {
            if let Some(record) = world.subtasks.get_mut(id) {
                Arc::make_mut(record).conclusion = Some(conclusion.as_ref().clone());
            }
        }
        Change::Assign(assignment) => {
            world.assignments.insert(assignment.source.clone(), assignment.clone());
        }
        Change::Unassign { source } => {
            world.assignments.remove(source);
        }
        Change::InsertCleanup(record) => {
            world.cleanups.insert(record.id, Arc::new(record.as_ref().clone()));
        }
        Change::UpdateCleanup(record) => {
            if let Some(present) = world.cleanups.get_mut(&record.id) {
                let present = Arc::make_mut(present);
                present.target = record.target.clone();
                present.meta_schema.clone_from(&record.meta_schema);
                present.ledgers.clone_from(&record.ledgers);
                present.confirmed_off = record.confirmed_off;
            }
        }
        Change::CleanupTried { id, attempts, tried_us, cause } => {
            if let Some(present) = world.cleanups.get_mut(id) {
                let present = Arc::make_mut(present);
                present.attempts = *attempts;
                present.tried_us = Some(*tried_us);
                present.cause = Some(cause.clone());
            }
        }
        Change::RemoveCleanup { id } => {
            world.cleanups.remove(id);
        }
        // Workers are the registry's; the rest is read when it is needed.
        Change::Register(_)
        | Change::Depart { .. }
        | Change::RemoveWorker { .. }
        | Change::KeepLedger(_)
        | Change::TakeKeptLedger { .. }
        | Change::SetCluster { .. } => {}
    }
}
