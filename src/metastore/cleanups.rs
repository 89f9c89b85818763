//! Table `cleanups`: what deleted tasks left in their targets, until it is removed or given up by an operator.

use sqlx::{AnyConnection, FromRow};
use uuid::Uuid;

use super::column::from_column_u32;
use super::error::{Object, StoreError};
use super::stored::{self, StoredCleanup};
use crate::model::TaskName;
use crate::model::record::CleanupRecord;
use crate::secrets::Sealer;

#[derive(FromRow)]
struct Row {
    id: String,
    task: String,
    content: String,
    confirmed_off: i64,
    attempts: i64,
    tried_us: Option<i64>,
    cause: Option<String>,
    created_us: i64,
}

impl Row {
    fn into_record(self, sealer: &Sealer) -> Result<CleanupRecord, StoreError> {
        let id = Uuid::parse_str(&self.id).map_err(|_| StoreError::UnknownValue {
            object: Object::Cleanup,
            name: self.task.clone(),
            column: "id",
            value: self.id.clone(),
        })?;
        let stored: StoredCleanup = stored::load(Object::Cleanup, &self.id, &self.content)?;
        let content = stored.open(id, sealer).map_err(StoreError::secret(Object::Cleanup, &self.id))?;
        Ok(CleanupRecord {
            id,
            task: TaskName::new(self.task),
            target: content.target,
            meta_schema: content.meta_schema,
            ledgers: content.ledgers,
            confirmed_off: self.confirmed_off != 0,
            attempts: from_column_u32(self.attempts),
            tried_us: self.tried_us,
            cause: self.cause,
            created_us: self.created_us,
        })
    }
}

pub async fn list(db: &mut AnyConnection, sealer: &Sealer) -> Result<Vec<CleanupRecord>, StoreError> {
    let rows: Vec<Row> = sqlx::query_as(
        "SELECT id, task, content, confirmed_off, attempts, tried_us, cause, created_us FROM cleanups ORDER BY id",
    )
    .fetch_all(db)
    .await
    .map_err(StoreError::read(Object::Cleanup, "list"))?;
    rows.into_iter().map(|row| row.into_record(sealer)).collect()
}

pub async fn find(db: &mut AnyConnection, sealer: &Sealer, id: Uuid) -> Result<Option<CleanupRecord>, StoreError> {
    let row: Option<Row> = sqlx::query_as(
        "SELECT id, task, content, confirmed_off, attempts, tried_us, cause, created_us FROM cleanups WHERE id = ?",
    )
    .bind(id.to_string())
    .fetch_optional(db)
    .await
    .map_err(StoreError::read(Object::Cleanup, id))?;
    row.map(|row| row.into_record(sealer)).transpose()
}

fn content(record: &CleanupRecord, sealer: &Sealer) -> Result<String, StoreError> {
    let stored = StoredCleanup::seal(record, sealer).map_err(StoreError::secret(Object::Cleanup, record.id))?;
    stored::save(Object::Cleanup, &record.id.to_string(), &stored)
}

pub async fn insert(db: &mut AnyConnection, sealer: &Sealer, record: &CleanupRecord) -> Result<(), StoreError> {
    sqlx::query(
        "INSERT INTO cleanups (id, task, content, confirmed_off, attempts, tried_us, cause, created_us) \
         VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
    )
    .bind(record.id.to_string())
    .bind(record.task.as_str())
    .bind(content(record, sealer)?)
    .bind(i64::from(record.confirmed_off))
    .bind(i64::from(record.attempts))
    .bind(record.tried_us)
    .bind(record.cause.as_deref())
    .bind(record.created_us)
    .execute(db)
    .await
    .map_err(StoreError::write(Object::Cleanup, record.id))?;
    Ok(())
}

/// Leaves the count of tries to [`tried`]: a try with the old account may be under way.
pub async fn update(db: &mut AnyConnection, sealer: &Sealer, record: &CleanupRecord) -> Result<(), StoreError> {
    let updated = sqlx::query("UPDATE cleanups SET content = ?, confirmed_off = ? WHERE id = ?")
        .bind(content(record, sealer)?)
        .bind(i64::from(record.confirmed_off))
        .bind(record.id.to_string())
        .execute(db)
        .await
        .map_err(StoreError::write(Object::Cleanup, record.id))?;
    exists(updated.rows_affected(), record.id)
}

pub async fn tried(
    db: &mut AnyConnection,
    id: Uuid,
    attempts: u32,
    tried_us: i64,
    cause: &str,
) -> Result<(), StoreError> {
    let updated = sqlx::query("UPDATE cleanups SET attempts = ?, tried_us = ?, cause = ? WHERE id = ?")
        .bind(i64::from(attempts))
        .bind(tried_us)
        .bind(cause)
        .bind(id.to_string())
        .execute(db)
        .await
        .map_err(StoreError::write(Object::Cleanup, id))?;
    exists(updated.rows_affected(), id)
}

pub async fn remove(db: &mut AnyConnection, id: Uuid) -> Result<(), StoreError> {
    let removed = sqlx::query("DELETE FROM cleanups WHERE id = ?")
        .bind(id.to_string())
        .execute(db)
        .await
        .map_err(StoreError::write(Object::Cleanup, id))?;
    exists(removed.rows_affected(), id)
}

fn exists(rows: u64, id: Uuid) -> Result<(), StoreError> {
    if rows == 0 { Err(StoreError::Missing { object: Object::Cleanup, name: id.to_string() }) } else { Ok(()) }
}
