//! A source: one server that is read from.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{Secret, TaskNameList};

/// A source: one MySQL-family server that is read from.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct Source {
    /// The source's unique name, 1 to 32 bytes.
    #[schema(example = "mysql-01", min_length = 1, max_length = 32)]
    pub source_name: String,
    /// Host name or address of the server.
    #[schema(example = "127.0.0.1")]
    pub host: String,
    /// Port of the server.
    #[schema(example = 3306, format = "int32", minimum = 1, maximum = 65535)]
    pub port: u16,
    /// The account used there.
    #[schema(example = "root")]
    pub user: String,
    /// Its password. Answers always show `******`; sent back, or left out in an update, it means "unchanged".
    #[schema(value_type = Option<String>, example = "123456")]
    #[serde(default)]
    pub password: Option<Secret>,
    /// Whether the binlog is followed by GTID; else by file and position.
    #[schema(required = true, default = false)]
    #[serde(default)]
    pub enable_gtid: bool,
    /// Whether tasks may run on this source.
    #[schema(required = true, default = false)]
    #[serde(default)]
    pub enable: bool,
    /// `mysql` or `mariadb`; found out from the server when left out.
    #[schema(nullable = false, example = "mysql")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flavor: Option<String>,
    /// Tasks that have this source; only in answers, with `with_status`.
    #[schema(nullable = false)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_name_list: Option<TaskNameList>,
    /// TLS for the connection to the server.
    #[serde(default)]
    pub security: Option<Security>,
    /// Clearing of relay logs.
    #[schema(nullable = false)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub purge: Option<Purge>,
    /// What the source's worker says of it; only in answers, with `with_status`.
    #[schema(nullable = false)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status_list: Option<Vec<SourceStatus>>,
    /// Relay logs.
    #[schema(nullable = false)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relay_config: Option<RelayConfig>,
}

/// TLS material as PEM text. The key is never shown: answers have `******` in its place.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct Security {
    /// Certificates of the authorities that are trusted; empty: the system's.
    pub ssl_ca_content: String,
    /// The client certificate; empty: none.
    pub ssl_cert_content: String,
    /// The client certificate's key; empty: none. `******` means "unchanged".
    #[schema(value_type = String)]
    pub ssl_key_content: Secret,
    /// Common names of which the server's certificate must carry one.
    #[schema(nullable = false)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cert_allowed_cn: Option<Vec<String>>,
}

/// When relay logs are cleared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Purge {
    /// Seconds between two checks.
    #[schema(default = 3600)]
    #[serde(default = "Purge::default_interval")]
    pub interval: Option<i64>,
    /// Hours after which a file is cleared; 0: never by age.
    #[schema(default = 0)]
    #[serde(default = "Purge::default_expires")]
    pub expires: Option<i64>,
    /// Gigabytes of free disk below which files are cleared.
    #[schema(default = 15)]
    #[serde(default = "Purge::default_remain_space")]
    pub remain_space: Option<i64>,
}

impl Purge {
    #[expect(clippy::unnecessary_wraps, reason = "the field is nullable on the wire")]
    fn default_interval() -> Option<i64> {
        Some(3600)
    }

    #[expect(clippy::unnecessary_wraps, reason = "the field is nullable on the wire")]
    fn default_expires() -> Option<i64> {
        Some(0)
    }

    #[expect(clippy::unnecessary_wraps, reason = "the field is nullable on the wire")]
    fn default_remain_space() -> Option<i64> {
        Some(15)
    }
}

impl Default for Purge {
    fn default() -> Self {
        Self {
            interval: Self::default_interval(),
            expires: Self::default_expires(),
            remain_space: Self::default_remain_space(),
        }
    }
}

/// Relay logs of a source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RelayConfig {
    /// Whether relay logs are pulled.
    #[schema(nullable = false)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enable_relay: Option<bool>,
    /// The binlog file to begin with.
    #[serde(default)]
    pub relay_binlog_name: Option<String>,
    /// The GTID set to begin after.
    #[serde(default)]
    pub relay_binlog_gtid: Option<String>,
    /// Where relay logs are kept.
    #[schema(default = "./relay_log")]
    #[serde(default = "RelayConfig::default_relay_dir")]
    pub relay_dir: Option<String>,
}

impl RelayConfig {
    #[expect(clippy::unnecessary_wraps, reason = "the field is nullable on the wire")]
    fn default_relay_dir() -> Option<String> {
        Some("./relay_log".to_owned())
    }
}

impl Default for RelayConfig {
    fn default() -> Self {
        Self {
            enable_relay: Some(false),
            relay_binlog_name: None,
            relay_binlog_gtid: None,
            relay_dir: Self::default_relay_dir(),
        }
    }
}

/// What a source's worker says of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SourceStatus {
    /// The source.
    pub source_name: String,
    /// The worker it is bound to; empty: none.
    pub worker_name: String,
    /// How its relay logs stand; absent while it has none.
    #[schema(nullable = false)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relay_status: Option<RelayStatus>,
    /// What is wrong.
    #[schema(nullable = false)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_msg: Option<String>,
}

/// How a source's relay logs stand.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RelayStatus {
    /// The source's position, like `(mysql-bin.000001, 1979)`.
    pub master_binlog: String,
    /// The source's GTID set.
    pub master_binlog_gtid: String,
    /// The directory written now.
    pub relay_dir: String,
    /// The GTID set pulled so far.
    pub relay_binlog_gtid: String,
    /// Whether everything was pulled.
    pub relay_catch_up_master: bool,
    /// The stage of the relay.
    pub stage: String,
}

/// Asks for a new source.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct CreateSourceRequest {
    /// The source to create.
    pub source: Source,
    /// The worker to bind it to; left out: the scheduler chooses.
    #[schema(nullable = false)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker_name: Option<String>,
}

/// Changes a source.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct UpdateSourceRequest {
    /// The source as it shall be.
    pub source: Source,
}

/// Sources, in the order of their names.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct GetSourceListResponse {
    /// How many `data` has.
    pub total: usize,
    /// The sources.
    pub data: Vec<Source>,
    /// Send it as `cursor` to get the next page; absent on the last one.
    #[schema(nullable = false)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// One entry for each worker of the source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct GetSourceStatusResponse {
    /// How many `data` has.
    pub total: usize,
    /// What the workers say.
    pub data: Vec<SourceStatus>,
}
