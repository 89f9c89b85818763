//! One fault after the other, drawn by a seed, against a source that never rests. After each the writer stops,
//! replication drains, and both sides are compared row by row.

use std::time::{Duration, Instant};

use ferrymaster::faults::FaultPoint;

use super::scene::Scene;
use super::support::proxy::Mode;
use super::support::random::Random;
use super::support::servers::{Kind, PAIRS, Session};
use super::support::wait::{secs, until_true};
use super::support::workload;
use super::support::writer::Writer;

#[derive(Debug, Clone, Copy)]
enum Fault {
    KillFerrymaster,
    /// At a named point, passed so often before.
    KillAtPoint(FaultPoint, u32),
    KillSource,
    KillTarget,
    RestartTarget,
    CutSource,
    CutTarget,
    SilenceSource,
    SilenceTarget,
    SlowTarget,
    LockRowsOfTarget,
    ReadOnlyTarget,
    /// SIGSTOP at a named point; a second process takes over; SIGCONT.
    FreezeAndTakeOver(FaultPoint, u32),
    StopAndStart,
}

const IN_COPY: [FaultPoint; 12] = [
    FaultPoint::TakeoverRaised,
    FaultPoint::TakeoverOutwaited,
    FaultPoint::SnapshotOpened,
    FaultPoint::SnapshotRecorded,
    FaultPoint::TablesAnnounced,
    FaultPoint::TablesMade,
    FaultPoint::BeforeBatchCommit,
    FaultPoint::AfterBatchCommit,
    FaultPoint::BeforeKeys,
    FaultPoint::AfterKeys,
    FaultPoint::BeforeCopyEnds,
    FaultPoint::AfterCopyEnds,
];
const IN_REPLICATION: [FaultPoint; 10] = [
    FaultPoint::BeforeLaneCommit,
    FaultPoint::AfterLaneCommit,
    FaultPoint::BeforeDdlAnnounced,
    FaultPoint::BeforeDdl,
    FaultPoint::AfterDdl,
    FaultPoint::AfterDdlRecorded,
    FaultPoint::BeforePreparedNoted,
    FaultPoint::AfterPreparedNoted,
    FaultPoint::BeforePreparedReadAgain,
    FaultPoint::BeforeReport,
];

impl Fault {
    fn draw(random: &mut Random, in_copy: bool) -> Self {
        match random.below(16) {
            0 => Self::KillFerrymaster,
            1..=2 if in_copy => Self::KillAtPoint(*random.pick(&IN_COPY), random.below(5) as u32),
            1..=2 => Self::KillAtPoint(*random.pick(&IN_REPLICATION), random.below(40) as u32),
            3 => Self::KillSource,
            4 => Self::KillTarget,
            5 => Self::RestartTarget,
            6 => Self::CutSource,
            7 => Self::CutTarget,
            8 => Self::SilenceSource,
            9 => Self::SilenceTarget,
            10 => Self::SlowTarget,
            11 => Self::LockRowsOfTarget,
            12 => Self::ReadOnlyTarget,
            13 if in_copy => Self::FreezeAndTakeOver(FaultPoint::BeforeBatchCommit, random.below(5) as u32),
            13 => Self::FreezeAndTakeOver(FaultPoint::BeforeLaneCommit, random.below(40) as u32),
            14 if !in_copy => Self::FreezeAndTakeOver(FaultPoint::BeforeDdl, 0),
            _ => Self::StopAndStart,
        }
    }

    /// What the process must be started with to meet it.
    fn failpoints(self) -> String {
        match self {
            Self::KillAtPoint(point, passes) => format!("{}={}return(kill)", point.name(), skipping(passes)),
            Self::FreezeAndTakeOver(point, passes) => {
                format!("{}={}1*return(stop)->off", point.name(), skipping(passes))
            }
            _ => String::new(),
        }
    }
}

fn skipping(passes: u32) -> String {
    if passes == 0 { String::new() } else { format!("{passes}*off->") }
}

/// One round, from its number alone: the same seed and number draw the same fault.
async fn round(scene: &mut Scene, seed: u64, number: u64) {
    let mut random = Random::new(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ number);
    let in_copy = random.below(3) == 0;
    let fault = Fault::draw(&mut random, in_copy);
    let phase = if in_copy { "copy" } else { "replication" };
    println!("round {number} of seed {seed}: {fault:?} in {phase}");
    let begun = Instant::now();
    if !in_copy && !scene.has_task() {
        scene.begin_anew().await;
        scene.until_equal().await;
    }
    let failpoints = fault.failpoints();
    if !failpoints.is_empty() {
        scene.restart(&failpoints).await;
    }
    let writer = workload::start(&scene.source.server, &scene.database, random.next(), true);
    if in_copy {
        scene.begin_anew().await;
        writer.until_transactions(random.below(30)).await;
    } else {
        writer.until_transactions(20 + random.below(150)).await;
    }
    inflict(scene, fault, &writer, &mut random).await;
    writer.until_transactions(60).await;
    writer.stop().await;
    scene.until_equal().await;
    println!("round {number} of seed {seed}: equal after {:.1} s", begun.elapsed().as_secs_f32());
}

