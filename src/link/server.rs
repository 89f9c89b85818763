//! The master's end of the link.
//!
//! It checks who calls, keeps the registry told, and answers from the outbox. Only a registration touches the
//! metastore.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use tokio::sync::Notify;

use super::message::{
    GoodbyeRequest, RegisterAnswer, RegisterRequest, ReportAnswer, ReportRequest, Verdict, WantedAnswer, WantedRequest,
};
use super::{LinkError, MasterLink, Outbox};
use crate::metastore::{Store, StoreError};
use crate::model::change::Change;
use crate::model::record::WorkerRecord;
use crate::model::{Epoch, WorkerName};
use crate::registry::{MasterClock, Registry, Standing, Tenure, WorkerReport};

/// No call is held longer, whatever the worker asks for.
const HOLD_MAX: Duration = Duration::from_secs(1);
/// Two processes that register under one name at the same moment disturb each other; more tries than that are a fault.
const REGISTRATION_TRIES: u32 = 5;

#[derive(Debug, Clone, Copy)]
pub struct LinkSettings {
    /// What an answer is good for, from the sending of its request. Not longer than the master's expiry.
    pub lease: Duration,
}

pub struct LinkServer {
    pub store: Store,
    pub registry: Arc<Registry>,
    pub outbox: Arc<Outbox>,
    pub clock: MasterClock,
    pub settings: LinkSettings,
    pub tenure: Arc<Tenure>,
    /// Wakes whoever keeps the lease: a worker knows a higher master epoch. A message's word alone deposes nobody.
    pub doubt: Arc<Notify>,
}

impl LinkServer {
    /// The epoch to answer under; None: this process does not lead, or a worker says so.
    fn epoch(&self, known: Epoch) -> Option<Epoch> {
        let own = self.tenure.epoch();
        if own.is_some_and(|own| known > own) {
            tracing::warn!(master.epoch = known.0, "a worker knows a higher master epoch; the lease is read again");
            self.doubt.notify_one();
            return None;
        }
        own
    }

    async fn register_now(&self, request: RegisterRequest) -> Result<RegisterAnswer, LinkError> {
        let Some(master_epoch) = self.epoch(Epoch(0)) else {
            let (verdict, worker_epoch) = (Verdict::NotLeader, Epoch(0));
            return Ok(RegisterAnswer { verdict, master_epoch: Epoch(0), worker_epoch });
        };
        let mut tries = 0;
        loop {
            tries += 1;
            match self.try_register(master_epoch, &request).await {
                Ok(record) => {
                    let worker_epoch = record.epoch;
                    self.outbox.retire(&record.name, worker_epoch);
                    self.registry.register(record, self.clock.now_us());
                    return Ok(RegisterAnswer { verdict: Verdict::Ok, master_epoch, worker_epoch });
                }
                Err(StoreError::NotLeader) => {
                    self.doubt.notify_one();
                    return Ok(RegisterAnswer { verdict: Verdict::NotLeader, master_epoch, worker_epoch: Epoch(0) });
                }
                Err(StoreError::Conflict { .. }) if tries < REGISTRATION_TRIES => {}
                Err(cause) => return Err(LinkError::Registration(cause)),
            }
        }
    }

    async fn try_register(&self, epoch: Epoch, request: &RegisterRequest) -> Result<WorkerRecord, StoreError> {
        let stored = self.store.worker(&request.worker).await?;
        let record = WorkerRecord {
            name: request.worker.clone(),
            address: request.address.clone(),
            epoch: stored.map_or(Epoch(0), |stored| stored.epoch).next(),
            capacity: request.capacity,
            departed: false,
            registered_us: self.clock.now_us(),
        };
        self.store.commit(epoch, vec![Change::Register(record.clone())]).await?;
        Ok(record)
    }

    fn verdict(&self, worker: &WorkerName, standing: Standing) -> Verdict {
        match standing {
            Standing::Known => Verdict::Ok,
            Standing::Unheard => Verdict::Resync,
            Standing::Register => Verdict::Register,
            Standing::Terminate => {
                tracing::warn!(worker.name = %worker, "told {worker} to end: unknown, lost, or an older incarnation");
                Verdict::Terminate
            }
        }
    }

    async fn wanted_now(&self, request: WantedRequest) -> WantedAnswer {
        let lease_ms = u32::try_from(self.settings.lease.as_millis()).unwrap_or(u32::MAX);
        let answer = |verdict, master_epoch| WantedAnswer { verdict, master_epoch, lease_ms, wanted: None };
        let Some(epoch) = self.epoch(request.master_epoch) else { return answer(Verdict::NotLeader, Epoch(0)) };
        let standing = self.registry.heartbeat(&request.worker, request.worker_epoch, self.clock.now_us());
        let verdict = self.verdict(&request.worker, standing);
        if !matches!(verdict, Verdict::Ok | Verdict::Resync) {
            return answer(verdict, epoch);
        }
        let mut sets = self.outbox.subscribe(&request.worker, request.worker_epoch);
        // A resync is asked for at once, but the set that goes with it may be there already.
        let hold = if verdict == Verdict::Resync { Duration::ZERO } else { hold(request.hold_ms) };
        let news = sets.wait_for(|set| set.as_ref().is_some_and(|set| set.version != request.has));
        let wanted = match tokio::time::timeout(hold, news).await {
            Ok(Ok(set)) => set.as_ref().map(|set| set.as_ref().clone()),
            Ok(Err(_)) | Err(_) => None,
        };
        // What was true when the call came need not be true after the hold.
        if self.tenure.epoch() != Some(epoch) {
            return answer(Verdict::NotLeader, Epoch(0));
        }
        WantedAnswer { wanted, ..answer(verdict, epoch) }
    }

    fn report_now(&self, request: ReportRequest) -> ReportAnswer {
        let Some(master_epoch) = self.epoch(request.master_epoch) else {
            return ReportAnswer { verdict: Verdict::NotLeader, master_epoch: Epoch(0) };
        };
        let worker = request.worker.clone();
        let applied = request.applied;
        let standing = self.registry.report(
            WorkerReport {
                worker: request.worker,
                worker_epoch: request.worker_epoch,
                number: request.number,
                // Another leader's count says nothing about this one's.
                applied_version: if applied.master_epoch == master_epoch { applied.version } else { 0 },
                open_runs: request.open_runs,
                subtasks: request.subtasks,
                full: request.full,
            },
            self.clock.now_us(),
        );
        ReportAnswer { verdict: self.verdict(&worker, standing), master_epoch }
    }
}

fn hold(asked_ms: u32) -> Duration {
    Duration::from_millis(u64::from(asked_ms)).min(HOLD_MAX)
}

impl MasterLink for LinkServer {
    fn register(&self, request: RegisterRequest) -> BoxFuture<'_, Result<RegisterAnswer, LinkError>> {
        self.register_now(request).boxed()
    }

    fn wanted(&self, request: WantedRequest) -> BoxFuture<'_, Result<WantedAnswer, LinkError>> {
        self.wanted_now(request).map(Ok).boxed()
    }

    fn report(&self, request: ReportRequest) -> BoxFuture<'_, Result<ReportAnswer, LinkError>> {
        async move { Ok(self.report_now(request)) }.boxed()
    }

    fn goodbye(&self, request: GoodbyeRequest) -> BoxFuture<'_, Result<(), LinkError>> {
        async move {
            self.registry.goodbye(&request.worker, request.worker_epoch);
            Ok(())
        }
        .boxed()
    }
}
