//! Named places where a crash hurts most, so that a test can crash there and look at what is left.
//!
//! In: the variable `FAILPOINTS`, read once at start. Out: nothing, or the end of the process. Without the feature
//! `failpoints` a point is no code at all; no shipped build has it. The surprise: a point may also *stop* the process
//! (SIGSTOP), which is how a takeover of a frozen run is tried at an exact place.
//!
//! `FAILPOINTS='before-lane-commit=20*off->return(kill)'` lets a point pass 20 times and then kills the process;
//! `return(stop)` freezes it. Several points are separated by `;`.

/// In a build that can be killed at points, a copy goes in small steps: a table of some thousand rows then has several
/// ranges, and each range several batches, as large tables have.
pub const SMALL_STEPS: bool = cfg!(feature = "failpoints");

/// Makes the enum, its names and the list of all from one table.
macro_rules! fault_points {
    ($($(#[doc = $doc:literal])+ $point:ident = $name:literal,)+) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum FaultPoint {
            $($(#[doc = $doc])+ $point,)+
        }

        impl FaultPoint {
            pub const ALL: &[Self] = &[$(Self::$point,)+];

            /// As `FAILPOINTS` names it.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$point => $name,)+ }
            }

            /// What is about to happen, or just happened, there.
            pub const fn meaning(self) -> &'static str {
                match self { $(Self::$point => concat!($($doc),+),)+ }
            }
        }
    };
}

fault_points! {
    /// The run's line has the new generation; older sessions still live.
    TakeoverRaised = "takeover-raised",
    /// Older sessions are over; the lanes' lines still have the old generation.
    TakeoverOutwaited = "takeover-outwaited",
    /// All snapshot sessions are open at one position, and nothing is recorded of it.
    SnapshotOpened = "snapshot-opened",
    /// The snapshot's position is in the ledger, and no table is made.
    SnapshotRecorded = "snapshot-recorded",
    /// Tables are announced in the ledger, and not yet made in the target.
    TablesAnnounced = "tables-announced",
    /// Tables are made in the target, and the ledger does not know.
    TablesMade = "tables-made",
    /// A batch of copied rows and its line are sent, and COMMIT is not.
    BeforeBatchCommit = "before-batch-commit",
    /// A batch of copied rows is committed.
    AfterBatchCommit = "after-batch-commit",
    /// A table's rows are there, and its secondary keys are not.
    BeforeKeys = "before-keys",
    /// A table's secondary keys are made, and the ledger does not know.
    AfterKeys = "after-keys",
    /// All tables are there; the ledger still says that the copy is under way.
    BeforeCopyEnds = "before-copy-ends",
    /// The copy is recorded as ended, and replication has not begun.
    AfterCopyEnds = "after-copy-ends",
    /// A group of transactions and its line are sent, and COMMIT is not.
    BeforeLaneCommit = "before-lane-commit",
    /// A group of transactions is committed, and nobody in this process knows.
    AfterLaneCommit = "after-lane-commit",
    /// A piece of a transaction too large for memory is sent, and more of it follows.
    BetweenPieces = "between-pieces",
    /// A DDL is decided, and not announced in the ledger.
    BeforeDdlAnnounced = "before-ddl-announced",
    /// A DDL is announced in the ledger, and not run.
    BeforeDdl = "before-ddl",
    /// A DDL was run, and is not recorded.
    AfterDdl = "after-ddl",
    /// A DDL and the structures that it made are sent to the ledger in one transaction, which is committed.
    AfterDdlRecorded = "after-ddl-recorded",
    /// A structure that a passed-over statement changed is about to be saved.
    BeforeStructureSaved = "before-structure-saved",
    /// A prepared XA transaction is read, and not noted in the ledger.
    BeforePreparedNoted = "before-prepared-noted",
    /// A prepared XA transaction is noted in the ledger, and its end is not yet passed.
    AfterPreparedNoted = "after-prepared-noted",
    /// The rows of a prepared XA transaction that is committed now are about to be read again.
    BeforePreparedReadAgain = "before-prepared-read-again",
    /// All lanes are empty, and the last low-water is not written.
    BeforeLastLowWater = "before-last-low-water",
    /// A worker is about to report to the master.
    BeforeReport = "before-report",
    /// The master is about to store a change of intent.
    BeforeIntentStored = "before-intent-stored",
    /// The master has stored a change of intent, and not acted on it.
    AfterIntentStored = "after-intent-stored",
}

impl FaultPoint {
    /// Does here what `FAILPOINTS` says, if it says anything.
    #[inline]
    pub fn reach(self) {
        #[cfg(feature = "failpoints")]
        fail::fail_point!(self.name(), |action| armed::act(self, action.as_deref()));
    }
}

#[cfg(feature = "failpoints")]
pub use armed::arm;

#[cfg(feature = "failpoints")]
mod armed {
    use std::process::Command;

    use super::FaultPoint;

    /// Reads `FAILPOINTS`. Points act as long as the guard lives.
    #[must_use]
    pub fn arm() -> fail::FailScenario<'static> {
        fail::FailScenario::setup()
    }

    pub(super) fn act(point: FaultPoint, action: Option<&str>) {
        let signal = match action {
            Some("kill") => "KILL",
            Some("stop") => "STOP",
            _ => {
                tracing::error!("fault point {} does not know {action:?}", point.name());
                return;
            }
        };
        tracing::warn!("fault point {}: SIG{signal}", point.name());
        let process = std::process::id().to_string();
        // The shell's own `kill`: a small system has no other.
        let sent = Command::new("sh").args(["-c", "kill -s \"$0\" \"$1\"", signal, &process]).status();
        if !sent.is_ok_and(|status| status.success()) {
            tracing::error!("fault point {} cannot send SIG{signal}", point.name());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_point_has_a_name_of_its_own_and_is_in_the_documentation() {
        let page = include_str!("../docs/faults.md");
        let names: BTreeSet<&str> = FaultPoint::ALL.iter().map(|point| point.name()).collect();
        assert_eq!(names.len(), FaultPoint::ALL.len());
        for point in FaultPoint::ALL {
            let line = format!("| `{}` | {} |", point.name(), point.meaning().trim());
            assert!(page.contains(&line), "docs/faults.md lacks: {line}");
        }
    }

    #[cfg(not(feature = "failpoints"))]
    #[test]
    fn a_point_does_nothing_in_a_build_without_the_feature() {
        FaultPoint::ALL.iter().for_each(|point| point.reach());
    }
}
