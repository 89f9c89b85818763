//! One session of the target that applies transactions, in the order it gets them.
//!
//! Takes what waits, makes few statements of it, and commits it together with its ledger line. When a group fails,
//! its transactions are applied one by one, one statement for each change, so that the error has its row; what was
//! before it is then committed.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::error::Error;
use super::large;
use super::merge::{merged, one_by_one};
use super::packet::{NOTHING, Packet, packets};
use super::shared::Shared;
use super::statement::{Statement, name_row};
use super::transaction::Transaction;
use crate::faults::FaultPoint;
use crate::ledger::{self, AppliedSet, LaneSession, TransactionId};
use crate::model::TableName;
use crate::mysql::{self, Deadline, Done};

/// What a lane is sent.
pub enum Item {
    /// A whole transaction; `after`: transactions of other lanes that must be committed first.
    Whole { transaction: Transaction, after: Vec<u64> },
    /// A piece of a transaction too large for memory: all pieces are one target transaction. Alone under way.
    Piece { transaction: Transaction, last: bool },
}

/// Told to the applier after each commit.
#[derive(Debug, Clone, Copy, Default)]
pub struct Committed {
    pub lane: usize,
    pub transactions: u64,
    pub rows: u64,
    pub weight: u64,
    pub bytes: u64,
}

#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Source transactions in one target transaction.
    pub group_transactions: usize,
    /// Bytes of cells in one target transaction.
    pub group_bytes: usize,
}

/// How statements go to the target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Packing {
    Together,
    /// Each in a packet of its own, so that a refusal names its row.
    Alone,
}

/// A group is small; a target that does not take it in this time is taken for dead.
const GROUP_PATIENCE: Duration = Duration::from_secs(300);
/// Deadlocks and lock waits (5 s each) are tried again this often.
const PASSING_TRIES: u32 = 12;
/// `wait_timeout` is 60 s.
const KEEPALIVE: Duration = Duration::from_secs(20);
/// A lane waits when its set of applied transactions above the low-water would grow beyond this.
const APPLIED_MAX: usize = 4096;
/// Deprecations: the server would rather have another word, and the value is as sent.
const HARMLESS_WARNINGS: [u16; 6] = [1287, 1681, 3719, 3720, 3778, 4095];

pub struct Lane {
    index: usize,
    session: LaneSession,
    items: mpsc::UnboundedReceiver<Item>,
    /// Taken from `items` and put off.
    put_off: Option<Item>,
    shared: Arc<Shared>,
    committed: mpsc::UnboundedSender<Committed>,
    limits: Limits,
    /// Committed by this lane and above the low-water, as far as known.
    recent: VecDeque<(u64, TransactionId)>,
    applied: AppliedSet,
    /// Target tables without a key in which a row that went had a twin that stayed.
    with_twins: HashSet<TableName>,
    /// Target tables whose warnings were looked at and are harmless.
    warns_harmlessly: HashSet<String>,
    piece_is_open: bool,
}

impl Lane {
    pub fn new(
        index: usize,
        session: LaneSession,
        items: mpsc::UnboundedReceiver<Item>,
        shared: Arc<Shared>,
        committed: mpsc::UnboundedSender<Committed>,
        limits: Limits,
    ) -> Self {
        Self {
            index,
            session,
            items,
            put_off: None,
            shared,
            committed,
            limits,
            recent: VecDeque::new(),
            applied: AppliedSet::default(),
            with_twins: HashSet::new(),
            warns_harmlessly: HashSet::new(),
            piece_is_open: false,
        }
    }

    /// Runs until the sender is gone and all is committed, or until `abort`: then what is open is rolled back.
    pub async fn run(mut self, abort: CancellationToken) -> Result<(), Error> {
        let outcome = tokio::select! {
            biased;
            () = abort.cancelled() => Err(Error::Stopped),
            outcome = self.work() => outcome,
        };
        match &outcome {
            Ok(()) => self.session.close(Deadline::after(Duration::from_secs(1))).await,
            // Dropping the session closes it, and the target rolls back.
            Err(_) => drop(self),
        }
        outcome
    }

    async fn work(&mut self) -> Result<(), Error> {
        loop {
            let item = match self.put_off.take() {
                Some(item) => item,
                None => tokio::select! {
                    item = self.items.recv() => match item {
                        Some(item) => item,
                        None => return Ok(()),
                    },
                    () = tokio::time::sleep(KEEPALIVE) => {
                        self.session.check(Deadline::after(KEEPALIVE)).await?;
                        continue;
                    }
                },
            };
            match item {
                Item::Whole { transaction, after } => {
                    self.wait_for(&after).await;
                    let group = self.gather(transaction);
                    self.make_room().await;
                    self.commit_group(group).await?;
                }
                Item::Piece { transaction, last } => self.apply_piece(transaction, last).await?,
            }
        }
    }

