//! Reported faults of errors: retried though they cannot heal, not retried though they can, and without a name.

use serde_json::{Value, json};

use super::site::{Site, TASK};
use crate::support::http::task;
use crate::support::numbers::numbers;
use crate::support::servers::{Kind, PrivateServer, Role, Server};
use crate::support::wait::{secs, until_true};

/// C078: a source without a binlog is refused by name, and a copy without replication needs none.
#[tokio::test]
async fn a_source_without_a_binlog_is_refused_by_name_and_can_still_be_copied() {
    let source = PrivateServer::start(Kind::Mariadb, &["--skip-log-bin"]);
    let site = Site::between(source.server.clone(), Server::shared(Kind::Mariadb, Role::Target)).await;
    site.write(&["CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1)"]).await;
    let refused = site.api().post("/api/v1/tasks", &json!({ "task": site.task() })).await;
    let told = refused.expect_error(400, 26005);
    assert!(told.contains("log_bin is OFF"), "{told}");
    // Where it stands is asked for all the same, and has no answer.
    site.api().get("/api/v1/sources/s/status").await.expect(200);
    let full = task(TASK, "full", "s", &site.target, &site.database);
    site.start(&full).await;
    site.api().until_status(TASK, "to finish", secs(30), |status| status["stage"] == "Finished").await;
    assert_eq!(site.at_target::<u64>("SELECT COUNT(*) FROM {db}.t").await, 1);
}

async fn cannot_heal(kind: Kind) {
    let site = Site::shared(kind).await;
    site.write(&[
        "CREATE TABLE t (id INT PRIMARY KEY, v INT)",
        "CREATE TABLE other (id INT PRIMARY KEY)",
        "INSERT INTO t VALUES (1, 1), (2, 2)",
    ])
    .await;
    site.start(&site.task()).await;
    site.until_equal().await;
    site.write_at_target(&["ALTER TABLE t DROP COLUMN v"]).await;
    site.write(&["UPDATE t SET v = 3 WHERE id = 2"]).await;
    let error = site.until_paused().await;
    assert_eq!(error["table"], format!("`{}`.`t`", site.database), "{error}");
    assert!(error["position"].as_str().is_some_and(|position| position.contains("binlog.")), "{error}");
    assert!(error["gtid"].as_str().is_some_and(|gtid| !gtid.is_empty()), "{error}");
    assert_eq!((&error["times"], &error["next_at"]), (&json!(1), &Value::Null), "{error}");
    assert!(error["hint"].as_str().is_some_and(|hint| hint.contains("table_migrate_rule")), "{error}");
    let opened = site.ferrymaster().log_lines(&["opening case on s"]).len();

    // Left out, as the hint says.
    site.api().stop_task(TASK).await;
    let mut without = site.task();
    without["table_migrate_rule"][0]["source"]["table"] = json!("other");
    site.api().put(&format!("/api/v1/tasks/{TASK}"), &json!({ "task": without })).await.expect(200);
    site.api().start_task(TASK).await;
    site.write(&["INSERT INTO other VALUES (1)"]).await;
    until_true("what comes after it to arrive", secs(30), async || {
        site.at_target::<u64>("SELECT COUNT(*) FROM {db}.other").await == 1
    })
    .await;
    // It was tried once, and no more until it was started.
    assert_eq!(site.ferrymaster().log_lines(&["opening case on s"]).len(), opened + 1);
}

/// C083: what the target refuses for good stops the task once, and the task can go on without the table.
#[tokio::test]
async fn what_cannot_heal_is_not_tried_again_and_its_table_can_be_left_out() {
    cannot_heal(Kind::Mariadb).await;
}

