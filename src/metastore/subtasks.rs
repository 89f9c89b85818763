//! Table `subtasks`: what is wanted of a task on one source, the number of its run, and how the last run ended. Not
//! here: progress while it runs; the worker reports it and the ledger keeps it.

use sqlx::{AnyConnection, FromRow};
use uuid::Uuid;

use super::column::{from_column, from_column_u32, to_column};
use super::error::{Object, StoreError};
use super::stored::{self, StoredConclusion, StoredSubtask};
use crate::model::change::Want;
use crate::model::record::{Conclusion, Revision, SubtaskRecord, SubtaskSettings};
use crate::model::subtask::Wanted;
use crate::model::{Generation, LedgerId, SourceName, SubtaskId, TaskName};

#[derive(FromRow)]
struct Row {
    task: String,
    source: String,
    revision: i64,
    wanted: String,
    generation: i64,
    attempts: i64,
    ledger_id: String,
    ledger_kept: i64,
    content: String,
    conclusion: Option<String>,
}

impl TryFrom<Row> for SubtaskRecord {
    type Error = StoreError;

    fn try_from(row: Row) -> Result<Self, StoreError> {
        let id = SubtaskId { task: TaskName::new(row.task), source: SourceName::new(row.source) };
        let name = id.to_string();
        let unknown = |column, value: &str| StoreError::UnknownValue {
            object: Object::Subtask,
            name: name.clone(),
            column,
            value: value.to_owned(),
        };
        let wanted = match row.wanted.as_str() {
            "running" => Wanted::Running,
            "stopped" => Wanted::Stopped,
            other => return Err(unknown("wanted", other)),
        };
        let ledger_id = Uuid::parse_str(&row.ledger_id).map_err(|_| unknown("ledger_id", &row.ledger_id))?;
        let settings: StoredSubtask = stored::load(Object::Subtask, &name, &row.content)?;
        let conclusion: Option<StoredConclusion> =
            row.conclusion.map(|text| stored::load(Object::Subtask, &name, &text)).transpose()?;
        Ok(Self {
            id,
            revision: from_column(row.revision),
            wanted,
            generation: Generation(from_column(row.generation)),
            attempts: from_column_u32(row.attempts),
            ledger_id: LedgerId(ledger_id),
            ledger_kept: row.ledger_kept != 0,
            settings: settings.into(),
            conclusion: conclusion.map(Into::into),
        })
    }
}

fn wanted_text(wanted: Wanted) -> &'static str {
    match wanted {
        Wanted::Running => "running",
        Wanted::Stopped => "stopped",
    }
}

fn settings_text(id: &SubtaskId, settings: &SubtaskSettings) -> Result<String, StoreError> {
    stored::save(Object::Subtask, &id.to_string(), &StoredSubtask::from(settings))
}

fn records(rows: Vec<Row>) -> Result<Vec<SubtaskRecord>, StoreError> {
    rows.into_iter().map(SubtaskRecord::try_from).collect()
}

pub async fn list(db: &mut AnyConnection) -> Result<Vec<SubtaskRecord>, StoreError> {
    let rows = sqlx::query_as(
        "SELECT task, source, revision, wanted, generation, attempts, ledger_id, ledger_kept, content, conclusion \
         FROM subtasks ORDER BY task, source",
    )
    .fetch_all(db)
    .await
    .map_err(StoreError::read(Object::Subtask, "list"))?;
    records(rows)
}

pub async fn of_task(db: &mut AnyConnection, task: &TaskName) -> Result<Vec<SubtaskRecord>, StoreError> {
    let rows = sqlx::query_as(
        "SELECT task, source, revision, wanted, generation, attempts, ledger_id, ledger_kept, content, conclusion \
         FROM subtasks WHERE task = ? ORDER BY source",
    )
    .bind(task.as_str())
    .fetch_all(db)
    .await
    .map_err(StoreError::read(Object::Subtask, task))?;
    records(rows)
}

pub async fn of_source(db: &mut AnyConnection, source: &SourceName) -> Result<Vec<SubtaskRecord>, StoreError> {
    let rows = sqlx::query_as(
        "SELECT task, source, revision, wanted, generation, attempts, ledger_id, ledger_kept, content, conclusion \
         FROM subtasks WHERE source = ? ORDER BY task",
    )
    .bind(source.as_str())
    .fetch_all(db)
    .await
    .map_err(StoreError::read(Object::Subtask, source))?;
    records(rows)
}

