//! Carries out a list of changes as one transaction, under the fence of the leader's epoch.
//!
//! The surprise: once COMMIT was sent, an error or a deadline does not say that nothing happened. Then the outcome is
//! called unknown, and listeners are told to read again.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use backon::{ExponentialBuilder, Retryable as _};
use sqlx::{AnyConnection, Connection as _};

use super::error::{Object, StoreError, lost_a_race};
use super::place::Engine;
use super::{
    Committed, DEADLINE, Outcome, Store, assignments, cleanups, cluster, kept_ledgers, lease, sources, subtasks, tasks,
    workers,
};
use crate::faults::FaultPoint;
use crate::model::change::Change;
use crate::model::{Epoch, SourceName, SubtaskId};
use crate::secrets::Sealer;

impl Store {
    /// Stores all changes or none. It goes on to its end even when the caller stops waiting.
    pub async fn commit(&self, epoch: Epoch, changes: Vec<Change>) -> Result<(), StoreError> {
        let store = self.clone();
        // A task of its own: a caller that goes away (a client that hangs up) must not part the commit from the
        // telling of it. It ends by its deadline.
        match tokio::spawn(async move { store.commit_and_tell(epoch, changes).await }).await {
            Ok(result) => result,
            // It panicked, or the runtime is shutting down.
            Err(_) => Err(StoreError::OutcomeUnknown { cause: None }),
        }
    }

    async fn commit_and_tell(&self, epoch: Epoch, changes: Vec<Change>) -> Result<(), StoreError> {
        let mut turn = self.inner.turn.lock().await;
        let sent = AtomicBool::new(false);
        FaultPoint::BeforeIntentStored.reach();
        let attempt = || self.try_commit(epoch, &changes, &sent);
        let retried = attempt.retry(backoff()).when(StoreError::is_serialization_failure);
        let result = match tokio::time::timeout(DEADLINE, retried).await {
            Ok(result) => result,
            Err(_) if sent.load(Ordering::Relaxed) => Err(StoreError::OutcomeUnknown { cause: None }),
            Err(_) => Err(StoreError::TimedOut { doing: "storing a change", within: DEADLINE }),
        };
        let outcome = match &result {
            Ok(()) => Outcome::Stored(changes.into()),
            Err(StoreError::OutcomeUnknown { .. }) => Outcome::Unknown,
            Err(_) => return result,
        };
        FaultPoint::AfterIntentStored.reach();
        *turn += 1;
        self.tell(&Committed { sequence: *turn, outcome });
        result
    }

    async fn try_commit(&self, epoch: Epoch, changes: &[Change], sent: &AtomicBool) -> Result<(), StoreError> {
        sent.store(false, Ordering::Relaxed);
        let mut connection = self.writer().await?;
        let mut transaction = connection
            .begin_with(self.inner.engine.begin_writing())
            .await
            .map_err(|cause| StoreError::Transaction { cause })?;
        lease::fence(&mut transaction, epoch).await?;
        for change in changes {
            // Boxed: the futures of all kinds of change in one would be large.
            Box::pin(apply(&mut transaction, &self.inner.sealer, change)).await?;
        }
        sent.store(true, Ordering::Relaxed);
        transaction.commit().await.map_err(|cause| {
            // SQLite says what happened; a server only when it undid the transaction for others' sake.
            let surely_undone =
                lost_a_race(&cause) || (self.inner.engine == Engine::Sqlite && cause.as_database_error().is_some());
            if surely_undone {
                sent.store(false, Ordering::Relaxed);
                StoreError::Transaction { cause }
            } else {
                StoreError::OutcomeUnknown { cause: Some(cause) }
            }
        })
    }
}

fn backoff() -> ExponentialBuilder {
    ExponentialBuilder::default()
        .with_min_delay(Duration::from_millis(5))
        .with_max_delay(Duration::from_millis(500))
        .with_jitter()
        .with_max_times(12)
}

async fn apply(db: &mut AnyConnection, sealer: &Sealer, change: &Change) -> Result<(), StoreError> {
    match change {
        Change::InsertSource(record) => sources::insert(db, sealer, record).await,
        Change::UpdateSource(record) => sources::update(db, sealer, record).await,
        Change::RemoveSource { name, revision } => {
            let left = subtasks::of_source(db, name).await?;
            if !left.is_empty() {
                let tasks = left.iter().map(|subtask| subtask.id.task.to_string()).collect();
                return Err(StoreError::SourceInUse { source_name: name.to_string(), tasks });
            }
            assignments::remove(db, name).await?;
            sources::remove(db, name, *revision).await
        }
        Change::InsertTask(record) => tasks::insert(db, sealer, record).await,
        Change::UpdateTask(record) => tasks::update(db, sealer, record).await,
        Change::RemoveTask { name, revision } => {
            subtasks::remove_of_task(db, name).await?;
            tasks::remove(db, name, *revision).await
        }
        Change::InsertSubtask(record) => {
            require_source(db, &record.id.source).await?;
            require_task(db, &record.id).await?;
            subtasks::insert(db, record).await
        }
        Change::RemoveSubtask { id, revision } => subtasks::remove(db, id, *revision).await,
        Change::Want(want) => subtasks::want(db, want).await,
        Change::Advance { id, from, to, attempts } => subtasks::advance(db, id, *from, *to, *attempts).await,
        Change::ForgetAttempts { id, generation } => subtasks::forget_attempts(db, id, *generation).await,
        Change::Conclude { id, conclusion } => subtasks::conclude(db, id, conclusion).await,
        Change::Assign(assignment) => {
            require_source(db, &assignment.source).await?;
            assignments::set(db, assignment).await
        }
        Change::Unassign { source } => assignments::remove(db, source).await,
        Change::Register(record) => workers::register(db, record).await,
        Change::Depart { name, epoch } => workers::depart(db, name, *epoch).await,
        Change::RemoveWorker { name } => workers::remove(db, name).await,
        Change::InsertCleanup(record) => cleanups::insert(db, sealer, record).await,
        Change::UpdateCleanup(record) => cleanups::update(db, sealer, record).await,
        Change::CleanupTried { id, attempts, tried_us, cause } => {
            cleanups::tried(db, *id, *attempts, *tried_us, cause).await
        }
        Change::RemoveCleanup { id } => cleanups::remove(db, *id).await,
        Change::KeepLedger(ledger) => kept_ledgers::keep(db, ledger).await,
        Change::TakeKeptLedger { id } => kept_ledgers::take(db, id).await,
        Change::SetCluster { name, value } => cluster::set(db, name, value).await,
    }
}

async fn require_source(db: &mut AnyConnection, name: &SourceName) -> Result<(), StoreError> {
    let found: Option<i64> = sqlx::query_scalar("SELECT revision FROM sources WHERE name = ?")
        .bind(name.as_str())
        .fetch_optional(db)
        .await
        .map_err(StoreError::read(Object::Source, name))?;
    found.map(|_| ()).ok_or_else(|| StoreError::Missing { object: Object::Source, name: name.to_string() })
}

async fn require_task(db: &mut AnyConnection, id: &SubtaskId) -> Result<(), StoreError> {
    let found: Option<i64> = sqlx::query_scalar("SELECT revision FROM tasks WHERE name = ?")
        .bind(id.task.as_str())
        .fetch_optional(db)
        .await
        .map_err(StoreError::read(Object::Task, &id.task))?;
    found.map(|_| ()).ok_or_else(|| StoreError::Missing { object: Object::Task, name: id.task.to_string() })
}
