//! Drives replication for an open run: builds the stages, keeps them going, and closes them in order.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::timeout_at;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::error::Error;
use super::floors::floors;
use super::opening::{Opened, identity, our_clock_us};
use super::progress::Progress;
use super::source_log::{SourceLog, Stored, Way, judge};
use crate::catalogue::{Catalogue, StoredDatabase, StoredShape};
use crate::faults::FaultPoint;
use crate::ledger::{Inherited, LaneSession, LowWater, resume};
use crate::model::subtask::SubtaskConfig;
use crate::model::{BinlogPosition, Endpoint, Flavor, LedgerId, SourcePosition};
use crate::mysql::{BinlogStart, Connection, Deadline, ErrorKind, FATAL_OF_STREAM, Purpose};
use crate::replicate;
use crate::replicate::applier::{Applier, MemoryLimits, State};
use crate::replicate::ddl::apply::settle;
use crate::replicate::lane::{Lane, Limits};
use crate::replicate::low_water::Tracker;
use crate::replicate::prepared::{Prepared, SecondReading};
use crate::replicate::pulse::Pulse;
use crate::replicate::reader;
use crate::replicate::shared::Shared;
use crate::replicate::target::TargetTables;

const OPEN_PATIENCE: Duration = Duration::from_secs(30);
/// How often the source is asked where it stands, and how long it may take.
const ASK_PERIOD: Duration = Duration::from_secs(2);
const ASK_PATIENCE: Duration = Duration::from_secs(5);
const GROUP_BYTES: usize = 8 << 20;

