//! The careful way: multi-row INSERTs, whose errors can be brought down to one row.

use super::batch::Batch;
use super::error::Error;
use super::statement::{Duplicates, TargetTable, append_row, insert_head, insert_tail, name_row};
use crate::model::cell::CellForm;
use crate::mysql::{Connection, Deadline, Done, ErrorKind, SESSION_SQL_MODE};

/// A statement is sent when it has grown to this, or to a quarter of what the target takes.
const STATEMENT_BYTES: usize = 1 << 20;
/// "Data truncated for column": what strict mode says to an ENUM's error value, too.
const DATA_TRUNCATED: u16 = 1265;

type ParsedRow = Vec<Option<Vec<u8>>>;

/// Sends the batch's rows inside the open transaction.
pub async fn insert(
    connection: &mut Connection,
    table: &TargetTable,
    batch: &Batch,
    deadline: Deadline,
) -> Result<u64, Error> {
    let packet = usize::try_from(connection.server().max_allowed_packet).unwrap_or(STATEMENT_BYTES);
    let limit = STATEMENT_BYTES.min(packet / 4);
    let (head, tail) = (insert_head(table), insert_tail(table));
    let mut taken = 0;
    let mut sql = head.clone().into_bytes();
    let mut waiting: Vec<(usize, ParsedRow)> = Vec::new();
    for (place, row) in batch.parsed_rows().enumerate() {
        if !waiting.is_empty() {
            sql.push(b',');
        }
        append_row(&mut sql, table, &row);
        waiting.push((place, row));
        if sql.len() >= limit {
            sql.extend_from_slice(tail.as_bytes());
            taken += send(connection, table, &head, &sql, &waiting, deadline).await?;
            sql.truncate(head.len());
            waiting.clear();
        }
    }
    if !waiting.is_empty() {
        sql.extend_from_slice(tail.as_bytes());
        taken += send(connection, table, &head, &sql, &waiting, deadline).await?;
    }
    Ok(taken)
}

/// Sends one statement; when the server refuses it, its rows one by one, to find the row.
async fn send(
    connection: &mut Connection,
    table: &TargetTable,
    head: &str,
    sql: &[u8],
    rows: &[(usize, ParsedRow)],
    deadline: Deadline,
) -> Result<u64, Error> {
    let write = |cause| Error::Write { table: table.name.clone(), cause };
    let cause = match connection.run(sql, "inserting rows", deadline).await {
        Ok(done) if done.warnings == 0 => return Ok(counted(table, &done, rows.len())),
        Ok(_) => None,
        Err(error) if error.is_fatal() || is_passing(&error.kind) => return Err(write(error)),
        Err(error) => Some(error),
    };
    if cause.is_none() {
        // Accepted with a warning: take it back by the caller's rollback; which row it was is found below.
        return Err(name_warned_row(connection, table, rows, deadline).await);
    }
    let mut taken = 0;
    for (place, row) in rows {
        let mut single = head.as_bytes().to_vec();
        append_row(&mut single, table, row);
        single.extend_from_slice(insert_tail(table).as_bytes());
        let refused = |cause| Error::Refused { table: table.name.clone(), key: name_row(table, row, *place), cause };
        match connection.run(&single, "inserting a row", deadline).await {
            Ok(done) => taken += counted(table, &done, 1),
            Err(error) if error.server_code() == Some(DATA_TRUNCATED) && has_error_value(table, row) => {
                taken += insert_error_value(connection, table, &single, row, *place, deadline).await?;
            }
            Err(error) if error.is_fatal() || is_passing(&error.kind) => return Err(write(error)),
            Err(error) => return Err(refused(error)),
        }
    }
    Ok(taken)
}

/// How many of the sent rows a statement took. Where duplicates are met without an error, the server counts rows that
/// were replaced twice and rows that stayed in ways of its own; it took all, or it would have failed.
fn counted(table: &TargetTable, done: &Done, sent: usize) -> u64 {
    if table.duplicates == Duplicates::Refuse { done.rows } else { sent as u64 }
}

/// Deadlocks and lock waits: the transaction is tried again, no row is to blame.
fn is_passing(kind: &ErrorKind) -> bool {
    matches!(kind, ErrorKind::Server { code: 1205 | 1213, .. })
}

/// The number 0 of an ENUM: what a server stores for an invalid member when it is not strict.
fn has_error_value(table: &TargetTable, row: &ParsedRow) -> bool {
    error_values(table, row) > 0
}

fn error_values(table: &TargetTable, row: &ParsedRow) -> u16 {
    let zeros = table
        .columns
        .iter()
        .zip(row)
        .filter(|(column, cell)| column.form == CellForm::Number && cell.as_deref() == Some(b"0"));
    u16::try_from(zeros.count()).unwrap_or(u16::MAX)
}

/// Strict mode refuses the error value although the source holds it: this row goes without, and must warn about
/// nothing else.
async fn insert_error_value(
    connection: &mut Connection,
    table: &TargetTable,
    single: &[u8],
    row: &ParsedRow,
    place: usize,
    deadline: Deadline,
) -> Result<u64, Error> {
    let write = |cause| Error::Write { table: table.name.clone(), cause };
    let relaxed = "SET SESSION sql_mode='ALLOW_INVALID_DATES,NO_AUTO_VALUE_ON_ZERO,NO_ENGINE_SUBSTITUTION'";
    connection.run(relaxed, "setting the session", deadline).await.map_err(write)?;
    let outcome = connection.run(single, "inserting a row with an ENUM's error value", deadline).await;
    let strict = format!("SET SESSION sql_mode='{SESSION_SQL_MODE}'");
    let done = outcome.map_err(|cause| Error::Refused {
        table: table.name.clone(),
        key: name_row(table, row, place),
        cause,
    })?;
    connection.run(strict, "setting the session", deadline).await.map_err(write)?;
    if done.warnings > error_values(table, row) {
        return Err(Error::Altered {
            table: table.name.clone(),
            key: name_row(table, row, place),
            warning: format!("{} warnings", done.warnings),
        });
    }
    Ok(counted(table, &done, 1))
}

/// Finds the row that a statement warned about: the warning itself says which one.
async fn name_warned_row(
    connection: &mut Connection,
    table: &TargetTable,
    rows: &[(usize, ParsedRow)],
    deadline: Deadline,
) -> Error {
    let warning = match connection.optional_row("SHOW WARNINGS", "reading warnings", deadline).await {
        Ok(Some(row)) => row.text("Message").unwrap_or_default(),
        Ok(None) => "a warning that is gone".to_owned(),
        Err(cause) => return Error::Write { table: table.name.clone(), cause },
    };
    let at = warning
        .rsplit_once("at row ")
        .and_then(|(_, number)| number.trim().parse::<usize>().ok())
        .and_then(|number| rows.get(number.checked_sub(1)?));
    let key = match at {
        Some((place, row)) => name_row(table, row, *place),
        None => "an unknown key".to_owned(),
    };
    Error::Altered { table: table.name.clone(), key, warning }
}