pub async fn insert(db: &mut AnyConnection, record: &SubtaskRecord) -> Result<(), StoreError> {
    sqlx::query(
        "INSERT INTO subtasks (task, source, revision, wanted, generation, attempts, ledger_id, ledger_kept, content) \
         VALUES (?, ?, 1, ?, ?, ?, ?, ?, ?)",
    )
    .bind(record.id.task.as_str())
    .bind(record.id.source.as_str())
    .bind(wanted_text(record.wanted))
    .bind(to_column(record.generation.0))
    .bind(i64::from(record.attempts))
    .bind(record.ledger_id.to_string())
    .bind(i64::from(record.ledger_kept))
    .bind(settings_text(&record.id, &record.settings)?)
    .execute(db)
    .await
    .map_err(StoreError::write(Object::Subtask, &record.id))?;
    Ok(())
}

pub async fn want(db: &mut AnyConnection, want: &Want) -> Result<(), StoreError> {
    let updated = sqlx::query(
        "UPDATE subtasks SET revision = revision + 1, wanted = ?, generation = ?, attempts = ?, ledger_id = ?, \
         ledger_kept = ?, content = ? WHERE task = ? AND source = ? AND revision = ?",
    )
    .bind(wanted_text(want.wanted))
    .bind(to_column(want.generation.0))
    .bind(i64::from(want.attempts))
    .bind(want.ledger_id.to_string())
    .bind(i64::from(want.ledger_kept))
    .bind(settings_text(&want.id, &want.settings)?)
    .bind(want.id.task.as_str())
    .bind(want.id.source.as_str())
    .bind(to_column(want.revision))
    .execute(db)
    .await
    .map_err(StoreError::write(Object::Subtask, &want.id))?;
    super::changed_one(&updated, Object::Subtask, &want.id)
}

pub async fn advance(
    db: &mut AnyConnection,
    id: &SubtaskId,
    from: Generation,
    to: Generation,
    attempts: u32,
) -> Result<(), StoreError> {
    let updated = sqlx::query(
        "UPDATE subtasks SET revision = revision + 1, generation = ?, attempts = ? \
         WHERE task = ? AND source = ? AND generation = ?",
    )
    .bind(to_column(to.0))
    .bind(i64::from(attempts))
    .bind(id.task.as_str())
    .bind(id.source.as_str())
    .bind(to_column(from.0))
    .execute(db)
    .await
    .map_err(StoreError::write(Object::Subtask, id))?;
    super::changed_one(&updated, Object::Subtask, id)
}

pub async fn forget_attempts(db: &mut AnyConnection, id: &SubtaskId, generation: Generation) -> Result<(), StoreError> {
    let updated = sqlx::query("UPDATE subtasks SET attempts = 0 WHERE task = ? AND source = ? AND generation = ?")
        .bind(id.task.as_str())
        .bind(id.source.as_str())
        .bind(to_column(generation.0))
        .execute(db)
        .await
        .map_err(StoreError::write(Object::Subtask, id))?;
    super::changed_one(&updated, Object::Subtask, id)
}

pub async fn conclude(db: &mut AnyConnection, id: &SubtaskId, conclusion: &Conclusion) -> Result<(), StoreError> {
    let text = stored::save(Object::Subtask, &id.to_string(), &StoredConclusion::from(conclusion))?;
    let updated = sqlx::query("UPDATE subtasks SET conclusion = ? WHERE task = ? AND source = ? AND generation = ?")
        .bind(text)
        .bind(id.task.as_str())
        .bind(id.source.as_str())
        .bind(to_column(conclusion.generation().0))
        .execute(db)
        .await
        .map_err(StoreError::write(Object::Subtask, id))?;
    super::changed_one(&updated, Object::Subtask, id)
}

pub async fn remove(db: &mut AnyConnection, id: &SubtaskId, revision: Revision) -> Result<(), StoreError> {
    let removed = sqlx::query("DELETE FROM subtasks WHERE task = ? AND source = ? AND revision = ?")
        .bind(id.task.as_str())
        .bind(id.source.as_str())
        .bind(to_column(revision))
        .execute(db)
        .await
        .map_err(StoreError::write(Object::Subtask, id))?;
    super::changed_one(&removed, Object::Subtask, id)
}

pub async fn remove_of_task(db: &mut AnyConnection, task: &TaskName) -> Result<(), StoreError> {
    sqlx::query("DELETE FROM subtasks WHERE task = ?")
        .bind(task.as_str())
        .execute(db)
        .await
        .map_err(StoreError::write(Object::Subtask, task))?;
    Ok(())
}
