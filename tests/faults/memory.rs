//! Large things in bounded memory: a source transaction of a million rows, thousands of tables, a row of 64 MiB. What
//! is measured is the largest resident memory of the real process since the moment before.

use std::time::Duration;

use serde_json::Value;

use super::support::compare::{assert_tables_equal, until_databases_equal};
use super::support::ferrymaster::Ferrymaster;
use super::support::http::task;
use super::support::numbers::numbers;
use super::support::servers::{Kind, PrivateServer, Role, Server};
use super::support::wait::secs;

const TASK: &str = "large";
const MIB: u64 = 1 << 20;

async fn migrate(source: &Server, target: &Server, database: &str) -> Ferrymaster {
    let ferrymaster = Ferrymaster::start().await;
    ferrymaster.api.create_source("s", source, true).await;
    ferrymaster.api.create_task(&task(TASK, "all", "s", target, database)).await;
    ferrymaster.api.start_task(TASK).await;
    ferrymaster
}

async fn until_applied(ferrymaster: &Ferrymaster, transactions: u64, deadline: Duration) -> Value {
    let wanted = |status: &Value| status["sync_status"]["applied_transactions"].as_u64() >= Some(transactions);
    ferrymaster.api.until_status(TASK, &format!("to have applied {transactions}"), deadline, wanted).await
}

fn assert_below(ferrymaster: &Ferrymaster, bound: u64, what: &str) {
    let peak = ferrymaster.peak_memory();
    println!("{what}: {} MiB", peak / MIB);
    assert!(peak < bound, "{what}: {} MiB, and not below {} MiB", peak / MIB, bound / MIB);
}

/// One transaction that inserts `rows` rows, and one that changes them all.
async fn one_transaction_of(kind: Kind, rows: u64) {
    let (source, target) = (Server::shared(kind, Role::Source), Server::shared(kind, Role::Target));
    let database = source.create_database("large").await;
    let mut session = source.connect().await;
    session.run(&format!("USE `{database}`")).await;
    session.run("CREATE TABLE t (id INT NOT NULL PRIMARY KEY, v INT, name VARCHAR(40)) ENGINE=InnoDB").await;
    let ferrymaster = migrate(&source, &target, &database).await;
    ferrymaster.api.until_status(TASK, "to replicate", secs(60), |status| status["unit"] == "Sync").await;
    ferrymaster.forget_peak_memory();
    session.run("BEGIN").await;
    let values = "n, n * 7, CONCAT('the name of row ', n)";
    session.run(&format!("INSERT INTO t SELECT {values} FROM {}", numbers(rows))).await;
    session.run("COMMIT").await;
    session.run("UPDATE t SET v = v + 1").await;
    session.close().await;
    until_applied(&ferrymaster, 2, secs(280)).await;
    assert_below(&ferrymaster, 256 * MIB, &format!("transactions of {rows} rows"));
    assert_tables_equal((&source, &database, "t"), (&target, &database, "t")).await;
}

async fn many_tables(kind: Kind, count: u32) {
    let (source, target) = (PrivateServer::start(kind, &[]), PrivateServer::start(kind, &[]));
    let database = source.server.create_database("many").await;
    let mut session = source.server.connect().await;
    session.run(&format!("USE `{database}`")).await;
    for number in 0..count {
        let columns = "id INT NOT NULL PRIMARY KEY, v INT, name VARCHAR(40), made TIMESTAMP NULL, KEY by_v (v)";
        session.run(&format!("CREATE TABLE t{number} ({columns}) ENGINE=InnoDB")).await;
        session.run(&format!("INSERT INTO t{number} VALUES (1, {number}, 'one', NULL), (2, 0, 'two', NULL)")).await;
    }
    let ferrymaster = migrate(&source.server, &target.server, &database).await;
    ferrymaster.api.until_status(TASK, "to replicate", secs(600), |status| status["unit"] == "Sync").await;
    session.run("BEGIN").await;
    for number in 0..count {
        session.run(&format!("UPDATE t{number} SET v = 7 WHERE id = 2")).await;
    }
    session.run("COMMIT").await;
    session.close().await;
    until_applied(&ferrymaster, 1, secs(280)).await;
    assert_below(&ferrymaster, 256 * MIB, &format!("{count} tables"));
    let patience = secs(60 + u64::from(count) / 20);
    until_databases_equal((&source.server, &*database), (&target.server, &*database), patience).await;
}

