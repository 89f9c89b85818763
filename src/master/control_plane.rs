//! Registry, link and reconciler, put together round one metastore.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::config::Serve;
use crate::error::Fault;
use crate::link::{LinkServer, LinkSettings, Outbox};
use crate::metastore::Store;
use crate::model::record::CleanupRecord;
use crate::mysql::Deadline;
use crate::probe;
use crate::reconciler::{self, Claim, Parts, Reconciler, TargetCleaner};
use crate::registry::{Expiry, MasterClock, Registry, Tenure};
use crate::scheduler::Retries;

/// Cleans through the one room that speaks to databases for the master.
pub(super) struct ProbeCleaner;

impl TargetCleaner for ProbeCleaner {
    fn clean<'a>(&'a self, record: &'a CleanupRecord, within: Duration) -> BoxFuture<'a, Result<(), Fault>> {
        probe::clean(record, Deadline::after(within)).boxed()
    }
}

/// The master's parts. Nothing runs before [`ControlPlane::begin`].
pub struct ControlPlane {
    pub registry: Arc<Registry>,
    pub link: Arc<LinkServer>,
    pub reconciler: Arc<Reconciler>,
    pub clock: MasterClock,
}

/// What runs of the control plane.
pub struct Running {
    tasks: Vec<JoinHandle<()>>,
}

impl Running {
    /// Waits until everything ended, after the token was cancelled.
    pub async fn ended(self) {
        for task in self.tasks {
            if let Err(error) = task.await {
                tracing::error!(error = %error, "a part of the control plane ended badly");
            }
        }
    }
}

impl ControlPlane {
    pub fn new(store: Store, settings: &Serve, cleaner: Arc<dyn TargetCleaner>) -> Self {
        let clock = MasterClock::start();
        let registry = Arc::new(Registry::new(Expiry { worker_us: micros(settings.worker_expiry) }));
        let (outbox, tenure, doubt) =
            (Arc::new(Outbox::default()), Arc::new(Tenure::default()), Arc::new(Notify::new()));
        let link = Arc::new(LinkServer {
            store: store.clone(),
            registry: registry.clone(),
            outbox: outbox.clone(),
            clock,
            settings: LinkSettings { lease: settings.worker_expiry },
            tenure: tenure.clone(),
            doubt: doubt.clone(),
        });
        let parts = Parts { store, registry: registry.clone(), outbox, tenure, doubt, clock, cleaner };
        let reconciler = Reconciler::new(parts, reconciler_settings(settings));
        Self { registry, link, reconciler, clock }
    }

    /// Claims the lease, and works while it is held.
    pub fn begin(&self, claim: Claim, stop: CancellationToken) -> Running {
        let (office, rounds) = (self.reconciler.clone(), self.reconciler.clone());
        // The lease is given back last: only once nothing more is recorded under it.
        let office_stop = CancellationToken::new();
        let office_ends = office_stop.clone();
        Running {
            tasks: vec![
                tokio::spawn(async move {
                    rounds.run(stop).await;
                    office_ends.cancel();
                }),
                tokio::spawn(async move { office.keep_office(claim, office_stop).await }),
            ],
        }
    }
}

fn reconciler_settings(settings: &Serve) -> reconciler::Settings {
    reconciler::Settings {
        period: (settings.worker_expiry / 8).min(Duration::from_millis(500)),
        lease: settings.leader_lease,
        retries: Retries {
            first_us: micros(settings.retry_first),
            longest_us: micros(settings.retry_longest),
            tries: settings.retry_tries,
            healthy_us: micros(settings.retry_healthy),
            seed: uuid::Uuid::new_v4().as_u64_pair().0,
        },
        stop_grace_s: u32::try_from(settings.stop_grace.as_millis().div_ceil(1_000)).unwrap_or(u32::MAX),
        ..reconciler::Settings::default()
    }
}

fn micros(length: Duration) -> i64 {
    i64::try_from(length.as_micros()).unwrap_or(i64::MAX)
}
