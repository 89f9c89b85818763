//! Runs a DDL exactly once: announced before, recorded after, and decided by fingerprints when a run ended in
//! between.

use std::time::Duration;

use super::{environment, fingerprint};
use crate::faults::FaultPoint;
use crate::ledger::{AnnouncedDdl, AppliedSet, LaneSession, LowWater, StructureChange};
use crate::model::TableName;
use crate::mysql::Deadline;
use crate::replicate::error::Error;

/// An ALTER copies the table; only a dead server takes longer.
const DDL_PATIENCE: Duration = Duration::from_secs(7 * 24 * 3600);
const LEDGER_PATIENCE: Duration = Duration::from_secs(60);

/// A DDL to be run.
#[derive(Debug)]
pub struct Ddl {
    pub after: LowWater,
    pub source_statement: String,
    pub target_statement: String,
    pub environment: String,
    pub repeatable: bool,
    pub touched: Vec<TableName>,
    pub structures: Vec<StructureChange>,
    pub position: String,
}

/// Announces, runs and records. Nothing else may be under way.
/// `applied`: what must be recorded beside the low-water.
pub async fn apply(
    control: &mut LaneSession,
    ddl: Ddl,
    low_water: &LowWater,
    applied: &AppliedSet,
) -> Result<(), Error> {
    let before = if ddl.repeatable { Vec::new() } else { fingerprints(control, &ddl.touched).await? };
    let announced = AnnouncedDdl {
        after: ddl.after,
        source_statement: ddl.source_statement,
        target_statement: ddl.target_statement,
        environment: ddl.environment,
        repeatable: ddl.repeatable,
        before,
        structures: ddl.structures,
    };
    FaultPoint::BeforeDdlAnnounced.reach();
    let statement = control.ledger().announce_statement(&announced)?;
    control
        .transact(&[statement], Some((low_water, applied)), "announce a DDL in", Deadline::after(LEDGER_PATIENCE))
        .await?;
    run(control, &announced, &ddl.position).await?;
    record(control, &announced, applied).await
}

/// What an earlier run announced and did not record: run now, or recorded if it had been. `applied`: what must be
/// recorded beside its place.
pub async fn settle(control: &mut LaneSession, announced: &AnnouncedDdl, applied: &AppliedSet) -> Result<(), Error> {
    let position = announced.after.position.to_string();
    let has_run = if announced.repeatable {
        false
    } else {
        let tables: Vec<TableName> = announced.before.iter().map(|print| print.table.clone()).collect();
        let now = fingerprints(control, &tables).await?;
        fingerprint::has_changed(&announced.before, &now).ok_or_else(|| Error::UndecidedDdl {
            statement: announced.source_statement.clone(),
            position: position.clone(),
        })?
    };
    tracing::info!(has_run, "settling the DDL that was under way at {position}: {}", announced.target_statement);
    if !has_run {
        run(control, announced, &position).await?;
    }
    record(control, announced, applied).await
}

async fn fingerprints(
    control: &mut LaneSession,
    tables: &[TableName],
) -> Result<Vec<crate::ledger::Fingerprint>, Error> {
    fingerprint::read(control.connection(), tables, Deadline::after(LEDGER_PATIENCE))
        .await
        .map_err(|cause| Error::Target { doing: "read structures of", position: String::new(), cause })
}

async fn run(control: &mut LaneSession, announced: &AnnouncedDdl, position: &str) -> Result<(), Error> {
    let target = |doing| move |cause| Error::Target { doing, position: position.to_owned(), cause };
    let short = Deadline::after(LEDGER_PATIENCE);
    control
        .connection()
        .run_many(announced.environment.as_bytes(), "setting the session for a DDL", short)
        .await
        .map_err(target("set the session for a DDL of"))?;
    FaultPoint::BeforeDdl.reach();
    let outcome =
        control.connection().run(&announced.target_statement, "applying a DDL", Deadline::after(DDL_PATIENCE)).await;
    FaultPoint::AfterDdl.reach();
    if control.connection().is_open() {
        control
            .connection()
            .run_many(environment::restore(&announced.environment).as_bytes(), "setting the session back", short)
            .await
            .map_err(target("set the session back at"))?;
    }
    outcome.map(|_| ()).map_err(|cause| Error::DdlRefused {
        statement: announced.target_statement.clone(),
        position: position.to_owned(),
        cause,
    })
}

async fn record(control: &mut LaneSession, announced: &AnnouncedDdl, applied: &AppliedSet) -> Result<(), Error> {
    let ledger = control.ledger().clone();
    let mut statements: Vec<String> =
        announced.structures.iter().map(|change| ledger.structure_change_statement(change)).collect();
    statements.push(ledger.withdraw_statement());
    let deadline = Deadline::after(LEDGER_PATIENCE);
    control.transact(&statements, Some((&announced.after, applied)), "record a DDL in", deadline).await?;
    FaultPoint::AfterDdlRecorded.reach();
    Ok(())
}

/// Records a statement that was passed over: its place, and what the catalogue learned from it.
pub async fn pass_over(
    control: &mut LaneSession,
    after: &LowWater,
    structures: &[StructureChange],
    applied: &AppliedSet,
) -> Result<(), Error> {
    let ledger = control.ledger().clone();
    let statements: Vec<String> = structures.iter().map(|change| ledger.structure_change_statement(change)).collect();
    let deadline = Deadline::after(LEDGER_PATIENCE);
    FaultPoint::BeforeStructureSaved.reach();
    control.transact(&statements, Some((after, applied)), "record a structure in", deadline).await?;
    Ok(())
}
