//! The worker of `serve`: one incarnation after the other, joined to the master over memory.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::config::Serve;
use crate::link::MasterLink;
use crate::link::client::{self, Ending, Identity};
use crate::model::WorkerName;
use crate::replicate::applier::MemoryLimits;
use crate::worker::{Worker, WorkerSettings};

pub(super) struct Settings {
    identity: Identity,
    heartbeat: Duration,
    worker: WorkerSettings,
}

impl Settings {
    pub(super) fn of(settings: &Serve) -> Self {
        Self {
            identity: Identity {
                worker: WorkerName::new(&settings.name),
                address: settings.listen.to_string(),
                capacity: settings.worker_capacity,
            },
            heartbeat: settings.heartbeat,
            worker: WorkerSettings {
                memory: MemoryLimits {
                    under_way_bytes: settings.subtask_memory_bytes,
                    transaction_bytes: usize::try_from(settings.transaction_memory_bytes).unwrap_or(usize::MAX),
                },
                ..WorkerSettings::default()
            },
        }
    }
}

/// Works until `stop`, then closes all runs and says goodbye. An incarnation that the master gave up drops everything
/// and is followed by the next.
pub(super) async fn keep_working(link: Arc<dyn MasterLink>, settings: Settings, stop: CancellationToken) {
    loop {
        let connecting = client::connect(link.clone(), settings.identity.clone(), settings.heartbeat, &stop);
        let Some((mut connection, driver)) = connecting.await else { return };
        let (terminated, runs_closed) = (CancellationToken::new(), CancellationToken::new());
        let worker = Worker::new(settings.worker.clone());
        let working = async {
            worker.run(&mut connection, stop.clone(), terminated.clone()).await;
            runs_closed.cancel();
        };
        let linked = async {
            let ending = driver.run(runs_closed.clone()).await;
            if ending == Ending::Terminated {
                tracing::warn!("the master gave this worker up; its runs are dropped, and it registers anew");
                terminated.cancel();
            }
            ending
        };
        let ((), ending) = tokio::join!(working, linked);
        if ending == Ending::Stopped || stop.is_cancelled() {
            return;
        }
    }
}
