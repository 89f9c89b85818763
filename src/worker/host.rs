//! The loop that owns the runs. It compares what is wanted with what runs, feeds the machines, and tells the link
//! what is seen. Opening, closing and everything that speaks to a server happens in the runs' own tasks.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::task::{JoinError, JoinSet};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::error::Error;
use super::opening::our_clock_us;
use super::progress::Progress;
use super::run::{Action, CloseLimits, Event, Machine, RunState};
use super::subtask::{RunContext, Stage, run};
use super::verdict;
use crate::link::client::{Connection, WorkerView};
use crate::link::{SetVersion, WantedSet};
use crate::model::report::{ErrorReport, Outcome, SubtaskReport};
use crate::model::subtask::{Wanted, WantedSubtask};
use crate::model::{Generation, LedgerId, SubtaskId};
use crate::replicate::applier::MemoryLimits;

#[derive(Debug, Clone)]
pub struct WorkerSettings {
    pub memory: MemoryLimits,
    pub close: CloseLimits,
    /// How long opening a run may take.
    pub open_patience: Duration,
}

impl Default for WorkerSettings {
    fn default() -> Self {
        Self {
            memory: MemoryLimits { under_way_bytes: 64 << 20, transaction_bytes: 16 << 20 },
            close: CloseLimits::default(),
            open_patience: Duration::from_secs(60),
        }
    }
}

/// How often deadlines are looked at and progress is put into the view.
const TICK: Duration = Duration::from_millis(200);

/// A subtask as this worker knows it.
struct Slot {
    machine: Machine,
    /// Another one under the same id is another task: its predecessor was deleted.
    ledger_id: LedgerId,
    /// The generation of the last run that was opened here.
    generation: Generation,
    run: Option<Running>,
    outcome: Outcome,
    error: Option<ErrorReport>,
    progress: Arc<Progress>,
}

struct Running {
    generation: Generation,
    stop: CancellationToken,
    task: tokio::task::AbortHandle,
}

/// A run's message, with the generation it belongs to.
enum Message {
    Stage(SubtaskId, Generation, Stage),
}

type Ended = (SubtaskId, Generation, Result<(), Error>);

/// Owns the runs of one incarnation of a worker.
pub struct Worker {
    settings: WorkerSettings,
    slots: BTreeMap<SubtaskId, Slot>,
    wanted: HashMap<SubtaskId, WantedSubtask>,
    applied: SetVersion,
    runs: JoinSet<Ended>,
    /// Which subtask a task belongs to, for those that end in a panic.
    owners: HashMap<tokio::task::Id, (SubtaskId, Generation)>,
    messages: mpsc::UnboundedReceiver<Message>,
    sender: mpsc::UnboundedSender<Message>,
    reaped: u64,
}

impl Worker {
    pub fn new(settings: WorkerSettings) -> Self {
        let (sender, messages) = mpsc::unbounded_channel();
        Self {
            settings,
            slots: BTreeMap::new(),
            wanted: HashMap::new(),
            applied: SetVersion::default(),
            runs: JoinSet::new(),
            owners: HashMap::new(),
            messages,
            sender,
            reaped: 0,
        }
    }

    /// Runs until `stop`, then closes all runs within their limits. `terminated`: the master takes this incarnation
    /// for lost, and everything is dropped at once.
    pub async fn run(mut self, link: &mut Connection, stop: CancellationToken, terminated: CancellationToken) {
        let mut wanted = link.wanted.clone();
        let answered = link.answered.clone();
        let mut tick = tokio::time::interval(TICK);
        tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut stopping = false;
        loop {
            tokio::select! {
                biased;
                () = terminated.cancelled() => {
                    self.runs.abort_all();
                    return;
                }
                () = stop.cancelled(), if !stopping => {
                    stopping = true;
                    self.wanted.clear();
                    self.close_unwanted();
                }
                changed = wanted.changed(), if !stopping => match changed {
                    Ok(()) => self.take_wanted(&mut wanted),
                    // The driver of the link is gone: nothing new will come.
                    Err(_) => { stopping = true; self.wanted.clear(); self.close_unwanted(); }
                },
                Some(message) = self.messages.recv() => self.take_message(message),
                Some(ended) = self.runs.join_next_with_id() => self.take_end(ended),
                _ = tick.tick() => self.look_at_time(),
            }
            if !stopping {
                self.forget_closed();
            }
            if !stopping && *answered.borrow() {
                self.open_wanted();
            }
            self.publish(&link.view);
            if stopping && self.slots.values().all(|slot| slot.machine.state() == RunState::Closed) {
                return;
            }
        }
    }

