//! A master, workers that pretend, and a cleaner that does as it is told.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use tempfile::TempDir;
use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::error::{Code, Fault};
use crate::link::client::{self, Ending, Identity, WorkerView};
use crate::link::{LinkServer, LinkSettings, Outbox};
use crate::metastore::{Store, testing};
use crate::model::change::{Change, Want};
use crate::model::record::{
    CleanupRecord, ServerFacts, SourceRecord, SubtaskRecord, SubtaskSettings, TaskRecord, TaskSettings,
};
use crate::model::report::{ErrorDetail, ErrorHistory, ErrorReport, Outcome, RunState, SubtaskReport, Unit, Verdict};
use crate::model::subtask::{OnDuplicate, TaskMode, Wanted, WantedSubtask};
use crate::model::{Endpoint, Flavor, Generation, LedgerId, SourceName, SubtaskId, TaskName, WorkerName};
use crate::reconciler::{Claim, Parts, Reconciler, Settings, TargetCleaner};
use crate::registry::{Expiry, MasterClock, Registry, Seen, Tenure};
use crate::scheduler::Retries;

pub const SOON: Duration = Duration::from_secs(20);
pub const EXPIRY: Duration = Duration::from_millis(1_500);
const BEAT: Duration = Duration::from_millis(100);

pub struct Bench {
    pub store: Store,
    pub master: Master,
    pub cleaner: Arc<Cleaner>,
    pub directory: TempDir,
}

/// One leadership's worth of control plane.
pub struct Master {
    pub reconciler: Arc<Reconciler>,
    pub registry: Arc<Registry>,
    pub link: Arc<LinkServer>,
    pub tenure: Arc<Tenure>,
    pub doubt: Arc<Notify>,
    pub stop: CancellationToken,
    pub running: Vec<tokio::task::JoinHandle<()>>,
}

impl Master {
    pub fn begin(store: &Store, cleaner: Arc<Cleaner>, clock: MasterClock) -> Self {
        let expiry_us = i64::try_from(EXPIRY.as_micros()).unwrap();
        let registry = Arc::new(Registry::new(Expiry { worker_us: expiry_us }));
        let outbox = Arc::new(Outbox::default());
        let tenure = Arc::new(Tenure::default());
        let doubt = Arc::new(Notify::new());
        let parts = Parts {
            store: store.clone(),
            registry: registry.clone(),
            outbox: outbox.clone(),
            tenure: tenure.clone(),
            doubt: doubt.clone(),
            clock,
            cleaner,
        };
        let retries = Retries { first_us: 20_000, longest_us: 100_000, tries: 5, ..Retries::default() };
        let settings = Settings {
            period: Duration::from_millis(100),
            retries,
            off_wait: Duration::from_secs(3),
            cleanup_deadline: Duration::from_secs(2),
            cleanup_first: Duration::from_millis(100),
            cleanup_longest: Duration::from_millis(200),
            ..Settings::default()
        };
        let reconciler = Reconciler::new(parts, settings);
        let link = LinkServer {
            store: store.clone(),
            registry: registry.clone(),
            outbox,
            clock,
            settings: LinkSettings { lease: EXPIRY },
            tenure: tenure.clone(),
            doubt: doubt.clone(),
        };
        let stop = CancellationToken::new();
        let claim = Claim { holder: "test".to_owned(), exclusive: true };
        let running = vec![
            tokio::spawn({
                let (reconciler, stop) = (reconciler.clone(), stop.clone());
                async move { reconciler.keep_office(claim, stop).await }
            }),
            tokio::spawn({
                let (reconciler, stop) = (reconciler.clone(), stop.clone());
                async move { reconciler.run(stop).await }
            }),
        ];
        Self { reconciler, registry, link: Arc::new(link), tenure, doubt, stop, running }
    }

    pub async fn end(self) {
        self.stop.cancel();
        for running in self.running {
            running.await.unwrap();
        }
    }
}

