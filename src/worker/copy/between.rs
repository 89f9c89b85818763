//! Looks through the source's log between two snapshots for statements that change tables: rows of a table that was
//! altered, emptied or swapped in between cannot stand beside rows of before.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::binlog::{EventBody, QueryEvent};
use crate::ddl::{Meaning, Named, may_name, parse};
use crate::ledger::LaneSession;
use crate::model::{Endpoint, SourcePosition, TableName};
use crate::mysql::{BinlogStart, Deadline, FATAL_OF_STREAM};
use crate::replicate::ddl::environment::SourceFacts;
use crate::replicate::pulse::Pulse;
use crate::replicate::{self, reader};
use crate::worker::error::Error;

const OPEN_PATIENCE: Duration = Duration::from_secs(30);
/// `wait_timeout` of the control session is 60 s.
const KEEPALIVE: Duration = Duration::from_secs(20);

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
        if let EventBody::Query(query) = &placed.event.body
            && let Some(text) = changing(query, stretch.facts)
        {
            changed.extend(tables.iter().filter(|table| may_concern(&text, &query.schema, table)).cloned());
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

/// What the log held there is not to be known.
fn is_gone(error: &replicate::Error) -> bool {
    matches!(error, replicate::Error::Source { cause, .. } if cause.server_code() == Some(FATAL_OF_STREAM))
}

/// The statement's text, if it may change tables. By far most are marks of transactions.
fn changing(query: &QueryEvent, facts: &SourceFacts) -> Option<String> {
    if matches!(&*query.sql, b"BEGIN" | b"COMMIT") {
        return None;
    }
    let text = String::from_utf8_lossy(&query.sql);
    match parse(&text, &facts.context(query)).meaning {
        Meaning::Named(
            Named::Transaction(_) | Named::Maintenance { .. } | Named::Account { .. } | Named::Session { .. },
        ) => None,
        _ => Some(text.into_owned()),
    }
}

/// Whether the table's name is among the words of a statement that ran in `session_schema`, or its database's in one
/// about databases. Errs on the side of yes.
fn may_concern(text: &str, session_schema: &str, table: &TableName) -> bool {
    let has = |name: &str| may_name(text, name);
    let in_its_schema = session_schema.eq_ignore_ascii_case(&table.schema) || has(&table.schema);
    in_its_schema && (has(&table.table) || has("database") || has("schema"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_concerns_the_table_whose_name_it_has_in_whichever_way_it_is_written() {
        let table = TableName::new("shop", "wide");
        let concerns = |text: &str, schema: &str| may_concern(text, schema, &table);
        assert!(concerns("ALTER TABLE `Wide` ADD x INT", "shop"));
        assert!(concerns("rename table a.b to shop.wide", "other"));
        assert!(concerns("TRUNCATE /*!40000 wide*/", "Shop"));
        assert!(concerns("DROP DATABASE shop", ""));
        assert!(concerns("ALTER SCHEMA DEFAULT CHARACTER SET latin1", "shop"));
        assert!(!concerns("ALTER TABLE wide ADD x INT", "other"));
        assert!(!concerns("ALTER TABLE wider ADD x INT", "shop"));
        assert!(!concerns("DROP DATABASE another", "other"));
    }

    #[test]
    fn a_name_of_other_letters_is_concerned_by_every_statement_of_its_schema() {
        let table = TableName::new("shop", "größe");
        assert!(may_concern("ALTER TABLE x ADD y INT", "shop", &table));
        assert!(!may_concern("ALTER TABLE x ADD y INT", "other", &table));
    }
}
