//! What holds for every world: proptest makes them.

use std::collections::BTreeMap;
use std::sync::Arc;

use ferrymaster::model::record::{Assignment, Conclusion};
use ferrymaster::model::{Epoch, Generation, SourceName, SubtaskId, WorkerName};
use ferrymaster::scheduler::{Standing, Step, World, plan};
use proptest::prelude::*;

use super::words;

/// Carries a plan out on the world in memory, as the reconciler does after the commit.
fn carry_out(world: &mut World, steps: &[Step]) {
    for step in steps {
        match step {
            Step::Conclude { id, conclusion } => {
                let subtask = Arc::make_mut(world.subtasks.get_mut(id).unwrap());
                assert_eq!(subtask.generation, conclusion.generation());
                subtask.conclusion = Some(Conclusion::clone(conclusion));
            }
            Step::Assign { source, worker, worker_epoch, .. } => {
                let assignment = Assignment {
                    source: source.clone(),
                    worker: worker.clone(),
                    worker_epoch: *worker_epoch,
                    assigned_us: 0,
                };
                world.assignments.insert(source.clone(), assignment);
            }
            Step::Unassign { source, .. } => {
                world.assignments.remove(source).expect("it was assigned");
            }
            Step::Advance { id, from, to, attempts, .. } => {
                let subtask = Arc::make_mut(world.subtasks.get_mut(id).unwrap());
                assert_eq!(subtask.generation, *from);
                assert!(to > from, "a generation only grows");
                subtask.generation = *to;
                world.returning.remove(id);
                subtask.attempts = *attempts;
            }
            Step::RecordLoss { worker, .. } => {
                world.workers.get_mut(worker).unwrap().standing = Standing::Recorded;
            }
            Step::ForgetAttempts { id, .. } => {
                Arc::make_mut(world.subtasks.get_mut(id).unwrap()).attempts = 0;
            }
            Step::Clean { cleanup, .. } => {
                world.cleanups.remove(cleanup);
            }
        }
    }
}

fn line(kind: u8, a: u8, b: u8, c: u8) -> Option<String> {
    let ends = ["running", "closing", "finished", "stopped", "retry", "pause", "above 5", "never", "initializing"];
    let wanted = if c.is_multiple_of(3) { "stopped" } else { "running" };
    let (a, b, c) = (a % 4, b % 5, c % 9);
    Some(match kind % 8 {
        0 => format!("worker w{a} {} capacity {c}", b + 1),
        1 => format!("worker w{a} {} lost", b + 1),
        2 => format!("source s{a} on w{b} {}", c % 5 + 1),
        3 => format!("source s{a} free"),
        4 => format!("task t{b} on db{a} created {c}"),
        5 => format!("subtask t{b} s{a} {wanted} {} attempts {}", c % 4, c % 4),
        6 => format!("seen t{b} s{a} {} {} since {c}", c % 4, ends[usize::from(c)]),
        _ => format!("cleanup of t{b} on db{a} created {c} unconfirmed"),
    })
}

fn worlds() -> impl Strategy<Value = (World, i64)> {
    let lines = prop::collection::vec(any::<(u8, u8, u8, u8)>(), 0..60);
    (lines, 0_i64..1000).prop_map(|(lines, now)| {
        let text: Vec<String> = lines.into_iter().filter_map(|(kind, a, b, c)| line(kind, a, b, c)).collect();
        let (mut world, _) = words::world(&text.join("\n"));
        // The metastore holds no subtask without its source and task.
        let (sources, tasks) = (world.sources.clone(), world.tasks.clone());
        world.subtasks.retain(|id, _| sources.contains_key(&id.source) && tasks.contains_key(&id.task));
        world.seen.retain(|id, _| sources.contains_key(&id.source));
        (world, now * 1_000_000)
    })
}

proptest! {
    #[test]
    fn planning_again_after_a_plan_changes_nothing((mut world, now_us) in worlds()) {
        // Ends are judged once they are stored, so what follows from them may need a second round.
        for _ in 0..2 {
            let steps = plan(&world, now_us).steps;
            carry_out(&mut world, &steps);
        }
        let again = plan(&world, now_us);
        prop_assert!(again.is_empty(), "{:?}", again.steps);
    }

    #[test]
    fn the_same_world_and_time_give_the_same_plan((world, now_us) in worlds()) {
        let texts = |world: &World| plan(world, now_us).steps.iter().map(ToString::to_string).collect::<Vec<_>>();
        prop_assert_eq!(texts(&world), texts(&world.clone()));
    }

    #[test]
    fn nobody_gets_more_than_the_capacity_and_only_the_living_get_work((mut world, now_us) in worlds()) {
        let mut before: BTreeMap<WorkerName, u32> = BTreeMap::new();
        for assignment in world.assignments.values() {
            *before.entry(assignment.worker.clone()).or_default() += 1;
        }
        let steps = plan(&world, now_us).steps;
        carry_out(&mut world, &steps);
        let mut held: BTreeMap<(WorkerName, Epoch), u32> = BTreeMap::new();
        for assignment in world.assignments.values() {
            *held.entry((assignment.worker.clone(), assignment.worker_epoch)).or_default() += 1;
        }
        for ((worker, epoch), count) in held {
            let view = world.workers.get(&worker).expect("known");
            prop_assert_eq!(view.standing, Standing::InOffice);
            prop_assert_eq!(view.epoch, epoch);
            let allowed = view.capacity.max(before.get(&worker).copied().unwrap_or(0));
            prop_assert!(count <= allowed, "{} holds {}", worker, count);
        }
    }

    #[test]
    fn a_source_with_a_living_holder_stays_where_it_is((world, now_us) in worlds()) {
        let settled: Vec<SourceName> =
            world.sources.keys().filter(|source| world.holder(source).is_some()).cloned().collect();
        for step in plan(&world, now_us).steps {
            if let Step::Assign { source, .. } | Step::Unassign { source, .. } = step {
                prop_assert!(!settled.contains(&source));
            }
        }
    }

    #[test]
    fn a_run_number_is_given_out_once((world, now_us) in worlds()) {
        let mut given: Vec<(SubtaskId, Generation)> = vec![];
        for step in plan(&world, now_us).steps {
            if let Step::Advance { id, to, .. } = step {
                prop_assert!(!given.contains(&(id.clone(), to)));
                given.push((id, to));
            }
        }
    }
}
