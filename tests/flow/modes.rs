//! What each mode does, and where `incremental` begins.

use serde_json::json;

use super::migration::{Migration, TASK};
use super::support::compare::assert_databases_equal;
use super::support::servers::Kind::{self, Mariadb, Mysql};
use super::support::wait::secs;

#[tokio::test]
async fn full_ends_when_the_rows_are_there_and_follows_nothing() {
    for kind in [Mariadb, Mysql] {
        let migration = Migration::between((kind, kind), true).await;
        migration.write(&["CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1), (2)"]).await;
        migration.start(&migration.task("full")).await;
        let status =
            migration.api().until_status(TASK, "to finish", secs(60), |status| status["stage"] == "Finished").await;
        assert_eq!(status["load_status"]["finished_rows"], 2, "{status}");
        let databases = ((&migration.source, &*migration.database), (&migration.target, &*migration.database));
        assert_databases_equal(databases.0, databases.1).await;
        migration.write(&["INSERT INTO t VALUES (3)"]).await;
        // A finished task that is started again finds nothing to do.
        migration.api().start_task(TASK).await;
        assert_eq!(migration.api().subtask_status(TASK).await["stage"], "Finished");
        assert_eq!(migration.at_target("SELECT CAST(COUNT(*) AS CHAR) FROM `{db}`.t").await, ["2"]);
    }
}

async fn executed_gtids(migration: &Migration) -> String {
    let mut session = migration.source.connect().await;
    let gtids: String = session
        .value(match migration.source.kind {
            Kind::Mariadb => "SELECT @@gtid_binlog_pos",
            Kind::Mysql => "SELECT @@gtid_executed",
        })
        .await;
    session.close().await;
    gtids.replace('\n', "")
}

async fn begins_where_it_is_told_to(kind: Kind, by_gtid: bool) {
    let migration = Migration::between((kind, kind), by_gtid).await;
    migration.write(&["CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1)"]).await;
    let ((file, offset), gtid) = (migration.place().await, executed_gtids(&migration).await);
    migration.write(&["INSERT INTO t VALUES (2)", "UPDATE t SET id = 20 WHERE id = 2"]).await;
    migration
        .target
        .run(&[
            &format!("CREATE DATABASE `{}`", migration.database),
            &format!("CREATE TABLE `{}`.t (id INT PRIMARY KEY)", migration.database),
        ])
        .await;
    let mut body = migration.task("incremental");
    body["source_config"]["source_conf"][0] = if by_gtid {
        json!({ "source_name": "s", "binlog_gtid": gtid })
    } else {
        json!({ "source_name": "s", "binlog_name": file, "binlog_pos": offset })
    };
    migration.start(&body).await;
    migration.until_synced().await;
    migration.write(&["INSERT INTO t VALUES (3)"]).await;
    migration.until_synced().await;
    assert_eq!(migration.at_target("SELECT CAST(id AS CHAR) FROM `{db}`.t ORDER BY id").await, ["3", "20"]);
}

#[tokio::test]
async fn incremental_begins_at_a_gtid_of_mariadb() {
    begins_where_it_is_told_to(Mariadb, true).await;
}

#[tokio::test]
async fn incremental_begins_at_a_position_of_mariadb() {
    begins_where_it_is_told_to(Mariadb, false).await;
}

#[tokio::test]
async fn incremental_begins_at_a_gtid_of_mysql() {
    begins_where_it_is_told_to(Mysql, true).await;
}

#[tokio::test]
async fn incremental_begins_at_a_position_of_mysql() {
    begins_where_it_is_told_to(Mysql, false).await;
}

#[tokio::test]
async fn incremental_without_a_start_is_refused_and_does_not_run() {
    let migration = Migration::between((Mariadb, Mariadb), true).await;
    migration.api().create_task(&migration.task("incremental")).await;
    let answer = migration.api().post_empty(&format!("/api/v1/tasks/{TASK}/start")).await;
    assert_eq!(answer.status.as_u16(), 400, "{answer:?}");
    assert!(!answer.body["hint"].as_str().unwrap().is_empty(), "{answer:?}");
    assert_eq!(migration.api().subtask_status(TASK).await["stage"], "Stopped");
}
