//! What handlers work with.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Notify, watch};

use super::error::{ApiError, ApiResult};
use crate::metastore::Store;
use crate::model::Epoch;
use crate::model::change::Change;
use crate::registry::Registry;

/// For a call that asks one server one thing.
pub const PROBE_DEADLINE: Duration = Duration::from_secs(10);
/// For the whole precheck of a task.
pub const PRECHECK_DEADLINE: Duration = Duration::from_secs(60);

/// The handlers' state; cheap to clone.
#[derive(Clone)]
pub struct App {
    pub store: Store,
    pub registry: Arc<Registry>,
    /// The epoch while this process leads.
    pub epoch: watch::Receiver<Option<Epoch>>,
    pub wake: Arc<Notify>,
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
    /// Forgets all progress of these subtasks.
    pub async fn remove_meta(&self, _: &super::tasks::Selected) -> ApiResult<()> {
        Err(super::faults::common("remove_meta is not built yet", "leave `remove_meta` out").into())
    }

    /// Whether this process leads.
    pub fn leads(&self) -> bool {
        self.epoch.borrow().is_some()
    }

    /// Stores changes of intent, all or none, and has them acted on.
    pub async fn commit(&self, changes: Vec<Change>) -> ApiResult<()> {
        let epoch = *self.epoch.borrow();
        let epoch = epoch.ok_or_else(ApiError::no_leader)?;
        self.store.commit(epoch, changes).await?;
        self.wake.notify_one();
        Ok(())
    }
}
