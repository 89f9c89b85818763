//! Reported faults of the copy: what it does to the source, what the source does to it, and what ends it half way.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::site::{Site, TASK};
use crate::support::http::task;
use crate::support::numbers::numbers;
use crate::support::proxy::Mode;
use crate::support::servers::{Kind, PrivateServer, Role, Server};
use crate::support::wait::{secs, until, until_true};

/// Slow enough that the copy of some thousand rows can be caught in its middle.
const SLOW: Duration = Duration::from_millis(20);

async fn does_not_freeze(kind: Kind) {
    // Of its own: what waits for what is looked at, and other tests' sessions would be in it.
    let source = PrivateServer::start(kind, &[]);
    let site = Site::between(source.server.clone(), Server::shared(kind, Role::Target)).await;
    site.write(&[
        "CREATE TABLE big_table (id INT PRIMARY KEY, p CHAR(100))",
        &format!("INSERT INTO big_table SELECT n, REPEAT('p', 100) FROM {}", numbers(4_000)),
        "CREATE TABLE other (id INT AUTO_INCREMENT PRIMARY KEY, v INT)",
        "INSERT INTO other (v) VALUES (1)",
    ])
    .await;
    let mut long = site.source.connect().await;
    let long_id = long.connection_id();
    let query = format!("SELECT SLEEP(120) FROM `{}`.big_table LIMIT 1", site.database);
    let sleeping = tokio::spawn(async move { long.try_rows::<i64>(&query).await.is_ok() });
    let asleep =
        format!("SELECT COUNT(*) FROM information_schema.processlist WHERE ID = {long_id} AND INFO LIKE '%SLEEP%'");
    until_true("the long query to run", secs(10), async || site.at_source::<i64>(&asleep).await == 1).await;

    let proxy = site.proxy_to_target();
    proxy.set(Mode::Delay(SLOW));
    site.start(&site.task_behind(&proxy)).await;
    let mut writer = site.source.connect().await;
    let insert = format!("INSERT INTO `{}`.other (v) VALUES (2)", site.database);
    let mut slowest = Duration::ZERO;
    until("the copy to be half way while the source is written to", secs(60), async || {
        let begun = Instant::now();
        writer.run(&insert).await;
        slowest = slowest.max(begun.elapsed());
        let status = site.api().subtask_status(TASK).await;
        if status["load_status"]["finished_rows"].as_u64() > Some(0) { Ok(()) } else { Err(status) }
    })
    .await;
    let begun = Instant::now();
    site.source.run_in(&site.database, &["ALTER TABLE other ADD COLUMN c1 INT"]).await;
    let altered = begun.elapsed();
    let status = site.api().subtask_status(TASK).await;
    assert_eq!(status["unit"], "Load", "the ALTER waited for the end of the copy, {altered:?}: {status}");
    assert!(slowest < secs(5) && altered < secs(5), "an INSERT waited {slowest:?}, the ALTER {altered:?}");
    proxy.set(Mode::Pass);
    writer.run(&insert).await;
    writer.run(&format!("KILL QUERY {long_id}")).await;
    writer.close().await;
    sleeping.await.expect("the long query was ended");
    site.until_equal().await;
}

/// C032: neither a long query before the copy nor the copy itself makes the source wait.
#[tokio::test]
async fn neither_writes_nor_ddl_of_the_source_wait_for_the_copy_or_behind_a_long_query() {
    does_not_freeze(Kind::Mariadb).await;
}

async fn structures_change(kind: Kind) {
    let site = Site::shared(kind).await;
    for number in 1..=20 {
        site.write(&[
            &format!("CREATE TABLE t{number:02} (id INT PRIMARY KEY, v INT)"),
            &format!("INSERT INTO t{number:02} SELECT n, n FROM {}", numbers(700)),
        ])
        .await;
    }
    let proxy = site.proxy_to_target();
    // Twenty tables are made through it too.
    proxy.set(Mode::Delay(SLOW / 3));
    site.start(&site.task_behind(&proxy)).await;
    site.until_copied(1).await;
    site.write(&[
        "ALTER TABLE t15 ADD COLUMN extra INT DEFAULT 9",
        "TRUNCATE t16",
        "DROP TABLE t17",
        "CREATE TABLE t99 (id INT PRIMARY KEY)",
        "INSERT INTO t99 VALUES (1)",
    ])
    .await;
    let status = site.api().subtask_status(TASK).await;
    assert_eq!(status["unit"], "Load", "too late: {status}");
    proxy.set(Mode::Pass);
    site.until_equal().await;
    let there = "SELECT GROUP_CONCAT(TABLE_NAME ORDER BY TABLE_NAME) FROM information_schema.TABLES \
                 WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME IN ('t16', 't17', 't99')";
    let mut session = site.target.connect().await;
    session.run(&format!("USE `{}`", site.database)).await;
    assert_eq!(session.value::<String>(there).await, "t16,t99");
    session.close().await;
}

