//! Records go in whole and come out whole.

use std::collections::BTreeMap;

use secrecy::{ExposeSecret as _, SecretString};
use serde_json::json;
use uuid::Uuid;

use super::engines::{self, Bench};
use crate::metastore::{Object, Place, Store, StoreError};
use crate::model::change::{Change, Want};
use crate::model::record::{
    AbandonedLedger, Assignment, CleanupRecord, Conclusion, KeptLedger, ServerFacts, SourceRecord, SubtaskRecord,
    SubtaskSettings, TaskRecord, TaskSettings, WorkerRecord,
};
use crate::model::report::{Outcome, RunState, SubtaskReport, Unit};
use crate::model::subtask::{MigrateRule, OnDuplicate, Restart, StartAt, TaskMode, Wanted};
use crate::model::{Endpoint, Epoch, Flavor, Generation, LedgerId, SourceName, SubtaskId, TaskName, Tls, WorkerName};

pub fn endpoint(host: &str) -> Endpoint {
    Endpoint {
        host: host.to_owned(),
        port: 3306,
        user: "repl".to_owned(),
        password: SecretString::from("geheim ü '\""),
        tls: Some(Tls {
            ca: "CA".to_owned(),
            certificate: "CERT".to_owned(),
            key: SecretString::from("PRIVATE"),
            allowed_common_names: vec!["db".to_owned()],
        }),
    }
}

pub fn source(name: &str) -> SourceRecord {
    SourceRecord {
        name: SourceName::new(name),
        revision: 0,
        enabled: true,
        document: json!({"source_name": name, "purge": {"interval": 3600}}),
        endpoint: endpoint("src.example"),
        enable_gtid: true,
        server: ServerFacts {
            flavor: Flavor::MariaDb,
            version: "10.11.19-MariaDB".to_owned(),
            names_ignore_case: true,
        },
        created_us: 11,
        updated_us: 12,
    }
}

pub fn task(name: &str) -> TaskRecord {
    TaskRecord {
        name: TaskName::new(name),
        revision: 0,
        document: json!({"name": name, "on_duplicate": "error"}),
        target: endpoint("target.example"),
        settings: TaskSettings {
            mode: TaskMode::All,
            on_duplicate: OnDuplicate::Ignore,
            meta_schema: "dm_meta".to_owned(),
            collation_map: BTreeMap::from([("a".to_owned(), "b".to_owned())]),
            export_threads: 4,
            import_threads: 16,
            replicate_lanes: 8,
            replicate_batch: 100,
        },
        created_us: 21,
        updated_us: 22,
    }
}

pub fn subtask(task: &str, source: &str) -> SubtaskRecord {
    SubtaskRecord {
        id: SubtaskId { task: TaskName::new(task), source: SourceName::new(source) },
        revision: 0,
        wanted: Wanted::Stopped,
        generation: Generation(0),
        attempts: 0,
        ledger_id: LedgerId::new(),
        ledger_kept: true,
        settings: SubtaskSettings {
            start: Some(StartAt::Position { file: Some("b.000001".to_owned()), offset: Some(4), gtid: None }),
            restart: Some(Restart { generation: Generation(3), at: StartAt::Time { at_us: 5 } }),
            rules: vec![MigrateRule {
                schema: "shop".to_owned(),
                table: "~^o".to_owned(),
                target_schema: Some("store".to_owned()),
                target_table: None,
                filters: vec![],
            }],
            stop_grace_s: Some(7),
        },
        conclusion: None,
    }
}

pub fn report(id: &SubtaskId, generation: u64, outcome: Outcome) -> SubtaskReport {
    SubtaskReport {
        id: id.clone(),
        ledger_id: LedgerId::new(),
        generation: Generation(generation),
        state: RunState::Closed,
        outcome: Some(outcome),
        unit: Unit::Sync,
        load: None,
        sync: None,
        error: None,
        notices: vec![],
        reported_at_us: 99,
    }
}

async fn commit(bench: &Bench, epoch: Epoch, changes: Vec<Change>) {
    bench.store.commit(epoch, changes).await.unwrap();
}

#[tokio::test]
async fn a_source_comes_back_as_it_was_stored_and_its_secrets_are_sealed() {
    for bench in engines::all().await {
        let epoch = bench.lead().await;
        let stored = source("mysql-1 ü");
        commit(&bench, epoch, vec![Change::InsertSource(Box::new(stored.clone()))]).await;
        let found = bench.store.source(&stored.name).await.unwrap().unwrap();
        assert_eq!(found.revision, 1);
        assert_eq!(found.document, stored.document);
        assert_eq!(found.server, stored.server);
        assert!(found.endpoint.same_account(&stored.endpoint));
        assert_eq!(found.endpoint.password.expose_secret(), "geheim ü '\"");
        assert_eq!(found.endpoint.tls.unwrap().key.expose_secret(), "PRIVATE");
        assert_eq!((found.created_us, found.updated_us), (11, 12));
        assert!(bench.store.source(&SourceName::new("MYSQL-1 ü")).await.unwrap().is_none());
        bench.finish().await;
    }
}

