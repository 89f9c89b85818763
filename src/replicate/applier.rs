//! Follows the source's events in order: gathers each transaction's rows, gives whole transactions to the lanes, and
//! stops everything for a DDL.
//!
//! The one task that knows where the stream stands. It never waits for a lane except at a barrier and when too much
//! is under way.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::ddl::environment::SourceFacts;
use super::error::Error;
use super::floors::Floors;
use super::keys::KeySet;
use super::lane::{Committed, Item};
use super::low_water::End;
use super::prepared::{Prepared, XaRows};
use super::pulse::Pulse;
use super::reader::Placed;
use super::rows::KnownTable;
use super::schedule::Schedule;
use super::shared::Shared;
use super::sides::Sides;
use super::target::TargetTables;
use super::transaction::Transaction;
use crate::binlog::{Event, EventBody, TableMap};
use crate::catalogue::Catalogue;
use crate::filter::Filter;
use crate::ledger::{Inherited, LaneSession, TransactionId};
use crate::model::BinlogPosition;
use crate::model::gtid::Gtid;
use crate::mysql::Deadline;
use crate::route::Router;

/// Limits of what is held in memory.
#[derive(Debug, Clone, Copy)]
pub struct MemoryLimits {
    /// Of all transactions under way.
    pub under_way_bytes: u64,
    /// Of one transaction; a larger one is applied while it is read, alone.
    pub transaction_bytes: usize,
}

/// The number of transactions under way at most.
const UNDER_WAY_MAX: usize = 16_384;
/// In quiet times the low-water is written this often.
const QUIET_PERIOD: Duration = Duration::from_secs(5);
/// `wait_timeout` of the control session is 60 s.
const KEEPALIVE: Duration = Duration::from_secs(20);

/// What the applier works with; made when replication is opened.
pub struct Applier {
    pub filter: Arc<Filter>,
    pub router: Arc<Router>,
    pub sides: Arc<Sides>,
    pub facts: SourceFacts,
    pub catalogue: Catalogue,
    pub targets: TargetTables,
    pub floors: Floors,
    pub control: LaneSession,
    pub shared: Arc<Shared>,
    pub lanes: Vec<mpsc::UnboundedSender<Item>>,
    pub committed: mpsc::UnboundedReceiver<Committed>,
    pub limits: MemoryLimits,
    pub pulse: Arc<Pulse>,
    /// In the target already, although above the low-water replication was opened at.
    pub inherited: Inherited,
    /// Of the first transaction read, this many parts are in the target.
    pub parts_applied: u32,
    pub prepared: Prepared,
    pub state: State,
}

/// Where the applier stands in the stream.
pub struct State {
    pub(super) schedule: Schedule,
    pub(super) current: Option<Current>,
    /// Tables by the number that row events use, within a statement.
    pub(super) numbers: HashMap<u64, Arc<TableMap>>,
    /// What is made of each description, by its address.
    pub(super) flows: HashMap<usize, KnownTable>,
    pub(super) file: Arc<str>,
    under_way_bytes: u64,
    pub(super) keys: KeySet,
    last_recorded: u64,
}

impl State {
    pub fn new(lanes: usize, file: &str) -> Self {
        Self {
            schedule: Schedule::new(lanes),
            current: None,
            numbers: HashMap::new(),
            flows: HashMap::new(),
            file: file.into(),
            under_way_bytes: 0,
            keys: KeySet::default(),
            last_recorded: 0,
        }
    }
}

/// A transaction that is being read.
pub(super) struct Current {
    pub id: TransactionId,
    pub gtid: Option<Gtid>,
    pub transaction: Transaction,
    /// Parts before this one, each of which was applied on its own.
    pub parts: u32,
    /// In the target already.
    pub is_applied: bool,
    /// Its first pieces were sent to a lane.
    pub is_streaming: bool,
    /// One statement follows that ends the transaction by itself.
    pub standalone: bool,
    /// A BEGIN was seen, or the event itself began it.
    pub begun: bool,
    /// Where its first event begins.
    pub begins: BinlogPosition,
    /// Of a distributed transaction: how its rows are taken.
    pub xa: Option<XaRows>,
    /// A DDL that is logged in two phases.
    pub alter: Option<crate::binlog::AlterPhase>,
}

