//! A task at rest.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::endpoint::StoredEndpoint;
use crate::model::Endpoint;
use crate::model::record::{TaskRecord, TaskSettings};
use crate::model::subtask::{OnDuplicate, TaskMode};
use crate::secrets::{SealError, Sealer};

#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "version")]
pub(in crate::metastore) enum StoredTask {
    #[serde(rename = "1")]
    V1(TaskV1),
}

#[derive(Debug, Serialize, Deserialize)]
pub(in crate::metastore) struct TaskV1 {
    document: Value,
    target: StoredEndpoint,
    mode: StoredMode,
    meta_schema: String,
    #[serde(default)]
    on_duplicate: StoredOnDuplicate,
    #[serde(default)]
    collation_map: BTreeMap<String, String>,
    export_threads: u32,
    import_threads: u32,
    replicate_lanes: u32,
    replicate_batch: u32,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum StoredMode {
    Full,
    Incremental,
    All,
    Dump,
    Load,
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum StoredOnDuplicate {
    #[default]
    Error,
    Replace,
    Ignore,
}

/// What of a task is in the document, and not in a column.
pub(in crate::metastore) struct TaskContent {
    pub document: Value,
    pub target: Endpoint,
    pub settings: TaskSettings,
}

impl StoredTask {
    pub(in crate::metastore) fn seal(record: &TaskRecord, sealer: &Sealer) -> Result<Self, SealError> {
        let settings = &record.settings;
        Ok(Self::V1(TaskV1 {
            document: record.document.clone(),
            target: StoredEndpoint::seal(&row(record.name.as_str()), &record.target, sealer)?,
            mode: match settings.mode {
                TaskMode::Full => StoredMode::Full,
                TaskMode::Incremental => StoredMode::Incremental,
                TaskMode::All => StoredMode::All,
                TaskMode::Dump => StoredMode::Dump,
                TaskMode::Load => StoredMode::Load,
            },
            meta_schema: settings.meta_schema.clone(),
            on_duplicate: match settings.on_duplicate {
                OnDuplicate::Error => StoredOnDuplicate::Error,
                OnDuplicate::Replace => StoredOnDuplicate::Replace,
                OnDuplicate::Ignore => StoredOnDuplicate::Ignore,
            },
            collation_map: settings.collation_map.clone(),
            export_threads: settings.export_threads,
            import_threads: settings.import_threads,
            replicate_lanes: settings.replicate_lanes,
            replicate_batch: settings.replicate_batch,
        }))
    }

    pub(in crate::metastore) fn open(self, name: &str, sealer: &Sealer) -> Result<TaskContent, SealError> {
        let Self::V1(stored) = self;
        Ok(TaskContent {
            document: stored.document,
            target: stored.target.open(&row(name), sealer)?,
            settings: TaskSettings {
                mode: match stored.mode {
                    StoredMode::Full => TaskMode::Full,
                    StoredMode::Incremental => TaskMode::Incremental,
                    StoredMode::All => TaskMode::All,
                    StoredMode::Dump => TaskMode::Dump,
                    StoredMode::Load => TaskMode::Load,
                },
                on_duplicate: match stored.on_duplicate {
                    StoredOnDuplicate::Error => OnDuplicate::Error,
                    StoredOnDuplicate::Replace => OnDuplicate::Replace,
                    StoredOnDuplicate::Ignore => OnDuplicate::Ignore,
                },
                meta_schema: stored.meta_schema,
                collation_map: stored.collation_map,
                export_threads: stored.export_threads,
                import_threads: stored.import_threads,
                replicate_lanes: stored.replicate_lanes,
                replicate_batch: stored.replicate_batch,
            },
        })
    }
}

fn row(name: &str) -> String {
    format!("tasks/{name}/target")
}
