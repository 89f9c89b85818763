//! What deletions share: taking workers off, noting what is left; and deleting a source, and progress alone.

use std::sync::Arc;

use uuid::Uuid;

use super::deletion::Deletion;
use super::{ControlError, Reconciler};
use crate::metastore::StoreError;
use crate::model::change::{Change, Want};
use crate::model::record::{AbandonedLedger, CleanupRecord, SubtaskRecord, TaskRecord};
use crate::model::subtask::Wanted;
use crate::model::{Generation, LedgerId, SourceName, TaskName};

/// Whether every run is surely closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Off {
    Surely,
    /// Some run may be alive in the target: its worker was silent, or is not the one that began it.
    Perhaps,
}

/// What is left in the target; None: nothing ever ran.
pub(super) fn cleanup_of(
    task: &TaskRecord,
    subtasks: &[SubtaskRecord],
    off: Off,
    now_us: i64,
) -> Option<CleanupRecord> {
    let ledgers: Vec<AbandonedLedger> = subtasks
        .iter()
        .filter(|subtask| subtask.generation > Generation(0) || subtask.ledger_kept)
        .map(|subtask| AbandonedLedger {
            source: subtask.id.source.clone(),
            ledger_id: subtask.ledger_id,
            generation: subtask.generation,
        })
        .collect();
    if ledgers.is_empty() {
        return None;
    }
    Some(CleanupRecord {
        id: Uuid::now_v7(),
        task: task.name.clone(),
        target: task.target.clone(),
        meta_schema: task.settings.meta_schema.clone(),
        ledgers,
        confirmed_off: off == Off::Surely,
        attempts: 0,
        tried_us: None,
        cause: None,
        created_us: now_us,
    })
}

impl Reconciler {
    /// Has the workers close these subtasks' runs (their task is marked, so no set has them any more), and waits until
    /// they say so, for a while.
    pub(super) async fn take_off(&self, subtasks: &[SubtaskRecord]) -> Off {
        let versions = self.publish();
        let started: Vec<&SubtaskRecord> =
            subtasks.iter().filter(|subtask| subtask.generation > Generation(0)).collect();
        if started.is_empty() {
            return Off::Surely;
        }
        let world = self.world();
        // Without a holder there is nobody to wait for.
        let held: Vec<_> = started
            .iter()
            .filter_map(|subtask| {
                let holder = world.holder(&subtask.id.source)?;
                let version = versions.get(&(holder.worker.clone(), holder.worker_epoch))?;
                Some((&subtask.id, holder, version.version))
            })
            .collect();
        let all_off = self.parts.registry.wait_until(self.settings.off_wait, |registry| {
            held.iter().all(|(id, holder, version)| registry.is_off(&holder.worker, holder.worker_epoch, id, *version))
        });
        let is_off = all_off.await;
        // A run that never worked did not take the target over: an older one may be alive there.
        let worked = started.iter().all(|subtask| {
            let stored = subtask.present_conclusion().is_some_and(|conclusion| conclusion.worked);
            stored || self.parts.registry.last_worked(&subtask.id) == Some(subtask.generation)
        });
        if is_off && worked && held.len() == started.len() { Off::Surely } else { Off::Perhaps }
    }

    /// The open cleanups that a task must wait for before it runs: an abandoned run may be alive in its target.
    pub fn held_up_by(&self, task: &TaskName) -> Vec<CleanupRecord> {
        let world = self.world();
        let Some(task) = world.tasks.get(task) else { return Vec::new() };
        world.held_up_by(task).map(|record| record.as_ref().clone()).collect()
    }

    /// Deletes a source. With `force` its subtasks go with it, and tasks that have no other source; what they left in
    /// their targets is cleaned behind.
    pub async fn delete_source(self: &Arc<Self>, name: &SourceName, force: bool) -> Result<(), ControlError> {
        let reconciler = self.clone();
        let name = name.clone();
        let deleting = self.tasks.spawn(async move { reconciler.delete_source_now(&name, force).await });
        deleting.await.unwrap_or(Err(ControlError::NotLeader))
    }

