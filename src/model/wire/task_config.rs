//! The parts of a task: its target, sources, rules and tuning.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{Secret, Security};
use crate::model::subtask::OnDuplicate;

/// The target and the account used there.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct TaskTargetDataBase {
    /// Host name or address of the server.
    #[schema(example = "127.0.0.1")]
    pub host: String,
    /// Port of the server.
    #[schema(example = 3306, format = "int32", minimum = 1, maximum = 65535)]
    pub port: u16,
    /// The account used there.
    #[schema(example = "root")]
    pub user: String,
    /// Its password. Answers always show `******`; sent back in an update it means "unchanged".
    #[schema(value_type = String, example = "123456")]
    pub password: Secret,
    /// TLS for the connection to the server.
    #[serde(default)]
    pub security: Option<Security>,
    /// Session variables.
    #[schema(nullable = false)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<TaskTargetSession>,
    /// Collations that the target does not know, each with the one to use there instead.
    #[schema(nullable = false, example = json!({"utf8mb4_0900_ai_ci": "utf8mb4_uca1400_ai_ci"}))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collation_map: Option<BTreeMap<String, String>>,
}

/// Session variables of the target's sessions; no others can be set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TaskTargetSession {
    /// `"0"` or `"1"`. Either way checks run exactly where a replica would have them.
    #[schema(inline, nullable = false)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub foreign_key_checks: Option<ForeignKeyChecks>,
}

/// A switch written as text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub enum ForeignKeyChecks {
    #[serde(rename = "0")]
    Off,
    #[serde(rename = "1")]
    On,
}

/// Events and statements that are left out.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TaskBinLogFilterRule {
    /// Kinds of events, like `all dml` or `drop table`.
    #[schema(nullable = false, example = json!(["all dml"]))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ignore_event: Option<Vec<String>>,
    /// Regular expressions over statements.
    #[schema(nullable = false, example = json!(["^Drop"]))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ignore_sql: Option<Vec<String>>,
}

/// Which tables, and where they go.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TaskTableMigrateRule {
    /// Which tables.
    pub source: TaskTableMigrateRuleSource,
    /// Where they go; left out: under their own names.
    #[schema(nullable = false)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<TaskTableMigrateRuleTarget>,
    /// Names of event filters for these tables.
    #[schema(nullable = false, example = json!(["rule-1"]))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub binlog_filter_rule: Option<Vec<String>>,
}

/// Tables of a source, by patterns: `*`, `?`, `[a-z]`, `[!a-z]`; a leading `~` makes the rest a regular expression.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TaskTableMigrateRuleSource {
    /// The source.
    #[schema(example = "mysql-01")]
    pub source_name: String,
    /// Pattern of the database.
    #[schema(example = "db-*")]
    pub schema: String,
    /// Pattern of the table; empty: all of the database.
    #[schema(example = "tb-*")]
    pub table: String,
}

/// Names in the target, without wildcards.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TaskTableMigrateRuleTarget {
    /// The database; left out or empty: the source's name.
    #[schema(nullable = false, example = "db1")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<String>,
    /// The table; left out or empty: the source's name.
    #[schema(nullable = false, example = "tb1")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub table: Option<String>,
}

/// The sources and how they are read.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct TaskSourceConfig {
    /// The sources.
    pub source_conf: Vec<TaskSourceConf>,
    /// The copy of existing rows.
    #[schema(nullable = false)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub full_migrate_conf: Option<TaskFullMigrateConf>,
    /// Replication.
    #[schema(nullable = false)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub incr_migrate_conf: Option<TaskIncrMigrateConf>,
}

/// A source of the task and, in mode `incremental`, where its binlog is followed from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TaskSourceConf {
    /// The source.
    #[schema(example = "mysql-01")]
    pub source_name: String,
    /// Binlog file to begin in.
    #[schema(nullable = false, example = "binlog.000001")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub binlog_name: Option<String>,
    /// Offset in that file.
    #[schema(nullable = false, example = 4)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub binlog_pos: Option<u64>,
    /// GTID set to begin after.
    #[schema(nullable = false, example = "03fc0263-28c7-11e7-a653-6c0b84d59f30:1-7041423")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub binlog_gtid: Option<String>,
}

