//! A source that is written to without a rest, and what a task on it is tried with.

use serde_json::{Value, json};

use super::support::compare::until_databases_equal;
use super::support::ferrymaster::{Ferrymaster, Start};
use super::support::http::{source, task};
use super::support::servers::{Kind, Role, Server};
use super::support::wait::secs;
use super::support::workload;
use super::support::writer::Writer;

pub const TASK: &str = "tried";

/// A source that is written to, and what will run the task.
pub struct Trial {
    pub source: Server,
    pub target: Server,
    pub database: String,
    pub writer: Writer,
    pub task: Value,
    pub arguments: &'static [&'static str],
}

impl Trial {
    pub async fn set(kind: Kind, with_ddl: bool) -> Self {
        let (source, target) = (Server::shared(kind, Role::Source), Server::shared(kind, Role::Target));
        let database = source.create_database("points").await;
        workload::create_tables(&source, &database, 3_000, 7).await;
        let writer = workload::start(&source, &database, 7, with_ddl);
        let mut task = task(TASK, "all", "s", &target, &database);
        // Small enough that ranges and batches are many, and lanes wait for each other.
        task["source_config"]["full_migrate_conf"] = json!({ "export_threads": 2, "import_threads": 2 });
        Self { source, target, database, writer, task, arguments: &[] }
    }

    pub async fn start(&self, failpoints: &str) -> Ferrymaster {
        let environment = [("FAILPOINTS", failpoints)];
        Ferrymaster::start_with(Start { arguments: self.arguments, environment: &environment, ..Start::default() })
            .await
    }

    /// Makes what is not there yet, and starts it. Calls may be cut off by the end of the process.
    pub async fn ask_for_all(&self, ferrymaster: &Ferrymaster) {
        let api = &ferrymaster.api;
        let calls = [
            ("/api/v1/sources", json!({ "source": source("s", &self.source, true) })),
            ("/api/v1/tasks", json!({ "task": self.task })),
            (&*format!("/api/v1/tasks/{TASK}/start"), json!({})),
        ];
        for (path, body) in calls {
            let Ok(answer) = api.try_send(reqwest::Method::POST, path, Some(&body)).await else { return };
            let is_there = matches!(answer.body["error_code"].as_u64(), Some(46007 | 46014));
            assert!(answer.status.is_success() || is_there, "{path}: {answer:?}");
        }
    }

    /// A new process ends with equal sides.
    pub async fn until_equal(self, ferrymaster: Ferrymaster) {
        self.ask_for_all(&ferrymaster).await;
        self.writer.until_transactions(50).await;
        self.writer.stop().await;
        let (ours, theirs) = ((&self.source, &*self.database), (&self.target, &*self.database));
        // Before that a table may be made anew at any moment.
        ferrymaster.api.until_synced(TASK, secs(150)).await;
        until_databases_equal(ours, theirs, secs(60)).await;
        let status = ferrymaster.api.until_synced(TASK, secs(20)).await;
        assert_eq!(status["stage"], "Running", "{status}");
    }
}