/// Follows the binlog until `stop` or an error. After `stop`, what is in flight is finished within `grace`.
pub async fn replicate(
    mut opened: Opened,
    config: &SubtaskConfig,
    memory: MemoryLimits,
    progress_of_run: &Arc<Progress>,
    stop: &CancellationToken,
) -> Result<(), Error> {
    if !opened.source.has_binlog {
        return Err(Error::NoBinlog);
    }
    settle_announced(&mut opened).await?;
    let mut resume =
        resume(&opened.found.lanes).ok_or_else(|| Error::Internal("the ledger has no low-water".to_owned()))?;
    if !resume.applied.is_empty() {
        let progress = Some((&resume.low_water, &resume.applied));
        opened.control.transact(&[], progress, "take progress over in", Deadline::after(OPEN_PATIENCE)).await?;
    }
    let way = check_log(&opened, config, &resume.low_water).await?;
    if way.is_successor {
        // The place in the other server's files is told by its stream; until then none is known.
        resume.low_water.number += 1;
        resume.low_water.position.binlog = BinlogPosition::new("", 4);
        let identity = opened.ledger.source_identity_statement(&opened.source.identity);
        let progress = Some((&resume.low_water, &resume.applied));
        let deadline = Deadline::after(OPEN_PATIENCE);
        opened.control.transact(&[identity], progress, "note the source's successor in", deadline).await?;
        opened.found.source_identity.clone_from(&opened.source.identity);
        progress_of_run.note(
            our_clock_us(),
            format!("the source is another server now ({}), which holds the same transactions", opened.source.identity),
        );
    }
    let catalogue = catalogue(&opened, config)?;
    let pulse = Arc::new(Pulse::new(opened.source.clock_offset_us));
    let shared = Arc::new(Shared::new(&resume.low_water));
    let tasks = TaskTracker::new();
    // Reading and asking end with this function, however it ends.
    let reading = CancellationToken::new();
    let _guard = reading.clone().drop_guard();
    let aborting = CancellationToken::new();
    let _abort_guard = aborting.clone().drop_guard();

    let start = start_at(&resume.low_water.position, way.by_gtid, opened.source.server.flavor);
    let server_id = server_id(&opened);
    let stretch = Stretch::of(&opened, config, server_id, Arc::clone(&shared));
    let reader = match reader::open(&config.source, start, server_id, Deadline::after(OPEN_PATIENCE)).await {
        Ok(reader) => reader,
        Err(error) => return Err(stretch.explain(error.into()).await),
    };
    let events = reader.spawn(&tasks, Arc::clone(&pulse), reading.clone());
    // Ends with `stop`, or when the source stands before a place that was read already.
    let watched = stop.child_token();
    let found_anew = Arc::new(OnceLock::new());
    let watch = Watch {
        identity: opened.source.identity.clone(),
        shared: Arc::clone(&shared),
        found_anew: Arc::clone(&found_anew),
        halt: watched.clone(),
    };
    tasks.spawn(ask_source(config.source.clone(), Arc::clone(&pulse), watch, reading.clone()));

    let (committed_sender, committed) = mpsc::unbounded_channel();
    let count = usize::try_from(config.replicate_lanes.clamp(1, 64)).unwrap_or(1);
    let limits = Limits {
        group_transactions: usize::try_from(config.replicate_batch.max(1)).unwrap_or(usize::MAX),
        group_bytes: GROUP_BYTES,
    };
    let mut lanes = Vec::with_capacity(count);
    let mut running: JoinSet<Result<(), replicate::Error>> = JoinSet::new();
    for index in 0..count {
        let session =
            LaneSession::open(&opened.ledger, &format!("apply{index}"), Deadline::after(OPEN_PATIENCE)).await?;
        let (sender, items) = mpsc::unbounded_channel();
        lanes.push(sender);
        let lane = Lane::new(index, session, items, Arc::clone(&shared), committed_sender.clone(), limits);
        running.spawn(lane.run(aborting.clone()));
    }
    drop(committed_sender);

    let file = resume.low_water.position.binlog.file.clone();
    let second_reading = SecondReading {
        source: config.source.clone(),
        server_id: second_replica_id(opened.ledger.id(), opened.source.server_id),
        source_identity: opened.source.identity.clone(),
    };
    let applier = Applier {
        filter: Arc::clone(&opened.filter),
        router: Arc::clone(&opened.router),
        sides: Arc::clone(&opened.sides),
        facts: opened.facts.clone(),
        catalogue,
        targets: TargetTables::new(opened.sides.target.clone()),
        floors: floors(&opened.found),
        control: opened.control,
        shared,
        lanes,
        committed,
        limits: memory,
        pulse: Arc::clone(&pulse),
        inherited: Inherited::new(resume.applied),
        parts_applied: resume.low_water.parts,
        prepared: Prepared::new(second_reading, std::mem::take(&mut opened.found.prepared)),
        state: State::new(count, &file),
    };
    let driving = drive(applier, events, running, &pulse, progress_of_run, &watched, config, &aborting);
    let outcome = Box::pin(driving).await;
    reading.cancel();
    tasks.close();
    tasks.wait().await;
    match outcome {
        Err(Error::Stopped | Error::Replicate(replicate::Error::Stopped)) if let Some(why) = found_anew.get() => {
            Err(Error::LogBegunAnew { why: why.clone() })
        }
        Err(error) => Err(stretch.explain(error).await),
        ended => ended,
    }
}

/// Compares the ledger's position with what the source has.
async fn check_log(opened: &Opened, config: &SubtaskConfig, low_water: &LowWater) -> Result<Way, Error> {
    let deadline = Deadline::after(OPEN_PATIENCE);
    let log = SourceLog::read(&config.source, &low_water.position, deadline).await?;
    let stored = Stored {
        position: &low_water.position,
        identity: &opened.found.source_identity,
        by_gtid: config.enable_gtid,
        is_consistent: low_water.number > 0 || config.mode.copies(),
    };
    judge(stored, &log)
}

/// The stretch of the log that a run reads: what is needed to say why the source does not send it.
struct Stretch {
    source: Endpoint,
    identity: String,
    by_gtid: bool,
    server_id: u32,
    shared: Arc<Shared>,
}

