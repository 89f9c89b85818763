//! XA transactions around a snapshot. One that was prepared before it and is committed after it is in neither the
//! snapshot nor the log behind it, so the snapshot must come with a note of each.
//!
//! A note needs the place of the XA PREPARE. So a place of the log is remembered, everything that was prepared before it
//! is waited for ([`Watched::begin`]), and once the snapshot is open the log is read from that place up to the snapshot's
//! ([`Watched::open_at`]). Where no session has ever prepared anything, nothing is waited for or read.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::binlog::{Event, EventBody, QueryEvent, XaId};
use crate::ddl::{Meaning, Named, TransactionControl, parse};
use crate::ledger::{LaneSession, PreparedPlace, PreparedTransaction};
use crate::model::subtask::SubtaskConfig;
use crate::model::{BinlogPosition, Endpoint, Flavor, SourcePosition};
use crate::mysql::{self, BinlogStart, Connection, Deadline, Purpose, Row};
use crate::replicate::ddl::environment::SourceFacts;
use crate::replicate::pulse::Pulse;
use crate::replicate::reader;
use crate::worker::error::Error;
use crate::worker::replication::position_of_source;

/// How long transactions that were prepared before may take to end.
const PATIENCE: Duration = Duration::from_secs(10);
/// Between a look at the log's end and one at what is prepared: an XA PREPARE may be in the log before it shows.
const PERIOD: Duration = Duration::from_millis(100);
const KEEPALIVE: Duration = Duration::from_secs(20);
/// In a message.
const XIDS_SHOWN: usize = 3;

/// From where on every XA PREPARE that matters is in the log.
pub struct Watched {
    asking: Connection,
    from: BinlogPosition,
    /// Whether any session had prepared anything.
    was_used: bool,
}

impl Watched {
    /// Waits until all that is prepared now has ended. None: the task does not follow the log, or there is none.
    pub async fn begin(config: &SubtaskConfig, has_binlog: bool, deadline: Deadline) -> Result<Option<Self>, Error> {
        if !has_binlog || !config.mode.replicates() {
            return Ok(None);
        }
        let failed = |doing| move |cause| Error::Source { doing, cause };
        let mut asking =
            Connection::open(&config.source, Purpose::Asking, deadline).await.map_err(failed("open a session"))?;
        let from = position_of_source(&mut asking, deadline).await.map_err(failed("ask for the position"))?.binlog;
        let listed = failed("list the XA transactions");
        let mut older = listed_xids(&mut asking, deadline).await.map_err(listed)?;
        let was_used = !older.is_empty() || has_prepared(&mut asking, deadline).await.map_err(listed)?;
        let patience = deadline.at_most(PATIENCE);
        let mut is_first = was_used;
        while is_first || !older.is_empty() {
            if !older.is_empty() && patience.is_over() {
                let shown: Vec<String> = older.iter().take(XIDS_SHOWN).cloned().collect();
                return Err(Error::PreparedXa { count: older.len(), shown: shown.join("; ") });
            }
            tokio::time::sleep(PERIOD).await;
            let present = listed_xids(&mut asking, deadline).await.map_err(listed)?;
            if is_first {
                older.extend(present);
            } else {
                older.retain(|xid| present.contains(xid));
            }
            is_first = false;
        }
        Ok(Some(Self { asking, from, was_used }))
    }

    /// What is prepared at the snapshot's place, which is behind the one remembered.
    pub async fn open_at(
        mut self,
        snapshot: &SourcePosition,
        reading: &Reading<'_>,
        control: &mut LaneSession,
        stop: &CancellationToken,
        deadline: Deadline,
    ) -> Result<Vec<PreparedTransaction>, Error> {
        let failed = |cause| Error::Source { doing: "list the XA transactions", cause };
        let is_used = self.was_used || has_prepared(&mut self.asking, deadline).await.map_err(failed)?;
        self.asking.close(deadline.at_most(Duration::from_secs(1))).await;
        if !is_used || snapshot.binlog <= self.from {
            return Ok(Vec::new());
        }
        let start = BinlogStart::Position { file: self.from.file.clone(), offset: self.from.offset };
        let reader = reader::open(reading.source, start, reading.server_id, deadline).await?;
        let tasks = TaskTracker::new();
        let until = stop.child_token();
        let _guard = until.clone().drop_guard();
        let mut events = reader.spawn(&tasks, Arc::new(Pulse::new(0)), until.clone());
        let mut keepalive = tokio::time::interval(KEEPALIVE);
        let mut open = Open { begins: self.from, places: BTreeMap::new() };
        loop {
            let placed = tokio::select! {
                () = stop.cancelled() => return Err(Error::Stopped),
                _ = keepalive.tick() => {
                    control.check(Deadline::after(KEEPALIVE)).await?;
                    continue;
                }
                event = events.recv() => event.ok_or(Error::Stopped)??,
            };
            if placed.end > snapshot.binlog {
                break;
            }
            let may_be_last = open.take(&placed.event, &placed.end, reading.facts);
            if placed.end == snapshot.binlog && may_be_last {
                break;
            }
        }
        until.cancel();
        tasks.close();
        tasks.wait().await;
        Ok(open.notes(reading.source_identity))
    }
}

