//! The states of a subtask's run on a worker, and the moves between them. Pure.
//!
//! The loop that owns the runs never awaits an open or a close: it feeds events to this machine and does what it
//! answers. Results of an older generation never get here; the owner drops them.

use std::time::Duration;

use tokio::time::Instant;

pub use crate::model::report::RunState;

/// What can happen to a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// It is wanted under a generation that was not used here yet, and the master answers.
    Open,
    /// Connections are open and the target is taken over.
    Ready,
    /// It met an error, or has done all of its work: it is closing by itself.
    Ending,
    /// It is not wanted any more, or under another generation.
    Close,
    /// Everything of it is gone.
    Closed,
}

/// What the owner has to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    None,
    /// Spawn the run's task.
    Spawn,
    /// Ask it to stop: finish what is in flight.
    Stop,
    /// Make it stop: drop what is in flight.
    Abort,
    /// Give it up: the handle goes to the reaper, and the run counts as closed.
    Reap,
}

/// How long closing may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CloseLimits {
    /// After this an asked stop becomes an abort.
    pub graceful: Duration,
    /// After this the handle is given up.
    pub total: Duration,
}

impl Default for CloseLimits {
    fn default() -> Self {
        Self { graceful: Duration::from_secs(10), total: Duration::from_secs(20) }
    }
}

/// One run.
#[derive(Debug)]
pub struct Machine {
    state: RunState,
    limits: CloseLimits,
    /// When closing began.
    closing_since: Option<Instant>,
    aborted: bool,
}

impl Machine {
    pub fn new(limits: CloseLimits) -> Self {
        Self { state: RunState::Closed, limits, closing_since: None, aborted: false }
    }

    pub fn state(&self) -> RunState {
        self.state
    }

    /// The whole state machine, in one place.
    pub fn may_become(from: RunState, to: RunState) -> bool {
        use RunState::{Closed, Closing, Initializing, Running};
        matches!(
            (from, to),
            (Closed, Initializing)
                | (Initializing, Running | Closing | Closed)
                | (Running, Closing | Closed)
                | (Closing, Closed)
        )
    }

    /// Takes an event at a time.
    pub fn on(&mut self, event: Event, now: Instant) -> Action {
        use RunState::{Closed, Closing, Initializing, Running};
        let (next, action) = match (self.state, event) {
            (Closed, Event::Open) => (Initializing, Action::Spawn),
            (Initializing, Event::Ready) => (Running, Action::None),
            (Initializing | Running, Event::Close) => (Closing, Action::Stop),
            (Initializing | Running, Event::Ending) => (Closing, Action::None),
            (Initializing | Running | Closing, Event::Closed) => (Closed, Action::None),
            // Only the intent changes, and that is the owner's.
            (state, _) => (state, Action::None),
        };
        self.become_state(next, now);
        action
    }

    /// Looks at the time: closing has two deadlines.
    pub fn tick(&mut self, now: Instant) -> Action {
        let Some(since) = self.closing_since else { return Action::None };
        let elapsed = now.saturating_duration_since(since);
        if elapsed >= self.limits.total {
            self.become_state(RunState::Closed, now);
            return Action::Reap;
        }
        if elapsed >= self.limits.graceful && !std::mem::replace(&mut self.aborted, true) {
            return Action::Abort;
        }
        Action::None
    }

    fn become_state(&mut self, next: RunState, now: Instant) {
        if next == self.state {
            return;
        }
        debug_assert!(Self::may_become(self.state, next), "{:?} may not become {next:?}", self.state);
        self.state = next;
        self.closing_since = (next == RunState::Closing).then_some(now);
        self.aborted = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine_in(state: RunState, now: Instant) -> Machine {
        let mut machine = Machine::new(CloseLimits::default());
        let events: &[Event] = match state {
            RunState::Closed => &[],
            RunState::Initializing => &[Event::Open],
            RunState::Running => &[Event::Open, Event::Ready],
            RunState::Closing => &[Event::Open, Event::Close],
        };
        for event in events {
            machine.on(*event, now);
        }
        assert_eq!(machine.state(), state);
        machine
    }

    #[test]
    fn every_event_in_every_state_has_its_answer() {
        use Event::{Close, Closed as IsClosed, Ending, Open, Ready};
        use RunState::{Closed, Closing, Initializing, Running};
        let now = Instant::now();
        for (state, event, next, action) in [
            (Closed, Open, Initializing, Action::Spawn),
            (Closed, Ready, Closed, Action::None),
            (Closed, Ending, Closed, Action::None),
            (Closed, Close, Closed, Action::None),
            (Closed, IsClosed, Closed, Action::None),
            (Initializing, Open, Initializing, Action::None),
            (Initializing, Ready, Running, Action::None),
            (Initializing, Ending, Closing, Action::None),
            (Initializing, Close, Closing, Action::Stop),
            (Initializing, IsClosed, Closed, Action::None),
            (Running, Open, Running, Action::None),
            (Running, Ready, Running, Action::None),
            (Running, Ending, Closing, Action::None),
            (Running, Close, Closing, Action::Stop),
            (Running, IsClosed, Closed, Action::None),
            (Closing, Open, Closing, Action::None),
            (Closing, Ready, Closing, Action::None),
            (Closing, Ending, Closing, Action::None),
            (Closing, Close, Closing, Action::None),
            (Closing, IsClosed, Closed, Action::None),
        ] {
            let mut machine = machine_in(state, now);
            assert_eq!(machine.on(event, now), action, "{state:?} {event:?}");
            assert_eq!(machine.state(), next, "{state:?} {event:?}");
        }
    }

    #[test]
    fn closing_is_aborted_once_and_then_given_up() {
        let now = Instant::now();
        let mut machine = machine_in(RunState::Closing, now);
        assert_eq!(machine.tick(now + Duration::from_secs(9)), Action::None);
        assert_eq!(machine.tick(now + Duration::from_secs(10)), Action::Abort);
        assert_eq!(machine.tick(now + Duration::from_secs(11)), Action::None);
        assert_eq!(machine.tick(now + Duration::from_secs(20)), Action::Reap);
        assert_eq!(machine.state(), RunState::Closed);
        assert_eq!(machine.tick(now + Duration::from_secs(99)), Action::None);
    }
}
