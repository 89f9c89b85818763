//! Killed at each named point, once, while the source is written to. The next process must end with equal sides.

use std::collections::BTreeSet;

use ferrymaster::faults::FaultPoint;
use serde_json::json;

use super::support::servers::Kind;
use super::support::wait::secs;
use super::trial::{TASK, Trial};

/// Points that the copy passes, from a task's first start on. `passes`: how often the point is passed before.
async fn in_the_copy(kind: Kind, point: FaultPoint, passes: u32) {
    let trial = Trial::set(kind, false).await;
    let mut doomed = trial.start(&format!("{}={passes}*off->return(kill)", point.name())).await;
    trial.ask_for_all(&doomed).await;
    doomed.until_ended(secs(60)).await;
    assert!(!doomed.log_lines(&["fault point", point.name()]).is_empty());
    let next = doomed.restart_with(trial.arguments, &[]).await;
    trial.until_equal(next).await;
}

/// Points that replication passes.
async fn in_replication(kind: Kind, point: FaultPoint, passes: u32) {
    let trial = Trial::set(kind, true).await;
    reached_in_replication(trial, point, passes).await;
}

async fn reached_in_replication(trial: Trial, point: FaultPoint, passes: u32) {
    let first = trial.start("").await;
    trial.ask_for_all(&first).await;
    first.api.until_status(TASK, "to replicate", secs(60), |status| status["unit"] == "Sync").await;
    let failpoints = format!("{}={passes}*off->return(kill)", point.name());
    let mut doomed = first.restart_with(trial.arguments, &[("FAILPOINTS", &failpoints)]).await;
    doomed.until_ended(secs(60)).await;
    assert!(!doomed.log_lines(&["fault point", point.name()]).is_empty());
    let next = doomed.restart_with(trial.arguments, &[]).await;
    trial.until_equal(next).await;
}

/// A source transaction larger than its memory, killed between two of its pieces.
async fn in_a_large_transaction(kind: Kind, point: FaultPoint, passes: u32) {
    let trial = Trial { arguments: &["--transaction-memory", "64KiB"], ..Trial::set(kind, false).await };
    reached_in_replication(trial, point, passes).await;
}

/// A statement that is filtered away, and still changes what the catalogue knows.
async fn at_a_filtered_statement(kind: Kind, point: FaultPoint, passes: u32) {
    let mut trial = Trial::set(kind, false).await;
    trial.task["binlog_filter_rule"] = json!({ "indexes": { "ignore_event": ["drop table"] } });
    trial.task["table_migrate_rule"][0]["binlog_filter_rule"] = json!(["indexes"]);
    let first = trial.start("").await;
    trial.ask_for_all(&first).await;
    first.api.until_status(TASK, "to replicate", secs(60), |status| status["unit"] == "Sync").await;
    let failpoints = format!("{}={passes}*off->return(kill)", point.name());
    let mut doomed = first.restart_with(trial.arguments, &[("FAILPOINTS", &failpoints)]).await;
    trial.source.run(&[&format!("DROP TABLE `{}`.shapes", trial.database)]).await;
    doomed.until_ended(secs(60)).await;
    let next = doomed.restart_with(trial.arguments, &[]).await;
    // What the filter leaves there is no difference that counts.
    trial.target.run(&[&format!("DROP TABLE `{}`.shapes", trial.database)]).await;
    trial.until_equal(next).await;
}

/// While a stop waits for what is in flight.
async fn in_a_stop(kind: Kind, point: FaultPoint, passes: u32) {
    let trial = Trial::set(kind, false).await;
    let mut doomed = trial.start(&format!("{}={passes}*off->return(kill)", point.name())).await;
    trial.ask_for_all(&doomed).await;
    doomed.api.until_status(TASK, "to replicate", secs(60), |status| status["unit"] == "Sync").await;
    // Cut off by the end of the process, or answered before it.
    let stop = format!("/api/v1/tasks/{TASK}/stop");
    doomed.api.try_send(reqwest::Method::POST, &stop, None).await.ok();
    doomed.until_ended(secs(60)).await;
    let next = doomed.restart_with(trial.arguments, &[]).await;
    let status = next.api.subtask_status(TASK).await;
    assert_eq!(status["stage"], "Stopped", "{status}");
    trial.until_equal(next).await;
}