/// C033: the source's tables change while they are copied.
#[tokio::test]
async fn tables_that_are_altered_emptied_dropped_and_made_during_the_copy_end_right() {
    structures_change(Kind::Mariadb).await;
}

async fn keys_move(kind: Kind) {
    let site = Site::shared(kind).await;
    site.write(&[
        "CREATE TABLE mover (id INT PRIMARY KEY, v INT, p CHAR(200))",
        &format!("INSERT INTO mover SELECT n + 1, n + 1, REPEAT('p', 200) FROM {}", numbers(20_000)),
        "ANALYZE TABLE mover",
    ])
    .await;
    let proxy = site.proxy_to_target();
    proxy.set(Mode::Delay(SLOW));
    site.start(&site.task_behind(&proxy)).await;
    let first = "SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_NAME = 'mover' AND TABLE_SCHEMA = '{db}'";
    let first = first.replace("{db}", &site.database);
    until_true("the table to be there", secs(30), async || site.at_target::<i64>(&first).await == 1).await;
    site.write(&["UPDATE mover SET id = -2, v = 7 WHERE id = 19999"]).await;
    site.until_copied(500).await;
    site.write(&["UPDATE mover SET id = 19999, v = 8 WHERE id = -2", "UPDATE mover SET id = 30000 WHERE id = 5"]).await;
    let status = site.api().subtask_status(TASK).await;
    assert_eq!(status["unit"], "Load", "too late: {status}");
    proxy.set(Mode::Pass);
    site.until_equal().await;
    assert_eq!(site.at_target::<i64>("SELECT COUNT(*) FROM {db}.mover").await, 20_000);
    assert_eq!(site.at_target::<i64>("SELECT v FROM {db}.mover WHERE id = 19999").await, 8);
    assert_eq!(site.at_target::<i64>("SELECT SUM(id) FROM {db}.mover WHERE id IN (5, 30000)").await, 30_000);
}

/// C040: a primary key that moves, and moves back, while its table is copied.
#[tokio::test]
async fn a_row_whose_key_moves_during_the_copy_is_not_lost() {
    keys_move(Kind::Mariadb).await;
}

async fn target_dies_in_the_copy(kind: Kind) {
    let target = PrivateServer::start(kind, &[]);
    let site = Site::between(Server::shared(kind, Role::Source), target.server.clone()).await;
    site.write(&[
        "CREATE TABLE keyed (id INT PRIMARY KEY, v INT)",
        "CREATE TABLE loose (a INT, b INT, KEY (a))",
        &format!("INSERT INTO keyed SELECT n, n FROM {}", numbers(10_000)),
        // Every row twice.
        &format!("INSERT INTO loose SELECT n DIV 2, 1 FROM {}", numbers(10_000)),
    ])
    .await;
    let proxy = site.proxy_to_target();
    proxy.set(Mode::Delay(SLOW));
    let mut body = site.task_behind(&proxy);
    // Both tables at once.
    body["source_config"]["full_migrate_conf"] = json!({ "export_threads": 2, "import_threads": 2 });
    site.start(&body).await;
    site.until_copied(6_000).await;
    let status = site.api().subtask_status(TASK).await;
    assert_eq!(status["unit"], "Load", "too late: {status}");
    target.kill();
    proxy.set(Mode::Pass);
    // Not "running, no progress": it tells, again and again, until the target is back.
    let status = site.until_retrying(|status| status["error"]["times"].as_u64() >= Some(3)).await;
    assert!(status["error"]["cause"].as_str().is_some_and(|cause| !cause.is_empty()), "{status}");
    assert!(status["error"]["first_at"].as_str() < status["error"]["at"].as_str(), "{status}");
    target.start_again();
    site.until_equal().await;
    assert_eq!(site.at_target::<i64>("SELECT COUNT(*) FROM {db}.loose").await, 10_000);
}

