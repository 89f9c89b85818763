use std::time::Duration;

use super::*;
use crate::model::report::{Outcome, Unit};
use crate::model::{Generation, LedgerId, SourceName};

const EXPIRY_US: i64 = 3_500_000;

pub(super) fn registry() -> Registry {
    Registry::new(Expiry { worker_us: EXPIRY_US })
}

fn name(worker: &str) -> WorkerName {
    WorkerName::new(worker)
}

pub(super) fn record(worker: &str, epoch: u64) -> WorkerRecord {
    WorkerRecord {
        name: name(worker),
        address: String::new(),
        epoch: Epoch(epoch),
        capacity: 4,
        departed: false,
        registered_us: 0,
    }
}

pub(super) fn id(task: &str) -> SubtaskId {
    SubtaskId { task: TaskName::new(task), source: SourceName::new("s") }
}

pub(super) fn subtask(task: &str, generation: u64, state: RunState) -> SubtaskReport {
    SubtaskReport {
        id: id(task),
        ledger_id: LedgerId(uuid::Uuid::nil()),
        generation: Generation(generation),
        state,
        outcome: (state == RunState::Closed).then_some(Outcome::Stopped),
        unit: Unit::Sync,
        load: None,
        sync: None,
        error: None,
        notices: vec![],
        reported_at_us: 0,
    }
}

pub(super) fn report(worker: &str, number: u64, subtasks: Vec<SubtaskReport>) -> WorkerReport {
    let open = subtasks.iter().filter(|subtask| subtask.state != RunState::Closed);
    WorkerReport {
        worker: name(worker),
        worker_epoch: Epoch(1),
        number,
        applied_version: number,
        open_runs: open.map(|subtask| OpenRun { id: subtask.id.clone(), generation: subtask.generation }).collect(),
        subtasks,
        full: true,
    }
}

fn state(registry: &Registry, worker: &str) -> Option<WorkerState> {
    registry.worker(&name(worker)).map(|status| status.state)
}

#[test]
fn a_worker_is_lost_when_its_expiry_passes_in_silence() {
    let registry = registry();
    registry.register(record("w", 1), 0);
    assert_eq!(state(&registry, "w"), Some(WorkerState::Created));
    let mut now_us = 0;
    for _ in 0..10 {
        now_us += 1_000_000;
        assert!(registry.look(now_us).is_empty());
        assert_eq!(registry.heartbeat(&name("w"), Epoch(1), now_us), Standing::Unheard);
    }
    for _ in 0..3 {
        now_us += 1_000_000;
        assert!(registry.look(now_us).is_empty());
    }
    assert_eq!(registry.look(now_us + 500_000), [name("w")]);
    assert!(registry.look(now_us + 600_000).is_empty(), "a loss is told once");
    assert_eq!(registry.heartbeat(&name("w"), Epoch(1), now_us + 600_000), Standing::Terminate);
    registry.loss_stored(&name("w"), Epoch(1));
    assert_eq!(state(&registry, "w"), Some(WorkerState::Tombstone));
    assert_eq!(registry.heartbeat(&name("w"), Epoch(1), now_us + 700_000), Standing::Terminate);
}

#[test]
fn a_new_incarnation_takes_the_place_and_the_reports_of_the_old_one() {
    let registry = registry();
    registry.register(record("w", 1), 0);
    registry.report(report("w", 1, vec![subtask("t", 1, RunState::Running)]), 0);
    assert!(registry.seen(&id("t")).is_some());
    registry.register(record("w", 2), 10);
    assert!(registry.seen(&id("t")).is_none(), "unknown, and not as the old one said");
    assert_eq!(registry.heartbeat(&name("w"), Epoch(1), 20), Standing::Terminate);
    assert_eq!(registry.heartbeat(&name("w"), Epoch(3), 20), Standing::Register);
    assert_eq!(registry.heartbeat(&name("w"), Epoch(2), 20), Standing::Unheard);
    assert_eq!(registry.heartbeat(&name("stranger"), Epoch(1), 20), Standing::Terminate);
}

