//! Applies whole source transactions to the target, in an order the target cannot tell from the source's.
//!
//! In go a source position, the structures of then, and the ledger; rows and statements come out at the target, and
//! progress in the ledger. The stages, in the order a change passes them:
//!
//! 1. `reader` takes raw events from the source and decodes them;
//! 2. `applier` follows transactions and DDL, filters and routes, and turns rows into [`transaction`]s;
//! 3. [`schedule`] gives each to a lane, ordered by the keys it touches;
//! 4. [`lane`]s put what waits into groups ([`merge`]), and commit each group together with the lane's ledger line;
//! 5. [`low_water`] knows up to where everything is done.
//!
//! What the source has only prepared (XA) waits as a note in the ledger (`prepared`). A DDL is a barrier: all lanes are empty while `ddl` announces, runs and records it.
//! Never here: opening and closing runs, retries of a run; see the worker.

pub mod applier;
pub mod ddl;
pub mod error;
pub mod floors;
pub mod keys;
pub mod lane;
mod large;
pub mod literal;
pub mod low_water;
pub mod merge;
mod multiset;
pub mod packet;
pub mod prepared;
pub mod pulse;
mod query;
pub mod reader;
mod rows;
pub mod schedule;
pub mod shared;
pub mod sides;
pub mod statement;
pub mod table;
pub mod target;
pub mod transaction;
pub mod unlogged;
pub mod weights;

pub use error::Error;
