//! What handlers work with.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::error::ApiResult;
use crate::metastore::Store;
use crate::model::SourceName;
use crate::model::change::Change;
use crate::reconciler::Reconciler;
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

    /// Stores changes of intent, all or none, and has them acted on.
    pub async fn commit(&self, changes: Vec<Change>) -> ApiResult<()> {
        Ok(self.reconciler.commit(changes).await?)
    }
}
