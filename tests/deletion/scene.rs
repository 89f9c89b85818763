//! A running task whose target stands behind a proxy, and beside it a second one that must not notice anything.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::support::ferrymaster::Ferrymaster;
use super::support::http::{source, task};
use super::support::proxy::{Mode, Proxy};
use super::support::servers::{Kind, Role, Server, unique_name};
use super::support::wait::{secs, until};

pub struct Scene {
    pub ferrymaster: Ferrymaster,
    pub proxy: Proxy,
    pub source: Server,
    pub target: Server,
    /// The database that the task copies, and the one that the other task does.
    pub database: String,
    other: String,
    /// The account that the task has at the target.
    pub user: String,
}

pub const TASK: &str = "to-go";
const OTHER: &str = "to-stay";
/// Every table of the ledger.
const LEDGER: [&str; 7] = [
    "ferrymaster_run",
    "ferrymaster_lane",
    "ferrymaster_snapshot",
    "ferrymaster_table",
    "ferrymaster_range",
    "ferrymaster_structure",
    "ferrymaster_announced_ddl",
];

impl Scene {
    /// Both tasks replicate.
    pub async fn set() -> Self {
        let source = Server::shared(Kind::Mariadb, Role::Source);
        let target = Server::shared(Kind::Mariadb, Role::Target);
        let ferrymaster = Ferrymaster::start().await;
        let (database, other) = (source.create_database("going").await, source.create_database("staying").await);
        for name in [&database, &other] {
            source
                .run(&[
                    &format!("CREATE TABLE `{name}`.t (id INT PRIMARY KEY, v VARCHAR(20))"),
                    &format!("INSERT INTO `{name}`.t VALUES (1,'one'),(2,'two'),(3,'three')"),
                ])
                .await;
        }
        let user = unique_name("u");
        target
            .run(&[
                &format!("CREATE USER `{user}`@'%' IDENTIFIED BY 'first'"),
                &format!("GRANT ALL ON *.* TO `{user}`@'%'"),
            ])
            .await;
        let proxy = Proxy::to(&target.host, target.port);
        let scene = Self { ferrymaster, proxy, source, target, database, other, user };
        scene.make_source("s").await;
        scene.make_task(TASK, &scene.through_proxy(TASK)).await;
        scene.make_task(OTHER, &task(OTHER, "all", "s", &scene.target, &scene.other)).await;
        scene
    }

    async fn make_source(&self, name: &str) {
        let body = json!({ "source": source(name, &self.source, true) });
        self.ferrymaster.api.post("/api/v1/sources", &body).await.expect(201);
    }

    /// The task as it is created: its target is behind the proxy, under an account of its own.
    pub fn through_proxy(&self, name: &str) -> Value {
        let mut task = task(name, "all", "s", &self.target, &self.database);
        task["target_config"] =
            json!({ "host": "127.0.0.1", "port": self.proxy.port, "user": self.user, "password": "first" });
        task
    }

    /// Creates and starts it, and waits until it replicates.
    pub async fn make_task(&self, name: &str, task: &Value) {
        let api = &self.ferrymaster.api;
        api.post("/api/v1/tasks", &json!({ "task": task })).await.expect(201);
        api.post_empty(&format!("/api/v1/tasks/{name}/start")).await.expect(200);
        api.until_synced(name, secs(40)).await;
    }

    /// Deletes the task by force. Gives how long that took.
    pub async fn delete(&self, parameters: &str) -> Duration {
        let begun = Instant::now();
        let path = format!("/api/v1/tasks/{TASK}?force=true{parameters}");
        self.ferrymaster.api.delete(&path).await.expect(204);
        begun.elapsed()
    }

    pub async fn cleanups(&self) -> Vec<Value> {
        let answer = self.ferrymaster.api.get("/api/v1/cleanups").await.expect(200);
        answer["data"].as_array().expect("`data` is a list").clone()
    }

    pub async fn until_cleaned(&self) {
        until("the target is cleaned", secs(90), async || {
            let open = self.cleanups().await;
            if open.is_empty() { Ok(()) } else { Err(open) }
        })
        .await;
        assert_eq!(self.rows_left().await, 0);
    }

    /// What of the task's ledger is in the target.
    pub async fn rows_left(&self) -> i64 {
        let mut session = self.target.connect().await;
        let mut rows = 0;
        for table in LEDGER {
            rows += session.value::<i64>(&format!("SELECT COUNT(*) FROM `{}_meta`.{table}", self.database)).await;
        }
        session.close().await;
        rows
    }

    /// The one warning: with task, target and cause.
    pub fn warnings(&self) -> Vec<String> {
        self.ferrymaster.log_lines(&["WARN", TASK, "could not be removed"])
    }

    /// Writes one row for the other task and gives how long it takes to arrive.
    pub async fn lag_of_the_other(&self, id: u32) -> Duration {
        let begun = Instant::now();
        self.source.run(&[&format!("INSERT INTO `{}`.t VALUES ({id}, 'more')", self.other)]).await;
        let mut session = self.target.connect().await;
        until("the other task's row arrives", secs(10), async || {
            let query = format!("SELECT COUNT(*) FROM `{}`.t WHERE id = {id}", self.other);
            match session.value::<i64>(&query).await {
                0 => Err("not yet"),
                _ => Ok(()),
            }
        })
        .await;
        let lag = begun.elapsed();
        session.close().await;
        lag
    }

    /// Breaks what is open, so that a new mode meets new connections only.
    pub fn set_and_cut(&self, mode: Mode) {
        self.proxy.set(mode);
        self.proxy.cut();
    }

    /// Runs a statement on the metastore's file itself.
    pub async fn in_metastore(&self, statement: &'static str) {
        use sqlx::Connection as _;
        let file = self.ferrymaster.data_directory().join("ferrymaster.db");
        let mut direct = sqlx::SqliteConnection::connect(&format!("sqlite://{}", file.display())).await.unwrap();
        sqlx::query(statement).execute(&mut direct).await.unwrap();
        direct.close().await.unwrap();
    }
}
