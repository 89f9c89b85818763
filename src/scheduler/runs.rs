//! Steps about runs: remembering ends, trying again, beginning a count anew.

use super::ending::{Next, judged, next};
use super::{Plan, Step, World};
use crate::model::record::{Conclusion, SubtaskRecord};
use crate::model::report::RunState;
use crate::model::subtask::Wanted;

/// How a run ended is stored before anything follows from it.
pub(super) fn remember_ends(world: &World, plan: &mut Plan) {
    for subtask in world.subtasks.values().filter(|subtask| !world.leaving.contains(&subtask.id)) {
        if let Some((report, ended_us)) = world.just_ended(subtask) {
            let worked = world.ran.get(&subtask.id) == Some(&subtask.generation);
            let mut report = judged(world, subtask, report);
            if let (Next::Later, Some(error)) =
                (next(&report, subtask.attempts, world.retries.tries), &mut report.error)
            {
                error.history.next_us = Some(due_us(world, subtask, ended_us));
            }
            let conclusion = Box::new(Conclusion { report, ended_us, worked });
            plan.push(Step::Conclude { id: subtask.id.clone(), conclusion });
        }
    }
}

/// A task that is newer than an abandoned run on its target waits for that run's cleanup.
pub(super) fn clean_before_new(world: &World, plan: &mut Plan) {
    for task in world.tasks.values() {
        for cleanup in world.held_up_by(task) {
            let is_wanted = |subtask: &SubtaskRecord| {
                let wanted = subtask.id.task == task.name && subtask.wanted == Wanted::Running;
                wanted && !world.leaving.contains(&subtask.id)
            };
            if world.subtasks.values().any(|subtask| is_wanted(subtask)) {
                plan.push(Step::Clean { cleanup: cleanup.id, reason: format!("{} waits for it", task.name) });
            }
        }
    }
}

/// Runs that were closed for a deletion that failed.
pub(super) fn bring_back(world: &World, plan: &mut Plan) {
    let returning = world.returning.iter().filter(|id| !world.leaving.contains(id));
    for subtask in returning.filter_map(|id| world.subtasks.get(id)) {
        if subtask.wanted == Wanted::Running
            && world.ended(subtask).is_none()
            && world.holder(&subtask.id.source).is_some()
        {
            plan.push(Step::Advance {
                id: subtask.id.clone(),
                from: subtask.generation,
                to: subtask.generation.next(),
                attempts: subtask.attempts,
                reason: "it was to be deleted, and stays".to_owned(),
            });
        }
    }
}

/// Runs that ended though they are wanted.
pub(super) fn try_again(world: &World, now_us: i64, plan: &mut Plan) {
    for subtask in world.subtasks.values() {
        if subtask.wanted != Wanted::Running || world.leaving.contains(&subtask.id) {
            continue;
        }
        // Whoever takes the source over runs it under a new number anyway.
        if world.holder(&subtask.id.source).is_none() {
            continue;
        }
        let Some((report, ended_us)) = world.ended(subtask) else { continue };
        let report = judged(world, subtask, report);
        let from = subtask.generation;
        let (to, reason) = match next(&report, subtask.attempts, world.retries.tries) {
            Next::None => continue,
            Next::AtOnce => (from.next(), "it was closed, and is wanted running".to_owned()),
            Next::Above(known) => (known.max(from).next(), format!("the ledger knows generation {known}")),
            Next::Later => {
                let due_us = due_us(world, subtask, ended_us.min(now_us));
                if now_us < due_us {
                    plan.wake_at(due_us);
                    continue;
                }
                (from.next(), "its error may have passed".to_owned())
            }
        };
        let attempts = subtask.attempts.saturating_add(1);
        plan.push(Step::Advance { id: subtask.id.clone(), from, to, attempts, reason });
    }
}

/// When the run after one that ended is due.
fn due_us(world: &World, subtask: &SubtaskRecord, ended_us: i64) -> i64 {
    let delay_us = world.retries.delay_us(&subtask.id, subtask.generation, subtask.attempts);
    ended_us.saturating_add(delay_us)
}

/// A run that works long enough begins the count of retries anew.
pub(super) fn forgive(world: &World, now_us: i64, plan: &mut Plan) {
    for subtask in world.subtasks.values().filter(|subtask| subtask.attempts > 0) {
        if world.leaving.contains(&subtask.id) {
            continue;
        }
        let Some(seen) = world.seen.get(&subtask.id) else { continue };
        if seen.report.generation != subtask.generation || seen.report.state != RunState::Running {
            continue;
        }
        let healthy_us = seen.since_us.saturating_add(world.retries.healthy_us);
        if now_us >= healthy_us {
            plan.push(Step::ForgetAttempts { id: subtask.id.clone(), generation: subtask.generation });
        } else {
            plan.wake_at(healthy_us);
        }
    }
}