/// C085: the target is killed in the middle of the copy, and is away for a while.
#[tokio::test]
async fn a_copy_whose_target_dies_goes_on_by_itself_when_it_is_back() {
    target_dies_in_the_copy(Kind::Mariadb).await;
}

/// C087: two tasks of one source are copying, and one of them is stopped, started and the other deleted.
#[tokio::test]
async fn stopping_one_of_two_copies_of_a_source_moves_neither_the_source_nor_the_other() {
    let site = Site::shared(Kind::Mariadb).await;
    let second = site.source.create_database("case").await;
    for database in [&site.database, &second] {
        let rows = format!("INSERT INTO t SELECT n, n FROM {}", numbers(12_000));
        site.source.run_in(database, &["CREATE TABLE t (id INT PRIMARY KEY, v INT)", &rows, "ANALYZE TABLE t"]).await;
    }
    let (one, other) = (site.proxy_to_target(), site.proxy_to_target());
    one.set(Mode::Delay(SLOW));
    other.set(Mode::Delay(SLOW));
    site.start(&site.task_behind(&one)).await;
    let mut body = task("other", "all", "s", &site.target, &second);
    body["target_config"]["port"] = json!(other.port);
    site.api().create_task(&body).await;
    site.api().start_task("other").await;
    let rows = |status: &Value| status["load_status"]["finished_rows"].as_u64().unwrap_or(0);
    site.until_copied(1).await;
    site.api().until_status("other", "to copy", secs(60), |status| rows(status) > 0).await;

    site.api().stop_task(TASK).await;
    let stopped = site.api().until_status(TASK, "to be stopped", secs(20), |status| status["stage"] == "Paused").await;
    assert_eq!(stopped["unit"], "Load", "too late: {stopped}");
    let before = rows(&site.api().subtask_status("other").await);
    let worker = stopped["worker_name"].clone();
    let goes_on = |status: &Value| status["unit"] == "Sync" || rows(status) > before;
    let status = site.api().until_status("other", "to go on", secs(60), goes_on).await;
    assert_eq!((&status["worker_name"], &status["stage"]), (&worker, &json!("Running")), "{status}");
    assert_eq!(site.api().subtask_status(TASK).await["stage"], "Paused");

    site.api().start_task(TASK).await;
    one.set(Mode::Pass);
    site.api().until_status(TASK, "to replicate", secs(60), |status| status["unit"] == "Sync").await;
    site.api().delete("/api/v1/tasks/other?force=true").await.expect(204);
    site.until_equal().await;
    let log = site.ferrymaster();
    assert_eq!(log.log_lines(&["assign s to"]).len(), 1, "the source moved");
    assert!(log.log_lines(&["unassign s"]).is_empty(), "the source was taken away");
}

async fn marks(kind: Kind) {
    let mut site = Site::shared(kind).await;
    site.write(&[
        "CREATE TABLE mark (id INT PRIMARY KEY, v INT)",
        &format!("INSERT INTO mark SELECT n + 1, n + 1 FROM {}", numbers(20_000)),
        "ANALYZE TABLE mark",
    ])
    .await;
    let proxy = site.proxy_to_target();
    proxy.set(Mode::Delay(SLOW));
    site.start(&site.task_behind(&proxy)).await;
    site.until_copied(14_000).await;
    site.write(&["INSERT INTO mark VALUES (60000, 1)", "DELETE FROM mark WHERE id = 60000"]).await;
    let status = site.api().subtask_status(TASK).await;
    assert_eq!(status["unit"], "Load", "too late: {status}");
    site.ferrymaster_mut().kill();
    site.write(&[
        "UPDATE mark SET v = -1 WHERE id IN (1, 10000, 20000)",
        "DELETE FROM mark WHERE id IN (2, 10001, 19999)",
    ])
    .await;
    proxy.set(Mode::Pass);
    site.restart("").await;
    site.until_equal().await;
    assert_eq!(site.at_target::<i64>("SELECT COUNT(*) FROM {db}.mark").await, 19_997);
    assert_eq!(site.at_target::<i64>("SELECT COUNT(*) FROM {db}.mark WHERE id = 60000").await, 0);
    assert_eq!(site.at_target::<i64>("SELECT COUNT(*) FROM {db}.mark WHERE v = -1").await, 3);
}

/// C094: a row that comes and goes near the end of the copy, and changes while nothing runs.
#[tokio::test]
async fn a_row_that_came_and_went_before_the_kill_does_not_stay_at_the_target() {
    marks(Kind::Mariadb).await;
}

