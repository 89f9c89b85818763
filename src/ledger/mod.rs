//! How far a subtask has surely got, kept in the target beside the rows it speaks of.
//!
//! One ledger id for each subtask (not its name: see [`LedgerId`](crate::model::LedgerId)). In go the id, the run's
//! [`Generation`](crate::model::Generation) and what was done; out comes where to go on. Three rules make it safe:
//!
//! - Progress is written in the transaction of the rows it speaks of. A lane's line is updated `WHERE generation =`
//!   ours, and the count of matched rows is read *before* COMMIT is sent: a transaction of an older run fails inside
//!   the target.
//! - A session that may write holds a user lock named after ledger and lane, taken before anything else. Whoever
//!   takes over kills the holder and waits for the lock: having it proves that the old session, its transaction and
//!   its DDL are over ([`takeover`]).
//! - Positions are read only after a locking write to every line: a plain read could miss a COMMIT under way.
//!
//! Never here: what to copy or apply, and when. The one surprise: lines are not deleted while a run may live.

mod announced;
mod cleanup;
mod copied;
mod error;
mod prepared;
mod progress;
mod session;
mod structures;
mod tables;
mod takeover;

pub use announced::{AnnouncedDdl, Fingerprint, StructureChange};
pub use cleanup::clean;
pub use copied::{CopiedRange, CopiedTable, Origin, Snapshot, TableState};
pub use error::Error;
pub use prepared::{PreparedPlace, PreparedTransaction};
pub use progress::{AppliedSet, Inherited, LaneLine, LowWater, Resume, TransactionId, resume};
pub use session::LaneSession;
pub use structures::SavedStructure;
pub use takeover::{Found, Ledger, Phase};

/// The lane of the session that coordinates: it applies DDL, opens snapshots and writes the low-water of idle times.
pub const CONTROL_LANE: &str = "control";