#[tokio::test]
async fn the_embedded_file_holds_no_secret_in_clear() {
    let bench = engines::sqlite().await;
    let epoch = bench.lead().await;
    commit(&bench, epoch, vec![Change::InsertSource(Box::new(source("a"))), Change::InsertTask(Box::new(task("t")))])
        .await;
    bench.store.close().await;
    for file in std::fs::read_dir(bench.directory.path()).unwrap() {
        let bytes = std::fs::read(file.unwrap().path()).unwrap();
        for secret in ["geheim", "PRIVATE"] {
            assert!(!bytes.windows(secret.len()).any(|window| window == secret.as_bytes()));
        }
    }
}

#[tokio::test]
async fn another_key_is_refused_at_opening() {
    let bench = engines::sqlite().await;
    bench.store.close().await;
    let elsewhere = tempfile::tempdir().unwrap();
    let other = std::sync::Arc::new(crate::secrets::Sealer::open_or_create(elsewhere.path()).unwrap());
    let result = Store::open(&bench.place, other).await;
    assert!(matches!(result.map(|_| ()), Err(StoreError::OtherKey)));
}

#[tokio::test]
async fn a_task_with_its_subtasks_comes_back_and_goes_as_a_whole() {
    for bench in engines::all().await {
        let epoch = bench.lead().await;
        let record = subtask("t", "a");
        commit(
            &bench,
            epoch,
            vec![
                Change::InsertSource(Box::new(source("a"))),
                Change::InsertTask(Box::new(task("t"))),
                Change::InsertSubtask(Box::new(record.clone())),
            ],
        )
        .await;
        let found = bench.store.task(&TaskName::new("t")).await.unwrap().unwrap();
        assert_eq!(found.settings, task("t").settings);
        assert_eq!(found.document, task("t").document);
        let subtasks = bench.store.subtasks_of_task(&found.name).await.unwrap();
        assert_eq!(subtasks.len(), 1);
        assert_eq!(subtasks[0].settings, record.settings);
        assert_eq!(subtasks[0].ledger_id, record.ledger_id);
        assert!(subtasks[0].ledger_kept && subtasks[0].conclusion.is_none());
        commit(&bench, epoch, vec![Change::RemoveTask { name: found.name.clone(), revision: 1 }]).await;
        assert!(bench.store.subtasks().await.unwrap().is_empty());
        assert!(bench.store.task(&found.name).await.unwrap().is_none());
        bench.finish().await;
    }
}

#[tokio::test]
async fn a_run_s_end_is_remembered_until_the_next_generation() {
    for bench in engines::all().await {
        let epoch = bench.lead().await;
        let record = subtask("t", "a");
        let id = record.id.clone();
        let mut want = Want { generation: Generation(1), wanted: Wanted::Running, ..Want::of(&record) };
        want.revision = 1;
        let conclusion = Conclusion { report: report(&id, 1, Outcome::Failed), ended_us: 5, worked: true };
        commit(
            &bench,
            epoch,
            vec![
                Change::InsertSource(Box::new(source("a"))),
                Change::InsertTask(Box::new(task("t"))),
                Change::InsertSubtask(Box::new(record)),
                Change::Want(Box::new(want)),
                Change::Conclude { id: id.clone(), conclusion: Box::new(conclusion.clone()) },
            ],
        )
        .await;
        let found = bench.store.subtasks_of_source(&id.source).await.unwrap().remove(0);
        assert_eq!(found.concluded().unwrap().outcome, Some(Outcome::Failed));
        assert_eq!((found.revision, found.wanted, found.generation), (2, Wanted::Running, Generation(1)));

        let advance = Change::Advance { id: id.clone(), from: Generation(1), to: Generation(2), attempts: 1 };
        commit(&bench, epoch, vec![advance.clone()]).await;
        let found = bench.store.subtasks_of_source(&id.source).await.unwrap().remove(0);
        assert!(found.concluded().is_none());
        assert_eq!((found.generation, found.attempts), (Generation(2), 1));
        for late in [advance, Change::Conclude { id, conclusion: Box::new(conclusion) }] {
            let error = bench.store.commit(epoch, vec![late]).await.unwrap_err();
            assert!(matches!(error, StoreError::Conflict { object: Object::Subtask, .. }), "{error}");
        }
        bench.finish().await;
    }
}

