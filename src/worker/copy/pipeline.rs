//! Moves the rows: pairs of a source session and a target session, each working through ranges from a common queue.
//!
//! Within a pair, reading the next batch and writing the last one overlap. A batch and the line on how far its range
//! has got are one target transaction.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio_util::sync::CancellationToken;

use super::keys;
use super::remainder::Remainder;
use super::transfer::Transfer;
use crate::faults::{FaultPoint, SMALL_STEPS};
use crate::ledger::{CopiedRange, CopiedTable, LaneSession, TableState};
use crate::load::batch::{Batch, BatchBuilder};
use crate::load::writer::{Way, way_of, write};
use crate::mysql::{Connection, Deadline};
use crate::snapshot::range::{RangeRows, key_of, statement};
use crate::snapshot::select::KeyValues;
use crate::snapshot::split::{KeyRange, split};
use crate::worker::error::Error;
use crate::worker::progress::Progress;

/// A batch is closed when it has this many bytes or rows.
const BATCH_BYTES: u64 = 4 << 20;
const BATCH_ROWS: u64 = if SMALL_STEPS { 500 } else { 50_000 };
/// `wait_timeout` of a writing session is 60 s.
pub const KEEPALIVE: Duration = Duration::from_secs(20);
const SPLIT_PATIENCE: Duration = Duration::from_secs(600);
/// Ranges of one table for each pair: enough that the last ones even out.
const RANGES_A_PAIR: u64 = 2;

/// A table to copy.
#[derive(Debug)]
pub struct TableJob {
    pub transfer: Transfer,
    pub line: CopiedTable,
    pub estimated_rows: u64,
    /// Keys to make when its rows are there.
    pub keys: Vec<String>,
    /// What an earlier run has left of it; None: it is read from the start.
    pub remainder: Option<Remainder>,
    /// Ranges not yet copied; set when the table is split.
    left: AtomicUsize,
}

impl TableJob {
    pub fn new(transfer: Transfer, line: CopiedTable, estimated_rows: u64, keys: Vec<String>) -> Self {
        Self { transfer, line, estimated_rows, keys, remainder: None, left: AtomicUsize::new(0) }
    }

    /// The job goes on with what is left.
    pub fn with_remainder(self, remainder: Remainder) -> Self {
        let estimated_rows = self.estimated_rows.saturating_sub(remainder.rows());
        Self { remainder: Some(remainder), estimated_rows, ..self }
    }
}

enum Job {
    Table(Arc<TableJob>),
    Range { table: Arc<TableJob>, number: u32, range: KeyRange, only: bool },
}

/// What all pairs share.
pub struct Pipeline {
    queue: Mutex<VecDeque<Job>>,
    pairs: u64,
    /// Room for batches that were read and not yet written, in KiB; a batch larger than all of it takes all.
    room: Arc<Semaphore>,
    room_kib: u32,
    progress: Arc<Progress>,
    stop: CancellationToken,
}

impl Pipeline {
    /// `room_bytes`: what batches on their way may take together.
    pub fn new(
        tables: Vec<TableJob>,
        pairs: u64,
        room_bytes: u64,
        progress: Arc<Progress>,
        stop: CancellationToken,
    ) -> Self {
        let mut tables = tables;
        // The largest first, so that the end is not one long table alone.
        tables.sort_by_key(|table| std::cmp::Reverse(table.estimated_rows));
        let queue = tables.into_iter().map(|table| Job::Table(Arc::new(table))).collect();
        let room_kib = kib(room_bytes).max(1);
        let room = Arc::new(Semaphore::new(room_kib as usize));
        Self { queue: Mutex::new(queue), pairs, room, room_kib, progress, stop }
    }

