//! Deleting a task with its target in every state that targets get into: answered in time each time, nothing left behind
//! in the end, and no other task disturbed.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on fails, and says why"
)]

mod scene;
#[path = "../support/mod.rs"]
mod support;

use std::time::Duration;

use scene::{Scene, TASK};
use serde_json::json;
use support::proxy::Mode;
use support::wait::{secs, until};

/// The whole call, and a little for slow machines.
const IN_TIME: Duration = Duration::from_millis(10_500);

/// Deletes with a target that cannot be cleaned now, and says what must be so.
async fn deleted_though_dead(scene: &Scene) {
    let deleting = scene.delete("");
    let watching = async {
        let mut worst = Duration::ZERO;
        for id in 100..105 {
            worst = worst.max(scene.lag_of_the_other(id).await);
        }
        worst
    };
    let (taken, worst_lag) = tokio::join!(deleting, watching);
    assert!(taken < IN_TIME, "the call took {taken:?}");
    assert!(worst_lag < secs(1), "the other task lagged {worst_lag:?}");
    scene.ferrymaster.api.get(&format!("/api/v1/tasks/{TASK}")).await.expect_error(404, 46018);
    let open = scene.cleanups().await;
    assert_eq!(open.len(), 1, "{open:?}");
    assert_eq!(open[0]["task_name"], TASK);
    assert_eq!(open[0]["source_name_list"], json!(["s"]));
    assert!(open[0]["last_error"].as_str().is_some_and(|cause| !cause.is_empty()), "{open:?}");
    let warnings = scene.warnings();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].contains(&format!("{}@127.0.0.1:{}", scene.user, scene.proxy.port)), "{warnings:?}");
    assert!(warnings[0].contains("[code="), "{warnings:?}");
}

#[tokio::test]
async fn a_healthy_target_is_clean_when_the_call_is_answered() {
    let scene = Scene::set().await;
    assert!(scene.rows_left().await > 0);
    let refused = scene.ferrymaster.api.delete(&format!("/api/v1/tasks/{TASK}")).await.expect_error(400, 49001);
    assert!(refused.contains("running subtasks"), "{refused}");
    let taken = scene.delete("").await;
    assert!(taken < secs(5), "{taken:?}");
    assert!(scene.cleanups().await.is_empty());
    assert_eq!(scene.rows_left().await, 0);
    assert!(scene.warnings().is_empty());
}

#[tokio::test]
async fn a_target_that_refuses_connections_is_cleaned_when_it_is_back() {
    let scene = Scene::set().await;
    scene.set_and_cut(Mode::Refuse);
    deleted_though_dead(&scene).await;
    scene.proxy.set(Mode::Pass);
    scene.until_cleaned().await;
}

#[tokio::test]
async fn a_target_that_falls_silent_in_the_middle_is_cleaned_when_it_is_back() {
    let scene = Scene::set().await;
    scene.proxy.set(Mode::Silent);
    deleted_though_dead(&scene).await;
    scene.set_and_cut(Mode::Pass);
    scene.until_cleaned().await;
}

#[tokio::test]
async fn a_target_that_accepts_and_never_answers_is_cleaned_when_it_is_back() {
    let scene = Scene::set().await;
    scene.set_and_cut(Mode::Silent);
    deleted_though_dead(&scene).await;
    scene.set_and_cut(Mode::Pass);
    scene.until_cleaned().await;
}

#[tokio::test]
async fn a_target_that_is_silent_after_the_login_is_cleaned_when_it_is_back() {
    let scene = Scene::set().await;
    // The greeting and the answer to the login are shorter than this; what follows is not.
    scene.set_and_cut(Mode::SilentAfterBytes(160));
    deleted_though_dead(&scene).await;
    scene.set_and_cut(Mode::Pass);
    scene.until_cleaned().await;
}

#[tokio::test]
async fn a_slow_target_is_cleaned_within_the_call_or_behind_it() {
    let scene = Scene::set().await;
    scene.set_and_cut(Mode::Delay(Duration::from_millis(120)));
    let taken = scene.delete("").await;
    assert!(taken < IN_TIME, "{taken:?}");
    scene.until_cleaned().await;
}

