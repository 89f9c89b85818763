//! What replication can say of itself at any moment: counted by the applier, read for reports.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;

use super::lane::Committed;
use crate::model::report::SyncProgress;
use crate::model::{BinlogPosition, SourcePosition};

/// Shared between the applier, the task that asks the source where it stands, and whoever reports.
#[derive(Debug)]
pub struct Pulse {
    inner: Mutex<Inner>,
    /// Events that were read from the source and those that the applier has taken: what is between waits.
    read: AtomicU64,
    taken: AtomicU64,
}

#[derive(Debug)]
struct Inner {
    progress: SyncProgress,
    /// How far the source's clock is ahead of ours.
    clock_offset_us: i64,
    heard: Option<BinlogPosition>,
    last_event_s: u32,
    recorded: Option<SourcePosition>,
    began: Instant,
    rate_at: Instant,
    rate_rows: u64,
    notices: Vec<String>,
}

impl Pulse {
    pub fn new(clock_offset_us: i64) -> Self {
        let now = Instant::now();
        let inner = Inner {
            progress: SyncProgress::default(),
            clock_offset_us,
            heard: None,
            last_event_s: 0,
            recorded: None,
            began: now,
            rate_at: now,
            rate_rows: 0,
            notices: Vec::new(),
        };
        Self { inner: Mutex::new(inner), read: AtomicU64::new(0), taken: AtomicU64::new(0) }
    }

    /// An event was read from the source, and waits for the applier.
    pub(super) fn has_read(&self) {
        self.read.fetch_add(1, Ordering::Relaxed);
    }

    /// The applier has taken an event.
    pub(super) fn heard(&self, end: &BinlogPosition, timestamp_s: u32, size: u32) {
        self.taken.fetch_add(1, Ordering::Relaxed);
        let mut inner = self.inner.lock();
        inner.progress.bytes_read += u64::from(size);
        if timestamp_s > 0 {
            inner.last_event_s = timestamp_s;
        }
        match &mut inner.heard {
            Some(heard) if heard.file == end.file => heard.offset = heard.offset.max(end.offset),
            heard => *heard = Some(end.clone()),
        }
    }

    pub(super) fn add(&self, committed: Committed) {
        let mut inner = self.inner.lock();
        inner.progress.applied_rows += committed.rows;
        inner.progress.applied_transactions += committed.transactions;
        inner.progress.bytes_written += committed.bytes;
    }

    /// Brings lag, rates and positions up to date. `oldest_s`: the commit time of the oldest transaction that is not
    /// in the target. Called by whoever publishes, so that a status is true even while the applier waits for a target
    /// that does not answer.
    pub fn beat(&self, applied: &SourcePosition, oldest_s: Option<u32>) {
        let nothing_waits = self.taken.load(Ordering::Relaxed) >= self.read.load(Ordering::Relaxed);
        let mut inner = self.inner.lock();
        let now_us = now_us() + inner.clock_offset_us;
        let behind = |since_s: u32| {
            let lag_us = now_us - i64::from(since_s) * 1_000_000;
            u64::try_from(lag_us / 1_000_000).unwrap_or(0)
        };
        inner.progress.lag_seconds = match oldest_s {
            Some(since) => behind(since),
            None if nothing_waits => 0,
            None => behind(inner.last_event_s),
        };
        let elapsed = inner.rate_at.elapsed();
        if elapsed.as_millis() >= 900 {
            let rows = inner.progress.applied_rows;
            let per_second = |rows: u64, seconds: f64| (rows as f64 / seconds) as u64;
            inner.progress.rows_per_second = per_second(rows.saturating_sub(inner.rate_rows), elapsed.as_secs_f64());
            inner.progress.rows_per_second_total = per_second(rows, inner.began.elapsed().as_secs_f64());
            inner.rate_rows = rows;
            inner.rate_at = Instant::now();
        }
        let heard = inner.heard.clone();
        let source = inner.progress.source_position.get_or_insert_with(|| applied.clone());
        if let Some(heard) = heard.filter(|heard| *heard > source.binlog) {
            source.binlog = heard;
            source.gtid = None;
        }
        if source.binlog == applied.binlog {
            source.gtid.clone_from(&applied.gtid);
        }
        let synced = source.binlog <= applied.binlog;
        inner.progress.synced = synced && oldest_s.is_none() && nothing_waits;
        inner.progress.applied_position = Some(applied.clone());
    }

    /// The source was asked where it stands.
    pub fn source_stands_at(&self, position: SourcePosition) {
        let mut inner = self.inner.lock();
        if inner.progress.source_position.as_ref().is_none_or(|known| known.binlog <= position.binlog) {
            inner.progress.source_position = Some(position);
        }
    }

    /// Whether the position has moved since this was last asked.
    pub(super) fn has_moved(&self, position: &SourcePosition) -> bool {
        let mut inner = self.inner.lock();
        if inner.recorded.as_ref() == Some(position) {
            return false;
        }
        inner.recorded = Some(position.clone());
        true
    }

    pub(super) fn set_ddl(&self, statement: Option<String>) {
        self.inner.lock().progress.running_ddl = statement;
    }

    /// How many XA transactions are prepared at the source, and where the first of them begins.
    pub(super) fn set_prepared(&self, prepared: Option<(u64, BinlogPosition)>) {
        let mut inner = self.inner.lock();
        (inner.progress.prepared_transactions, inner.progress.first_prepared) =
            prepared.map_or((0, None), |(count, first)| (count, Some(first)));
    }

    /// Something was passed over that an operator would want to know of.
    pub(super) fn note(&self, notice: String) {
        tracing::info!("{notice}");
        let mut inner = self.inner.lock();
        inner.progress.statements_passed_over += 1;
        inner.notices.push(notice);
    }

    pub fn take_notices(&self) -> Vec<String> {
        std::mem::take(&mut self.inner.lock().notices)
    }

    pub fn progress(&self) -> SyncProgress {
        self.inner.lock().progress.clone()
    }
}

fn now_us() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}
