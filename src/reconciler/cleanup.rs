//! Removes what deleted tasks left in their targets: at once where a call asks for it, else again and again with
//! backoff, until it works or an operator gives it up.
//!
//! Never here: waiting for a target in the reconciler's loop. Each try is a task of its own with a deadline; of those that
//! no call waits for, one target has one at a time, so a dead one delays nobody else.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use uuid::Uuid;

use super::{ControlError, Reconciler};
use crate::error::{Chain, Fault};
use crate::metastore::{Object, StoreError};
use crate::model::Endpoint;
use crate::model::change::Change;
use crate::model::record::CleanupRecord;
use crate::scheduler::Step;

/// Ends whatever may still write for a record's ledgers, then removes their rows.
pub trait TargetCleaner: Send + Sync {
    /// Done means that nothing of these ledgers is left and nothing can write for them. Safe to repeat. Takes no longer
    /// than `within`, connecting included.
    fn clean<'a>(&'a self, record: &'a CleanupRecord, within: Duration) -> BoxFuture<'a, Result<(), Fault>>;
}

/// What is being tried.
#[derive(Default)]
pub(super) struct Cleaning {
    under_way: Mutex<UnderWay>,
}

#[derive(Default)]
struct UnderWay {
    records: BTreeSet<Uuid>,
    targets: BTreeSet<(String, u16)>,
    /// Those whose first try a call makes itself.
    reserved: BTreeSet<Uuid>,
}

/// Keeps the reconciler's rounds from a record until it is dropped.
#[must_use]
pub(super) struct Reserved<'a> {
    cleaning: &'a Cleaning,
    id: Uuid,
}

impl Drop for Reserved<'_> {
    fn drop(&mut self) {
        self.cleaning.under_way.lock().reserved.remove(&self.id);
    }
}

struct Turn<'a> {
    cleaning: &'a Cleaning,
    id: Uuid,
    target: Option<(String, u16)>,
}

/// Who waits for a try.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AskedBy {
    /// A user, who has a deadline and learns how it went.
    Call,
    /// Nobody: one after the other for each target.
    Rounds,
}

impl Cleaning {
    pub(super) fn reserve(&self, id: Uuid) -> Reserved<'_> {
        self.under_way.lock().reserved.insert(id);
        Reserved { cleaning: self, id }
    }

    fn is_reserved(&self, id: Uuid) -> bool {
        self.under_way.lock().reserved.contains(&id)
    }

    /// None: it is being tried; or, for a try that no call waits for, its target is, or too many are.
    fn take_turn(&self, record: &CleanupRecord, asked_by: AskedBy, at_once: usize) -> Option<Turn<'_>> {
        let mut under_way = self.under_way.lock();
        if under_way.records.contains(&record.id) {
            return None;
        }
        let target = match asked_by {
            AskedBy::Call => None,
            AskedBy::Rounds => {
                let target = server(&record.target);
                if under_way.targets.len() >= at_once || !under_way.targets.insert(target.clone()) {
                    return None;
                }
                Some(target)
            }
        };
        under_way.records.insert(record.id);
        Some(Turn { cleaning: self, id: record.id, target })
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut under_way = self.cleaning.under_way.lock();
        under_way.records.remove(&self.id);
        if let Some(target) = &self.target {
            under_way.targets.remove(target);
        }
    }
}

fn server(endpoint: &Endpoint) -> (String, u16) {
    (endpoint.host.clone(), endpoint.port)
}

/// What came of one try.
pub(super) enum Tried {
    Cleaned,
    /// The cause is stored with the record.
    Failed(Fault),
    /// Another one is trying.
    NotNow,
}

