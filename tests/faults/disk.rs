//! A target that takes nothing for a while: its disk is full, or its rows are locked by others. The task says that it
//! tries again and why, and goes on by itself once it can; nothing is lost, and nothing is there twice.

use serde_json::Value;

use super::support::compare::until_databases_equal;
use super::support::ferrymaster::{Ferrymaster, Start};
use super::support::http::task;
use super::support::servers::{Kind, PrivateServer, Role, Server, Session};
use super::support::wait::{secs, until, until_true};

const TASK: &str = "crowded";
/// A table space of its own that does not grow, in which all tables are.
const SMALL_DISK: [&str; 2] = ["--innodb-data-file-path=ibdata1:12M;ibdata2:32M", "--innodb-file-per-table=0"];
const LARGER_DISK: [&str; 2] = ["--innodb-data-file-path=ibdata1:12M;ibdata2:32M;ibdata3:64M", SMALL_DISK[1]];
const ROOM_LEFT: u64 = 5 << 20;
const LARGE_ROW: usize = 7 << 20;

struct Crowded {
    source: Server,
    target: PrivateServer,
    database: String,
    ferrymaster: Ferrymaster,
}

impl Crowded {
    /// A source of 200 rows with 10 kB each, and a task that is not started.
    async fn set(kind: Kind, arguments: &[&str]) -> Self {
        let (source, target) = (Server::shared(kind, Role::Source), PrivateServer::start(kind, arguments));
        let database = source.create_database("disk").await;
        let mut session = source.connect().await;
        session.run(&format!("USE `{database}`")).await;
        session.run("CREATE TABLE t (id INT NOT NULL PRIMARY KEY AUTO_INCREMENT, n INT, body LONGBLOB)").await;
        session.run("CREATE TABLE keyless (n INT, body LONGBLOB)").await;
        session.close().await;
        let arguments = ["--retry-first", "200ms", "--retry-longest", "1s"];
        let ferrymaster = Ferrymaster::start_with(Start { arguments: &arguments, ..Start::default() }).await;
        ferrymaster.api.create_source("s", &source, true).await;
        ferrymaster.api.create_task(&task(TASK, "all", "s", &target.server, &database)).await;
        let crowded = Self { source, target, database, ferrymaster };
        crowded.write(100).await;
        crowded
    }

    /// Rows of 10 kB in both tables, a transaction each.
    async fn write(&self, count: u32) {
        let mut session = self.source.connect().await;
        session.run(&format!("USE `{}`", self.database)).await;
        for number in 0..count {
            session.run("BEGIN").await;
            for table in ["t", "keyless"] {
                let body = format!("REPEAT('{number:05}', 2000)");
                session.run(&format!("INSERT INTO {table} (n, body) VALUES ({number}, {body})")).await;
            }
            session.run("COMMIT").await;
        }
        session.close().await;
    }

    /// Takes the room but for a little, which a server needs to live.
    async fn fill(&self) {
        let mut session = self.target.server.connect().await;
        if session.kind() == Kind::Mysql {
            session.run("SET SESSION information_schema_stats_expiry = 0").await;
        }
        session.run("CREATE DATABASE filler").await;
        session.run("CREATE TABLE filler.f (id INT NOT NULL PRIMARY KEY AUTO_INCREMENT, body LONGBLOB)").await;
        let free = "SELECT CAST(DATA_FREE AS CHAR) FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'filler'";
        while session.value::<String>(free).await.parse::<u64>().expect("a number") > ROOM_LEFT {
            session.run("INSERT INTO filler.f (body) VALUES (REPEAT('x', 300000))").await;
        }
        session.close().await;
    }

    /// A row that is larger than the room that is left.
    async fn write_a_large_row(&self) {
        let insert =
            format!("INSERT INTO `{}`.t (n, body) VALUES (0, REPEAT('wide', {}))", self.database, LARGE_ROW / 4);
        self.source.run(&[&insert]).await;
    }

    async fn make_room(&self) {
        match self.target.server.kind {
            // Where undo has no files of its own, a full MariaDB cannot even drop a table: it gets a larger disk.
            Kind::Mariadb => {
                self.target.kill();
                self.target.start_again_with(&LARGER_DISK);
                self.target.wait_until_answering().await;
            }
            Kind::Mysql => self.target.server.run(&["DROP DATABASE filler"]).await,
        }
    }

    async fn start(&self) {
        self.ferrymaster.api.start_task(TASK).await;
    }

    /// The status says that it tries again, and why.
    async fn until_it_says_why(&self) {
        let says_why = |status: &Value| {
            let text = status["error_msg"].as_str().unwrap_or_default();
            status["error"]["next"] == "retry" && text.contains("Error 1114") && text.contains("is full")
        };
        let status = self.ferrymaster.api.until_status(TASK, "to say why it tries again", secs(60), says_why).await;
        assert!(status["error"]["at"].is_string(), "{status}");
    }

    async fn until_equal(&self) {
        self.ferrymaster.api.until_synced(TASK, secs(90)).await;
        let (ours, theirs) = ((&self.source, &*self.database), (&self.target.server, &*self.database));
        until_databases_equal(ours, theirs, secs(30)).await;
    }
}

async fn full_while_changes_are_applied(kind: Kind) {
    let crowded = Crowded::set(kind, &SMALL_DISK).await;
    crowded.start().await;
    crowded.until_equal().await;
    crowded.fill().await;
    crowded.write(20).await;
    crowded.write_a_large_row().await;
    crowded.write(20).await;
    crowded.until_it_says_why().await;
    crowded.make_room().await;
    crowded.until_equal().await;
}