impl Applier {
    /// Runs until `stop`, or until something fails. After `stop` nothing more is read; what was given to lanes is
    /// still theirs.
    pub async fn run(
        mut self,
        mut events: mpsc::Receiver<Result<Placed, Error>>,
        stop: CancellationToken,
    ) -> (Self, Result<(), Error>) {
        self.tell_of_prepared();
        let outcome = self.follow(&mut events, &stop).await;
        (self, outcome)
    }

    async fn follow(
        &mut self,
        events: &mut mpsc::Receiver<Result<Placed, Error>>,
        stop: &CancellationToken,
    ) -> Result<(), Error> {
        let mut quiet = tokio::time::interval(QUIET_PERIOD);
        let mut keepalive = tokio::time::interval(KEEPALIVE);
        for timer in [&mut quiet, &mut keepalive] {
            timer.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        }
        loop {
            let may_read = self.has_room();
            tokio::select! {
                biased;
                () = stop.cancelled() => return Ok(()),
                Some(committed) = self.committed.recv() => self.note_committed(committed),
                _ = quiet.tick() => self.record_quiet().await?,
                _ = keepalive.tick() => self.control.check(Deadline::after(KEEPALIVE)).await?,
                event = events.recv(), if may_read => match event {
                    Some(Ok(placed)) => self.take(placed, stop).await?,
                    Some(Err(error)) => return Err(error),
                    None => return Err(Error::Stopped),
                },
            }
        }
    }

    fn has_room(&self) -> bool {
        self.state.under_way_bytes < self.limits.under_way_bytes
            && self.shared.look(|tracker| tracker.under_way() < UNDER_WAY_MAX)
    }

    fn note_committed(&mut self, committed: Committed) {
        self.state.under_way_bytes = self.state.under_way_bytes.saturating_sub(committed.weight);
        self.state.schedule.finished(committed.lane, committed.weight);
        self.pulse.add(committed);
    }

    /// Writes the low-water when it has moved without any lane writing it: in filtered and idle stretches.
    async fn record_quiet(&mut self) -> Result<(), Error> {
        let low_water = self.shared.low_water();
        if low_water.number != self.state.last_recorded || self.pulse.has_moved(&low_water.position) {
            self.record_low_water().await?;
        }
        Ok(())
    }

    /// Writes the low-water to the control lane's line.
    pub async fn record_low_water(&mut self) -> Result<(), Error> {
        let low_water = self.shared.low_water();
        let applied = self.inherited.above(&low_water);
        let deadline = Deadline::after(Duration::from_secs(60));
        self.control.transact(&[], Some((&low_water, applied)), "write the low-water of", deadline).await?;
        self.state.last_recorded = low_water.number;
        Ok(())
    }

    async fn take(&mut self, placed: Placed, stop: &CancellationToken) -> Result<(), Error> {
        let Placed { event, end, size, .. } = placed;
        self.pulse.heard(&end, event.header.timestamp, size);
        if *self.state.file != *end.file {
            self.state.file = end.file.as_str().into();
        }
        self.follow_event(event, &end, stop).await
    }

