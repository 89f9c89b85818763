//! Steps about who holds which source.

use std::collections::BTreeMap;

use super::{Plan, Standing, Step, World};
use crate::model::record::SubtaskRecord;
use crate::model::report::Outcome;
use crate::model::subtask::Wanted;
use crate::model::{Epoch, SourceName, WorkerName};

/// How many sources each worker in office holds, given what is already decided.
struct Loads<'a> {
    world: &'a World,
    held: BTreeMap<&'a WorkerName, u32>,
}

impl<'a> Loads<'a> {
    fn of(world: &'a World) -> Self {
        let mut held: BTreeMap<&WorkerName, u32> = world
            .workers
            .iter()
            .filter(|(_, worker)| worker.standing == Standing::InOffice)
            .map(|(name, _)| (name, 0))
            .collect();
        for assignment in world.assignments.values().filter(|assignment| world.is_in_office(assignment)) {
            if let Some(count) = held.get_mut(&assignment.worker) {
                *count = count.saturating_add(1);
            }
        }
        Self { world, held }
    }

    fn capacity(&self, worker: &WorkerName) -> u32 {
        self.world.workers.get(worker).map_or(0, |view| view.capacity)
    }

    fn has_room(&self, worker: &WorkerName) -> bool {
        self.held.get(worker).is_some_and(|held| *held < self.capacity(worker))
    }

    /// `before` if it has room, else the one with the most room in proportion; names decide between equals.
    fn choose(&mut self, before: Option<&WorkerName>) -> Option<(WorkerName, Epoch)> {
        let stay = before.filter(|worker| self.has_room(worker)).cloned();
        let chosen = stay.or_else(|| {
            let with_room = self.held.iter().filter(|(worker, _)| self.has_room(worker));
            // a/b < c/d by a*d < c*b: no fractions.
            let lightest = with_room.min_by(|(a, a_held), (b, b_held)| {
                let left = u64::from(**a_held) * u64::from(self.capacity(b));
                let right = u64::from(**b_held) * u64::from(self.capacity(a));
                left.cmp(&right).then_with(|| a.cmp(b))
            });
            lightest.map(|(worker, _)| (*worker).clone())
        })?;
        let count = self.held.get_mut(&chosen)?;
        *count = count.saturating_add(1);
        let epoch = self.world.workers.get(&chosen)?.epoch;
        Some((chosen, epoch))
    }
}

/// Where a new source would go now.
pub fn place(world: &World) -> Option<(WorkerName, Epoch)> {
    Loads::of(world).choose(None)
}

/// Sources that nobody in office holds, and the runs that move with them.
pub(super) fn replace_lost(world: &World, plan: &mut Plan) {
    let mut loads = Loads::of(world);
    let mut runs: BTreeMap<&SourceName, Vec<&SubtaskRecord>> = BTreeMap::new();
    for subtask in world.subtasks.values().filter(|subtask| goes_on(world, subtask)) {
        runs.entry(&subtask.id.source).or_default().push(subtask);
    }
    for source in world.sources.keys() {
        let before = world.assignments.get(source);
        if before.is_some_and(|assignment| world.is_in_office(assignment)) {
            continue;
        }
        match loads.choose(before.map(|assignment| &assignment.worker)) {
            Some((worker, worker_epoch)) => {
                let reason = match before {
                    Some(before) => format!("{} epoch {} is gone", before.worker, before.worker_epoch),
                    None => "it is free".to_owned(),
                };
                plan.push(Step::Assign { source: source.clone(), worker, worker_epoch, reason });
            }
            None if before.is_none() => continue,
            None => {
                plan.push(Step::Unassign {
                    source: source.clone(),
                    reason: "its worker is gone, and nobody has room".to_owned(),
                });
            }
        }
        // Nobody holds a free source, so nobody was given the numbers of its runs.
        if before.is_some() {
            for subtask in runs.get(source).into_iter().flatten() {
                plan.push(renumbered(subtask));
            }
        }
    }
}

/// Whether the next holder shall open this run. Either it may be open somewhere still, or its holder closed it in order
/// to leave, which is no failure and not counted as one.
fn goes_on(world: &World, subtask: &SubtaskRecord) -> bool {
    let ended = world.ended(subtask).map(|(report, _)| &report.outcome);
    // It need not matter while the subtask is being deleted; but a deletion may fail.
    subtask.wanted == Wanted::Running && matches!(ended, None | Some(Some(Outcome::Stopped)))
}

/// The number of a run is given to one incarnation only: it is a new one for whoever comes next.
fn renumbered(subtask: &SubtaskRecord) -> Step {
    Step::Advance {
        id: subtask.id.clone(),
        from: subtask.generation,
        to: subtask.generation.next(),
        attempts: subtask.attempts,
        reason: "its holder is gone".to_owned(),
    }
}

pub(super) fn record_losses(world: &World, plan: &mut Plan) {
    for (name, worker) in world.workers.iter().filter(|(_, worker)| worker.standing == Standing::Lost) {
        plan.push(Step::RecordLoss { worker: name.clone(), epoch: worker.epoch });
    }
}
