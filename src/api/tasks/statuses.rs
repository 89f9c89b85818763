//! Puts together what a subtask's status is made from: stored intent, who holds its source, the last report.

use super::status::{Known, status};
use crate::api::app::App;
use crate::api::error::ApiResult;
use crate::api::holders::Holders;
use crate::api::time::now_us;
use crate::model::record::{SubtaskRecord, TaskRecord};
use crate::model::report::SubtaskReport;
use crate::model::wire::SubTaskStatus;

/// Makes statuses as of one moment.
pub struct Statuses<'a> {
    app: &'a App,
    holders: Holders,
}

impl<'a> Statuses<'a> {
    pub async fn begin(app: &'a App) -> ApiResult<Self> {
        Ok(Self { app, holders: Holders::read(app).await? })
    }

    /// The statuses of a task's subtasks, in their order.
    pub fn of(&self, task: &TaskRecord, subtasks: &[SubtaskRecord]) -> Vec<SubTaskStatus> {
        let seen = self.app.registry.seen_of_task(&task.name);
        let now_us = now_us();
        subtasks
            .iter()
            .map(|subtask| {
                let reported = seen.get(&subtask.id).map(|seen| seen.report.as_ref());
                let reported = reported.filter(|report| report.ledger_id == subtask.ledger_id);
                let concluded = subtask.conclusion.as_ref().map(|conclusion| &conclusion.report);
                let report = latest(reported, concluded);
                status(&Known {
                    id: &subtask.id,
                    mode: task.settings.mode,
                    wanted: subtask.wanted,
                    generation: subtask.generation,
                    holder: self.holders.of(&subtask.id.source),
                    report,
                    failed_before: report.and_then(|report| subtask.failed_before(report.generation)),
                    now_us,
                })
            })
            .collect()
    }
}

/// The report of the later run; of one run, how it ended, since nothing follows that.
fn latest<'a>(reported: Option<&'a SubtaskReport>, concluded: Option<&'a SubtaskReport>) -> Option<&'a SubtaskReport> {
    match (reported, concluded) {
        (Some(reported), Some(concluded)) if reported.generation > concluded.generation => Some(reported),
        (reported, concluded) => concluded.or(reported),
    }
}
