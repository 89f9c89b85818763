//! Distributed transactions (XA). Anything may be logged between an XA PREPARE and its XA COMMIT, so a prepared
//! transaction is only noted in the ledger, by its xid and the place it begins at. At XA COMMIT its rows are those that
//! were kept, or are read again from that place, and count as the commit's. At XA ROLLBACK the note goes.
//!
//! They are not applied at the PREPARE: the target would show rows that the source does not, and lock them for as long
//! as the source takes to decide. A note goes in the target transaction that the rows are committed in: a run after a
//! crash that reads the XA COMMIT again either finds its note, or knows the commit as applied.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::applier::{Applier, Current, describe};
use super::error::Error;
use super::low_water::Tracker;
use super::pulse::Pulse;
use super::reader::{self, Placed};
use super::schedule::ConflictKey;
use super::transaction::Transaction;
use crate::binlog::{EventBody, XaId, XaPrepare};
use crate::faults::FaultPoint;
use crate::ledger::{PreparedPlace, PreparedTransaction};
use crate::model::{BinlogPosition, Endpoint};
use crate::mysql::{BinlogStart, Deadline, FATAL_OF_STREAM};

const PATIENCE: Duration = Duration::from_secs(60);
const KEEPALIVE: Duration = Duration::from_secs(20);
/// Rows of prepared transactions that are kept in memory; of others no more than the note.
const KEPT_BYTES: usize = 16 << 20;

/// How the source is asked for a stretch of its log a second time.
#[derive(Debug, Clone)]
pub struct SecondReading {
    pub source: Endpoint,
    /// Ours in a stream beside the main one; the source ends an older stream of the same id.
    pub server_id: u32,
    pub source_identity: String,
}

/// What is known of transactions that the source has prepared and not ended.
#[derive(Debug)]
pub struct Prepared {
    reading: SecondReading,
    open: HashMap<String, Open>,
    kept_bytes: usize,
}

#[derive(Debug)]
struct Open {
    place: PreparedPlace,
    kept: Option<Kept>,
}

/// A prepared transaction's rows, and the keys that order it.
#[derive(Debug)]
struct Kept {
    transaction: Transaction,
    keys: Vec<ConflictKey>,
}

/// How the rows of an XA transaction are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum XaRows {
    /// Before its PREPARE: as long as they are few.
    Gathered,
    /// Before its PREPARE: they are not looked at.
    LeftOut,
    /// At its COMMIT.
    ReadAgain,
}

impl Prepared {
    /// `noted`: what the ledger holds.
    pub fn new(reading: SecondReading, noted: Vec<PreparedTransaction>) -> Self {
        let open = noted.into_iter().map(|noted| (noted.xid, Open { place: noted.place, kept: None })).collect();
        Self { reading, open, kept_bytes: 0 }
    }

    /// `kept`: None if its rows were left out.
    fn note(&mut self, xid: String, place: PreparedPlace, kept: Option<Kept>) {
        let kept = kept.filter(|kept| self.kept_bytes + kept.transaction.weight() <= KEPT_BYTES);
        self.kept_bytes += kept.as_ref().map_or(0, |kept| kept.transaction.weight());
        self.open.insert(xid, Open { place, kept });
    }

    fn end(&mut self, xid: &str) -> Option<Open> {
        let open = self.open.remove(xid)?;
        self.kept_bytes -= open.kept.as_ref().map_or(0, |kept| kept.transaction.weight());
        Some(open)
    }

    /// Forgets the rows, which were read for the structures of before.
    pub(super) fn forget_rows(&mut self) {
        self.open.values_mut().for_each(|open| open.kept = None);
        self.kept_bytes = 0;
    }

    /// How many there are, and where the first of them begins.
    fn summary(&self) -> Option<(u64, BinlogPosition)> {
        let first = self.open.values().map(|open| &open.place.begins).min()?;
        Some((self.open.len() as u64, first.clone()))
    }
}

