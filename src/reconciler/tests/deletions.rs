//! Deletion is never held up by a target, and never half done.

use std::time::Duration;

use secrecy::ExposeSecret as _;
use tokio::time::Instant;
use uuid::Uuid;

use super::bench::{Bench, Manner, Script, Worker, endpoint, id, until, until_found};
use crate::error::Chain;
use crate::model::report::RunState;
use crate::model::subtask::Wanted;
use crate::model::{Generation, SourceName, TaskName};
use crate::reconciler::{ControlError, DeleteTask, Deletion};

fn delete(task: &str) -> DeleteTask {
    DeleteTask { task: TaskName::new(task), force: true, keep_meta: false, wait: Duration::from_secs(10) }
}

async fn running() -> (Bench, Worker) {
    let bench = Bench::new().await;
    let worker = bench.worker("w1").await;
    bench.make_source("a").await;
    bench.make_source("b").await;
    bench.make_task("t", "db", &["a", "b"]).await;
    bench.start(&id("t", "a")).await;
    (bench, worker)
}

#[tokio::test]
async fn a_running_task_is_deleted_only_by_force() {
    let (bench, _worker) = running().await;
    let reconciler = &bench.master.reconciler;
    let error = reconciler.delete_task(DeleteTask { force: false, ..delete("t") }).await.unwrap_err();
    assert!(matches!(&error, ControlError::Running { sources, .. } if sources == &[SourceName::new("a")]), "{error}");
    assert!(matches!(reconciler.delete_task(delete("t")).await.unwrap(), Deletion::Complete));
    assert!(bench.store.task(&TaskName::new("t")).await.unwrap().is_none());
    assert!(bench.store.subtasks().await.unwrap().is_empty());
    assert!(bench.store.cleanups().await.unwrap().is_empty());
    let asked = bench.cleaner.asked.lock().clone();
    assert_eq!(asked.len(), 1);
    let ledgers: Vec<&str> = asked[0].ledgers.iter().map(|ledger| ledger.source.as_str()).collect();
    assert_eq!(ledgers, ["a"], "the other one never ran");
    assert!(asked[0].confirmed_off);
    let error = reconciler.delete_task(delete("t")).await.unwrap_err();
    assert!(matches!(error, ControlError::UnknownTask { .. }), "{error}");
}

#[tokio::test]
async fn a_dead_target_leaves_a_record_that_is_tried_until_it_works() {
    let (bench, _worker) = running().await;
    bench.cleaner.behave(Manner::Refuses);
    let deletion = bench.master.reconciler.delete_task(delete("t")).await.unwrap();
    let Deletion::Left { cleanup, cause } = deletion else { panic!("{deletion:?}") };
    assert!(cause.to_string().contains("connection refused"));
    assert!(bench.store.task(&TaskName::new("t")).await.unwrap().is_none());
    until("it was tried again", || bench.cleaner.asked_of("t") >= 3).await;
    let record = bench.store.cleanup(cleanup).await.unwrap().unwrap();
    assert!(record.attempts >= 1 && record.cause.unwrap().contains("connection refused"));
    bench.cleaner.behave(Manner::Works);
    until_found("it is cleaned", async || bench.store.cleanups().await.unwrap().is_empty().then_some(())).await;
}

#[tokio::test]
async fn a_silent_target_costs_the_call_its_deadline_and_no_more() {
    let (bench, _worker) = running().await;
    bench.cleaner.behave(Manner::Silent);
    let begun = Instant::now();
    let wait = Duration::from_millis(700);
    let deletion = bench.master.reconciler.delete_task(DeleteTask { wait, ..delete("t") }).await.unwrap();
    assert!(matches!(deletion, Deletion::Left { .. }), "{deletion:?}");
    assert!(begun.elapsed() < wait + Duration::from_secs(2), "{:?}", begun.elapsed());
}

#[tokio::test]
async fn without_waiting_the_target_is_cleaned_behind() {
    let (bench, _worker) = running().await;
    bench.cleaner.behave(Manner::Refuses);
    let request = DeleteTask { wait: Duration::ZERO, ..delete("t") };
    let deletion = bench.master.reconciler.delete_task(request).await.unwrap();
    assert!(matches!(deletion, Deletion::Behind { .. }), "{deletion:?}");
    until("it was tried behind", || bench.cleaner.asked_of("t") >= 1).await;
    bench.cleaner.behave(Manner::Works);
    until_found("it is cleaned", async || bench.store.cleanups().await.unwrap().is_empty().then_some(())).await;
}

