//! The API driven from outside: its documents, its answers to good and bad input, and what it asks of real servers.

#![expect(clippy::expect_used, reason = "a test that cannot be set up must fail there")]

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
