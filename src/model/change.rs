//! One alteration of what the metastore remembers. A commit is a list of them: all happen, or none.
//!
//! The same list, once committed, is applied to the world in memory, so each variant says the whole of what it does.

use uuid::Uuid;

use super::record::{
    Assignment, CleanupRecord, Conclusion, KeptLedger, Revision, SourceRecord, SubtaskRecord, SubtaskSettings,
    TaskRecord, WorkerRecord,
};
use super::subtask::Wanted;
use super::{Epoch, Generation, LedgerId, SourceName, SubtaskId, TaskName, WorkerName};

/// A record with a revision is changed *from* that revision; what is stored has the next one. An insert's own
/// revision is not looked at: stored rows begin with 1.
#[derive(Debug, Clone)]
pub enum Change {
    /// Fails if the name is taken.
    InsertSource(Box<SourceRecord>),
    UpdateSource(Box<SourceRecord>),
    /// Fails while subtasks of it are left. Takes the assignment with it.
    RemoveSource {
        name: SourceName,
        revision: Revision,
    },
    /// Fails if the name is taken.
    InsertTask(Box<TaskRecord>),
    UpdateTask(Box<TaskRecord>),
    /// Takes its subtasks with it.
    RemoveTask {
        name: TaskName,
        revision: Revision,
    },
    /// Fails if the pair is taken, or its source is unknown.
    InsertSubtask(Box<SubtaskRecord>),
    RemoveSubtask {
        id: SubtaskId,
        revision: Revision,
    },
    /// Changes what is wanted of a subtask. A new generation forgets how older runs ended.
    Want(Box<Want>),
    /// Gives the next run its number. Fails unless the present one is `from`.
    Advance {
        id: SubtaskId,
        from: Generation,
        to: Generation,
        attempts: u32,
    },
    /// It ran long enough: the count of retries begins anew. The revision stays.
    ForgetAttempts {
        id: SubtaskId,
        generation: Generation,
    },
    /// Remembers how a run ended. Fails if it is no longer the present one. The revision stays: what users may want is
    /// the same as before.
    Conclude {
        id: SubtaskId,
        conclusion: Box<Conclusion>,
    },
    /// Gives a source to a worker, in place of whoever had it.
    Assign(Assignment),
    Unassign {
        source: SourceName,
    },
    /// A new incarnation of a worker, or a new worker. Fails if `record.epoch` is not above the stored one.
    Register(WorkerRecord),
    /// Nothing is expected of this incarnation any more.
    Depart {
        name: WorkerName,
        epoch: Epoch,
    },
    RemoveWorker {
        name: WorkerName,
    },
    InsertCleanup(Box<CleanupRecord>),
    /// Gives it another account.
    UpdateCleanup(Box<CleanupRecord>),
    /// Says how a try failed.
    CleanupTried {
        id: Uuid,
        attempts: u32,
        tried_us: i64,
        cause: String,
    },
    RemoveCleanup {
        id: Uuid,
    },
    /// In place of an older one of the same pair.
    KeepLedger(KeptLedger),
    TakeKeptLedger {
        id: SubtaskId,
    },
    /// A fact of the cluster, by name.
    SetCluster {
        name: String,
        value: String,
    },
}

/// See [`Change::Want`].
#[derive(Debug, Clone)]
pub struct Want {
    pub id: SubtaskId,
    pub revision: Revision,
    pub wanted: Wanted,
    /// Greater than the present one when a new run is asked for.
    pub generation: Generation,
    pub attempts: u32,
    pub ledger_id: LedgerId,
    pub ledger_kept: bool,
    pub settings: SubtaskSettings,
}

impl Want {
    /// What is stored now, to be altered.
    pub fn of(record: &SubtaskRecord) -> Self {
        Self {
            id: record.id.clone(),
            revision: record.revision,
            wanted: record.wanted,
            generation: record.generation,
            attempts: record.attempts,
            ledger_id: record.ledger_id,
            ledger_kept: record.ledger_kept,
            settings: record.settings.clone(),
        }
    }
}