    pub(super) async fn follow_event(
        &mut self,
        event: Event,
        end: &BinlogPosition,
        stop: &CancellationToken,
    ) -> Result<(), Error> {
        let header = event.header;
        match event.body {
            EventBody::MysqlGtid(gtid) => {
                self.begin(gtid.gtid.map(Gtid::from), end, header.event_size);
            }
            EventBody::MariadbGtid(gtid) => {
                self.begin(Some(Gtid::from(gtid.gtid)), end, header.event_size);
                if let Some(current) = &mut self.state.current {
                    current.standalone = gtid.flags.standalone();
                    current.begun = !gtid.flags.standalone();
                    current.alter = gtid.alter;
                }
                if gtid.flags.prepared_xa() {
                    self.begin_xa();
                }
            }
            EventBody::TableMap(map) => {
                self.state.numbers.insert(map.table_id, map.table);
            }
            EventBody::Rows(rows) => {
                let taken = self.take_rows(&rows, end, stop).await;
                taken.map_err(|error| {
                    let gtid = self.state.current.as_ref().and_then(|current| current.gtid.as_ref());
                    error.at(|| describe(end, gtid))
                })?;
            }
            EventBody::Query(query) => self.take_query(*query, &header, end, stop).await?,
            EventBody::Xid(_) => self.commit(end, header.timestamp, stop).await?,
            EventBody::XaPrepare(prepare) => self.take_xa_prepare(&prepare, end, header.timestamp, stop).await?,
            EventBody::Rotate(rotate) => {
                self.shared.skip_to(BinlogPosition::new(rotate.file, rotate.position));
            }
            EventBody::Heartbeat(heartbeat) => {
                if self.state.current.is_none() && heartbeat.file == *self.state.file {
                    self.shared.skip_to(BinlogPosition::new(heartbeat.file, heartbeat.position));
                }
            }
            EventBody::Incident(incident) => {
                return Err(self.unsupported(format!("an incident ({})", incident.message), end));
            }
            EventBody::IntVar | EventBody::Rand | EventBody::UserVar => {}
            EventBody::LoadFamily => {
                return Err(self.unsupported("LOAD DATA logged as a statement".to_owned(), end));
            }
            EventBody::PartialUpdateRows { table_id } if !self.needs_rows_of(table_id, end) => {}
            EventBody::PartialUpdateRows { .. } => {
                return Err(self.unsupported(
                    "an update that logs only the changed parts of a document (binlog_row_value_options was \
                     PARTIAL_JSON)"
                        .to_owned(),
                    end,
                ));
            }
            EventBody::PartialRowData => {
                return Err(self.unsupported("a row event in fragments".to_owned(), end));
            }
            EventBody::Unknown { ignorable: false } => {
                return Err(self.unsupported(format!("an event of the unknown {}", header.event_type), end));
            }
            EventBody::Unknown { ignorable: true }
            | EventBody::FormatDescription(_)
            | EventBody::PreviousGtids(_)
            | EventBody::GtidList(_)
            | EventBody::BinlogCheckpoint { .. }
            | EventBody::RowsQuery(_)
            | EventBody::AnnotateRows(_)
            | EventBody::Stop
            | EventBody::TransactionContext
            | EventBody::ViewChange
            | EventBody::StartEncryption
            | EventBody::Ignorable => {}
        }
        Ok(())
    }

    /// Begins a transaction. Its id is the GTID, or the place where it begins, which is the same when it is read
    /// again.
    fn begin(&mut self, gtid: Option<Gtid>, end: &BinlogPosition, event_size: u32) {
        let begins = BinlogPosition::new(&*end.file, end.offset.saturating_sub(u64::from(event_size)));
        let id = match &gtid {
            Some(gtid) => gtid_id(gtid),
            None => TransactionId { origin: format!("@{}", begins.file).into(), number: begins.offset },
        };
        let is_applied = self.inherited.holds(&id);
        self.state.current = Some(Current {
            id,
            gtid,
            transaction: Transaction::default(),
            parts: 0,
            is_applied,
            is_streaming: false,
            standalone: false,
            begun: false,
            begins,
            xa: None,
            alter: None,
        });
        self.state.keys.clear();
        self.state.numbers.clear();
    }