impl Applier {
    /// An XA transaction begins.
    pub(super) fn begin_xa(&mut self) {
        // While tables stand at several positions, it is the commit's place that tells what counts.
        let rows = if self.floors.is_empty() { XaRows::Gathered } else { XaRows::LeftOut };
        if let Some(current) = &mut self.state.current {
            current.begun = true;
            current.xa = current.xa.or(Some(rows));
        }
    }

    /// XA PREPARE, or the end of one that is committed in one phase.
    pub(super) async fn take_xa_prepare(
        &mut self,
        prepare: &XaPrepare,
        end: &BinlogPosition,
        timestamp: u32,
        stop: &CancellationToken,
    ) -> Result<(), Error> {
        let Some(current) = &mut self.state.current else { return self.commit(end, timestamp, stop).await };
        let xid = prepare.xid.to_string();
        let place = PreparedPlace {
            begins: current.begins.clone(),
            source_identity: self.prepared.reading.source_identity.clone(),
        };
        if prepare.one_phase {
            if current.xa == Some(XaRows::LeftOut) && !current.is_applied {
                self.read_again(&xid, &place, end, stop).await?;
            }
            return self.commit(end, timestamp, stop).await;
        }
        FaultPoint::BeforePreparedNoted.reach();
        let kept = Kept { transaction: std::mem::take(&mut current.transaction), keys: self.state.keys.take() };
        let kept = (current.xa == Some(XaRows::Gathered)).then_some(kept);
        let noted = PreparedTransaction { xid, place };
        let statement = self.control.ledger().prepared_statement(&noted)?;
        let doing = "note a prepared transaction in";
        self.control.transact(&[statement], None, doing, Deadline::after(PATIENCE)).await?;
        FaultPoint::AfterPreparedNoted.reach();
        let PreparedTransaction { xid, place } = noted;
        self.prepared.note(xid, place, kept);
        self.tell_of_prepared();
        self.commit(end, timestamp, stop).await
    }

    /// XA COMMIT and XA ROLLBACK of a prepared transaction. `xid`: as the statement has it.
    pub(super) async fn end_prepared(
        &mut self,
        xid: &str,
        is_committed: bool,
        end: &BinlogPosition,
        timestamp: u32,
        stop: &CancellationToken,
    ) -> Result<(), Error> {
        let Ok(id) = xid.parse::<XaId>() else {
            return Err(self.unsupported(format!("the xid {xid}"), end));
        };
        let xid = id.to_string();
        let Some(current) = &mut self.state.current else { return self.commit(end, timestamp, stop).await };
        let needs_rows = is_committed && !current.is_applied;
        let id = current.id.clone();
        let found = self.prepared.end(&xid);
        self.pulse.set_prepared(self.prepared.summary());
        match found {
            None if needs_rows => {
                let position = describe(end, self.state.current.as_ref().and_then(|current| current.gtid.as_ref()));
                return Err(Error::PreparedUnknown { xid, position });
            }
            None => return self.commit(end, timestamp, stop).await,
            Some(Open { kept: Some(kept), .. }) if needs_rows => {
                current.transaction = kept.transaction;
                self.state.keys.put(kept.keys);
            }
            Some(Open { place, .. }) if needs_rows => self.read_again(&xid, &place, end, stop).await?,
            Some(_) => {}
        }
        let has_rows = |current: &Current| current.is_streaming || !current.transaction.changes.is_empty();
        match &mut self.state.current {
            // The lane that applies the rows takes the note out with them.
            Some(current) if needs_rows && has_rows(current) => current.transaction.ends_prepared = Some(xid),
            _ => {
                if needs_rows {
                    self.inherited.add(id, self.shared.look(Tracker::next_number));
                }
                self.forget_note(&xid).await?;
            }
        }
        self.commit(end, timestamp, stop).await
    }

    /// Takes out the note of a transaction without rows to apply, and names a commit as applied with it.
    async fn forget_note(&mut self, xid: &str) -> Result<(), Error> {
        let statement = self.control.ledger().forget_prepared_statement(xid);
        let low_water = self.shared.low_water();
        let progress = Some((&low_water, self.inherited.above(&low_water)));
        let doing = "forget a prepared transaction in";
        self.control.transact(&[statement], progress, doing, Deadline::after(PATIENCE)).await?;
        Ok(())
    }

