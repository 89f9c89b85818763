//! All that decisions are made from, at one moment.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use uuid::Uuid;

use super::Retries;
use crate::model::record::{Assignment, CleanupRecord, SourceRecord, SubtaskRecord, TaskRecord};
use crate::model::report::SubtaskReport;
use crate::model::{Epoch, Generation, SourceName, SubtaskId, TaskName, WorkerName};

/// What a worker entry is to the scheduler.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// Work may be given to it.
    InOffice,
    /// Gone; that is not stored yet.
    Lost,
    /// Gone, and recorded.
    Recorded,
}

#[derive(Debug, Clone)]
pub struct WorkerView {
    pub epoch: Epoch,
    pub capacity: u32,
    pub standing: Standing,
}

/// The last report of a subtask.
#[derive(Debug, Clone)]
pub struct SeenRun {
    pub report: Arc<SubtaskReport>,
    /// Since when it is in this state, by the master's clock.
    pub since_us: i64,
}

#[derive(Debug, Clone, Default)]
pub struct World {
    pub sources: BTreeMap<SourceName, Arc<SourceRecord>>,
    pub tasks: BTreeMap<TaskName, Arc<TaskRecord>>,
    pub subtasks: BTreeMap<SubtaskId, Arc<SubtaskRecord>>,
    /// A source that is missing here is free.
    pub assignments: BTreeMap<SourceName, Assignment>,
    pub workers: BTreeMap<WorkerName, WorkerView>,
    pub cleanups: BTreeMap<Uuid, Arc<CleanupRecord>>,
    /// None for a subtask: unknown.
    pub seen: BTreeMap<SubtaskId, SeenRun>,
    /// The last run of each subtask that was seen to work since this process began.
    pub ran: BTreeMap<SubtaskId, Generation>,
    /// Subtasks that are being deleted: nothing is decided for them, and no worker shall have them.
    pub leaving: BTreeSet<SubtaskId>,
    /// Subtasks whose deletion failed. Their worker has forgotten them, and with them which numbers it used: they run
    /// under a new one or not at all.
    pub returning: BTreeSet<SubtaskId>,
    /// A new leader still waits for the workers of its predecessor.
    pub recovering: bool,
    pub retries: Retries,
}

impl World {
    /// The assignment of a source, if its worker's incarnation is in office.
    pub fn holder(&self, source: &SourceName) -> Option<&Assignment> {
        self.assignments.get(source).filter(|assignment| self.is_in_office(assignment))
    }

    pub(super) fn is_in_office(&self, assignment: &Assignment) -> bool {
        self.workers
            .get(&assignment.worker)
            .is_some_and(|worker| worker.standing == Standing::InOffice && worker.epoch == assignment.worker_epoch)
    }

    /// How and when the present run of a subtask ended: as stored, else as just reported.
    pub(super) fn ended<'a>(&'a self, subtask: &'a SubtaskRecord) -> Option<(&'a SubtaskReport, i64)> {
        let stored = subtask.present_conclusion().map(|conclusion| (&conclusion.report, conclusion.ended_us));
        stored.or_else(|| self.just_ended(subtask))
    }

    /// A reported end that is not stored yet.
    pub(super) fn just_ended(&self, subtask: &SubtaskRecord) -> Option<(&SubtaskReport, i64)> {
        if subtask.concluded().is_some() {
            return None;
        }
        let SeenRun { report, since_us } = self.seen.get(&subtask.id)?;
        (report.generation == subtask.generation && report.is_end()).then_some((report, *since_us))
    }

    /// Open cleanups that a task must wait for; see [`CleanupRecord::holds_up`].
    pub fn held_up_by<'a>(&'a self, task: &'a TaskRecord) -> impl Iterator<Item = &'a Arc<CleanupRecord>> {
        self.cleanups.values().filter(move |cleanup| cleanup.holds_up(task))
    }
}