    async fn wait_for(&self, numbers: &[u64]) {
        for &number in numbers {
            self.shared.wait_until(|tracker| tracker.is_finished(number)).await;
        }
    }

    /// Adds what is there already: nothing is waited for, so a lone transaction goes at once.
    fn gather(&mut self, first: Transaction) -> Vec<Transaction> {
        let mut bytes = first.weight();
        let mut group = vec![first];
        while group.len() < self.limits.group_transactions && bytes < self.limits.group_bytes {
            match self.items.try_recv() {
                Ok(Item::Whole { transaction, after })
                    if after.iter().all(|&number| self.shared.look(|tracker| tracker.is_finished(number))) =>
                {
                    bytes += transaction.weight();
                    group.push(transaction);
                }
                Ok(item) => {
                    self.put_off = Some(item);
                    break;
                }
                Err(_) => break,
            }
        }
        group
    }

    /// Waits while the set of applied transactions is too long. The lane that holds the low-water back has none
    /// above it, so it never waits here.
    async fn make_room(&mut self) {
        self.forget_below(self.shared.look(super::low_water::Tracker::number));
        while self.recent.len() >= APPLIED_MAX {
            let oldest = self.recent.front().map_or(0, |(number, _)| *number);
            self.shared.wait_until(|tracker| tracker.number() >= oldest).await;
            self.forget_below(self.shared.look(super::low_water::Tracker::number));
        }
    }

    fn forget_below(&mut self, number: u64) {
        while let Some((_, id)) = self.recent.pop_front_if(|(recent, _)| *recent <= number) {
            self.applied.remove(&id);
        }
    }

    async fn commit_group(&mut self, group: Vec<Transaction>) -> Result<(), Error> {
        loop {
            let statements = merged(&group, &self.with_twins);
            match self.commit(&group, &statements, Packing::Together).await {
                Ok(()) => return Ok(()),
                Err(error) if is_for_whole_run(&error) => return Err(error),
                Err(error) if self.learns_of_twins(&error) => {}
                // A mismatch, a refusal or a warning: the group's own order and shape may be to blame, or one row is.
                Err(first) => return self.commit_one_by_one(&group, first).await,
            }
        }
    }

    /// Whether an error came from rows that were taken as if they had no twins, in a table that is new in this.
    fn learns_of_twins(&mut self, error: &Error) -> bool {
        match error {
            Error::Mismatch { table, expected, found, .. } if found > expected => self.with_twins.insert(table.clone()),
            _ => false,
        }
    }

    async fn commit_one_by_one(&mut self, group: &[Transaction], first: Error) -> Result<(), Error> {
        tracing::warn!(
            lane = self.index,
            transactions = group.len(),
            "applying a group one by one after: {}",
            crate::error::Chain(&first)
        );
        for transaction in group {
            let statements = one_by_one(transaction);
            self.commit(std::slice::from_ref(transaction), &statements, Packing::Alone).await?;
        }
        Ok(())
    }

    /// One target transaction, tried again on deadlocks and lock waits.
    async fn commit(&mut self, group: &[Transaction], statements: &[Statement], packing: Packing) -> Result<(), Error> {
        let mut tries = 0;
        loop {
            let error = match self.commit_once(group, statements, packing).await {
                Ok(()) => return Ok(()),
                Err(error) => error,
            };
            self.session.roll_back(Deadline::after(GROUP_PATIENCE)).await;
            if !is_passing(&error) || tries == PASSING_TRIES {
                return Err(error);
            }
            tries += 1;
            tokio::time::sleep(Duration::from_millis(10 << tries.min(6))).await;
        }
    }

    async fn commit_once(
        &mut self,
        group: &[Transaction],
        statements: &[Statement],
        packing: Packing,
    ) -> Result<(), Error> {
        let deadline = Deadline::after(GROUP_PATIENCE);
        let bytes = self.send(group, statements, "BEGIN", packing, deadline).await?;
        self.write_progress_and_commit(group, deadline).await?;
        self.finish(group, bytes);
        Ok(())
    }

