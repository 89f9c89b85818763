//! What the end of a run means for the next one.

use super::World;
use crate::model::record::SubtaskRecord;
use crate::model::report::{ErrorReport, Outcome, SubtaskReport, Verdict};

/// Whether and when a subtask that is wanted Running gets another run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// Its work is done, or an operator's turn.
    None,
    /// It was closed for no fault of its own.
    AtOnce,
    /// After the backoff.
    Later,
    /// At once, above what the ledger knows.
    Above(crate::model::Generation),
}

pub(super) fn next(report: &SubtaskReport, attempts: u32, tries: u32) -> Next {
    match (&report.outcome, &report.error) {
        // Closing without an error again and again is bounded like any other retry.
        (Some(Outcome::Stopped), _) if attempts == 0 => Next::AtOnce,
        (Some(Outcome::Stopped) | Some(Outcome::Failed), _) if attempts >= tries => Next::None,
        (Some(Outcome::Stopped), _) => Next::Later,
        (Some(Outcome::Failed), None) => Next::Later,
        (Some(Outcome::Failed), Some(ErrorReport { verdict, .. })) => match verdict {
            Verdict::RetryLater => Next::Later,
            Verdict::NeedsGenerationAbove(known) => Next::Above(*known),
            Verdict::PauseFor(_) => Next::None,
        },
        (Some(Outcome::Finished | Outcome::NeverRun) | None, _) => Next::None,
    }
}

/// The report as it is to be remembered: what is not tried again says what the operator can do.
pub(super) fn judged(world: &World, subtask: &SubtaskRecord, report: &SubtaskReport) -> SubtaskReport {
    let mut judged = report.clone();
    let Some(error) = &mut judged.error else { return judged };
    match error.verdict {
        // A run of this very process worked before, so the metastore is not an old copy: another installation has
        // taken the task over. Taking it back by itself would be a fight without an end.
        Verdict::NeedsGenerationAbove(_) if world.ran.contains_key(&subtask.id) => {
            error.verdict = Verdict::PauseFor(
                "another ferrymaster with a copy of this one's metadata has taken this task over; stop it there, \
                 then start the task here"
                    .to_owned(),
            );
        }
        Verdict::RetryLater | Verdict::NeedsGenerationAbove(_) if subtask.attempts >= world.retries.tries => {
            error.verdict = Verdict::PauseFor(format!(
                "tried again {} times without a healthy stretch; remove the cause, then start the task again",
                subtask.attempts
            ));
        }
        _ => {}
    }
    judged
}
