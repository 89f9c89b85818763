//! Wishes reach workers, ends of runs are remembered, and lost workers are replaced.

use super::bench::{Bench, Script, id, until, until_found};
use crate::model::report::{Outcome, RunState, Verdict};
use crate::model::subtask::Wanted;
use crate::model::{Generation, SourceName};

async fn with_task() -> (Bench, super::bench::Worker) {
    let bench = Bench::new().await;
    let worker = bench.worker("w1").await;
    bench.make_source("a").await;
    bench.make_task("t", "db", &["a"]).await;
    (bench, worker)
}

#[tokio::test]
async fn a_started_subtask_runs_and_a_stopped_one_says_that_it_stopped() {
    let (bench, worker) = with_task().await;
    let id = id("t", "a");
    assert_eq!(bench.start(&id).await, Generation(1));
    bench.want(&id, Wanted::Stopped).await;
    bench.seen(&id, |seen| seen.report.outcome == Some(Outcome::Stopped)).await;
    let stored = until_found("the end is stored", async || bench.record(&id).await.conclusion).await;
    assert_eq!(stored.report.outcome, Some(Outcome::Stopped));
    assert_eq!(bench.start(&id).await, Generation(2));
    assert_eq!(worker.opened(&id), [1, 2]);
}

#[tokio::test]
async fn a_run_that_fails_for_a_while_is_opened_again_under_new_numbers() {
    let (bench, worker) = with_task().await;
    let id = id("t", "a");
    worker.script("t", Script::Fail(Verdict::RetryLater));
    bench.want(&id, Wanted::Running).await;
    until("it was tried three times", || worker.opened(&id).len() >= 3).await;
    worker.script("t", Script::Run);
    bench.seen(&id, |seen| seen.report.state == RunState::Running).await;
    let opened = worker.opened(&id);
    assert!(opened.windows(2).all(|pair| pair[0] < pair[1]), "{opened:?}");
    assert!(bench.record(&id).await.attempts >= 2);
}

#[tokio::test]
async fn retries_end_and_say_so_and_a_start_begins_anew() {
    let (bench, worker) = with_task().await;
    let id = id("t", "a");
    worker.script("t", Script::Fail(Verdict::RetryLater));
    bench.want(&id, Wanted::Running).await;
    let advice = until_found("it gave up", async || {
        let record = bench.record(&id).await;
        match record.concluded()?.error.clone()?.verdict {
            Verdict::PauseFor(advice) => Some(advice),
            _ => None,
        }
    });
    assert!(advice.await.contains("tried again 5 times"));
    assert_eq!(worker.opened(&id).len(), 6);
    worker.script("t", Script::Run);
    bench.start(&id).await;
    assert_eq!(bench.record(&id).await.attempts, 0);
}

#[tokio::test]
async fn what_needs_an_operator_is_left_alone() {
    let (bench, worker) = with_task().await;
    let id = id("t", "a");
    worker.script("t", Script::Fail(Verdict::PauseFor("grant it".to_owned())));
    bench.want(&id, Wanted::Running).await;
    until_found("the end is stored", async || bench.record(&id).await.conclusion).await;
    // Something else goes through several rounds meanwhile.
    bench.make_source("b").await;
    bench.make_task("u", "db", &["b"]).await;
    bench.start(&super::bench::id("u", "b")).await;
    assert_eq!(worker.opened(&id), [1]);
}

#[tokio::test]
async fn a_ledger_ahead_of_the_metastore_is_followed_at_once() {
    let (bench, worker) = with_task().await;
    let id = id("t", "a");
    worker.script("t", Script::Fail(Verdict::NeedsGenerationAbove(Generation(40))));
    bench.want(&id, Wanted::Running).await;
    until("it was tried again", || worker.opened(&id).len() >= 2).await;
    assert_eq!(worker.opened(&id)[..2], [1, 41]);
}

#[tokio::test]
async fn the_sources_of_a_silent_worker_move_and_their_runs_get_new_numbers() {
    let (bench, worker) = with_task().await;
    let id = id("t", "a");
    bench.start(&id).await;
    let second = bench.worker("w2").await;
    worker.frozen.cancel();
    until("the other one opened it", || second.opened(&id) == [2]).await;
    let holder = bench.store.assignments().await.unwrap().remove(0);
    assert_eq!((holder.source, holder.worker.as_str()), (SourceName::new("a"), "w2"));
    let lost = until_found("the loss is stored", async || {
        bench.store.workers().await.unwrap().into_iter().find(|worker| worker.departed)
    });
    assert_eq!(lost.await.name.as_str(), "w1");
}

#[tokio::test]
async fn a_worker_that_restarts_keeps_its_sources_under_new_numbers() {
    let (bench, worker) = with_task().await;
    let id = id("t", "a");
    bench.start(&id).await;
    worker.frozen.cancel();
    let again = bench.worker("w1").await;
    until("it opened it anew", || again.opened(&id) == [2]).await;
}

#[tokio::test]
async fn a_worker_that_said_goodbye_is_replaced_at_once_and_finished_work_stays_finished() {
    let (bench, worker) = with_task().await;
    let id = id("t", "a");
    bench.start(&id).await;
    let second = bench.worker("w2").await;
    worker.stop.cancel();
    until("the other one opened it", || second.opened(&id) == [2]).await;
}