async fn is_passed_over(kind: Kind) {
    let site = Site::shared(kind).await;
    site.write(&["CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(20))", "INSERT INTO t VALUES (1, 'a'), (2, 'b')"])
        .await;
    site.start(&site.task()).await;
    site.until_equal().await;
    site.write_at_target(&["ALTER TABLE t MODIFY v VARCHAR(5)"]).await;
    site.write(&["UPDATE t SET v = 'much too long' WHERE id = 2"]).await;
    let error = site.until_paused().await;
    assert_eq!((&error["server_error"], &error["times"]), (&json!(1406), &json!(1)), "{error}");
    assert!(error["hint"].as_str().is_some_and(|hint| hint.contains("binlog_filter_rule")), "{error}");

    let path = format!("/api/v1/tasks/{TASK}");
    site.api().stop_task(TASK).await;
    let mut without = site.task();
    without["binlog_filter_rule"] = json!({ "pass over": { "ignore_event": ["update"] } });
    without["table_migrate_rule"][0]["binlog_filter_rule"] = json!(["pass over"]);
    site.api().put(&path, &json!({ "task": without })).await.expect(200);
    site.api().start_task(TASK).await;
    site.write(&["INSERT INTO t VALUES (3, 'c')"]).await;
    until_true("what comes after it to arrive", secs(30), async || {
        site.at_target::<u64>("SELECT COUNT(*) FROM {db}.t").await == 3
    })
    .await;
    assert_eq!(site.at_target::<String>("SELECT v FROM {db}.t WHERE id = 2").await, "b");

    // The rule is taken away, and what it left out is mended by hand.
    site.api().until_synced(TASK, secs(30)).await;
    site.api().stop_task(TASK).await;
    site.api().put(&path, &json!({ "task": site.task() })).await.expect(200);
    site.write_at_target(&["ALTER TABLE t MODIFY v VARCHAR(20)", "UPDATE t SET v = 'much too long' WHERE id = 2"])
        .await;
    site.api().start_task(TASK).await;
    site.write(&["UPDATE t SET v = 'later' WHERE id = 1"]).await;
    site.until_equal().await;
}

/// C083: the event that the target refuses is passed over by a rule, and what follows arrives.
#[tokio::test]
async fn a_refused_event_is_passed_over_by_a_rule_that_is_taken_away_again() {
    is_passed_over(Kind::Mariadb).await;
}

async fn heals(kind: Kind) {
    let target = PrivateServer::start(kind, &[]);
    let site = Site::between(Server::shared(kind, Role::Source), target.server.clone()).await;
    site.write(&["CREATE TABLE t (id INT PRIMARY KEY, v INT)", "INSERT INTO t VALUES (1, 1)"]).await;
    let may = "SELECT, INSERT, UPDATE, DELETE, CREATE, DROP, ALTER, INDEX, REFERENCES, PROCESS";
    site.target.run(&["CREATE USER mover@'%' IDENTIFIED BY 'word'", &format!("GRANT {may} ON *.* TO mover@'%'")]).await;
    let mut body = site.task();
    body["target_config"]["user"] = json!("mover");
    body["target_config"]["password"] = json!("word");
    site.start(&body).await;
    site.until_equal().await;
    site.target.run(&["SET GLOBAL read_only = 1"]).await;
    site.write(&["UPDATE t SET v = 2"]).await;
    let status = site.until_retrying(|status| status["error"]["times"].as_u64() >= Some(3)).await;
    let error = &status["error"];
    assert_eq!((&error["server_error"], &error["code"]), (&json!(1290), &json!(10006)), "{error}");
    assert!(error["first_at"].as_str() < error["at"].as_str(), "{error}");
    let waits = site.until_retrying(|status| status["error"]["next_at"].is_string()).await;
    assert!(waits["error"]["next_at"].as_str() > waits["error"]["at"].as_str(), "{waits}");
    assert_eq!(waits["sync_status"]["synced"], false, "{waits}");

    // Stopped meanwhile, nothing comes next, and it says so.
    site.api().stop_task(TASK).await;
    let error = site.until_paused().await;
    assert_eq!(error["next_at"], Value::Null, "{error}");
    site.api().start_task(TASK).await;
    let status = site.until_retrying(|status| status["error"]["times"].as_u64() == Some(2)).await;
    assert_eq!(status["error"]["server_error"], 1290, "{status}");

    site.target.run(&["SET GLOBAL read_only = 0"]).await;
    site.until_equal().await;
    let status = site.api().subtask_status(TASK).await;
    let told = status["notices"][0]["text"].as_str().unwrap_or_default();
    assert!(told.contains("failures in a row since") && status["error_msg"].is_null(), "{status}");
}

/// C083: what the target refuses for a while heals by itself, and tells meanwhile.
#[tokio::test]
async fn what_the_target_refuses_for_a_while_is_told_and_heals_by_itself() {
    heals(Kind::Mariadb).await;
}

/// C105, as far as it is the precheck's: a table without a key is warned of by name, others are not.
#[tokio::test]
async fn a_table_without_a_key_is_warned_of_before_the_task_is_made() {
    let site = Site::shared(Kind::Mariadb).await;
    site.write(&[
        "CREATE TABLE nk (a INT, b VARCHAR(20), KEY (a), UNIQUE KEY (b))",
        "CREATE TABLE uk (a INT NOT NULL, b INT, UNIQUE KEY (a))",
        "CREATE TABLE pk (id VARCHAR(20) PRIMARY KEY, v INT)",
    ])
    .await;
    let made = site.api().post("/api/v1/tasks", &json!({ "task": site.task() })).await.expect(201);
    let told = made["check_result"].as_str().unwrap_or_default();
    assert!(told.contains("`nk` has no primary key"), "{told}");
    assert!(!told.contains("`uk` has no") && !told.contains("`pk` has no"), "{told}");
}

