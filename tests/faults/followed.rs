//! A source, a target, and tasks between them that follow the source in each way.

use serde_json::{Value, json};

use super::support::compare::until_databases_equal;
use super::support::ferrymaster::{Ferrymaster, Start};
use super::support::http::{source, task};
use super::support::servers::{Kind, Server, unique_name};
use super::support::wait::{secs, until};

/// One source and one target, and two tasks between them: one that follows by GTID, one by file positions.
pub struct Both {
    pub source: Server,
    pub target: Server,
    pub ferrymaster: Ferrymaster,
    pub tasks: Vec<Followed>,
}

#[derive(Clone)]
pub struct Followed {
    /// Of the task, and of its source.
    pub name: &'static str,
    pub by_gtid: bool,
    pub database: String,
    pub body: Value,
}

pub const TABLE: &str = "CREATE TABLE t (id INT NOT NULL PRIMARY KEY, v INT, body BLOB) ENGINE=InnoDB";

impl Both {
    /// Copied, and following.
    pub async fn of(source: &Server, target: &Server) -> Self {
        Self::started(source, target, &[("by-gtid", true), ("by-file", false)]).await
    }

    pub async fn by_gtid(source: &Server, target: &Server) -> Self {
        Self::started(source, target, &[("by-gtid", true)]).await
    }

