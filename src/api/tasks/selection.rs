//! The subtasks that a call speaks of: those of the named sources, or all.

use crate::api::app::App;
use crate::api::error::ApiResult;
use crate::api::faults;
use crate::error::Fault;
use crate::model::record::{SourceRecord, SubtaskRecord, TaskRecord};
use crate::model::wire::SourceNameList;
use crate::model::{Endpoint, SourceName, TaskName};

/// A task, with the subtasks asked for and their sources.
pub struct Selected {
    pub task: TaskRecord,
    pub subtasks: Vec<SubtaskRecord>,
    sources: Vec<SourceRecord>,
}

/// Fails if the task, or one of the named sources of it, is unknown.
pub async fn select(app: &App, name: &TaskName, sources: Option<&SourceNameList>) -> ApiResult<Selected> {
    let task = app.store.task(name).await?.ok_or_else(|| faults::operation_task_unknown(name))?;
    let mut subtasks = app.store.subtasks_of_task(name).await?;
    let named = sources.map(|list| list.0.as_slice()).unwrap_or_default();
    if !named.is_empty() {
        let is_source = |name: &&String| subtasks.iter().any(|subtask| subtask.id.source.as_str() == name.as_str());
        let unknown: Vec<SourceName> = named.iter().filter(|name| !is_source(name)).map(SourceName::new).collect();
        if !unknown.is_empty() {
            return Err(faults::operation_sources_unknown(name, &unknown).into());
        }
        subtasks.retain(|subtask| named.iter().any(|name| name == subtask.id.source.as_str()));
    }
    let sources = app.store.sources().await?;
    Ok(Selected { task, subtasks, sources })
}

impl Selected {
    fn source(&self, name: &SourceName) -> Option<&SourceRecord> {
        self.sources.iter().find(|source| &source.name == name)
    }

    pub fn is_enabled(&self, name: &SourceName) -> bool {
        self.source(name).is_some_and(|source| source.enabled)
    }

    pub fn endpoint(&self, name: &SourceName) -> Result<&Endpoint, Fault> {
        self.source(name).map(|source| &source.endpoint).ok_or_else(|| faults::source_unknown(name))
    }
}
