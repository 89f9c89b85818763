//! What a worker last said of a subtask, and when it was heard.

use std::sync::Arc;

use crate::model::report::SubtaskReport;
use crate::model::{Epoch, WorkerName};

#[derive(Debug, Clone)]
pub struct Seen {
    pub report: Arc<SubtaskReport>,
    pub worker: WorkerName,
    pub worker_epoch: Epoch,
    /// When the report came, by the master's clock.
    pub received_us: i64,
    /// Since when this generation is in this state, by the master's clock.
    pub since_us: i64,
}

impl Seen {
    pub(super) fn next(
        older: Option<&Self>,
        report: SubtaskReport,
        worker: &WorkerName,
        worker_epoch: Epoch,
        now_us: i64,
    ) -> Self {
        let same = |older: &&Self| {
            older.report.ledger_id == report.ledger_id
                && older.report.generation == report.generation
                && older.report.state == report.state
                && older.worker_epoch == worker_epoch
        };
        let since_us = older.filter(same).map_or(now_us, |older| older.since_us);
        Self { report: Arc::new(report), worker: worker.clone(), worker_epoch, received_us: now_us, since_us }
    }

    /// How old the report is.
    pub fn age_us(&self, now_us: i64) -> i64 {
        now_us.saturating_sub(self.received_us).max(0)
    }
}
