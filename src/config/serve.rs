//! The checked settings of `serve`.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use serde::Deserialize;

use super::given::GivenServe;
use super::quantity::{ByteSize, Span};

#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error("cannot read the settings file {path}")]
    ReadFile {
        path: PathBuf,
        #[source]
        cause: std::io::Error,
    },
    #[error("the settings file {path} is not understood")]
    ParseFile {
        path: PathBuf,
        #[source]
        cause: Box<toml::de::Error>,
    },
    #[error("`{field}` must not be {value}: {reason}")]
    Invalid { field: &'static str, value: String, reason: String },
}

/// How log lines look.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// For people to read
    #[default]
    Terminal,
    /// One JSON object a line
    Json,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogSettings {
    pub format: LogFormat,
    /// Directives of `tracing_subscriber::EnvFilter`.
    pub filter: String,
}

/// Everything `serve` needs to know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Serve {
    pub data_dir: PathBuf,
    pub listen: SocketAddr,
    pub log: LogSettings,
    pub name: String,
    pub heartbeat: Duration,
    pub worker_expiry: Duration,
    pub leader_lease: Duration,
    pub delete_wait: Duration,
    pub stop_grace: Duration,
    pub shutdown_grace: Duration,
    pub retry_first: Duration,
    pub retry_longest: Duration,
    pub retry_tries: u32,
    pub retry_healthy: Duration,
    pub worker_capacity: u32,
    pub subtask_memory_bytes: u64,
    pub transaction_memory_bytes: u64,
}

/// DM's port.
const PORT: u16 = 8261;
const DELETE_WAIT_LONGEST: Span = Span(Duration::from_secs(60));

fn invalid(field: &'static str, value: impl ToString, reason: impl Into<String>) -> ConfigError {
    ConfigError::Invalid { field, value: value.to_string(), reason: reason.into() }
}

/// Defaults where nothing was given, then the checks.
impl TryFrom<GivenServe> for Serve {
    type Error = ConfigError;

    fn try_from(given: GivenServe) -> Result<Self, ConfigError> {
        let seconds = |seconds| Span(Duration::from_secs(seconds));
        let listen = listen(&given)?;
        let heartbeat =
            between("heartbeat", given.heartbeat, seconds(1), Span(Duration::from_millis(50)), seconds(60))?;
        let worker_expiry = expiry(&given, heartbeat)?;
        let leader_lease =
            between("leader_lease", given.leader_lease, seconds(2), Span(Duration::from_millis(500)), seconds(300))?;
        let delete_wait = between("delete_wait", given.delete_wait, seconds(10), seconds(0), DELETE_WAIT_LONGEST)?;
        let stop_grace = between("stop_grace", given.stop_grace, seconds(10), seconds(0), seconds(3_600))?;
        let shutdown_grace = between("shutdown_grace", given.shutdown_grace, seconds(30), seconds(1), seconds(3_600))?;
        let retry_first =
            between("retry_first", given.retry_first, seconds(1), Span(Duration::from_millis(10)), seconds(3_600))?;
        let retry_longest = between("retry_longest", given.retry_longest, seconds(300), retry_first, seconds(86_400))?;
        let retry_healthy = between("retry_healthy", given.retry_healthy, seconds(600), seconds(1), seconds(86_400))?;
        let worker_capacity = given.worker_capacity.unwrap_or(64);
        if worker_capacity == 0 {
            return Err(invalid("worker_capacity", 0, "a worker that holds no source does nothing"));
        }
        let (subtask_memory, transaction_memory) = memory(&given)?;
        Ok(Self {
            data_dir: data_dir(&given)?,
            listen,
            log: log(&given)?,
            name: name(&given)?,
            heartbeat: heartbeat.0,
            worker_expiry: worker_expiry.0,
            leader_lease: leader_lease.0,
            delete_wait: delete_wait.0,
            stop_grace: stop_grace.0,
            shutdown_grace: shutdown_grace.0,
            retry_first: retry_first.0,
            retry_longest: retry_longest.0,
            retry_tries: given.retry_tries.unwrap_or(600),
            retry_healthy: retry_healthy.0,
            worker_capacity,
            subtask_memory_bytes: subtask_memory.0,
            transaction_memory_bytes: transaction_memory.0,
        })
    }
}

