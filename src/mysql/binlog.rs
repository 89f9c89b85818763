//! The transport of binlog events: asks a source for its stream and hands out raw events, undecoded.

use std::time::Duration;

use bytes::Bytes;
use mysql_common::packets::{ComBinlogDump, ComBinlogDumpGtid, ComRegisterSlave, Sid};
use tokio::time::timeout_at;

use super::wire::{self, Wire};
use super::{Deadline, Error, ErrorKind, string_literal};
use crate::model::{Endpoint, Flavor};

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
pub struct RawEvent(pub Bytes);

/// The stream of one source. It ends only with an error or by being dropped.
pub struct BinlogStream {
    wire: Wire,
    name: Box<str>,
}

const DOING: &str = "asking for the binlog";
/// Where every file's first event stands: behind the magic bytes.
const FIRST_EVENT: u32 = 4;

/// Opens a session of its own and asks for the stream. `flavor`: the server's, which is known from another session.
pub async fn open_binlog(
    endpoint: &Endpoint,
    flavor: Flavor,
    request: &BinlogRequest,
    deadline: Deadline,
) -> Result<BinlogStream, Error> {
    let name: Box<str> = endpoint.to_string().into();
    let mut wire = wire::log_in(endpoint, deadline).await?;
    match timeout_at(deadline.instant(), ask(&mut wire, &name, flavor, request)).await {
        Ok(Ok(())) => Ok(BinlogStream { wire, name }),
        Ok(Err(error)) => Err(error),
        Err(_) => Err(Error::new(DOING, &name, ErrorKind::TimedOut)),
    }
}

async fn ask(wire: &mut Wire, name: &str, flavor: Flavor, request: &BinlogRequest) -> Result<(), Error> {
    let mariadb = flavor == Flavor::MariaDb;
    let wrong = |text: String| Error::new(DOING, name, ErrorKind::Answer(text.into()));
    wire.run(&setup(request, mariadb), DOING).await?;
    wire.command(&ComRegisterSlave::new(request.server_id), DOING).await?;
    wire.done(DOING).await?;
    match &request.start {
        BinlogStart::Position { file, offset } => {
            let offset = u32::try_from(*offset).map_err(|_| {
                wrong(format!("the offset {offset} in {file} is past 4 GiB, which the protocol cannot ask for"))
            })?;
            let dump = ComBinlogDump::new(request.server_id).with_filename(file.as_bytes()).with_pos(offset);
            wire.command(&dump, DOING).await
        }
        BinlogStart::Gtid { set } if !mariadb => {
            let sids = set
                .split(',')
                .map(str::trim)
                .filter(|part| !part.is_empty())
                .map(str::parse::<Sid<'static>>)
                .collect::<Result<Vec<_>, _>>()
                .map_err(|error| wrong(format!("the GTID set {set} is not understood: {error}")))?;
            let dump = ComBinlogDumpGtid::new(request.server_id).with_pos(FIRST_EVENT.into()).with_sids(&*sids);
            wire.command(&dump, DOING).await
        }
        // MariaDB takes its start from the session variable set above.
        BinlogStart::Gtid { .. } => {
            let dump = ComBinlogDump::new(request.server_id).with_pos(FIRST_EVENT);
            wire.command(&dump, DOING).await
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
        sql.push_str(&format!(
            ", @slave_uuid='{uuid}', @replica_uuid='{uuid}', @source_binlog_checksum=@@GLOBAL.binlog_checksum"
        ));
    }
    // A target that waits for locks must not make the source give us up.
    sql.push_str(", @master_binlog_checksum=@@GLOBAL.binlog_checksum, SESSION net_write_timeout=3600");
    sql
}

impl BinlogStream {
    /// The next event. `deadline` should be a few heartbeats away: the source speaks at least that often.
    pub async fn next(&mut self, deadline: Deadline) -> Result<RawEvent, Error> {
        let doing = "reading the binlog";
        match timeout_at(deadline.instant(), self.wire.event(doing)).await {
            Ok(Ok(Some(event))) => Ok(RawEvent(event)),
            Ok(Ok(None)) => {
                Err(Error::new(doing, &self.name, ErrorKind::Connection("the source ended the binlog stream".into())))
            }
            Ok(Err(error)) => Err(error),
            Err(_) => Err(Error::new(doing, &self.name, ErrorKind::TimedOut)),
        }
    }
}
