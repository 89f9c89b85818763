//! Where replication begins when there was no full copy (mode `incremental`), or when a user gave another place with
//! the call that starts a task.

use std::time::Duration;

use super::copy::structures;
use super::error::Error;
use super::opening::Opened;
use super::start_time;
use crate::catalogue::{Collation, StoredDatabase, StoredShape};
use crate::ledger::{AppliedSet, LowWater, Phase, SavedStructure};
use crate::model::subtask::{StartAt, SubtaskConfig};
use crate::model::{BinlogPosition, Flavor, Generation, SourcePosition, TableName};
use crate::mysql::{Connection, Deadline, Purpose, string_literal};
use crate::snapshot::consistent;

const PATIENCE: Duration = Duration::from_secs(60);
/// Statements sent to the ledger in one transaction.
const LEDGER_STATEMENTS: usize = 100;

/// Puts the start into the ledger, with the source's structures as they are now. Where a DDL has changed them since
/// the start, the check against the binlog's descriptions will say so. `restart`: forget what the ledger knew before,
/// and note that this start, asked for under this generation, was taken.
pub async fn begin(
    opened: &mut Opened,
    config: &SubtaskConfig,
    at: &StartAt,
    restart: Option<Generation>,
) -> Result<(), Error> {
    let deadline = Deadline::after(PATIENCE);
    let failed = |doing| move |cause| Error::Source { doing, cause };
    let mut connection =
        Connection::open(&config.source, Purpose::Asking, deadline).await.map_err(failed("open a session"))?;
    let position = position(&mut connection, opened, config, at).await?;
    let structures = structures_now(&mut connection, opened, deadline).await?;
    let ledger = opened.ledger.clone();
    let wrong = |error: crate::catalogue::CatalogueError| Error::Internal(error.to_string());
    let mut lines = vec![ledger.source_identity_statement(&opened.source.identity)];
    for (name, defaults) in &structures.databases {
        let structure = StoredDatabase::to_json(&Collation::new(&defaults.collation)).map_err(wrong)?;
        lines.push(ledger.structure_statement(&SavedStructure { name: TableName::new(name.clone(), ""), structure }));
    }
    for table in &structures.tables {
        let structure = StoredShape::to_json(&table.shape).map_err(wrong)?;
        lines.push(ledger.structure_statement(&SavedStructure { name: table.name.clone(), structure }));
    }
    // Until the phase is set, a run that ends begins here again: so what is forgotten goes first.
    if let Some(generation) = restart {
        let mut forget = vec![ledger.phase_statement(Phase::New)];
        forget.extend(ledger.restart_statements(generation));
        opened.control.transact(&forget, None, "begin anew in", Deadline::after(PATIENCE)).await?;
    }
    for some in lines.chunks(LEDGER_STATEMENTS) {
        opened.control.transact(some, None, "record structures in", Deadline::after(PATIENCE)).await?;
    }
    let low_water = LowWater { number: 0, position, parts: 0 };
    let phase = [ledger.phase_statement(Phase::Replicating)];
    let none = AppliedSet::default();
    let deadline = Deadline::after(PATIENCE);
    opened.control.transact(&phase, Some((&low_water, &none)), "record the start in", deadline).await?;
    opened.found = ledger.reread(&mut opened.control, deadline).await?;
    Ok(())
}

/// Waits for tables that are locked; nothing of ours is in anybody's way meanwhile.
async fn structures_now(
    connection: &mut Connection,
    opened: &Opened,
    deadline: Deadline,
) -> Result<structures::SourceStructures, Error> {
    consistent::bound_lock_waits(connection, deadline).await?;
    loop {
        let read = structures::read(connection, &opened.filter, &opened.facts.settings, deadline).await?;
        if let Some(structures) = read {
            return Ok(structures);
        }
        if deadline.is_over() {
            return Err(crate::snapshot::Error::StructuresLocked { waited_s: PATIENCE.as_secs() }.into());
        }
    }
}

async fn position(
    connection: &mut Connection,
    opened: &Opened,
    config: &SubtaskConfig,
    at: &StartAt,
) -> Result<SourcePosition, Error> {
    match at {
        StartAt::Position { file, offset, gtid } => {
            let binlog = BinlogPosition::new(file.clone().unwrap_or_default(), offset.unwrap_or(4).max(4));
            match gtid.as_ref().filter(|gtid| !gtid.is_empty()) {
                Some(gtid) => Ok(SourcePosition { binlog, gtid: Some(gtid.replace(['\n', ' '], "")) }),
                None if binlog.file.is_empty() => {
                    Err(Error::Rules { why: "the start names neither a binlog file nor a GTID set".to_owned() })
                }
                None => {
                    let gtid = gtid_of_position(connection, opened, &binlog, Deadline::after(PATIENCE)).await?;
                    Ok(SourcePosition { binlog, gtid })
                }
            }
        }
        StartAt::Time { at_us } => {
            let found = start_time::find(connection, opened, config, *at_us).await?;
            let gtid = match found.gtid {
                Some(gtid) => Some(gtid),
                None => gtid_of_position(connection, opened, &found.binlog, Deadline::after(PATIENCE)).await?,
            };
            Ok(SourcePosition { gtid, ..found })
        }
    }
}

/// The GTIDs before a position. MariaDB can tell; on MySQL the position alone is gone on from.
async fn gtid_of_position(
    connection: &mut Connection,
    opened: &Opened,
    binlog: &BinlogPosition,
    deadline: Deadline,
) -> Result<Option<String>, Error> {
    if opened.source.server.flavor == Flavor::MySql {
        return Ok(None);
    }
    let sql = format!("SELECT BINLOG_GTID_POS({}, {}) AS gtid", string_literal(&binlog.file), binlog.offset);
    let failed = |cause| Error::Source { doing: "turn a position into GTIDs", cause };
    let row = connection.first_row(&sql, "turning a position into GTIDs", deadline).await.map_err(failed)?;
    row.optional_text("gtid").map_err(failed)
}
