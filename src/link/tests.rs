use std::sync::Arc;
use std::time::Duration;

use secrecy::SecretString;
use tempfile::TempDir;
use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::client::{self, Ending, Identity, WorkerView};
use super::*;
use crate::metastore::testing;
use crate::model::report::{Outcome, RunState, SubtaskReport, Unit};
use crate::model::subtask::{OnDuplicate, SubtaskConfig, TaskMode, Wanted, WantedSubtask};
use crate::model::{Endpoint, Epoch, Generation, LedgerId, SourceName, SubtaskId, TaskName, WorkerName};
use crate::registry::{Expiry, MasterClock, Registry, Seen, Tenure, WorkerState};

const SOON: Duration = Duration::from_secs(10);
const A_WHILE: Duration = Duration::from_secs(600);
const BEAT: Duration = Duration::from_millis(100);

struct Bench {
    server: Arc<LinkServer>,
    _directory: TempDir,
}

async fn bench() -> Bench {
    let (store, directory) = testing::temporary().await;
    let epoch = store.claim_lease(None, "test", 0).await.unwrap().unwrap();
    let tenure = Arc::new(Tenure::default());
    tenure.hold(epoch, Instant::now() + A_WHILE);
    let server = LinkServer {
        store,
        registry: Arc::new(Registry::new(Expiry { worker_us: 3_500_000 })),
        outbox: Arc::new(Outbox::default()),
        clock: MasterClock::start(),
        settings: LinkSettings { lease: Duration::from_millis(600) },
        tenure,
        doubt: Arc::new(Notify::new()),
    };
    server.outbox.take_office(epoch);
    Bench { server: Arc::new(server), _directory: directory }
}

impl Bench {
    async fn connect(&self) -> (client::Connection, client::Driver) {
        let identity = Identity { worker: worker(), address: "memory".to_owned(), capacity: 4 };
        let stop = CancellationToken::new();
        client::connect(self.server.clone(), identity, BEAT, &stop).await.unwrap()
    }

    /// What the next leader does, as far as the link sees it.
    async fn change_leader(&self) -> Epoch {
        let seen = self.server.store.lease().await.unwrap();
        let epoch = self.server.store.claim_lease(seen.as_ref(), "next", 1).await.unwrap().unwrap();
        let workers = self.server.store.workers().await.unwrap();
        self.server.registry.take_office(&workers, self.server.clock.now_us());
        self.server.outbox.take_office(epoch);
        self.server.tenure.hold(epoch, Instant::now() + A_WHILE);
        epoch
    }

    fn put(&self, subtasks: &[(&str, Wanted, u64)]) -> SetVersion {
        let fingerprints = subtasks
            .iter()
            .map(|(task, wanted, generation)| Fingerprint {
                id: id(task),
                wanted: *wanted,
                generation: Generation(*generation),
                source: 1,
                task: 1,
                subtask: 1,
            })
            .collect();
        self.server.outbox.put(&worker(), Epoch(1), fingerprints, || {
            subtasks.iter().map(|(task, wanted, generation)| wanted_subtask(task, *wanted, *generation)).collect()
        })
    }
}

fn worker() -> WorkerName {
    WorkerName::new("w")
}

fn id(task: &str) -> SubtaskId {
    SubtaskId { task: TaskName::new(task), source: SourceName::new("s") }
}

fn wanted_subtask(task: &str, wanted: Wanted, generation: u64) -> WantedSubtask {
    let endpoint = Endpoint {
        host: "h".to_owned(),
        port: 3306,
        user: "u".to_owned(),
        password: SecretString::from("p"),
        tls: None,
    };
    let config = SubtaskConfig {
        ledger_id: LedgerId::new(),
        ledger_kept: false,
        mode: TaskMode::All,
        on_duplicate: OnDuplicate::Error,
        source: endpoint.clone(),
        enable_gtid: false,
        names_ignore_case: false,
        target: endpoint,
        meta_schema: "dm_meta".to_owned(),
        start: None,
        restart: None,
        rules: vec![],
        collation_map: Default::default(),
        export_threads: 1,
        import_threads: 1,
        replicate_lanes: 1,
        replicate_batch: 1,
        stop_grace_s: 10,
    };
    WantedSubtask { id: id(task), wanted, generation: Generation(generation), config }
}

