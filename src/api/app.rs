//! What handlers work with.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::error::ApiResult;
use crate::metastore::{Store, StoreError};
use crate::model::change::Change;
use crate::model::{SourceName, TaskName};
use crate::reconciler::{ControlError, Reconciler};
use crate::registry::Registry;
use crate::telemetry::Metrics;

/// For a call that asks one server one thing.
pub const PROBE_DEADLINE: Duration = Duration::from_secs(10);
/// For the whole precheck of a task.
pub const PRECHECK_DEADLINE: Duration = Duration::from_secs(60);

/// The handlers' state; cheap to clone.
#[derive(Clone)]
pub struct App {
    pub store: Store,
    pub registry: Arc<Registry>,
    pub reconciler: Arc<Reconciler>,
    pub metrics: Arc<Metrics>,
    /// Cancelled when this process begins to shut down.
    pub stopping: CancellationToken,
    /// How long a deletion may wait for its target when the call does not say.
    pub delete_wait: Duration,
    pub master: MasterIdentity,
}

/// How this process names itself among masters.
#[derive(Debug, Clone)]
pub struct MasterIdentity {
    pub name: String,
    /// Its URL.
    pub address: String,
}

/// How often a call has read and decided again.
#[derive(Debug, Default)]
pub struct Tries(u32);

impl Tries {
    const MOST: u32 = 20;

    fn again(&mut self) -> bool {
        self.0 += 1;
        self.0 < Self::MOST
    }
}

impl App {
    /// Forgets all progress of these subtasks. Their records change: they are to be read again.
    pub async fn remove_meta(&self, selected: &super::tasks::Selected) -> ApiResult<()> {
        let sources: Vec<SourceName> = selected.subtasks.iter().map(|subtask| subtask.id.source.clone()).collect();
        Ok(self.reconciler.remove_meta(&selected.task.name, &sources).await?)
    }

    /// Whether this process leads.
    pub fn leads(&self) -> bool {
        self.reconciler.leads()
    }

    /// Stores changes of intent, all or none, and has them acted on. Refused while another call is at the same task.
    pub async fn commit(&self, changes: Vec<Change>) -> ApiResult<()> {
        Ok(self.try_commit(changes).await?)
    }

    /// As [`Self::commit`]. False: a record has changed since it was read, and the caller shall read and decide again.
    /// No other call need have done that: the scheduler gives a run that failed a new generation at any moment.
    pub async fn commit_again(&self, changes: Vec<Change>, tries: &mut Tries) -> ApiResult<bool> {
        match self.try_commit(changes).await {
            Ok(()) => Ok(true),
            Err(ControlError::Store(StoreError::Conflict { .. })) if tries.again() => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    async fn try_commit(&self, changes: Vec<Change>) -> Result<(), ControlError> {
        let tasks: BTreeSet<&TaskName> = changes.iter().filter_map(task_of).collect();
        let latches = tasks.into_iter().map(|task| self.reconciler.hold(task)).collect::<Result<Vec<_>, _>>()?;
        self.reconciler.commit(changes).await?;
        drop(latches);
        Ok(())
    }
}

fn task_of(change: &Change) -> Option<&TaskName> {
    match change {
        Change::InsertTask(record) | Change::UpdateTask(record) => Some(&record.name),
        Change::InsertSubtask(record) => Some(&record.id.task),
        Change::Want(want) => Some(&want.id.task),
        _ => None,
    }
}