    pub(super) fn tell_of_prepared(&self) {
        self.pulse.set_prepared(self.prepared.summary());
    }

    /// Reads the rows of a prepared transaction into the current one, which ends at `end`.
    async fn read_again(
        &mut self,
        xid: &str,
        place: &PreparedPlace,
        end: &BinlogPosition,
        stop: &CancellationToken,
    ) -> Result<(), Error> {
        FaultPoint::BeforePreparedReadAgain.reach();
        let gtid = self.state.current.as_ref().and_then(|current| current.gtid.clone());
        let gone = |why: String, cause| Error::PreparedGone {
            xid: xid.to_owned(),
            begins: place.begins.clone(),
            position: describe(end, gtid.as_ref()),
            why,
            cause,
        };
        let SecondReading { source, server_id, source_identity } = self.prepared.reading.clone();
        if place.source_identity != source_identity {
            return Err(gone(format!("that is the log of another server ({})", place.source_identity), None));
        }
        let start = BinlogStart::Position { file: place.begins.file.clone(), offset: place.begins.offset };
        let explained = |error| match error {
            Error::Source { cause, .. } if cause.server_code() == Some(FATAL_OF_STREAM) => {
                gone("the source does not send it".to_owned(), Some(cause))
            }
            Error::Source { cause, .. } => Error::Source { doing: "read a prepared transaction again", cause },
            other => other,
        };
        let reader = reader::open(&source, start, server_id, Deadline::after(PATIENCE)).await.map_err(explained)?;
        let tasks = TaskTracker::new();
        let reading = stop.child_token();
        let _guard = reading.clone().drop_guard();
        let events = reader.spawn(&tasks, Arc::new(Pulse::new(0)), reading.clone());
        // The second stream has descriptions of its own.
        let flows = std::mem::take(&mut self.state.flows);
        if let Some(current) = &mut self.state.current {
            current.xa = Some(XaRows::ReadAgain);
        }
        let read = self.follow_again(events, xid, end, stop).await.map_err(explained);
        self.state.flows = flows;
        self.state.numbers.clear();
        reading.cancel();
        tasks.close();
        tasks.wait().await;
        if read? { Ok(()) } else { Err(gone("something else stands there".to_owned(), None)) }
    }

    /// Follows the events of one prepared transaction. Whether it was the one with this xid.
    async fn follow_again(
        &mut self,
        mut events: mpsc::Receiver<Result<Placed, Error>>,
        xid: &str,
        end: &BinlogPosition,
        stop: &CancellationToken,
    ) -> Result<bool, Error> {
        let mut keepalive = tokio::time::interval(KEEPALIVE);
        let mut has_begun = false;
        loop {
            let event = tokio::select! {
                () = stop.cancelled() => return Err(Error::Stopped),
                _ = keepalive.tick() => {
                    self.control.check(Deadline::after(KEEPALIVE)).await?;
                    continue;
                }
                placed = events.recv() => placed.ok_or(Error::Stopped)??.event,
            };
            match &event.body {
                EventBody::MysqlGtid(_) | EventBody::MariadbGtid(_) if has_begun => return Ok(false),
                EventBody::MysqlGtid(_) | EventBody::MariadbGtid(_) => has_begun = true,
                EventBody::XaPrepare(prepare) => return Ok(has_begun && prepare.xid.to_string() == xid),
                EventBody::Xid(_) => return Ok(false),
                EventBody::FormatDescription(_)
                | EventBody::Rotate(_)
                | EventBody::Heartbeat(_)
                | EventBody::PreviousGtids(_)
                | EventBody::GtidList(_) => {}
                // What a transaction is made of goes the way of all.
                _ => Box::pin(self.follow_event(event, end, stop)).await?,
            }
        }
    }
}
