//! Database servers: the four that a whole test run shares, and private ones for tests that stop or freeze theirs.
//!
//! `scripts/test` starts the shared ones and names them in the environment. Tests share them by using databases of
//! their own ([`Server::create_database`]); they must not change global settings there.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

use mysql_async::prelude::{FromRow, FromValue, Queryable};
use mysql_async::{Conn, OptsBuilder};

use super::random::Random;
use super::wait::{secs, until, within};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Mariadb,
    Mysql,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    Source,
    Target,
}

/// All pairs of source and target.
pub const PAIRS: [(Kind, Kind); 4] = [
    (Kind::Mariadb, Kind::Mariadb),
    (Kind::Mariadb, Kind::Mysql),
    (Kind::Mysql, Kind::Mariadb),
    (Kind::Mysql, Kind::Mysql),
];

impl Kind {
    fn word(self) -> &'static str {
        match self {
            Self::Mariadb => "mariadb",
            Self::Mysql => "mysql",
        }
    }
}

/// A running server, reached over TCP as root without a password.
#[derive(Debug, Clone)]
pub struct Server {
    pub kind: Kind,
    pub host: String,
    pub port: u16,
}

impl Server {
    /// One of the servers that all tests share.
    pub fn shared(kind: Kind, role: Role) -> Self {
        let name =
            format!("FERRYMASTER_TEST_{}_{}", kind.word(), if role == Role::Source { "source" } else { "target" })
                .to_uppercase();
        let Ok(address) = std::env::var(&name) else {
            panic!("{name} is not set: run tests by `scripts/test`, which starts the servers they need")
        };
        let (host, port) = address.rsplit_once(':').unwrap_or_else(|| panic!("{name}={address} is not host:port"));
        let port = port.parse().unwrap_or_else(|_| panic!("{name}={address} is not host:port"));
        Self { kind, host: host.to_owned(), port }
    }

    /// Source and target of one pair, shared.
    pub fn shared_pair((source, target): (Kind, Kind)) -> (Self, Self) {
        (Self::shared(source, Role::Source), Self::shared(target, Role::Target))
    }

    /// A session in UTC, or the error of the attempt.
    pub async fn try_connect(&self) -> mysql_async::Result<Session> {
        let options = OptsBuilder::default()
            .ip_or_hostname(self.host.clone())
            .tcp_port(self.port)
            .user(Some("root"))
            .prefer_socket(false)
            .init(vec!["SET time_zone = '+00:00'"]);
        within("connecting", secs(20), Conn::new(options)).await.map(|conn| Session { conn, kind: self.kind })
    }

    pub async fn connect(&self) -> Session {
        self.try_connect()
            .await
            .unwrap_or_else(|error| panic!("cannot connect to {}:{}: {error}", self.host, self.port))
    }

    /// Runs statements one by one in a session of their own.
    pub async fn run(&self, statements: &[&str]) {
        let mut session = self.connect().await;
        for statement in statements {
            session.run(statement).await;
        }
        session.close().await;
    }

    /// The same, inside of a database.
    pub async fn run_in(&self, database: &str, statements: &[&str]) {
        let inside = format!("USE `{database}`");
        self.run(&[&[&*inside], statements].concat()).await;
    }

    /// Makes a database that no other test has. `label` is for whoever looks at the server.
    pub async fn create_database(&self, label: &str) -> String {
        let name = unique_name(label);
        self.run(&[&format!("CREATE DATABASE `{name}`")]).await;
        name
    }
}

/// A name that nothing else on any server has.
pub fn unique_name(label: &str) -> String {
    static MADE: AtomicU32 = AtomicU32::new(0);
    let number = MADE.fetch_add(1, Ordering::Relaxed);
    format!("{label}_{:08x}_{number}", Random::fresh_seed() as u32)
}

/// One connection. Statements panic with their text when they fail or take longer than a minute.
pub struct Session {
    conn: Conn,
    kind: Kind,
}

impl Session {
    pub async fn try_run(&mut self, statement: &str) -> mysql_async::Result<()> {
        within(statement, secs(60), self.conn.query_drop(statement)).await
    }

    pub async fn run(&mut self, statement: &str) {
        self.try_run(statement).await.unwrap_or_else(|error| panic!("{error}\nin: {statement}"));
    }

    pub async fn rows<T: FromRow + Send + 'static>(&mut self, query: &str) -> Vec<T> {
        self.try_rows(query).await.unwrap_or_else(|error| panic!("{error}\nin: {query}"))
    }

    pub async fn try_rows<T: FromRow + Send + 'static>(&mut self, query: &str) -> mysql_async::Result<Vec<T>> {
        within(query, secs(120), self.conn.query(query)).await
    }

    /// The first column of the first row.
    pub async fn value<T: FromValue + Send + 'static>(&mut self, query: &str) -> T {
        let first: Option<Option<T>> = within(query, secs(60), self.conn.query_first(query))
            .await
            .unwrap_or_else(|error| panic!("{error}\nin: {query}"));
        first.flatten().unwrap_or_else(|| panic!("no value from: {query}"))
    }

    /// Rows changed by the last statement.
    pub fn affected_rows(&self) -> u64 {
        self.conn.affected_rows()
    }

    pub fn kind(&self) -> Kind {
        self.kind
    }

    pub fn connection_id(&self) -> u32 {
        self.conn.id()
    }

    pub async fn close(self) {
        // A session that is broken already is as good as closed.
        within("closing a session", secs(10), self.conn.disconnect()).await.ok();
    }
}

