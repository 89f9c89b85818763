//! Questions to the metastore. Each is one statement, or one transaction that sees one state; none takes longer than
//! the room's deadline.

use sqlx::Connection as _;
use uuid::Uuid;

use super::{
    CLUSTER_ID, Object, Store, StoreError, assignments, cleanups, cluster, kept_ledgers, sources, subtasks, tasks,
    within, workers,
};
use crate::model::record::{
    Assignment, CleanupRecord, KeptLedger, SourceRecord, SubtaskRecord, TaskRecord, WorkerRecord,
};
use crate::model::{SourceName, TaskName, WorkerName};

/// All that scheduling needs, at one moment.
#[derive(Debug, Clone, Default)]
pub struct Everything {
    pub sources: Vec<SourceRecord>,
    pub tasks: Vec<TaskRecord>,
    pub subtasks: Vec<SubtaskRecord>,
    pub assignments: Vec<Assignment>,
    pub workers: Vec<WorkerRecord>,
    pub cleanups: Vec<CleanupRecord>,
    /// The commits up to this one are in it; later ones are not.
    pub sequence: u64,
}

impl Store {
    /// The whole, read on taking office and after a commit of unknown outcome. Commits of this handle wait meanwhile.
    pub async fn everything(&self) -> Result<Everything, StoreError> {
        let turn = self.inner.turn.lock().await;
        within("reading the whole metastore", async {
            let mut connection = self.reader().await?;
            let mut snapshot = connection.begin().await.map_err(|cause| StoreError::Transaction { cause })?;
            let sealer = &self.inner.sealer;
            Ok(Everything {
                sources: sources::list(&mut snapshot, sealer).await?,
                tasks: tasks::list(&mut snapshot, sealer).await?,
                subtasks: subtasks::list(&mut snapshot).await?,
                assignments: assignments::list(&mut snapshot).await?,
                workers: workers::list(&mut snapshot).await?,
                cleanups: cleanups::list(&mut snapshot, sealer).await?,
                sequence: *turn,
            })
        })
        .await
    }

    /// Sorted by name.
    pub async fn sources(&self) -> Result<Vec<SourceRecord>, StoreError> {
        let sealer = &self.inner.sealer;
        within("reading the sources", async { sources::list(&mut *self.reader().await?, sealer).await }).await
    }

    pub async fn source(&self, name: &SourceName) -> Result<Option<SourceRecord>, StoreError> {
        let sealer = &self.inner.sealer;
        within("reading a source", async { sources::find(&mut *self.reader().await?, sealer, name).await }).await
    }

    /// Sorted by name.
    pub async fn tasks(&self) -> Result<Vec<TaskRecord>, StoreError> {
        let sealer = &self.inner.sealer;
        within("reading the tasks", async { tasks::list(&mut *self.reader().await?, sealer).await }).await
    }

    pub async fn task(&self, name: &TaskName) -> Result<Option<TaskRecord>, StoreError> {
        let sealer = &self.inner.sealer;
        within("reading a task", async { tasks::find(&mut *self.reader().await?, sealer, name).await }).await
    }

    /// Sorted by task, then source.
    pub async fn subtasks(&self) -> Result<Vec<SubtaskRecord>, StoreError> {
        within("reading the subtasks", async { subtasks::list(&mut *self.reader().await?).await }).await
    }

    /// Sorted by source.
    pub async fn subtasks_of_task(&self, task: &TaskName) -> Result<Vec<SubtaskRecord>, StoreError> {
        within("reading a task's subtasks", async { subtasks::of_task(&mut *self.reader().await?, task).await }).await
    }

    /// Sorted by task.
    pub async fn subtasks_of_source(&self, source: &SourceName) -> Result<Vec<SubtaskRecord>, StoreError> {
        let doing = "reading a source's subtasks";
        within(doing, async { subtasks::of_source(&mut *self.reader().await?, source).await }).await
    }

    /// Sorted by source. A source that is missing here is held by no worker.
    pub async fn assignments(&self) -> Result<Vec<Assignment>, StoreError> {
        within("reading the assignments", async { assignments::list(&mut *self.reader().await?).await }).await
    }

    /// Sorted by name; who is alive is the registry's knowledge.
    pub async fn workers(&self) -> Result<Vec<WorkerRecord>, StoreError> {
        within("reading the workers", async { workers::list(&mut *self.reader().await?).await }).await
    }

    pub async fn worker(&self, name: &WorkerName) -> Result<Option<WorkerRecord>, StoreError> {
        let workers = self.workers().await?;
        Ok(workers.into_iter().find(|worker| &worker.name == name))
    }

    /// Oldest first.
    pub async fn cleanups(&self) -> Result<Vec<CleanupRecord>, StoreError> {
        let sealer = &self.inner.sealer;
        within("reading the cleanups", async { cleanups::list(&mut *self.reader().await?, sealer).await }).await
    }

    pub async fn cleanup(&self, id: Uuid) -> Result<Option<CleanupRecord>, StoreError> {
        let sealer = &self.inner.sealer;
        within("reading a cleanup", async { cleanups::find(&mut *self.reader().await?, sealer, id).await }).await
    }

    /// Ledgers that wait for a new task of this name.
    pub async fn kept_ledgers(&self, task: &TaskName) -> Result<Vec<KeptLedger>, StoreError> {
        let doing = "reading the kept ledgers";
        within(doing, async { kept_ledgers::of_task(&mut *self.reader().await?, task).await }).await
    }

    pub async fn cluster_fact(&self, name: &str) -> Result<Option<String>, StoreError> {
        within("reading a cluster fact", async { cluster::find(&mut *self.reader().await?, name).await }).await
    }

    /// 64 bits that never change, made with the store.
    pub async fn cluster_id(&self) -> Result<u64, StoreError> {
        let text = self
            .cluster_fact(CLUSTER_ID)
            .await?
            .ok_or_else(|| StoreError::Missing { object: Object::ClusterFact, name: CLUSTER_ID.to_owned() })?;
        text.parse().map_err(|_| StoreError::UnknownValue {
            object: Object::ClusterFact,
            name: CLUSTER_ID.to_owned(),
            column: "value",
            value: text,
        })
    }
}