/// A row of this size is copied, inserted, and updated to another of this size.
async fn a_row_of(kind: Kind, size: u64) {
    let packet = "--max-allowed-packet=1G";
    let arguments: &[&str] = match kind {
        Kind::Mariadb => &[packet, "--innodb-log-file-size=1G"],
        Kind::Mysql => &[packet, "--innodb-redo-log-capacity=2G", "--local-infile=1"],
    };
    let (source, target) = (PrivateServer::start(kind, arguments), PrivateServer::start(kind, arguments));
    let database = source.server.create_database("wide").await;
    let mut session = source.server.connect().await;
    session.run(&format!("USE `{database}`")).await;
    session.run("CREATE TABLE t (id INT NOT NULL PRIMARY KEY, v INT, body LONGBLOB) ENGINE=InnoDB").await;
    // Bytes of every value, so that escaping counts.
    let body =
        |seed: u32| format!("REPEAT(CONCAT(UNHEX(SHA2({seed}, 256)), 'some text of row {seed}'), {})", size / 52);
    session.run(&format!("INSERT INTO t VALUES (1, 1, {})", body(1))).await;
    let ferrymaster = migrate(&source.server, &target.server, &database).await;
    ferrymaster.api.until_status(TASK, "to replicate", secs(60), |status| status["unit"] == "Sync").await;
    assert_below(&ferrymaster, 4 * size, "a copied row");
    ferrymaster.forget_peak_memory();
    session.run(&format!("INSERT INTO t VALUES (2, 1, {})", body(2))).await;
    until_applied(&ferrymaster, 1, secs(60)).await;
    assert_below(&ferrymaster, 4 * size, "an inserted row");
    ferrymaster.forget_peak_memory();
    session.run(&format!("UPDATE t SET body = {} WHERE id = 2", body(3))).await;
    until_applied(&ferrymaster, 2, secs(60)).await;
    assert_below(&ferrymaster, 4 * size, "an updated row");
    ferrymaster.forget_peak_memory();
    session.run("DELETE FROM t WHERE id = 1").await;
    until_applied(&ferrymaster, 3, secs(60)).await;
    assert_below(&ferrymaster, 4 * size, "a deleted row");
    let digest = format!("SELECT id, v, SHA2(body, 256) FROM `{database}`.t ORDER BY id");
    let ours: Vec<(i32, i32, String)> = session.rows(&digest).await;
    session.close().await;
    let mut session = target.server.connect().await;
    let theirs: Vec<(i32, i32, String)> = session.rows(&digest).await;
    session.close().await;
    assert_eq!(ours, theirs);
    assert_eq!(ours.len(), 1);
}

#[tokio::test]
async fn a_transaction_of_many_rows_fits_on_mariadb() {
    one_transaction_of(Kind::Mariadb, 200_000).await;
}

#[tokio::test]
async fn hundreds_of_tables_fit_on_mariadb() {
    many_tables(Kind::Mariadb, 500).await;
}

#[tokio::test]
async fn a_row_of_64_mib_fits_on_mariadb() {
    a_row_of(Kind::Mariadb, 64 * MIB).await;
}

mod long {
    use super::*;

    #[tokio::test]
    async fn a_transaction_of_a_million_rows_fits_on_mariadb() {
        one_transaction_of(Kind::Mariadb, 1_000_000).await;
    }

    #[tokio::test]
    async fn a_transaction_of_a_million_rows_fits_on_mysql() {
        one_transaction_of(Kind::Mysql, 1_000_000).await;
    }

    #[tokio::test]
    async fn five_thousand_tables_fit_on_mariadb() {
        many_tables(Kind::Mariadb, 5_000).await;
    }

    #[tokio::test]
    async fn five_thousand_tables_fit_on_mysql() {
        many_tables(Kind::Mysql, 5_000).await;
    }

    #[tokio::test]
    async fn a_row_of_64_mib_fits_on_mysql() {
        a_row_of(Kind::Mysql, 64 * MIB).await;
    }
}
