//! A process that stands still at the worst moment, another that takes its place on a copy of the data directory, and
//! the first one waking up: it finds that it was replaced, says so, and writes nothing any more.

use ferrymaster::faults::FaultPoint;

use super::support::compare::{assert_databases_equal, until_databases_equal};
use super::support::ferrymaster::{Ferrymaster, Start};
use super::support::servers::Kind;
use super::support::wait::secs;
use super::trial::{TASK, Trial};

/// The error code of a run that another ferrymaster has replaced.
const REPLACED: u64 = 50_008;

async fn replaced_while_frozen(kind: Kind, point: FaultPoint, passes: u32) {
    let trial = Trial::set(kind, true).await;
    let starting = trial.start("").await;
    trial.ask_for_all(&starting).await;
    starting.api.until_status(TASK, "to replicate", secs(60), |status| status["unit"] == "Sync").await;
    let failpoints = format!("{}={passes}*off->1*return(stop)->off", point.name());
    let first = starting.restart_with(trial.arguments, &[("FAILPOINTS", &failpoints)]).await;
    first.until_frozen(secs(60)).await;
    let copy = first.copy_data_directory();
    let path = copy.path();
    let second = Ferrymaster::start_with(Start { data_directory: Some(&path), ..Start::default() }).await;
    second
        .api
        .until_status(TASK, "to go on", secs(40), |status| {
            status["stage"] == "Running" && status["sync_status"]["applied_transactions"].as_u64() > Some(10)
        })
        .await;
    first.thaw();
    let status = first
        .api
        .until_status(TASK, "to know that it was replaced", secs(40), |status| status["error"]["code"] == REPLACED)
        .await;
    assert_eq!((&status["stage"], &status["error"]["next"]), (&"Paused".into(), &"pause".into()), "{status}");
    assert!(status["error"]["hint"].as_str().unwrap().contains("other ferrymaster"), "{status}");
    trial.writer.until_transactions(50).await;
    trial.writer.stop().await;
    let (ours, theirs) = ((&trial.source, &*trial.database), (&trial.target, &*trial.database));
    second.api.until_synced(TASK, secs(150)).await;
    until_databases_equal(ours, theirs, secs(60)).await;
    assert_eq!(first.api.subtask_status(TASK).await["stage"], "Paused");
    assert_databases_equal(ours, theirs).await;
}

#[tokio::test]
async fn a_mariadb_target_is_taken_over_from_inside_a_transaction() {
    replaced_while_frozen(Kind::Mariadb, FaultPoint::BeforeLaneCommit, 12).await;
}

#[tokio::test]
async fn a_mariadb_target_is_taken_over_from_just_before_a_ddl() {
    replaced_while_frozen(Kind::Mariadb, FaultPoint::BeforeDdl, 0).await;
}

#[tokio::test]
async fn a_mysql_target_is_taken_over_from_inside_a_transaction() {
    replaced_while_frozen(Kind::Mysql, FaultPoint::BeforeLaneCommit, 12).await;
}

#[tokio::test]
async fn a_mysql_target_is_taken_over_from_just_before_a_ddl() {
    replaced_while_frozen(Kind::Mysql, FaultPoint::BeforeDdl, 0).await;
}
