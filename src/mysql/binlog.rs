//! The transport of binlog events: asks a source for its stream and hands out raw events, undecoded.
//!
//! The driver copes with login and TLS. It also decodes a little of its own accord, which is undone here: an event
//! is put together again as it came. A compressed transaction is handed out as it is, followed by the driver's own
//! copies of what is inside; the reader, which unpacks it itself, passes over those ([`BinlogStream::pass_over`]).

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use mysql_async::{BinlogStreamRequest, Sid};
use tokio::time::timeout_at;

use super::{Connection, Deadline, Error, ErrorKind, string_literal};
use crate::model::Flavor;

const FORMAT_DESCRIPTION: u8 = 15;

/// Where the stream begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BinlogStart {
    /// At a file and offset.
    Position { file: String, offset: u64 },
    /// After everything in this set, in the server's text form: `uuid:1-5,…` or `0-1-42,…`.
    Gtid { set: String },
}

#[derive(Debug, Clone)]
pub struct BinlogRequest {
    pub start: BinlogStart,
    /// Ours, as a replica; must differ from the source's own and from every other reader's.
    pub server_id: u32,
    /// The source sends a heartbeat when it had nothing else to send for this long.
    pub heartbeat: Duration,
}

/// One event as it came: 19-byte header, body, and checksum where the source sends one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawEvent(pub Vec<u8>);

/// The stream of one source. It ends only with an error or by being dropped.
pub struct BinlogStream {
    inner: mysql_async::BinlogStream,
    name: Arc<str>,
}

impl Connection {
    /// Turns this session into the source's binlog stream.
    pub async fn into_binlog_stream(
        mut self,
        request: &BinlogRequest,
        deadline: Deadline,
    ) -> Result<BinlogStream, Error> {
        let doing = "asking for the binlog";
        let mariadb = self.server().flavor == Flavor::MariaDb;
        self.run_many(setup(request, mariadb).as_bytes(), doing, deadline).await?;
        let name: Arc<str> = self.name().into();
        let wrong = |text: String| Error::new(doing, &name, ErrorKind::Answer(text.into()));
        let mut driver_request = BinlogStreamRequest::new(request.server_id);
        match &request.start {
            BinlogStart::Position { file, offset } => {
                if *offset > u64::from(u32::MAX) {
                    return Err(wrong(format!(
                        "the offset {offset} in {file} is past 4 GiB, which the protocol cannot ask for"
                    )));
                }
                driver_request = driver_request.with_filename(file.as_bytes()).with_pos(*offset);
            }
            BinlogStart::Gtid { set } if !mariadb => {
                let sids = set
                    .split(',')
                    .map(str::trim)
                    .filter(|part| !part.is_empty())
                    .map(str::parse::<Sid<'static>>)
                    .collect::<Result<Vec<_>, _>>()
                    .map_err(|error| wrong(format!("the GTID set {set} is not understood: {error}")))?;
                driver_request = driver_request.with_gtid().with_gtid_set(sids);
            }
            // MariaDB takes its start from the session variable set above.
            BinlogStart::Gtid { .. } => {}
        }
        let opening = self.into_driver(doing)?.get_binlog_stream(driver_request);
        match timeout_at(deadline.instant(), opening).await {
            Ok(Ok(inner)) => Ok(BinlogStream { inner, name }),
            Ok(Err(error)) => Err(Error::new(doing, &name, error.into())),
            Err(_) => Err(Error::new(doing, &name, ErrorKind::TimedOut)),
        }
    }
}

/// Session variables that a replica sets before it asks. `mariadb_slave_capability` 4 stops the server from
/// replacing its own events by dummies; both spellings of the heartbeat serve old and new MySQL.
fn setup(request: &BinlogRequest, mariadb: bool) -> String {
    let heartbeat_ns = request.heartbeat.as_nanos();
    let mut sql = format!("SET @master_heartbeat_period={heartbeat_ns}, @source_heartbeat_period={heartbeat_ns}");
    if mariadb {
        sql.push_str(", @mariadb_slave_capability=4");
        if let BinlogStart::Gtid { set } = &request.start {
            sql.push_str(", @slave_connect_state=");
            sql.push_str(&string_literal(set));
            sql.push_str(", @slave_gtid_strict_mode=1, @slave_gtid_ignore_duplicates=0");
        }
    } else {
        // The server ends other dump threads of the same replica; this one's name is made of its server id.
        let uuid = format!("fe77a000-0000-4000-8000-0000{:08x}", request.server_id);
        // The driver sets the old name of the checksum to a word that newer servers take for "none"; they look at this
        // one first.
        sql.push_str(&format!(
            ", @slave_uuid='{uuid}', @replica_uuid='{uuid}', @source_binlog_checksum=@@GLOBAL.binlog_checksum"
        ));
    }
    sql
}

impl BinlogStream {
    /// The next event. `deadline` should be a few heartbeats away: the source speaks at least that often.
    pub async fn next(&mut self, deadline: Deadline) -> Result<RawEvent, Error> {
        let doing = "reading the binlog";
        match timeout_at(deadline.instant(), self.inner.next()).await {
            Ok(Some(Ok(event))) => Ok(RawEvent(put_together(&event))),
            Ok(Some(Err(error))) => Err(Error::new(doing, &self.name, error.into())),
            Ok(None) => {
                Err(Error::new(doing, &self.name, ErrorKind::Connection("the source ended the binlog stream".into())))
            }
            Err(_) => Err(Error::new(doing, &self.name, ErrorKind::TimedOut)),
        }
    }

    /// Drops the driver's copies of the `count` events that were inside a compressed transaction.
    pub async fn pass_over(&mut self, count: usize, deadline: Deadline) -> Result<(), Error> {
        for _ in 0..count {
            self.next(deadline).await?;
        }
        Ok(())
    }
}

/// The event's bytes as they came over the wire; the driver cuts the checksum off and parses the header.
fn put_together(event: &mysql_async::binlog::events::Event) -> Vec<u8> {
    let header = event.header();
    let checksum = event.checksum();
    let is_format = header.event_type_raw() == FORMAT_DESCRIPTION;
    let mut raw = Vec::with_capacity(19 + event.data().len() + 5);
    raw.extend_from_slice(&header.timestamp().to_le_bytes());
    raw.push(header.event_type_raw());
    raw.extend_from_slice(&header.server_id().to_le_bytes());
    raw.extend_from_slice(&header.event_size().to_le_bytes());
    raw.extend_from_slice(&header.log_pos().to_le_bytes());
    raw.extend_from_slice(&header.flags_raw().to_le_bytes());
    raw.extend_from_slice(event.data());
    if is_format && let Ok(Some(algorithm)) = event.footer().get_checksum_alg() {
        raw.push(algorithm as u8);
    }
    if let Some(checksum) = checksum {
        raw.extend_from_slice(&checksum);
    }
    raw
}