async fn full_while_rows_are_copied(kind: Kind) {
    let crowded = Crowded::set(kind, &SMALL_DISK).await;
    crowded.write_a_large_row().await;
    crowded.fill().await;
    crowded.start().await;
    crowded.until_it_says_why().await;
    crowded.make_room().await;
    crowded.until_equal().await;
}

/// One session holds a row for longer than a lock wait; others lock rows in an order that makes deadlocks.
async fn rows_are_locked_by_others(kind: Kind) {
    let crowded = Crowded::set(kind, &["--innodb-lock-wait-timeout=2"]).await;
    let place = format!("`{}`.inventory", crowded.database);
    let make = format!("CREATE TABLE {place} (id INT NOT NULL PRIMARY KEY, n INT NOT NULL)");
    crowded
        .source
        .run(&[
            &make,
            &format!("INSERT INTO {place} VALUES (1,0),(2,0),(3,0),(4,0),(5,0),(6,0),(7,0),(8,0),(9,0),(10,0)"),
        ])
        .await;
    crowded.start().await;
    crowded.until_equal().await;
    let mut holder = crowded.target.server.connect().await;
    holder.run("BEGIN").await;
    holder.run(&format!("SELECT * FROM {place} WHERE id = 1 FOR UPDATE")).await;
    let mut session = crowded.source.connect().await;
    session.run(&format!("UPDATE {place} SET n = n + 1 WHERE id = 1")).await;
    // Longer than a lock wait of ours, and than the one after that.
    let waits = |status: &Value| {
        assert_ne!(status["error"]["next"], "pause", "{status}");
        status["stage"] == "Running" && status["sync_status"]["seconds_behind_master"].as_u64() >= Some(12)
    };
    crowded.ferrymaster.api.until_status(TASK, "to wait", secs(60), waits).await;
    holder.run("ROLLBACK").await;
    let deadlocks_before = deadlocks(&mut holder).await;
    let end = tokio_util::sync::CancellationToken::new();
    let mut others = Vec::new();
    for _ in 0..2 {
        others.push(tokio::spawn(lock_backwards(crowded.target.server.clone(), place.clone(), end.clone())));
    }
    for number in 0..500 {
        let (one, other) = (number % 9 + 1, number % 9 + 2);
        session.run("BEGIN").await;
        session.run(&format!("UPDATE {place} SET n = n + 1 WHERE id = {one}")).await;
        session.run(&format!("UPDATE {place} SET n = n + 1 WHERE id = {other}")).await;
        session.run("COMMIT").await;
    }
    session.close().await;
    until_true("deadlocks to have happened", secs(60), async || deadlocks(&mut holder).await > deadlocks_before).await;
    end.cancel();
    for other in others {
        other.await.expect("nothing unexpected happened to it");
    }
    until("the task to go on", secs(60), async || {
        let status = crowded.ferrymaster.api.subtask_status(TASK).await;
        assert_ne!(status["error"]["next"], "pause", "{status}");
        if status["sync_status"]["synced"] == true { Ok(()) } else { Err(status) }
    })
    .await;
    crowded.until_equal().await;
    holder.close().await;
}

/// Changes nothing, and is in the way of whoever goes upwards.
async fn lock_backwards(target: Server, place: String, end: tokio_util::sync::CancellationToken) {
    let mut session = target.connect().await;
    while !end.is_cancelled() {
        session.run("BEGIN").await;
        for id in (1..=10).rev() {
            let select = format!("SELECT n FROM {place} WHERE id = {id} FOR UPDATE");
            match session.try_rows::<mysql_async::Row>(&select).await {
                Ok(_) => tokio::task::yield_now().await,
                Err(mysql_async::Error::Server(error)) if matches!(error.code, 1205 | 1213) => break,
                Err(other) => panic!("{other}"),
            }
        }
        session.run("ROLLBACK").await;
    }
    session.close().await;
}

async fn deadlocks(session: &mut Session) -> u64 {
    let sql = match session.kind() {
        Kind::Mariadb => {
            "SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME = 'INNODB_DEADLOCKS'"
        }
        Kind::Mysql => {
            "SELECT CAST(`count` AS CHAR) FROM information_schema.INNODB_METRICS WHERE name = 'lock_deadlocks'"
        }
    };
    session.value::<String>(sql).await.parse().expect("a number")
}

#[tokio::test]
async fn a_full_disk_while_changes_are_applied_is_waited_out() {
    full_while_changes_are_applied(Kind::Mariadb).await;
}

#[tokio::test]
async fn lock_waits_and_deadlocks_are_tried_again_on_mariadb() {
    rows_are_locked_by_others(Kind::Mariadb).await;
}

mod long {
    use super::*;

    #[tokio::test]
    async fn a_full_disk_while_changes_are_applied_is_waited_out_on_mysql() {
        full_while_changes_are_applied(Kind::Mysql).await;
    }

    /// Not on MariaDB: tried there, the server itself went down while tables were made in its full table space.
    #[tokio::test]
    async fn a_full_disk_while_rows_are_copied_is_waited_out_on_mysql() {
        full_while_rows_are_copied(Kind::Mysql).await;
    }

    #[tokio::test]
    async fn lock_waits_and_deadlocks_are_tried_again_on_mysql() {
        rows_are_locked_by_others(Kind::Mysql).await;
    }
}
