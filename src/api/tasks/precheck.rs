//! The sources of a task, found and checked together with its target.

use super::checked::{CheckedSubtask, CheckedTask};
use crate::api::app::{App, PRECHECK_DEADLINE};
use crate::api::error::ApiResult;
use crate::api::faults;
use crate::error::Fault;
use crate::model::record::SourceRecord;
use crate::model::subtask::StartAt;
use crate::model::{Endpoint, SourceName};
use crate::probe::Deadline;
use crate::probe::Rules;
use crate::probe::precheck::{Precheck, PrecheckSource};

/// The sources of a task, in its order.
pub struct Sources(Vec<SourceRecord>);

impl Sources {
    /// Fails with the first that is unknown.
    pub async fn find(app: &App, subtasks: &[CheckedSubtask]) -> ApiResult<Self> {
        let mut found = Vec::with_capacity(subtasks.len());
        for subtask in subtasks {
            let record = app.store.source(&subtask.source).await?;
            found.push(record.ok_or_else(|| faults::source_unknown(&subtask.source))?);
        }
        Ok(Self(found))
    }

    pub fn names(&self) -> Vec<SourceName> {
        self.0.iter().map(|source| source.name.clone()).collect()
    }
}

/// Checks the rules against each source, then asks the servers. Gives the text of `check_result`.
pub async fn precheck(checked: &CheckedTask, sources: &Sources, target: &Endpoint) -> Result<String, Fault> {
    let mut asked = Vec::with_capacity(sources.0.len());
    for (subtask, source) in checked.subtasks.iter().zip(&sources.0) {
        check_start(subtask, source)?;
        let ignore_case = source.server.names_ignore_case;
        Rules::compile(source.name.as_str(), &subtask.rules, ignore_case, &checked.settings.meta_schema)
            .map_err(|error| error.fault())?;
        asked.push(PrecheckSource {
            name: source.name.to_string(),
            endpoint: source.endpoint.clone(),
            names_ignore_case: ignore_case,
            rules: subtask.rules.clone(),
        });
    }
    let precheck = Precheck {
        mode: checked.settings.mode,
        sources: asked,
        target: target.clone(),
        meta_schema: checked.settings.meta_schema.clone(),
        collation_map: checked.settings.collation_map.clone(),
        ignored: checked.ignored.clone(),
    };
    precheck.run(Deadline::after(PRECHECK_DEADLINE)).await
}

/// A start by GTID alone needs a source that is followed by GTID.
fn check_start(subtask: &CheckedSubtask, source: &SourceRecord) -> Result<(), Fault> {
    if let Some(StartAt::Position { file: None, gtid: Some(_), .. }) = &subtask.start
        && !source.enable_gtid
    {
        return Err(faults::common(
            format!("source {} is not followed by GTID, and only a GTID set is given as start", source.name),
            "give `binlog_name` and `binlog_pos`, or set `enable_gtid` of the source",
        ));
    }
    Ok(())
}