/// Makes a test of each line, and the list of all points that have one.
macro_rules! killed {
    ($($name:ident: $scenario:ident($point:ident, $passes:literal)),+ $(,)?) => {
        $(
            mod $name {
                use super::*;

                #[tokio::test]
                async fn mariadb_loses_and_doubles_nothing() {
                    $scenario(Kind::Mariadb, FaultPoint::$point, $passes).await;
                }

                /// For `--all`.
                mod long {
                    use super::*;

                    #[tokio::test]
                    async fn mysql_loses_and_doubles_nothing() {
                        $scenario(Kind::Mysql, FaultPoint::$point, $passes).await;
                    }
                }
            }
        )+

        const TRIED: &[FaultPoint] = &[$(FaultPoint::$point),+];
    };
}

killed! {
    killed_when_the_generation_is_raised: in_the_copy(TakeoverRaised, 0),
    killed_when_older_sessions_are_over: in_the_copy(TakeoverOutwaited, 0),
    killed_when_the_snapshot_is_open: in_the_copy(SnapshotOpened, 0),
    killed_when_the_snapshot_is_recorded: in_the_copy(SnapshotRecorded, 0),
    killed_when_tables_are_announced: in_the_copy(TablesAnnounced, 0),
    killed_when_tables_are_made: in_the_copy(TablesMade, 0),
    killed_before_a_batch_is_committed: in_the_copy(BeforeBatchCommit, 4),
    killed_after_a_batch_is_committed: in_the_copy(AfterBatchCommit, 7),
    killed_before_keys_are_made: in_the_copy(BeforeKeys, 1),
    killed_after_keys_are_made: in_the_copy(AfterKeys, 1),
    killed_before_the_copy_ends: in_the_copy(BeforeCopyEnds, 0),
    killed_after_the_copy_ends: in_the_copy(AfterCopyEnds, 0),
    killed_before_a_group_is_committed: in_replication(BeforeLaneCommit, 25),
    killed_after_a_group_is_committed: in_replication(AfterLaneCommit, 25),
    killed_between_pieces: in_a_large_transaction(BetweenPieces, 2),
    killed_before_a_ddl_is_announced: in_replication(BeforeDdlAnnounced, 1),
    killed_before_a_ddl: in_replication(BeforeDdl, 1),
    killed_after_a_ddl: in_replication(AfterDdl, 1),
    killed_after_a_ddl_is_recorded: in_replication(AfterDdlRecorded, 1),
    killed_before_a_structure_is_saved: at_a_filtered_statement(BeforeStructureSaved, 0),
    killed_before_a_prepared_transaction_is_noted: in_replication(BeforePreparedNoted, 2),
    killed_after_a_prepared_transaction_is_noted: in_replication(AfterPreparedNoted, 2),
    killed_before_a_prepared_transaction_is_read_again: in_a_large_transaction(BeforePreparedReadAgain, 1),
    killed_before_the_last_low_water: in_a_stop(BeforeLastLowWater, 0),
    killed_before_a_report: in_the_copy(BeforeReport, 12),
    killed_before_an_intent_is_stored: in_the_copy(BeforeIntentStored, 3),
    killed_after_an_intent_is_stored: in_the_copy(AfterIntentStored, 3),
}

#[test]
fn every_point_is_tried() {
    let name = |point: &FaultPoint| point.name();
    let tried: BTreeSet<_> = TRIED.iter().map(name).collect();
    let all: BTreeSet<_> = FaultPoint::ALL.iter().map(name).collect();
    assert_eq!(tried, all);
}