fn between(
    field: &'static str,
    given: Option<Span>,
    default: Span,
    least: Span,
    most: Span,
) -> Result<Span, ConfigError> {
    let value = given.unwrap_or(default);
    if value < least || value > most {
        return Err(invalid(field, value, format!("expected {least} to {most}")));
    }
    Ok(value)
}

/// Nothing protects the API yet, so only this machine may reach it, unless the user says otherwise in so many words.
fn listen(given: &GivenServe) -> Result<SocketAddr, ConfigError> {
    let listen = given.listen.unwrap_or(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), PORT));
    if !listen.ip().is_loopback() && given.allow_unprotected_listen != Some(true) {
        let reason = "others could reach it, and there is neither TLS nor authentication yet; listen on 127.0.0.1, or \
                      say --allow-unprotected-listen";
        return Err(invalid("listen", listen, reason));
    }
    Ok(listen)
}

/// A worker must be able to miss a heartbeat without being taken for lost.
fn expiry(given: &GivenServe, heartbeat: Span) -> Result<Span, ConfigError> {
    let expiry = given.worker_expiry.unwrap_or(Span((heartbeat.0 * 7) / 2));
    if expiry.0 < heartbeat.0 * 2 + Duration::from_millis(500) {
        let reason = format!("expected at least two heartbeats ({heartbeat} each) and half a second");
        return Err(invalid("worker_expiry", expiry, reason));
    }
    between("worker_expiry", Some(expiry), expiry, Span(Duration::from_millis(500)), Span(Duration::from_secs(600)))
}

fn memory(given: &GivenServe) -> Result<(ByteSize, ByteSize), ConfigError> {
    let subtask = given.subtask_memory.unwrap_or(ByteSize(64 << 20));
    let transaction = given.transaction_memory.unwrap_or(ByteSize((subtask.0 / 4).max(1 << 20)));
    if subtask < ByteSize(4 << 20) {
        return Err(invalid("subtask_memory", subtask, "expected at least 4MiB"));
    }
    if transaction < ByteSize(64 << 10) || transaction > subtask {
        return Err(invalid("transaction_memory", transaction, format!("expected 64KiB to subtask_memory, {subtask}")));
    }
    Ok((subtask, transaction))
}

fn data_dir(given: &GivenServe) -> Result<PathBuf, ConfigError> {
    let data_dir = given.data_dir.clone().unwrap_or_else(|| PathBuf::from("ferrymaster-data"));
    if data_dir.as_os_str().is_empty() {
        return Err(invalid("data_dir", "empty", "expected a directory"));
    }
    Ok(data_dir)
}

fn log(given: &GivenServe) -> Result<LogSettings, ConfigError> {
    let filter = given.log_level.clone().unwrap_or_else(|| "info".to_owned());
    if let Err(error) = tracing_subscriber::EnvFilter::try_new(&filter) {
        let reason = format!("expected error, warn, info, debug, trace, or directives ({error})");
        return Err(invalid("log_level", format!("`{filter}`"), reason));
    }
    Ok(LogSettings { format: given.log_format.unwrap_or_default(), filter })
}

fn name(given: &GivenServe) -> Result<String, ConfigError> {
    let name = given.name.clone().unwrap_or_else(|| "ferrymaster".to_owned());
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
    if name.is_empty() || name.len() > 64 || !name.chars().all(is_plain) {
        return Err(invalid("name", format!("`{name}`"), "expected 1 to 64 letters, digits, `-`, `_` or `.`"));
    }
    Ok(name)
}