fn report(task: &str, generation: u64, state: RunState, at_us: i64) -> SubtaskReport {
    SubtaskReport {
        id: id(task),
        ledger_id: LedgerId(uuid::Uuid::nil()),
        generation: Generation(generation),
        state,
        outcome: (state == RunState::Closed).then_some(Outcome::Stopped),
        unit: Unit::Load,
        load: None,
        sync: None,
        error: None,
        notices: vec![],
        reported_at_us: at_us,
    }
}

fn is_in(seen: Option<&Seen>, state: RunState) -> bool {
    seen.is_some_and(|seen| seen.report.state == state)
}

async fn set_arrives(connection: &mut client::Connection, version: SetVersion) -> Arc<WantedSet> {
    let arrived = connection.wanted.wait_for(|set| set.as_ref().is_some_and(|set| set.version == version));
    tokio::time::timeout(SOON, arrived).await.unwrap().unwrap().clone().unwrap()
}

#[tokio::test]
async fn what_is_wanted_reaches_the_worker_and_what_it_says_reaches_the_master() {
    let bench = bench().await;
    let (mut connection, driver) = bench.connect().await;
    let stop = CancellationToken::new();
    let driving = tokio::spawn(driver.run(stop.clone()));
    let version = bench.put(&[("t", Wanted::Running, 1)]);
    let set = set_arrives(&mut connection, version).await;
    assert_eq!(set.subtasks[0].generation, Generation(1));

    connection.view.send_modify(|view| {
        view.applied = version;
        view.runs.insert(id("t"), report("t", 1, RunState::Running, 1));
    });
    let registry = &bench.server.registry;
    assert!(registry.wait_for(&id("t"), SOON, |seen| is_in(seen, RunState::Running)).await);
    assert_eq!(registry.worker(&worker()).unwrap().state, WorkerState::Online);

    let version = bench.put(&[]);
    set_arrives(&mut connection, version).await;
    assert!(!registry.is_off(&worker(), connection.worker_epoch, &id("t"), version.version));
    connection.view.send_modify(|view| *view = WorkerView { applied: version, ..WorkerView::default() });
    let epoch = connection.worker_epoch;
    assert!(registry.wait_until(SOON, |registry| registry.is_off(&worker(), epoch, &id("t"), version.version)).await);

    stop.cancel();
    assert_eq!(driving.await.unwrap(), Ending::Stopped);
    assert!(registry.worker(&worker()).unwrap().departed);
}

#[tokio::test]
async fn a_final_state_travels_at_once_and_not_with_the_next_beat() {
    let bench = bench().await;
    let identity = Identity { worker: worker(), address: "memory".to_owned(), capacity: 4 };
    let stop = CancellationToken::new();
    let slow = Duration::from_secs(60);
    let (connection, driver) = client::connect(bench.server.clone(), identity, slow, &stop).await.unwrap();
    let _driving = tokio::spawn(driver.run(stop.clone()));
    bench.server.registry.wait_until(SOON, |registry| registry.worker(&worker()).unwrap().heard_us.is_some()).await;
    for (number, state) in [RunState::Running, RunState::Closing, RunState::Closed].into_iter().enumerate() {
        let at_us = i64::try_from(number).unwrap();
        connection.view.send_modify(|view| {
            view.runs.insert(id("t"), report("t", 1, state, at_us));
        });
        let registry = &bench.server.registry;
        assert!(registry.wait_for(&id("t"), SOON, |seen| is_in(seen, state)).await, "{state:?}");
    }
    stop.cancel();
}

#[tokio::test]
async fn a_worker_without_a_set_is_told_nothing_rather_than_an_empty_set() {
    let bench = bench().await;
    let (connection, driver) = bench.connect().await;
    let _driving = tokio::spawn(driver.run(CancellationToken::new()));
    let heard = bench.server.registry.wait_until(SOON, |registry| {
        let status = registry.worker(&worker()).unwrap();
        status.state == WorkerState::Online && status.heard_us.is_some()
    });
    assert!(heard.await);
    assert!(connection.wanted.borrow().is_none());
}

