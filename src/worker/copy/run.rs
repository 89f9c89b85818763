//! One pass of the copy: opens a snapshot, plans, prepares, moves rows, makes keys.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::continuing::continuing;
use super::keys;
use super::pass::Pass;
use super::pipeline::{KEEPALIVE, Pipeline, TableJob};
use super::prepared::{Reading, Watched};
use super::structures::{self, SourceStructures};
use crate::faults::FaultPoint;
use crate::ledger::{LaneSession, LowWater, Phase, PreparedTransaction, Snapshot};
use crate::model::subtask::SubtaskConfig;
use crate::model::{BinlogPosition, SourcePosition};
use crate::mysql::{Connection, Deadline, Purpose};
use crate::replicate::applier::MemoryLimits;
use crate::snapshot::consistent;
use crate::worker::error::Error;
use crate::worker::floors::snapshots_in_use;
use crate::worker::opening::{Opened, our_clock_us};
use crate::worker::progress::Progress;
use crate::worker::replication::server_id;

/// Opening a snapshot and making the target's tables; thousands of tables take minutes.
const PREPARE_PATIENCE: Duration = Duration::from_secs(1800);
const LEDGER_PATIENCE: Duration = Duration::from_secs(60);

/// Copies what is not yet copied. On return all tables are whole.
pub async fn copy(
    opened: &mut Opened,
    config: &SubtaskConfig,
    memory: MemoryLimits,
    progress: &Arc<Progress>,
    stop: &CancellationToken,
) -> Result<(), Error> {
    let number = opened.found.snapshots.iter().map(|snapshot| snapshot.number).max().unwrap_or(0) + 1;
    let pairs = usize::try_from(config.export_threads.min(config.import_threads).clamp(1, 16)).unwrap_or(1);
    let deadline = Deadline::after(PREPARE_PATIENCE);
    let filter = Arc::clone(&opened.filter);
    let settings = opened.facts.settings.clone();
    let watched = Watched::begin(config, opened.source.has_binlog, deadline).await?;
    let mut consistent = consistent::open(&config.source, pairs, deadline, |connection| {
        let (filter, settings) = (Arc::clone(&filter), settings.clone());
        async move { structures::read(connection, &filter, &settings, deadline).await }.boxed()
    })
    .await?;
    FaultPoint::SnapshotOpened.reach();
    estimate(config, &mut consistent.structures).await?;
    let position = match (consistent.position, config.mode.replicates()) {
        (Some(position), _) => position,
        (None, true) => return Err(Error::NoBinlog),
        // Mode `full` needs no place to go on from.
        (None, false) => SourcePosition { binlog: BinlogPosition::new("", 0), gtid: None },
    };
    for object in &consistent.structures.not_carried {
        progress.note(our_clock_us(), format!("not carried by the copy: {object}"));
    }
    let prepared = prepared_at(opened, config, watched, &position, stop, deadline).await?;
    let snapshot = Snapshot { number, position, prepared };
    let half_copied = continuing(opened, config, &consistent.structures, &snapshot, stop, deadline).await?;
    let mut pass = Pass { opened, config, snapshot, progress };
    let jobs = pass.prepare(&consistent.structures, half_copied, deadline).await?;
    let foreign_keys = jobs.foreign_keys;
    pass.begin_progress(&consistent.structures, &jobs.tables);
    move_rows(pass.opened, consistent.sessions, jobs.tables, memory, progress, stop).await?;
    keys::make(&mut opened.control, &foreign_keys).await?;
    FaultPoint::BeforeCopyEnds.reach();
    finish(opened, config).await?;
    FaultPoint::AfterCopyEnds.reach();
    progress.copy_done();
    Ok(())
}

/// What the source has prepared and not ended at the snapshot's position.
async fn prepared_at(
    opened: &mut Opened,
    config: &SubtaskConfig,
    watched: Option<Watched>,
    position: &SourcePosition,
    stop: &CancellationToken,
    deadline: Deadline,
) -> Result<Vec<PreparedTransaction>, Error> {
    let Some(watched) = watched else { return Ok(Vec::new()) };
    let reading = Reading {
        source: &config.source,
        server_id: server_id(opened),
        facts: &opened.facts,
        source_identity: &opened.source.identity,
    };
    watched.open_at(position, &reading, &mut opened.control, stop, deadline).await
}

