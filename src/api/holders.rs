//! Which worker holds which source, and whether it is heard.

use std::collections::BTreeMap;

use super::app::App;
use super::error::ApiResult;
use crate::model::{SourceName, WorkerName};

/// Who has a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holder<'a> {
    Nobody,
    /// A worker that has not been heard of for too long.
    Silent(&'a WorkerName),
    Heard(&'a WorkerName),
}

/// The holders of all sources at one moment.
#[derive(Debug, Clone, Default)]
pub struct Holders(BTreeMap<SourceName, (WorkerName, bool)>);

impl Holders {
    pub async fn read(app: &App) -> ApiResult<Self> {
        let assignments = app.store.assignments().await?;
        let is_heard = |name: &WorkerName| app.registry.worker(name).is_some_and(|w| w.state.is_in_office());
        Ok(Self(
            assignments
                .into_iter()
                .map(|assignment| {
                    let heard = is_heard(&assignment.worker);
                    (assignment.source, (assignment.worker, heard))
                })
                .collect(),
        ))
    }

    pub fn of(&self, source: &SourceName) -> Holder<'_> {
        match self.0.get(source) {
            None => Holder::Nobody,
            Some((worker, true)) => Holder::Heard(worker),
            Some((worker, false)) => Holder::Silent(worker),
        }
    }
}
