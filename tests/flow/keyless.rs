//! Tables without a key: their rows are found by all their columns, in few statements that an index helps where there
//! is one; and twins stay as many as they are.

use super::migration::{Migration, TASK};
use super::support::http::task;
use super::support::numbers::numbers;
use super::support::servers::Kind::{Mariadb, Mysql};
use super::support::servers::{Kind, PrivateServer};
use super::support::wait::secs;

/// `INSERT INTO table SELECT values FROM …`, with n from 0 to below `rows`.
fn fill(table: &str, values: &str, rows: u64) -> String {
    format!("INSERT INTO {table} SELECT {values} FROM {}", numbers(rows))
}

/// How often changes had to be applied one by one.
fn told_one_by_one(migration: &Migration) -> Vec<String> {
    migration.ferrymaster.log_lines(&["applying a group one by one"])
}

const EVERY_TYPE: &str = "CREATE TABLE t (i INT, u BIGINT UNSIGNED, dc DECIMAL(20,5), f FLOAT, db DOUBLE, d DATE, \
                          dt DATETIME(3), ts TIMESTAMP(6) NULL, tm TIME(2), y YEAR, c CHAR(10) CHARACTER SET latin1, \
                          v VARCHAR(40) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci, vb VARBINARY(30), \
                          bn BINARY(8), bl BLOB, tx TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci, \
                          e ENUM('x','y''z','w'), s SET('p','q','r'), b BIT(9)) ENGINE=InnoDB";
const VALUES: &str = "n, 18446744073709551615 - n, n / 7, n / 3, n * 1.1e10, '2020-01-01' + INTERVAL n DAY, \
                      '2021-02-03 04:05:06.789' + INTERVAL n MINUTE, '2022-02-03 04:05:06.123456' + INTERVAL n HOUR, \
                      SEC_TO_TIME(n * 7.25), 1950 + n % 100, CONCAT('é', n), CONCAT('Straße ', n, ' 😀'), \
                      CONCAT(CHAR(0), n, '''\\\\'), n, REPEAT(CHAR(n % 256 USING binary), 3), REPEAT('Ä ', n % 5), \
                      1 + n % 3, n % 8, n % 512";

async fn rows_of_every_type(pair: (Kind, Kind)) {
    let migration = Migration::between(pair, true).await;
    migration.write(&[EVERY_TYPE, &fill("t", VALUES, 900)]).await;
    migration.start(&migration.task("all")).await;
    migration.until_replicating().await;
    migration
        .write(&[
            "UPDATE t SET f = NULL, tx = NULL WHERE i % 4 = 0",
            "DELETE FROM t WHERE i < 300",
            "UPDATE t SET v = UPPER(v), c = LOWER(c) WHERE i > 700",
            "UPDATE t SET e = NULL, s = '', dt = NULL, bl = '' WHERE i % 3 = 1",
            "DELETE FROM t WHERE i % 5 = 0",
        ])
        .await;
    migration.until_synced().await;
    migration.until_equal().await;
    assert_eq!(told_one_by_one(&migration), Vec::<String>::new());
}

#[tokio::test]
async fn rows_of_every_type_are_found_in_few_statements_on_mariadb() {
    rows_of_every_type((Mariadb, Mariadb)).await;
}

#[tokio::test]
async fn rows_of_every_type_are_found_in_few_statements_on_mysql() {
    rows_of_every_type((Mysql, Mysql)).await;
}

/// Twins of which some go and some stay, in small transactions and in one that is sent in pieces.
async fn some_twins_go(pair: (Kind, Kind)) {
    let migration = Migration::between(pair, true).await;
    migration
        .write(&["CREATE TABLE t (a INT, v VARCHAR(20)) ENGINE=InnoDB", &fill("t", "n % 50, 'twin'", 2_000)])
        .await;
    migration.start(&migration.task("all")).await;
    migration.until_replicating().await;
    migration
        .write(&[
            "DELETE FROM t WHERE a = 1 LIMIT 7",
            "UPDATE t SET a = a + 1 WHERE a < 10 LIMIT 33",
            "DELETE FROM t WHERE a = 2",
            "UPDATE t SET v = NULL WHERE a % 5 = 0 LIMIT 100",
            "DELETE FROM t LIMIT 900",
            "UPDATE t SET v = 'Twin'",
        ])
        .await;
    migration.until_synced().await;
    migration.until_equal().await;
    assert_eq!(told_one_by_one(&migration), Vec::<String>::new());
}

