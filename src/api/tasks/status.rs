//! A subtask's status on the wire, from what is wanted and what was last reported. Pure.
//!
//! The stage is one of DM's words, or empty while nothing is known. How a run ended is known even when its worker is
//! silent: nothing more will be written then, whoever holds the source.

use crate::api::faults::{source_without_worker, worker_not_heard};
use crate::api::holders::Holder;
use crate::api::time::to_rfc3339;
use crate::model::report::{ErrorReport, LoadProgress, Outcome, RunState, SubtaskReport, SyncProgress, Unit, Verdict};
use crate::model::subtask::{TaskMode, Wanted};
use crate::model::wire::{DumpStatus, LoadStatus, SubTaskError, SubTaskNotice, SubTaskStatus, SyncStatus, TaskStage};
use crate::model::{Generation, SourcePosition, SubtaskId};

/// All that a status is made from.
#[derive(Debug, Clone, Copy)]
pub struct Known<'a> {
    pub id: &'a SubtaskId,
    pub mode: TaskMode,
    pub wanted: Wanted,
    /// The last generation given out; 0: never started.
    pub generation: Generation,
    pub holder: Holder<'a>,
    /// The last report, or how the run ended if that is newer.
    pub report: Option<&'a SubtaskReport>,
    /// The failed run that this one is a retry of.
    pub failed_before: Option<&'a SubtaskReport>,
    pub now_us: i64,
}

/// The stage and whether work in flight is being ended.
fn stage(known: &Known<'_>) -> (TaskStage, bool) {
    let Some(report) = known.report else {
        // A worker that is heard, and says nothing of a subtask that shall not run, has no run of it.
        let idle = known.wanted == Wanted::Stopped && matches!(known.holder, Holder::Heard(_));
        let never_run = known.generation == Generation(0);
        return (if never_run || idle { TaskStage::Stopped } else { TaskStage::Unknown }, false);
    };
    match (report.state, &report.outcome, known.holder) {
        (RunState::Closed, Some(Outcome::NeverRun) | None, _) => (TaskStage::Stopped, false),
        (RunState::Closed, Some(Outcome::Stopped | Outcome::Failed), _) => (TaskStage::Paused, false),
        (RunState::Closed, Some(Outcome::Finished), _) => (TaskStage::Finished, false),
        (_, _, Holder::Nobody | Holder::Silent(_)) => (TaskStage::Unknown, false),
        (RunState::Initializing | RunState::Running, _, Holder::Heard(_)) => (TaskStage::Running, false),
        (RunState::Closing, _, Holder::Heard(_)) => (TaskStage::Running, true),
    }
}

/// The status as it is answered.
pub fn status(known: &Known<'_>) -> SubTaskStatus {
    let (stage, closing) = stage(known);
    let going_on = going_on(known);
    let report = going_on.as_ref().or(known.report);
    let unit = report.map_or_else(|| first_unit(known.mode), |report| report.unit);
    let load = report.and_then(|report| report.load.clone()).unwrap_or_default();
    let sync = report.and_then(|report| report.sync.clone()).unwrap_or_default();
    let error = present_error(known);
    let is_known = stage != TaskStage::Unknown;
    let shows = |shown: Unit| (is_known || report.is_some()) && unit == shown;
    SubTaskStatus {
        name: known.id.task.to_string(),
        source_name: known.id.source.to_string(),
        worker_name: worker_name(known.holder),
        stage,
        unit: if is_known || report.is_some() { unit_word(unit).to_owned() } else { String::new() },
        unresolved_ddl_lock_id: is_known.then(String::new),
        load_status: shows(Unit::Load).then(|| load_status(&load)),
        sync_status: shows(Unit::Sync).then(|| sync_status(&sync, stage)),
        dump_status: shows(Unit::Load).then(|| dump_status(&load)),
        error_msg: error_text(known, error),
        error: error.map(|error| error_in_parts(known, error)),
        notices: report.map(|report| notices(known, report)).unwrap_or_default(),
        closing: closing.then_some(true),
        reported_at: report.map(|report| to_rfc3339(report.reported_at_us)),
    }
}