    /// The end of the current transaction: gives it to a lane, or notes that it needs nothing.
    pub(super) async fn commit(
        &mut self,
        end: &BinlogPosition,
        committed_s: u32,
        stop: &CancellationToken,
    ) -> Result<(), Error> {
        let Some(mut current) = self.state.current.take() else {
            return Err(self.unsupported("the end of a transaction that did not begin".to_owned(), end));
        };
        let end_mark =
            End { file: Arc::clone(&self.state.file), offset: end.offset, gtid: current.gtid.clone(), committed_s };
        self.floors.pass(end, current.gtid.as_ref());
        let number = self.shared.take_on(end_mark);
        self.parts_applied = 0;
        if current.is_applied {
            self.inherited.passed(number);
        }
        if current.is_streaming {
            current.transaction.number = number;
            current.transaction.id = Some(current.id);
            current.transaction.position = end.to_string();
            return self.send_piece(current.transaction, true, stop).await;
        }
        if current.is_applied || current.transaction.changes.is_empty() {
            self.shared.finish([number]);
            return Ok(());
        }
        let mut transaction = current.transaction;
        transaction.number = number;
        transaction.id = Some(current.id);
        transaction.position = describe(end, current.gtid.as_ref());
        let keys = self.state.keys.take();
        let weight = transaction.weight() as u64;
        let shared = Arc::clone(&self.shared);
        let low_water = shared.look(super::low_water::Tracker::number);
        let assignment = self
            .state
            .schedule
            .assign(number, &keys, weight, low_water, |earlier| shared.look(|tracker| tracker.is_finished(earlier)));
        self.state.under_way_bytes += weight;
        let lane = self.lanes.get(assignment.lane).ok_or(Error::Stopped)?;
        // A lane that is gone has failed, and its error ends the run.
        lane.send(Item::Whole { transaction, after: assignment.after }).map_err(|_| Error::Stopped)
    }

    /// Sends a piece of a large transaction to the first lane, waiting for room.
    pub(super) async fn send_piece(
        &mut self,
        transaction: Transaction,
        last: bool,
        stop: &CancellationToken,
    ) -> Result<(), Error> {
        let weight = transaction.weight() as u64;
        // One transaction, whatever its size, has no more memory than one that is not sent in pieces.
        let room = self.limits.transaction_bytes as u64;
        while self.state.under_way_bytes > 0 && self.state.under_way_bytes + weight > room {
            self.wait_for_lanes(stop).await?;
        }
        self.state.under_way_bytes += weight;
        let lane = self.lanes.first().ok_or(Error::Stopped)?;
        lane.send(Item::Piece { transaction, last }).map_err(|_| Error::Stopped)?;
        if last {
            self.barrier(stop).await?;
        }
        Ok(())
    }

    /// Waits until everything under way is committed.
    pub(super) async fn barrier(&mut self, stop: &CancellationToken) -> Result<(), Error> {
        while !self.shared.look(super::low_water::Tracker::is_idle) {
            self.wait_for_lanes(stop).await?;
        }
        Ok(())
    }

    async fn wait_for_lanes(&mut self, stop: &CancellationToken) -> Result<(), Error> {
        tokio::select! {
            () = stop.cancelled() => Err(Error::Stopped),
            committed = self.committed.recv() => {
                let committed = committed.ok_or(Error::Stopped)?;
                self.note_committed(committed);
                Ok(())
            }
            () = tokio::time::sleep(KEEPALIVE) => Ok(self.control.check(Deadline::after(KEEPALIVE)).await?),
        }
    }

    pub(super) fn unsupported(&self, what: String, end: &BinlogPosition) -> Error {
        let gtid = self.state.current.as_ref().and_then(|current| current.gtid.as_ref());
        Error::Unsupported { what, position: describe(end, gtid) }
    }
}

/// A position for messages.
pub(super) fn describe(end: &BinlogPosition, gtid: Option<&Gtid>) -> String {
    match gtid {
        Some(gtid) => format!("{end} gtid {gtid}"),
        None => end.to_string(),
    }
}

fn gtid_id(gtid: &Gtid) -> TransactionId {
    let text = gtid.to_string();
    // The last part is the number in both families: `uuid[:tag]:5`, `0-1-42`.
    let at = text.rfind([':', '-']).unwrap_or(0);
    let (origin, number) = text.split_at(at);
    TransactionId { origin: origin.into(), number: number.trim_start_matches([':', '-']).parse().unwrap_or_default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gtid_is_its_origin_and_its_number() {
        for (text, origin, number) in [
            ("0-1-42", "0-1", 42),
            ("3e11fa47-71ca-11e1-9e33-c80aa9429562:7", "3e11fa47-71ca-11e1-9e33-c80aa9429562", 7),
            ("3e11fa47-71ca-11e1-9e33-c80aa9429562:tag:9", "3e11fa47-71ca-11e1-9e33-c80aa9429562:tag", 9),
        ] {
            let id = gtid_id(&text.parse().expect("a GTID"));
            assert_eq!((&*id.origin, id.number), (origin, number), "{text}");
        }
    }
}
