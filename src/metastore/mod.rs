//! What must outlive the process: sources, tasks, what is wanted of them, who holds them, who leads.
//!
//! In: lists of [`Change`]s, each list one transaction; questions. Out: records of [`crate::model::record`]. Never
//! here: decisions, seen states, anything a database or a worker can be asked again, a secret in clear.
//! The surprise: there is no function per write. [`Store::commit`] takes a list as data, so that it can be run again
//! after a serialization failure, and be applied to the world in memory once it is stored.

mod assignments;
mod cleanups;
mod cluster;
mod column;
mod commit;
mod error;
mod kept_ledgers;
mod lease;
mod place;
mod reading;
mod sources;
mod stored;
mod subtasks;
mod tasks;
#[cfg(test)]
pub mod testing;
#[cfg(test)]
mod tests;
mod workers;

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use secrecy::{ExposeSecret, SecretString};
use sqlx::any::AnyQueryResult;
use sqlx::pool::PoolConnection;
use sqlx::{Any, AnyPool};
use tokio::sync::mpsc;

pub use error::{Object, StoreError};
pub use lease::Lease;
pub use place::Place;
pub use reading::Everything;

use crate::model::Epoch;
use crate::model::change::Change;
use crate::secrets::Sealer;
use place::Engine;

/// No call on the metastore takes longer.
const DEADLINE: Duration = Duration::from_secs(10);
/// A text of ours, sealed when the store was made: it opens only with the key that all other secrets were sealed with.
const PROOF: &str = "sealing_proof";
const CLUSTER_ID: &str = "cluster_id";

/// A handle on the metastore; cheap to clone.
#[derive(Clone)]
pub struct Store {
    inner: Arc<Inner>,
}

struct Inner {
    readers: AnyPool,
    /// For SQLite a pool of one: there is one writer at a time.
    writers: AnyPool,
    engine: Engine,
    sealer: Arc<Sealer>,
    /// Held over a transaction and the telling of it, so that listeners hear of commits in their order. Counts them.
    turn: tokio::sync::Mutex<u64>,
    listeners: Mutex<Vec<mpsc::UnboundedSender<Committed>>>,
}

/// What listeners are told, in the order of commits.
#[derive(Debug, Clone)]
pub struct Committed {
    /// Grows with every commit of this handle; compare with [`Everything::sequence`].
    pub sequence: u64,
    pub outcome: Outcome,
}

#[derive(Debug, Clone)]
pub enum Outcome {
    Stored(Arc<[Change]>),
    /// A commit was not answered. What is stored must be read again.
    Unknown,
}

impl Store {
    /// Opens the metastore, makes it when there is none, and brings it to this release's schema.
    pub async fn open(place: &Place, sealer: Arc<Sealer>) -> Result<Self, StoreError> {
        let (engine, readers, writers) = place.connect().await?;
        let turn = tokio::sync::Mutex::new(0);
        let store =
            Self { inner: Arc::new(Inner { readers, writers, engine, sealer, turn, listeners: Mutex::default() }) };
        store.check_key().await?;
        store.make_cluster_id().await?;
        Ok(store)
    }

    /// Waits for what runs and closes all connections.
    pub async fn close(&self) {
        self.inner.writers.close().await;
        self.inner.readers.close().await;
    }

    /// Tells of every commit from now on. The receiver must be drained: nothing is dropped.
    pub fn subscribe(&self) -> mpsc::UnboundedReceiver<Committed> {
        let (sender, receiver) = mpsc::unbounded_channel();
        self.inner.listeners.lock().push(sender);
        receiver
    }

    fn tell(&self, committed: &Committed) {
        self.inner.listeners.lock().retain(|listener| listener.send(committed.clone()).is_ok());
    }

    async fn reader(&self) -> Result<PoolConnection<Any>, StoreError> {
        self.inner.readers.acquire().await.map_err(|cause| StoreError::Transaction { cause })
    }

    async fn writer(&self) -> Result<PoolConnection<Any>, StoreError> {
        self.inner.writers.acquire().await.map_err(|cause| StoreError::Transaction { cause })
    }

    /// Who leads, as stored.
    pub async fn lease(&self) -> Result<Option<Lease>, StoreError> {
        within("reading the lease", async { lease::find(&mut *self.reader().await?).await }).await
    }

    /// Takes the lease in place of the one seen; None: another one was quicker. When it may be taken is the caller's
    /// judgement.
    pub async fn claim_lease(
        &self,
        seen: Option<&Lease>,
        holder: &str,
        now_us: i64,
    ) -> Result<Option<Epoch>, StoreError> {
        let doing = "claiming the lease";
        within(doing, async { lease::claim(&mut *self.writer().await?, seen, holder, now_us).await }).await
    }

    /// Says that this leader is alive. `NotLeader`: it is no longer the leader.
    pub async fn renew_lease(&self, epoch: Epoch, now_us: i64) -> Result<(), StoreError> {
        within("renewing the lease", async { lease::renew(&mut *self.writer().await?, epoch, now_us).await }).await
    }

    /// Gives the lease back, so that the next leader need not wait.
    pub async fn release_lease(&self, epoch: Epoch, now_us: i64) -> Result<(), StoreError> {
        within("releasing the lease", async { lease::release(&mut *self.writer().await?, epoch, now_us).await }).await
    }

    async fn check_key(&self) -> Result<(), StoreError> {
        let row = "cluster/sealing_proof";
        let sealer = &self.inner.sealer;
        if let Some(proof) = self.cluster_fact(PROOF).await? {
            return match sealer.open(row, &proof) {
                Ok(text) if text.expose_secret() == PROOF => Ok(()),
                _ => Err(StoreError::OtherKey),
            };
        }
        let proof =
            sealer.seal(row, &SecretString::from(PROOF)).map_err(StoreError::secret(Object::ClusterFact, PROOF))?;
        let made = within("storing the proof of the key", async {
            cluster::insert(&mut *self.writer().await?, PROOF, &proof).await
        });
        match made.await {
            // Two masters began together: the first one's key counts.
            Err(StoreError::Exists { .. }) => Box::pin(self.check_key()).await,
            other => other,
        }
    }

    /// 64 bits that never change: the second of the first start, then random bits, as DM makes it.
    async fn make_cluster_id(&self) -> Result<(), StoreError> {
        if self.cluster_fact(CLUSTER_ID).await?.is_some() {
            return Ok(());
        }
        let seconds = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default().as_secs();
        let random = uuid::Uuid::new_v4().as_u64_pair().1 & u64::from(u32::MAX);
        let id = (seconds << 32) | random;
        let made = within("storing the cluster's id", async {
            cluster::insert(&mut *self.writer().await?, CLUSTER_ID, &id.to_string()).await
        });
        match made.await {
            Err(StoreError::Exists { .. }) => Ok(()),
            other => other,
        }
    }
}

async fn within<T>(doing: &'static str, work: impl Future<Output = Result<T, StoreError>>) -> Result<T, StoreError> {
    match tokio::time::timeout(DEADLINE, work).await {
        Ok(result) => result,
        Err(_) => Err(StoreError::TimedOut { doing, within: DEADLINE }),
    }
}

/// A change that names a revision (or a generation) must meet exactly that row.
fn changed_one(result: &AnyQueryResult, object: Object, name: impl std::fmt::Display) -> Result<(), StoreError> {
    if result.rows_affected() == 1 { Ok(()) } else { Err(StoreError::Conflict { object, name: name.to_string() }) }
}