#[tokio::test]
async fn one_dead_target_delays_no_other_cleanup() {
    let (bench, _worker) = running().await;
    bench.make_task("u", "elsewhere", &["b"]).await;
    bench.start(&id("u", "b")).await;
    bench.cleaner.behave(Manner::Silent);
    let request = DeleteTask { wait: Duration::ZERO, ..delete("t") };
    bench.master.reconciler.delete_task(request).await.unwrap();
    until("the dead one is being tried", || bench.cleaner.asked_of("t") >= 1).await;
    bench.cleaner.behave(Manner::Works);
    let begun = Instant::now();
    let deletion = bench.master.reconciler.delete_task(delete("u")).await.unwrap();
    assert!(matches!(deletion, Deletion::Complete), "{deletion:?}");
    assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
}

#[tokio::test]
async fn an_error_while_removing_is_returned_and_the_task_goes_on_as_it_was() {
    let (bench, worker) = running().await;
    bench.sql("CREATE TRIGGER broken BEFORE DELETE ON tasks BEGIN SELECT RAISE(ABORT, 'disk on fire'); END").await;
    let error = bench.master.reconciler.delete_task(delete("t")).await.unwrap_err();
    assert!(Chain(&error).to_string().contains("disk on fire"), "{}", Chain(&error));
    assert_eq!(bench.store.subtasks_of_task(&TaskName::new("t")).await.unwrap().len(), 2);
    assert!(bench.store.cleanups().await.unwrap().is_empty());
    assert_eq!(bench.cleaner.asked_of("t"), 0);
    let id = id("t", "a");
    // It was closed for the deletion, and comes back.
    until("it runs again under a new number", || worker.opened(&id) == [1, 2]).await;
    bench.seen(&id, |seen| seen.report.state == RunState::Running).await;
    bench.sql("DROP TRIGGER broken").await;
    bench.master.reconciler.delete_task(delete("t")).await.unwrap();
}

