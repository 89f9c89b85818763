//! Distributed transactions (XA): their rows come to the target with the XA COMMIT, in its place among others, and
//! however much happens between it and the XA PREPARE. Sources are the tests' own: a copy from a shared one would wait
//! for what is prepared there.

use std::time::Duration;

use serde_json::{Value, json};

use super::followed::{newest_file, newest_place, purge_up_to};
use super::support::compare::until_databases_equal;
use super::support::ferrymaster::{Ferrymaster, Start};
use super::support::http::task;
use super::support::servers::{Kind, PrivateServer, Role, Server, Session, unique_name};
use super::support::wait::{secs, until};

const TASK: &str = "distributed";
const UNSUPPORTED: u64 = 50_002;
const NO_SNAPSHOT: u64 = 50_010;
const BINLOG_GONE: u64 = 50_012;

struct Bank {
    source: PrivateServer,
    target: Server,
    database: String,
    ferrymaster: Ferrymaster,
}

impl Bank {
    async fn at(kind: Kind, arguments: &[&str]) -> Self {
        let (source, target) = (PrivateServer::start(kind, &[]), Server::shared(kind, Role::Target));
        let database = unique_name("bank");
        source
            .server
            .run(&[
                &format!("CREATE DATABASE `{database}`"),
                &format!(
                    "CREATE TABLE `{database}`.t (id INT NOT NULL PRIMARY KEY, v INT, body LONGTEXT) ENGINE=InnoDB"
                ),
                &format!("INSERT INTO `{database}`.t VALUES (1, 1, NULL), (2, 2, NULL), (3, 3, NULL)"),
                &format!("CREATE TABLE `{database}`.bag (v INT) ENGINE=InnoDB"),
                &format!("INSERT INTO `{database}`.bag VALUES (1), (1), (2)"),
            ])
            .await;
        let ferrymaster = Ferrymaster::start_with(Start { arguments, ..Start::default() }).await;
        ferrymaster.api.create_source("s", &source.server, true).await;
        Self { source, target, database, ferrymaster }
    }

    /// Copied, and following.
    async fn followed(kind: Kind, arguments: &[&str]) -> Self {
        let bank = Self::at(kind, arguments).await;
        bank.begin().await;
        bank.until_synced().await;
        bank
    }

    async fn begin(&self) {
        self.begin_with(&task(TASK, "all", "s", &self.target, &self.database)).await;
    }

    async fn begin_with(&self, task: &Value) {
        self.ferrymaster.api.create_task(task).await;
        self.ferrymaster.api.start_task(TASK).await;
    }

    async fn until_synced(&self) {
        self.ferrymaster.api.until_synced(TASK, secs(60)).await;
    }

    async fn until_equal(&self) {
        let (ours, theirs) = ((&self.source.server, &*self.database), (&self.target, &*self.database));
        until_databases_equal(ours, theirs, secs(30)).await;
    }

    async fn run(&self, statements: &[&str]) {
        self.source.server.run_in(&self.database, statements).await;
    }

    /// Prepares a transaction in a session that then goes.
    async fn prepare(&self, xid: &str, statements: &[&str]) {
        let mut session = self.source.server.connect().await;
        session.run(&format!("USE `{}`", self.database)).await;
        session.run(&format!("XA START {xid}")).await;
        for statement in statements {
            session.run(statement).await;
        }
        session.run(&format!("XA END {xid}")).await;
        session.run(&format!("XA PREPARE {xid}")).await;
        session.close().await;
    }

    /// `XA COMMIT` or `XA ROLLBACK`. MariaDB lets another session end it once the first is gone.
    async fn end(&self, decision: &str, xid: &str) {
        let mut session = self.source.server.connect().await;
        until("the transaction to be another session's to end", secs(20), async || {
            session.try_run(&format!("XA {decision} {xid}")).await
        })
        .await;
        session.close().await;
    }

    /// The values of `v` in the target's table, by id.
    async fn values(&self) -> Vec<(i32, i32)> {
        let mut session: Session = self.target.connect().await;
        let rows = session.rows(&format!("SELECT id, v FROM `{}`.t ORDER BY id", self.database)).await;
        session.close().await;
        rows
    }