/// The copy of existing rows.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct TaskFullMigrateConf {
    /// Sessions that read the snapshot.
    #[schema(default = 4, minimum = 0, maximum = 256)]
    #[serde(default = "TaskFullMigrateConf::default_export_threads")]
    pub export_threads: u32,
    /// Sessions that write the copy.
    #[schema(default = 16, minimum = 0, maximum = 256)]
    #[serde(default = "TaskFullMigrateConf::default_import_threads")]
    pub import_threads: u32,
    /// Directory for dump files; the copy is a stream and needs none.
    #[schema(nullable = false, example = "./exported_data")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data_dir: Option<String>,
    /// How the snapshot is made: `auto`, `flush`, `snapshot`, `lock` or `none`. It is consistent at one position
    /// whatever stands here.
    #[schema(nullable = false, example = "auto")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub consistency: Option<String>,
    /// `logical`. Physical import is not built yet: refused.
    #[schema(inline, nullable = false, default = "logical")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub import_mode: Option<ImportMode>,
    /// Of physical import: refused.
    #[schema(nullable = false)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sorting_dir: Option<String>,
    /// Of physical import: refused.
    #[schema(nullable = false, example = "80G")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk_quota: Option<String>,
    /// Of physical import: `required` is refused.
    #[schema(inline, nullable = false)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checksum: Option<ImportStep>,
    /// Of physical import: `required` is refused.
    #[schema(inline, nullable = false)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub analyze: Option<ImportStep>,
    /// Of physical import: anything but 0 is refused.
    #[schema(nullable = false, default = 0)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range_concurrency: Option<i64>,
    /// Of physical import: refused.
    #[schema(nullable = false)]
    #[serde(default, rename = "compress-kv-pairs", skip_serializing_if = "Option::is_none")]
    pub compress_kv_pairs: Option<String>,
    /// Of physical import: refused.
    #[schema(nullable = false)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pd_addr: Option<String>,
    /// Of physical import: refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub security: Option<Security>,
    /// As `on_duplicate` of the task, which it must not contradict.
    #[schema(inline, nullable = false)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_duplicate_logical: Option<OnDuplicate>,
    /// Of physical import: `manual` is refused.
    #[schema(inline, nullable = false)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_duplicate_physical: Option<OnDuplicatePhysical>,
}

impl TaskFullMigrateConf {
    fn default_export_threads() -> u32 {
        4
    }

    fn default_import_threads() -> u32 {
        16
    }
}

impl Default for TaskFullMigrateConf {
    fn default() -> Self {
        Self {
            export_threads: Self::default_export_threads(),
            import_threads: Self::default_import_threads(),
            data_dir: None,
            consistency: None,
            import_mode: None,
            sorting_dir: None,
            disk_quota: None,
            checksum: None,
            analyze: None,
            range_concurrency: None,
            compress_kv_pairs: None,
            pd_addr: None,
            security: None,
            on_duplicate_logical: None,
            on_duplicate_physical: None,
        }
    }
}

/// How the copy is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ImportMode {
    Logical,
    Physical,
    ImportInto,
}

/// Whether a step after physical import is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum ImportStep {
    Required,
    Optional,
    Off,
}

/// What physical import does with duplicate rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum OnDuplicatePhysical {
    None,
    Manual,
}

/// Replication.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TaskIncrMigrateConf {
    /// Sessions that apply the binlog.
    #[schema(default = 16, minimum = 0, maximum = 256)]
    #[serde(default = "TaskIncrMigrateConf::default_repl_threads")]
    pub repl_threads: u32,
    /// Source transactions put into one target transaction at most.
    #[schema(default = 100, minimum = 0, maximum = 100000)]
    #[serde(default = "TaskIncrMigrateConf::default_repl_batch")]
    pub repl_batch: u32,
    /// Accepted and needless: applying is exact without it.
    #[schema(default = false)]
    #[serde(default)]
    pub safe_mode: bool,
}

impl TaskIncrMigrateConf {
    fn default_repl_threads() -> u32 {
        16
    }

    fn default_repl_batch() -> u32 {
        100
    }
}

impl Default for TaskIncrMigrateConf {
    fn default() -> Self {
        Self { repl_threads: Self::default_repl_threads(), repl_batch: Self::default_repl_batch(), safe_mode: false }
    }
}
