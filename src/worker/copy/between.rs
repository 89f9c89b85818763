//! Looks through the source's log between two snapshots for statements that change tables: rows of a table that was
//! altered, emptied or swapped in between cannot stand beside rows of before.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::binlog::{EventBody, QueryEvent};
use crate::ddl::{Meaning, Named, parse};
use crate::ledger::LaneSession;
use crate::model::{Endpoint, SourcePosition, TableName};
use crate::mysql::{BinlogStart, Deadline};
use crate::replicate::ddl::environment::SourceFacts;
use crate::replicate::pulse::Pulse;
use crate::replicate::reader;
use crate::replicate::{self};
use crate::worker::error::Error;

const OPEN_PATIENCE: Duration = Duration::from_secs(30);
/// `wait_timeout` of the control session is 60 s.
const KEEPALIVE: Duration = Duration::from_secs(20);
/// "Could not find first log file name", "the master has purged": what the log held there is not to be known.
const LOG_IS_GONE: u16 = 1236;

/// What to read.
pub struct Stretch<'a> {
    pub source: &'a Endpoint,
    pub server_id: u32,
    pub start: BinlogStart,
    /// The later snapshot's position.
    pub until: &'a SourcePosition,
    pub facts: &'a SourceFacts,
}

/// Those of `tables` that statements of the stretch name. None: the log does not reach back so far.
pub async fn changed(
    stretch: &Stretch<'_>,
    tables: &BTreeSet<TableName>,
    control: &mut LaneSession,
    stop: &CancellationToken,
) -> Result<Option<BTreeSet<TableName>>, Error> {
    let reader = reader::open(stretch.source, stretch.start.clone(), stretch.server_id, Deadline::after(OPEN_PATIENCE));
    let reader = match reader.await {
        Err(error) if is_gone(&error) => return Ok(None),
        reader => reader?,
    };
    let tasks = TaskTracker::new();
    let reading = stop.child_token();
    let _guard = reading.clone().drop_guard();
    let mut events = reader.spawn(&tasks, Arc::new(Pulse::new(0)), reading.clone());
    let mut changed = BTreeSet::new();
    let mut keepalive = tokio::time::interval(KEEPALIVE);
    loop {
        let placed = tokio::select! {
            () = stop.cancelled() => return Err(Error::Stopped),
            _ = keepalive.tick() => {
                control.check(Deadline::after(KEEPALIVE)).await?;
                continue;
            }
            event = events.recv() => match event {
                Some(Ok(placed)) => placed,
                Some(Err(error)) if is_gone(&error) => return Ok(None),
                Some(Err(error)) => return Err(error.into()),
                None => return Err(Error::Stopped),
            },
        };
        if let EventBody::Query(query) = &placed.event.body {
            changed.extend(tables.iter().filter(|table| names(query, table, stretch.facts)).cloned());
        }
        if placed.end >= stretch.until.binlog {
            break;
        }
    }
    reading.cancel();
    tasks.close();
    tasks.wait().await;
    Ok(Some(changed))
}

fn is_gone(error: &replicate::Error) -> bool {
    matches!(error, replicate::Error::Source { cause, .. } if cause.server_code() == Some(LOG_IS_GONE))
}

/// Whether a statement may be about the table: it is one of those that change something, and has the table's name
/// among its words, or its database's in a statement about databases.
fn names(query: &QueryEvent, table: &TableName, facts: &SourceFacts) -> bool {
    if matches!(&*query.sql, b"BEGIN" | b"COMMIT") {
        return false;
    }
    let text = String::from_utf8_lossy(&query.sql);
    let parsed = parse(&text, &facts.context(query));
    if matches!(
        parsed.meaning,
        Meaning::Named(
            Named::Transaction(_) | Named::Maintenance { .. } | Named::Account { .. } | Named::Session { .. }
        )
    ) {
        return false;
    }
    // Names of other letters may be written in another character set, or quoted with doubled quotes.
    let is_plain = |name: &str| name.bytes().all(is_name_byte);
    let has = |name: &str| {
        !is_plain(name)
            || text
                .split(|letter: char| !letter.is_ascii() || !is_name_byte(letter as u8))
                .any(|word| word.eq_ignore_ascii_case(name))
    };
    has(&table.table) || (has(&table.schema) && (has("database") || has("schema")))
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$'
}
