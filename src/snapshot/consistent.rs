//! Opens sessions that all see the same moment of the source.

use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;

use super::error::Error;
use super::{mariadb, mysql_family};
use crate::model::{Endpoint, SourcePosition};
use crate::mysql::{Connection, Deadline, Flavor, Purpose};

/// Sessions inside a consistent snapshot, and what was read of structures at the same moment.
pub struct Consistent<S> {
    pub sessions: Vec<Connection>,
    /// None: the source has no binlog.
    pub position: Option<SourcePosition>,
    pub structures: S,
}

/// A DDL that waits for us holds its table's metadata lock, and we would wait for that: a deadlock over two sessions,
/// which no server finds. So we wait this long (`lock_wait_timeout`, s), let everybody go on, and try again.
pub const STRUCTURES_LOCK_WAIT_S: u64 = 1;
/// How long structures are tried to be read.
const STRUCTURES_PATIENCE: Duration = Duration::from_secs(120);
/// How long DDL is let through between two tries.
const STRUCTURES_PAUSE: Duration = Duration::from_millis(200);

/// Tries to read structures: at the first sign that a table is locked, `read` gives None, and the pause of the next
/// try begins.
pub(super) struct StructureTries {
    began: Instant,
    until: Deadline,
}

impl StructureTries {
    pub fn begin(deadline: Deadline) -> Self {
        Self { began: Instant::now(), until: deadline.at_most(STRUCTURES_PATIENCE) }
    }

    /// Lets DDL through. Nothing that it waits for may be held.
    pub async fn pause(&self) -> Result<(), Error> {
        if self.until.is_over() {
            return Err(Error::StructuresLocked { waited_s: self.began.elapsed().as_secs() });
        }
        tokio::time::sleep(STRUCTURES_PAUSE).await;
        Ok(())
    }
}

/// Bounds how long the session waits for tables that are locked.
pub async fn bound_lock_waits(asking: &mut Connection, deadline: Deadline) -> Result<(), Error> {
    let sql = format!("SET SESSION lock_wait_timeout={STRUCTURES_LOCK_WAIT_S}");
    let failed = |cause| Error::Source { doing: "bound lock waits", cause };
    asking.run(sql, "bounding lock waits", deadline).await.map(|_| ()).map_err(failed)
}

/// Opens `count` sessions at one moment. `read_structures` runs on a session of its own while DDL is locked out, and
/// before the moment itself, so the lock on commits is held for less than a millisecond. It gives None when a table is
/// locked, and is then called again after DDL was let through.
pub async fn open<S, E: From<Error>>(
    endpoint: &Endpoint,
    count: usize,
    deadline: Deadline,
    read_structures: impl for<'a> FnMut(&'a mut Connection) -> BoxFuture<'a, Result<Option<S>, E>>,
) -> Result<Consistent<S>, E> {
    let failed = |doing| move |cause| Error::Source { doing, cause };
    let mut sessions = Vec::with_capacity(count);
    for _ in 0..count {
        let session = Connection::open(endpoint, Purpose::ReadingRows, deadline)
            .await
            .map_err(failed("open the reading sessions"))?;
        sessions.push(session);
    }
    let mut asking =
        Connection::open(endpoint, Purpose::Asking, deadline).await.map_err(failed("open the asking session"))?;
    let mut locking =
        Connection::open(endpoint, Purpose::Asking, deadline).await.map_err(failed("open the locking session"))?;
    let has_binlog = asking
        .first_row("SELECT @@log_bin AS on_or_off", "asking for the binlog", deadline)
        .await
        .and_then(|row| row.number::<u8>("on_or_off"))
        .map_err(failed("read the settings"))?
        != 0;
    bound_lock_waits(&mut asking, deadline).await?;
    let opened = match asking.server().flavor {
        Flavor::MariaDb => {
            mariadb::open(&mut sessions, &mut locking, &mut asking, has_binlog, deadline, read_structures).await?
        }
        Flavor::MySql => {
            mysql_family::open(
                endpoint,
                &mut sessions,
                &mut locking,
                &mut asking,
                has_binlog,
                deadline,
                read_structures,
            )
            .await?
        }
    };
    let (position, structures) = opened;
    Ok(Consistent { sessions, position, structures })
}

/// Begins a snapshot in every session, at nearly the same time.
pub(super) async fn begin(sessions: &mut [Connection], deadline: Deadline) -> Result<(), Error> {
    let begins = sessions.iter_mut().map(|session| async move {
        session
            .run_many(
                b"SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ; START TRANSACTION WITH CONSISTENT SNAPSHOT",
                "beginning a snapshot",
                deadline,
            )
            .await
    });
    futures_util::future::try_join_all(begins)
        .await
        .map_err(|cause| Error::Source { doing: "begin a snapshot", cause })?;
    Ok(())
}

/// Ends what [`begin`] began, for another try.
pub(super) async fn end(sessions: &mut [Connection], deadline: Deadline) -> Result<(), Error> {
    for session in sessions {
        session
            .run("ROLLBACK", "ending a snapshot", deadline)
            .await
            .map_err(|cause| Error::Source { doing: "end a snapshot", cause })?;
    }
    Ok(())
}
