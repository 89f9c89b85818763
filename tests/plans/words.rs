//! A world in words.
//!
//! ```text
//! now 100
//! tries 3
//! recovering
//! worker w1 2 capacity 4          (in office, epoch 2)
//! worker w2 1 lost                (or: recorded)
//! source s1 on w1 2               (or: source s1 free)
//! task t on db1 created 50
//! subtask t s1 running 3 attempts 1
//! seen t s1 3 running since 40    (or: initializing, closing, finished, stopped, retry, pause, above 9)
//! stored t s1 3 retry at 40       (how the run ended, as the metastore has it)
//! ran t s1 2                      (the last run that was seen to work)
//! leaving t s1
//! returning t s1
//! cleanup of old on db1 created 10 unconfirmed
//! ```

use std::collections::BTreeMap;
use std::sync::Arc;

use ferrymaster::error::Code;
use ferrymaster::model::record::{
    Assignment, CleanupRecord, Conclusion, ServerFacts, SourceRecord, SubtaskRecord, SubtaskSettings, TaskRecord,
    TaskSettings,
};
use ferrymaster::model::report::{
    ErrorDetail, ErrorHistory, ErrorReport, Outcome, RunState, SubtaskReport, Unit, Verdict,
};
use ferrymaster::model::subtask::{OnDuplicate, TaskMode, Wanted};
use ferrymaster::model::{Endpoint, Epoch, Flavor, Generation, LedgerId, SourceName, SubtaskId, TaskName, WorkerName};
use ferrymaster::scheduler::{SeenRun, Standing, WorkerView, World};
use uuid::Uuid;

const SECOND: i64 = 1_000_000;

pub fn world(text: &str) -> (World, i64) {
    let mut world = World::default();
    let mut now_us = 0;
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            [] => {}
            ["now", at] => now_us = seconds(at),
            ["tries", tries] => world.retries.tries = tries.parse().unwrap(),
            ["recovering"] => world.recovering = true,
            ["worker", name, epoch, ref rest @ ..] => {
                let (standing, capacity) = match rest {
                    ["lost"] => (Standing::Lost, 4),
                    ["recorded"] => (Standing::Recorded, 4),
                    ["capacity", capacity] => (Standing::InOffice, capacity.parse().unwrap()),
                    _ => panic!("not understood: {line}"),
                };
                let view = WorkerView { epoch: Epoch(number(epoch)), capacity, standing };
                world.workers.insert(WorkerName::new(name), view);
            }
            ["source", name, ref rest @ ..] => {
                world.sources.insert(SourceName::new(name), Arc::new(source(name)));
                if let ["on", worker, epoch] = rest {
                    let assignment = Assignment {
                        source: SourceName::new(name),
                        worker: WorkerName::new(*worker),
                        worker_epoch: Epoch(number(epoch)),
                        assigned_us: 0,
                    };
                    world.assignments.insert(SourceName::new(name), assignment);
                }
            }
            ["task", name, "on", host, "created", at] => {
                world.tasks.insert(TaskName::new(name), Arc::new(task(name, host, seconds(at))));
            }
            ["subtask", task, source, wanted, generation, ref rest @ ..] => {
                let attempts = if let ["attempts", attempts] = rest { attempts.parse().unwrap() } else { 0 };
                let record = SubtaskRecord {
                    id: id(task, source),
                    revision: 1,
                    wanted: if wanted == "running" { Wanted::Running } else { Wanted::Stopped },
                    generation: Generation(number(generation)),
                    attempts,
                    ledger_id: LedgerId(Uuid::nil()),
                    ledger_kept: false,
                    settings: SubtaskSettings::default(),
                    conclusion: None,
                };
                world.subtasks.insert(record.id.clone(), Arc::new(record));
            }
            ["seen", task, source, generation, ref rest @ ..] => {
                let (how, since) = rest.split_at(rest.len() - 2);
                let report = report(id(task, source), number(generation), how, seconds(since[1]));
                world.seen.insert(report.id.clone(), SeenRun { report: Arc::new(report), since_us: seconds(since[1]) });
            }
            ["stored", task, source, generation, ref rest @ ..] => {
                let (how, at) = rest.split_at(rest.len() - 2);
                let report = report(id(task, source), number(generation), how, seconds(at[1]));
                let subtask = world.subtasks.get_mut(&report.id).expect("the subtask stands before its end");
                Arc::make_mut(subtask).conclusion =
                    Some(Conclusion { report, ended_us: seconds(at[1]), worked: false });
            }
            ["ran", task, source, generation] => {
                world.ran.insert(id(task, source), Generation(number(generation)));
            }
            ["returning", task, source] => {
                world.returning.insert(id(task, source));
            }
            ["leaving", task, source] => {
                world.leaving.insert(id(task, source));
            }
            ["cleanup", "of", task, "on", host, "created", at, confirmed] => {
                let record = CleanupRecord {
                    id: Uuid::from_u128(world.cleanups.len() as u128 + 1),
                    task: TaskName::new(task),
                    target: endpoint(host),
                    meta_schema: "dm_meta".to_owned(),
                    ledgers: vec![],
                    confirmed_off: confirmed == "confirmed",
                    attempts: 0,
                    tried_us: None,
                    cause: None,
                    created_us: seconds(at),
                };
                world.cleanups.insert(record.id, Arc::new(record));
            }
            _ => panic!("not understood: {line}"),
        }
    }
    (world, now_us)
}

