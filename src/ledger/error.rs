//! What can go wrong with a ledger.

use crate::model::{Generation, LedgerId};
use crate::mysql;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot {doing} the ledger {id}")]
    Database {
        doing: &'static str,
        id: LedgerId,
        #[source]
        cause: mysql::Error,
    },
    /// The ledger already knows this generation or a later one: the metastore is older than the target.
    #[error("the ledger {id} is at generation {ledger}, and this run has {ours}")]
    GenerationStale { id: LedgerId, ours: Generation, ledger: Generation },
    /// The same, and a session of that later run is alive: another master is at work on the subtask.
    #[error(
        "another ferrymaster runs this subtask: connection {connection} of the target holds the ledger {id}, which is at \
         generation {ledger}; this run has {ours}"
    )]
    TakenOver { id: LedgerId, ours: Generation, ledger: Generation, connection: u64 },
    /// Another run has taken over: nothing of this run may be written any more.
    #[error("another run has taken over lane {lane} of the ledger {id} from generation {ours}")]
    Superseded { id: LedgerId, lane: String, ours: Generation },
    /// An older session holds its lock although it was killed: its transaction or DDL is still being undone.
    #[error("an older session still holds lane {lane} of the ledger {id}; it was killed and is being rolled back")]
    StillHeld { id: LedgerId, lane: String },
    #[error("the ledger {id} holds something this version does not understand: {what}")]
    Unreadable { id: LedgerId, what: String },
}