impl Stretch {
    fn of(opened: &Opened, config: &SubtaskConfig, server_id: u32, shared: Arc<Shared>) -> Self {
        Self {
            source: config.source.clone(),
            identity: opened.found.source_identity.clone(),
            by_gtid: config.enable_gtid,
            server_id,
            shared,
        }
    }

    /// The source has one number for every end of a stream; so it is looked at for what happened.
    async fn explain(&self, error: Error) -> Error {
        let cause = match error {
            Error::Replicate(replicate::Error::Source { cause, .. }) if is_clash(&cause) => {
                return Error::ServerIdTaken { server_id: self.server_id, cause };
            }
            Error::Replicate(replicate::Error::Source { cause, .. })
                if cause.server_code() == Some(FATAL_OF_STREAM) =>
            {
                cause
            }
            other => return other,
        };
        let position = self.shared.low_water().position;
        let deadline = Deadline::after(OPEN_PATIENCE);
        let log = match SourceLog::read(&self.source, &position, deadline).await {
            Ok(log) => log,
            // What the stream ended with says more than that nobody answers now.
            Err(_) => {
                let why = format!("the source does not send its binlog from {position}");
                return Error::BinlogGone { why, cause: Some(cause) };
            }
        };
        let stored =
            Stored { position: &position, identity: &self.identity, by_gtid: self.by_gtid, is_consistent: true };
        match judge(stored, &log) {
            Err(explained) => explained,
            Ok(_) => {
                let present = log.describe();
                let why = format!("the source does not send its binlog from {position}; it has {present}");
                Error::BinlogGone { why, cause: Some(cause) }
            }
        }
    }
}

/// MariaDB's number for a stream that was ended for another reader of the same id.
const SAME_ID: u16 = 4052;

/// Whether the stream was ended for another reader of the same id. MySQL has no number for it: its number stands for
/// all ends of streams, and only the words tell this one.
fn is_clash(error: &crate::mysql::Error) -> bool {
    match &error.kind {
        ErrorKind::Server { code: SAME_ID, .. } => true,
        ErrorKind::Server { code: FATAL_OF_STREAM, message, .. } => message.contains("same server_uuid/server_id"),
        _ => false,
    }
}

/// Runs the applier and the lanes; the first error of any of them is the run's.
#[expect(clippy::too_many_arguments, reason = "the stages, which have no name together")]
async fn drive(
    applier: Applier,
    events: mpsc::Receiver<Result<reader::Placed, replicate::Error>>,
    mut lanes: JoinSet<Result<(), replicate::Error>>,
    pulse: &Arc<Pulse>,
    progress: &Arc<Progress>,
    stop: &CancellationToken,
    config: &SubtaskConfig,
    aborting: &CancellationToken,
) -> Result<(), Error> {
    let halt = stop.child_token();
    let shared = Arc::clone(&applier.shared);
    let applying = applier.run(events, halt.clone());
    tokio::pin!(applying);
    let mut publish = tokio::time::interval(Duration::from_millis(250));
    let mut lane_error = None;
    let (mut applier, outcome) = loop {
        tokio::select! {
            done = &mut applying => break done,
            Some(joined) = lanes.join_next(), if lane_error.is_none() => {
                let outcome = joined.unwrap_or_else(|error| Err(replicate::Error::Statement {
                    statement: String::new(),
                    position: String::new(),
                    why: format!("a lane ended in a panic: {error}"),
                }));
                lane_error = Some(outcome.err().unwrap_or(replicate::Error::Stopped));
                halt.cancel();
            }
            _ = publish.tick() => publish_progress(pulse, &shared, progress),
        }
    };
    // Closing the lanes' channels lets them finish what they have.
    applier.lanes.clear();
    // What stands before an error of the source's log is applied all the same: an operator then finds the target as it
    // was at the error's position.
    let target_failed = matches!(&outcome, Err(replicate::Error::Ledger(_) | replicate::Error::Target { .. }));
    if lane_error.is_some() || target_failed {
        aborting.cancel();
    }
    let grace = Deadline::after(Duration::from_secs(u64::from(config.stop_grace_s)));
    let mut error = lane_error.or(outcome.err());
    loop {
        match timeout_at(grace.instant(), lanes.join_next()).await {
            Ok(Some(Ok(Err(failed)))) => error = prefer(error, failed),
            Ok(Some(Err(panic))) => return Err(Error::Internal(panic.to_string())),
            Ok(Some(Ok(Ok(())))) => {}
            Ok(None) => break,
            Err(_) => {
                aborting.cancel();
                break;
            }
        }
    }
    publish_progress(pulse, &shared, progress);
    if let Some(error) = error {
        // The other reader may be the run of another process that has taken the target over.
        if let replicate::Error::Source { cause, .. } = &error
            && is_clash(cause)
        {
            applier.control.check(Deadline::after(ASK_PATIENCE)).await?;
        }
        return Err(error.into());
    }
    FaultPoint::BeforeLastLowWater.reach();
    applier.record_low_water().await?;
    publish_progress(pulse, &shared, progress);
    applier.control.close(Deadline::after(Duration::from_secs(1))).await;
    Err(Error::Stopped)
}

