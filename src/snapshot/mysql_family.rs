//! One moment on MySQL: sessions opened between two equal readings of `log_status` saw no commit in between. Under
//! a load that never lets two readings be equal, a global read lock, taken only when it will not queue.

use std::time::Duration;

use futures_util::future::BoxFuture;
use serde::Deserialize;

use super::consistent::{StructureTries, begin, bound_lock_waits, end};
use super::error::Error;
use crate::model::{BinlogPosition, Endpoint, SourcePosition};
use crate::mysql::{self, Connection, Deadline, Purpose};

/// How long equal readings are tried for.
const TRIES_FOR: Duration = Duration::from_secs(1);
/// A global read lock waits for statements that run, and everybody else behind it; it is asked for only when none is
/// older than this, and given up after as long.
const LOCK_PATIENCE: Duration = Duration::from_millis(100);
const LOCK_TRIES: u32 = 300;

#[derive(Debug, PartialEq, Deserialize)]
struct LogStatus {
    #[serde(default)]
    gtid_executed: String,
    binary_log_file: String,
    binary_log_position: u64,
}

pub(super) async fn open<S, E: From<Error>>(
    endpoint: &Endpoint,
    sessions: &mut [Connection],
    locking: &mut Connection,
    asking: &mut Connection,
    has_binlog: bool,
    deadline: Deadline,
    mut read_structures: impl for<'a> FnMut(&'a mut Connection) -> BoxFuture<'a, Result<Option<S>, E>>,
) -> Result<(Option<SourcePosition>, S), E> {
    bound_lock_waits(locking, deadline).await?;
    let tries = StructureTries::begin(deadline);
    let (instance_locked, structures) = loop {
        let locking_out = locking.run("LOCK INSTANCE FOR BACKUP", "locking DDL out", deadline).await;
        let instance_locked = optional(locking_out, "lock DDL out")?;
        if let Some(structures) = read_structures(asking).await? {
            break (instance_locked, structures);
        }
        if instance_locked {
            unlock_instance(locking, deadline).await?;
        }
        tries.pause().await?;
    };
    let status = match between_equal_readings(sessions, asking, has_binlog, deadline).await? {
        Some(status) => Some(status),
        None => under_read_lock(endpoint, sessions, asking, has_binlog, deadline).await?,
    };
    if instance_locked {
        unlock_instance(locking, deadline).await?;
    }
    let position = status.map(|status| SourcePosition {
        binlog: BinlogPosition::new(status.binary_log_file, status.binary_log_position),
        // An empty set is known to be empty, which is more than nothing.
        gtid: Some(status.gtid_executed.replace(['\n', ' '], "")),
    });
    Ok((position, structures))
}

async fn unlock_instance(locking: &mut Connection, deadline: Deadline) -> Result<(), Error> {
    let failed = |cause| Error::Source { doing: "let DDL in again", cause };
    locking.run("UNLOCK INSTANCE", "letting DDL in again", deadline).await.map(|_| ()).map_err(failed)
}

/// Whether a statement that some accounts and versions do not have went through.
fn optional(outcome: Result<mysql::Done, mysql::Error>, doing: &'static str) -> Result<bool, Error> {
    match outcome {
        Ok(_) => Ok(true),
        Err(error) if matches!(error.server_code(), Some(1064 | 1142 | 1227 | 1205)) => Ok(false),
        Err(cause) => Err(Error::Source { doing, cause }),
    }
}

/// None: no binlog to compare, no right to look, or a second of tries without two equal readings.
async fn between_equal_readings(
    sessions: &mut [Connection],
    asking: &mut Connection,
    has_binlog: bool,
    deadline: Deadline,
) -> Result<Option<LogStatus>, Error> {
    if !has_binlog {
        return Ok(None);
    }
    let tries = Deadline::after(TRIES_FOR).min(deadline);
    loop {
        let Some(before) = log_status(asking, deadline).await? else { return Ok(None) };
        begin(sessions, deadline).await?;
        if log_status(asking, deadline).await?.as_ref() == Some(&before) {
            return Ok(Some(before));
        }
        end(sessions, deadline).await?;
        if tries.is_over() {
            return Ok(None);
        }
    }
}

