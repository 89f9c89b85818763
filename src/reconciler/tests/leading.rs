//! Taking office, losing it, and what workers notice of that: nothing.

use super::bench::{Bench, id, until};
use crate::model::report::RunState;

#[tokio::test]
async fn a_new_master_finds_running_work_and_leaves_it_alone() {
    let bench = Bench::new().await;
    let worker = bench.worker("w1").await;
    bench.make_source("a").await;
    bench.make_task("t", "db", &["a"]).await;
    let id = id("t", "a");
    bench.start(&id).await;

    // The lease is taken by another one; this one takes it back, which is a change of leader twice over.
    let before = bench.master.tenure.epoch().unwrap();
    let seen = bench.store.lease().await.unwrap();
    bench.store.claim_lease(seen.as_ref(), "other", 0).await.unwrap().unwrap();
    bench.master.doubt.notify_one();
    until("it leads again", || bench.master.tenure.epoch().is_some_and(|epoch| epoch > before)).await;
    until("all were heard", || !bench.master.registry.is_recovering()).await;
    bench.seen(&id, |seen| seen.report.state == RunState::Running).await;
    bench.make_source("b").await;
    bench.make_task("u", "db", &["b"]).await;
    bench.start(&super::bench::id("u", "b")).await;
    assert_eq!(worker.opened(&id), [1], "it was never asked to open it again");
    assert!(!worker.ending.is_finished());
}

#[tokio::test]
async fn after_a_restart_of_everything_runs_come_back_under_new_numbers() {
    let bench = Bench::new().await;
    let worker = bench.worker("w1").await;
    bench.make_source("a").await;
    bench.make_task("t", "db", &["a"]).await;
    let id = id("t", "a");
    bench.start(&id).await;
    worker.frozen.cancel();
    let bench = bench.restart().await;
    let again = bench.worker("w1").await;
    until("it opened it anew", || again.opened(&id) == [2]).await;
}

#[tokio::test]
async fn a_master_that_ends_gives_the_lease_back() {
    let Bench { store, master, .. } = Bench::new().await;
    assert_eq!(store.lease().await.unwrap().unwrap().holder, "test");
    master.end().await;
    assert_eq!(store.lease().await.unwrap().unwrap().holder, "");
}
