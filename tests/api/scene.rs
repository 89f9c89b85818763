//! An API with sources, and with a database on them that tasks may copy.

use std::ops::Deref;
use std::sync::atomic::{AtomicU64, Ordering};

use ferrymaster::error::codes;
use ferrymaster::model::record::SubtaskRecord;
use ferrymaster::model::report::{
    ErrorDetail, ErrorHistory, ErrorReport, Outcome, RunState, SubtaskReport, Unit, Verdict,
};
use ferrymaster::model::{Epoch, SourceName, TableName, TaskName, WorkerName};
use ferrymaster::registry::{MasterClock, WorkerReport};
use serde_json::{Value, json};

use crate::app::{TestApp, WORKER};
use crate::bodies::{source, task};
use crate::servers::{mariadb_source, unique};

pub struct Scene {
    app: TestApp,
    pub database: String,
    reports: AtomicU64,
}

impl Deref for Scene {
    type Target = TestApp;

    fn deref(&self) -> &TestApp {
        &self.app
    }
}

impl Scene {
    /// All of the sources are the same server.
    pub async fn with_sources(names: &[&str]) -> Self {
        let app = TestApp::start().await;
        let database = unique("d");
        mariadb_source()
            .run(&[
                &format!("CREATE DATABASE {database}"),
                &format!("CREATE TABLE {database}.t (id INT PRIMARY KEY, name VARCHAR(20))"),
            ])
            .await;
        for name in names {
            app.post("/api/v1/sources", source(name, mariadb_source().port())).await.expect(201);
        }
        Self { app, database, reports: AtomicU64::new(1) }
    }

    pub fn task(&self, name: &str, sources: &[&str]) -> Value {
        task(name, sources, &self.database)
    }

    pub async fn create_task(&self, name: &str, sources: &[&str]) {
        self.post("/api/v1/tasks", self.task(name, sources)).await.expect(201);
    }

    /// Starts it; no worker of these tests says anything by itself, so nothing is waited for.
    pub async fn start_task(&self, name: &str) {
        self.post_nothing(&format!("/api/v1/tasks/{name}/start?wait=0s")).await.expect(200);
    }

    pub async fn subtask(&self, task: &str, source: &str) -> SubtaskRecord {
        let of_task = self.app.app.store.subtasks_of_task(&TaskName::new(task)).await.expect("the metastore answers");
        of_task.into_iter().find(|one| one.id.source == SourceName::new(source)).expect("the subtask is there")
    }

    /// The worker says how the present run stands; it has acted on all that was asked.
    pub async fn report(&self, task: &str, source: &str, state: RunState, outcome: Option<Outcome>) {
        let error = (outcome == Some(Outcome::Failed)).then(|| ErrorReport {
            fault: codes::DATABASE_EXECUTE_FAILED.fault("INSERT was refused").on_target(),
            verdict: Verdict::PauseFor("grant INSERT".to_owned()),
            table: Some(TableName::new("shop", "orders")),
            position: None,
            at_us: 1_700_000_000_000_000,
            detail: ErrorDetail::default(),
            history: ErrorHistory::default(),
        });
        let subtask = self.subtask(task, source).await;
        let report = SubtaskReport {
            id: subtask.id,
            ledger_id: subtask.ledger_id,
            generation: subtask.generation,
            state,
            outcome,
            unit: Unit::Load,
            load: None,
            sync: None,
            error,
            notices: Vec::new(),
            reported_at_us: 1_700_000_001_000_000,
        };
        let report = WorkerReport {
            worker: WorkerName::new(WORKER),
            worker_epoch: Epoch(1),
            number: self.reports.fetch_add(1, Ordering::Relaxed),
            applied_version: u64::MAX,
            open_runs: Vec::new(),
            subtasks: vec![report],
            full: false,
        };
        self.app.app.registry.report(report, MasterClock::start().now_us());
    }

    /// Stages of a task's subtasks, by their sources' names.
    pub async fn stages(&self, task: &str) -> Value {
        let status = self.get(&format!("/api/v1/tasks/{task}/status")).await.expect(200).json();
        let list = status["data"].as_array().expect("a list");
        assert_eq!(status["total"], json!(list.len()));
        list.iter().map(|one| one["stage"].clone()).collect()
    }
}