#[tokio::test]
async fn a_source_with_tasks_is_not_removed_and_one_without_takes_its_assignment_along() {
    for bench in engines::all().await {
        let epoch = bench.lead().await;
        let assignment = Assignment {
            source: SourceName::new("a"),
            worker: WorkerName::new("w"),
            worker_epoch: Epoch(4),
            assigned_us: 5,
        };
        commit(
            &bench,
            epoch,
            vec![
                Change::InsertSource(Box::new(source("a"))),
                Change::InsertTask(Box::new(task("t"))),
                Change::InsertSubtask(Box::new(subtask("t", "a"))),
                Change::Assign(assignment.clone()),
            ],
        )
        .await;
        assert_eq!(bench.store.assignments().await.unwrap(), [assignment]);
        let remove = Change::RemoveSource { name: SourceName::new("a"), revision: 1 };
        let error = bench.store.commit(epoch, vec![remove.clone()]).await.unwrap_err();
        assert!(matches!(&error, StoreError::SourceInUse { tasks, .. } if tasks == &["t"]), "{error}");
        commit(&bench, epoch, vec![Change::RemoveTask { name: TaskName::new("t"), revision: 1 }, remove]).await;
        assert!(bench.store.assignments().await.unwrap().is_empty());
        assert!(bench.store.sources().await.unwrap().is_empty());
        bench.finish().await;
    }
}

#[tokio::test]
async fn a_worker_s_epoch_only_grows() {
    for bench in engines::all().await {
        let epoch = bench.lead().await;
        let worker = |epoch| WorkerRecord {
            name: WorkerName::new("w"),
            address: "here".to_owned(),
            epoch: Epoch(epoch),
            capacity: 8,
            departed: false,
            registered_us: 1,
        };
        commit(&bench, epoch, vec![Change::Register(worker(1)), Change::Register(worker(2))]).await;
        let error = bench.store.commit(epoch, vec![Change::Register(worker(2))]).await.unwrap_err();
        assert!(matches!(error, StoreError::Conflict { object: Object::Worker, .. }), "{error}");
        commit(&bench, epoch, vec![Change::Depart { name: WorkerName::new("w"), epoch: Epoch(2) }]).await;
        let found = bench.store.workers().await.unwrap();
        assert_eq!(found, [WorkerRecord { departed: true, ..worker(2) }]);
        bench.finish().await;
    }
}

#[tokio::test]
async fn cleanups_and_kept_ledgers_come_back() {
    for bench in engines::all().await {
        let epoch = bench.lead().await;
        let ledger =
            AbandonedLedger { source: SourceName::new("a"), ledger_id: LedgerId::new(), generation: Generation(9) };
        let mut record = CleanupRecord {
            id: Uuid::now_v7(),
            task: TaskName::new("t"),
            target: endpoint("target.example"),
            meta_schema: "dm_meta".to_owned(),
            ledgers: vec![ledger],
            confirmed_off: false,
            attempts: 0,
            tried_us: None,
            cause: None,
            created_us: 3,
        };
        let kept =
            KeptLedger { id: subtask("t", "a").id, ledger_id: LedgerId::new(), generation: Generation(4), kept_us: 8 };
        let newer = KeptLedger { generation: Generation(5), ..kept.clone() };
        commit(
            &bench,
            epoch,
            vec![
                Change::InsertCleanup(Box::new(record.clone())),
                Change::KeepLedger(kept.clone()),
                Change::KeepLedger(newer.clone()),
            ],
        )
        .await;
        let tried = Change::CleanupTried { id: record.id, attempts: 2, tried_us: 77, cause: "no route".to_owned() };
        record.target.password = SecretString::from("new");
        commit(&bench, epoch, vec![tried, Change::UpdateCleanup(Box::new(record.clone()))]).await;
        let found = bench.store.cleanup(record.id).await.unwrap().unwrap();
        assert_eq!(found.ledgers, record.ledgers);
        assert_eq!((found.attempts, found.tried_us, found.cause), (2, Some(77), Some("no route".to_owned())));
        assert_eq!(found.target.password.expose_secret(), "new");
        assert_eq!(bench.store.kept_ledgers(&kept.id.task).await.unwrap(), [newer]);
        let remove = Change::RemoveCleanup { id: record.id };
        commit(&bench, epoch, vec![remove.clone(), Change::TakeKeptLedger { id: kept.id.clone() }]).await;
        assert!(bench.store.cleanups().await.unwrap().is_empty());
        assert!(bench.store.kept_ledgers(&kept.id.task).await.unwrap().is_empty());
        let error = bench.store.commit(epoch, vec![remove]).await.unwrap_err();
        assert!(matches!(error, StoreError::Missing { object: Object::Cleanup, .. }), "{error}");
        bench.finish().await;
    }
}

#[tokio::test]
async fn a_store_in_an_odd_directory_keeps_its_cluster_id() {
    let directory = tempfile::tempdir().unwrap();
    let odd = directory.path().join("a b ü?#%41");
    std::fs::create_dir(&odd).unwrap();
    let sealer = std::sync::Arc::new(crate::secrets::Sealer::open_or_create(&odd).unwrap());
    let place = Place::Directory(odd.clone());
    let store = Store::open(&place, sealer.clone()).await.unwrap();
    let id = store.cluster_id().await.unwrap();
    store.close().await;
    use std::os::unix::fs::PermissionsExt as _;
    let mode = std::fs::metadata(odd.join("ferrymaster.db")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert_eq!(Store::open(&place, sealer).await.unwrap().cluster_id().await.unwrap(), id);
}
