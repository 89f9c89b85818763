//! Table `kept_ledgers`: ledger ids that a delete with `keep_meta` left for the next task of that name.

use sqlx::AnyConnection;
use uuid::Uuid;

use super::column::{from_column, to_column};
use super::error::{Object, StoreError};
use crate::model::record::KeptLedger;
use crate::model::{Generation, LedgerId, SourceName, SubtaskId, TaskName};

pub async fn of_task(db: &mut AnyConnection, task: &TaskName) -> Result<Vec<KeptLedger>, StoreError> {
    let rows: Vec<(String, String, String, i64, i64)> = sqlx::query_as(
        "SELECT task, source, ledger_id, generation, kept_us FROM kept_ledgers WHERE task = ? ORDER BY source",
    )
    .bind(task.as_str())
    .fetch_all(db)
    .await
    .map_err(StoreError::read(Object::KeptLedger, task))?;
    rows.into_iter()
        .map(|(task, source, ledger_id, generation, kept_us)| {
            let id = SubtaskId { task: TaskName::new(task), source: SourceName::new(source) };
            let ledger = Uuid::parse_str(&ledger_id).map_err(|_| StoreError::UnknownValue {
                object: Object::KeptLedger,
                name: id.to_string(),
                column: "ledger_id",
                value: ledger_id.clone(),
            })?;
            let generation = Generation(from_column(generation));
            Ok(KeptLedger { id, ledger_id: LedgerId(ledger), generation, kept_us })
        })
        .collect()
}

/// In place of an older one of the same pair.
pub async fn keep(db: &mut AnyConnection, ledger: &KeptLedger) -> Result<(), StoreError> {
    take(db, &ledger.id).await?;
    sqlx::query("INSERT INTO kept_ledgers (task, source, ledger_id, generation, kept_us) VALUES (?, ?, ?, ?, ?)")
        .bind(ledger.id.task.as_str())
        .bind(ledger.id.source.as_str())
        .bind(ledger.ledger_id.to_string())
        .bind(to_column(ledger.generation.0))
        .bind(ledger.kept_us)
        .execute(db)
        .await
        .map_err(StoreError::write(Object::KeptLedger, &ledger.id))?;
    Ok(())
}

pub async fn take(db: &mut AnyConnection, id: &SubtaskId) -> Result<(), StoreError> {
    sqlx::query("DELETE FROM kept_ledgers WHERE task = ? AND source = ?")
        .bind(id.task.as_str())
        .bind(id.source.as_str())
        .execute(db)
        .await
        .map_err(StoreError::write(Object::KeptLedger, id))?;
    Ok(())
}
