//! A session that may write to the target under this run's generation.

use std::time::Duration;

use super::error::Error;
use super::progress::{AppliedSet, LowWater};
use super::tables;
use super::takeover::Ledger;
use crate::mysql::{Connection, Deadline, Done, Purpose, string_literal};

/// How long a fresh session waits for its lane's lock. Whoever holds it was killed by the takeover before.
const LOCK_PATIENCE: Duration = Duration::from_secs(10);

/// A connection that holds its lane's lock. Everything it commits goes through [`Self::transact`], which fails
/// inside the target when another run has taken over. A lost session is opened anew, by the same rule.
#[derive(Debug)]
pub struct LaneSession {
    connection: Connection,
    ledger: Ledger,
    lane: String,
}

impl LaneSession {
    /// Connects, takes the lane's lock, and only then compares the generation and makes the lane's line.
    pub async fn open(ledger: &Ledger, lane: &str, deadline: Deadline) -> Result<Self, Error> {
        let failed = |doing| move |cause| Error::Database { doing, id: ledger.id(), cause };
        let mut connection = Connection::open(ledger.endpoint(), Purpose::Writing, deadline)
            .await
            .map_err(failed("open a session for"))?;
        let patience = LOCK_PATIENCE.min(deadline.remaining()).as_secs().max(1);
        let sql = format!("SELECT GET_LOCK({}, {patience}) AS got", string_literal(&ledger.lock_name(lane)));
        let row = connection
            .first_row(&sql, "taking the lane's lock", deadline.at_most(LOCK_PATIENCE + Duration::from_secs(5)))
            .await
            .map_err(failed("lock a lane of"))?;
        let got: Option<u8> = row.optional_number("got").map_err(failed("lock a lane of"))?;
        if got != Some(1) {
            return Err(Error::StillHeld { id: ledger.id(), lane: lane.to_owned() });
        }
        // The locking read of the run's line puts this insert either before a takeover, which then finds the lane,
        // or after it, when the generation no longer matches.
        let insert = format!(
            "INSERT IGNORE INTO {lanes} (ledger_id, lane, generation, counter, low_water, applied) \
             SELECT ledger_id, {lane}, generation, 0, NULL, '' FROM {runs} \
             WHERE ledger_id = {id} AND generation = {generation} FOR UPDATE",
            lanes = ledger.table(tables::LANE),
            runs = ledger.table(tables::RUN),
            lane = string_literal(lane),
            id = ledger.id_literal(),
            generation = ledger.generation(),
        );
        connection.run(insert, "making the lane's line", deadline).await.map_err(failed("write a lane of"))?;
        let mut session = Self { connection, ledger: ledger.clone(), lane: lane.to_owned() };
        session.check(deadline).await?;
        Ok(session)
    }

    pub fn connection(&mut self) -> &mut Connection {
        &mut self.connection
    }

    pub fn lane(&self) -> &str {
        &self.lane
    }

    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Compares the generation of the lane's line with ours; also keeps the session from being idle.
    pub async fn check(&mut self, deadline: Deadline) -> Result<(), Error> {
        let sql = format!(
            "SELECT generation FROM {} WHERE ledger_id = {} AND lane = {}",
            self.ledger.table(tables::LANE),
            self.ledger.id_literal(),
            string_literal(&self.lane)
        );
        let failed = |cause| Error::Database { doing: "read a lane of", id: self.ledger.id(), cause };
        let row = self.connection.optional_row(&sql, "comparing generations", deadline).await.map_err(failed)?;
        let found: Option<u64> = row.map(|row| row.number("generation")).transpose().map_err(failed)?;
        if found == Some(self.ledger.generation().0) { Ok(()) } else { Err(self.superseded()) }
    }

    /// The statement that belongs into every transaction of this lane. Its count of matched rows must be 1 before
    /// COMMIT is sent ([`Self::check_fence`] sees to it).
    pub fn progress_statement(&self, progress: Option<(&LowWater, &AppliedSet)>) -> Result<String, Error> {
        let mut set = String::from("counter = counter + 1");
        if let Some((low_water, applied)) = progress {
            let json = serde_json::to_string(low_water)
                .map_err(|error| Error::Unreadable { id: self.ledger.id(), what: error.to_string() })?;
            set.push_str(", low_water = ");
            set.push_str(&string_literal(&json));
            set.push_str(", applied = ");
            set.push_str(&string_literal(&applied.to_string()));
        }
        Ok(format!(
            "UPDATE {} SET {set} WHERE ledger_id = {} AND lane = {} AND generation = {}",
            self.ledger.table(tables::LANE),
            self.ledger.id_literal(),
            string_literal(&self.lane),
            self.ledger.generation(),
        ))
    }

    /// Judges what the progress statement answered.
    pub fn check_fence(&self, done: &Done) -> Result<(), Error> {
        if done.rows == 1 { Ok(()) } else { Err(self.superseded()) }
    }

    /// Runs statements and the lane's progress as one transaction.
    pub async fn transact(
        &mut self,
        statements: &[String],
        progress: Option<(&LowWater, &AppliedSet)>,
        doing: &'static str,
        deadline: Deadline,
    ) -> Result<Vec<Done>, Error> {
        let id = self.ledger.id();
        let failed = |cause| Error::Database { doing, id, cause };
        let mut packet = String::from("BEGIN");
        for statement in statements {
            packet.push_str("; ");
            packet.push_str(statement);
        }
        packet.push_str("; ");
        packet.push_str(&self.progress_statement(progress)?);
        let outcome = self.connection.run_many(packet.as_bytes(), "writing to the ledger", deadline).await;
        let mut done = match outcome {
            Ok(done) => done,
            Err(cause) => {
                self.roll_back(deadline).await;
                return Err(failed(cause));
            }
        };
        let fence = done.pop().unwrap_or_default();
        if let Err(error) = self.check_fence(&fence) {
            self.roll_back(deadline).await;
            return Err(error);
        }
        self.connection.run("COMMIT", "committing", deadline).await.map_err(failed)?;
        done.remove(0);
        Ok(done)
    }

    /// Rolls back what is open. A session that cannot is closed by its failure, which rolls back as well.
    pub async fn roll_back(&mut self, deadline: Deadline) {
        if self.connection.is_open() {
            let _ = self.connection.run("ROLLBACK", "rolling back", deadline).await;
        }
    }

    pub fn superseded(&self) -> Error {
        Error::Superseded { id: self.ledger.id(), lane: self.lane.clone(), ours: self.ledger.generation() }
    }

    pub async fn close(self, deadline: Deadline) {
        self.connection.close(deadline).await;
    }
}