#[tokio::test]
async fn a_task_that_is_being_deleted_is_nobody_else_s() {
    let (bench, worker) = running().await;
    worker.script("t", Script::HangOnClose);
    let reconciler = bench.master.reconciler.clone();
    let deleting = tokio::spawn(async move { reconciler.delete_task(delete("t")).await });
    until("it is being deleted", || bench.master.reconciler.hold(&TaskName::new("t")).is_err()).await;
    let error = bench.master.reconciler.delete_task(delete("t")).await.unwrap_err();
    assert!(matches!(error, ControlError::Busy { .. }), "{error}");
    deleting.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_worker_that_does_not_let_go_holds_the_deletion_up_for_a_few_seconds_only() {
    let (bench, worker) = running().await;
    worker.script("t", Script::HangOnClose);
    let begun = Instant::now();
    bench.cleaner.behave(Manner::Refuses);
    let deletion = bench.master.reconciler.delete_task(delete("t")).await.unwrap();
    assert!(begun.elapsed() < Duration::from_secs(6), "{:?}", begun.elapsed());
    let Deletion::Left { cleanup, .. } = deletion else { panic!("{deletion:?}") };
    assert!(!bench.store.cleanup(cleanup).await.unwrap().unwrap().confirmed_off);

    // A new task on that target waits for the old run's end there; one elsewhere does not.
    bench.make_task("new", "db", &["b"]).await;
    bench.make_task("other", "elsewhere", &["b"]).await;
    let (new, other) = (id("new", "b"), id("other", "b"));
    bench.want(&new, Wanted::Running).await;
    bench.start(&other).await;
    assert!(worker.opened(&new).is_empty());
    bench.cleaner.behave(Manner::Works);
    until("it runs", || worker.opened(&new) == [1]).await;
    assert!(bench.store.cleanups().await.unwrap().is_empty());
}

#[tokio::test]
async fn kept_progress_waits_for_the_next_task_of_that_name() {
    let (bench, _worker) = running().await;
    let record = bench.record(&id("t", "a")).await;
    let request = DeleteTask { keep_meta: true, ..delete("t") };
    assert!(matches!(bench.master.reconciler.delete_task(request).await.unwrap(), Deletion::Complete));
    assert_eq!(bench.cleaner.asked_of("t"), 0);
    let kept = bench.store.kept_ledgers(&TaskName::new("t")).await.unwrap();
    assert_eq!(kept.len(), 1, "the other source never ran");
    assert_eq!((kept[0].ledger_id, kept[0].generation), (record.ledger_id, Generation(1)));
}

#[tokio::test]
async fn a_task_that_never_ran_leaves_nothing_to_clean() {
    let (bench, _worker) = running().await;
    bench.make_task("idle", "db", &["b"]).await;
    let request = DeleteTask { force: false, ..delete("idle") };
    assert!(matches!(bench.master.reconciler.delete_task(request).await.unwrap(), Deletion::Complete));
    assert_eq!(bench.cleaner.asked_of("idle"), 0);
}

#[tokio::test]
async fn an_operator_may_give_a_cleanup_up_or_give_it_another_account() {
    let (bench, _worker) = running().await;
    bench.cleaner.behave(Manner::Refuses);
    bench.start(&id("t", "b")).await;
    let Deletion::Left { cleanup, .. } = bench.master.reconciler.delete_task(delete("t")).await.unwrap() else {
        panic!("it was to be left")
    };
    let mut other = endpoint("db");
    other.password = "right".to_owned().into();
    bench.master.reconciler.change_cleanup_account(cleanup, other).await.unwrap();
    until("it was tried with the new password", || {
        let asked = bench.cleaner.asked.lock();
        asked.last().is_some_and(|record| record.target.password.expose_secret() == "right")
    })
    .await;
    bench.master.reconciler.discard_cleanup(cleanup).await.unwrap();
    assert!(bench.store.cleanups().await.unwrap().is_empty());
    for error in [
        bench.master.reconciler.discard_cleanup(cleanup).await,
        bench.master.reconciler.change_cleanup_account(Uuid::now_v7(), endpoint("db")).await,
    ] {
        assert!(matches!(error, Err(ControlError::UnknownCleanup { .. })), "{error:?}");
    }
}

#[tokio::test]
async fn a_source_goes_with_its_subtasks_only_by_force() {
    let (bench, _worker) = running().await;
    bench.make_task("u", "elsewhere", &["a"]).await;
    bench.start(&id("u", "a")).await;
    let reconciler = &bench.master.reconciler;
    let name = SourceName::new("a");
    let error = reconciler.delete_source(&name, false).await.unwrap_err();
    assert!(matches!(&error, ControlError::SourceHasTasks { tasks, .. } if tasks.len() == 2), "{error}");
    bench.cleaner.behave(Manner::Refuses);
    reconciler.delete_source(&name, true).await.unwrap();
    assert!(bench.store.source(&name).await.unwrap().is_none());
    let tasks: Vec<_> = bench.store.tasks().await.unwrap().into_iter().map(|task| task.name).collect();
    assert_eq!(tasks, [TaskName::new("t")], "the one with another source stays");
    let left: Vec<_> = bench.store.cleanups().await.unwrap().into_iter().map(|record| record.task).collect();
    assert_eq!(left, [TaskName::new("t"), TaskName::new("u")]);
    bench.cleaner.behave(Manner::Works);
    until_found("they are cleaned", async || bench.store.cleanups().await.unwrap().is_empty().then_some(())).await;
    let error = reconciler.delete_source(&name, true).await.unwrap_err();
    assert!(matches!(error, ControlError::UnknownSource { .. }), "{error}");
}

#[tokio::test]
async fn progress_is_given_up_for_the_named_sources_and_not_while_they_run() {
    let (bench, _worker) = running().await;
    let (task, sources) = (TaskName::new("t"), [SourceName::new("a")]);
    let reconciler = &bench.master.reconciler;
    let error = reconciler.remove_meta(&task, &sources).await.unwrap_err();
    assert!(matches!(error, ControlError::Running { .. }), "{error}");
    bench.want(&id("t", "a"), Wanted::Stopped).await;
    let before = bench.record(&id("t", "a")).await.ledger_id;
    reconciler.remove_meta(&task, &sources).await.unwrap();
    let after = bench.record(&id("t", "a")).await;
    assert_ne!(after.ledger_id, before);
    assert_eq!(after.generation, Generation(1), "numbers never repeat");
    assert_eq!(bench.cleaner.asked.lock()[0].ledgers[0].ledger_id, before);

    bench.start(&id("t", "a")).await;
    bench.want(&id("t", "a"), Wanted::Stopped).await;
    bench.cleaner.behave(Manner::Refuses);
    let error = reconciler.remove_meta(&task, &sources).await.unwrap_err();
    assert!(matches!(error, ControlError::CleanupFailed { .. }), "{error}");
    assert_eq!(bench.store.cleanups().await.unwrap().len(), 1);
    let unknown = reconciler.remove_meta(&task, &[SourceName::new("zz")]).await.unwrap_err();
    assert!(matches!(unknown, ControlError::UnknownSubtasks { .. }), "{unknown}");
}

#[tokio::test]
async fn a_run_that_was_closed_before_a_restart_is_surely_off() {
    let (bench, worker) = running().await;
    let id = id("t", "a");
    bench.want(&id, Wanted::Stopped).await;
    until_found("its end is stored", async || bench.record(&id).await.conclusion).await;
    worker.frozen.cancel();
    let bench = bench.restart().await;
    let _again = bench.worker("w1").await;
    until_found("its source has a holder again", async || {
        let assignments = bench.store.assignments().await.unwrap();
        assignments.into_iter().find(|given| given.source == id.source && given.worker_epoch.0 == 2)
    })
    .await;
    let request = DeleteTask { force: false, ..delete("t") };
    assert!(matches!(bench.master.reconciler.delete_task(request).await.unwrap(), Deletion::Complete));
    assert!(bench.cleaner.asked.lock()[0].confirmed_off);
}