pub fn id(task: &str, source: &str) -> SubtaskId {
    SubtaskId { task: TaskName::new(task), source: SourceName::new(source) }
}

fn number(text: &str) -> u64 {
    text.parse().unwrap()
}

fn seconds(text: &str) -> i64 {
    text.parse::<i64>().unwrap() * SECOND
}

fn endpoint(host: &str) -> Endpoint {
    Endpoint { host: host.to_owned(), port: 3306, user: "root".to_owned(), password: String::new().into(), tls: None }
}

pub fn source(name: &str) -> SourceRecord {
    SourceRecord {
        name: SourceName::new(name),
        revision: 1,
        enabled: true,
        document: serde_json::Value::Null,
        endpoint: endpoint(name),
        enable_gtid: false,
        server: ServerFacts { flavor: Flavor::MySql, version: "9.7.0".to_owned(), names_ignore_case: false },
        created_us: 0,
        updated_us: 0,
    }
}

fn task(name: &str, host: &str, created_us: i64) -> TaskRecord {
    TaskRecord {
        name: TaskName::new(name),
        revision: 1,
        document: serde_json::Value::Null,
        target: endpoint(host),
        settings: TaskSettings {
            mode: TaskMode::All,
            on_duplicate: OnDuplicate::Error,
            meta_schema: "dm_meta".to_owned(),
            collation_map: BTreeMap::new(),
            export_threads: 1,
            import_threads: 1,
            replicate_lanes: 1,
            replicate_batch: 1,
        },
        created_us,
        updated_us: created_us,
    }
}

fn report(id: SubtaskId, generation: u64, how: &[&str], at_us: i64) -> SubtaskReport {
    let (state, outcome, verdict) = match how {
        ["running"] => (RunState::Running, None, None),
        ["initializing"] => (RunState::Initializing, None, None),
        ["closing"] => (RunState::Closing, None, None),
        ["never"] => (RunState::Closed, Some(Outcome::NeverRun), None),
        ["finished"] => (RunState::Closed, Some(Outcome::Finished), None),
        ["stopped"] => (RunState::Closed, Some(Outcome::Stopped), None),
        ["retry"] => (RunState::Closed, Some(Outcome::Failed), Some(Verdict::RetryLater)),
        ["pause"] => (RunState::Closed, Some(Outcome::Failed), Some(Verdict::PauseFor("grant it".to_owned()))),
        ["above", known] => {
            let verdict = Verdict::NeedsGenerationAbove(Generation(number(known)));
            (RunState::Closed, Some(Outcome::Failed), Some(verdict))
        }
        other => panic!("not understood: {other:?}"),
    };
    let error = verdict.map(|verdict| ErrorReport {
        fault: Code::new(10001, "database", "high").fault("it broke"),
        verdict,
        table: None,
        position: None,
        at_us,
        detail: ErrorDetail::default(),
        history: ErrorHistory::default(),
    });
    SubtaskReport {
        id,
        ledger_id: LedgerId(Uuid::nil()),
        generation: Generation(generation),
        state,
        outcome,
        unit: Unit::Sync,
        load: None,
        sync: None,
        error,
        notices: vec![],
        reported_at_us: at_us,
    }
}