    async fn until_prepared(&self, count: u64) -> Value {
        let wanted = |status: &Value| status["sync_status"]["prepared_transactions"].as_u64() == Some(count);
        self.ferrymaster.api.until_status(TASK, &format!("to know of {count} prepared"), secs(30), wanted).await
    }

    async fn until_refused(&self, code: u64) -> Value {
        let refused = |status: &Value| status["stage"] == "Paused" && status["error"]["code"].as_u64() == Some(code);
        self.ferrymaster.api.until_status(TASK, &format!("to stop with {code}"), secs(60), refused).await
    }

    async fn kill_and_restart(mut self) -> Self {
        self.ferrymaster = self.ferrymaster.kill_and_restart().await;
        self
    }
}

/// One is committed and one rolled back, with others in between that change the same table.
async fn rows_come_with_the_commit(kind: Kind) {
    let bank = Bank::followed(kind, &[]).await;
    bank.prepare("'one'", &["UPDATE t SET v = 10 WHERE id = 1", "INSERT INTO bag VALUES (1)"]).await;
    bank.prepare("'two','x',7", &["DELETE FROM t WHERE id = 2"]).await;
    // Any bytes: quotes, zeros, and what is no UTF-8.
    bank.prepare("X'270022ff5c','',2147483647", &["INSERT INTO t VALUES (4, 4, NULL)"]).await;
    bank.run(&["UPDATE t SET v = 30 WHERE id = 3", "INSERT INTO t VALUES (5, 5, NULL)"]).await;
    let status = bank.until_prepared(3).await;
    assert!(status["sync_status"]["first_prepared_binlog"].as_str().unwrap().starts_with('('), "{status}");
    bank.until_synced().await;
    assert_eq!(bank.values().await, [(1, 1), (2, 2), (3, 30), (5, 5)]);
    bank.end("ROLLBACK", "'two','x',7").await;
    bank.end("COMMIT", "X'270022ff5c','',2147483647").await;
    bank.run(&["UPDATE t SET v = v + 1 WHERE id IN (2, 4)"]).await;
    bank.end("COMMIT", "'one'").await;
    bank.until_equal().await;
    assert_eq!(bank.values().await, [(1, 10), (2, 3), (3, 30), (4, 5), (5, 5)]);
    let status = bank.until_prepared(0).await;
    assert_eq!(status["sync_status"]["first_prepared_binlog"], "", "{status}");
    // At once, in one phase, and with an xid that was used before.
    for _ in 0..3 {
        bank.run(&["XA START 'one'", "UPDATE t SET v = v + 1", "XA END 'one'", "XA COMMIT 'one' ONE PHASE"]).await;
        bank.prepare("'one'", &["UPDATE t SET v = v + 100"]).await;
        bank.end("COMMIT", "'one'").await;
    }
    bank.until_equal().await;
}

/// The rows are read again after a crash, at a stop, and with little memory.
async fn rows_are_read_again(kind: Kind) {
    let bank = Bank::followed(kind, &["--transaction-memory", "64KiB"]).await;
    bank.prepare("'killed'", &["UPDATE t SET v = 10 WHERE id = 1"]).await;
    bank.until_prepared(1).await;
    let bank = bank.kill_and_restart().await;
    bank.until_prepared(1).await;
    bank.prepare("'large'", &["UPDATE t SET body = REPEAT('ü', 200000) WHERE id IN (2, 3)"]).await;
    bank.until_prepared(2).await;
    bank.run(&["INSERT INTO t VALUES (4, 4, NULL)", "FLUSH BINARY LOGS"]).await;
    bank.ferrymaster.api.stop_task(TASK).await;
    bank.end("COMMIT", "'large'").await;
    bank.end("COMMIT", "'killed'").await;
    bank.run(&["UPDATE t SET v = v * 2"]).await;
    bank.ferrymaster.api.start_task(TASK).await;
    bank.until_equal().await;
    bank.until_prepared(0).await;
    let large = ["XA START 'l'", "UPDATE t SET body = REPEAT('ö', 200000), v = v + 1", "XA END 'l'"];
    bank.run(&[large[0], large[1], large[2], "XA COMMIT 'l' ONE PHASE"]).await;
    bank.until_equal().await;
    // What has ended is known no more, whenever it is looked at again.
    let bank = bank.kill_and_restart().await;
    bank.until_equal().await;
    bank.until_synced().await;
    bank.until_prepared(0).await;
}

