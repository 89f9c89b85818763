//! The real router over a metastore of the test's own.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, Method, Request, StatusCode};
use ferrymaster::api::{App, MasterIdentity, router};
use ferrymaster::error::Fault;
use ferrymaster::metastore::{Outcome, Place, Store};
use ferrymaster::model::change::Change;
use ferrymaster::model::record::{Assignment, CleanupRecord, WorkerRecord};
use ferrymaster::model::{Epoch, WorkerName};
use ferrymaster::reconciler::{Parts, Reconciler, Settings, TargetCleaner};
use ferrymaster::registry::{Expiry, MasterClock, Registry, Tenure};
use ferrymaster::secrets::Sealer;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde_json::Value;
use tempfile::TempDir;
use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

pub const WORKER: &str = "worker-1";

/// An API with one worker that is heard, and that is given every source at once.
pub struct TestApp {
    router: Router,
    pub app: App,
    tenure: Arc<Tenure>,
    _place: TempDir,
}

/// What came back.
#[derive(Debug)]
pub struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    /// The body; pictures lose something here.
    pub text: String,
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {}", self.text))
    }

    /// The body of a failure, with the request's id cut out so that it can be compared.
    pub fn failure(&self) -> Value {
        let mut body = self.json();
        let id = body["request_id"].take();
        assert!(id.as_str().is_some_and(|id| !id.is_empty()), "{body}");
        body
    }

    pub fn code(&self) -> u64 {
        self.json()["error_code"].as_u64().unwrap_or_else(|| panic!("no code: {}", self.text))
    }

    pub fn message(&self) -> String {
        self.json()["error_msg"].as_str().unwrap_or_default().to_owned()
    }

    pub fn hint(&self) -> String {
        self.json()["hint"].as_str().unwrap_or_default().to_owned()
    }

    /// Fails the test unless the status is this.
    #[track_caller]
    pub fn expect(self, status: u16) -> Self {
        assert_eq!(self.status.as_u16(), status, "{}", self.text);
        self
    }
}

impl TestApp {
    pub async fn start() -> Self {
        let place = tempfile::tempdir().expect("a temporary directory");
        let sealer = Arc::new(Sealer::open_or_create(place.path()).expect("a key"));
        let store = Store::open(&Place::Directory(place.path().to_owned()), sealer).await.expect("a metastore");
        let epoch = store.claim_lease(None, "test", 1).await.expect("the lease").expect("nobody else claims it");
        let registry = Arc::new(Registry::new(Expiry { worker_us: 3_600_000_000 }));
        let worker = WorkerRecord {
            name: WorkerName::new(WORKER),
            address: "in this process".to_owned(),
            epoch: Epoch(1),
            capacity: 100,
            departed: false,
            registered_us: 1,
        };
        store.commit(epoch, vec![Change::Register(worker.clone())]).await.expect("the worker registers");
        let now_us = MasterClock::start().now_us();
        registry.register(worker, now_us);
        registry.heartbeat(&WorkerName::new(WORKER), Epoch(1), now_us);
        place_sources(&store, epoch);
        let tenure = Arc::new(Tenure::default());
        tenure.hold(epoch, Instant::now() + Duration::from_secs(3_600));
        let app = App {
            reconciler: reconciler(&store, &registry, tenure.clone()),
            store,
            registry,
            metrics: Arc::default(),
            stopping: CancellationToken::new(),
            delete_wait: Duration::from_secs(10),
            master: MasterIdentity { name: "master-1".to_owned(), address: "http://127.0.0.1:8261".to_owned() },
        };
        Self { router: router(app.clone()), app, tenure, _place: place }
    }

    /// From now on another process leads.
    pub fn lose_office(&self) {
        self.tenure.give_up();
    }

    pub async fn send(&self, request: Request<Body>) -> Answer {
        let response = self.router.clone().oneshot(request).await.expect("the router answers everything");
        let (parts, body) = response.into_parts();
        let bytes = to_bytes(body, 8 << 20).await.expect("the whole body");
        Answer { status: parts.status, headers: parts.headers, text: String::from_utf8_lossy(&bytes).into_owned() }
    }

    async fn call(&self, method: Method, path: &str, body: Option<Value>) -> Answer {
        let mut request = Request::builder().method(method).uri(path);
        let body = match body {
            None => Body::empty(),
            Some(body) => {
                request = request.header("content-type", "application/json");
                Body::from(body.to_string())
            }
        };
        self.send(request.body(body).expect("a request")).await
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.call(Method::GET, path, None).await
    }

    pub async fn post(&self, path: &str, body: Value) -> Answer {
        self.call(Method::POST, path, Some(body)).await
    }

    /// Without a body, and without a content type.
    pub async fn post_nothing(&self, path: &str) -> Answer {
        self.call(Method::POST, path, None).await
    }

    pub async fn put(&self, path: &str, body: Value) -> Answer {
        self.call(Method::PUT, path, Some(body)).await
    }

    pub async fn delete(&self, path: &str) -> Answer {
        self.call(Method::DELETE, path, None).await
    }

    /// All that is stored, as text: equal texts say that nothing changed.
    pub async fn stored(&self) -> String {
        let everything = self.app.store.everything().await.expect("the metastore answers");
        format!("{everything:?}")
    }
}

/// Commits for whoever calls; it makes no rounds of its own.
fn reconciler(store: &Store, registry: &Arc<Registry>, tenure: Arc<Tenure>) -> Arc<Reconciler> {
    let parts = Parts {
        store: store.clone(),
        registry: registry.clone(),
        outbox: Arc::default(),
        tenure,
        doubt: Arc::new(Notify::new()),
        clock: MasterClock::start(),
        cleaner: Arc::new(NoTarget),
    };
    Reconciler::new(parts, Settings::default())
}

/// No task of these tests ever ran, so none left anything in its target.
struct NoTarget;

impl TargetCleaner for NoTarget {
    fn clean<'a>(&'a self, _: &'a CleanupRecord, _: Duration) -> BoxFuture<'a, Result<(), Fault>> {
        async { Ok(()) }.boxed()
    }
}

/// Stands in for the scheduler: every new source goes to the worker.
fn place_sources(store: &Store, epoch: Epoch) {
    let mut commits = store.subscribe();
    let store = store.clone();
    tokio::spawn(async move {
        while let Some(committed) = commits.recv().await {
            let Outcome::Stored(changes) = committed.outcome else { continue };
            for change in changes.iter() {
                let Change::InsertSource(source) = change else { continue };
                let assignment = Assignment {
                    source: source.name.clone(),
                    worker: WorkerName::new(WORKER),
                    worker_epoch: Epoch(1),
                    assigned_us: 1,
                };
                // A source that was given to a worker by name, or is gone again, needs none.
                let _ = store.commit(epoch, vec![Change::Assign(assignment)]).await;
            }
        }
    });
}
