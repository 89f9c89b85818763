//! Table `workers`: who ever registered, and under which epoch. Not here: who is alive (`registry`, in memory).

use sqlx::AnyConnection;

use super::column::{from_column, from_column_u32, to_column};
use super::error::{Object, StoreError};
use crate::model::record::WorkerRecord;
use crate::model::{Epoch, WorkerName};

pub async fn list(db: &mut AnyConnection) -> Result<Vec<WorkerRecord>, StoreError> {
    let rows: Vec<(String, String, i64, i64, i64, i64)> =
        sqlx::query_as("SELECT name, address, epoch, capacity, departed, registered_us FROM workers ORDER BY name")
            .fetch_all(db)
            .await
            .map_err(StoreError::read(Object::Worker, "list"))?;
    Ok(rows
        .into_iter()
        .map(|(name, address, epoch, capacity, departed, registered_us)| WorkerRecord {
            name: WorkerName::new(name),
            address,
            epoch: Epoch(from_column(epoch)),
            capacity: from_column_u32(capacity),
            departed: departed != 0,
            registered_us,
        })
        .collect())
}

/// Fails unless the epoch is above the stored one: epochs never repeat.
pub async fn register(db: &mut AnyConnection, record: &WorkerRecord) -> Result<(), StoreError> {
    let updated = sqlx::query(
        "UPDATE workers SET address = ?, epoch = ?, capacity = ?, departed = ?, registered_us = ? \
         WHERE name = ? AND epoch < ?",
    )
    .bind(record.address.as_str())
    .bind(to_column(record.epoch.0))
    .bind(i64::from(record.capacity))
    .bind(i64::from(record.departed))
    .bind(record.registered_us)
    .bind(record.name.as_str())
    .bind(to_column(record.epoch.0))
    .execute(&mut *db)
    .await
    .map_err(StoreError::write(Object::Worker, &record.name))?;
    if updated.rows_affected() == 1 {
        return Ok(());
    }
    let inserted = sqlx::query(
        "INSERT INTO workers (name, address, epoch, capacity, departed, registered_us) VALUES (?, ?, ?, ?, ?, ?)",
    )
    .bind(record.name.as_str())
    .bind(record.address.as_str())
    .bind(to_column(record.epoch.0))
    .bind(i64::from(record.capacity))
    .bind(i64::from(record.departed))
    .bind(record.registered_us)
    .execute(db)
    .await
    .map_err(StoreError::write(Object::Worker, &record.name));
    match inserted {
        Err(StoreError::Exists { object, name }) => Err(StoreError::Conflict { object, name }),
        other => other.map(|_| ()),
    }
}

pub async fn depart(db: &mut AnyConnection, name: &WorkerName, epoch: Epoch) -> Result<(), StoreError> {
    let updated = sqlx::query("UPDATE workers SET departed = 1 WHERE name = ? AND epoch = ?")
        .bind(name.as_str())
        .bind(to_column(epoch.0))
        .execute(db)
        .await
        .map_err(StoreError::write(Object::Worker, name))?;
    super::changed_one(&updated, Object::Worker, name)
}

pub async fn remove(db: &mut AnyConnection, name: &WorkerName) -> Result<(), StoreError> {
    let removed = sqlx::query("DELETE FROM workers WHERE name = ?")
        .bind(name.as_str())
        .execute(db)
        .await
        .map_err(StoreError::write(Object::Worker, name))?;
    if removed.rows_affected() == 0 {
        return Err(StoreError::Missing { object: Object::Worker, name: name.to_string() });
    }
    Ok(())
}