/// An error that something followed from, before one that followed.
fn prefer(first: Option<replicate::Error>, other: replicate::Error) -> Option<replicate::Error> {
    match first {
        None | Some(replicate::Error::Stopped) => Some(other),
        first => first,
    }
}

fn publish_progress(pulse: &Pulse, shared: &Shared, progress: &Progress) {
    pulse.beat(&shared.low_water().position, shared.look(Tracker::oldest_under_way_s));
    for notice in pulse.take_notices() {
        progress.note(our_clock_us(), notice);
    }
    progress.set_sync(pulse.progress());
}

async fn settle_announced(opened: &mut Opened) -> Result<(), Error> {
    let Some(announced) = opened.found.announced.take() else { return Ok(()) };
    let applied = resume(&opened.found.lanes).map(|resume| resume.applied).unwrap_or_default();
    settle(&mut opened.control, &announced, &applied).await?;
    opened.found = opened.ledger.clone().reread(&mut opened.control, Deadline::after(OPEN_PATIENCE)).await?;
    Ok(())
}

/// The structures of the ledger's position.
fn catalogue(opened: &Opened, config: &SubtaskConfig) -> Result<Catalogue, Error> {
    let mut catalogue = Catalogue::new(config.names_ignore_case);
    let wrong = |error: crate::catalogue::CatalogueError| Error::Internal(error.to_string());
    for saved in &opened.found.structures {
        if saved.name.table.is_empty() {
            catalogue.add_database(&saved.name.schema, StoredDatabase::from_json(&saved.structure).map_err(wrong)?);
        } else {
            let shape = StoredShape::from_json(&saved.structure).map_err(wrong)?;
            catalogue.add_table(saved.name.clone(), Arc::new(shape));
        }
    }
    Ok(catalogue)
}

/// Where to ask the source to begin.
pub fn start_at(position: &SourcePosition, by_gtid: bool, flavor: Flavor) -> BinlogStart {
    match &position.gtid {
        Some(set) if by_gtid && (!set.is_empty() || flavor == Flavor::MySql) => BinlogStart::Gtid { set: set.clone() },
        _ => BinlogStart::Position { file: position.binlog.file.clone(), offset: position.binlog.offset },
    }
}

/// An id as a replica: the same for every run of a subtask, so that the source drops the dump thread of an older run,
/// and different from other tasks' and from the source's own.
pub fn server_id(opened: &Opened) -> u32 {
    replica_id(opened.ledger.id(), opened.source.server_id)
}

/// As [`server_id`], of a ledger, for a source whose own id is `of_source`.
pub fn replica_id(ledger: LedgerId, of_source: u32) -> u32 {
    replica_ids(ledger, of_source).0
}

