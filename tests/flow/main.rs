//! Whole migrations through the API, on every pair of servers: what is in the source is in the target, and stays so.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test that cannot go on fails, and says why"
)]

mod accounts;
mod cascades;
mod filters;
mod isolation;
mod keyless;
mod migration;
mod modes;
mod pairs;
mod shutdown;
mod status;
mod structures;
#[path = "../support/mod.rs"]
mod support;