async fn inflict(scene: &mut Scene, fault: Fault, writer: &Writer, random: &mut Random) {
    match fault {
        Fault::KillFerrymaster => scene.restart("").await,
        Fault::KillAtPoint(..) => {
            // A round need not come by the point (no keys left to make, no DDL drawn): killed all the same.
            scene.ferrymaster_mut().ended_within(secs(8)).await;
            scene.restart("").await;
        }
        Fault::KillSource => {
            scene.source.kill();
            scene.source.start_again();
        }
        Fault::KillTarget => {
            scene.target.kill();
            writer.until_transactions(random.below(60)).await;
            scene.target.start_again();
        }
        Fault::RestartTarget => {
            scene.target.stop();
            scene.target.start_again();
        }
        Fault::CutSource | Fault::CutTarget => {
            for _ in 0..=random.below(3) {
                let proxy = if matches!(fault, Fault::CutSource) { &scene.to_source } else { &scene.to_target };
                proxy.cut();
                writer.until_transactions(15).await;
            }
        }
        Fault::SilenceSource | Fault::SilenceTarget | Fault::SlowTarget => {
            let proxy = if matches!(fault, Fault::SilenceSource) { &scene.to_source } else { &scene.to_target };
            let mode =
                if matches!(fault, Fault::SlowTarget) { Mode::Delay(Duration::from_millis(15)) } else { Mode::Silent };
            proxy.set(mode);
            writer.until_transactions(80).await;
            proxy.set(Mode::Pass);
            if random.below(2) == 0 {
                proxy.cut();
            }
        }
        Fault::LockRowsOfTarget => lock_rows(scene, writer).await,
        Fault::ReadOnlyTarget => {
            scene.target.server.run(&["SET GLOBAL read_only = ON"]).await;
            writer.until_transactions(60).await;
            scene.target.server.run(&["SET GLOBAL read_only = OFF"]).await;
        }
        Fault::FreezeAndTakeOver(..) => {
            if !scene.ferrymaster().is_frozen_within(secs(8)).await {
                scene.ferrymaster().freeze();
            }
            let mut first = scene.take_over().await;
            writer.until_transactions(40).await;
            first.thaw();
            writer.until_transactions(40).await;
            first.kill();
        }
        Fault::StopAndStart => scene.stop_and_start().await,
    }
}

/// Rows that the task writes are locked for longer than it waits for a lock (5 s).
async fn lock_rows(scene: &Scene, writer: &Writer) {
    let tables = ["orders", "slots", "regions"];
    let mut session = scene.target.server.connect().await;
    session.run("BEGIN").await;
    for table in tables {
        // In a copy the table may not be there yet.
        session.try_run(&format!("SELECT COUNT(*) FROM `{}`.{table} FOR UPDATE", scene.database)).await.ok();
    }
    let begun = Instant::now();
    until_true("the lock to outlast a wait for it", secs(60), async || {
        begun.elapsed() > secs(7) && writer.transactions() > 0
    })
    .await;
    unlock(session).await;
}

async fn unlock(mut session: Session) {
    session.run("ROLLBACK").await;
    session.close().await;
}

async fn rounds(pair: (Kind, Kind), seed: u64, numbers: std::ops::Range<u64>) {
    let mut scene = Scene::set(pair, seed).await;
    for number in numbers {
        round(&mut scene, seed, number).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn mariadb_to_mariadb_survives_two_rounds() {
    rounds((Kind::Mariadb, Kind::Mariadb), 1, 0..2).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn mysql_to_mariadb_survives_two_rounds() {
    rounds((Kind::Mysql, Kind::Mariadb), 2, 0..2).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn mysql_to_mysql_survives_two_rounds() {
    rounds((Kind::Mysql, Kind::Mysql), 3, 0..2).await;
}

/// For `scripts/torture` and `scripts/test --all`.
mod long {
    use super::*;

    fn number(name: &str, default: u64) -> u64 {
        let given = std::env::var(name).ok();
        given.map_or(default, |text| text.parse().unwrap_or_else(|_| panic!("{name}={text} is no number")))
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn as_many_rounds_as_are_asked_for() {
        let seed = number("FERRYMASTER_TORTURE_SEED", 1);
        let from = number("FERRYMASTER_TORTURE_FROM", 0);
        let count = number("FERRYMASTER_TORTURE_ROUNDS", 6);
        let pair = number("FERRYMASTER_TORTURE_PAIR", 0);
        let pair = PAIRS.get(pair as usize).unwrap_or_else(|| panic!("there are pairs 0 to {}", PAIRS.len() - 1));
        rounds(*pair, seed, from..from + count).await;
    }
}