#[tokio::test]
async fn twins_stay_as_many_as_they_are_on_mariadb() {
    some_twins_go((Mariadb, Mariadb)).await;
}

#[tokio::test]
async fn twins_stay_as_many_as_they_are_on_mysql() {
    some_twins_go((Mysql, Mysql)).await;
}

/// C105: the target uses the index it has, for the table without a key and for a key of text in another character set
/// than the connection's.
async fn an_index_is_used(kind: Kind) {
    let target = PrivateServer::start(kind, &["--general-log=1", "--log-output=TABLE"]);
    let migration = Migration::between((kind, kind), true).await;
    migration
        .write(&[
            "CREATE TABLE nk (a INT, b VARCHAR(20) CHARACTER SET latin1, KEY (a)) ENGINE=InnoDB",
            "CREATE TABLE pk (id VARCHAR(20) CHARACTER SET latin1 PRIMARY KEY, v INT) ENGINE=InnoDB",
            &fill("nk", "n, CONCAT('v', n)", 20_000),
            &fill("pk", "CONCAT('k', n), n", 20_000),
        ])
        .await;
    migration.start(&task(TASK, "all", "s", &target.server, &migration.database)).await;
    migration.until_replicating().await;
    migration.write(&["DELETE FROM nk WHERE a < 2000", "UPDATE pk SET v = v + 1 WHERE v < 1000"]).await;
    migration.until_synced().await;
    let mut session = target.server.connect().await;
    session.run(&format!("USE `{}`", migration.database)).await;
    session.run("ANALYZE TABLE nk, pk").await;
    for (verb, table, key) in [("DELETE FROM", "nk", "a"), ("UPDATE", "pk", "PRIMARY")] {
        let head = format!("{verb} `{}`.`{table}`", migration.database);
        // MariaDB logs a packet of statements as one.
        let logged = format!(
            "SELECT SUBSTRING_INDEX(SUBSTRING(text, LOCATE('{head}', text)), '; ', 1) FROM (SELECT TRIM(CONVERT(argument USING \
             utf8mb4)) AS text FROM mysql.general_log) logged WHERE (text LIKE '{head}%' OR \
             text LIKE 'BEGIN; {head}%') LIMIT 1"
        );
        let applied: String = session.value(&logged).await;
        let form = if kind == Mysql { "FORMAT=TRADITIONAL" } else { "" };
        let plan: Vec<mysql_async::Row> = session.rows(&format!("EXPLAIN {form} {applied}")).await;
        let used: Option<String> = plan.first().and_then(|row| row.get("key"));
        assert_eq!(used.as_deref(), Some(key), "{}", applied.chars().take(300).collect::<String>());
    }
    let left: u64 = session.value("SELECT COUNT(*) FROM nk").await;
    assert_eq!(left, 18_000);
    session.close().await;
}

#[tokio::test]
async fn the_target_s_index_is_used_on_mariadb() {
    an_index_is_used(Mariadb).await;
}

mod long {
    use super::*;

    #[tokio::test]
    async fn the_target_s_index_is_used_on_mysql() {
        an_index_is_used(Mysql).await;
    }

    /// Each statement reads the table once, so that there are few of them matters most here.
    #[tokio::test]
    async fn many_rows_without_any_index_go_in_bounded_time() {
        let migration = Migration::between((Mariadb, Mariadb), true).await;
        migration
            .write(&["CREATE TABLE t (a INT, b VARCHAR(20)) ENGINE=InnoDB", &fill("t", "n, CONCAT('v', n)", 100_000)])
            .await;
        migration.start(&migration.task("all")).await;
        migration.until_replicating().await;
        migration.write(&["DELETE FROM t WHERE a < 10000", "UPDATE t SET b = 'w' WHERE a < 15000"]).await;
        // One statement a row takes ten minutes.
        migration
            .api()
            .until_status(TASK, "to have caught up", secs(90), |status| {
                status["sync_status"]["synced"] == true && status["sync_status"]["applied_transactions"] == 2
            })
            .await;
        migration.until_equal().await;
    }
}
