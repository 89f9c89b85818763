//! One moment on MariaDB: each session is told its exact position, so a common one can be seen; the backup stages
//! make it certain.

use std::time::Duration;

use futures_util::future::BoxFuture;

use super::consistent::{StructureTries, begin, end};
use super::error::Error;
use crate::model::{BinlogPosition, SourcePosition};
use crate::mysql::{Connection, Deadline, string_literal};

/// How long a backup stage may wait for statements that run, before the way without locks is tried.
const STAGE_WAIT_S: u64 = 5;
/// How long the sessions may disagree on the way without locks.
const RETRIES_FOR: Duration = Duration::from_secs(20);

pub(super) async fn open<S, E: From<Error>>(
    sessions: &mut [Connection],
    locking: &mut Connection,
    asking: &mut Connection,
    has_binlog: bool,
    deadline: Deadline,
    mut read_structures: impl for<'a> FnMut(&'a mut Connection) -> BoxFuture<'a, Result<Option<S>, E>>,
) -> Result<(Option<SourcePosition>, S), E> {
    let tries = StructureTries::begin(deadline);
    let (staged, structures) = loop {
        let staged = stage(locking, &["START", "BLOCK_DDL"], deadline).await?;
        if let Some(structures) = read_structures(asking).await? {
            break (staged, structures);
        }
        if staged {
            end_stages(locking, deadline).await?;
        }
        tries.pause().await?;
    };
    let committed = staged && stage(locking, &["BLOCK_COMMIT"], deadline).await?;
    let retries = Deadline::after(RETRIES_FOR).min(deadline);
    let position = loop {
        begin(sessions, deadline).await?;
        if !has_binlog {
            break None;
        }
        if let Some(position) = common_position(sessions, deadline).await? {
            break Some(position);
        }
        end(sessions, deadline).await?;
        if retries.is_over() {
            return Err(E::from(Error::NotConsistent {
                why: "the account may not use BACKUP STAGE (it needs RELOAD), or it did not get through, and the \
                      source writes too fast for the sessions to meet by chance"
                    .to_owned(),
            }));
        }
    };
    if staged {
        end_stages(locking, deadline).await?;
    }
    if !has_binlog && !committed && sessions.len() > 1 {
        let why = "without a binlog, BACKUP STAGE (RELOAD) is needed".to_owned();
        return Err(E::from(Error::NotConsistent { why }));
    }
    let Some(binlog) = position else { return Ok((None, structures)) };
    let gtid = gtid_at(asking, &binlog, deadline).await?;
    Ok((Some(SourcePosition { binlog, gtid }), structures))
}

async fn end_stages(locking: &mut Connection, deadline: Deadline) -> Result<(), Error> {
    let failed = |cause| Error::Source { doing: "release the backup lock", cause };
    locking.run("BACKUP STAGE END", "releasing the backup lock", deadline).await.map(|_| ()).map_err(failed)
}

/// Goes through backup stages. False when the account may not, or when the lock did not come in time.
async fn stage(locking: &mut Connection, stages: &[&str], deadline: Deadline) -> Result<bool, Error> {
    let failed = |cause| Error::Source { doing: "take the backup lock", cause };
    locking
        .run(format!("SET SESSION lock_wait_timeout={STAGE_WAIT_S}"), "bounding the wait", deadline)
        .await
        .map_err(failed)?;
    for stage in stages {
        match locking.run(format!("BACKUP STAGE {stage}"), "taking the backup lock", deadline).await {
            Ok(_) => {}
            // Not allowed, not known (before 10.4), or somebody else's backup or a long statement is in the way.
            Err(error) if matches!(error.server_code(), Some(1044 | 1045 | 1064 | 1142 | 1205 | 1227 | 1213)) => {
                let _ = locking.run("BACKUP STAGE END", "releasing the backup lock", deadline).await;
                return Ok(false);
            }
            Err(cause) => return Err(failed(cause)),
        }
    }
    Ok(true)
}

/// The position that all sessions see, if it is one.
async fn common_position(sessions: &mut [Connection], deadline: Deadline) -> Result<Option<BinlogPosition>, Error> {
    let mut common: Option<BinlogPosition> = None;
    for session in sessions {
        let position = snapshot_position(session, deadline).await?;
        if common.get_or_insert_with(|| position.clone()) != &position {
            return Ok(None);
        }
    }
    Ok(common)
}

async fn snapshot_position(session: &mut Connection, deadline: Deadline) -> Result<BinlogPosition, Error> {
    let failed = |cause| Error::Source { doing: "read a snapshot's position", cause };
    let sql = "SHOW SESSION STATUS LIKE 'binlog_snapshot_%'";
    let rows = session.rows(sql, "reading a snapshot's position", deadline).await.map_err(failed)?;
    let mut position = BinlogPosition::new("", 0);
    for row in &rows {
        let value = row.text("Value").map_err(failed)?;
        match row.text("Variable_name").map_err(failed)?.to_ascii_lowercase().as_str() {
            "binlog_snapshot_file" => position.file = value,
            "binlog_snapshot_position" => position.offset = row.number("Value").map_err(failed)?,
            _ => {}
        }
    }
    if position.file.is_empty() {
        return Err(Error::NotConsistent { why: "the source does not say where its snapshot stands".to_owned() });
    }
    Ok(position)
}

async fn gtid_at(
    asking: &mut Connection,
    position: &BinlogPosition,
    deadline: Deadline,
) -> Result<Option<String>, Error> {
    let failed = |cause| Error::Source { doing: "turn a position into GTIDs", cause };
    let sql = format!("SELECT BINLOG_GTID_POS({}, {}) AS gtid", string_literal(&position.file), position.offset);
    let row = asking.first_row(&sql, "turning a position into GTIDs", deadline).await.map_err(failed)?;
    row.optional_text("gtid").map_err(failed)
}
