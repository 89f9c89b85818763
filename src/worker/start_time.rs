//! Finds the first transaction that was committed at or after a time.
//!
//! Every binlog file begins with the time it was begun at, so the file is found by looking at the heads of files from
//! the newest back; inside of it the stream is read until a transaction is late enough.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::error::Error;
use super::opening::Opened;
use crate::binlog::EventBody;
use crate::model::gtid::{Gtid, GtidSet};
use crate::model::subtask::SubtaskConfig;
use crate::model::{BinlogPosition, SourcePosition};
use crate::mysql::{BinlogStart, Connection, Deadline};
use crate::replicate::pulse::Pulse;
use crate::replicate::reader::{self, Placed};

const PATIENCE: Duration = Duration::from_secs(60);

/// The place before that transaction. Later than all: an error, since what is meant has not happened yet.
pub async fn find(
    connection: &mut Connection,
    opened: &Opened,
    config: &SubtaskConfig,
    at_us: i64,
) -> Result<SourcePosition, Error> {
    let at_s = u32::try_from(at_us / 1_000_000).unwrap_or(0);
    let failed = |cause| Error::Source { doing: "list the binlog files", cause };
    let rows =
        connection.rows("SHOW BINARY LOGS", "listing binlog files", Deadline::after(PATIENCE)).await.map_err(failed)?;
    let files: Vec<String> = rows.iter().map(|row| row.text("Log_name")).collect::<Result<_, _>>().map_err(failed)?;
    let mut chosen = files.first().cloned().ok_or(Error::NoBinlog)?;
    for file in files.iter().rev() {
        if begun_at(opened, config, file).await? <= at_s {
            chosen.clone_from(file);
            break;
        }
    }
    scan(opened, config, &chosen, at_s).await
}

struct Scan {
    events: tokio::sync::mpsc::Receiver<Result<Placed, crate::replicate::Error>>,
    stop: CancellationToken,
}

impl Drop for Scan {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

impl Scan {
    async fn open(opened: &Opened, config: &SubtaskConfig, file: &str) -> Result<Self, Error> {
        let start = BinlogStart::Position { file: file.to_owned(), offset: 4 };
        let id = super::replication::server_id(opened);
        let reader = reader::open(&config.source, start, id, Deadline::after(PATIENCE)).await?;
        let stop = CancellationToken::new();
        let events = reader.spawn(&TaskTracker::new(), Arc::new(Pulse::new(0)), stop.clone());
        Ok(Self { events, stop })
    }

    async fn next(&mut self) -> Result<Placed, Error> {
        match self.events.recv().await {
            Some(event) => Ok(event?),
            None => Err(Error::Internal("the binlog stream ended without a word".to_owned())),
        }
    }
}

/// Seconds of the source's clock.
async fn begun_at(opened: &Opened, config: &SubtaskConfig, file: &str) -> Result<u32, Error> {
    let mut scan = Scan::open(opened, config, file).await?;
    loop {
        let placed = scan.next().await?;
        if matches!(placed.event.body, EventBody::FormatDescription(_)) && placed.event.header.timestamp > 0 {
            return Ok(placed.event.header.timestamp);
        }
    }
}

async fn scan(opened: &Opened, config: &SubtaskConfig, file: &str, at_s: u32) -> Result<SourcePosition, Error> {
    let mut scan = Scan::open(opened, config, file).await?;
    let mut before = BinlogPosition::new(file, 4);
    let mut gtids: Option<GtidSet> = None;
    loop {
        let Placed { event, end, .. } = scan.next().await?;
        let begun = match &event.body {
            EventBody::PreviousGtids(set) => {
                gtids = Some(GtidSet::Mysql(set.clone()));
                None
            }
            EventBody::MysqlGtid(gtid) => Some(gtid.gtid.clone().map(Gtid::from)),
            EventBody::MariadbGtid(gtid) => Some(Some(Gtid::from(gtid.gtid))),
            EventBody::Heartbeat(_) => {
                return Err(Error::Rules { why: "the start time is later than everything in the binlog".to_owned() });
            }
            _ => None,
        };
        if let Some(gtid) = begun {
            if event.header.timestamp >= at_s {
                return Ok(SourcePosition { binlog: before, gtid: gtids.map(|set| set.to_string()) });
            }
            if let (Some(set), Some(gtid)) = (&mut gtids, &gtid) {
                // A stream has one family only.
                let _ = set.advance(gtid);
            }
        }
        before = end;
    }
}