impl Reconciler {
    /// Begins every try that is due, or that a new task waits for.
    pub(super) fn clean_what_is_due(self: &Arc<Self>, steps: &[Step]) {
        let urgent: BTreeSet<Uuid> = steps
            .iter()
            .filter_map(|step| match step {
                Step::Clean { cleanup, .. } => Some(*cleanup),
                _ => None,
            })
            .collect();
        let now_us = self.parts.clock.now_us();
        for record in self.memory.cleanups() {
            let patience =
                if urgent.contains(&record.id) { self.settings.cleanup_first } else { self.patience(&record) };
            let due_us = record.tried_us.map_or(0, |tried_us| after(tried_us, patience));
            if now_us < due_us || self.cleaning.is_reserved(record.id) {
                continue;
            }
            let reconciler = self.clone();
            self.tasks.spawn(async move {
                let within = reconciler.settings.cleanup_deadline;
                if let Tried::Failed(fault) = reconciler.try_clean(&record, AskedBy::Rounds, within).await {
                    tracing::debug!(task.name = %record.task, cleanup.id = %record.id, "still not cleaned: {fault}");
                }
            });
        }
    }

    /// When a cleanup is tried next at the latest. None: it was not tried yet, and is about to be.
    pub fn next_try_us(&self, record: &CleanupRecord) -> Option<i64> {
        record.tried_us.map(|tried_us| after(tried_us, self.patience(record)))
    }

    fn patience(&self, record: &CleanupRecord) -> Duration {
        let doubled = 1_u32.checked_shl(record.attempts.saturating_sub(1)).unwrap_or(u32::MAX);
        self.settings.cleanup_first.saturating_mul(doubled).min(self.settings.cleanup_longest)
    }

    /// One try. How it went is stored.
    pub(super) async fn try_clean(&self, record: &CleanupRecord, asked_by: AskedBy, within: Duration) -> Tried {
        let Some(_turn) = self.cleaning.take_turn(record, asked_by, self.settings.cleanups_at_once) else {
            return Tried::NotNow;
        };
        let result = self.parts.cleaner.clean(record, within).await;
        let (change, tried) = match result {
            Ok(()) => (Change::RemoveCleanup { id: record.id }, Tried::Cleaned),
            Err(fault) => {
                let change = Change::CleanupTried {
                    id: record.id,
                    attempts: record.attempts.saturating_add(1),
                    tried_us: self.parts.clock.now_us(),
                    cause: fault.to_string(),
                };
                (change, Tried::Failed(fault))
            }
        };
        match self.commit(vec![change]).await {
            Ok(()) => {
                if matches!(tried, Tried::Cleaned) {
                    let (task, target) = (&record.task, &record.target);
                    tracing::info!(task.name = %task, cleanup.id = %record.id, "cleaned what {task} left in {target}");
                }
            }
            // An operator gave it up meanwhile.
            Err(ControlError::Store(StoreError::Missing { object: Object::Cleanup, .. })) => {}
            Err(error) => {
                tracing::warn!(cleanup.id = %record.id, error = %Chain(&error), "cannot store how a cleanup went");
            }
        }
        tried
    }

    /// An operator gives a cleanup up: what is left in the target stays there.
    pub async fn discard_cleanup(&self, id: Uuid) -> Result<(), ControlError> {
        self.commit(vec![Change::RemoveCleanup { id }]).await.map_err(|error| unknown(error, id))
    }

    /// An operator gives a cleanup another account; the next try follows at once.
    pub async fn change_cleanup_account(&self, id: Uuid, target: Endpoint) -> Result<(), ControlError> {
        let record = self.parts.store.cleanup(id).await?.ok_or(ControlError::UnknownCleanup { id })?;
        let record = CleanupRecord { target, ..record };
        self.commit(vec![Change::UpdateCleanup(Box::new(record.clone()))]).await.map_err(|error| unknown(error, id))?;
        self.memory.hurry(id);
        self.activate();
        Ok(())
    }
}

fn after(at_us: i64, patience: Duration) -> i64 {
    at_us.saturating_add(i64::try_from(patience.as_micros()).unwrap_or(i64::MAX))
}

fn unknown(error: ControlError, id: Uuid) -> ControlError {
    match error {
        ControlError::Store(StoreError::Missing { object: Object::Cleanup, .. }) => ControlError::UnknownCleanup { id },
        other => other,
    }
}