#[tokio::test]
async fn a_target_with_another_password_is_cleaned_with_the_new_one() {
    let scene = Scene::set().await;
    scene.target.run(&[&format!("ALTER USER `{}`@'%' IDENTIFIED BY 'second'", scene.user)]).await;
    scene.proxy.cut();
    deleted_though_dead(&scene).await;
    let open = scene.cleanups().await;
    assert!(open[0]["last_error"].as_str().unwrap().contains("Access denied"), "{open:?}");
    let path = format!("/api/v1/cleanups/{}", open[0]["id"].as_str().unwrap());
    let account = json!({ "user": scene.user, "password": "second" });
    let answer = scene.ferrymaster.api.put(&path, &account).await.expect(200);
    assert!(!answer.to_string().contains("second"), "{answer}");
    scene.until_cleaned().await;
    assert!(!scene.ferrymaster.log().contains("'second'"));
}

#[tokio::test]
async fn without_waiting_the_call_is_answered_at_once_and_cleans_behind() {
    let scene = Scene::set().await;
    let taken = scene.delete("&wait=0s").await;
    assert!(taken < secs(4), "{taken:?}");
    scene.until_cleaned().await;
}

#[tokio::test]
async fn an_error_while_removing_internal_metadata_is_returned_and_the_task_goes_on() {
    let scene = Scene::set().await;
    scene
        .in_metastore("CREATE TRIGGER broken BEFORE DELETE ON tasks BEGIN SELECT RAISE(ABORT, 'disk on fire'); END")
        .await;
    let path = format!("/api/v1/tasks/{TASK}?force=true");
    scene.ferrymaster.api.delete(&path).await.expect_error(400, 42501);
    scene.ferrymaster.api.get(&format!("/api/v1/tasks/{TASK}")).await.expect(200);
    assert!(scene.cleanups().await.is_empty());
    assert!(scene.rows_left().await > 0);
    scene.source.run(&[&format!("INSERT INTO `{}`.t VALUES (7, 'seven')", scene.database)]).await;
    let mut session = scene.target.connect().await;
    until("it replicates again", secs(20), async || {
        match session.value::<i64>(&format!("SELECT COUNT(*) FROM `{}`.t WHERE id = 7", scene.database)).await {
            0 => Err("not yet"),
            _ => Ok(()),
        }
    })
    .await;
    session.close().await;
    scene.in_metastore("DROP TRIGGER broken").await;
    scene.delete("").await;
    scene.until_cleaned().await;
}

#[tokio::test]
async fn a_task_of_the_same_name_begins_anew_though_its_target_was_dead() {
    let scene = Scene::set().await;
    scene.set_and_cut(Mode::Refuse);
    deleted_though_dead(&scene).await;
    // Had it gone on from the old one's progress, it would copy nothing.
    scene.target.run(&[&format!("DROP DATABASE `{}`", scene.database)]).await;
    scene.proxy.set(Mode::Pass);
    scene.make_task(TASK, &scene.through_proxy(TASK)).await;
    support::compare::assert_databases_equal((&scene.source, &scene.database), (&scene.target, &scene.database)).await;
}

#[tokio::test]
async fn kept_progress_is_taken_up_by_the_next_task_of_that_name() {
    let scene = Scene::set().await;
    scene.delete("&keep_meta=true").await;
    assert!(scene.cleanups().await.is_empty());
    assert!(scene.rows_left().await > 0);
    let statements = [
        format!("DELETE FROM `{}`.t WHERE id = 1", scene.database),
        format!("INSERT INTO `{}`.t VALUES (9, 'nine')", scene.database),
    ];
    scene.source.run(&statements.each_ref().map(String::as_str)).await;
    // A copy would stop at the rows that are there (`on_duplicate` is `error`).
    scene.make_task(TASK, &scene.through_proxy(TASK)).await;
    support::compare::until_databases_equal(
        (&scene.source, &scene.database),
        (&scene.target, &scene.database),
        secs(20),
    )
    .await;
}

#[tokio::test]
async fn a_cleanup_that_is_given_up_leaves_the_rows_and_is_gone() {
    let scene = Scene::set().await;
    scene.set_and_cut(Mode::Refuse);
    scene.delete("&wait=1s").await;
    let id = scene.cleanups().await[0]["id"].as_str().unwrap().to_owned();
    let path = format!("/api/v1/cleanups/{id}");
    scene.ferrymaster.api.delete(&path).await.expect(204);
    assert!(scene.cleanups().await.is_empty());
    assert!(scene.rows_left().await > 0);
    assert_eq!(scene.ferrymaster.api.delete(&path).await.status.as_u16(), 404);
}
