//! The body of one run: opens, copies what is to be copied, replicates.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::error::Error;
use super::opening::{Opened, open};
use super::progress::Progress;
use super::source_log::{SourceLog, Stored, judge};
use super::{copy, replication, start};
use crate::ledger::Phase;
use crate::model::report::Unit;
use crate::model::subtask::{SubtaskConfig, TaskMode};
use crate::model::{Generation, SubtaskId};
use crate::mysql::Deadline;
use crate::replicate::applier::MemoryLimits;

/// What a run tells its owner while it goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Open: what follows reads and writes.
    Ready,
    /// It has failed or is done, and is closing.
    Ending,
}

/// Everything a run needs.
pub struct RunContext {
    pub id: SubtaskId,
    pub generation: Generation,
    pub config: SubtaskConfig,
    pub memory: MemoryLimits,
    /// Finish what is in flight and end.
    pub stop: CancellationToken,
    pub progress: Arc<Progress>,
    pub stages: mpsc::UnboundedSender<Stage>,
    pub open_patience: Duration,
}

/// Runs to its end: Ok is "all work is done" (mode `full`); [`Error::Stopped`] is "as asked".
pub async fn run(context: RunContext) -> Result<(), Error> {
    let RunContext { id, generation, config, memory, stop, progress, stages, open_patience } = context;
    if let TaskMode::Dump | TaskMode::Load = config.mode {
        let mode = if config.mode == TaskMode::Dump { "dump" } else { "load" };
        return Err(Error::ModeUnsupported { mode });
    }
    let opening = open(&id, generation, &config, Deadline::after(open_patience));
    let opened = tokio::select! {
        () = stop.cancelled() => return Err(Error::Stopped),
        opened = tokio::time::timeout(open_patience, opening) => opened.map_err(|_| Error::OpeningTimedOut)??,
    };
    check_identity(&opened, &config, Deadline::after(open_patience)).await?;
    if config.ledger_kept && !opened.found.existed {
        progress.note(
            super::opening::our_clock_us(),
            "the ledger that was kept for this task is not in the target; the task starts from the beginning",
        );
    }
    // The owner is gone only when the process ends.
    let _ = stages.send(Stage::Ready);
    let outcome = Box::pin(work(opened, &config, memory, &progress, &stop)).await;
    let _ = stages.send(Stage::Ending);
    outcome
}

async fn work(
    mut opened: Opened,
    config: &SubtaskConfig,
    memory: MemoryLimits,
    progress: &Arc<Progress>,
    stop: &CancellationToken,
) -> Result<(), Error> {
    let restart = config.restart.as_ref().filter(|restart| restart.generation > opened.found.restarted_under);
    if let (Some(restart), true) = (restart, config.mode.replicates()) {
        start::begin(&mut opened, config, &restart.at, Some(restart.generation)).await?;
    } else if matches!(opened.found.phase, Phase::New | Phase::Copying) {
        if config.mode.copies() {
            progress.set_unit(Unit::Load);
            copy::run::copy(&mut opened, config, memory, progress, stop).await?;
        } else {
            let at = config
                .start
                .clone()
                .ok_or_else(|| Error::Rules { why: "mode incremental needs a start position".to_owned() })?;
            start::begin(&mut opened, config, &at, None).await?;
        }
    }
    match opened.found.phase {
        Phase::Finished => {
            progress.copy_done();
            Ok(())
        }
        _ => {
            progress.set_unit(Unit::Sync);
            Box::pin(replication::replicate(opened, config, memory, progress, stop)).await
        }
    }
}

/// A ledger belongs to the server it was begun with. By GTID another server of the same data may take its place:
/// whether it holds the data is found out here for a copy under way, and by replication for itself.
async fn check_identity(opened: &Opened, config: &SubtaskConfig, deadline: Deadline) -> Result<(), Error> {
    let (known, now) = (&opened.found.source_identity, &opened.source.identity);
    if known.is_empty() || known == now {
        return Ok(());
    }
    if !config.enable_gtid {
        return Err(Error::SourceReplaced {
            why: format!(
                "the source is another server than the one this task was begun with ({now} instead of {known}), and \
                 file positions of one mean nothing on another"
            ),
        });
    }
    let snapshot = opened.found.snapshots.first().filter(|_| opened.found.phase == Phase::Copying);
    if let Some(snapshot) = snapshot {
        let log = SourceLog::read(&config.source, &snapshot.position, deadline).await?;
        let stored = Stored { position: &snapshot.position, identity: known, by_gtid: true, is_consistent: true };
        judge(stored, &log)?;
    }
    Ok(())
}