/// How the log is read up to the snapshot.
pub struct Reading<'a> {
    pub source: &'a Endpoint,
    pub server_id: u32,
    pub facts: &'a SourceFacts,
    pub source_identity: &'a str,
}

/// What is prepared and has not ended, as the log goes on.
struct Open {
    /// Where the present transaction begins.
    begins: BinlogPosition,
    places: BTreeMap<String, BinlogPosition>,
}

impl Open {
    /// Whether the event may be a transaction's last: all events of a packed one are told at the same place.
    fn take(&mut self, event: &Event, end: &BinlogPosition, facts: &SourceFacts) -> bool {
        match &event.body {
            EventBody::MysqlGtid(_) | EventBody::MariadbGtid(_) => {
                let begins = end.offset.saturating_sub(u64::from(event.header.event_size));
                self.begins = BinlogPosition::new(end.file.clone(), begins);
                false
            }
            EventBody::XaPrepare(prepare) => {
                if !prepare.one_phase {
                    self.places.insert(prepare.xid.to_string(), self.begins.clone());
                }
                true
            }
            EventBody::Query(query) => match ended_xid(query, facts) {
                Some(xid) => {
                    self.places.remove(&xid);
                    true
                }
                None => false,
            },
            EventBody::Xid(_) | EventBody::Heartbeat(_) => true,
            _ => false,
        }
    }

    fn notes(self, source_identity: &str) -> Vec<PreparedTransaction> {
        let note = |(xid, begins)| PreparedTransaction {
            xid,
            place: PreparedPlace { begins, source_identity: source_identity.to_owned() },
        };
        self.places.into_iter().map(note).collect()
    }
}

/// Of XA COMMIT and XA ROLLBACK.
fn ended_xid(query: &QueryEvent, facts: &SourceFacts) -> Option<String> {
    if !query.sql.get(..2).is_some_and(|verb| verb.eq_ignore_ascii_case(b"XA")) {
        return None;
    }
    let text = String::from_utf8_lossy(&query.sql);
    let (TransactionControl::XaCommit { xid, .. } | TransactionControl::XaRollback { xid }) =
        (match parse(&text, &facts.context(query)).meaning {
            Meaning::Named(Named::Transaction(control)) => control,
            _ => return None,
        })
    else {
        return None;
    };
    xid.of(&text).parse::<XaId>().ok().map(|xid| xid.to_string())
}

/// Whether any session has prepared a transaction since the server started.
async fn has_prepared(asking: &mut Connection, deadline: Deadline) -> Result<bool, mysql::Error> {
    let sql = "SHOW GLOBAL STATUS LIKE 'Com_xa_prepare'";
    let row = asking.optional_row(sql, "asking how much was prepared", deadline).await?;
    // A server that does not count is asked the long way.
    row.map_or(Ok(true), |row| row.number::<u64>("Value").map(|count| count > 0))
}

/// The xids of what is prepared. None can be seen without XA_RECOVER_ADMIN on MySQL; such an account is not stopped
/// here: at the XA COMMIT of what it did not see, replication stops.
async fn listed_xids(asking: &mut Connection, deadline: Deadline) -> Result<BTreeSet<String>, mysql::Error> {
    let is_mariadb = asking.server().flavor == Flavor::MariaDb;
    let sql = if is_mariadb { "XA RECOVER FORMAT='SQL'" } else { "XA RECOVER CONVERT XID" };
    let rows = match asking.rows(sql, "listing prepared XA transactions", deadline).await {
        Ok(rows) => rows,
        Err(error) if matches!(error.server_code(), Some(1227 | 1401)) => return Ok(BTreeSet::new()),
        Err(error) => return Err(error),
    };
    let xid = |row: &Row| {
        let data = row.text("data")?;
        if is_mariadb {
            return Ok(data);
        }
        // Both parts in one, in hexadecimal.
        let global = 2 * row.number::<usize>("gtrid_length")?;
        let hex = data.trim_start_matches("0x").to_ascii_lowercase();
        let (global, branch) = hex.split_at_checked(global).unwrap_or((&hex, ""));
        Ok(format!("X'{global}',X'{branch}',{}", row.number::<u32>("formatID")?))
    };
    rows.iter().map(xid).collect()
}
