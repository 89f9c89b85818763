//! A subtask's own settings at rest.

use serde::{Deserialize, Serialize};

use crate::model::Generation;
use crate::model::record::SubtaskSettings;
use crate::model::subtask::{EventFilter, MigrateRule, Restart, StartAt};

#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "version")]
pub(in crate::metastore) enum StoredSubtask {
    #[serde(rename = "1")]
    V1(SubtaskV1),
}

#[derive(Debug, Serialize, Deserialize)]
pub(in crate::metastore) struct SubtaskV1 {
    #[serde(default)]
    start: Option<StoredStart>,
    #[serde(default)]
    restart: Option<StoredRestart>,
    rules: Vec<StoredRule>,
    #[serde(default)]
    stop_grace_s: Option<u32>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum StoredStart {
    Position { file: Option<String>, offset: Option<u64>, gtid: Option<String> },
    Time { at_us: i64 },
}

#[derive(Debug, Serialize, Deserialize)]
struct StoredRestart {
    generation: u64,
    at: StoredStart,
}

#[derive(Debug, Serialize, Deserialize)]
struct StoredRule {
    schema: String,
    table: String,
    #[serde(default)]
    target_schema: Option<String>,
    #[serde(default)]
    target_table: Option<String>,
    #[serde(default)]
    filters: Vec<StoredFilter>,
}

#[derive(Debug, Serialize, Deserialize)]
struct StoredFilter {
    #[serde(default)]
    ignore_event: Vec<String>,
    #[serde(default)]
    ignore_sql: Vec<String>,
}

impl From<&SubtaskSettings> for StoredSubtask {
    fn from(settings: &SubtaskSettings) -> Self {
        Self::V1(SubtaskV1 {
            start: settings.start.clone().map(Into::into),
            restart: settings
                .restart
                .clone()
                .map(|restart| StoredRestart { generation: restart.generation.0, at: restart.at.into() }),
            rules: settings.rules.iter().cloned().map(Into::into).collect(),
            stop_grace_s: settings.stop_grace_s,
        })
    }
}

impl From<StoredSubtask> for SubtaskSettings {
    fn from(StoredSubtask::V1(stored): StoredSubtask) -> Self {
        Self {
            start: stored.start.map(Into::into),
            restart: stored
                .restart
                .map(|restart| Restart { generation: Generation(restart.generation), at: restart.at.into() }),
            rules: stored.rules.into_iter().map(Into::into).collect(),
            stop_grace_s: stored.stop_grace_s,
        }
    }
}

impl From<StartAt> for StoredStart {
    fn from(start: StartAt) -> Self {
        match start {
            StartAt::Position { file, offset, gtid } => Self::Position { file, offset, gtid },
            StartAt::Time { at_us } => Self::Time { at_us },
        }
    }
}

impl From<StoredStart> for StartAt {
    fn from(start: StoredStart) -> Self {
        match start {
            StoredStart::Position { file, offset, gtid } => Self::Position { file, offset, gtid },
            StoredStart::Time { at_us } => Self::Time { at_us },
        }
    }
}

impl From<MigrateRule> for StoredRule {
    fn from(rule: MigrateRule) -> Self {
        Self {
            schema: rule.schema,
            table: rule.table,
            target_schema: rule.target_schema,
            target_table: rule.target_table,
            filters: rule
                .filters
                .into_iter()
                .map(|filter| StoredFilter { ignore_event: filter.ignore_event, ignore_sql: filter.ignore_sql })
                .collect(),
        }
    }
}

impl From<StoredRule> for MigrateRule {
    fn from(rule: StoredRule) -> Self {
        Self {
            schema: rule.schema,
            table: rule.table,
            target_schema: rule.target_schema,
            target_table: rule.target_table,
            filters: rule
                .filters
                .into_iter()
                .map(|filter| EventFilter { ignore_event: filter.ignore_event, ignore_sql: filter.ignore_sql })
                .collect(),
        }
    }
}
