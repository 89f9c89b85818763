//! Keeps the world in memory, asks the scheduler, carries steps out, and tells workers what is wanted of them.
//!
//! In: a signal that something changed, and the passing of time. Out: changes in the metastore, wanted sets in the
//! link's outbox. Never here: choosing (the scheduler does), waiting for a database in the loop. The surprise: a signal
//! carries no hint. Every round looks at the whole world, so that a restart, a change of leader and the usual day share
//! one path. What users ask for reaches the world the same way: they commit, and the world hears of commits.

mod carrying;
mod cleanup;
mod deletion;
mod error;
mod latch;
mod memory;
mod metrics;
mod office;
mod removal;
mod settings;
#[cfg(test)]
mod tests;
mod wanted;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub use cleanup::TargetCleaner;
pub use deletion::{DeleteTask, Deletion};
pub use error::ControlError;
pub use latch::Latch;
pub use metrics::ControlMetrics;
pub use office::Claim;
pub use settings::Settings;
pub use wanted::subtask_config;

use crate::error::Chain;
use crate::link::{Outbox, SetVersion};
use crate::metastore::{Store, StoreError};
use crate::model::change::Change;
use crate::model::{Epoch, TaskName, WorkerName};
use crate::registry::{MasterClock, Registry, Tenure};
use crate::scheduler::{self, Step, World};
use memory::Memory;

/// What the reconciler works with; all of it is shared with others.
#[derive(Clone)]
pub struct Parts {
    pub store: Store,
    pub registry: Arc<Registry>,
    pub outbox: Arc<Outbox>,
    pub tenure: Arc<Tenure>,
    /// Woken by whoever has reason to believe that another master leads.
    pub doubt: Arc<Notify>,
    pub clock: MasterClock,
    /// Removes what a task left in its target.
    pub cleaner: Arc<dyn TargetCleaner>,
}

pub struct Reconciler {
    parts: Parts,
    settings: Settings,
    memory: Memory,
    latches: latch::Latches,
    cleaning: cleanup::Cleaning,
    activated: Notify,
    /// Everything spawned here; [`Reconciler::run`] waits for it.
    tasks: TaskTracker,
    leader_starts: AtomicU64,
    winding_down: AtomicBool,
}

impl Reconciler {
    pub fn new(parts: Parts, settings: Settings) -> Arc<Self> {
        let memory = Memory::new(parts.store.subscribe());
        Arc::new(Self {
            parts,
            settings,
            memory,
            latches: latch::Latches::default(),
            cleaning: cleanup::Cleaning::default(),
            activated: Notify::new(),
            tasks: TaskTracker::new(),
            leader_starts: AtomicU64::new(0),
            winding_down: AtomicBool::new(false),
        })
    }

    /// Whether this process leads.
    pub fn leads(&self) -> bool {
        self.parts.tenure.epoch().is_some()
    }

    fn epoch(&self) -> Result<Epoch, ControlError> {
        self.parts.tenure.epoch().ok_or(ControlError::NotLeader)
    }

    /// This process is about to end: from now on ends and losses are recorded, and nothing new is decided.
    pub fn wind_down(&self) {
        self.winding_down.store(true, Ordering::Relaxed);
    }

    /// Has the next round come soon.
    pub fn activate(&self) {
        self.activated.notify_one();
    }

    /// Stores changes of intent, all or none, and has them acted on.
    pub async fn commit(&self, changes: Vec<Change>) -> Result<(), ControlError> {
        let committed = self.parts.store.commit(self.epoch()?, changes).await;
        if matches!(committed, Err(StoreError::NotLeader)) {
            self.parts.doubt.notify_one();
        }
        self.activate();
        Ok(committed?)
    }

    /// Keeps everybody else from changing a task until the latch is dropped. Refused when somebody has it.
    pub fn hold(&self, task: &TaskName) -> Result<Latch<'_>, ControlError> {
        self.latches.hold(task).ok_or_else(|| ControlError::Busy { task: task.clone() })
    }

    /// Works until `stop` is cancelled. The lease is kept by [`Reconciler::keep_office`], beside this.
    pub async fn run(self: &Arc<Self>, stop: CancellationToken) {
        let mut news = self.parts.registry.subscribe();
        let mut retry_us = None;
        loop {
            let period = self.settings.period;
            let sleep = retry_us.map_or(period, |at_us| self.until(at_us).min(period));
            tokio::select! {
                () = stop.cancelled() => break,
                () = self.activated.notified() => {}
                _ = news.changed() => {}
                // A lost signal costs one period and nothing else.
                () = tokio::time::sleep(sleep) => {}
            }
            // What comes in a burst is looked at once.
            tokio::time::sleep(self.settings.gather).await;
            news.borrow_and_update();
            retry_us = self.round().await;
        }
        // What came in last, above all how runs ended, is stored under this leadership.
        self.round().await;
        self.tasks.close();
        if tokio::time::timeout(self.settings.grace, self.tasks.wait()).await.is_err() {
            tracing::warn!(
                left = self.tasks.len(),
                "cleanups under way did not end in time; they are tried again later"
            );
        }
    }

    fn until(&self, at_us: i64) -> Duration {
        let left_us = at_us.saturating_sub(self.parts.clock.now_us()).max(0);
        Duration::from_micros(u64::try_from(left_us).unwrap_or(0))
    }

    /// One look at the whole world. Gives when something is to be decided again.
    async fn round(self: &Arc<Self>) -> Option<i64> {
        let now_us = self.parts.clock.now_us();
        self.parts.registry.look(now_us);
        let epoch = self.parts.tenure.epoch()?;
        if let Err(error) = self.reload_if_doubtful().await {
            tracing::error!(error = %Chain(&error), "cannot read the metastore again; nothing is decided until it works");
            return None;
        }
        let mut plan = scheduler::plan(&self.world(), now_us);
        if self.winding_down.load(Ordering::Relaxed) {
            plan.steps.retain(Step::records_what_was);
        }
        self.carry_out(epoch, &plan.steps).await;
        self.publish();
        self.clean_what_is_due(&plan.steps);
        plan.wake_us
    }

    fn world(&self) -> World {
        self.memory.world(&self.parts.registry, self.settings.retries)
    }

    /// Tells every worker what is wanted of it now. Gives the versions of what was told.
    fn publish(&self) -> BTreeMap<(WorkerName, Epoch), SetVersion> {
        let mut versions = BTreeMap::new();
        for (holder, set) in wanted::sets(&self.world()) {
            let fingerprints = set.iter().map(|item| item.fingerprint.clone()).collect();
            let version = self.parts.outbox.put(&holder.0, holder.1, fingerprints, || {
                set.iter().map(|item| item.build(self.settings.stop_grace_s)).collect()
            });
            versions.insert(holder, version);
        }
        versions
    }

    async fn reload_if_doubtful(&self) -> Result<(), StoreError> {
        if self.memory.is_doubtful() {
            self.memory.replace(self.parts.store.everything().await?);
        }
        Ok(())
    }
}

/// What is left until a moment.
fn left_until(deadline: Instant) -> Duration {
    deadline.saturating_duration_since(Instant::now())
}
