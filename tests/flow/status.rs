//! A status says what is so: while rows are copied, while the target is out of reach, and after an error.

use serde_json::{Value, json};

use super::migration::{Migration, TASK};
use super::support::proxy::{Mode, Proxy};
use super::support::servers::Kind::Mariadb;
use super::support::wait::secs;
use super::support::{workload, writer};

#[tokio::test]
async fn a_copy_shows_how_much_is_done_of_how_much() {
    let migration = Migration::between((Mariadb, Mariadb), true).await;
    writer::create_tables(&migration.source, &migration.database, 4_000, 3).await;
    let slow = Proxy::to(&migration.target.host, migration.target.port);
    slow.set(Mode::Delay(std::time::Duration::from_millis(40)));
    let mut body = migration.task("all");
    body["target_config"]["port"] = slow.port.into();
    // One table after the other: side by side, all may be done between two reports of the worker.
    body["source_config"]["full_migrate_conf"] = json!({ "export_threads": 1, "import_threads": 1 });
    migration.start(&body).await;
    let half_way = |status: &Value| {
        let load = &status["load_status"];
        let (finished, total) = (load["finished_rows"].as_u64(), load["estimate_total_rows"].as_u64());
        status["unit"] == "Load" && finished > Some(0) && finished < total
    };
    let status = migration.api().until_status(TASK, "to be half way", secs(60), half_way).await;
    let load = &status["load_status"];
    assert_eq!((&status["stage"], &load["total_tables"]), (&"Running".into(), &5.into()), "{status}");
    assert!(
        load["finished_bytes"].as_u64() > Some(0) && load["meta_binlog"].as_str().unwrap().contains("binlog."),
        "{status}"
    );
    slow.set(Mode::Pass);
    migration.until_equal().await;
}

#[tokio::test]
async fn lag_grows_while_the_target_is_silent_and_goes_when_it_is_back() {
    let migration = Migration::between((Mariadb, Mariadb), true).await;
    workload::create_tables(&migration.source, &migration.database, 200, 4).await;
    let target = Proxy::to(&migration.target.host, migration.target.port);
    let mut body = migration.task("all");
    body["target_config"]["port"] = target.port.into();
    migration.start(&body).await;
    migration.until_replicating().await;
    let writer = workload::start(&migration.source, &migration.database, 4, false);
    writer.until_transactions(20).await;
    target.set(Mode::Silent);
    let lags = |status: &Value| status["sync_status"]["seconds_behind_master"].as_u64() >= Some(3);
    let status = migration.api().until_status(TASK, "to lag", secs(40), lags).await;
    assert_eq!(status["sync_status"]["synced"], false, "{status}");
    assert_ne!(status["sync_status"]["master_binlog"], status["sync_status"]["syncer_binlog"], "{status}");
    target.set(Mode::Pass);
    writer.until_transactions(20).await;
    writer.stop().await;
    let status = migration.until_synced().await;
    assert_eq!(status["sync_status"]["seconds_behind_master"], 0, "{status}");
    assert_eq!(status["sync_status"]["syncer_binlog"], status["sync_status"]["master_binlog"], "{status}");
    migration.until_equal().await;
}

#[tokio::test]
async fn a_status_says_how_old_it_is_and_comes_at_once_when_both_servers_are_silent() {
    let migration = Migration::between((Mariadb, Mariadb), true).await;
    migration.write(&["CREATE TABLE t (id INT PRIMARY KEY)"]).await;
    let (source, target) = (
        Proxy::to(&migration.source.host, migration.source.port),
        Proxy::to(&migration.target.host, migration.target.port),
    );
    let behind = super::support::servers::Server { port: source.port, ..migration.source.clone() };
    migration.api().create_source("behind", &behind, true).await;
    let mut body = migration.task("all");
    body["target_config"]["port"] = target.port.into();
    body["source_config"]["source_conf"][0]["source_name"] = "behind".into();
    body["table_migrate_rule"][0]["source"]["source_name"] = "behind".into();
    migration.start(&body).await;
    migration.until_replicating().await;
    source.set(Mode::Silent);
    target.set(Mode::Silent);
    let begun = std::time::Instant::now();
    let status = migration.api().subtask_status(TASK).await;
    assert!(begun.elapsed() < secs(1), "it took {:?}", begun.elapsed());
    assert!(status["reported_at"].as_str().is_some_and(|at| at.ends_with('Z')), "{status}");
}