const SECRET: &str = "gEh3im";

/// What must not be in any answer nor in the log.
async fn keeps_the_row_to_itself(site: &Site) {
    let status = site.api().subtask_status(TASK).await;
    assert!(!status.to_string().contains(SECRET), "{status}");
    assert!(!site.ferrymaster().log().contains(SECRET), "{}", site.ferrymaster().log());
}

async fn names_the_row(kind: Kind) {
    let site = Site::shared(kind).await;
    site.write(&[
        "CREATE TABLE t (id INT, part VARCHAR(9), v TEXT, secret VARCHAR(20), PRIMARY KEY (id, part)) \
         DEFAULT CHARSET utf8mb4 COLLATE utf8mb4_general_ci",
        &format!("INSERT INTO t VALUES (1, 'a', 'short', '{SECRET}'), (2, 'b', 'much too long', '{SECRET}')"),
    ])
    .await;
    site.target.run(&[&format!("CREATE DATABASE `{}`", site.database)]).await;
    site.write_at_target(&["CREATE TABLE t (id INT, part VARCHAR(9), v VARCHAR(5), secret VARCHAR(20), PRIMARY KEY \
         (id, part)) DEFAULT CHARSET utf8mb4 COLLATE utf8mb4_general_ci"])
        .await;
    let table = format!("`{}`.`t`", site.database);
    site.start(&site.task()).await;
    let error = site.until_paused().await;
    assert_eq!(error["table"], table.as_str(), "{error}");
    let told = error.to_string();
    assert!(told.contains("`id`=2") && told.contains("`part`") && told.contains("'v'"), "{error}");
    assert_eq!(error["server_error"], 1406, "{error}");
    keeps_the_row_to_itself(&site).await;

    // In the binlog.
    site.write(&["UPDATE t SET v = 'brief' WHERE id = 2"]).await;
    site.api().start_task(TASK).await;
    site.until_equal().await;
    let bad = "IF(n = 637, 'much too long', 'ok')";
    let many = format!("INSERT INTO t SELECT 1000 + n, 'c', {bad}, '{SECRET}' FROM {}", numbers(1_000));
    site.write(&[&many]).await;
    let error = site.until_paused().await;
    assert_eq!((&error["table"], &error["server_error"]), (&table.into(), &json!(1406)), "{error}");
    let key = error["key"].as_str().unwrap_or_default();
    assert!(key.contains("`id`=1637") && key.contains("`part`="), "{error}");
    assert!(error["cause"].as_str().is_some_and(|cause| cause.contains("'v'")), "{error}");
    let position = error["position"].as_str().unwrap_or_default();
    assert!(position.starts_with("(binlog.") && position.contains(", "), "{error}");
    assert!(error["gtid"].as_str().is_some_and(|gtid| gtid.contains(['-', ':'])), "{error}");
    keeps_the_row_to_itself(&site).await;

    site.write_at_target(&["ALTER TABLE t MODIFY v TEXT"]).await;
    site.api().start_task(TASK).await;
    site.until_equal().await;
}

/// C107: a value that does not fit, in the copy and in the binlog.
#[tokio::test]
async fn a_refused_row_is_named_by_position_table_key_column_and_number_and_not_shown() {
    names_the_row(Kind::Mariadb).await;
}

/// For `--all`.
mod long {
    use super::*;

    #[tokio::test]
    async fn mysql_what_cannot_heal_is_not_tried_again_and_its_table_can_be_left_out() {
        cannot_heal(Kind::Mysql).await;
    }

    #[tokio::test]
    async fn mysql_a_refused_event_is_passed_over_by_a_rule_that_is_taken_away_again() {
        is_passed_over(Kind::Mysql).await;
    }

    #[tokio::test]
    async fn mysql_what_the_target_refuses_for_a_while_is_told_and_heals_by_itself() {
        heals(Kind::Mysql).await;
    }

    #[tokio::test]
    async fn mysql_a_refused_row_is_named_by_position_table_key_column_and_number_and_not_shown() {
        names_the_row(Kind::Mysql).await;
    }
}
