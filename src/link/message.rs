//! What travels. Everything can be serialised; [`WantedSet`] carries passwords, so a transport must be trusted.

use serde::{Deserialize, Serialize};

use crate::model::report::SubtaskReport;
use crate::model::subtask::WantedSubtask;
use crate::model::{Epoch, WorkerName};
use crate::registry::OpenRun;

/// What the master thinks of the sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    Ok,
    /// Unknown, declared lost, or an older incarnation: stop everything at once.
    Terminate,
    /// The epoch it names was never given: register.
    Register,
    /// This master is new: report in full.
    Resync,
    /// This process does not lead: ask another.
    NotLeader,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RegisterRequest {
    pub worker: WorkerName,
    /// Where it can be reached; shown to users, never called.
    pub address: String,
    /// Sources it holds at most.
    pub capacity: u32,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RegisterAnswer {
    pub verdict: Verdict,
    pub master_epoch: Epoch,
    pub worker_epoch: Epoch,
}

/// Which wanted set: versions are counted anew by each leader.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetVersion {
    pub master_epoch: Epoch,
    pub version: u64,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct WantedRequest {
    pub worker: WorkerName,
    pub worker_epoch: Epoch,
    /// The highest master epoch it knows.
    pub master_epoch: Epoch,
    /// The set it has.
    pub has: SetVersion,
    /// How long the answer may be held back when nothing is new; at most a second.
    pub hold_ms: u32,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct WantedAnswer {
    pub verdict: Verdict,
    pub master_epoch: Epoch,
    /// Counted by the worker from the *sending* of its request.
    pub lease_ms: u32,
    /// None: as before.
    pub wanted: Option<WantedSet>,
}

/// All that is wanted of one worker. A subtask that is missing is to be closed and forgotten.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct WantedSet {
    pub version: SetVersion,
    pub subtasks: Vec<WantedSubtask>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ReportRequest {
    pub worker: WorkerName,
    pub worker_epoch: Epoch,
    pub master_epoch: Epoch,
    /// Grows with every report of this incarnation.
    pub number: u64,
    /// The set it had acted on when this was put together.
    pub applied: SetVersion,
    /// Every run that is not closed.
    pub open_runs: Vec<OpenRun>,
    /// What is new; with `full`, all.
    pub subtasks: Vec<SubtaskReport>,
    pub full: bool,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ReportAnswer {
    pub verdict: Verdict,
    pub master_epoch: Epoch,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct GoodbyeRequest {
    pub worker: WorkerName,
    pub worker_epoch: Epoch,
}
