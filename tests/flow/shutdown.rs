//! SIGTERM: ended in time, and what was done is not done again.

use std::time::Instant;

use super::migration::{Migration, TASK};
use super::support::ferrymaster::{Ferrymaster, Start};
use super::support::proxy::{Mode, Proxy};
use super::support::servers::Kind::Mariadb;
use super::support::wait::secs;
use super::support::workload;

#[tokio::test]
async fn replication_ends_in_time_and_goes_on_where_it_was() {
    let mut migration = Migration::between((Mariadb, Mariadb), true).await;
    workload::create_tables(&migration.source, &migration.database, 500, 5).await;
    let load = workload::start(&migration.source, &migration.database, 5, true);
    migration.start(&migration.task("all")).await;
    migration.until_replicating().await;
    load.until_transactions(50).await;
    let begun = Instant::now();
    let status = migration.ferrymaster.terminate(secs(20)).await;
    assert!(status.success() && begun.elapsed() < secs(15), "{status} after {:?}", begun.elapsed());
    load.until_transactions(50).await;
    let start = Start { data_directory: Some(migration.ferrymaster.data_directory()), ..Start::default() };
    let next = Ferrymaster::start_with(start).await;
    next.api.until_status(TASK, "to go on", secs(40), |status| status["unit"] == "Sync").await;
    load.stop().await;
    let first = std::mem::replace(&mut migration.ferrymaster, next);
    migration.until_equal().await;
    assert!(migration.ferrymaster.log_lines(&["ERROR"]).is_empty(), "{}", migration.ferrymaster.log());
    drop(first);
}

const TABLES: u64 = 16;

#[tokio::test]
async fn a_copy_ends_in_time_and_does_not_copy_whole_tables_again() {
    let mut migration = Migration::between((Mariadb, Mariadb), true).await;
    for number in 0..TABLES {
        migration
            .write(&[
                &format!("CREATE TABLE t{number} (id INT PRIMARY KEY)"),
                &format!("INSERT INTO t{number} VALUES (1)"),
            ])
            .await;
    }
    let slow = Proxy::to(&migration.target.host, migration.target.port);
    slow.set(Mode::Delay(std::time::Duration::from_millis(60)));
    let mut body = migration.task("all");
    body["target_config"]["port"] = slow.port.into();
    migration.start(&body).await;
    let some_done = |status: &serde_json::Value| {
        let tables = status["load_status"]["finished_tables"].as_u64();
        tables >= Some(2) && tables < Some(TABLES - 4)
    };
    migration.api().until_status(TASK, "to have copied two tables", secs(60), some_done).await;
    let begun = Instant::now();
    let ended = migration.ferrymaster.terminate(secs(20)).await;
    assert!(ended.success() && begun.elapsed() < secs(15), "{ended} after {:?}", begun.elapsed());
    // A table that is copied again would lose this mark.
    let meta = format!("{}_meta", migration.database);
    let done = format!("SELECT CAST(COUNT(*) AS CHAR) FROM `{meta}`.ferrymaster_table WHERE state = 'done'");
    let finished: u64 = migration.at_target(&done).await[0].parse().unwrap();
    assert!(finished >= 2, "{finished} tables are done");
    slow.set(Mode::Pass);
    let start = Start { data_directory: Some(migration.ferrymaster.data_directory()), ..Start::default() };
    let next = Ferrymaster::start_with(start).await;
    let first = std::mem::replace(&mut migration.ferrymaster, next);
    let snapshots = format!("SELECT CAST(COUNT(DISTINCT snapshot) AS CHAR) FROM `{meta}`.ferrymaster_table");
    migration.until_equal().await;
    assert_eq!(migration.at_target(&snapshots).await, ["2"], "what was done stands at the first snapshot");
    drop(first);
}
