//! What the end of a run means for the next one.

use super::World;
use crate::model::record::SubtaskRecord;
use crate::model::report::{ErrorHistory, ErrorReport, Outcome, SubtaskReport, Verdict};

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

/// The report as it is to be remembered: what is not tried again says what the operator can do, and a failure that
/// follows others says how many they are.
pub(super) fn judged(world: &World, subtask: &SubtaskRecord, report: &SubtaskReport) -> SubtaskReport {
    let failed_before = subtask.failed_before(report.generation);
    let mut judged = failed_before.map_or_else(|| report.clone(), |failed| report.going_on_from(failed));
    let Some(error) = &mut judged.error else { return judged };
    if error.history.times == 0 {
        let before = failed_before.and_then(|failed| failed.error.as_ref());
        error.history = ErrorHistory {
            times: before.map_or(1, |before| before.history.times.max(1).saturating_add(1)),
            first_us: Some(before.map_or(error.at_us, |before| before.history.first_us.unwrap_or(before.at_us))),
            next_us: None,
        };
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::codes;
    use crate::model::record::{Conclusion, SubtaskSettings};
    use crate::model::report::{ErrorDetail, RunState, SyncProgress, Unit};
    use crate::model::subtask::Wanted;
    use crate::model::{Generation, LedgerId, SourceName, SubtaskId, TaskName};

    fn failed(generation: u64, at_us: i64) -> SubtaskReport {
        SubtaskReport {
            id: SubtaskId { task: TaskName::new("t"), source: SourceName::new("s") },
            ledger_id: LedgerId::new(),
            generation: Generation(generation),
            state: RunState::Closed,
            outcome: Some(Outcome::Failed),
            unit: Unit::Load,
            load: None,
            sync: None,
            error: Some(ErrorReport {
                fault: codes::DATABASE_BAD_CONNECTION.fault("cannot read the binlog"),
                verdict: Verdict::RetryLater,
                table: None,
                position: None,
                at_us,
                detail: ErrorDetail::default(),
                history: ErrorHistory::default(),
            }),
            notices: Vec::new(),
            reported_at_us: at_us,
        }
    }

    fn subtask(generation: u64, attempts: u32, before: Option<SubtaskReport>) -> SubtaskRecord {
        let report = failed(generation, 0);
        SubtaskRecord {
            id: report.id,
            revision: 1,
            wanted: Wanted::Running,
            generation: Generation(generation),
            attempts,
            ledger_id: report.ledger_id,
            ledger_kept: false,
            settings: SubtaskSettings::default(),
            conclusion: before.map(|report| Conclusion { report, ended_us: 0, worked: true }),
        }
    }

    #[test]
    fn failures_in_a_row_are_counted_and_what_was_done_before_them_is_kept() {
        let world = World::default();
        let history = |report: &SubtaskReport| report.error.as_ref().map(|error| error.history.clone()).unwrap();
        let mut first = failed(1, 10_000_000);
        (first.unit, first.sync) = (Unit::Sync, Some(SyncProgress { lag_seconds: 1, ..SyncProgress::default() }));
        let first = judged(&world, &subtask(1, 0, None), &first);
        assert_eq!((history(&first).times, history(&first).first_us), (1, Some(10_000_000)));
        let second = judged(&world, &subtask(2, 1, Some(first)), &failed(2, 15_000_000));
        assert_eq!((history(&second).times, history(&second).first_us), (2, Some(10_000_000)));
        assert_eq!((second.unit, second.sync.as_ref().map(|sync| sync.lag_seconds)), (Unit::Sync, Some(6)));
        // Looked at again, it is the same.
        let again = judged(&world, &subtask(2, 1, Some(second.clone())), &second);
        assert_eq!(history(&again), history(&second));
        // A start, or a healthy stretch, ends the row.
        let anew = judged(&world, &subtask(3, 0, Some(second)), &failed(3, 20_000_000));
        assert_eq!((history(&anew).times, history(&anew).first_us), (1, Some(20_000_000)));
    }
}
