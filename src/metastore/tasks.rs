//! Table `tasks`: what users asked for. Not here: progress (it is in the target) and stages (workers report them).

use sqlx::{AnyConnection, FromRow};

use super::column::{from_column, to_column};
use super::error::{Object, StoreError};
use super::stored::{self, StoredTask};
use crate::model::TaskName;
use crate::model::record::{Revision, TaskRecord};
use crate::secrets::Sealer;

#[derive(FromRow)]
struct Row {
    name: String,
    revision: i64,
    content: String,
    created_us: i64,
    updated_us: i64,
}

impl Row {
    fn into_record(self, sealer: &Sealer) -> Result<TaskRecord, StoreError> {
        let stored: StoredTask = stored::load(Object::Task, &self.name, &self.content)?;
        let content = stored.open(&self.name, sealer).map_err(StoreError::secret(Object::Task, &self.name))?;
        Ok(TaskRecord {
            name: TaskName::new(self.name),
            revision: from_column(self.revision),
            document: content.document,
            target: content.target,
            settings: content.settings,
            created_us: self.created_us,
            updated_us: self.updated_us,
        })
    }
}

pub async fn list(db: &mut AnyConnection, sealer: &Sealer) -> Result<Vec<TaskRecord>, StoreError> {
    let rows: Vec<Row> =
        sqlx::query_as("SELECT name, revision, content, created_us, updated_us FROM tasks ORDER BY name")
            .fetch_all(db)
            .await
            .map_err(StoreError::read(Object::Task, "list"))?;
    rows.into_iter().map(|row| row.into_record(sealer)).collect()
}

pub async fn find(db: &mut AnyConnection, sealer: &Sealer, name: &TaskName) -> Result<Option<TaskRecord>, StoreError> {
    let row: Option<Row> =
        sqlx::query_as("SELECT name, revision, content, created_us, updated_us FROM tasks WHERE name = ?")
            .bind(name.as_str())
            .fetch_optional(db)
            .await
            .map_err(StoreError::read(Object::Task, name))?;
    row.map(|row| row.into_record(sealer)).transpose()
}

fn content(record: &TaskRecord, sealer: &Sealer) -> Result<String, StoreError> {
    let stored = StoredTask::seal(record, sealer).map_err(StoreError::secret(Object::Task, &record.name))?;
    stored::save(Object::Task, record.name.as_str(), &stored)
}

pub async fn insert(db: &mut AnyConnection, sealer: &Sealer, record: &TaskRecord) -> Result<(), StoreError> {
    sqlx::query("INSERT INTO tasks (name, revision, content, created_us, updated_us) VALUES (?, 1, ?, ?, ?)")
        .bind(record.name.as_str())
        .bind(content(record, sealer)?)
        .bind(record.created_us)
        .bind(record.updated_us)
        .execute(db)
        .await
        .map_err(StoreError::write(Object::Task, &record.name))?;
    Ok(())
}

pub async fn update(db: &mut AnyConnection, sealer: &Sealer, record: &TaskRecord) -> Result<(), StoreError> {
    let updated = sqlx::query(
        "UPDATE tasks SET revision = revision + 1, content = ?, updated_us = ? WHERE name = ? AND revision = ?",
    )
    .bind(content(record, sealer)?)
    .bind(record.updated_us)
    .bind(record.name.as_str())
    .bind(to_column(record.revision))
    .execute(db)
    .await
    .map_err(StoreError::write(Object::Task, &record.name))?;
    super::changed_one(&updated, Object::Task, &record.name)
}

pub async fn remove(db: &mut AnyConnection, name: &TaskName, revision: Revision) -> Result<(), StoreError> {
    let removed = sqlx::query("DELETE FROM tasks WHERE name = ? AND revision = ?")
        .bind(name.as_str())
        .bind(to_column(revision))
        .execute(db)
        .await
        .map_err(StoreError::write(Object::Task, name))?;
    super::changed_one(&removed, Object::Task, name)
}