    /// Sends the statements behind `head`, and checks what each of them did.
    async fn send(
        &mut self,
        group: &[Transaction],
        statements: &[Statement],
        head: &str,
        packing: Packing,
        deadline: Deadline,
    ) -> Result<u64, Error> {
        let limit = match packing {
            Packing::Together => self.session.connection().server().max_allowed_packet,
            Packing::Alone => 0,
        };
        let limit = usize::try_from(limit).unwrap_or(1 << 20);
        let mut bytes = 0;
        for packet in packets(statements, head, limit) {
            bytes += packet.sql.len() as u64;
            bytes += self.send_large_cells(group, &packet, deadline).await?;
            let outcome = self.session.connection().run_many(&packet.sql, "applying changes", deadline).await;
            match outcome {
                Ok(done) => {
                    self.check(group, &packet, &done, deadline).await?;
                    for number in 0..packet.large_cells().len() {
                        let forget = large::forget(number);
                        let done = self.session.connection().run(forget, "forgetting a large value", deadline).await;
                        done.map_err(|cause| refused(group, &packet, cause))?;
                    }
                }
                Err(cause) => return Err(refused(group, &packet, cause)),
            }
        }
        Ok(bytes)
    }

    /// Brings the packet's large cells into variables of the session, part by part.
    async fn send_large_cells(
        &mut self,
        group: &[Transaction],
        packet: &Packet<'_>,
        deadline: Deadline,
    ) -> Result<u64, Error> {
        let mut bytes = 0;
        for (number, cell) in packet.large_cells().iter().enumerate() {
            for part in large::parts(cell.value(group), number) {
                bytes += part.len() as u64;
                let done = self.session.connection().run(part, "sending a large value", deadline).await;
                let done = done.map_err(|cause| refused(group, packet, cause))?;
                // Longer than max_allowed_packet the value becomes NULL, with no more than a warning.
                if let (true, Some(statement)) = (done.warnings > 0, packet.only_statement()) {
                    let (key, position) = name(group, statement);
                    let warning = "it is larger than the target's max_allowed_packet".to_owned();
                    return Err(Error::Altered { table: statement.table.target.clone(), key, position, warning });
                }
            }
        }
        Ok(bytes)
    }

    async fn check(
        &mut self,
        group: &[Transaction],
        packet: &Packet<'_>,
        done: &[Done],
        deadline: Deadline,
    ) -> Result<(), Error> {
        for (place, statement) in packet.statements() {
            // A statement without an answer did nothing that anybody knows of.
            let did = done.get(place).cloned().unwrap_or_default();
            let (key, position) = name(group, statement);
            if did.rows != statement.expected_rows {
                return Err(Error::Mismatch {
                    table: statement.table.target.clone(),
                    key,
                    position,
                    expected: statement.expected_rows,
                    found: did.rows,
                });
            }
            if did.warnings > 0 && !statement.relaxed {
                let target = statement.table.target.to_string();
                if !self.warns_harmlessly.contains(&target) {
                    self.judge_warning(packet, statement, key, position, deadline).await?;
                    self.warns_harmlessly.insert(target);
                }
            }
        }
        Ok(())
    }

    /// Only the warnings of the last statement can be asked for: anything else goes the way of one by one.
    async fn judge_warning(
        &mut self,
        packet: &Packet<'_>,
        statement: &Statement,
        key: String,
        position: String,
        deadline: Deadline,
    ) -> Result<(), Error> {
        let table = statement.table.target.clone();
        let altered = |warning| Error::Altered { table, key, position, warning };
        if !packet.ends_with(statement) {
            return Err(altered("a warning, to be looked at one by one".to_owned()));
        }
        let failed = |cause| Error::Target { doing: "read the warnings of", position: String::new(), cause };
        let rows =
            self.session.connection().rows("SHOW WARNINGS", "reading warnings", deadline).await.map_err(failed)?;
        for row in &rows {
            let code: u16 = row.number("Code").map_err(failed)?;
            if !HARMLESS_WARNINGS.contains(&code) {
                return Err(altered(row.text("Message").map_err(failed)?));
            }
        }
        Ok(())
    }

    async fn write_progress_and_commit(&mut self, group: &[Transaction], deadline: Deadline) -> Result<(), Error> {
        let low_water = self.shared.low_water();
        self.forget_below(low_water.number);
        let ids = group.iter().filter_map(|transaction| transaction.id.clone());
        let mut applied = self.applied.clone();
        ids.for_each(|id| applied.insert(id));
        let sql = self.session.progress_statement(Some((&low_water, &applied)))?;
        let position = || group.last().map(|transaction| transaction.position.clone()).unwrap_or_default();
        let failed = |doing| move |cause| Error::Target { doing, position: String::new(), cause };
        let ended = group.iter().filter_map(|transaction| transaction.ends_prepared.as_deref());
        let mut packet = String::new();
        for xid in ended {
            packet.push_str(&self.session.ledger().forget_prepared_statement(xid));
            packet.push_str("; ");
        }
        packet.push_str(&sql);
        let mut done = self
            .session
            .connection()
            .run_many(packet.as_bytes(), "writing the lane's line", deadline)
            .await
            .map_err(failed("write progress to"))?;
        self.session.check_fence(&done.pop().unwrap_or_default())?;
        FaultPoint::BeforeLaneCommit.reach();
        self.session.connection().run("COMMIT", "committing", deadline).await.map_err(|cause| Error::Target {
            doing: "commit to",
            position: position(),
            cause,
        })?;
        FaultPoint::AfterLaneCommit.reach();
        self.applied = applied;
        for transaction in group {
            self.recent.extend(transaction.id.clone().map(|id| (transaction.number, id)));
        }
        Ok(())
    }

