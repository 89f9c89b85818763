//! What a user may give for `serve`: as a flag, as an environment variable, or in the file. Nothing is required.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::quantity::{ByteSize, Span};
use super::serve::{ConfigError, LogFormat};

/// Keys of the file are the flags' names with `_`. A flag wins over the environment, and both over the file.
#[derive(Debug, Default, Clone, clap::Args, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct GivenServe {
    /// A TOML file with settings; its keys are these flags' names, with `_` for `-`
    #[arg(long, env = "FERRYMASTER_CONFIG", value_name = "FILE")]
    #[serde(skip)]
    pub config: Option<PathBuf>,

    /// Where the metadata and the key that seals its secrets are kept; made if it is missing [default: ferrymaster-data]
    #[arg(long, env = "FERRYMASTER_DATA_DIR", value_name = "DIR")]
    pub data_dir: Option<PathBuf>,

    /// The address of the API [default: 127.0.0.1:8261]
    #[arg(long, env = "FERRYMASTER_LISTEN", value_name = "ADDRESS:PORT")]
    pub listen: Option<SocketAddr>,

    /// Listen on an address that others can reach, though there is neither TLS nor authentication yet: whoever reaches
    /// it can read and write every database that ferrymaster can
    #[arg(long, env = "FERRYMASTER_ALLOW_UNPROTECTED_LISTEN", num_args = 0..=1, default_missing_value = "true",
        require_equals = true, value_name = "BOOL")]
    pub allow_unprotected_listen: Option<bool>,

    /// How log lines look [default: terminal]
    #[arg(long, env = "FERRYMASTER_LOG_FORMAT", value_enum, value_name = "FORMAT")]
    pub log_format: Option<LogFormat>,

    /// Which log lines are written: a level, or directives such as `info,ferrymaster::worker=debug` [default: info]
    #[arg(long, env = "FERRYMASTER_LOG_LEVEL", value_name = "FILTER")]
    pub log_level: Option<String>,

    /// The name of this process among masters and workers [default: ferrymaster]
    #[arg(long, env = "FERRYMASTER_NAME", value_name = "NAME")]
    pub name: Option<String>,

    /// How often a worker calls the master at least [default: 1s]
    #[arg(long, env = "FERRYMASTER_HEARTBEAT", value_name = "TIME", help_heading = "Timing")]
    pub heartbeat: Option<Span>,

    /// How long a worker may be silent before its sources go to another one [default: 3.5s]
    #[arg(long, env = "FERRYMASTER_WORKER_EXPIRY", value_name = "TIME", help_heading = "Timing")]
    pub worker_expiry: Option<Span>,

    /// How long a leader leads without renewing its lease [default: 2s]
    #[arg(long, env = "FERRYMASTER_LEADER_LEASE", value_name = "TIME", help_heading = "Timing")]
    pub leader_lease: Option<Span>,

    /// How long the deletion of a task may wait for its target when the call does not say; 60s at most [default: 10s]
    #[arg(long, env = "FERRYMASTER_DELETE_WAIT", value_name = "TIME", help_heading = "Timing")]
    pub delete_wait: Option<Span>,

    /// How long a stop waits for work in flight when the call does not say [default: 10s]
    #[arg(long, env = "FERRYMASTER_STOP_GRACE", value_name = "TIME", help_heading = "Timing")]
    pub stop_grace: Option<Span>,

    /// How long shutting down may take in all; what is not closed then is dropped, and taken up by the next start
    /// [default: 30s]
    #[arg(long, env = "FERRYMASTER_SHUTDOWN_GRACE", value_name = "TIME", help_heading = "Timing")]
    pub shutdown_grace: Option<Span>,

    /// The wait before the first automatic retry of a failed subtask; it doubles each time [default: 1s]
    #[arg(long, env = "FERRYMASTER_RETRY_FIRST", value_name = "TIME", help_heading = "Retries")]
    pub retry_first: Option<Span>,

    /// The longest wait between automatic retries [default: 5m]
    #[arg(long, env = "FERRYMASTER_RETRY_LONGEST", value_name = "TIME", help_heading = "Retries")]
    pub retry_longest: Option<Span>,

    /// Automatic retries before a failed subtask waits for an operator [default: 600]
    #[arg(long, env = "FERRYMASTER_RETRY_TRIES", value_name = "NUMBER", help_heading = "Retries")]
    pub retry_tries: Option<u32>,

    /// How long a subtask must run well for its retries to be counted anew [default: 10m]
    #[arg(long, env = "FERRYMASTER_RETRY_HEALTHY", value_name = "TIME", help_heading = "Retries")]
    pub retry_healthy: Option<Span>,

    /// Sources that the worker holds at most [default: 64]
    #[arg(long, env = "FERRYMASTER_WORKER_CAPACITY", value_name = "NUMBER", help_heading = "Worker")]
    pub worker_capacity: Option<u32>,

    /// Memory for the binlog transactions that one subtask is applying [default: 64MiB]
    #[arg(long, env = "FERRYMASTER_SUBTASK_MEMORY", value_name = "SIZE", help_heading = "Worker")]
    pub subtask_memory: Option<ByteSize>,

    /// A larger binlog transaction is applied while it is read, alone [default: 16MiB]
    #[arg(long, env = "FERRYMASTER_TRANSACTION_MEMORY", value_name = "SIZE", help_heading = "Worker")]
    pub transaction_memory: Option<ByteSize>,
}

impl GivenServe {
    /// Adds what the file says and flags and environment do not.
    pub fn with_file(self) -> Result<Self, ConfigError> {
        let Some(path) = self.config.clone() else { return Ok(self) };
        let text =
            std::fs::read_to_string(&path).map_err(|cause| ConfigError::ReadFile { path: path.clone(), cause })?;
        Ok(self.or(Self::from_toml(&path, &text)?))
    }

    pub(super) fn from_toml(path: &Path, text: &str) -> Result<Self, ConfigError> {
        toml::from_str(text).map_err(|cause| ConfigError::ParseFile { path: path.to_owned(), cause: Box::new(cause) })
    }

    /// Field by field, the first that was given. A field forgotten here does not compile.
    fn or(self, file: Self) -> Self {
        Self {
            config: self.config,
            data_dir: self.data_dir.or(file.data_dir),
            listen: self.listen.or(file.listen),
            allow_unprotected_listen: self.allow_unprotected_listen.or(file.allow_unprotected_listen),
            log_format: self.log_format.or(file.log_format),
            log_level: self.log_level.or(file.log_level),
            name: self.name.or(file.name),
            heartbeat: self.heartbeat.or(file.heartbeat),
            worker_expiry: self.worker_expiry.or(file.worker_expiry),
            leader_lease: self.leader_lease.or(file.leader_lease),
            delete_wait: self.delete_wait.or(file.delete_wait),
            stop_grace: self.stop_grace.or(file.stop_grace),
            shutdown_grace: self.shutdown_grace.or(file.shutdown_grace),
            retry_first: self.retry_first.or(file.retry_first),
            retry_longest: self.retry_longest.or(file.retry_longest),
            retry_tries: self.retry_tries.or(file.retry_tries),
            retry_healthy: self.retry_healthy.or(file.retry_healthy),
            worker_capacity: self.worker_capacity.or(file.worker_capacity),
            subtask_memory: self.subtask_memory.or(file.subtask_memory),
            transaction_memory: self.transaction_memory.or(file.transaction_memory),
        }
    }
}
