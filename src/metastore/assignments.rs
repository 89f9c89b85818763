//! Table `assignments`: which incarnation of which worker holds a source. A source without a row is free.

use sqlx::AnyConnection;

use super::column::{from_column, to_column};
use super::error::{Object, StoreError};
use crate::model::record::Assignment;
use crate::model::{Epoch, SourceName, WorkerName};

pub async fn list(db: &mut AnyConnection) -> Result<Vec<Assignment>, StoreError> {
    let rows: Vec<(String, String, i64, i64)> =
        sqlx::query_as("SELECT source, worker, worker_epoch, assigned_us FROM assignments ORDER BY source")
            .fetch_all(db)
            .await
            .map_err(StoreError::read(Object::Assignment, "list"))?;
    Ok(rows
        .into_iter()
        .map(|(source, worker, worker_epoch, assigned_us)| Assignment {
            source: SourceName::new(source),
            worker: WorkerName::new(worker),
            worker_epoch: Epoch(from_column(worker_epoch)),
            assigned_us,
        })
        .collect())
}

/// In place of whoever had the source.
pub async fn set(db: &mut AnyConnection, assignment: &Assignment) -> Result<(), StoreError> {
    let Assignment { source, worker, worker_epoch, assigned_us } = assignment;
    let updated = sqlx::query("UPDATE assignments SET worker = ?, worker_epoch = ?, assigned_us = ? WHERE source = ?")
        .bind(worker.as_str())
        .bind(to_column(worker_epoch.0))
        .bind(assigned_us)
        .bind(source.as_str())
        .execute(&mut *db)
        .await
        .map_err(StoreError::write(Object::Assignment, source))?;
    if updated.rows_affected() == 0 {
        sqlx::query("INSERT INTO assignments (source, worker, worker_epoch, assigned_us) VALUES (?, ?, ?, ?)")
            .bind(source.as_str())
            .bind(worker.as_str())
            .bind(to_column(worker_epoch.0))
            .bind(assigned_us)
            .execute(db)
            .await
            .map_err(StoreError::write(Object::Assignment, source))?;
    }
    Ok(())
}

pub async fn remove(db: &mut AnyConnection, source: &SourceName) -> Result<(), StoreError> {
    sqlx::query("DELETE FROM assignments WHERE source = ?")
        .bind(source.as_str())
        .execute(db)
        .await
        .map_err(StoreError::write(Object::Assignment, source))?;
    Ok(())
}
