//! Deletes a task: never held up by its target.
//!
//! 1. Refused while a subtask is wanted running, unless forced.
//! 2. Workers are taken off it, for at most a few seconds.
//! 3. All internal metadata goes in one transaction, which also notes what is left in the target.
//! 4. The target is cleaned in what is left of the one deadline; what could not be cleaned stays noted and is tried
//!    again.
//!
//! The surprise: until step 3 is stored nothing has changed. "Deleting" is a mark in memory; an error leaves the task as
//! it was, and its runs come back under new generations.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use uuid::Uuid;

use super::cleanup::{AskedBy, Reserved, Tried};
use super::removal::cleanup_of;
use super::{ControlError, Reconciler, left_until};
use crate::error::Fault;
use crate::model::change::Change;
use crate::model::record::{CleanupRecord, KeptLedger, SubtaskRecord, TaskRecord};
use crate::model::subtask::Wanted;
use crate::model::{Generation, TaskName};

/// How a task is to be deleted.
#[derive(Debug, Clone)]
pub struct DeleteTask {
    pub task: TaskName,
    /// Even if it is wanted running.
    pub force: bool,
    /// Leave the progress in the target for the next task of this name.
    pub keep_meta: bool,
    /// For the whole call. Zero: answer once the internal metadata is gone, clean behind.
    pub wait: Duration,
}

/// What became of the task's target metadata. The task itself is gone.
#[derive(Debug, Clone)]
pub enum Deletion {
    /// Nothing is left in the target, or it was to be kept.
    Complete,
    /// It is being cleaned behind.
    Behind { cleanup: Uuid },
    /// It could not be cleaned; it is tried again.
    Left { cleanup: Uuid, cause: Box<Fault> },
}

impl Reconciler {
    /// Deletes a task. It goes on to its end even when the caller stops waiting.
    pub async fn delete_task(self: &Arc<Self>, request: DeleteTask) -> Result<Deletion, ControlError> {
        let reconciler = self.clone();
        let deleting = self.tasks.spawn(async move { reconciler.delete_now(request).await });
        // The task is owned by the tracker; it only fails to answer when the process ends.
        deleting.await.unwrap_or(Err(ControlError::NotLeader))
    }

    async fn delete_now(&self, request: DeleteTask) -> Result<Deletion, ControlError> {
        let deadline = Instant::now() + request.wait;
        let latch = self.hold(&request.task)?;
        let (task, subtasks) = self.task_with_subtasks(&request.task).await?;
        let running: Vec<&SubtaskRecord> = subtasks.iter().filter(|one| one.wanted == Wanted::Running).collect();
        if !running.is_empty() && !request.force {
            let sources = running.iter().map(|subtask| subtask.id.source.clone()).collect();
            return Err(ControlError::Running { task: request.task, sources });
        }
        let removed = {
            let _leaving = self.memory.mark_leaving(&subtasks);
            self.delete_internally(&request, &task, &subtasks).await
        };
        // Stored or not, what workers are told is to be looked at again.
        self.activate();
        drop(latch);
        let Some((cleanup, _reserved)) = removed? else { return Ok(Deletion::Complete) };
        if request.wait.is_zero() {
            return Ok(Deletion::Behind { cleanup: cleanup.id });
        }
        Ok(self.clean_and_tell(&cleanup, left_until(deadline)).await)
    }

    /// Steps 2 and 3. Gives what is left in the target, kept from the rounds until the call has tried it.
    async fn delete_internally(
        &self,
        request: &DeleteTask,
        task: &TaskRecord,
        subtasks: &[SubtaskRecord],
    ) -> Result<Option<(CleanupRecord, Reserved<'_>)>, ControlError> {
        let off = self.take_off(subtasks).await;
        // The world may have moved on while workers closed their runs: generations above all.
        let (task, subtasks) = self.task_with_subtasks(&task.name).await?;
        let now_us = self.parts.clock.now_us();
        let mut changes = vec![Change::RemoveTask { name: task.name.clone(), revision: task.revision }];
        let mut cleanup = None;
        if request.keep_meta {
            changes.extend(subtasks.iter().filter(|subtask| subtask.generation > Generation(0)).map(|subtask| {
                Change::KeepLedger(KeptLedger {
                    id: subtask.id.clone(),
                    ledger_id: subtask.ledger_id,
                    generation: subtask.generation,
                    kept_us: now_us,
                })
            }));
        } else if let Some(record) = cleanup_of(&task, &subtasks, off, now_us) {
            changes.push(Change::InsertCleanup(Box::new(record.clone())));
            let reserved = self.cleaning.reserve(record.id);
            cleanup = Some((record, reserved));
        }
        self.commit(changes).await?;
        tracing::info!(task.name = %task.name, "deleted task {}", task.name);
        Ok(cleanup)
    }

    /// Step 4. Failing is worth one warning, and no error.
    pub(super) async fn clean_and_tell(&self, cleanup: &CleanupRecord, within: Duration) -> Deletion {
        match self.try_clean(cleanup, AskedBy::Call, within).await {
            Tried::Cleaned => Deletion::Complete,
            Tried::NotNow => Deletion::Behind { cleanup: cleanup.id },
            Tried::Failed(cause) => {
                warn_left(cleanup, &cause);
                Deletion::Left { cleanup: cleanup.id, cause: Box::new(cause) }
            }
        }
    }

    pub(super) async fn task_with_subtasks(
        &self,
        name: &TaskName,
    ) -> Result<(TaskRecord, Vec<SubtaskRecord>), ControlError> {
        let store = &self.parts.store;
        let task = store.task(name).await?.ok_or_else(|| ControlError::UnknownTask { task: name.clone() })?;
        Ok((task, store.subtasks_of_task(name).await?))
    }
}

/// The one warning of a deletion.
pub(super) fn warn_left(cleanup: &CleanupRecord, cause: &Fault) {
    let (task, target) = (&cleanup.task, &cleanup.target);
    tracing::warn!(
        task.name = %task,
        target.server = %target,
        cleanup.id = %cleanup.id,
        "what task {task} left in target {target} could not be removed, and is tried again: {cause}"
    );
}