/// Tables that the task does not migrate, beside one that it does.
async fn other_tables_do_not_count(kind: Kind) {
    let bank = Bank::at(kind, &[]).await;
    let other = format!("{}_other", bank.database);
    bank.run(&[&format!("CREATE DATABASE `{other}`"), &format!("CREATE TABLE `{other}`.t (id INT PRIMARY KEY)")]).await;
    bank.begin().await;
    bank.until_synced().await;
    let elsewhere = format!("INSERT INTO `{other}`.t VALUES (1)");
    bank.prepare("'elsewhere'", &[&elsewhere]).await;
    bank.until_prepared(1).await;
    let bank = bank.kill_and_restart().await;
    bank.prepare("'both'", &["UPDATE t SET v = 9", &format!("INSERT INTO `{other}`.t VALUES (2)")]).await;
    bank.end("COMMIT", "'elsewhere'").await;
    bank.end("COMMIT", "'both'").await;
    bank.until_equal().await;
    bank.until_synced().await;
    assert_eq!(bank.values().await, [(1, 9), (2, 9), (3, 9)]);
}

/// Its log is gone when it is committed after a crash.
async fn a_log_that_is_gone_stops_at_the_commit(kind: Kind) {
    let bank = Bank::followed(kind, &[]).await;
    bank.prepare("'long'", &["UPDATE t SET v = 10 WHERE id = 1"]).await;
    bank.run(&["FLUSH BINARY LOGS", "UPDATE t SET v = 20 WHERE id = 2"]).await;
    bank.until_prepared(1).await;
    bank.until_synced().await;
    let left = newest_file(&bank.source.server).await;
    let bank = bank.kill_and_restart().await;
    bank.until_prepared(1).await;
    bank.until_synced().await;
    purge_up_to(&bank.source.server, &left).await;
    bank.end("COMMIT", "'long'").await;
    let status = bank.until_refused(BINLOG_GONE).await;
    assert!(status["error"]["message"].as_str().unwrap().contains("X'6c6f6e67',X'',1"), "{status}");
    assert_eq!(bank.values().await, [(1, 1), (2, 20), (3, 3)]);
}

/// What is prepared before a copy is waited for; what lasts stops it by name.
async fn a_copy_waits_for_what_is_prepared(kind: Kind) {
    let bank = Bank::at(kind, &[]).await;
    bank.prepare("'before'", &["UPDATE t SET v = 10 WHERE id = 1"]).await;
    bank.begin().await;
    let status = bank.until_refused(NO_SNAPSHOT).await;
    assert!(
        status["error"]["message"].as_str().unwrap().contains("6265666f7265") || status.to_string().contains("before"),
        "{status}"
    );
    bank.end("COMMIT", "'before'").await;
    bank.ferrymaster.api.start_task(TASK).await;
    bank.until_equal().await;
    bank.until_synced().await;
}

/// A replication that begins between the two could not know the rows.
async fn a_start_between_prepare_and_commit_stops_at_the_commit(kind: Kind) {
    let bank = Bank::at(kind, &[]).await;
    bank.target
        .run(&[
            &format!("CREATE DATABASE `{}`", bank.database),
            &format!("CREATE TABLE `{}`.t (id INT NOT NULL PRIMARY KEY, v INT, body LONGTEXT)", bank.database),
            &format!("CREATE TABLE `{}`.bag (v INT)", bank.database),
            &format!("INSERT INTO `{}`.t VALUES (1, 1, NULL), (2, 2, NULL), (3, 3, NULL)", bank.database),
        ])
        .await;
    bank.prepare("'before'", &["UPDATE t SET v = 10 WHERE id = 1"]).await;
    let mut task = task(TASK, "incremental", "s", &bank.target, &bank.database);
    let (file, offset) = newest_place(&bank.source.server).await;
    task["source_config"]["source_conf"][0]["binlog_name"] = json!(file);
    task["source_config"]["source_conf"][0]["binlog_pos"] = json!(offset);
    bank.begin_with(&task).await;
    bank.until_synced().await;
    bank.run(&["UPDATE t SET v = 20 WHERE id = 2"]).await;
    bank.end("COMMIT", "'before'").await;
    let status = bank.until_refused(UNSUPPORTED).await;
    assert!(status["error"]["message"].as_str().unwrap().contains("X'6265666f7265',X'',1"), "{status}");
    assert_eq!(bank.values().await, [(1, 1), (2, 20), (3, 3)]);
}

