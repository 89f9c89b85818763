//! The worker's end of the link: keeps the lease, hands over what is wanted, sends what is seen.
//!
//! In: the worker's view of its own runs. Out: the wanted set, whether the master answers, and an ending. Never here:
//! opening or closing a run. The surprise: this never stops a run by itself. [`Ending::Terminated`] tells the worker to
//! do so, and then to register as a new incarnation by connecting anew.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::{Notify, watch};
use tokio::time::{Instant, sleep, timeout, timeout_at};
use tokio_util::sync::CancellationToken;

use super::message::{
    GoodbyeRequest, RegisterRequest, ReportAnswer, ReportRequest, SetVersion, Verdict, WantedRequest, WantedSet,
};
use super::{LinkError, MasterLink};
use crate::error::Chain;
use crate::faults::FaultPoint;
use crate::model::report::{RunState, SubtaskReport};
use crate::model::{Epoch, Generation, SubtaskId, WorkerName};
use crate::registry::OpenRun;

/// A call is given up this long after its answer was due.
const ANSWER_MARGIN: Duration = Duration::from_secs(2);
const RETRY_FIRST: Duration = Duration::from_millis(50);
const RETRY_LONGEST: Duration = Duration::from_secs(1);
/// The last report and the goodbye together.
const FAREWELL: Duration = Duration::from_secs(2);

#[derive(Debug, Clone)]
pub struct Identity {
    pub worker: WorkerName,
    pub address: String,
    pub capacity: u32,
}

/// What the worker says of itself. A state of a run that changed is sent at once when the change wakes the channel
/// (`send_modify`); progress may be put in silently (`send_if_modified` answering false) and goes with the next beat.
#[derive(Debug, Clone, Default)]
pub struct WorkerView {
    /// The set that was acted on: every run that it wants gone is closed, every run it asks for is in `runs`.
    pub applied: SetVersion,
    /// All subtasks of that set that were ever opened here, closed ones included, and runs that are still closing.
    /// `reported_at_us` must differ whenever anything else does.
    pub runs: BTreeMap<SubtaskId, SubtaskReport>,
}

/// How the link ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// The worker asked for it, and the master was told (or could not be told in time).
    Stopped,
    /// The master takes this incarnation for lost: its runs must end at once, with no word to anybody.
    Terminated,
}

/// The worker's side of a link that is up.
pub struct Connection {
    pub worker_epoch: Epoch,
    /// None until the first set came.
    pub wanted: watch::Receiver<Option<Arc<WantedSet>>>,
    /// False: the lease ran out. What runs goes on; nothing new is opened.
    pub answered: watch::Receiver<bool>,
    pub view: watch::Sender<WorkerView>,
}

/// What keeps a [`Connection`] up; it must be driven for as long as the connection is used.
pub struct Driver {
    link: Arc<dyn MasterLink>,
    identity: Identity,
    heartbeat: Duration,
    worker_epoch: Epoch,
    /// The highest seen; answers of a lower one are not believed.
    master_epoch: watch::Sender<Epoch>,
    wanted: watch::Sender<Option<Arc<WantedSet>>>,
    answered: watch::Sender<bool>,
    view: watch::Receiver<WorkerView>,
    resync: Notify,
    /// Of the last report.
    number: AtomicU64,
}

/// Registers, trying until it works or `stop` is cancelled (None).
pub async fn connect(
    link: Arc<dyn MasterLink>,
    identity: Identity,
    heartbeat: Duration,
    stop: &CancellationToken,
) -> Option<(Connection, Driver)> {
    let request = RegisterRequest {
        worker: identity.worker.clone(),
        address: identity.address.clone(),
        capacity: identity.capacity,
    };
    let mut pause = RETRY_FIRST;
    loop {
        let call = timeout(heartbeat + ANSWER_MARGIN + ANSWER_MARGIN, link.register(request.clone()));
        let answer = tokio::select! {
            () = stop.cancelled() => return None,
            answer = call => answer.unwrap_or(Err(LinkError::Unanswered)),
        };
        match answer {
            Ok(answer) if answer.verdict == Verdict::Ok => {
                let (view_sender, view) = watch::channel(WorkerView::default());
                let (wanted, wanted_receiver) = watch::channel(None);
                let (answered, answered_receiver) = watch::channel(true);
                let worker_epoch = answer.worker_epoch;
                let master_epoch = watch::Sender::new(answer.master_epoch);
                let connection = Connection {
                    worker_epoch,
                    wanted: wanted_receiver,
                    answered: answered_receiver,
                    view: view_sender,
                };
                let driver = Driver {
                    link,
                    identity,
                    heartbeat,
                    worker_epoch,
                    master_epoch,
                    wanted,
                    answered,
                    view,
                    resync: Notify::new(),
                    number: AtomicU64::new(0),
                };
                return Some((connection, driver));
            }
            Ok(_) => {}
            Err(error) => {
                tracing::warn!(error = %Chain(&error), "cannot register with the master; trying again");
            }
        }
        tokio::select! {
            () = stop.cancelled() => return None,
            () = sleep(pause) => pause = (pause * 2).min(RETRY_LONGEST),
        }
    }
}