    fn take_wanted(&mut self, wanted: &mut watch::Receiver<Option<Arc<WantedSet>>>) {
        let Some(set) = wanted.borrow_and_update().clone() else { return };
        self.applied = set.version;
        self.wanted = set.subtasks.iter().map(|subtask| (subtask.id.clone(), subtask.clone())).collect();
        self.close_unwanted();
        self.forget_closed();
    }

    /// A closed run whose subtask is gone says nothing about a later one of the same name.
    fn forget_closed(&mut self) {
        let wanted = &self.wanted;
        let is_wanted = |id: &SubtaskId, slot: &Slot| {
            wanted.get(id).is_some_and(|subtask| subtask.config.ledger_id == slot.ledger_id)
        };
        self.slots.retain(|id, slot| slot.machine.state() != RunState::Closed || is_wanted(id, slot));
    }

    /// Closes runs that are not wanted, or are wanted under another generation.
    fn close_unwanted(&mut self) {
        let now = Instant::now();
        for (id, slot) in &mut self.slots {
            let Some(running) = &slot.run else { continue };
            let still_wanted = self.wanted.get(id).is_some_and(|subtask| {
                subtask.wanted == Wanted::Running
                    && subtask.generation == running.generation
                    && subtask.config.ledger_id == slot.ledger_id
            });
            if !still_wanted && slot.machine.on(Event::Close, now) == Action::Stop {
                running.stop.cancel();
            }
        }
    }

    fn open_wanted(&mut self) {
        let wanted: Vec<WantedSubtask> = self
            .wanted
            .values()
            .filter(|subtask| subtask.wanted == Wanted::Running)
            .filter(|subtask| match self.slots.get(&subtask.id) {
                None => true,
                Some(slot) => slot.machine.state() == RunState::Closed && slot.generation < subtask.generation,
            })
            .cloned()
            .collect();
        for subtask in wanted {
            self.open(subtask);
        }
    }

    fn open(&mut self, subtask: WantedSubtask) {
        let WantedSubtask { id, generation, config, .. } = subtask;
        let limits = self.settings.close;
        let slot = self.slots.entry(id.clone()).or_insert_with(|| Slot {
            machine: Machine::new(limits),
            ledger_id: config.ledger_id,
            generation: Generation(0),
            run: None,
            outcome: Outcome::NeverRun,
            error: None,
            progress: Arc::default(),
        });
        if slot.machine.on(Event::Open, Instant::now()) != Action::Spawn {
            return;
        }
        slot.generation = generation;
        slot.progress = Arc::default();
        let stop = CancellationToken::new();
        let (stages, mut stage_receiver) = mpsc::unbounded_channel();
        let context = RunContext {
            id: id.clone(),
            generation,
            config,
            memory: self.settings.memory,
            stop: stop.clone(),
            progress: Arc::clone(&slot.progress),
            stages,
            open_patience: self.settings.open_patience,
        };
        tracing::info!(task.name = %id.task, source.name = %id.source, %generation, "opening {id}");
        let sender = self.sender.clone();
        let owner = id.clone();
        let task = self.runs.spawn(async move {
            let running = run(context);
            tokio::pin!(running);
            loop {
                tokio::select! {
                    outcome = &mut running => return (owner, generation, outcome),
                    Some(stage) = stage_receiver.recv() => {
                        // The loop that listens ends after its runs.
                        let _ = sender.send(Message::Stage(owner.clone(), generation, stage));
                    }
                }
            }
        });
        self.owners.insert(task.id(), (id, generation));
        slot.run = Some(Running { generation, stop, task });
    }