/// The one for a stream beside the main one.
fn second_replica_id(ledger: LedgerId, of_source: u32) -> u32 {
    replica_ids(ledger, of_source).1
}

fn replica_ids(ledger: LedgerId, of_source: u32) -> (u32, u32) {
    let hash = xxhash_rust::xxh3::xxh3_64(ledger.0.as_bytes());
    let usable = |id: u32| if id == of_source || id == u32::MAX { id ^ 1 } else { id };
    let main = usable((hash as u32) | 1 << 31);
    let second = (hash >> 32) as u32 | 1 << 31;
    (main, usable(if second & !1 == main & !1 { second ^ 2 } else { second }))
}

/// What the asking of the source finds besides.
struct Watch {
    /// The server that the run was opened with. Behind an address that moves another may answer, whose places are its own.
    identity: String,
    shared: Arc<Shared>,
    /// Why the run cannot go on.
    found_anew: Arc<OnceLock<String>>,
    halt: CancellationToken,
}

impl Watch {
    /// MariaDB does not end the streams of readers when its log is begun anew: they would hear nothing for ever.
    /// `before` was read when the question was not asked yet, so the source has written it; unless that is gone.
    fn compare(&self, before: &SourcePosition, present: &SourcePosition) {
        if present.binlog.is_of_same_log(&before.binlog) && present.binlog < before.binlog {
            let why = format!(
                "the binlog of the source was begun anew (RESET): the task stands at {before}, and the source at {present}"
            );
            // Found twice is found once.
            let _ = self.found_anew.set(why);
            self.halt.cancel();
        }
    }
}

/// Asks the source where it stands, so that a status shows how much is left even while much is read. For that, an error
/// is no more than an old answer.
async fn ask_source(endpoint: Endpoint, pulse: Arc<Pulse>, watch: Watch, stop: CancellationToken) {
    let asking = async {
        let mut session: Option<Connection> = None;
        let mut is_same = false;
        loop {
            let deadline = Deadline::after(ASK_PATIENCE);
            if session.as_ref().is_none_or(|session| !session.is_open()) {
                session = Connection::open(&endpoint, Purpose::Asking, deadline).await.ok();
                is_same = match &mut session {
                    Some(connection) => identity(connection, deadline).await.is_ok_and(|found| found == watch.identity),
                    None => false,
                };
            }
            let before = watch.shared.low_water().position;
            if let Some(connection) = &mut session
                && let Ok(position) = position_of_source(connection, deadline).await
            {
                if is_same {
                    watch.compare(&before, &position);
                }
                pulse.source_stands_at(position);
            }
            tokio::time::sleep(ASK_PERIOD).await;
        }
    };
    tokio::select! {
        () = stop.cancelled() => {}
        () = asking => {}
    }
}

/// Where the source's binlog ends now.
pub async fn position_of_source(
    connection: &mut Connection,
    deadline: Deadline,
) -> Result<SourcePosition, crate::mysql::Error> {
    let doing = "asking for the position";
    let server = connection.server().clone();
    let statement = match server.flavor {
        Flavor::MySql if server.version >= 80_400 => "SHOW BINARY LOG STATUS",
        _ => "SHOW MASTER STATUS",
    };
    let row = connection.first_row(statement, doing, deadline).await?;
    let binlog = BinlogPosition::new(row.text("File")?, row.number("Position")?);
    let gtid = match server.flavor {
        Flavor::MySql => row.optional_text("Executed_Gtid_Set")?.map(|set| set.replace(['\n', ' '], "")),
        Flavor::MariaDb => {
            let sql = "SELECT @@gtid_binlog_pos AS gtid";
            connection.first_row(sql, doing, deadline).await?.optional_text("gtid")?
        }
    };
    Ok(SourcePosition { binlog, gtid: gtid.filter(|set| !set.is_empty()) })
}