/// While nothing replicates because of an error, what was done before still holds, and the lag grows.
fn going_on(known: &Known<'_>) -> Option<SubtaskReport> {
    let report = known.report?;
    let mut going_on = match known.failed_before {
        Some(failed) if report.state != RunState::Running => report.going_on_from(failed),
        _ => report.clone(),
    };
    if report.outcome == Some(Outcome::Failed) {
        let elapsed_us = known.now_us.saturating_sub(report.reported_at_us);
        going_on.sync = going_on.sync.map(|sync| sync.after_us(elapsed_us));
    }
    Some(going_on)
}

/// The error that ended the run or that it is a retry of, until it works again.
fn present_error<'a>(known: &Known<'a>) -> Option<&'a ErrorReport> {
    let report = known.report?;
    match report.state {
        RunState::Closed => report.error.as_ref(),
        RunState::Running => None,
        RunState::Initializing | RunState::Closing => known.failed_before?.error.as_ref(),
    }
}

fn first_unit(mode: TaskMode) -> Unit {
    if mode.copies() { Unit::Load } else { Unit::Sync }
}

fn unit_word(unit: Unit) -> &'static str {
    match unit {
        Unit::Load => "Load",
        Unit::Sync => "Sync",
    }
}

fn worker_name(holder: Holder<'_>) -> String {
    match holder {
        Holder::Nobody => String::new(),
        Holder::Silent(name) | Holder::Heard(name) => name.to_string(),
    }
}

/// Each error is a line of its own.
fn error_text(known: &Known<'_>, error: Option<&ErrorReport>) -> Option<String> {
    let mut lines = Vec::new();
    if let Some(error) = error {
        let table = error.table.as_ref().map(|table| format!(", Table: {table}")).unwrap_or_default();
        let position = error.position.as_ref().map(|position| format!(", Position: {position}")).unwrap_or_default();
        lines.push(format!("{}{table}{position}.\n", error.fault));
    }
    match known.holder {
        Holder::Nobody => lines.push(format!("{}.\n", source_without_worker(&known.id.source))),
        Holder::Silent(name) => lines.push(format!("{}.\n", worker_not_heard(name))),
        Holder::Heard(_) => {}
    }
    (!lines.is_empty()).then(|| lines.concat())
}

const STOPPED_ADVICE: &str = "the task was stopped, so this is not tried again; start it";

fn error_in_parts(known: &Known<'_>, error: &ErrorReport) -> SubTaskError {
    let is_closed = known.report.is_none_or(|report| report.state == RunState::Closed);
    let (next, advice) = match &error.verdict {
        Verdict::RetryLater | Verdict::NeedsGenerationAbove(_) if known.wanted == Wanted::Stopped => {
            ("pause", Some(STOPPED_ADVICE.to_owned()))
        }
        Verdict::RetryLater | Verdict::NeedsGenerationAbove(_) => ("retry", None),
        Verdict::PauseFor(advice) => ("pause", Some(advice.clone())),
    };
    SubTaskError {
        code: error.fault.code,
        message: error.fault.message.clone(),
        cause: error.fault.cause.clone(),
        server_error: error.detail.server_error,
        next: next.to_owned(),
        hint: advice.filter(|advice| !advice.is_empty()).or_else(|| error.fault.workaround.clone()),
        table: error.table.as_ref().map(ToString::to_string),
        key: error.detail.key.clone(),
        position: error.position.as_ref().map(|position| position.binlog.to_string()),
        gtid: error.detail.gtid.clone(),
        at: to_rfc3339(error.at_us),
        first_at: to_rfc3339(error.history.first_us.unwrap_or(error.at_us)),
        times: error.history.times.max(1),
        next_at: error.history.next_us.filter(|_| is_closed && next == "retry").map(to_rfc3339),
    }
}

/// What the run says, after what it got over.
fn notices(known: &Known<'_>, report: &SubtaskReport) -> Vec<SubTaskNotice> {
    let notice = |notice: &crate::model::report::Notice| SubTaskNotice {
        at: to_rfc3339(notice.at_us),
        text: notice.text.clone(),
    };
    let failed = known.failed_before.filter(|_| report.state == RunState::Running);
    let got_over = failed.and_then(|failed| failed.error.as_ref()).map(|error| SubTaskNotice {
        at: to_rfc3339(error.at_us),
        text: format!(
            "it runs again after {} failures in a row since {}, the last of them: {}",
            error.history.times.max(1),
            to_rfc3339(error.history.first_us.unwrap_or(error.at_us)),
            error.fault
        ),
    });
    got_over.into_iter().chain(report.notices.iter().map(notice)).collect()
}