/// Statistics open every table, so they are asked for when nothing is locked any more.
async fn estimate(config: &SubtaskConfig, structures: &mut SourceStructures) -> Result<(), Error> {
    let deadline = Deadline::after(PREPARE_PATIENCE);
    let failed = |cause| Error::Source { doing: "open a session", cause };
    let mut asking = Connection::open(&config.source, Purpose::Asking, deadline).await.map_err(failed)?;
    consistent::bound_lock_waits(&mut asking, deadline).await?;
    structures::estimate(&mut asking, structures, deadline).await?;
    asking.close(deadline.at_most(Duration::from_secs(1))).await;
    Ok(())
}

/// Runs the pairs side by side; the first that fails ends all.
async fn move_rows(
    opened: &mut Opened,
    sessions: Vec<Connection>,
    tables: Vec<TableJob>,
    memory: MemoryLimits,
    progress: &Arc<Progress>,
    stop: &CancellationToken,
) -> Result<(), Error> {
    let halt = stop.child_token();
    let (pairs, room) = (sessions.len() as u64, memory.under_way_bytes);
    let pipeline = Arc::new(Pipeline::new(tables, pairs, room, Arc::clone(progress), halt.clone()));
    let mut running: JoinSet<Result<(), Error>> = JoinSet::new();
    for (index, mut source) in sessions.into_iter().enumerate() {
        let pipeline = Arc::clone(&pipeline);
        let ledger = opened.ledger.clone();
        running.spawn(async move {
            let lane = format!("copy{index}");
            let mut target = LaneSession::open(&ledger, &lane, Deadline::after(LEDGER_PATIENCE)).await?;
            pipeline.work(&mut source, &mut target).await?;
            target.close(Deadline::after(Duration::from_secs(1))).await;
            Ok(())
        });
    }
    let mut first_error = None;
    let mut keepalive = tokio::time::interval(KEEPALIVE);
    loop {
        let joined = tokio::select! {
            joined = running.join_next() => match joined {
                Some(joined) => joined,
                None => break,
            },
            _ = keepalive.tick() => {
                opened.control.check(Deadline::after(KEEPALIVE)).await?;
                continue;
            }
        };
        let outcome = joined.unwrap_or_else(|error| Err(Error::Internal(error.to_string())));
        if let Err(error) = outcome {
            halt.cancel();
            // The cause, not what followed from it.
            if first_error.is_none() || matches!(first_error, Some(Error::Stopped)) {
                first_error = Some(error);
            }
        }
    }
    first_error.map_or(Ok(()), Err)
}

/// All rows and keys are there: from now on the binlog is followed, or nothing is left to do.
async fn finish(opened: &mut Opened, config: &SubtaskConfig) -> Result<(), Error> {
    let deadline = Deadline::after(LEDGER_PATIENCE);
    let ledger = opened.ledger.clone();
    opened.found = ledger.reread(&mut opened.control, deadline).await?;
    let phase = if config.mode.replicates() { Phase::Replicating } else { Phase::Finished };
    let in_use = snapshots_in_use(&opened.found);
    let first = opened
        .found
        .snapshots
        .iter()
        .filter(|snapshot| in_use.contains(&snapshot.number))
        .min_by_key(|snapshot| snapshot.number)
        .or_else(|| opened.found.snapshots.iter().max_by_key(|snapshot| snapshot.number));
    let low_water = first.map(|snapshot| LowWater { number: 0, position: snapshot.position.clone(), parts: 0 });
    let none = crate::ledger::AppliedSet::default();
    let progress = low_water.as_ref().map(|low_water| (low_water, &none));
    let mut lines = vec![ledger.phase_statement(phase)];
    for prepared in first.iter().flat_map(|snapshot| &snapshot.prepared) {
        lines.push(ledger.prepared_statement(prepared)?);
    }
    opened.control.transact(&lines, progress, "end the copy in", deadline).await?;
    opened.found = ledger.reread(&mut opened.control, Deadline::after(LEDGER_PATIENCE)).await?;
    Ok(())
}
