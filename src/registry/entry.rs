//! One worker's incarnation, as the master holds it.

use serde::{Deserialize, Serialize};

use super::WorkerReport;
use super::liveness::{Event, WorkerState};
use crate::model::record::WorkerRecord;
use crate::model::{Generation, SubtaskId};

/// A run that is not closed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenRun {
    pub id: SubtaskId,
    pub generation: Generation,
}

/// A worker as others may see it.
#[derive(Debug, Clone)]
pub struct WorkerStatus {
    pub record: WorkerRecord,
    pub state: WorkerState,
    /// When its last message came.
    pub heard_us: Option<i64>,
    /// It said goodbye; else an Offline or Tombstone worker was lost.
    pub departed: bool,
    pub applied_version: u64,
    pub open_runs: Vec<OpenRun>,
}

pub(super) struct Entry {
    pub record: WorkerRecord,
    pub state: WorkerState,
    pub expires_us: i64,
    pub heard_us: Option<i64>,
    /// Its first full report to this leader came.
    pub reported: bool,
    said_goodbye: bool,
    number: u64,
    applied_version: u64,
    open_runs: Vec<OpenRun>,
}

impl Entry {
    fn new(record: WorkerRecord, state: WorkerState, expires_us: i64) -> Self {
        Self {
            record,
            state,
            expires_us,
            heard_us: None,
            reported: false,
            said_goodbye: false,
            number: 0,
            applied_version: 0,
            open_runs: Vec::new(),
        }
    }

    pub fn created(record: WorkerRecord, expires_us: i64) -> Self {
        Self::new(record, WorkerState::Created, expires_us)
    }

    /// Never judged by an expiry before its first message sets one.
    pub fn waiting(record: WorkerRecord) -> Self {
        Self::new(record, WorkerState::Waiting, i64::MAX)
    }

    /// The one setter of the state.
    pub fn happen(&mut self, event: Event) {
        let next = self.state.after(event);
        if event == Event::Goodbye && self.state.is_in_office() {
            self.said_goodbye = true;
        }
        if next != self.state {
            let (worker, epoch) = (&self.record.name, self.record.epoch);
            tracing::info!(worker.name = %worker, worker.epoch = epoch.0, "worker {worker}: {:?} → {next:?}", self.state);
            self.state = next;
        }
    }

    /// False: a report with a lower number came late and is dropped.
    pub fn take_in(&mut self, report: &WorkerReport) -> bool {
        if report.number <= self.number {
            return false;
        }
        self.number = report.number;
        self.applied_version = report.applied_version;
        self.open_runs.clone_from(&report.open_runs);
        self.reported |= report.full;
        true
    }

    pub fn is_off(&self, id: &SubtaskId, version: u64) -> bool {
        if self.said_goodbye {
            return true;
        }
        self.state.is_in_office() && self.applied_version >= version && self.open_runs.iter().all(|run| &run.id != id)
    }

    pub fn status(&self) -> WorkerStatus {
        WorkerStatus {
            record: self.record.clone(),
            state: self.state,
            heard_us: self.heard_us,
            departed: self.said_goodbye,
            applied_version: self.applied_version,
            open_runs: self.open_runs.clone(),
        }
    }
}
