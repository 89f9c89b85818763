//! Taking a ledger over from whoever held it before: at each open, at a restart, and before a cleanup.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::announced::AnnouncedDdl;
use super::copied::{CopiedRange, CopiedTable, Snapshot};
use super::error::Error;
use super::prepared::{self, PreparedTransaction};
use super::progress::{AppliedSet, LaneLine};
use super::structures::SavedStructure;
use super::{CONTROL_LANE, announced, copied, structures, tables};
use crate::faults::FaultPoint;
use crate::model::{Endpoint, Generation, LedgerId, SubtaskId};
use crate::mysql::{self, Connection, Deadline, Purpose, string_literal};

/// The next wait for a killed session to be gone; the whole is bounded by the caller's deadline.
const LOCK_WAIT_S: u64 = 2;

/// A ledger under one generation: what a session needs to write.
#[derive(Debug, Clone)]
pub struct Ledger {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    endpoint: Endpoint,
    meta_schema: String,
    id: LedgerId,
    generation: Generation,
}

/// How far a subtask has come as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Nothing was written but the ledger itself.
    New,
    /// Tables are being copied.
    Copying,
    /// All rows are copied; the binlog is followed from here on.
    Replicating,
    /// Mode `full` has ended.
    Finished,
}

impl Phase {
    fn as_str(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Copying => "copying",
            Self::Replicating => "replicating",
            Self::Finished => "finished",
        }
    }

    fn parse(text: &str) -> Option<Self> {
        [Self::New, Self::Copying, Self::Replicating, Self::Finished].into_iter().find(|phase| phase.as_str() == text)
    }

    /// The whole state machine. A phase may be written again: a restart does.
    pub fn may_become(self, next: Self) -> bool {
        match (self, next) {
            (Self::New, _) => true,
            (Self::Copying, next) => next != Self::New,
            (Self::Replicating, next) => next == Self::Replicating,
            (Self::Finished, next) => next == Self::Finished,
        }
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What the ledger held when it was taken over.
#[derive(Debug)]
pub struct Found {
    /// False: the ledger was not there and has been made.
    pub existed: bool,
    pub phase: Phase,
    /// The source's identity as first seen (server UUID, or server id and domain); empty when not yet known.
    pub source_identity: String,
    /// The generation under which a user last gave a start of their own; 0: never.
    pub restarted_under: Generation,
    pub lanes: Vec<LaneLine>,
    pub snapshots: Vec<Snapshot>,
    pub tables: Vec<CopiedTable>,
    pub ranges: Vec<CopiedRange>,
    pub structures: Vec<SavedStructure>,
    pub announced: Option<AnnouncedDdl>,
    pub prepared: Vec<PreparedTransaction>,
}

impl Ledger {
    /// Takes the ledger over under `generation`, in the order that makes it safe: raise the generation that every
    /// open compares; kill and outwait every session of an older run; raise the generation in every lane's line by a
    /// locking write; only then read.
    pub async fn take_over(
        endpoint: &Endpoint,
        meta_schema: &str,
        id: LedgerId,
        generation: Generation,
        subtask: &SubtaskId,
        deadline: Deadline,
    ) -> Result<(Self, Found), Error> {
        let ledger = Self {
            inner: Arc::new(Inner { endpoint: endpoint.clone(), meta_schema: meta_schema.to_owned(), id, generation }),
        };
        let failed = |doing| move |cause| Error::Database { doing, id, cause };
        let mut connection =
            Connection::open(endpoint, Purpose::Writing, deadline).await.map_err(failed("take over"))?;
        tables::make(&mut connection, meta_schema, deadline).await.map_err(failed("make"))?;
        let existed = ledger.raise_run(&mut connection, subtask, deadline).await?;
        FaultPoint::TakeoverRaised.reach();
        ledger.outwait_sessions(&mut connection, deadline).await?;
        FaultPoint::TakeoverOutwaited.reach();
        let raise = format!(
            "UPDATE {} SET generation = {generation} WHERE ledger_id = {} AND generation < {generation}",
            ledger.table(tables::LANE),
            ledger.id_literal(),
        );
        connection.run(raise, "raising the lanes' generation", deadline).await.map_err(failed("take over"))?;
        let found = ledger.read(&mut connection, existed, deadline).await?;
        connection.close(deadline.at_most(Duration::from_secs(1))).await;
        Ok((ledger, found))
    }

    pub fn id(&self) -> LedgerId {
        self.inner.id
    }

    pub fn generation(&self) -> Generation {
        self.inner.generation
    }

    pub fn endpoint(&self) -> &Endpoint {
        &self.inner.endpoint
    }

    pub fn meta_schema(&self) -> &str {
        &self.inner.meta_schema
    }

    pub(super) fn table(&self, name: &str) -> String {
        tables::qualified(&self.inner.meta_schema, name)
    }

    pub(super) fn id_literal(&self) -> String {
        format!("'{}'", self.inner.id)
    }

    pub(super) fn lock_name(&self, lane: &str) -> String {
        lock_name(self.inner.id, lane)
    }

    /// The statement that moves the ledger to another phase, for a transaction of the control lane.
    pub fn phase_statement(&self, phase: Phase) -> String {
        format!(
            "UPDATE {} SET phase = '{phase}' WHERE ledger_id = {} AND generation = {}",
            self.table(tables::RUN),
            self.id_literal(),
            self.generation()
        )
    }

    /// The statements with which everything this ledger knows of positions and structures is forgotten, and a start
    /// that a user gave under `generation` is noted.
    pub fn restart_statements(&self, generation: Generation) -> Vec<String> {
        let id = self.id_literal();
        let mut statements: Vec<String> =
            [tables::SNAPSHOT, tables::TABLE, tables::RANGE, tables::STRUCTURE, tables::ANNOUNCED, tables::PREPARED]
                .into_iter()
                .map(|table| format!("DELETE FROM {} WHERE ledger_id = {id}", self.table(table)))
                .collect();
        statements.push(format!(
            "UPDATE {} SET low_water = NULL, applied = '' WHERE ledger_id = {id} AND generation = {}",
            self.table(tables::LANE),
            self.generation()
        ));
        statements.push(format!(
            "UPDATE {} SET restarted_under = {generation} WHERE ledger_id = {id}",
            self.table(tables::RUN)
        ));
        statements
    }

    /// The statement that notes which server the source is.
    pub fn source_identity_statement(&self, identity: &str) -> String {
        format!(
            "UPDATE {} SET source_identity = {} WHERE ledger_id = {}",
            self.table(tables::RUN),
            string_literal(identity),
            self.id_literal()
        )
    }

    /// Raises the generation of the run's line, making it if it is not there. Whether it was there.
    async fn raise_run(
        &self,
        connection: &mut Connection,
        subtask: &SubtaskId,
        deadline: Deadline,
    ) -> Result<bool, Error> {
        let (id, generation) = (self.id(), self.generation());
        let failed = |cause| Error::Database { doing: "take over", id, cause };
        let doing = "raising the generation";
        let run = self.table(tables::RUN);
        let id_literal = self.id_literal();
        let insert = format!(
            "INSERT IGNORE INTO {run} (ledger_id, generation, format, task, source, phase, source_identity) \
             VALUES ({id_literal}, {generation}, {format}, {task}, {source}, 'new', '')",
            format = tables::FORMAT,
            task = string_literal(subtask.task.as_str()),
            source = string_literal(subtask.source.as_str()),
        );
        if connection.run(insert, doing, deadline).await.map_err(failed)?.rows == 1 {
            return Ok(false);
        }
        let raise = format!(
            "UPDATE {run} SET generation = {generation} WHERE ledger_id = {id_literal} AND generation < {generation}"
        );
        if connection.run(raise, doing, deadline).await.map_err(failed)?.rows == 1 {
            return Ok(true);
        }
        let sql = format!("SELECT generation FROM {run} WHERE ledger_id = {id_literal}");
        let found = connection.first_row(&sql, doing, deadline).await.map_err(failed)?;
        let ledger = Generation(found.number("generation").map_err(failed)?);
        match self.live_session(connection, deadline).await? {
            Some(connection) => Err(Error::TakenOver { id, ours: generation, ledger, connection }),
            None => Err(Error::GenerationStale { id, ours: generation, ledger }),
        }
    }

    /// A connection that holds the lock of any lane.
    async fn live_session(&self, connection: &mut Connection, deadline: Deadline) -> Result<Option<u64>, Error> {
        let failed = |cause| Error::Database { doing: "look for older sessions of", id: self.id(), cause };
        let sql = format!(
            "SELECT MAX(IS_USED_LOCK(CONCAT({}, lane))) AS holder FROM {} WHERE ledger_id = {}",
            string_literal(&self.lock_name("")),
            self.table(tables::LANE),
            self.id_literal()
        );
        let row = connection.first_row(&sql, "looking for older sessions", deadline).await.map_err(failed)?;
        row.optional_number("holder").map_err(failed)
    }

    /// Kills every session that holds a lane's lock, and waits until each lock is free.
    pub(super) async fn outwait_sessions(&self, connection: &mut Connection, deadline: Deadline) -> Result<(), Error> {
        let id = self.id();
        let failed = |cause| Error::Database { doing: "end older sessions of", id, cause };
        let sql = format!("SELECT lane FROM {} WHERE ledger_id = {}", self.table(tables::LANE), self.id_literal());
        let rows = connection.rows(&sql, "reading the lanes", deadline).await.map_err(failed)?;
        let mut lanes: Vec<String> =
            rows.iter().map(|row| row.text("lane")).collect::<Result<_, _>>().map_err(failed)?;
        if !lanes.iter().any(|lane| lane == CONTROL_LANE) {
            lanes.push(CONTROL_LANE.to_owned());
        }
        for lane in lanes {
            outwait(connection, &self.lock_name(&lane), deadline)
                .await
                .map_err(failed)?
                .then_some(())
                .ok_or(Error::StillHeld { id, lane })?;
        }
        Ok(())
    }

    /// What the ledger holds now, read by the run that owns it.
    pub async fn reread(&self, session: &mut super::LaneSession, deadline: Deadline) -> Result<Found, Error> {
        self.read(session.connection(), true, deadline).await
    }

    async fn read(&self, connection: &mut Connection, existed: bool, deadline: Deadline) -> Result<Found, Error> {
        let id = self.id();
        let failed = |cause| Error::Database { doing: "read", id, cause };
        let doing = "reading the ledger";
        let sql = format!(
            "SELECT phase, source_identity, format, restarted_under FROM {} WHERE ledger_id = {}",
            self.table(tables::RUN),
            self.id_literal()
        );
        let run = connection.first_row(&sql, doing, deadline).await.map_err(failed)?;
        let format: u32 = run.number("format").map_err(failed)?;
        if format > tables::FORMAT {
            return Err(Error::Unreadable { id, what: format!("layout {format}, and this version knows 1") });
        }
        let phase_text = run.text("phase").map_err(failed)?;
        let phase = Phase::parse(&phase_text)
            .ok_or_else(|| Error::Unreadable { id, what: format!("the phase {phase_text}") })?;
        Ok(Found {
            existed,
            phase,
            source_identity: run.text("source_identity").map_err(failed)?,
            restarted_under: Generation(run.number("restarted_under").map_err(failed)?),
            lanes: self.read_lanes(connection, deadline).await?,
            snapshots: copied::read_snapshots(self, connection, deadline).await?,
            tables: copied::read_tables(self, connection, deadline).await?,
            ranges: copied::read_ranges(self, connection, deadline).await?,
            structures: structures::read(self, connection, deadline).await?,
            announced: announced::read(self, connection, deadline).await?,
            prepared: prepared::read(self, connection, deadline).await?,
        })
    }

    async fn read_lanes(&self, connection: &mut Connection, deadline: Deadline) -> Result<Vec<LaneLine>, Error> {
        let id = self.id();
        let failed = |cause| Error::Database { doing: "read", id, cause };
        let sql = format!(
            "SELECT lane, low_water, applied FROM {} WHERE ledger_id = {}",
            self.table(tables::LANE),
            self.id_literal()
        );
        let rows = connection.rows(&sql, "reading the lanes", deadline).await.map_err(failed)?;
        let mut lines = Vec::with_capacity(rows.len());
        for row in rows {
            let lane = row.text("lane").map_err(failed)?;
            let applied = row.text("applied").map_err(failed)?;
            let low_water = row.optional_text("low_water").map_err(failed)?;
            lines.push(LaneLine {
                applied: AppliedSet::parse(&applied).ok_or_else(|| Error::Unreadable {
                    id,
                    what: format!("the applied set of lane {lane}: {applied}"),
                })?,
                low_water: low_water.map(|json| self.read_json(&json, "a low-water")).transpose()?,
                lane,
            });
        }
        Ok(lines)
    }

    pub(super) fn read_json<T: serde::de::DeserializeOwned>(&self, json: &str, what: &str) -> Result<T, Error> {
        serde_json::from_str(json)
            .map_err(|error| Error::Unreadable { id: self.id(), what: format!("{what}: {error}") })
    }

    pub(super) fn write_json<T: serde::Serialize>(&self, value: &T) -> Result<String, Error> {
        serde_json::to_string(value).map_err(|error| Error::Unreadable { id: self.id(), what: error.to_string() })
    }

    /// A ledger under a generation, without taking it over; for the cleanup, which has its own order.
    pub(super) fn unclaimed(endpoint: &Endpoint, meta_schema: &str, id: LedgerId, generation: Generation) -> Self {
        let inner = Inner { endpoint: endpoint.clone(), meta_schema: meta_schema.to_owned(), id, generation };
        Self { inner: Arc::new(inner) }
    }
}

/// At most 64 characters, the limit of both families: 3 + 32 + 1 + a lane of at most 16.
fn lock_name(id: LedgerId, lane: &str) -> String {
    format!("fm/{}/{lane}", id.0.simple())
}

/// Kills whoever holds the lock until it is free. False when the deadline ran out first: a big transaction is being
/// rolled back.
async fn outwait(connection: &mut Connection, lock: &str, deadline: Deadline) -> Result<bool, mysql::Error> {
    let name = string_literal(lock);
    let doing = "ending older sessions";
    loop {
        let holder: Option<u64> = connection
            .first_row(&format!("SELECT IS_USED_LOCK({name}) AS holder"), doing, deadline)
            .await?
            .optional_number("holder")?;
        if let Some(holder) = holder {
            match connection.run(format!("KILL {holder}"), doing, deadline).await {
                Ok(_) => {}
                // Gone between the question and the kill.
                Err(error) if error.server_code() == Some(1094) => {}
                Err(error) => return Err(error),
            }
        }
        let wait = LOCK_WAIT_S.min(deadline.remaining().as_secs());
        let got: Option<u8> = connection
            .first_row(&format!("SELECT GET_LOCK({name}, {wait}) AS got"), doing, deadline)
            .await?
            .optional_number("got")?;
        if got == Some(1) {
            connection.first_row(&format!("SELECT RELEASE_LOCK({name}) AS done"), doing, deadline).await?;
            return Ok(true);
        }
        if wait == 0 {
            return Ok(false);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_s_name_fits_both_families() {
        assert!(lock_name(LedgerId::new(), "control-123456789").len() <= 64);
    }

    #[test]
    fn phases_only_go_forward() {
        use Phase::{Copying, Finished, New, Replicating};
        for (from, to, allowed) in [
            (New, Copying, true),
            (New, Replicating, true),
            (Copying, Replicating, true),
            (Copying, Finished, true),
            (Replicating, Copying, false),
            (Finished, Replicating, false),
            (Copying, New, false),
            (Replicating, Replicating, true),
        ] {
            assert_eq!(from.may_become(to), allowed, "{from} to {to}");
        }
    }
}