impl Bench {
    pub async fn new() -> Self {
        let (store, directory) = testing::temporary().await;
        let cleaner = Arc::new(Cleaner::default());
        let master = Master::begin(&store, cleaner.clone(), MasterClock::start());
        let bench = Self { store, master, cleaner, directory };
        until("it leads", || bench.master.reconciler.leads()).await;
        bench
    }

    /// As kill -9 and a new start: nobody says goodbye, nobody gives the lease back.
    pub async fn restart(self) -> Self {
        self.master.running.iter().for_each(tokio::task::JoinHandle::abort);
        let Self { store, cleaner, directory, .. } = self;
        let master = Master::begin(&store, cleaner.clone(), MasterClock::start());
        until("it leads", || master.reconciler.leads()).await;
        Self { store, master, cleaner, directory }
    }

    pub async fn commit(&self, changes: Vec<Change>) {
        self.master.reconciler.commit(changes).await.unwrap();
    }

    pub async fn make_source(&self, name: &str) {
        self.commit(vec![Change::InsertSource(Box::new(source(name)))]).await;
    }

    pub async fn make_task(&self, name: &str, host: &str, sources: &[&str]) {
        let mut changes = vec![Change::InsertTask(Box::new(task(name, host, self.master.link.clock.now_us())))];
        changes.extend(sources.iter().map(|source| Change::InsertSubtask(Box::new(subtask(name, source)))));
        self.commit(changes).await;
    }

    pub async fn record(&self, id: &SubtaskId) -> SubtaskRecord {
        let all = self.store.subtasks_of_task(&id.task).await.unwrap();
        all.into_iter().find(|record| &record.id == id).expect("the subtask exists")
    }

    /// What the API does: computes the wish from what is stored, again when that changed meanwhile.
    pub async fn want(&self, id: &SubtaskId, wanted: Wanted) -> Generation {
        loop {
            let record = self.record(id).await;
            let mut want = Want { wanted, attempts: 0, ..Want::of(&record) };
            if wanted == Wanted::Running {
                want.generation = record.generation.next();
            }
            let generation = want.generation;
            if self.master.reconciler.commit(vec![Change::Want(Box::new(want))]).await.is_ok() {
                return generation;
            }
        }
    }

    /// Starts a subtask, and waits until its worker says that it runs.
    pub async fn start(&self, id: &SubtaskId) -> Generation {
        let generation = self.want(id, Wanted::Running).await;
        self.seen(id, |seen| seen.report.generation >= generation && seen.report.state == RunState::Running).await;
        generation
    }

    pub async fn seen(&self, id: &SubtaskId, mut is_so: impl FnMut(&Seen) -> bool + Send) {
        let came = self.master.registry.wait_for(id, SOON, |seen| seen.is_some_and(&mut is_so)).await;
        assert!(came, "seen of {id}: {:?}", self.master.registry.seen(id));
    }

    pub async fn worker(&self, name: &str) -> Worker {
        Worker::begin(self.master.link.clone(), name).await
    }

    /// Runs a statement on the file itself, behind the store's back.
    pub async fn sql(&self, statement: &'static str) {
        testing::run_directly(self.directory.path(), statement).await;
    }
}

