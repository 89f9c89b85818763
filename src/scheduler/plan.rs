//! What is to be done, in order, each step with its reason.

use std::fmt;

use uuid::Uuid;

use crate::model::record::Conclusion;
use crate::model::{Epoch, Generation, SourceName, SubtaskId, WorkerName};

#[derive(Debug, Clone, Default)]
pub struct Plan {
    pub steps: Vec<Step>,
    /// Something is to be decided again at this time at the latest.
    pub wake_us: Option<i64>,
}

/// Each is safe to repeat, and refused by the metastore when the world has moved on.
#[derive(Debug, Clone)]
pub enum Step {
    /// Remember how a run ended.
    Conclude { id: SubtaskId, conclusion: Box<Conclusion> },
    /// Give a source to a worker.
    Assign { source: SourceName, worker: WorkerName, worker_epoch: Epoch, reason: String },
    /// Nobody can take it.
    Unassign { source: SourceName, reason: String },
    /// Give the next run of a subtask its number.
    Advance { id: SubtaskId, from: Generation, to: Generation, attempts: u32, reason: String },
    /// Record that an incarnation is gone; everything that follows from it stands before this step.
    RecordLoss { worker: WorkerName, epoch: Epoch },
    /// Begin the count of retries anew.
    ForgetAttempts { id: SubtaskId, generation: Generation },
    /// Clean now: a new task waits for it.
    Clean { cleanup: Uuid, reason: String },
}

impl Plan {
    pub(super) fn push(&mut self, step: Step) {
        self.steps.push(step);
    }

    pub(super) fn wake_at(&mut self, at_us: i64) {
        self.wake_us = Some(self.wake_us.map_or(at_us, |earlier| earlier.min(at_us)));
    }

    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }
}

impl Step {
    /// Whether it only records what happened, and decides nothing new.
    pub fn records_what_was(&self) -> bool {
        matches!(self, Self::Conclude { .. } | Self::RecordLoss { .. })
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Conclude { id, conclusion } => {
                let report = &conclusion.report;
                write!(f, "conclude {id} generation {}: {:?}", report.generation, report.outcome)?;
                match &report.error {
                    Some(error) => write!(f, ", {:?}", error.verdict),
                    None => Ok(()),
                }
            }
            Self::Assign { source, worker, worker_epoch, reason } => {
                write!(f, "assign {source} to {worker} epoch {worker_epoch}: {reason}")
            }
            Self::Unassign { source, reason } => write!(f, "unassign {source}: {reason}"),
            Self::Advance { id, from, to, attempts, reason } => {
                write!(f, "advance {id} from generation {from} to {to}, attempt {attempts}: {reason}")
            }
            Self::RecordLoss { worker, epoch } => write!(f, "record the loss of {worker} epoch {epoch}"),
            Self::ForgetAttempts { id, generation } => write!(f, "forget attempts of {id} generation {generation}"),
            Self::Clean { cleanup, reason } => write!(f, "clean {cleanup}: {reason}"),
        }
    }
}
