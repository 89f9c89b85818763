//! Reported faults of connections to the source: those that die without a word, and those that a server ends.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::Value;
use tokio::task::JoinHandle;

use super::site::{Site, TASK};
use crate::support::proxy::{Mode, Proxy};
use crate::support::servers::{Kind, PrivateServer, Role, Server, unique_name};
use crate::support::wait::{is_so_within, secs, until, until_true};

/// Replication through a proxy, while rows keep coming.
struct Stream {
    site: Site,
    proxy: Proxy,
    /// The account of the binlog's reader, which no other test has.
    user: String,
    writes: Arc<AtomicBool>,
    writing: JoinHandle<()>,
}

impl Stream {
    async fn begin(kind: Kind) -> Self {
        let site = Site::shared(kind).await;
        let user = unique_name("reader");
        site.write(&[
            "CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, v INT)",
            &format!("CREATE USER {user}@'%' IDENTIFIED BY 'word'"),
            &format!("GRANT ALL ON *.* TO {user}@'%'"),
        ])
        .await;
        let proxy = Proxy::to(&site.source.host, site.source.port);
        let mut source = crate::support::http::source("behind", &site.source, true);
        source["port"] = proxy.port.into();
        source["user"] = user.as_str().into();
        source["password"] = "word".into();
        site.api().post("/api/v1/sources", &serde_json::json!({ "source": source })).await.expect(201);
        let mut body = site.task();
        body["source_config"]["source_conf"][0]["source_name"] = "behind".into();
        body["table_migrate_rule"][0]["source"]["source_name"] = "behind".into();
        site.start(&body).await;
        site.until_replicating().await;
        let writes = Arc::new(AtomicBool::new(true));
        let writing = tokio::spawn(write(site.source.clone(), site.database.clone(), Arc::clone(&writes)));
        let stream = Self { site, proxy, user, writes, writing };
        stream.until_arriving().await;
        stream
    }

    /// Waits until a row that is written from now on is at the target.
    async fn until_arriving(&self) {
        let last: u64 = self.site.at_source("SELECT COALESCE(MAX(id), 0) FROM {db}.t").await;
        until_true("later rows to arrive", secs(40), async || {
            self.site.at_target::<u64>("SELECT COALESCE(MAX(id), 0) FROM {db}.t").await > last
        })
        .await;
    }

    async fn end(self) {
        self.until_arriving().await;
        self.writes.store(false, Ordering::Relaxed);
        self.writing.await.expect("rows were written");
        self.site.until_equal().await;
        self.site.write(&[&format!("DROP USER {}@'%'", self.user)]).await;
    }
}

async fn write(source: Server, database: String, writes: Arc<AtomicBool>) {
    let mut session = source.connect().await;
    while writes.load(Ordering::Relaxed) {
        session.run(&format!("INSERT INTO `{database}`.t (v) VALUES (1)")).await;
        // A row each twentieth of a second, or the end.
        is_so_within(Duration::from_millis(50), || !writes.load(Ordering::Relaxed)).await;
    }
    session.close().await;
}

fn lag(status: &Value) -> u64 {
    status["sync_status"]["seconds_behind_master"].as_u64().unwrap_or(0)
}

async fn falls_silent(kind: Kind) {
    let stream = Stream::begin(kind).await;
    let api = stream.site.api();
    // Connections stay open, and new ones are never answered.
    stream.proxy.set(Mode::Silent);
    let told = |status: &Value| status["error"]["next"] == "retry" && lag(status) >= 5;
    let status = api.until_status(TASK, "to tell that the source is silent", secs(30), told).await;
    assert_eq!((&status["unit"], &status["sync_status"]["synced"]), (&"Sync".into(), &false.into()), "{status}");
    assert!(status["error"]["code"].as_u64().is_some_and(|code| code > 0), "{status}");
    // It stays told and the lag grows, also while another connection is tried.
    let before = lag(&status);
    let status = api.until_status(TASK, "to lag more", secs(20), |status| lag(status) >= before + 3).await;
    assert_eq!(status["sync_status"]["synced"], false, "{status}");
    assert!(status["error"]["first_at"].is_string() && status["error_msg"].is_string(), "{status}");
    stream.proxy.set(Mode::Pass);
    stream.end().await;
}

/// C074 (a) and (b): the connection is frozen, and new ones are not answered.
#[tokio::test]
async fn a_source_that_falls_silent_is_told_with_a_growing_lag_and_read_on_when_it_is_back() {
    falls_silent(Kind::Mariadb).await;
}

async fn dump_is_killed(kind: Kind) {
    let stream = Stream::begin(kind).await;
    let (site, user) = (&stream.site, &stream.user);
    let dump =
        format!("SELECT ID FROM information_schema.PROCESSLIST WHERE USER = '{user}' AND COMMAND LIKE 'Binlog Dump%'");
    for _ in 0..3 {
        let mut session = site.source.connect().await;
        let id = until("a binlog dump to run", secs(20), async || {
            session.rows::<u64>(&dump).await.into_iter().next().ok_or("none")
        })
        .await;
        session.run(&format!("KILL {id}")).await;
        until("another binlog dump to run", secs(30), async || match session.rows::<u64>(&dump).await.first() {
            Some(other) if *other != id => Ok(()),
            seen => Err(seen.copied()),
        })
        .await;
        session.close().await;
        stream.until_arriving().await;
    }
    stream.end().await;
}

/// C074 (c): the source's thread that sends the binlog is killed.
#[tokio::test]
async fn a_killed_binlog_dump_is_opened_again_and_no_row_is_missed_or_doubled() {
    dump_is_killed(Kind::Mariadb).await;
}

async fn idles(kind: Kind) {
    let impatient: &[&str] = &["--net-write-timeout=2", "--net-read-timeout=2", "--wait-timeout=2"];
    let source = PrivateServer::start(kind, impatient);
    let site = Site::between(source.server.clone(), Server::shared(kind, Role::Target)).await;
    site.write(&["CREATE TABLE t (id INT PRIMARY KEY)"]).await;
    site.start(&site.task()).await;
    site.until_equal().await;
    let mut clock = site.target.connect().await;
    let begun: u64 = clock.value("SELECT UNIX_TIMESTAMP()").await;
    until_true("the source to have idled for longer than its patience", secs(20), async || {
        clock.value::<u64>("SELECT UNIX_TIMESTAMP()").await >= begun + 7
    })
    .await;
    clock.close().await;
    let status = site.api().subtask_status(TASK).await;
    assert_eq!((&status["stage"], &status["error"]), (&"Running".into(), &Value::Null), "{status}");
    site.write(&["INSERT INTO t VALUES (1)"]).await;
    site.until_equal().await;
    assert!(site.ferrymaster().log_lines(&["ERROR"]).is_empty(), "{}", site.ferrymaster().log());
}

/// C074 (d): the source is quiet for longer than it lets connections idle.
#[tokio::test]
async fn a_source_that_idles_longer_than_its_own_timeouts_ends_nothing() {
    idles(Kind::Mariadb).await;
}

/// For `--all`.
mod long {
    use super::*;

    #[tokio::test]
    async fn mysql_a_source_that_falls_silent_is_told_with_a_growing_lag_and_read_on_when_it_is_back() {
        falls_silent(Kind::Mysql).await;
    }

    #[tokio::test]
    async fn mysql_a_killed_binlog_dump_is_opened_again_and_no_row_is_missed_or_doubled() {
        dump_is_killed(Kind::Mysql).await;
    }

    #[tokio::test]
    async fn mysql_a_source_that_idles_longer_than_its_own_timeouts_ends_nothing() {
        idles(Kind::Mysql).await;
    }
}