/// Waits for a state; fails after [`SOON`].
pub async fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + SOON;
    while !is_so() {
        assert!(Instant::now() < deadline, "waited in vain until {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Waits for a state that has to be asked for; fails after [`SOON`].
pub async fn until_found<T>(what: &str, mut find: impl AsyncFnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + SOON;
    loop {
        if let Some(found) = find().await {
            return found;
        }
        assert!(Instant::now() < deadline, "waited in vain until {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

pub fn id(task: &str, source: &str) -> SubtaskId {
    SubtaskId { task: TaskName::new(task), source: SourceName::new(source) }
}

pub fn fault(text: &str) -> Fault {
    Code::new(10001, "database", "high").fault(text)
}

pub fn endpoint(host: &str) -> Endpoint {
    Endpoint { host: host.to_owned(), port: 3306, user: "root".to_owned(), password: "p".to_owned().into(), tls: None }
}

fn source(name: &str) -> SourceRecord {
    SourceRecord {
        name: SourceName::new(name),
        revision: 0,
        enabled: true,
        document: serde_json::Value::Null,
        endpoint: endpoint(name),
        enable_gtid: false,
        server: ServerFacts { flavor: Flavor::MySql, version: "9.7.0".to_owned(), names_ignore_case: false },
        created_us: 0,
        updated_us: 0,
    }
}

fn task(name: &str, host: &str, created_us: i64) -> TaskRecord {
    TaskRecord {
        name: TaskName::new(name),
        revision: 0,
        document: serde_json::Value::Null,
        target: endpoint(host),
        settings: TaskSettings {
            mode: TaskMode::All,
            on_duplicate: OnDuplicate::Error,
            meta_schema: "dm_meta".to_owned(),
            collation_map: BTreeMap::new(),
            export_threads: 1,
            import_threads: 1,
            replicate_lanes: 1,
            replicate_batch: 1,
        },
        created_us,
        updated_us: created_us,
    }
}

fn subtask(task: &str, source: &str) -> SubtaskRecord {
    SubtaskRecord {
        id: id(task, source),
        revision: 0,
        wanted: Wanted::Stopped,
        generation: Generation(0),
        attempts: 0,
        ledger_id: LedgerId::new(),
        ledger_kept: false,
        settings: SubtaskSettings::default(),
        conclusion: None,
    }
}

/// Does as it is told, and remembers what it was asked.
#[derive(Default)]
pub struct Cleaner {
    pub manner: Mutex<Manner>,
    pub asked: Mutex<Vec<CleanupRecord>>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum Manner {
    #[default]
    Works,
    Refuses,
    /// As a target that accepts and never answers: fails when the time is up.
    Silent,
}

impl Cleaner {
    pub fn behave(&self, manner: Manner) {
        *self.manner.lock() = manner;
    }

    pub fn asked_of(&self, task: &str) -> usize {
        self.asked.lock().iter().filter(|record| record.task.as_str() == task).count()
    }
}

impl TargetCleaner for Cleaner {
    fn clean<'a>(&'a self, record: &'a CleanupRecord, within: Duration) -> BoxFuture<'a, Result<(), Fault>> {
        self.asked.lock().push(record.clone());
        let manner = *self.manner.lock();
        async move {
            match manner {
                Manner::Works => Ok(()),
                Manner::Refuses => Err(fault("connection refused")),
                Manner::Silent => {
                    tokio::time::sleep(within).await;
                    Err(fault("the server did not answer in time"))
                }
            }
        }
        .boxed()
    }
}

/// What a pretending worker does with runs it is asked to open.
#[derive(Debug, Clone)]
pub enum Script {
    Run,
    Fail(Verdict),
    /// Closes nothing: as one whose close hangs.
    HangOnClose,
}

/// Says that it runs what it is asked to run.
pub struct Worker {
    /// How it treats a task; left out: [`Script::Run`].
    pub scripts: Arc<Mutex<BTreeMap<TaskName, Script>>>,
    /// Generations it opened, in order.
    pub opened: Arc<Mutex<Vec<(SubtaskId, Generation)>>>,
    /// Stops answering anybody, as a frozen process.
    pub frozen: CancellationToken,
    pub stop: CancellationToken,
    pub ending: tokio::task::JoinHandle<Option<Ending>>,
}

impl Worker {
    pub async fn begin(link: Arc<LinkServer>, name: &str) -> Self {
        let identity = Identity { worker: WorkerName::new(name), address: String::new(), capacity: 16 };
        let (connection, driver) =
            client::connect(link, identity, BEAT, &CancellationToken::new()).await.expect("it registers");
        let scripts = Arc::new(Mutex::new(BTreeMap::new()));
        let opened = Arc::new(Mutex::new(Vec::new()));
        let (frozen, stop) = (CancellationToken::new(), CancellationToken::new());
        let ending = tokio::spawn({
            let (frozen, stop) = (frozen.clone(), stop.clone());
            let working = pretend(connection, scripts.clone(), opened.clone());
            async move {
                tokio::select! {
                    () = frozen.cancelled() => None,
                    ending = driver.run(stop) => Some(ending),
                    () = working => None,
                }
            }
        });
        Self { scripts, opened, frozen, stop, ending }
    }

    pub fn script(&self, task: &str, script: Script) {
        self.scripts.lock().insert(TaskName::new(task), script);
    }

    pub fn opened(&self, id: &SubtaskId) -> Vec<u64> {
        self.opened.lock().iter().filter(|(opened, _)| opened == id).map(|(_, generation)| generation.0).collect()
    }
}

async fn pretend(
    mut connection: client::Connection,
    scripts: Arc<Mutex<BTreeMap<TaskName, Script>>>,
    opened: Arc<Mutex<Vec<(SubtaskId, Generation)>>>,
) {
    let mut tick: i64 = 0;
    while connection.wanted.changed().await.is_ok() {
        let Some(set) = connection.wanted.borrow_and_update().clone() else { continue };
        let scripts = scripts.lock().clone();
        connection.view.send_modify(|view| {
            view.applied = set.version;
            let hangs = |id: &SubtaskId| matches!(scripts.get(&id.task), Some(Script::HangOnClose));
            view.runs.retain(|id, run| {
                let wanted = set.subtasks.iter().any(|subtask| &subtask.id == id);
                wanted || (hangs(id) && run.state != RunState::Closed)
            });
            for subtask in &set.subtasks {
                tick += 1;
                act(view, subtask, scripts.get(&subtask.id.task), tick, &opened);
            }
        });
    }
}

fn act(
    view: &mut WorkerView,
    subtask: &WantedSubtask,
    script: Option<&Script>,
    tick: i64,
    opened: &Mutex<Vec<(SubtaskId, Generation)>>,
) {
    let present = view.runs.get(&subtask.id);
    let used = present.map(|run| run.generation);
    let closed = present.is_none_or(|run| run.state == RunState::Closed);
    let report = match (subtask.wanted, script) {
        (Wanted::Running, _) if used.is_some_and(|used| used >= subtask.generation) => return,
        (Wanted::Running, script) => {
            opened.lock().push((subtask.id.clone(), subtask.generation));
            match script {
                Some(Script::Fail(verdict)) => ended(subtask, Outcome::Failed, Some(verdict.clone()), tick),
                _ => report(subtask, subtask.generation, RunState::Running, tick),
            }
        }
        (Wanted::Stopped, Some(Script::HangOnClose)) => return,
        (Wanted::Stopped, _) if closed => return,
        (Wanted::Stopped, _) => {
            let generation = used.unwrap_or(subtask.generation);
            SubtaskReport { generation, ..ended(subtask, Outcome::Stopped, None, tick) }
        }
    };
    view.runs.insert(subtask.id.clone(), report);
}

fn report(subtask: &WantedSubtask, generation: Generation, state: RunState, tick: i64) -> SubtaskReport {
    SubtaskReport {
        id: subtask.id.clone(),
        ledger_id: subtask.config.ledger_id,
        generation,
        state,
        outcome: None,
        unit: Unit::Sync,
        load: None,
        sync: None,
        error: None,
        notices: vec![],
        reported_at_us: tick,
    }
}

fn ended(subtask: &WantedSubtask, outcome: Outcome, verdict: Option<Verdict>, tick: i64) -> SubtaskReport {
    let error = verdict.map(|verdict| ErrorReport {
        fault: fault("it broke"),
        verdict,
        table: None,
        position: None,
        at_us: tick,
        detail: ErrorDetail::default(),
        history: ErrorHistory::default(),
    });
    let outcome = Some(outcome);
    SubtaskReport { outcome, error, ..report(subtask, subtask.generation, RunState::Closed, tick) }
}
