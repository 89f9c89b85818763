//! The API driven from outside: its documents, its answers to good and bad input, and what it asks of real servers.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on fails, and says why"
)]

mod app;
mod bodies;
mod cleanups;
mod cluster;
mod contract;
mod documents;
mod failures;
mod field;
mod fields;
mod probe;
mod refusals;
mod scene;
mod servers;
mod sources;
#[path = "../support/mod.rs"]
mod support;
mod tasks;