#[test]
fn a_report_that_came_late_is_dropped() {
    let registry = registry();
    registry.register(record("w", 1), 0);
    assert_eq!(registry.report(report("w", 2, vec![subtask("t", 3, RunState::Running)]), 5), Standing::Known);
    registry.report(report("w", 1, vec![subtask("t", 3, RunState::Closed)]), 6);
    registry.report(report("w", 2, vec![subtask("t", 3, RunState::Closed)]), 6);
    assert_eq!(registry.seen(&id("t")).unwrap().report.state, RunState::Running);
    registry.report(report("w", 3, vec![subtask("t", 2, RunState::Closed)]), 7);
    let seen = registry.seen(&id("t")).unwrap();
    assert_eq!((seen.report.state, seen.report.generation.0), (RunState::Running, 3), "an older run");
}

#[test]
fn a_full_report_forgets_what_it_does_not_name_and_a_partial_one_does_not() {
    let registry = registry();
    registry.register(record("w", 1), 0);
    let both = vec![subtask("t", 1, RunState::Running), subtask("u", 1, RunState::Running)];
    registry.report(report("w", 1, both), 0);
    let partial = WorkerReport { full: false, ..report("w", 2, vec![subtask("t", 1, RunState::Closing)]) };
    registry.report(partial, 0);
    assert!(registry.seen(&id("u")).is_some());
    registry.report(report("w", 3, vec![subtask("t", 1, RunState::Closed)]), 0);
    assert!(registry.seen(&id("u")).is_none());
}

#[test]
fn the_age_of_a_report_and_the_age_of_its_state_are_two_things() {
    let registry = registry();
    registry.register(record("w", 1), 0);
    registry.report(report("w", 1, vec![subtask("t", 1, RunState::Running)]), 1_000);
    registry.report(report("w", 2, vec![subtask("t", 1, RunState::Running)]), 3_000);
    let seen = registry.seen(&id("t")).unwrap();
    assert_eq!((seen.since_us, seen.age_us(5_000)), (1_000, 2_000));
    registry.report(report("w", 3, vec![subtask("t", 2, RunState::Running)]), 4_000);
    assert_eq!(registry.seen(&id("t")).unwrap().since_us, 4_000, "another run");
}

#[test]
fn a_new_leader_waits_for_all_or_for_one_expiry_and_not_longer() {
    let departed = WorkerRecord { departed: true, ..record("gone", 1) };
    let registry = registry();
    registry.take_office(&[record("w1", 1), record("w2", 1), departed], 0);
    assert!(state(&registry, "gone").is_none(), "those that said goodbye are not waited for");
    assert!(registry.is_recovering());
    assert_eq!(registry.heartbeat(&name("w1"), Epoch(1), 100), Standing::Unheard);
    assert!(registry.look(1_000_000).is_empty() && registry.is_recovering());
    assert_eq!(registry.heartbeat(&name("w2"), Epoch(1), 1_000_100), Standing::Unheard);
    assert!(registry.look(1_000_200).is_empty());
    assert!(!registry.is_recovering(), "all were heard");

    registry.take_office(&[record("w1", 1), record("w2", 1)], 2_000_000);
    registry.heartbeat(&name("w1"), Epoch(1), 2_100_000);
    for step in 1..4 {
        assert!(registry.look(2_000_000 + step * 1_000_000).is_empty());
        registry.heartbeat(&name("w1"), Epoch(1), 2_000_000 + step * 1_000_000);
    }
    assert_eq!(registry.look(2_000_000 + EXPIRY_US), [name("w2")]);
    assert_eq!(state(&registry, "w1"), Some(WorkerState::Online));
    assert_eq!(state(&registry, "w2"), Some(WorkerState::Offline));

    registry.take_office(&[], 9_000_000);
    registry.look(9_000_001);
    assert!(!registry.is_recovering(), "there is nobody to wait for");
}

