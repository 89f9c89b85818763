//! Mode `all` between every two kinds of server, by GTID and by file positions, with a source that never rests: while
//! rows are copied and while the binlog is followed, structures included.

use super::migration::Migration;
use super::support::servers::Kind::{self, Mariadb, Mysql};
use super::support::workload;

async fn copied_and_followed(pair: (Kind, Kind), by_gtid: bool) {
    let migration = Migration::between(pair, by_gtid).await;
    workload::create_tables(&migration.source, &migration.database, 5_000, 11).await;
    let quiet = workload::start(&migration.source, &migration.database, 11, false);
    migration.start(&migration.task("all")).await;
    migration.until_replicating().await;
    quiet.until_transactions(100).await;
    quiet.stop().await;
    let with_ddl = workload::start(&migration.source, &migration.database, 12, true);
    with_ddl.until_transactions(300).await;
    with_ddl.stop().await;
    let status = migration.until_synced().await;
    migration.until_equal().await;
    let knows_gtids = !status["sync_status"]["syncer_binlog_gtid"].as_str().unwrap_or_default().is_empty();
    assert!(knows_gtids || !by_gtid, "{status}");
}

#[tokio::test]
async fn mariadb_to_mariadb_by_gtid() {
    copied_and_followed((Mariadb, Mariadb), true).await;
}

#[tokio::test]
async fn mariadb_to_mariadb_by_position() {
    copied_and_followed((Mariadb, Mariadb), false).await;
}

#[tokio::test]
async fn mariadb_to_mysql_by_gtid() {
    copied_and_followed((Mariadb, Mysql), true).await;
}

#[tokio::test]
async fn mariadb_to_mysql_by_position() {
    copied_and_followed((Mariadb, Mysql), false).await;
}

#[tokio::test]
async fn mysql_to_mariadb_by_gtid() {
    copied_and_followed((Mysql, Mariadb), true).await;
}

#[tokio::test]
async fn mysql_to_mariadb_by_position() {
    copied_and_followed((Mysql, Mariadb), false).await;
}

#[tokio::test]
async fn mysql_to_mysql_by_gtid() {
    copied_and_followed((Mysql, Mysql), true).await;
}

#[tokio::test]
async fn mysql_to_mysql_by_position() {
    copied_and_followed((Mysql, Mysql), false).await;
}
