//! HTTP in, HTTP out: what users can do.
//!
//! In: requests by the contract of DM's OpenAPI v1. Out: stored intent, a woken reconciler, and answers put together
//! from stored intent and the workers' last reports. Never here: SQL, decisions about placement, waiting for a
//! database other than through `probe`, which has one deadline for each call.
//! The surprise: a success answers what is *wanted*; how far it is true is read from the status calls.

pub mod app;
mod cluster;
mod docs;
mod document;
mod duration;
mod endpoint;
mod error;
mod extract;
mod failures;
mod faults;
mod health;
mod holders;
mod layers;
mod names;
mod not_built;
mod page;
mod pretty;
mod router;
mod sources;
mod store_error;
mod tasks;
mod time;
mod waiting;

pub use app::{App, MasterIdentity};
pub use document::{Documents, documents};
pub use router::router;
