//! One database on a source, a target, and the binary between them, behind a proxy where one is asked for.

use std::time::Duration;

use mysql_async::prelude::FromValue;
use serde_json::{Value, json};

use crate::support::compare::until_databases_equal;
use crate::support::ferrymaster::{Ferrymaster, Start};
use crate::support::http::{Api, task};
use crate::support::proxy::Proxy;
use crate::support::servers::{Kind, Role, Server};
use crate::support::wait::secs;

pub const TASK: &str = "case";
/// Retries come quickly, so that a case is short.
pub const ARGUMENTS: [&str; 4] = ["--retry-first", "100ms", "--retry-longest", "500ms"];

pub struct Site {
    pub source: Server,
    pub target: Server,
    pub database: String,
    /// None only while it is being replaced.
    process: Option<Ferrymaster>,
}

impl Site {
    /// Between the servers that all tests share.
    pub async fn shared(kind: Kind) -> Self {
        Self::between(Server::shared(kind, Role::Source), Server::shared(kind, Role::Target)).await
    }

    pub async fn between(source: Server, target: Server) -> Self {
        let database = source.create_database("case").await;
        let process = Ferrymaster::start_with(Start { arguments: &ARGUMENTS, ..Start::default() }).await;
        process.api.create_source("s", &source, true).await;
        Self { source, target, database, process: Some(process) }
    }

    pub fn ferrymaster(&self) -> &Ferrymaster {
        self.process.as_ref().expect("one process always runs")
    }

    pub fn ferrymaster_mut(&mut self) -> &mut Ferrymaster {
        self.process.as_mut().expect("one process always runs")
    }

    pub fn api(&self) -> &Api {
        &self.ferrymaster().api
    }

    /// SIGKILL, then a new process on the same data, with fault points if any are named.
    pub async fn restart(&mut self, failpoints: &str) {
        let process = self.process.take().expect("one process always runs");
        self.process = Some(process.restart_with(&ARGUMENTS, &[("FAILPOINTS", failpoints)]).await);
    }

    /// Runs statements inside the source's database.
    pub async fn write(&self, statements: &[&str]) {
        self.source.run_in(&self.database, statements).await;
    }

    /// Runs statements inside the target's database.
    pub async fn write_at_target(&self, statements: &[&str]) {
        self.target.run_in(&self.database, statements).await;
    }

    pub fn task(&self) -> Value {
        task(TASK, "all", "s", &self.target, &self.database)
    }

    /// A task whose target is behind a proxy, and whose copy goes by one table after the other.
    pub fn task_behind(&self, proxy: &Proxy) -> Value {
        let mut body = self.task();
        body["target_config"]["port"] = json!(proxy.port);
        body["source_config"]["full_migrate_conf"] = json!({ "export_threads": 1, "import_threads": 1 });
        body
    }

    pub fn proxy_to_target(&self) -> Proxy {
        Proxy::to(&self.target.host, self.target.port)
    }

    pub async fn start(&self, body: &Value) {
        self.api().create_task(body).await;
        self.api().start_task(TASK).await;
    }

    pub async fn until_replicating(&self) {
        let replicates = |status: &Value| status["unit"] == "Sync" && status["stage"] == "Running";
        self.api().until_status(TASK, "to replicate", secs(60), replicates).await;
    }

    /// Waits until so many rows were copied, and not all.
    pub async fn until_copied(&self, rows: u64) {
        let is_there =
            |status: &Value| status["unit"] == "Load" && status["load_status"]["finished_rows"].as_u64() >= Some(rows);
        self.api().until_status(TASK, "to have copied some rows", secs(60), is_there).await;
    }

    /// Waits until the subtask has stopped for an operator. Gives the error's parts.
    pub async fn until_paused(&self) -> Value {
        let paused = |status: &Value| status["stage"] == "Paused" && status["error"]["next"] == "pause";
        self.api().until_status(TASK, "to pause with an error", secs(60), paused).await["error"].clone()
    }

    /// Waits until the status shows an error that is retried and satisfies `wanted`. Gives the whole status.
    pub async fn until_retrying(&self, wanted: impl Fn(&Value) -> bool) -> Value {
        let retries = |status: &Value| status["error"]["next"] == "retry" && wanted(status);
        self.api().until_status(TASK, "to tell of a retry", secs(60), retries).await
    }

    /// The source rests: everything arrives, and nothing else is there.
    pub async fn until_equal(&self) {
        self.until_equal_within(secs(60)).await;
    }

    pub async fn until_equal_within(&self, time: Duration) {
        let (ours, theirs) = ((&self.source, &*self.database), (&self.target, &*self.database));
        self.api().until_synced(TASK, time).await;
        until_databases_equal(ours, theirs, time).await;
        let status = self.api().until_synced(TASK, secs(20)).await;
        assert_eq!(status["stage"], "Running", "{status}");
        assert!(status["error"].is_null(), "{status}");
    }

    /// One value of the target.
    pub async fn at_target<T: FromValue + Send + 'static>(&self, query: &str) -> T {
        value_in(&self.target, &self.database, query).await
    }

    pub async fn at_source<T: FromValue + Send + 'static>(&self, query: &str) -> T {
        value_in(&self.source, &self.database, query).await
    }
}

/// `{db}` in the query is the database.
pub async fn value_in<T: FromValue + Send + 'static>(server: &Server, database: &str, query: &str) -> T {
    let mut session = server.connect().await;
    let value = session.value(&query.replace("{db}", &format!("`{database}`"))).await;
    session.close().await;
    value
}
