//! What a run has done so far, counted where it happens and read for reports.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use parking_lot::Mutex;

use crate::model::SourcePosition;
use crate::model::report::{LoadProgress, Notice, SyncProgress, Unit};

/// Shared by a run and whoever reports on it. Counters only grow within a run.
#[derive(Debug)]
pub struct Progress {
    unit_is_sync: AtomicBool,
    load: Mutex<LoadProgress>,
    copied_rows: AtomicU64,
    copied_bytes: AtomicU64,
    finished_tables: AtomicU64,
    load_rate: Mutex<Rate>,
    sync: Mutex<Option<SyncProgress>>,
    notices: Mutex<Vec<Notice>>,
}

/// The last measured point of a pair of counters, and the rates since the one before.
#[derive(Debug)]
struct Rate {
    at: Instant,
    rows: u64,
    bytes: u64,
    rows_per_second: u64,
    bytes_per_second: u64,
}

/// Notices kept for each run.
const NOTICES_MAX: usize = 50;

impl Default for Progress {
    fn default() -> Self {
        Self {
            unit_is_sync: AtomicBool::new(false),
            load: Mutex::default(),
            copied_rows: AtomicU64::new(0),
            copied_bytes: AtomicU64::new(0),
            finished_tables: AtomicU64::new(0),
            load_rate: Mutex::new(Rate {
                at: Instant::now(),
                rows: 0,
                bytes: 0,
                rows_per_second: 0,
                bytes_per_second: 0,
            }),
            sync: Mutex::default(),
            notices: Mutex::default(),
        }
    }
}

impl Progress {
    pub fn set_unit(&self, unit: Unit) {
        self.unit_is_sync.store(unit == Unit::Sync, Ordering::Relaxed);
    }

    pub fn unit(&self) -> Unit {
        if self.unit_is_sync.load(Ordering::Relaxed) { Unit::Sync } else { Unit::Load }
    }

    /// Sets what is known when a copy begins: totals, and what earlier runs had done.
    pub fn begin_copy(&self, begin: LoadProgress) {
        self.copied_rows.store(begin.finished_rows, Ordering::Relaxed);
        self.copied_bytes.store(begin.finished_bytes, Ordering::Relaxed);
        self.finished_tables.store(begin.finished_tables, Ordering::Relaxed);
        let mut rate = self.load_rate.lock();
        (rate.at, rate.rows, rate.bytes) = (Instant::now(), begin.finished_rows, begin.finished_bytes);
        *self.load.lock() = begin;
    }

    pub fn copied(&self, rows: u64, bytes: u64) {
        self.copied_rows.fetch_add(rows, Ordering::Relaxed);
        self.copied_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    pub fn table_finished(&self) {
        self.finished_tables.fetch_add(1, Ordering::Relaxed);
    }

    pub fn copy_done(&self) {
        self.load.lock().done = true;
    }

    pub fn set_snapshot(&self, position: Option<SourcePosition>) {
        self.load.lock().snapshot = position;
    }

    pub fn load(&self) -> LoadProgress {
        let rows = self.copied_rows.load(Ordering::Relaxed);
        let bytes = self.copied_bytes.load(Ordering::Relaxed);
        let mut load = self.load.lock().clone();
        load.finished_rows = rows;
        load.finished_bytes = bytes;
        load.finished_tables = self.finished_tables.load(Ordering::Relaxed);
        load.estimated_rows = load.estimated_rows.max(rows);
        if load.done {
            load.estimated_rows = rows;
            load.estimated_bytes = bytes;
        } else {
            load.estimated_bytes = load.estimated_bytes.max(bytes);
            let mut rate = self.load_rate.lock();
            let elapsed = rate.at.elapsed();
            if elapsed.as_millis() >= 900 {
                let per_second = |count: u64| (count as f64 / elapsed.as_secs_f64()) as u64;
                rate.rows_per_second = per_second(rows.saturating_sub(rate.rows));
                rate.bytes_per_second = per_second(bytes.saturating_sub(rate.bytes));
                (rate.at, rate.rows, rate.bytes) = (Instant::now(), rows, bytes);
            }
            load.rows_per_second = rate.rows_per_second;
            load.bytes_per_second = rate.bytes_per_second;
        }
        load
    }

    pub fn set_sync(&self, sync: SyncProgress) {
        *self.sync.lock() = Some(sync);
    }

    pub fn sync(&self) -> Option<SyncProgress> {
        self.sync.lock().clone()
    }

    pub fn note(&self, at_us: i64, text: impl Into<String>) {
        let mut notices = self.notices.lock();
        if notices.len() < NOTICES_MAX {
            notices.push(Notice { at_us, text: text.into() });
        }
    }

    pub fn notices(&self) -> Vec<Notice> {
        self.notices.lock().clone()
    }
}