#[test]
fn silence_while_the_master_itself_was_frozen_is_no_silence() {
    let registry = registry();
    registry.register(record("w", 1), 0);
    registry.heartbeat(&name("w"), Epoch(1), 0);
    registry.look(100_000);
    let thawed_us = 60_000_000;
    assert!(registry.look(thawed_us).is_empty());
    assert_eq!(registry.heartbeat(&name("w"), Epoch(1), thawed_us + 1), Standing::Unheard);
    assert!(registry.look(thawed_us + 1_000_000).is_empty());
    assert!(registry.look(thawed_us + 2_000_000).is_empty());
    assert!(registry.look(thawed_us + 3_000_000).is_empty());
    assert_eq!(registry.look(thawed_us + 4_000_000), [name("w")], "and then it counts again");
}

#[test]
fn a_worker_is_off_only_when_it_acted_on_the_new_set_and_has_no_open_run() {
    let registry = registry();
    registry.register(record("w", 1), 0);
    registry.report(report("w", 5, vec![subtask("t", 1, RunState::Running)]), 0);
    let is_off = |version| registry.is_off(&name("w"), Epoch(1), &id("t"), version);
    assert!(!is_off(5), "the run is open");
    registry.report(report("w", 6, vec![subtask("t", 1, RunState::Closing)]), 0);
    assert!(!is_off(6), "it still closes");
    registry.report(report("w", 7, vec![subtask("t", 1, RunState::Closed)]), 0);
    assert!(is_off(7));
    assert!(!is_off(8), "it may not have heard of the newer set");
    assert!(!registry.is_off(&name("w"), Epoch(2), &id("t"), 1), "another incarnation");
    assert!(!registry.is_off(&name("nobody"), Epoch(1), &id("t"), 1));
}

#[test]
fn a_lost_worker_is_not_surely_off_and_one_that_said_goodbye_is() {
    let registry = registry();
    registry.register(record("w", 1), 0);
    registry.report(report("w", 1, vec![subtask("t", 1, RunState::Closed)]), 0);
    registry.goodbye(&name("w"), Epoch(1));
    assert_eq!(state(&registry, "w"), Some(WorkerState::Offline));
    assert!(registry.is_off(&name("w"), Epoch(1), &id("t"), 99));

    registry.register(record("w", 2), 0);
    for step in 1..=4 {
        registry.look(step * 1_000_000);
    }
    assert_eq!(state(&registry, "w"), Some(WorkerState::Offline));
    assert!(!registry.is_off(&name("w"), Epoch(2), &id("t"), 0));
}

#[tokio::test]
async fn waiting_ends_with_the_state_or_with_the_deadline() {
    let registry = std::sync::Arc::new(registry());
    registry.register(record("w", 1), 0);
    let is_running = |seen: Option<&Seen>| seen.is_some_and(|seen| seen.report.state == RunState::Running);
    assert!(!registry.wait_for(&id("t"), Duration::from_millis(20), is_running).await);
    let waiting = tokio::spawn({
        let registry = registry.clone();
        async move { registry.wait_for(&id("t"), Duration::from_secs(20), is_running).await }
    });
    registry.report(report("w", 1, vec![subtask("t", 1, RunState::Initializing)]), 0);
    registry.report(report("w", 2, vec![subtask("t", 1, RunState::Running)]), 0);
    assert!(waiting.await.unwrap());
}

#[test]
fn that_a_run_worked_is_remembered_over_incarnations() {
    let registry = registry();
    registry.register(record("w", 1), 0);
    registry.report(report("w", 1, vec![subtask("t", 1, RunState::Initializing)]), 0);
    assert_eq!(registry.last_worked(&id("t")), None);
    registry.report(report("w", 2, vec![subtask("t", 1, RunState::Running)]), 0);
    registry.register(record("w", 2), 0);
    assert_eq!(registry.last_worked(&id("t")), Some(Generation(1)));
    registry.forget(&id("t"));
    assert_eq!(registry.last_worked(&id("t")), None);
}
