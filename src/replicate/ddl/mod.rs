//! DDL: what a statement of the source means for the target, and how it is applied exactly once.
//!
//! - [`environment`] reads the session a statement ran in: how to parse it, and how to set ours;
//! - [`decide`] tells what to do with it, from the statement, the catalogue and the task's rules (pure), by way of [`judge`];
//! - [`fingerprint`] reads how tables of the target stand;
//! - [`apply`] announces, runs and records it.
//!
//! A DDL commits by itself, so its ledger line cannot be in its transaction. It is announced before, with the
//! fingerprints of the tables it touches, and recorded after; a run that finds an announcement compares fingerprints.

pub mod apply;
pub mod decide;
pub mod environment;
pub mod fingerprint;
mod judge;
