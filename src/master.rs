//! The control plane's wiring: what `serve` starts, in which order, and how it stops.
//!
//! In: checked settings. Out: a process that serves until it is asked to stop. Never here: rules about tasks. The
//! surprise: stopping goes in the order of the data. First nothing new is asked for, then runs close and their last
//! reports arrive, then what records them ends, then the lease is given back.

mod control_plane;
mod data_directory;
mod http;
mod incarnations;

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

pub use control_plane::ControlPlane;
pub use data_directory::{DataDirectory, DataDirectoryError};
pub use http::ListenError;

use crate::api::App;
use crate::config::Serve;
use crate::metastore::{Place, Store, StoreError};
use crate::reconciler::Claim;
use crate::registry::{Registry, WorkMetrics};
use crate::secrets::{KeyFileError, Sealer};
use crate::shutdown::{Budget, Signals};
use crate::telemetry::Metrics;
use http::Server;

#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    #[error(transparent)]
    DataDirectory(#[from] DataDirectoryError),
    #[error(transparent)]
    Key(#[from] KeyFileError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Listen(#[from] ListenError),
    #[error("cannot catch signals")]
    Signals(#[source] std::io::Error),
    #[error("the HTTP server ended")]
    Http(#[source] Option<std::io::Error>),
}

/// How long requests wait at most for the own worker to have registered.
const FIRST_WORKER: Duration = Duration::from_secs(5);
/// Answers that are under way when stopping begins get this long.
const DRAIN: Duration = Duration::from_secs(3);
/// Kept for what ends after the runs: the reconciler, the lease, the metastore.
const LAST: Duration = Duration::from_secs(3);

/// Master and one worker in one process, until SIGTERM or SIGINT.
pub async fn serve(settings: Serve) -> Result<(), ServeError> {
    let mut signals = Signals::catch().map_err(ServeError::Signals)?;
    let directory = DataDirectory::lock(&settings.data_dir)?;
    let sealer = Arc::new(Sealer::open_or_create(directory.path())?);
    let store = Store::open(&Place::Directory(directory.path().to_owned()), sealer).await?;
    let listener = http::bind(settings.listen)?;

    let plane = ControlPlane::new(store.clone(), &settings, Arc::new(control_plane::ProbeCleaner));
    let metrics = Arc::new(Metrics::default());
    metrics.add(WorkMetrics { registry: plane.registry.clone(), clock: plane.clock });
    metrics.add(plane.reconciler.metrics());
    let stopping = CancellationToken::new();
    let app = App {
        store: store.clone(),
        registry: plane.registry.clone(),
        reconciler: plane.reconciler.clone(),
        metrics,
        stopping: stopping.clone(),
        delete_wait: settings.delete_wait,
        master: crate::api::MasterIdentity {
            name: settings.name.clone(),
            address: format!("http://{}", settings.listen),
        },
    };

    let control_stop = CancellationToken::new();
    let claim = Claim { holder: settings.name.clone(), exclusive: true };
    let control = plane.begin(claim, control_stop.clone());
    let worker_stop = CancellationToken::new();
    let worker = tokio::spawn(incarnations::keep_working(
        plane.link.clone(),
        incarnations::Settings::of(&settings),
        worker_stop.clone(),
    ));
    // A source that is made by the first request already has a worker to go to.
    let has_worker = |registry: &Registry| registry.workers().iter().any(|worker| worker.state.is_in_office());
    plane.registry.wait_until(FIRST_WORKER, has_worker).await;
    let mut server = Server::begin(listener, crate::api::router(app));
    tracing::info!("the API listens on http://{}, its page is /api/v1/docs", settings.listen);

    let ended = tokio::select! {
        signal = signals.asked() => {
            tracing::info!("{signal}: stopping");
            Ok(())
        }
        failure = server.ended() => Err(ServeError::Http(failure)),
    };

    stopping.cancel();
    plane.reconciler.wind_down();
    let budget = Budget::of(settings.shutdown_grace);
    server.stop(DRAIN.min(settings.shutdown_grace / 4)).await;
    stop_worker(worker, &worker_stop, Budget::of(budget.left().saturating_sub(LAST))).await;
    control_stop.cancel();
    budget.wait_for("the control plane", control.ended()).await;
    budget.wait_for("the metastore", store.close()).await;
    tracing::info!("stopped");
    drop(directory);
    ended
}

async fn stop_worker(mut worker: JoinHandle<()>, stop: &CancellationToken, budget: Budget) {
    stop.cancel();
    let in_time = budget.wait_for("the worker", async {
        if let Err(error) = (&mut worker).await {
            tracing::error!(error = %error, "the worker ended badly");
        }
    });
    if !in_time.await {
        worker.abort();
    }
}