/// Position and GTID set of one moment; never SHOW BINARY LOG STATUS, which runs ahead of the data.
async fn log_status(asking: &mut Connection, deadline: Deadline) -> Result<Option<LogStatus>, Error> {
    let doing = "reading log_status";
    let failed = |cause| Error::Source { doing: "read the position", cause };
    let sql = "SELECT LOCAL AS status FROM performance_schema.log_status";
    let row = match asking.first_row(sql, doing, deadline).await {
        Ok(row) => row,
        // Not there (5.7), or not allowed (BACKUP_ADMIN).
        Err(error) if matches!(error.server_code(), Some(1109 | 1142 | 1146 | 1227)) => return Ok(None),
        Err(cause) => return Err(failed(cause)),
    };
    let json = row.text("status").map_err(failed)?;
    serde_json::from_str(&json)
        .map(Some)
        .map_err(|error| Error::NotConsistent { why: format!("the source's log_status is not understood: {error}") })
}

/// FLUSH TABLES WITH READ LOCK, begun only while nothing runs that it would queue behind, and killed when it waits.
async fn under_read_lock(
    endpoint: &Endpoint,
    sessions: &mut [Connection],
    asking: &mut Connection,
    has_binlog: bool,
    deadline: Deadline,
) -> Result<Option<LogStatus>, Error> {
    for _ in 0..LOCK_TRIES {
        if deadline.is_over() {
            break;
        }
        if oldest_statement(asking, deadline).await? > LOCK_PATIENCE {
            tokio::time::sleep(LOCK_PATIENCE).await;
            continue;
        }
        let Some(mut locked) = read_lock(endpoint, asking, deadline).await? else { continue };
        begin(sessions, deadline).await?;
        let status = if has_binlog { Some(status_under_lock(&mut locked, deadline).await?) } else { None };
        let failed = |cause| Error::Source { doing: "release the read lock", cause };
        locked.run("UNLOCK TABLES", "releasing the read lock", deadline).await.map_err(failed)?;
        return Ok(status);
    }
    Err(Error::NotConsistent {
        why: "no global read lock was to be had without making writers wait; grant BACKUP_ADMIN, or start the task \
              when no statement runs for long"
            .to_owned(),
    })
}

/// The lock on a session of its own; None when it did not come within the patience.
async fn read_lock(
    endpoint: &Endpoint,
    asking: &mut Connection,
    deadline: Deadline,
) -> Result<Option<Connection>, Error> {
    let failed = |cause| Error::Source { doing: "take the read lock", cause };
    let mut session = Connection::open(endpoint, Purpose::Asking, deadline).await.map_err(failed)?;
    let id = session.server().connection_id;
    let doing = "taking the read lock";
    match session.run("FLUSH TABLES WITH READ LOCK", doing, deadline.at_most(LOCK_PATIENCE)).await {
        Ok(_) => Ok(Some(session)),
        Err(mysql::Error { kind: mysql::ErrorKind::TimedOut, .. }) => {
            match asking.run(format!("KILL {id}"), "giving the read lock up", deadline).await {
                Ok(_) => Ok(None),
                Err(error) if error.server_code() == Some(1094) => Ok(None),
                Err(cause) => Err(failed(cause)),
            }
        }
        Err(cause) => Err(failed(cause)),
    }
}

/// The age of the oldest statement of others.
async fn oldest_statement(asking: &mut Connection, deadline: Deadline) -> Result<Duration, Error> {
    let failed = |cause| Error::Source { doing: "list the running statements", cause };
    let sql = "SELECT COALESCE(MAX(time), 0) AS seconds FROM information_schema.processlist \
               WHERE command IN ('Query', 'Execute') AND id <> CONNECTION_ID() AND time > 0";
    let row = asking.first_row(sql, "listing running statements", deadline).await.map_err(failed)?;
    Ok(Duration::from_secs(row.number::<u64>("seconds").map_err(failed)?))
}

/// With commits locked out every way of asking is exact.
async fn status_under_lock(locked: &mut Connection, deadline: Deadline) -> Result<LogStatus, Error> {
    let failed = |cause| Error::Source { doing: "read the position", cause };
    let doing = "reading the position";
    let statement = if locked.server().version >= 80_400 { "SHOW BINARY LOG STATUS" } else { "SHOW MASTER STATUS" };
    let row = locked.first_row(statement, doing, deadline).await.map_err(failed)?;
    Ok(LogStatus {
        binary_log_file: row.text("File").map_err(failed)?,
        binary_log_position: row.number("Position").map_err(failed)?,
        // A long set is printed with line breaks.
        gtid_executed: row.text("Executed_Gtid_Set").map_err(failed)?.replace(['\n', ' '], ""),
    })
}