/// A server of one test's own. It is killed, and its files removed, when this is dropped.
pub struct PrivateServer {
    pub server: Server,
    directory: PathBuf,
    name: String,
}

impl PrivateServer {
    /// Starts one, with arguments for the server program beside the usual ones.
    pub fn start(kind: Kind, arguments: &[&str]) -> Self {
        let directory = std::env::var_os("FERRYMASTER_TEST_DIR").map_or_else(std::env::temp_dir, PathBuf::from);
        let name = unique_name("private");
        let port = script(&[&["start", text(&directory), kind.word(), &name], arguments].concat());
        let port = port.lines().find_map(|line| line.strip_prefix("PORT=")?.parse().ok()).expect("a port is printed");
        Self { server: Server { kind, host: "127.0.0.1".to_owned(), port }, directory, name }
    }

    /// Shuts it down cleanly. The port then refuses connections.
    pub fn stop(&self) {
        script(&["stop", text(&self.directory), &self.name]);
    }

    /// SIGKILL, as a crash would.
    pub fn kill(&self) {
        script(&["kill", text(&self.directory), &self.name]);
    }

    /// Starts it again, on the same port with the same data.
    pub fn start_again(&self) {
        script(&["start", text(&self.directory), self.server.kind.word(), &self.name]);
    }

    /// As [`Self::start_again`], with other arguments from now on.
    pub fn start_again_with(&self, arguments: &[&str]) {
        script(&[&["start", text(&self.directory), self.server.kind.word(), &self.name], arguments].concat());
    }

    /// SIGSTOP: connections are still accepted by the kernel, and never answered.
    pub fn freeze(&self) {
        freeze(self.pid());
    }

    pub fn thaw(&self) {
        send_signal("CONT", self.pid());
    }

    /// Waits until it answers queries.
    pub async fn wait_until_answering(&self) {
        until("the private server to answer", secs(60), async || {
            let mut session = self.server.try_connect().await.map_err(|error| error.to_string())?;
            session.try_run("SELECT 1").await.map_err(|error| error.to_string())
        })
        .await;
    }

    fn pid(&self) -> u32 {
        let shown = script(&["show", text(&self.directory), &self.name]);
        shown.lines().find_map(|line| line.strip_prefix("PID=")?.parse().ok()).expect("the server runs")
    }
}

impl Drop for PrivateServer {
    fn drop(&mut self) {
        // To look at what a failed test left.
        if std::thread::panicking() && std::env::var_os("FERRYMASTER_TEST_KEEP").is_some_and(|keep| keep == "1") {
            println!("kept: scripts/servers client {} {}", self.directory.display(), self.name);
            return;
        }
        script(&["remove", text(&self.directory), &self.name]);
    }
}

/// Sends a signal by name (`STOP`, `CONT`, `KILL`, `TERM`).
pub fn send_signal(signal: &str, pid: u32) {
    // The shell's own `kill`: a small system has no other.
    let kill = ["-c", "kill -s \"$0\" \"$1\"", signal, &pid.to_string()];
    let status = Command::new("sh").args(kill).status().expect("a shell can be run");
    assert!(status.success(), "cannot send {signal} to process {pid}");
}

/// SIGSTOP, and a wait until every thread of the process stands: the signal alone lets some run on for a moment.
pub fn freeze(pid: u32) {
    send_signal("STOP", pid);
    let end = Instant::now() + secs(10);
    while !stands(pid) {
        assert!(Instant::now() < end, "process {pid} still runs 10 s after SIGSTOP");
        std::thread::yield_now();
    }
}

/// Whether every thread of the process is stopped.
pub fn stands(pid: u32) -> bool {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task")).expect("the process is there");
    threads.flatten().all(|thread| {
        let stat = std::fs::read_to_string(thread.path().join("stat")).unwrap_or_default();
        // `pid (name) state …`; a thread that has just ended has no state at all.
        stat.rsplit_once(") ").is_none_or(|(_, rest)| rest.starts_with('T'))
    })
}

fn text(path: &Path) -> &str {
    path.to_str().expect("the path is valid text")
}

/// Runs `scripts/servers` and gives back what it printed.
fn script(arguments: &[&str]) -> String {
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/servers");
    let output = Command::new(&program).args(arguments).output().expect("scripts/servers can be run");
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "scripts/servers {arguments:?}:\n{}", String::from_utf8_lossy(&output.stderr));
    printed
}
