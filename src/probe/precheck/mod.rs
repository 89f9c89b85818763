//! The checks before a task is made: can it work at all, and will anything surprise.
//!
//! In: a task's mode, sources, target and rules. Out: the text of `check_result`, or the error that refuses the task.
//! Servers are asked at the same time, all under one deadline. A server that cannot be reached is an error of its
//! own, whatever items are left out.

mod grants;
mod item;
mod result;
mod source_items;
mod survey;
mod target_items;

use std::collections::BTreeMap;

use futures_util::future::try_join_all;

pub use item::{IgnoredItems, Item};
pub use result::PASSED;
use result::{Checked, conclude};
use survey::{SourceSurvey, TargetSurvey};

use super::ProbeError;
use super::rules::Rules;
use crate::error::Fault;
use crate::model::Endpoint;
use crate::model::subtask::{MigrateRule, TaskMode};
use crate::mysql::Deadline;

/// What is to be migrated.
pub struct Precheck {
    pub mode: TaskMode,
    pub sources: Vec<PrecheckSource>,
    pub target: Endpoint,
    pub meta_schema: String,
    pub collation_map: BTreeMap<String, String>,
    pub ignored: IgnoredItems,
}

/// One source of the task, with the rules that speak of it.
pub struct PrecheckSource {
    pub name: String,
    pub endpoint: Endpoint,
    pub names_ignore_case: bool,
    pub rules: Vec<MigrateRule>,
}

impl Precheck {
    /// The text of `check_result`, or the fault that refuses the task.
    pub async fn run(&self, deadline: Deadline) -> Result<String, Fault> {
        let items = self.ignored.remaining(self.mode);
        let checked = self.check(&items, deadline).await.map_err(|error| error.fault())?;
        conclude(&checked)
    }

    async fn check(&self, items: &[Item], deadline: Deadline) -> Result<Vec<Checked>, ProbeError> {
        let (sources, target) = futures_util::try_join!(
            try_join_all(self.sources.iter().map(|source| self.survey_source(source, deadline))),
            TargetSurvey::read(&self.target, deadline),
        )?;
        let mut checked = Vec::new();
        for item in items {
            for (source, survey) in self.sources.iter().zip(&sources) {
                if let Some(findings) = source_items::check(*item, survey, &target, &self.collation_map) {
                    checked.push(Checked { item: *item, server: source.endpoint.to_string(), findings });
                }
            }
            if let Some(findings) = target_items::check(*item, &sources, &target, &self.meta_schema) {
                checked.push(Checked { item: *item, server: self.target.to_string(), findings });
            }
        }
        Ok(checked)
    }

    async fn survey_source(&self, source: &PrecheckSource, deadline: Deadline) -> Result<SourceSurvey, ProbeError> {
        let rules = Rules::compile(&source.name, &source.rules, source.names_ignore_case, &self.meta_schema)?;
        SourceSurvey::read(&source.endpoint, &rules, &source.rules, deadline).await
    }
}