async fn paused_and_killed(kind: Kind) {
    let mut site = Site::shared(kind).await;
    site.write(&[
        "CREATE TABLE keyed (id INT PRIMARY KEY, v INT)",
        "CREATE TABLE loose (a INT, b INT, KEY (a))",
        "CREATE TABLE made (id INT PRIMARY KEY, v INT, twice INT AS (v * 2) STORED)",
        // The largest is copied first.
        &format!("INSERT INTO keyed SELECT n, n FROM {}", numbers(8_000)),
        // Every row twice.
        &format!("INSERT INTO loose SELECT n DIV 2, 1 FROM {}", numbers(2_000)),
        &format!("INSERT INTO made (id, v) SELECT n, n FROM {}", numbers(5_500)),
        "ANALYZE TABLE keyed, loose, made",
    ])
    .await;
    let changes = |from: u32| {
        [
            format!("UPDATE keyed SET v = -v WHERE id % 7 = {from}"),
            format!("DELETE FROM keyed WHERE id % 11 = {from}"),
            format!("UPDATE loose SET b = b + 1 WHERE a % 71 = {from}"),
            format!("DELETE FROM loose WHERE a % 103 = {from}"),
            format!("UPDATE made SET v = v + 1 WHERE id % 7 = {from}"),
            format!("DELETE FROM made WHERE id % 11 = {from}"),
        ]
    };
    let proxy = site.proxy_to_target();
    proxy.set(Mode::Delay(SLOW));
    site.start(&site.task_behind(&proxy)).await;
    site.until_copied(4_000).await;
    site.api().stop_task(TASK).await;
    let stopped = site.api().until_status(TASK, "to be stopped", secs(20), |status| status["stage"] == "Paused").await;
    assert_eq!(stopped["unit"], "Load", "too late: {stopped}");
    site.write(&changes(1).each_ref().map(String::as_str)).await;
    site.api().start_task(TASK).await;
    until_told(&site, "`keyed` goes on where its copy was").await;
    site.until_copied(10_000).await;
    let status = site.api().subtask_status(TASK).await;
    assert_eq!(status["unit"], "Load", "too late: {status}");
    site.ferrymaster_mut().kill();
    site.write(&changes(2).each_ref().map(String::as_str)).await;
    proxy.set(Mode::Pass);
    site.restart("").await;
    // Which of the two is half copied now depends on how much is left of the first.
    until_told(&site, "goes on where its copy was").await;
    site.until_equal().await;
}

async fn until_told(site: &Site, text: &str) {
    let tells = |status: &Value| {
        let notices = status["notices"].as_array();
        notices.is_some_and(|all| all.iter().any(|one| one["text"].as_str().is_some_and(|told| told.contains(text))))
    };
    site.api().until_status(TASK, &format!("to tell that {text}"), secs(30), tells).await;
}

/// C093: stopped at a third, killed at two thirds, with a key, without one, and with a generated column.
#[tokio::test]
async fn a_copy_that_is_stopped_and_then_killed_goes_on_both_times_and_ends_right() {
    paused_and_killed(Kind::Mariadb).await;
}

/// For `--all`.
mod long {
    use super::*;

    #[tokio::test]
    async fn mysql_a_copy_that_is_stopped_and_then_killed_goes_on_both_times_and_ends_right() {
        paused_and_killed(Kind::Mysql).await;
    }

    #[tokio::test]
    async fn mysql_neither_writes_nor_ddl_of_the_source_wait_for_the_copy_or_behind_a_long_query() {
        does_not_freeze(Kind::Mysql).await;
    }

    #[tokio::test]
    async fn mysql_tables_that_are_altered_emptied_dropped_and_made_during_the_copy_end_right() {
        structures_change(Kind::Mysql).await;
    }

    #[tokio::test]
    async fn mysql_a_row_whose_key_moves_during_the_copy_is_not_lost() {
        keys_move(Kind::Mysql).await;
    }

    #[tokio::test]
    async fn mysql_a_copy_whose_target_dies_goes_on_by_itself_when_it_is_back() {
        target_dies_in_the_copy(Kind::Mysql).await;
    }

    #[tokio::test]
    async fn mysql_a_row_that_came_and_went_before_the_kill_does_not_stay_at_the_target() {
        marks(Kind::Mysql).await;
    }
}
