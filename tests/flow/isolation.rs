//! A server that is dead, or alive and silent, delays the tasks that need it, and no others.

use std::time::{Duration, Instant};

use serde_json::json;

use super::migration::Migration;
use super::support::ferrymaster::{Ferrymaster, Start};
use super::support::http::{source, task};
use super::support::proxy::{Mode, Proxy};
use super::support::servers::Kind::Mariadb;
use super::support::servers::{Role, Server};
use super::support::wait::{secs, until};

/// Writes a row at the source of the healthy task and waits until it is at the target.
async fn lag(migration: &Migration, id: u32) -> Duration {
    let begun = Instant::now();
    migration.write(&[&format!("INSERT INTO t VALUES ({id})")]).await;
    let mut session = migration.target.connect().await;
    let query = format!("SELECT COUNT(*) FROM `{}`.t WHERE id = {id}", migration.database);
    until("the row to arrive", secs(20), async || match session.value::<i64>(&query).await {
        0 => Err("not yet"),
        _ => Ok(()),
    })
    .await;
    let taken = begun.elapsed();
    session.close().await;
    taken
}

async fn disturbed_by(mode: Mode, of_source: bool) {
    let migration = Migration::between((Mariadb, Mariadb), true).await;
    migration.write(&["CREATE TABLE t (id INT PRIMARY KEY)"]).await;
    migration.start(&migration.task("all")).await;
    migration.until_replicating().await;
    let server = if of_source { &migration.source } else { &migration.target };
    let proxy = Proxy::to(&server.host, server.port);
    let broken = migration.source.create_database("broken").await;
    migration.source.run(&[&format!("CREATE TABLE `{broken}`.b (id INT PRIMARY KEY)")]).await;
    let mut given = source("second", &migration.source, true);
    let mut body = task("broken", "all", "second", &migration.target, &broken);
    if of_source {
        given["port"] = json!(proxy.port);
    } else {
        body["target_config"]["port"] = json!(proxy.port);
    }
    migration.api().post("/api/v1/sources", &json!({ "source": given })).await.expect(201);
    migration.api().create_task(&body).await;
    migration.api().start_task("broken").await;
    migration.api().until_synced("broken", secs(40)).await;
    proxy.set(mode);
    proxy.cut();
    migration.source.run(&[&format!("INSERT INTO `{broken}`.b VALUES (1)")]).await;
    // All of these while the other one is opening, failing, and waiting to try again.
    let mut worst = Duration::ZERO;
    for id in 0..25 {
        worst = worst.max(lag(&migration, id).await);
    }
    assert!(worst < secs(1), "the healthy task lagged {worst:?}");
    let begun = Instant::now();
    migration.api().stop_task("broken").await;
    assert!(begun.elapsed() < secs(15), "the stop took {:?}", begun.elapsed());
    migration.api().start_task("broken").await;
    proxy.set(Mode::Pass);
    let mut session = migration.target.connect().await;
    let query = format!("SELECT COUNT(*) FROM `{broken}`.b");
    until("the broken task to go on by itself", secs(90), async || match session.value::<i64>(&query).await {
        0 => Err("not yet"),
        _ => Ok(()),
    })
    .await;
    session.close().await;
}

#[tokio::test]
async fn a_source_that_refuses_delays_nobody_else() {
    disturbed_by(Mode::Refuse, true).await;
}

#[tokio::test]
async fn a_silent_source_delays_nobody_else() {
    disturbed_by(Mode::Silent, true).await;
}

#[tokio::test]
async fn a_target_that_refuses_delays_nobody_else() {
    disturbed_by(Mode::Refuse, false).await;
}

#[tokio::test]
async fn a_silent_target_delays_nobody_else() {
    disturbed_by(Mode::Silent, false).await;
}

/// The scheduler gives runs that fail new generations all the time here, between a call's reading and its storing too.
#[tokio::test]
async fn a_task_that_fails_all_the_time_can_be_stopped_and_started_at_any_moment() {
    const SOURCES: [&str; 6] = ["a", "b", "c", "d", "e", "f"];
    let (origin, target) = (Server::shared(Mariadb, Role::Source), Server::shared(Mariadb, Role::Target));
    let arguments = ["--retry-first", "10ms", "--retry-longest", "10ms"];
    let ferrymaster = Ferrymaster::start_with(Start { arguments: &arguments, ..Start::default() }).await;
    let proxy = Proxy::to(&target.host, target.port);
    let mut body = task("failing", "all", "a", &target, "failing");
    body["target_config"]["port"] = json!(proxy.port);
    let mut rules = Vec::new();
    for name in SOURCES {
        let database = origin.create_database("failing").await;
        ferrymaster.api.create_source(name, &origin, true).await;
        rules.push(json!({ "source": { "source_name": name, "schema": database, "table": "*" } }));
    }
    body["table_migrate_rule"] = json!(rules);
    body["source_config"]["source_conf"] = json!(SOURCES.map(|name| json!({ "source_name": name })));
    ferrymaster.api.create_task(&body).await;
    proxy.set(Mode::Refuse);
    for round in 0..40 {
        for call in ["start", "stop"] {
            let path = format!("/api/v1/tasks/failing/{call}?wait={}ms", round % 5 * 20);
            let answer = ferrymaster.api.post(&path, &json!({})).await;
            assert_eq!(answer.status, 200, "{call} in round {round}: {answer:?}");
        }
    }
    ferrymaster.api.post("/api/v1/tasks/failing/start?wait=0s", &json!({})).await.expect(200);
    for call in ["disable", "enable", "disable"] {
        ferrymaster.api.post(&format!("/api/v1/sources/a/{call}?wait=0s"), &json!({})).await.expect(200);
    }
}
