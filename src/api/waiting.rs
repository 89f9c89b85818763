//! Bounded waits for what a call asked for, so that the next status call shows it. They never fail: what is wanted
//! is stored, and comes true later.

use std::time::Duration;

use tokio::time::Instant;
use utoipa::IntoParams;

use super::app::App;
use super::error::{ApiError, ApiResult};
use super::extract::{FromQuery, QueryParameters};
use crate::model::change::Change;
use crate::model::report::RunState;
use crate::model::subtask::Wanted;
use crate::model::{Generation, SourceName, SubtaskId};
use crate::registry::Seen;

const DEFAULT: Duration = Duration::from_secs(2);
const LONGEST: Duration = Duration::from_secs(60);
/// How often the metastore is asked whether a source was placed.
const PLACEMENT_LOOK: Duration = Duration::from_millis(20);

/// How long a call waits for the workers.
#[derive(Debug, Clone, Copy, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct Wait {
    /// How long to wait for the workers to say so, at most `60s`; left out: `2s`.
    #[param(value_type = Option<String>, example = "2s")]
    wait: Duration,
}

impl FromQuery for Wait {
    fn from_query(parameters: &QueryParameters) -> Result<Self, ApiError> {
        Ok(Self { wait: parameters.duration("wait", LONGEST)?.unwrap_or(DEFAULT) })
    }
}

/// The state that a subtask was asked for.
#[derive(Debug, Clone)]
pub struct ExpectedStage {
    id: SubtaskId,
    wanted: Wanted,
    generation: Generation,
}

/// The states that changes ask for.
pub fn stages_of(changes: &[Change]) -> Vec<ExpectedStage> {
    changes
        .iter()
        .filter_map(|change| match change {
            Change::Want(want) => {
                Some(ExpectedStage { id: want.id.clone(), wanted: want.wanted, generation: want.generation })
            }
            _ => None,
        })
        .collect()
}

impl ExpectedStage {
    /// A run that was asked for has been reported, in whatever state; or a run that was asked to stop is closed.
    fn is_reached(&self, seen: Option<&Seen>) -> bool {
        match (self.wanted, seen) {
            (Wanted::Running, Some(seen)) => seen.report.generation >= self.generation,
            (Wanted::Running, None) => false,
            (Wanted::Stopped, Some(seen)) => seen.report.state == RunState::Closed,
            (Wanted::Stopped, None) => true,
        }
    }
}

impl App {
    /// Waits until workers report what was asked of them. Sources without a worker that is heard are not waited for.
    pub async fn wait_for_stages(&self, expected: &[ExpectedStage], wait: Wait) -> ApiResult<()> {
        if expected.is_empty() || wait.wait.is_zero() {
            return Ok(());
        }
        let deadline = Instant::now() + wait.wait;
        let assignments = self.store.assignments().await?;
        let is_held = |source: &SourceName| {
            let holder = assignments.iter().find(|assignment| &assignment.source == source);
            holder
                .and_then(|assignment| self.registry.worker(&assignment.worker))
                .is_some_and(|worker| worker.state.is_in_office())
        };
        for stage in expected.iter().filter(|stage| is_held(&stage.id.source)) {
            let remaining = deadline.saturating_duration_since(Instant::now());
            self.registry.wait_for(&stage.id, remaining, |seen| stage.is_reached(seen)).await;
        }
        Ok(())
    }

    /// Waits until the scheduler has given these sources to workers. Gives those that it has not.
    pub async fn wait_until_placed(&self, sources: &[SourceName]) -> ApiResult<Vec<SourceName>> {
        let deadline = Instant::now() + DEFAULT;
        loop {
            let assignments = self.store.assignments().await?;
            let is_placed = |source: &SourceName| assignments.iter().any(|assignment| &assignment.source == source);
            let unplaced: Vec<SourceName> = sources.iter().filter(|source| !is_placed(source)).cloned().collect();
            let nobody = self.registry.workers().iter().all(|worker| !worker.state.is_in_office());
            if unplaced.is_empty() || nobody || Instant::now() >= deadline {
                return Ok(unplaced);
            }
            tokio::time::sleep(PLACEMENT_LOOK).await;
        }
    }
}
