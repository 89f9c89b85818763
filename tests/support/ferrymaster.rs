//! The real binary, as its own process: started, killed, frozen, and its log read.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use tempfile::TempDir;

use super::http::Api;
use super::random::Random;
use super::servers::{freeze, send_signal, stands};
use super::wait::{is_so_within, secs, until, until_true};

/// A running `ferrymaster serve`. It is killed when this is dropped.
pub struct Ferrymaster {
    pub port: u16,
    pub api: Api,
    child: Child,
    data_directory: PathBuf,
    log: PathBuf,
    /// Removed at the end, if this made it.
    temporary: Option<DataDirectory>,
}

/// A data directory that is removed when this is dropped, with the log beside it.
pub struct DataDirectory(TempDir);

impl DataDirectory {
    fn empty() -> Self {
        Self(tempfile::Builder::new().prefix("ferrymaster-test-").tempdir().expect("a directory can be made"))
    }

    pub fn path(&self) -> PathBuf {
        self.0.path().join("data")
    }
}

/// How to start one, when the usual way is not it.
#[derive(Debug, Default)]
pub struct Start<'a> {
    /// An existing data directory to go on with; else an empty one that goes with the process.
    pub data_directory: Option<&'a Path>,
    /// The port of an earlier run; else a free one.
    pub port: Option<u16>,
    pub arguments: &'a [&'a str],
    pub environment: &'a [(&'a str, &'a str)],
}

impl Ferrymaster {
    /// Starts `serve` with an empty data directory and waits until it is ready.
    pub async fn start() -> Self {
        Self::start_with(Start::default()).await
    }

    pub async fn start_with(start: Start<'_>) -> Self {
        let mut started = Self::spawn(start);
        let api = started.api.clone();
        until("ferrymaster to be ready", secs(30), async || {
            if let Some(status) = started.child.try_wait().expect("a child can be asked") {
                panic!("ferrymaster ended with {status}:\n{}", started.log());
            }
            match api.try_send(reqwest::Method::GET, "/readyz", None).await {
                Ok(answer) if answer.status.is_success() => Ok(()),
                Ok(answer) => Err(format!("{answer:?}\n{}", started.log())),
                Err(error) => Err(format!("{error}\n{}", started.log())),
            }
        })
        .await;
        started
    }

    /// Starts it and does not wait.
    pub fn spawn(start: Start<'_>) -> Self {
        let (data_directory, temporary) = match start.data_directory {
            Some(given) => (given.to_owned(), None),
            None => {
                let made = DataDirectory::empty();
                (made.path(), Some(made))
            }
        };
        let port = start.port.unwrap_or_else(free_port);
        let log = data_directory.with_extension("log");
        // Appended to: a second run on the same directory goes on in the same log.
        let output = File::options().create(true).append(true).open(&log).expect("the log can be written");
        let child = Command::new(env!("CARGO_BIN_EXE_ferrymaster"))
            .arg("serve")
            .args(["--data-dir".as_ref(), data_directory.as_os_str()])
            .args(["--listen", &format!("127.0.0.1:{port}")])
            .args(start.arguments)
            .envs(start.environment.iter().copied())
            .stdin(Stdio::null())
            .stdout(output.try_clone().expect("a handle can be doubled"))
            .stderr(output)
            .spawn()
            .expect("the binary can be run");
        Self { port, api: Api::new(format!("http://127.0.0.1:{port}")), child, data_directory, log, temporary }
    }

    pub fn data_directory(&self) -> &Path {
        &self.data_directory
    }

    /// A copy of the data directory, for a second process that takes over from this one.
    pub fn copy_data_directory(&self) -> DataDirectory {
        let copy = DataDirectory::empty();
        let status = Command::new("cp").arg("-a").arg(&self.data_directory).arg(copy.path()).status();
        assert!(status.expect("cp can be run").success(), "cannot copy {:?}", self.data_directory);
        copy
    }