    fn finish(&self, group: &[Transaction], bytes: u64) {
        self.shared.finish(group.iter().map(|transaction| transaction.number));
        // The applier is gone only when the run ends, and then nobody counts.
        let _ = self.committed.send(Committed {
            lane: self.index,
            transactions: group.len() as u64,
            rows: group.iter().map(|transaction| transaction.changes.len() as u64).sum(),
            weight: group.iter().map(|transaction| transaction.weight() as u64).sum(),
            bytes,
        });
    }

    /// A piece of a large transaction. An error of the connection is the whole transaction's, and the run begins
    /// anew; any other is looked at within the piece, so that it has its row.
    async fn apply_piece(&mut self, piece: Transaction, last: bool) -> Result<(), Error> {
        let deadline = Deadline::after(GROUP_PATIENCE);
        let group = std::slice::from_ref(&piece);
        if !std::mem::replace(&mut self.piece_is_open, true) {
            self.run_of_piece("BEGIN", deadline).await?;
        }
        self.run_of_piece("SAVEPOINT piece", deadline).await?;
        let bytes = loop {
            let statements = merged(group, &self.with_twins);
            let error = match self.send(group, &statements, NOTHING, Packing::Together, deadline).await {
                Ok(bytes) => break bytes,
                Err(error) if is_for_whole_run(&error) => return Err(error),
                Err(error) => error,
            };
            self.run_of_piece("ROLLBACK TO SAVEPOINT piece", deadline).await?;
            if !self.learns_of_twins(&error) {
                break self.send(group, &one_by_one(&piece), NOTHING, Packing::Alone, deadline).await?;
            }
        };
        if last {
            self.write_progress_and_commit(group, deadline).await?;
            self.piece_is_open = false;
            self.finish(group, bytes);
        } else {
            FaultPoint::BetweenPieces.reach();
            let _ = self.committed.send(Committed {
                lane: self.index,
                transactions: 0,
                rows: piece.changes.len() as u64,
                weight: piece.weight() as u64,
                bytes,
            });
        }
        Ok(())
    }

    async fn run_of_piece(&mut self, sql: &str, deadline: Deadline) -> Result<(), Error> {
        let failed = |cause| Error::Target { doing: "apply a piece to", position: String::new(), cause };
        self.session.connection().run(sql, "applying a piece", deadline).await.map(|_| ()).map_err(failed)
    }
}

/// The row and the source position of a statement's first change.
fn name(group: &[Transaction], statement: &Statement) -> (String, String) {
    let (transaction, change) = statement.first;
    let Some(whole) = group.get(transaction) else { return Default::default() };
    let key = whole.changes.get(change).map(|change| name_row(change, &whole.cells)).unwrap_or_default();
    (key, whole.position.clone())
}

fn refused(group: &[Transaction], packet: &Packet<'_>, cause: mysql::Error) -> Error {
    let position = group.first().map(|transaction| transaction.position.clone()).unwrap_or_default();
    match packet.only_statement() {
        Some(statement) if !cause.is_fatal() => {
            let (key, position) = name(group, statement);
            Error::Refused { table: statement.table.target.clone(), key, position, cause }
        }
        _ => Error::Target { doing: "apply changes to", position, cause },
    }
}

fn cause_of(error: &Error) -> Option<&mysql::Error> {
    match error {
        Error::Target { cause, .. } | Error::Refused { cause, .. } => Some(cause),
        Error::Ledger(ledger::Error::Database { cause, .. }) => Some(cause),
        _ => None,
    }
}

fn is_passing(error: &Error) -> bool {
    cause_of(error).is_some_and(|cause| matches!(cause.server_code(), Some(1205 | 1213)))
}

/// Errors that applying one by one would only meet again: the connection, another run, a lock that does not go.
fn is_for_whole_run(error: &Error) -> bool {
    matches!(error, Error::Ledger(_) | Error::Stopped)
        || is_passing(error)
        || cause_of(error).is_some_and(mysql::Error::is_fatal)
}