impl Driver {
    /// Runs until `stop` is cancelled, which the worker does once its runs are closed, or until the master ends it.
    pub async fn run(self, stop: CancellationToken) -> Ending {
        tokio::select! {
            () = stop.cancelled() => {}
            () = self.keep_wanted() => return Ending::Terminated,
            () = self.keep_reporting() => return Ending::Terminated,
        }
        if timeout(FAREWELL, self.say_goodbye()).await.is_err() {
            tracing::warn!(worker.name = %self.identity.worker, "the master did not take the goodbye in time");
        }
        Ending::Stopped
    }

    /// Returns when the master says to end.
    async fn keep_wanted(&self) {
        let mut pause = RETRY_FIRST;
        let mut lease_ends = Instant::now() + self.heartbeat + ANSWER_MARGIN;
        loop {
            let sent = Instant::now();
            let call = timeout(self.heartbeat + ANSWER_MARGIN, self.link.wanted(self.wanted_request()));
            tokio::pin!(call);
            // The lease may run out while the call is out.
            let answer = match timeout_at(lease_ends, &mut call).await {
                Ok(answer) => answer,
                Err(_) => {
                    self.set_answered(false);
                    call.await
                }
            };
            match answer {
                Ok(Ok(answer)) if !self.believes(answer.verdict, answer.master_epoch) => {}
                Ok(Ok(answer)) => match answer.verdict {
                    Verdict::Ok | Verdict::Resync => {
                        if answer.verdict == Verdict::Resync {
                            self.resync.notify_one();
                        }
                        lease_ends = sent + Duration::from_millis(u64::from(answer.lease_ms));
                        self.set_answered(Instant::now() < lease_ends);
                        let silent = answer.wanted.is_none();
                        if let Some(set) = answer.wanted {
                            self.wanted.send_replace(Some(Arc::new(set)));
                        }
                        pause = RETRY_FIRST;
                        // An answer that came at once and with nothing (a resync that is not yet done) is not asked
                        // for again in a tight circle.
                        if silent && sent.elapsed() < RETRY_FIRST {
                            sleep(RETRY_FIRST).await;
                        }
                        continue;
                    }
                    Verdict::Terminate | Verdict::Register => return,
                    Verdict::NotLeader => {}
                },
                Ok(Err(error)) => tracing::warn!(error = %Chain(&error), "asking the master failed; trying again"),
                Err(_) => tracing::warn!("the master did not answer in time; asking again"),
            }
            let next = Instant::now() + pause;
            if next >= lease_ends {
                self.set_answered(false);
            }
            tokio::time::sleep_until(next).await;
            pause = (pause * 2).min(RETRY_LONGEST);
        }
    }

    fn wanted_request(&self) -> WantedRequest {
        WantedRequest {
            worker: self.identity.worker.clone(),
            worker_epoch: self.worker_epoch,
            master_epoch: *self.master_epoch.borrow(),
            has: self.wanted.borrow().as_ref().map(|set| set.version).unwrap_or_default(),
            hold_ms: u32::try_from(self.heartbeat.as_millis()).unwrap_or(u32::MAX),
        }
    }

    /// An answer of a master that was replaced is not believed; one of its successor is taken up.
    fn believes(&self, verdict: Verdict, master_epoch: Epoch) -> bool {
        if verdict == Verdict::NotLeader {
            return true;
        }
        self.master_epoch.send_if_modified(|known| {
            let newer = master_epoch > *known;
            if newer {
                *known = master_epoch;
            }
            newer
        });
        master_epoch >= *self.master_epoch.borrow()
    }

    fn set_answered(&self, answered: bool) {
        let changed = self.answered.send_if_modified(|known| std::mem::replace(known, answered) != answered);
        if changed && !answered {
            tracing::warn!(worker.name = %self.identity.worker, "the master is silent; nothing new is opened");
        }
    }