    async fn delete_source_now(&self, name: &SourceName, force: bool) -> Result<(), ControlError> {
        let store = &self.parts.store;
        let unknown = || ControlError::UnknownSource { source_name: name.clone() };
        let source = store.source(name).await?.ok_or_else(unknown)?;
        let subtasks = store.subtasks_of_source(name).await?;
        let tasks: Vec<TaskName> = subtasks.iter().map(|subtask| subtask.id.task.clone()).collect();
        if !force && !tasks.is_empty() {
            return Err(ControlError::SourceHasTasks { source_name: name.clone(), tasks });
        }
        let latches = tasks.iter().map(|task| self.hold(task)).collect::<Result<Vec<_>, _>>()?;
        let leaving = self.memory.mark_leaving(&subtasks);
        let off = self.take_off(&subtasks).await;
        let result = match self.source_removal(name, source.revision, off).await {
            Ok(changes) => self.commit(changes).await,
            Err(error) => Err(error),
        };
        drop(leaving);
        drop(latches);
        self.activate();
        result.map_err(|error| match error {
            // A task was made on it meanwhile.
            ControlError::Store(StoreError::SourceInUse { tasks, .. }) => ControlError::SourceHasTasks {
                source_name: name.clone(),
                tasks: tasks.into_iter().map(TaskName::new).collect(),
            },
            other => other,
        })
    }

    async fn source_removal(&self, name: &SourceName, revision: u64, off: Off) -> Result<Vec<Change>, ControlError> {
        let store = &self.parts.store;
        let now_us = self.parts.clock.now_us();
        let mut changes = Vec::new();
        for subtask in store.subtasks_of_source(name).await? {
            let (task, siblings) = self.task_with_subtasks(&subtask.id.task).await?;
            let cleanup = cleanup_of(&task, std::slice::from_ref(&subtask), off, now_us);
            changes.extend(cleanup.map(|record| Change::InsertCleanup(Box::new(record))));
            changes.push(Change::TakeKeptLedger { id: subtask.id.clone() });
            changes.push(if siblings.len() > 1 {
                Change::RemoveSubtask { id: subtask.id.clone(), revision: subtask.revision }
            } else {
                Change::RemoveTask { name: task.name, revision: task.revision }
            });
        }
        changes.push(Change::RemoveSource { name: name.clone(), revision });
        Ok(changes)
    }

    /// Gives up the progress of subtasks: they begin anew under other ledger ids. Refused while they run; the error of a
    /// cleanup that failed is returned, though the progress is given up all the same.
    pub async fn remove_meta(self: &Arc<Self>, task: &TaskName, sources: &[SourceName]) -> Result<(), ControlError> {
        let reconciler = self.clone();
        let (task, sources) = (task.clone(), sources.to_vec());
        let removing = self.tasks.spawn(async move { reconciler.remove_meta_now(&task, &sources).await });
        removing.await.unwrap_or(Err(ControlError::NotLeader))
    }

    async fn remove_meta_now(&self, name: &TaskName, sources: &[SourceName]) -> Result<(), ControlError> {
        let _latch = self.hold(name)?;
        let (task, mut subtasks) = self.task_with_subtasks(name).await?;
        let unknown: Vec<SourceName> =
            sources.iter().filter(|source| subtasks.iter().all(|one| &&one.id.source != source)).cloned().collect();
        if !unknown.is_empty() {
            return Err(ControlError::UnknownSubtasks { task: name.clone(), sources: unknown });
        }
        subtasks.retain(|subtask| sources.contains(&subtask.id.source));
        let running: Vec<SourceName> = subtasks
            .iter()
            .filter(|subtask| subtask.wanted == Wanted::Running)
            .map(|subtask| subtask.id.source.clone())
            .collect();
        if !running.is_empty() {
            return Err(ControlError::Running { task: name.clone(), sources: running });
        }
        let off = self.take_off(&subtasks).await;
        let cleanup = cleanup_of(&task, &subtasks, off, self.parts.clock.now_us());
        let mut changes: Vec<Change> = subtasks
            .iter()
            .map(|subtask| {
                let want = Want { ledger_id: LedgerId::new(), ledger_kept: false, ..Want::of(subtask) };
                Change::Want(Box::new(want))
            })
            .collect();
        changes.extend(cleanup.clone().map(|record| Change::InsertCleanup(Box::new(record))));
        let reserved = cleanup.as_ref().map(|record| self.cleaning.reserve(record.id));
        self.commit(changes).await?;
        let Some(cleanup) = cleanup else { return Ok(()) };
        let result = match self.clean_and_tell(&cleanup, self.settings.remove_meta_deadline).await {
            Deletion::Left { cause, .. } => Err(ControlError::CleanupFailed { task: name.clone(), fault: *cause }),
            Deletion::Complete | Deletion::Behind { .. } => Ok(()),
        };
        drop(reserved);
        result
    }
}
