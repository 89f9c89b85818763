//! The JSON of the API: requests and answers, field for field as DM's OpenAPI v1 has them, plus what is ours.
//!
//! In: serde and the names users see. Out: these types, and their schemas for the document. Never here: checks that
//! need more than one field (`api`), or the types that the rest of the program computes with (`model::subtask`).
//! The surprise: a [`Secret`] always serialises as `******`, so no answer, log line or stored document made from
//! these types can carry a password. `null` means the same as leaving a field out: the request reader drops nulls.

pub mod cleanup;
pub mod cluster;
pub mod document;
pub mod error;
pub mod lists;
pub mod secret;
pub mod source;
pub mod status;
pub mod task;
pub mod task_config;

pub use cleanup::{Cleanup, GetCleanupListResponse};
pub use cluster::{
    AlertManagerTopology, ClusterMaster, ClusterTopology, ClusterWorker, GetClusterInfoResponse,
    GetClusterMasterListResponse, GetClusterWorkerListResponse, GrafanaTopology, MasterTopology, PrometheusTopology,
    WorkerTopology,
};
pub use document::Document;
pub use error::ErrorWithMessage;
pub use lists::{SchemaNameList, SourceNameList, TableNameList, TaskNameList};
pub use secret::Secret;
pub use source::{
    CreateSourceRequest, GetSourceListResponse, GetSourceStatusResponse, Purge, RelayConfig, RelayStatus, Security,
    Source, SourceStatus, UpdateSourceRequest,
};
pub use status::{
    DumpStatus, GetTaskStatusResponse, LoadStatus, ShardingGroup, SubTaskError, SubTaskNotice, SubTaskStatus,
    SyncStatus, TaskStage,
};
pub use task::{
    CreateTaskRequest, GetTaskListResponse, OperateTaskResponse, ShardMode, StartTaskRequest, StopTaskRequest, Task,
    UpdateTaskRequest,
};
pub use task_config::{
    TaskBinLogFilterRule, TaskFullMigrateConf, TaskIncrMigrateConf, TaskSourceConf, TaskSourceConfig,
    TaskTableMigrateRule, TaskTableMigrateRuleSource, TaskTableMigrateRuleTarget, TaskTargetDataBase,
    TaskTargetSession,
};
