//! A source database, a target, and the binary between them.

use serde_json::{Value, json};

use super::support::compare::until_databases_equal;
use super::support::ferrymaster::Ferrymaster;
use super::support::http::{Api, task};
use super::support::servers::{Kind, Server};
use super::support::wait::secs;

pub const TASK: &str = "moved";

pub struct Migration {
    pub source: Server,
    pub target: Server,
    pub database: String,
    pub ferrymaster: Ferrymaster,
}

impl Migration {
    /// Nothing is created but an empty database at the source, and the source in the API.
    pub async fn between(pair: (Kind, Kind), by_gtid: bool) -> Self {
        let (source, target) = Server::shared_pair(pair);
        let database = source.create_database("flow").await;
        let ferrymaster = Ferrymaster::start().await;
        ferrymaster.api.create_source("s", &source, by_gtid).await;
        Self { source, target, database, ferrymaster }
    }

    pub fn api(&self) -> &Api {
        &self.ferrymaster.api
    }

    /// As it is created, for tests to change. Across families it says which collation stands for MySQL's default.
    pub fn task(&self, mode: &str) -> Value {
        let mut body = task(TASK, mode, "s", &self.target, &self.database);
        if self.source.kind != self.target.kind {
            body["target_config"]["collation_map"] = json!({ "utf8mb4_0900_ai_ci": "utf8mb4_uca1400_ai_ci" });
        }
        body
    }

    pub async fn start(&self, body: &Value) {
        self.api().create_task(body).await;
        self.api().start_task(TASK).await;
    }

    /// Runs statements inside the source's database.
    pub async fn write(&self, statements: &[&str]) {
        self.source.run_in(&self.database, statements).await;
    }

    pub async fn until_replicating(&self) {
        let wanted = |status: &Value| status["unit"] == "Sync" && status["stage"] == "Running";
        self.api().until_status(TASK, "to replicate", secs(60), wanted).await;
    }

    /// Waits until everything that is in the source now has been applied.
    pub async fn until_synced(&self) -> Value {
        let place = self.place().await;
        self.api()
            .until_status(TASK, &format!("to have applied up to {place:?}"), secs(180), |status| {
                let sync = &status["sync_status"];
                let applied = sync["syncer_binlog"].as_str().and_then(place_of);
                sync["synced"] == true && applied.is_some_and(|applied| applied >= place)
            })
            .await
    }

    /// Where the source's log ends: file and offset.
    pub async fn place(&self) -> (String, u64) {
        let statement = match self.source.kind {
            Kind::Mariadb => "SHOW MASTER STATUS",
            Kind::Mysql => "SHOW BINARY LOG STATUS",
        };
        let mut session = self.source.connect().await;
        let rows: Vec<mysql_async::Row> = session.rows(statement).await;
        session.close().await;
        let row = rows.into_iter().next().expect("the binlog is on");
        (row.get("File").expect("a file"), row.get("Position").expect("a position"))
    }

    /// The source rests: everything arrives, and nothing else is there.
    pub async fn until_equal(&self) {
        self.until_synced().await;
        until_databases_equal((&self.source, &self.database), (&self.target, &self.database), secs(60)).await;
    }

    /// Waits until the subtask has stopped with an error. Gives its parts.
    pub async fn until_error(&self) -> Value {
        let status = self
            .api()
            .until_status(TASK, "to stop with an error", secs(60), |status| {
                status["stage"] == "Paused" && status["error"]["code"].is_u64()
            })
            .await;
        status["error"].clone()
    }

    /// The first column of what the target answers, as text.
    pub async fn at_target(&self, query: &str) -> Vec<String> {
        let mut session = self.target.connect().await;
        let rows = session.rows(&query.replace("{db}", &self.database)).await;
        session.close().await;
        rows
    }
}

/// `(binlog.000001, 157)` as file and offset.
pub fn place_of(text: &str) -> Option<(String, u64)> {
    let (file, offset) = text.strip_prefix('(')?.strip_suffix(')')?.split_once(", ")?;
    Some((file.to_owned(), offset.parse().ok()?))
}
