//! What is wanted of each worker, from the world. Pure.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::link::Fingerprint;
use crate::model::record::{SourceRecord, SubtaskRecord, TaskRecord};
use crate::model::subtask::{SubtaskConfig, Wanted, WantedSubtask};
use crate::model::{Epoch, Generation, SourceName, WorkerName};
use crate::scheduler::{Standing, World};

/// One subtask of a worker's set, and how it is told from the one before.
pub(super) struct Item {
    pub fingerprint: Fingerprint,
    task: Arc<TaskRecord>,
    source: Arc<SourceRecord>,
    subtask: Arc<SubtaskRecord>,
}

impl Item {
    pub(super) fn build(&self, stop_grace_s: u32) -> WantedSubtask {
        WantedSubtask {
            id: self.subtask.id.clone(),
            wanted: self.fingerprint.wanted,
            generation: self.subtask.generation,
            config: subtask_config(&self.task, &self.source, &self.subtask, stop_grace_s),
        }
    }
}

/// The set of every worker in office, an empty one for those without sources.
pub(super) fn sets(world: &World) -> BTreeMap<(WorkerName, Epoch), Vec<Item>> {
    let mut sets: BTreeMap<(WorkerName, Epoch), Vec<Item>> = world
        .workers
        .iter()
        .filter(|(_, worker)| worker.standing == Standing::InOffice)
        .map(|(name, worker)| ((name.clone(), worker.epoch), Vec::new()))
        .collect();
    let holders: BTreeMap<&SourceName, (WorkerName, Epoch)> =
        world.assignments.iter().map(|(source, given)| (source, (given.worker.clone(), given.worker_epoch))).collect();
    for (id, subtask) in &world.subtasks {
        let Some(set) = holders.get(&id.source).and_then(|holder| sets.get_mut(holder)) else { continue };
        let (Some(task), Some(source)) = (world.tasks.get(&id.task), world.sources.get(&id.source)) else { continue };
        if world.leaving.contains(id) {
            continue;
        }
        let fingerprint = Fingerprint {
            id: id.clone(),
            wanted: wanted_now(world, task, subtask),
            generation: subtask.generation,
            source: source.revision,
            task: task.revision,
            subtask: subtask.revision,
        };
        set.push(Item { fingerprint, task: task.clone(), source: source.clone(), subtask: subtask.clone() });
    }
    sets
}

/// Running only if a run of the present generation may be opened now: users want it, it has not ended already (a new
/// incarnation of its worker would not know that), its number was not used, and nothing abandoned is in its way.
fn wanted_now(world: &World, task: &TaskRecord, subtask: &SubtaskRecord) -> Wanted {
    let may_run = subtask.wanted == Wanted::Running
        && subtask.generation > Generation(0)
        && subtask.concluded().is_none()
        && !world.returning.contains(&subtask.id)
        && world.held_up_by(task).next().is_none();
    if may_run { Wanted::Running } else { Wanted::Stopped }
}

/// Everything a run needs, from what is stored.
pub fn subtask_config(
    task: &TaskRecord,
    source: &SourceRecord,
    subtask: &SubtaskRecord,
    stop_grace_s: u32,
) -> SubtaskConfig {
    let settings = &task.settings;
    SubtaskConfig {
        ledger_id: subtask.ledger_id,
        ledger_kept: subtask.ledger_kept,
        mode: settings.mode,
        on_duplicate: settings.on_duplicate,
        source: source.endpoint.clone(),
        enable_gtid: source.enable_gtid,
        names_ignore_case: source.server.names_ignore_case,
        target: task.target.clone(),
        meta_schema: settings.meta_schema.clone(),
        start: subtask.settings.start.clone(),
        restart: subtask.settings.restart.clone(),
        rules: subtask.settings.rules.clone(),
        collation_map: settings.collation_map.clone(),
        export_threads: settings.export_threads,
        import_threads: settings.import_threads,
        replicate_lanes: settings.replicate_lanes,
        replicate_batch: settings.replicate_batch,
        stop_grace_s: subtask.settings.stop_grace_s.unwrap_or(stop_grace_s),
    }
}