/// `12.34 %`. What is estimated may be passed before all is done: 100 is kept for the end.
fn progress(done: u64, total: u64, is_done: bool) -> String {
    if is_done {
        return "100.00 %".to_owned();
    }
    // Hundredths of a percent, in whole numbers: floats would round up to 100.
    let hundredths = u128::from(done).saturating_mul(10_000).checked_div(u128::from(total)).unwrap_or(0).min(9_999);
    format!("{}.{:02} %", hundredths / 100, hundredths % 100)
}

fn load_status(load: &LoadProgress) -> LoadStatus {
    let (meta_binlog, meta_binlog_gtid) = position_texts(load.snapshot.as_ref());
    LoadStatus {
        finished_bytes: load.finished_bytes,
        total_bytes: if load.done { load.finished_bytes } else { load.estimated_bytes.max(load.finished_bytes) },
        progress: progress(load.finished_bytes, load.estimated_bytes, load.done),
        meta_binlog,
        meta_binlog_gtid,
        bps: load.bytes_per_second,
        finished_rows: load.finished_rows,
        estimate_total_rows: if load.done { load.finished_rows } else { load.estimated_rows.max(load.finished_rows) },
        finished_tables: load.finished_tables,
        total_tables: load.total_tables,
        rows_per_second: load.rows_per_second,
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "the wire has these counts as doubles; they are shown, not computed with"
)]
fn dump_status(load: &LoadProgress) -> DumpStatus {
    DumpStatus {
        total_tables: load.total_tables,
        completed_tables: load.finished_tables as f64,
        finished_bytes: load.finished_bytes as f64,
        finished_rows: load.finished_rows as f64,
        estimate_total_rows: if load.done { load.finished_rows } else { load.estimated_rows } as f64,
        bps: load.bytes_per_second,
        progress: progress(load.finished_rows, load.estimated_rows, load.done),
    }
}

/// What does not run is not known to be synced, whatever it was when it ended.
fn sync_status(sync: &SyncProgress, stage: TaskStage) -> SyncStatus {
    let (master_binlog, master_binlog_gtid) = position_texts(sync.source_position.as_ref());
    let (syncer_binlog, syncer_binlog_gtid) = position_texts(sync.applied_position.as_ref());
    SyncStatus {
        total_events: sync.applied_rows,
        total_tps: sync.rows_per_second_total,
        recent_tps: sync.rows_per_second,
        master_binlog,
        master_binlog_gtid,
        syncer_binlog,
        syncer_binlog_gtid,
        blocking_ddls: sync.running_ddl.iter().cloned().collect(),
        unresolved_groups: Vec::new(),
        synced: sync.synced && stage == TaskStage::Running,
        binlog_type: "remote".to_owned(),
        seconds_behind_master: sync.lag_seconds,
        io_total_bytes: sync.bytes_written,
        dump_io_total_bytes: sync.bytes_read,
        applied_transactions: sync.applied_transactions,
        statements_passed_over: sync.statements_passed_over,
        prepared_transactions: sync.prepared_transactions,
        first_prepared_binlog: sync.first_prepared.as_ref().map(ToString::to_string).unwrap_or_default(),
    }
}