    /// All that it has printed.
    pub fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// Lines of the log that hold all of these texts.
    pub fn log_lines(&self, texts: &[&str]) -> Vec<String> {
        self.log().lines().filter(|line| texts.iter().all(|text| line.contains(text))).map(str::to_owned).collect()
    }

    pub async fn until_logged(&self, texts: &[&str], deadline: Duration) -> String {
        until(&format!("a log line with {texts:?}"), deadline, async || {
            self.log_lines(texts).into_iter().next().ok_or_else(|| self.log())
        })
        .await
    }

    /// SIGKILL. The data directory stays as it is.
    pub fn kill(&mut self) {
        // Killing one that has ended already is no error.
        self.child.kill().ok();
        self.child.wait().expect("a child can be waited for");
    }

    /// SIGKILL, then a new process on the same data directory and port.
    pub async fn kill_and_restart(mut self) -> Self {
        self.kill();
        self.restart_with(&[], &[]).await
    }

    /// SIGSTOP: nothing in the process moves until [`Self::thaw`].
    /// The largest resident memory so far, or since it was last forgotten, without the pages of the program itself,
    /// which is large where it is not optimized; in bytes.
    pub fn peak_memory(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).expect("the process lives");
        let bytes = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name)).expect("a size is told");
            line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number of kB") * 1024
        };
        bytes("VmHWM:").saturating_sub(bytes("RssFile:"))
    }

    pub fn forget_peak_memory(&self) {
        std::fs::write(format!("/proc/{}/clear_refs", self.child.id()), "5").expect("a peak can be forgotten");
    }

    pub fn freeze(&self) {
        freeze(self.child.id());
    }

    pub fn thaw(&self) {
        send_signal("CONT", self.child.id());
    }

    /// Waits until it has ended by itself (or by a fault point).
    pub async fn until_ended(&mut self, deadline: Duration) -> ExitStatus {
        let child = &mut self.child;
        until("ferrymaster to end", deadline, async || {
            child.try_wait().expect("a child can be asked").ok_or("it still runs")
        })
        .await
    }

    /// Whether it ends by itself in this time.
    pub async fn ended_within(&mut self, time: Duration) -> bool {
        let child = &mut self.child;
        is_so_within(time, || child.try_wait().expect("a child can be asked").is_some()).await
    }

    /// Whether a fault point freezes it in this time.
    pub async fn is_frozen_within(&self, time: Duration) -> bool {
        is_so_within(time, || stands(self.child.id())).await
    }

    /// Waits until every thread of it stands, after it (or a fault point) was sent SIGSTOP.
    pub async fn until_frozen(&self, deadline: Duration) {
        until_true("ferrymaster to stand still", deadline, async || stands(self.child.id())).await;
    }

    /// A new process on what a dead one left: same data directory, same port.
    pub async fn restart_with(mut self, arguments: &[&str], environment: &[(&str, &str)]) -> Self {
        self.kill();
        let start = Start { data_directory: Some(&self.data_directory), port: Some(self.port), arguments, environment };
        let mut restarted = Self::start_with(start).await;
        restarted.temporary = self.temporary.take();
        restarted
    }

    /// SIGTERM, and how it ended.
    pub async fn terminate(&mut self, deadline: Duration) -> ExitStatus {
        send_signal("TERM", self.child.id());
        self.until_ended(deadline).await
    }
}

impl Drop for Ferrymaster {
    fn drop(&mut self) {
        self.kill();
        if std::thread::panicking() {
            let log = self.log();
            let tail = log.lines().count().saturating_sub(80);
            let lines: Vec<_> = log.lines().skip(tail).collect();
            eprintln!("--- the end of the log of ferrymaster on port {} ---\n{}", self.port, lines.join("\n"));
        }
    }
}

/// A port that nothing listens on, outside of the range that outgoing connections take theirs from.
pub fn free_port() -> u16 {
    let mut random = Random::new(Random::fresh_seed());
    for _ in 0..200 {
        let port = 10_000 + random.below(9_000) as u16;
        if std::net::TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
    panic!("no free port was found");
}