    /// Works until the queue is empty. The source session is inside the snapshot.
    pub async fn work(&self, source: &mut Connection, target: &mut LaneSession) -> Result<(), Error> {
        let failed = |cause| Error::Target { doing: "ask", cause };
        let mut way = way_of(target.connection(), Deadline::after(Duration::from_secs(30))).await.map_err(failed)?;
        loop {
            if self.stop.is_cancelled() {
                return Err(Error::Stopped);
            }
            let Some(job) = self.queue.lock().pop_front() else { return Ok(()) };
            match job {
                Job::Table(table) => {
                    if table.remainder.as_ref().is_some_and(|remainder| remainder.missing.is_empty()) {
                        self.finish_table(target, &table, false).await?;
                    } else {
                        self.split_table(source, table).await?;
                    }
                }
                Job::Range { table, number, range, only } => {
                    self.copy_range(source, target, &mut way, &table, number, &range, only).await?;
                    if table.left.fetch_sub(1, Ordering::AcqRel) == 1 {
                        self.finish_table(target, &table, only).await?;
                    }
                }
            }
        }
    }

    /// Puts the table's ranges at the head of the queue, so that a table is finished before the next is begun.
    async fn split_table(&self, source: &mut Connection, table: Arc<TableJob>) -> Result<(), Error> {
        let ranges = match &table.remainder {
            Some(remainder) => remainder.missing.clone(),
            None => {
                let parts = self.pairs * RANGES_A_PAIR;
                let deadline = Deadline::after(SPLIT_PATIENCE);
                let ranges = split(source, &table.transfer.source, table.estimated_rows, parts, deadline).await?;
                (0..).zip(ranges).collect()
            }
        };
        table.left.store(ranges.len(), Ordering::Release);
        let only = ranges.len() == 1 && table.remainder.is_none();
        let mut queue = self.queue.lock();
        for (number, range) in ranges.into_iter().rev() {
            queue.push_front(Job::Range { table: Arc::clone(&table), number, range, only });
        }
        Ok(())
    }

    #[expect(clippy::too_many_arguments, reason = "one call, whose parts have no meaning together")]
    async fn copy_range(
        &self,
        source: &mut Connection,
        target: &mut LaneSession,
        way: &mut Way,
        table: &TableJob,
        number: u32,
        range: &KeyRange,
        only: bool,
    ) -> Result<(), Error> {
        let (sender, receiver) = mpsc::channel(1);
        let outlet = Outlet { batches: sender, room: Arc::clone(&self.room), room_kib: self.room_kib };
        let reading = read_range(source, table, range, outlet, &self.stop);
        let writing = self.write_range(target, way, table, number, range, only, receiver);
        // A failed reader closes the channel without its last batch, and the writer then ends without an error of
        // its own; a failed writer closes the channel, and the reader ends the same way.
        let (read, written) = tokio::join!(reading, writing);
        written?;
        read
    }

    #[expect(clippy::too_many_arguments, reason = "one call, whose parts have no meaning together")]
    async fn write_range(
        &self,
        target: &mut LaneSession,
        way: &mut Way,
        table: &TableJob,
        number: u32,
        range: &KeyRange,
        only: bool,
        mut batches: mpsc::Receiver<ReadBatch>,
    ) -> Result<(), Error> {
        let mut line = CopiedRange {
            table_number: table.line.number,
            number,
            lower: range.lower.as_ref().map(key_text),
            upper: range.upper.as_ref().map(key_text),
            reached: None,
            done: false,
            snapshot: table.line.snapshot,
            rows: 0,
            bytes: 0,
        };
        while let Some(read) = receive(&mut batches, target).await? {
            line.rows += read.batch.rows;
            line.bytes += read.batch.bytes;
            line.reached = read.reached.as_ref().map(key_text).or(line.reached);
            line.done = read.last;
            let ledger = target.ledger().clone();
            let mut lines = ledger.range_statement(&line);
            if read.last && only && table.keys.is_empty() {
                // A small table is one transaction: its rows and that it is finished.
                let finished = CopiedTable { state: TableState::Done, ..table.line.clone() };
                lines = format!("{lines}; {}", ledger.table_statement(&finished)?);
            }
            write(target, &table.transfer.target, &read.batch, &lines, way).await?;
            self.progress.copied(read.batch.rows, read.batch.bytes);
        }
        Ok(())
    }