    /// Returns when the master says to end.
    async fn keep_reporting(&self) {
        let mut reporter = Reporter::default();
        let mut view = self.view.clone();
        let mut pause = RETRY_FIRST;
        loop {
            view.borrow_and_update();
            match self.send_report(&mut reporter).await {
                Some(Verdict::Terminate | Verdict::Register) => return,
                Some(Verdict::Ok) => pause = RETRY_FIRST,
                // Not taken: said again in full, soon.
                Some(Verdict::Resync | Verdict::NotLeader) | None => {
                    reporter.forget();
                    sleep(pause).await;
                    pause = (pause * 2).min(RETRY_LONGEST);
                    continue;
                }
            }
            tokio::select! {
                changed = view.changed() => {
                    if changed.is_err() {
                        // The worker dropped its end; there is no more news, but the lease is kept until it stops.
                        sleep(self.heartbeat).await;
                    }
                }
                () = self.resync.notified() => reporter.forget(),
                () = sleep(self.heartbeat) => {}
            }
        }
    }

    /// None: not answered, or by a master that was replaced.
    async fn send_report(&self, reporter: &mut Reporter) -> Option<Verdict> {
        let view = self.view.borrow().clone();
        let (full, news) = reporter.next(&view);
        let sent: Vec<(SubtaskId, Mark)> = news.iter().map(|report| (report.id.clone(), Mark::of(report))).collect();
        let request = ReportRequest {
            worker: self.identity.worker.clone(),
            worker_epoch: self.worker_epoch,
            master_epoch: *self.master_epoch.borrow(),
            number: self.number.fetch_add(1, Ordering::Relaxed) + 1,
            applied: view.applied,
            open_runs: open_runs(&view),
            subtasks: news,
            full,
        };
        FaultPoint::BeforeReport.reach();
        match timeout(ANSWER_MARGIN, self.link.report(request)).await {
            Ok(Ok(ReportAnswer { verdict, master_epoch })) if self.believes(verdict, master_epoch) => {
                if verdict == Verdict::Ok {
                    reporter.taken(full, sent, &view);
                }
                Some(verdict)
            }
            Ok(Ok(_)) => None,
            Ok(Err(error)) => {
                tracing::warn!(error = %Chain(&error), "reporting to the master failed; trying again");
                None
            }
            Err(_) => {
                tracing::warn!("the master did not take a report in time; sending it again");
                None
            }
        }
    }

    async fn say_goodbye(&self) {
        self.send_report(&mut Reporter::default()).await;
        let request = GoodbyeRequest { worker: self.identity.worker.clone(), worker_epoch: self.worker_epoch };
        if let Err(error) = self.link.goodbye(request).await {
            tracing::warn!(error = %Chain(&error), "the master did not take the goodbye");
        }
    }
}

fn open_runs(view: &WorkerView) -> Vec<OpenRun> {
    let open = view.runs.values().filter(|report| report.state != RunState::Closed);
    open.map(|report| OpenRun { id: report.id.clone(), generation: report.generation }).collect()
}

/// By what a report is told from the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Mark {
    generation: Generation,
    state: RunState,
    reported_at_us: i64,
}

impl Mark {
    fn of(report: &SubtaskReport) -> Self {
        Self { generation: report.generation, state: report.state, reported_at_us: report.reported_at_us }
    }
}

/// Remembers what the master has of each run.
#[derive(Default)]
struct Reporter {
    has_all: bool,
    taken: BTreeMap<SubtaskId, Mark>,
}

impl Reporter {
    /// Gives whether the next report is full, and what is in it.
    fn next(&self, view: &WorkerView) -> (bool, Vec<SubtaskReport>) {
        let is_new = |report: &&SubtaskReport| self.taken.get(&report.id) != Some(&Mark::of(report));
        let news = view.runs.values().filter(|report| !self.has_all || is_new(report)).cloned().collect();
        (!self.has_all, news)
    }

    fn taken(&mut self, full: bool, sent: Vec<(SubtaskId, Mark)>, view: &WorkerView) {
        if full {
            self.taken.clear();
            self.has_all = true;
        }
        self.taken.extend(sent);
        // What left the view is not kept for ever.
        self.taken.retain(|id, _| view.runs.contains_key(id));
    }

    fn forget(&mut self) {
        self.has_all = false;
    }
}