    pub async fn started(source: &Server, target: &Server, ways: &[(&'static str, bool)]) -> Self {
        let arguments = ["--retry-first", "200ms", "--retry-longest", "1s"];
        let ferrymaster = Ferrymaster::start_with(Start { arguments: &arguments, ..Start::default() }).await;
        let mut both = Self { source: source.clone(), target: target.clone(), ferrymaster, tasks: Vec::new() };
        for &(name, by_gtid) in ways {
            let database = unique_name("positions");
            make_database(source, &database).await;
            both.ferrymaster.api.create_source(name, source, by_gtid).await;
            let body = task(name, "all", name, target, &database);
            both.ferrymaster.api.create_task(&body).await;
            both.tasks.push(Followed { name, by_gtid, database, body });
        }
        both.start().await;
        both.until_equal().await;
        // Something that was followed: the position is one that replication wrote.
        both.write(1).await;
        both.until_equal().await;
        both
    }

    pub async fn start(&self) {
        for followed in &self.tasks {
            self.ferrymaster.api.start_task(followed.name).await;
        }
    }

    pub async fn stop(&self) {
        for followed in &self.tasks {
            self.ferrymaster.api.stop_task(followed.name).await;
            let stopped = |status: &Value| status["stage"] == "Paused";
            self.ferrymaster.api.until_status(followed.name, "to be stopped", secs(30), stopped).await;
        }
    }

    /// A few transactions in each database.
    pub async fn write(&self, round: u32) {
        self.write_at(&self.source, round).await;
    }

    pub async fn write_at(&self, server: &Server, round: u32) {
        let id = round * 10;
        for followed in &self.tasks {
            server
                .run_in(
                    &followed.database,
                    &[
                        &format!("INSERT INTO t (id, v, body) VALUES ({id}, {round}, 'a'), ({id} + 1, {round}, NULL)"),
                        "UPDATE t SET v = v + 1",
                        &format!("DELETE FROM t WHERE id = {id}"),
                    ],
                )
                .await;
        }
    }

    pub async fn until_equal(&self) {
        self.until_equal_to(&self.source).await;
    }

    pub async fn until_equal_to(&self, source: &Server) {
        for followed in &self.tasks {
            self.ferrymaster.api.until_synced(followed.name, secs(60)).await;
            let (ours, theirs) = ((source, &*followed.database), (&self.target, &*followed.database));
            until_databases_equal(ours, theirs, secs(30)).await;
        }
    }

    /// Starts what is stopped. Each must stop with this error, and its target must be as it was. Gives the errors.
    pub async fn must_refuse(&self, codes: &[u64]) -> Vec<Value> {
        let mut before = Vec::new();
        for followed in &self.tasks {
            before.push(rows(&self.target, &followed.database).await);
        }
        self.start().await;
        self.must_have_refused(codes, &before).await
    }

    pub async fn must_have_refused(&self, codes: &[u64], before: &[Rows]) -> Vec<Value> {
        let mut errors = Vec::new();
        for ((followed, code), before) in self.tasks.iter().zip(codes).zip(before) {
            let has_error = |status: &Value| status["stage"] == "Paused" && status["error"]["code"].is_u64();
            let status = self.ferrymaster.api.until_status(followed.name, "to refuse", secs(60), has_error).await;
            let error = status["error"].clone();
            assert_eq!((&error["code"], &error["next"]), (&json!(code), &json!("pause")), "{}: {error}", followed.name);
            assert!(error["hint"].as_str().is_some_and(|hint| hint.len() > 20), "{error}");
            assert_eq!(&rows(&self.target, &followed.database).await, before, "{error}");
            errors.push(with_cause(error, &status));
        }
        errors
    }

    /// What the hint says where there is no other way.
    pub async fn copy_anew(&self) {
        self.stop().await;
        for followed in &self.tasks {
            self.target.run(&[&format!("DROP DATABASE `{}`", followed.database)]).await;
            let path = format!("/api/v1/tasks/{}/start", followed.name);
            self.ferrymaster.api.post(&path, &json!({ "remove_meta": true })).await.expect(200);
        }
    }

    /// Tells ferrymaster that the source is another server, or is followed in another way.
    pub async fn point_at(&self, server: &Server, by_gtid: impl Fn(bool) -> bool) {
        self.stop().await;
        for followed in &self.tasks {
            let path = format!("/api/v1/sources/{}", followed.name);
            let body = json!({ "source": source(followed.name, server, by_gtid(followed.by_gtid)) });
            self.ferrymaster.api.put(&path, &body).await.expect(200);
        }
    }
}

/// All rows of the table that every test has.
pub type Rows = Vec<(i32, Option<i32>, Option<Vec<u8>>)>;

pub async fn rows(server: &Server, database: &str) -> Rows {
    let mut session = server.connect().await;
    let rows = session.rows(&format!("SELECT id, v, body FROM `{database}`.t ORDER BY id")).await;
    session.close().await;
    rows
}

pub async fn make_database(server: &Server, database: &str) {
    server.run(&[&format!("CREATE DATABASE `{database}` CHARACTER SET utf8mb4 COLLATE utf8mb4_bin")]).await;
    server.run_in(database, &[TABLE, "INSERT INTO t VALUES (1, 1, 'one'), (2, 2, NULL), (3, 3, 'three')"]).await;
}

pub async fn text(server: &Server, query: &str) -> String {
    let mut session = server.connect().await;
    let text = session.value(query).await;
    session.close().await;
    text
}

/// The error with the whole text that a status has of it, in which the cause stands too.
pub fn with_cause(mut error: Value, status: &Value) -> Value {
    error["text"] = status["error_msg"].clone();
    error
}

pub fn has(error: &Value, texts: &[&str]) {
    let message = error["text"].as_str().unwrap_or_default();
    assert!(texts.iter().all(|text| message.contains(text)), "{texts:?} in {error}");
}

/// Server UUID, or server id: what tells one server of a family from another.
pub async fn identity(server: &Server) -> String {
    match server.kind {
        Kind::Mysql => text(server, "SELECT @@server_uuid").await,
        Kind::Mariadb => text(server, "SELECT CONCAT('server-', @@server_id)").await,
    }
}

/// The newest of the files that the log has.
pub async fn newest_file(server: &Server) -> String {
    newest_place(server).await.0
}

/// Where the log ends.
pub async fn newest_place(server: &Server) -> (String, u64) {
    let mut session = server.connect().await;
    let files: Vec<mysql_async::Row> = session.rows("SHOW BINARY LOGS").await;
    session.close().await;
    let last = files.last().expect("a file");
    (last.get(0).expect("a name"), last.get(1).expect("a size"))
}

/// A source keeps the file of a reader that it has not found gone yet.
pub async fn purge_up_to(server: &Server, file: &str) {
    until("older files to be purged", secs(30), async || {
        server.run(&[&format!("PURGE BINARY LOGS TO '{file}'")]).await;
        let mut session = server.connect().await;
        let files: Vec<mysql_async::Row> = session.rows("SHOW BINARY LOGS").await;
        session.close().await;
        let first: String = files.first().expect("a file").get(0).expect("a name");
        if first == file { Ok(()) } else { Err(first) }
    })
    .await;
}