    /// Makes the keys that waited for the rows.
    async fn finish_table(&self, target: &mut LaneSession, table: &TableJob, only: bool) -> Result<(), Error> {
        if !(only && table.keys.is_empty()) {
            let deadline = || Deadline::after(Duration::from_secs(60));
            let ledger = target.ledger().clone();
            let copied = CopiedTable { state: TableState::Copied, ..table.line.clone() };
            let done = CopiedTable { state: TableState::Done, ..table.line.clone() };
            if !table.keys.is_empty() {
                target.transact(&[ledger.table_statement(&copied)?], None, "record a table in", deadline()).await?;
                FaultPoint::BeforeKeys.reach();
                keys::make(target, &table.keys).await?;
                FaultPoint::AfterKeys.reach();
            }
            target.transact(&[ledger.table_statement(&done)?], None, "record a table in", deadline()).await?;
        }
        self.progress.table_finished();
        tracing::debug!(table = %table.line.source, "copied {}", table.line.source);
        Ok(())
    }
}

/// The next batch. A source that is slow must not make the target end the idle session.
async fn receive(
    batches: &mut mpsc::Receiver<ReadBatch>,
    target: &mut LaneSession,
) -> Result<Option<ReadBatch>, Error> {
    loop {
        match tokio::time::timeout(KEEPALIVE, batches.recv()).await {
            Ok(batch) => return Ok(batch),
            Err(_) => target.check(Deadline::after(KEEPALIVE)).await?,
        }
    }
}

struct ReadBatch {
    batch: Batch,
    reached: Option<KeyValues>,
    last: bool,
    /// Given back when the batch is written.
    _room: OwnedSemaphorePermit,
}

/// Where a reader's batches go.
struct Outlet {
    batches: mpsc::Sender<ReadBatch>,
    room: Arc<Semaphore>,
    room_kib: u32,
}

impl Outlet {
    /// Waits for room. False: the writer is gone.
    async fn send(&self, batch: Batch, reached: Option<KeyValues>, last: bool) -> bool {
        let needed = kib(batch.bytes).clamp(1, self.room_kib);
        let room = tokio::select! {
            room = Arc::clone(&self.room).acquire_many_owned(needed) => room,
            () = self.batches.closed() => return false,
        };
        let Ok(room) = room else { return false };
        self.batches.send(ReadBatch { batch, reached, last, _room: room }).await.is_ok()
    }
}

fn kib(bytes: u64) -> u32 {
    u32::try_from(bytes.div_ceil(1024)).unwrap_or(u32::MAX / 2)
}

async fn read_range(
    source: &mut Connection,
    table: &TableJob,
    range: &KeyRange,
    outlet: Outlet,
    stop: &CancellationToken,
) -> Result<(), Error> {
    let sql = statement(&table.transfer.source, range);
    let columns = table.transfer.source.columns.len();
    let mut rows = RangeRows::open(source, &table.transfer.source, &sql).await?;
    let mut builder = BatchBuilder::default();
    let mut reached = None;
    while let Some(cells) = rows.next().await? {
        for index in 0..columns {
            builder.cell(cells.get(index));
        }
        builder.end_row();
        if builder.bytes() >= BATCH_BYTES || builder.rows() >= BATCH_ROWS {
            reached = Some(key_of(&table.transfer.source, &cells));
            drop(cells);
            if stop.is_cancelled() || !outlet.send(builder.take(), reached.clone(), false).await {
                return Err(Error::Stopped);
            }
        }
    }
    if outlet.send(builder.take(), reached, true).await { Ok(()) } else { Err(Error::Stopped) }
}

/// A key as JSON: an array of its values, as text where they are text, else in hexadecimal after `0x`.
fn key_text(key: &KeyValues) -> String {
    let values: Vec<String> = key
        .iter()
        .map(|value| match std::str::from_utf8(value) {
            Ok(text) if !text.starts_with("0x") => text.to_owned(),
            _ => value.iter().fold("0x".to_owned(), |hex, byte| format!("{hex}{byte:02x}")),
        })
        .collect();
    serde_json::Value::from(values).to_string()
}
