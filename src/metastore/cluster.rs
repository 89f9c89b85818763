//! Table `cluster`: facts of the whole cluster, by name. Not here: anything that belongs to one worker or master.

use sqlx::AnyConnection;

use super::error::{Object, StoreError};

pub async fn find(db: &mut AnyConnection, name: &str) -> Result<Option<String>, StoreError> {
    sqlx::query_scalar("SELECT value FROM cluster WHERE name = ?")
        .bind(name)
        .fetch_optional(db)
        .await
        .map_err(StoreError::read(Object::ClusterFact, name))
}

/// Makes or replaces a fact.
pub async fn set(db: &mut AnyConnection, name: &str, value: &str) -> Result<(), StoreError> {
    let updated = sqlx::query("UPDATE cluster SET value = ? WHERE name = ?")
        .bind(value)
        .bind(name)
        .execute(&mut *db)
        .await
        .map_err(StoreError::write(Object::ClusterFact, name))?;
    if updated.rows_affected() == 0 {
        insert(db, name, value).await?;
    }
    Ok(())
}

pub async fn insert(db: &mut AnyConnection, name: &str, value: &str) -> Result<(), StoreError> {
    sqlx::query("INSERT INTO cluster (name, value) VALUES (?, ?)")
        .bind(name)
        .bind(value)
        .execute(db)
        .await
        .map_err(StoreError::write(Object::ClusterFact, name))?;
    Ok(())
}
