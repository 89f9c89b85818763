//! One migration with everything breakable: servers of its own, a proxy before each, and the real binary.

use std::time::Duration;

use serde_json::{Value, json};

use super::support::compare::until_databases_equal;
use super::support::ferrymaster::{DataDirectory, Ferrymaster, Start};
use super::support::http::task;
use super::support::proxy::Proxy;
use super::support::servers::{Kind, PrivateServer, Server};
use super::support::wait::secs;
use super::support::workload;

pub struct Scene {
    pub source: PrivateServer,
    pub target: PrivateServer,
    pub to_source: Proxy,
    pub to_target: Proxy,
    /// None only while it is being replaced.
    process: Option<Ferrymaster>,
    /// The data directories of processes that took over, which must outlive them.
    directories: Vec<DataDirectory>,
    pub database: String,
    task: Option<String>,
    tasks_made: u32,
}

const USER: &str = "mover";
/// What is granted at the target; not what passes over `read_only`.
const TARGET_GRANTS: &str = "SELECT, INSERT, UPDATE, DELETE, CREATE, DROP, ALTER, INDEX, REFERENCES, PROCESS";
/// Retries come quickly, so that a round is short.
const ARGUMENTS: [&str; 4] = ["--retry-first", "200ms", "--retry-longest", "1s"];
/// After the writer has stopped. A server that comes back recovers first.
const DRAIN: Duration = secs(180);

impl Scene {
    pub async fn set((source, target): (Kind, Kind), seed: u64) -> Self {
        let source = PrivateServer::start(source, &[]);
        // Loading is by LOAD DATA on one family, by INSERT on the other: MySQL's default is off.
        let target = PrivateServer::start(target, &[]);
        let database = source.server.create_database("torture").await;
        workload::create_tables(&source.server, &database, 2_000, seed).await;
        target
            .server
            .run(&[
                &format!("CREATE USER {USER}@'%' IDENTIFIED BY 'secret'"),
                &format!("GRANT {TARGET_GRANTS} ON *.* TO {USER}@'%'"),
            ])
            .await;
        let to_source = Proxy::to(&source.server.host, source.server.port);
        let to_target = Proxy::to(&target.server.host, target.server.port);
        let process = Ferrymaster::start_with(Start { arguments: &ARGUMENTS, ..Start::default() }).await;
        let scene = Self {
            source,
            target,
            to_source,
            to_target,
            process: Some(process),
            directories: Vec::new(),
            database,
            task: None,
            tasks_made: 0,
        };
        let behind_proxy = Server { port: scene.to_source.port, ..scene.source.server.clone() };
        scene.ferrymaster().api.create_source("s", &behind_proxy, true).await;
        scene
    }

    pub fn ferrymaster(&self) -> &Ferrymaster {
        self.process.as_ref().expect("one process always runs")
    }

    pub fn ferrymaster_mut(&mut self) -> &mut Ferrymaster {
        self.process.as_mut().expect("one process always runs")
    }

    pub fn has_task(&self) -> bool {
        self.task.is_some()
    }

    fn task_name(&self) -> String {
        self.task.clone().expect("a task was made")
    }

    /// SIGKILL, then a new process on the same data directory, with fault points if any are named.
    pub async fn restart(&mut self, failpoints: &str) {
        let process = self.process.take().expect("one process always runs");
        self.process = Some(process.restart_with(&ARGUMENTS, &[("FAILPOINTS", failpoints)]).await);
    }

    /// A second process takes over on a copy of the data directory. Gives the first.
    pub async fn take_over(&mut self) -> Ferrymaster {
        let copy = self.ferrymaster().copy_data_directory();
        let path = copy.path();
        self.directories.push(copy);
        let start = Start { data_directory: Some(&path), arguments: &ARGUMENTS, ..Start::default() };
        let second = Ferrymaster::start_with(start).await;
        self.process.replace(second).expect("one process always runs")
    }

    /// Deletes the task, if there is one, with all that it copied, and begins another.
    pub async fn begin_anew(&mut self) {
        if let Some(task) = self.task.take() {
            self.ferrymaster().api.delete(&format!("/api/v1/tasks/{task}?force=true")).await.expect(204);
        }
        self.target.server.run(&[&format!("DROP DATABASE IF EXISTS `{}`", self.database)]).await;
        self.tasks_made += 1;
        let name = format!("torture-{}", self.tasks_made);
        let api = &self.ferrymaster().api;
        api.create_task(&self.task_body(&name)).await;
        api.start_task(&name).await;
        self.task = Some(name);
    }

    fn task_body(&self, name: &str) -> Value {
        let mut body = task(name, "all", "s", &self.target.server, &self.database);
        body["target_config"] =
            json!({ "host": "127.0.0.1", "port": self.to_target.port, "user": USER, "password": "secret" });
        if self.source.server.kind != self.target.server.kind {
            body["target_config"]["collation_map"] =
                json!({ "utf8mb4_0900_ai_ci": "utf8mb4_uca1400_ai_ci", "utf8mb4_uca1400_ai_ci": "utf8mb4_0900_ai_ci" });
        }
        body["source_config"]["full_migrate_conf"] = json!({ "export_threads": 2, "import_threads": 2 });
        body
    }

    /// A stop and a start over the API.
    pub async fn stop_and_start(&self) {
        let (api, name) = (&self.ferrymaster().api, self.task_name());
        api.stop_task(&name).await;
        api.until_status(&name, "to be stopped", secs(30), |status| status["stage"] == "Paused").await;
        api.start_task(&name).await;
    }

    /// With the source at rest: everything arrives, and nothing else is there.
    pub async fn until_equal(&self) {
        self.ferrymaster().api.until_synced(&self.task_name(), DRAIN).await;
        let (ours, theirs) = ((&self.source.server, &*self.database), (&self.target.server, &*self.database));
        until_databases_equal(ours, theirs, secs(60)).await;
    }
}
