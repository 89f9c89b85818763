//! Table `sources`: what users asked for and what was found at the server when they did. Not here: which worker has a
//! source (`assignments`), and anything that can be asked of the server again.

use sqlx::{AnyConnection, FromRow};

use super::column::{from_column, to_column};
use super::error::{Object, StoreError};
use super::stored::{self, StoredSource};
use crate::model::SourceName;
use crate::model::record::{Revision, SourceRecord};
use crate::secrets::Sealer;

#[derive(FromRow)]
struct Row {
    name: String,
    revision: i64,
    enabled: i64,
    content: String,
    created_us: i64,
    updated_us: i64,
}

impl Row {
    fn into_record(self, sealer: &Sealer) -> Result<SourceRecord, StoreError> {
        let stored: StoredSource = stored::load(Object::Source, &self.name, &self.content)?;
        let content = stored.open(&self.name, sealer).map_err(StoreError::secret(Object::Source, &self.name))?;
        Ok(SourceRecord {
            name: SourceName::new(self.name),
            revision: from_column(self.revision),
            enabled: self.enabled != 0,
            document: content.document,
            endpoint: content.endpoint,
            enable_gtid: content.enable_gtid,
            server: content.server,
            created_us: self.created_us,
            updated_us: self.updated_us,
        })
    }
}

pub async fn list(db: &mut AnyConnection, sealer: &Sealer) -> Result<Vec<SourceRecord>, StoreError> {
    let rows: Vec<Row> =
        sqlx::query_as("SELECT name, revision, enabled, content, created_us, updated_us FROM sources ORDER BY name")
            .fetch_all(db)
            .await
            .map_err(StoreError::read(Object::Source, "list"))?;
    rows.into_iter().map(|row| row.into_record(sealer)).collect()
}

pub async fn find(
    db: &mut AnyConnection,
    sealer: &Sealer,
    name: &SourceName,
) -> Result<Option<SourceRecord>, StoreError> {
    let row: Option<Row> =
        sqlx::query_as("SELECT name, revision, enabled, content, created_us, updated_us FROM sources WHERE name = ?")
            .bind(name.as_str())
            .fetch_optional(db)
            .await
            .map_err(StoreError::read(Object::Source, name))?;
    row.map(|row| row.into_record(sealer)).transpose()
}

fn content(record: &SourceRecord, sealer: &Sealer) -> Result<String, StoreError> {
    let stored = StoredSource::seal(record, sealer).map_err(StoreError::secret(Object::Source, &record.name))?;
    stored::save(Object::Source, record.name.as_str(), &stored)
}

pub async fn insert(db: &mut AnyConnection, sealer: &Sealer, record: &SourceRecord) -> Result<(), StoreError> {
    sqlx::query(
        "INSERT INTO sources (name, revision, enabled, content, created_us, updated_us) VALUES (?, 1, ?, ?, ?, ?)",
    )
    .bind(record.name.as_str())
    .bind(i64::from(record.enabled))
    .bind(content(record, sealer)?)
    .bind(record.created_us)
    .bind(record.updated_us)
    .execute(db)
    .await
    .map_err(StoreError::write(Object::Source, &record.name))?;
    Ok(())
}

pub async fn update(db: &mut AnyConnection, sealer: &Sealer, record: &SourceRecord) -> Result<(), StoreError> {
    let updated = sqlx::query(
        "UPDATE sources SET revision = revision + 1, enabled = ?, content = ?, updated_us = ? \
         WHERE name = ? AND revision = ?",
    )
    .bind(i64::from(record.enabled))
    .bind(content(record, sealer)?)
    .bind(record.updated_us)
    .bind(record.name.as_str())
    .bind(to_column(record.revision))
    .execute(db)
    .await
    .map_err(StoreError::write(Object::Source, &record.name))?;
    super::changed_one(&updated, Object::Source, &record.name)
}

pub async fn remove(db: &mut AnyConnection, name: &SourceName, revision: Revision) -> Result<(), StoreError> {
    let removed = sqlx::query("DELETE FROM sources WHERE name = ? AND revision = ?")
        .bind(name.as_str())
        .bind(to_column(revision))
        .execute(db)
        .await
        .map_err(StoreError::write(Object::Source, name))?;
    super::changed_one(&removed, Object::Source, name)
}