/// Copies one after the other begin while transactions are prepared and committed at every moment.
async fn copies_begin_between_prepares_and_commits(kind: Kind) {
    let bank = Bank::at(kind, &[]).await;
    let rounds = if kind == Kind::Mysql { 4 } else { 6 };
    let writing = tokio_util::sync::CancellationToken::new();
    let sessions: Vec<_> = (0..4)
        .map(|number| tokio::spawn(write(bank.source.server.clone(), bank.database.clone(), number, writing.clone())))
        .collect();
    for round in 0..rounds {
        let mut task = task(&format!("{TASK}{round}"), "all", "s", &bank.target, &bank.database);
        task["meta_schema"] = json!(format!("{}_meta{round}", bank.database));
        task["table_migrate_rule"][0]["target"] = json!({ "schema": format!("{}_{round}", bank.database) });
        bank.ferrymaster.api.create_task(&task).await;
        bank.ferrymaster.api.start_task(&format!("{TASK}{round}")).await;
    }
    for round in 0..rounds {
        let task = format!("{TASK}{round}");
        let follows = |status: &Value| status["unit"] == "Sync";
        bank.ferrymaster.api.until_status(&task, "to follow", secs(60), follows).await;
    }
    writing.cancel();
    let mut committed = 0;
    for session in sessions {
        committed += session.await.expect("a session writes");
    }
    assert!(committed > 20, "{committed} transactions");
    for round in 0..rounds {
        let target = format!("{}_{round}", bank.database);
        until_databases_equal((&bank.source.server, &*bank.database), (&bank.target, &*target), secs(30)).await;
    }
}

/// Prepares a little before it commits, until told to stop. How many it committed.
async fn write(server: Server, database: String, number: u32, stop: tokio_util::sync::CancellationToken) -> u32 {
    let mut session = server.connect().await;
    session.run(&format!("USE `{database}`")).await;
    let mut count = 0;
    while !stop.is_cancelled() {
        let (xid, id) = (format!("'{number}','{count}'"), 1000 * (number + 1) + count);
        session.run(&format!("XA START {xid}")).await;
        session.run(&format!("INSERT INTO t VALUES ({id}, {count}, NULL)")).await;
        session.run(&format!("INSERT INTO bag VALUES ({})", count % 3)).await;
        session.run(&format!("XA END {xid}")).await;
        session.run(&format!("XA PREPARE {xid}")).await;
        // Longer than a snapshot takes to open.
        let _ = tokio::time::timeout(Duration::from_millis(150), stop.cancelled()).await;
        session.run(&format!("XA COMMIT {xid}")).await;
        count += 1;
    }
    session.close().await;
    count
}

/// Makes the tests of a scenario, one for each family.
macro_rules! on_each {
    ($($name:ident: $scenario:ident),+ $(,)?) => {
        $(
            mod $name {
                use super::*;

                #[tokio::test]
                async fn on_mariadb() {
                    $scenario(Kind::Mariadb).await;
                }

                #[tokio::test]
                async fn on_mysql() {
                    $scenario(Kind::Mysql).await;
                }
            }
        )+
    };
}

on_each! {
    prepared_rows_come_with_the_commit: rows_come_with_the_commit,
    prepared_rows_are_read_again_where_they_were_not_kept: rows_are_read_again,
    prepared_rows_of_other_tables_do_not_count: other_tables_do_not_count,
    a_prepared_transaction_whose_log_is_gone_stops_the_task: a_log_that_is_gone_stops_at_the_commit,
    a_copy_waits_for_older_prepared_transactions: a_copy_waits_for_what_is_prepared,
    a_prepared_transaction_that_was_not_seen_stops_the_task: a_start_between_prepare_and_commit_stops_at_the_commit,
    copies_begin_beside_distributed_transactions: copies_begin_between_prepares_and_commits,
}
