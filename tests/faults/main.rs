//! Crashes where they hurt, and servers that fail in every way that servers do: afterwards both sides are equal, row by
//! row. `points` kills ferrymaster at each named point of `src/faults.rs`; `takeovers` freezes it there; `torture` draws one fault after the other
//! for as long as it is told to (`scripts/torture`).
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::panic,
    reason = "a test that cannot go on fails, and says why"
)]

mod disk;
mod field;
mod followed;
mod memory;
mod packets;
mod points;
mod positions;
mod prepared;
mod resumes;
mod scene;
#[path = "../support/mod.rs"]
mod support;
mod takeovers;
mod torture;
mod trial;
mod unknown;