#[tokio::test]
async fn a_new_leader_gets_a_full_report_and_its_sets_replace_the_old_ones() {
    let bench = bench().await;
    let (mut connection, driver) = bench.connect().await;
    let _driving = tokio::spawn(driver.run(CancellationToken::new()));
    let old = bench.put(&[("t", Wanted::Running, 1)]);
    set_arrives(&mut connection, old).await;
    connection.view.send_modify(|view| {
        view.applied = old;
        view.runs.insert(id("t"), report("t", 1, RunState::Running, 1));
    });
    assert!(bench.server.registry.wait_for(&id("t"), SOON, |seen| seen.is_some()).await);
    bench.server.registry.forget(&id("t"));

    let epoch = bench.change_leader().await;
    // Nothing changed at the worker; it says all again because it was asked to.
    assert!(bench.server.registry.wait_for(&id("t"), SOON, |seen| seen.is_some()).await);
    assert_eq!(bench.server.registry.worker(&worker()).unwrap().applied_version, 0, "a count of the old leader");
    let new = bench.put(&[("t", Wanted::Running, 1)]);
    assert_eq!((new.master_epoch, new.version), (epoch, 1));
    set_arrives(&mut connection, new).await;
}

#[tokio::test]
async fn a_second_registration_ends_the_first_incarnation() {
    let bench = bench().await;
    let (first, driver) = bench.connect().await;
    let driving = tokio::spawn(driver.run(CancellationToken::new()));
    let (second, _driver) = bench.connect().await;
    assert_eq!(second.worker_epoch, first.worker_epoch.next());
    assert_eq!(tokio::time::timeout(SOON, driving).await.unwrap().unwrap(), Ending::Terminated);
}

#[tokio::test]
async fn a_master_without_office_answers_nobody_and_the_worker_opens_nothing_new() {
    let bench = bench().await;
    let (mut connection, driver) = bench.connect().await;
    let driving = tokio::spawn(driver.run(CancellationToken::new()));
    assert!(*connection.answered.borrow());
    bench.server.tenure.give_up();
    tokio::time::timeout(SOON, connection.answered.wait_for(|answered| !answered)).await.unwrap().unwrap();
    assert!(!driving.is_finished(), "what runs goes on");
    bench.change_leader().await;
    tokio::time::timeout(SOON, connection.answered.wait_for(|answered| *answered)).await.unwrap().unwrap();
}

#[tokio::test]
async fn a_higher_master_epoch_makes_the_master_doubt_and_never_more() {
    let bench = bench().await;
    let (connection, _driver) = bench.connect().await;
    let doubt = bench.server.doubt.clone();
    let answer = bench
        .server
        .wanted(WantedRequest {
            worker: worker(),
            worker_epoch: connection.worker_epoch,
            master_epoch: Epoch(99),
            has: SetVersion::default(),
            hold_ms: 0,
        })
        .await
        .unwrap();
    assert_eq!(answer.verdict, Verdict::NotLeader);
    tokio::time::timeout(SOON, doubt.notified()).await.unwrap();
    assert_eq!(bench.server.tenure.epoch(), Some(Epoch(1)), "a message deposes nobody");
}

#[tokio::test]
async fn equal_sets_are_one_version_and_only_changes_wake_the_worker() {
    let bench = bench().await;
    let first = bench.put(&[("t", Wanted::Running, 1)]);
    assert_eq!(bench.put(&[("t", Wanted::Running, 1)]), first);
    let second = bench.put(&[("t", Wanted::Stopped, 1)]);
    assert_eq!(second.version, first.version + 1);
    bench.server.outbox.retire(&worker(), Epoch(2));
    assert_eq!(bench.put(&[]).version, 1);
}

#[test]
fn messages_can_travel_as_json() {
    let set = WantedSet {
        version: SetVersion { master_epoch: Epoch(3), version: 4 },
        subtasks: vec![wanted_subtask("t", Wanted::Running, 5)],
    };
    let answer =
        WantedAnswer { verdict: Verdict::NotLeader, master_epoch: Epoch(3), lease_ms: 3500, wanted: Some(set) };
    let text = serde_json::to_string(&answer).unwrap();
    let back: WantedAnswer = serde_json::from_str(&text).unwrap();
    assert_eq!(serde_json::to_string(&back).unwrap(), text);
    assert!(text.contains("\"not_leader\""));
}