    fn take_message(&mut self, message: Message) {
        let Message::Stage(id, generation, stage) = message;
        let Some(slot) = self.slots.get_mut(&id) else { return };
        if slot.run.as_ref().is_none_or(|running| running.generation != generation) {
            return;
        }
        let event = match stage {
            Stage::Ready => Event::Ready,
            Stage::Ending => Event::Ending,
        };
        slot.machine.on(event, Instant::now());
    }

    fn take_end(&mut self, ended: Result<(tokio::task::Id, Ended), JoinError>) {
        let (id, generation, outcome) = match ended {
            Ok((task, ended)) => {
                self.owners.remove(&task);
                ended
            }
            Err(error) => {
                let Some((id, generation)) = self.owners.remove(&error.id()) else { return };
                let outcome = if error.is_cancelled() {
                    Err(Error::Stopped)
                } else {
                    Err(Error::Internal(format!("a run ended in a panic: {error}")))
                };
                (id, generation, outcome)
            }
        };
        let Some(slot) = self.slots.get_mut(&id) else { return };
        if slot.run.as_ref().is_none_or(|running| running.generation != generation) {
            return;
        }
        slot.run = None;
        slot.machine.on(Event::Closed, Instant::now());
        match outcome {
            Ok(()) => {
                tracing::info!(task.name = %id.task, source.name = %id.source, "{id} is finished");
                slot.outcome = Outcome::Finished;
                slot.error = None;
            }
            Err(error) => match verdict::report(&error, our_clock_us()) {
                None => {
                    tracing::info!(task.name = %id.task, source.name = %id.source, "{id} is stopped");
                    slot.outcome = Outcome::Stopped;
                    slot.error = None;
                }
                Some(report) => {
                    tracing::error!(
                        task.name = %id.task, source.name = %id.source, %generation,
                        "{id} failed: {}", report.fault
                    );
                    slot.outcome = Outcome::Failed;
                    slot.error = Some(report);
                }
            },
        }
    }

    fn look_at_time(&mut self) {
        let now = Instant::now();
        for (id, slot) in &mut self.slots {
            match slot.machine.tick(now) {
                Action::Abort => {
                    tracing::warn!(task.name = %id.task, source.name = %id.source, "{id} did not stop in time; dropping what is in flight");
                    if let Some(running) = &slot.run {
                        running.task.abort();
                    }
                }
                Action::Reap => {
                    tracing::error!(task.name = %id.task, source.name = %id.source, "{id} did not close; it is left to itself");
                    self.reaped += 1;
                    slot.run = None;
                    slot.outcome = Outcome::Stopped;
                }
                _ => {}
            }
        }
    }

    /// Puts what is seen into the view. A change of state wakes the link; progress goes with the next beat.
    fn publish(&self, view: &watch::Sender<WorkerView>) {
        let now_us = our_clock_us();
        view.send_if_modified(|view| {
            let changed_state = view.applied != self.applied
                || view.runs.len() != self.slots.len()
                || self.slots.iter().any(|(id, slot)| {
                    view.runs.get(id).is_none_or(|report| {
                        report.state != slot.machine.state() || report.generation != slot.generation
                    })
                });
            view.applied = self.applied;
            view.runs = self.slots.iter().map(|(id, slot)| (id.clone(), report(id, slot, now_us))).collect();
            changed_state
        });
    }
}

fn report(id: &SubtaskId, slot: &Slot, now_us: i64) -> SubtaskReport {
    let state = slot.machine.state();
    SubtaskReport {
        id: id.clone(),
        ledger_id: slot.ledger_id,
        generation: slot.generation,
        state,
        outcome: (state == RunState::Closed).then(|| slot.outcome.clone()),
        unit: slot.progress.unit(),
        load: Some(slot.progress.load()).filter(|load| load.total_tables > 0 || load.done),
        sync: slot.progress.sync(),
        error: slot.error.clone(),
        notices: slot.progress.notices(),
        reported_at_us: now_us,
    }
}
