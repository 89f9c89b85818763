//! Carries a plan out: many steps in one transaction; where one is refused, the rest go alone.

use super::Reconciler;
use crate::error::Chain;
use crate::metastore::StoreError;
use crate::model::Epoch;
use crate::model::change::Change;
use crate::model::record::Assignment;
use crate::scheduler::Step;

/// Steps in one transaction at most.
const BATCH: usize = 500;

impl Reconciler {
    pub(super) async fn carry_out(&self, epoch: Epoch, steps: &[Step]) {
        for batch in steps.chunks(BATCH) {
            let changes: Vec<Change> = batch.iter().filter_map(|step| self.change_of(step)).collect();
            if changes.is_empty() {
                continue;
            }
            match self.parts.store.commit(epoch, changes).await {
                Ok(()) => batch.iter().for_each(|step| self.stored(step)),
                Err(StoreError::NotLeader) => {
                    self.parts.doubt.notify_one();
                    return;
                }
                Err(error) if is_about_one_row(&error) => self.one_by_one(epoch, batch).await,
                Err(error) => {
                    tracing::warn!(error = %Chain(&error), "steps could not be stored; the next round decides anew");
                    return;
                }
            }
        }
    }

    /// The world moved on between the look and the commit. What still holds is stored; the rest is planned anew.
    async fn one_by_one(&self, epoch: Epoch, steps: &[Step]) {
        for step in steps {
            let Some(change) = self.change_of(step) else { continue };
            match self.parts.store.commit(epoch, vec![change]).await {
                Ok(()) => self.stored(step),
                Err(error) => tracing::info!(error = %Chain(&error), "not done: {step}"),
            }
        }
        self.activate();
    }

    fn change_of(&self, step: &Step) -> Option<Change> {
        Some(match step {
            Step::Conclude { id, conclusion } => Change::Conclude { id: id.clone(), conclusion: conclusion.clone() },
            Step::Assign { source, worker, worker_epoch, .. } => Change::Assign(Assignment {
                source: source.clone(),
                worker: worker.clone(),
                worker_epoch: *worker_epoch,
                assigned_us: self.parts.clock.now_us(),
            }),
            Step::Unassign { source, .. } => Change::Unassign { source: source.clone() },
            Step::Advance { id, from, to, attempts, .. } => {
                Change::Advance { id: id.clone(), from: *from, to: *to, attempts: *attempts }
            }
            Step::RecordLoss { worker, epoch } => Change::Depart { name: worker.clone(), epoch: *epoch },
            Step::ForgetAttempts { id, generation } => {
                Change::ForgetAttempts { id: id.clone(), generation: *generation }
            }
            Step::Clean { .. } => return None,
        })
    }

    fn stored(&self, step: &Step) {
        match step {
            Step::RecordLoss { worker, epoch } => {
                self.parts.registry.loss_stored(worker, *epoch);
                tracing::info!(worker.name = %worker, worker.epoch = epoch.0, "{step}");
            }
            Step::Conclude { id, .. } => {
                tracing::info!(task.name = %id.task, source.name = %id.source, "{step}");
            }
            Step::Advance { id, .. } | Step::ForgetAttempts { id, .. } => {
                tracing::info!(task.name = %id.task, source.name = %id.source, "{step}");
            }
            Step::Assign { source, worker, .. } => {
                tracing::info!(source.name = %source, worker.name = %worker, "{step}");
            }
            Step::Unassign { source, .. } => tracing::warn!(source.name = %source, "{step}"),
            Step::Clean { .. } => {}
        }
    }
}

fn is_about_one_row(error: &StoreError) -> bool {
    matches!(error, StoreError::Conflict { .. } | StoreError::Missing { .. } | StoreError::Exists { .. })
}