fn position_texts(position: Option<&SourcePosition>) -> (String, String) {
    position.map_or_else(Default::default, |position| {
        (position.binlog.to_string(), position.gtid.clone().unwrap_or_default())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::codes;
    use crate::model::report::{ErrorDetail, ErrorHistory};
    use crate::model::{BinlogPosition, SourceName, TableName, TaskName, WorkerName};

    fn id() -> SubtaskId {
        SubtaskId { task: TaskName::new("t1"), source: SourceName::new("s1") }
    }

    fn report(state: RunState, outcome: Option<Outcome>) -> SubtaskReport {
        SubtaskReport {
            ledger_id: crate::model::LedgerId::new(),
            id: id(),
            generation: Generation(3),
            state,
            outcome,
            unit: Unit::Load,
            load: Some(LoadProgress {
                finished_bytes: 500,
                estimated_bytes: 1_000,
                finished_rows: 5,
                estimated_rows: 9,
                ..LoadProgress::default()
            }),
            sync: None,
            error: None,
            notices: Vec::new(),
            reported_at_us: 1_700_000_000_000_000,
        }
    }

    fn status_of(holder: Holder<'_>, generation: u64, report: Option<&SubtaskReport>) -> SubTaskStatus {
        let id = id();
        let (mode, wanted) = (TaskMode::All, Wanted::Running);
        let (generation, now_us) = (Generation(generation), 1_700_000_000_000_000);
        status(&Known { id: &id, mode, wanted, generation, holder, report, failed_before: None, now_us })
    }

    #[test]
    fn every_state_has_its_stage() {
        use Outcome::{Failed, Finished, NeverRun, Stopped};
        use RunState::{Closed, Closing, Initializing, Running};
        let worker = WorkerName::new("w1");
        let (heard, silent) = (Holder::Heard(&worker), Holder::Silent(&worker));
        for (state, outcome, holder, stage, closing) in [
            (Closed, Some(NeverRun), heard, TaskStage::Stopped, None),
            (Initializing, None, heard, TaskStage::Running, None),
            (Running, None, heard, TaskStage::Running, None),
            (Closing, None, heard, TaskStage::Running, Some(true)),
            (Closed, Some(Stopped), heard, TaskStage::Paused, None),
            (Closed, Some(Failed), heard, TaskStage::Paused, None),
            (Closed, Some(Finished), heard, TaskStage::Finished, None),
            (Running, None, silent, TaskStage::Unknown, None),
            (Closing, None, silent, TaskStage::Unknown, None),
            (Closed, Some(Finished), silent, TaskStage::Finished, None),
            (Running, None, Holder::Nobody, TaskStage::Unknown, None),
            (Closed, Some(Stopped), Holder::Nobody, TaskStage::Paused, None),
        ] {
            let status = status_of(holder, 3, Some(&report(state, outcome.clone())));
            assert_eq!((status.stage, status.closing), (stage, closing), "{state:?} {outcome:?} {holder:?}");
        }
        assert_eq!(status_of(heard, 0, None).stage, TaskStage::Stopped);
        assert_eq!(status_of(heard, 1, None).stage, TaskStage::Unknown);
    }

    #[test]
    fn a_silent_worker_and_a_source_without_one_are_told_by_code() {
        let worker = WorkerName::new("w1");
        let status = status_of(Holder::Silent(&worker), 3, None);
        assert_eq!((status.worker_name.as_str(), status.stage, status.unit.as_str()), ("w1", TaskStage::Unknown, ""));
        assert!(status.error_msg.unwrap().contains("code=38008"));
        let status = status_of(Holder::Nobody, 0, None);
        assert_eq!(status.worker_name, "");
        assert!(status.error_msg.unwrap().contains("code=38029"));
    }

    #[test]
    fn the_copy_is_shown_from_both_sides_and_is_100_percent_only_at_its_end() {
        let worker = WorkerName::new("w1");
        let mut report = report(RunState::Running, None);
        let status = status_of(Holder::Heard(&worker), 3, Some(&report));
        let load = status.load_status.unwrap();
        assert_eq!((load.progress.as_str(), load.finished_rows, load.estimate_total_rows), ("50.00 %", 5, 9));
        assert_eq!(status.dump_status.unwrap().progress, "55.55 %");
        assert!(status.sync_status.is_none());
        let progress_of =
            |report: &SubtaskReport| status_of(Holder::Heard(&worker), 3, Some(report)).load_status.unwrap().progress;
        let load = report.load.as_mut().unwrap();
        load.finished_bytes = 2_000;
        assert_eq!(progress_of(&report), "99.99 %");
        report.load.as_mut().unwrap().done = true;
        assert_eq!(progress_of(&report), "100.00 %");
        report.load = Some(LoadProgress::default());
        assert_eq!(progress_of(&report), "0.00 %");
    }

    #[test]
    fn an_error_is_told_with_code_table_position_and_what_comes_next() {
        let worker = WorkerName::new("w1");
        let mut report = report(RunState::Closed, Some(Outcome::Failed));
        report.error = Some(ErrorReport {
            fault: codes::DATABASE_EXECUTE_FAILED.fault("execute statement failed").on_target(),
            verdict: Verdict::PauseFor("grant INSERT".to_owned()),
            table: Some(TableName::new("shop", "orders")),
            position: Some(SourcePosition { binlog: BinlogPosition::new("b.000001", 4), gtid: None }),
            at_us: 1_700_000_000_000_000,
            detail: ErrorDetail { server_error: Some(1142), ..ErrorDetail::default() },
            history: ErrorHistory::default(),
        });
        let status = status_of(Holder::Heard(&worker), 3, Some(&report));
        assert_eq!(
            status.error_msg.as_deref(),
            Some(
                "[code=10006:class=database:scope=downstream:level=high], Message: execute statement failed, \
                 Table: `shop`.`orders`, Position: (b.000001, 4).\n"
            )
        );
        let error = status.error.unwrap();
        assert_eq!((error.next.as_str(), error.hint.as_deref()), ("pause", Some("grant INSERT")));
        assert_eq!((error.at.as_str(), error.first_at.as_str()), ("2023-11-14T22:13:20Z", "2023-11-14T22:13:20Z"));
        assert_eq!((error.times, error.next_at, error.server_error), (1, None, Some(1142)));
    }

    fn failed(generation: u64, history: ErrorHistory) -> SubtaskReport {
        let mut failed = report(RunState::Closed, Some(Outcome::Failed));
        failed.generation = Generation(generation);
        failed.unit = Unit::Sync;
        failed.sync = Some(SyncProgress { lag_seconds: 2, synced: true, ..SyncProgress::default() });
        failed.error = Some(ErrorReport {
            fault: codes::DATABASE_BAD_CONNECTION.fault("cannot read the binlog").on_source(),
            verdict: Verdict::RetryLater,
            table: None,
            position: None,
            at_us: 1_700_000_000_000_000,
            detail: ErrorDetail::default(),
            history,
        });
        failed
    }

    #[test]
    fn a_retry_tells_what_when_how_often_and_what_comes_next_until_it_works() {
        let (id, worker) = (id(), WorkerName::new("w1"));
        let history =
            ErrorHistory { times: 3, first_us: Some(1_699_999_990_000_000), next_us: Some(1_700_000_008_000_000) };
        let failed = failed(2, history);
        let at = |report: &SubtaskReport, wanted, seconds: i64| {
            status(&Known {
                id: &id,
                mode: TaskMode::All,
                wanted,
                generation: Generation(3),
                holder: Holder::Heard(&worker),
                report: Some(report),
                failed_before: Some(&failed).filter(|failed| failed.generation < report.generation),
                now_us: 1_700_000_000_000_000 + seconds * 1_000_000,
            })
        };
        let waits = at(&failed, Wanted::Running, 5);
        let error = waits.error.unwrap();
        assert_eq!((error.next.as_str(), error.times), ("retry", 3));
        assert_eq!(error.first_at, "2023-11-14T22:13:10Z");
        assert_eq!(error.next_at.as_deref(), Some("2023-11-14T22:13:28Z"));
        let sync = waits.sync_status.unwrap();
        assert_eq!((sync.seconds_behind_master, sync.synced), (7, false));

        let mut retry = report(RunState::Initializing, None);
        (retry.load, retry.reported_at_us) = (None, 1_700_000_009_000_000);
        let tries = at(&retry, Wanted::Running, 9);
        let error = tries.error.unwrap();
        assert_eq!((error.next.as_str(), error.times, error.next_at), ("retry", 3, None));
        assert_eq!((tries.unit.as_str(), tries.sync_status.unwrap().seconds_behind_master), ("Sync", 11));

        retry.state = RunState::Running;
        let works = at(&retry, Wanted::Running, 9);
        assert!(works.error.is_none() && works.error_msg.is_none());
        assert!(works.notices[0].text.contains("3 failures in a row since 2023-11-14T22:13:10Z"), "{works:?}");

        let stopped = at(&failed, Wanted::Stopped, 5).error.unwrap();
        assert_eq!((stopped.next.as_str(), stopped.next_at), ("pause", None));
        assert!(stopped.hint.is_some());
    }
}
