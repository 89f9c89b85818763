//! The worker: takes what the master wants, and drives subtasks through their phases.
//!
//! In go wanted sets from the [link](crate::link); out come runs, and what is seen of them. One loop owns all runs
//! ([`Worker`]); it never awaits a server. A run's body is [`subtask`]: open ([`opening`]), copy ([`copy`]),
//! replicate ([`replication`]).

pub mod copy;
pub mod error;
pub mod floors;
mod host;
pub mod opening;
pub mod progress;
pub mod replication;
pub mod run;
pub mod source_log;
mod start;
mod start_time;
pub mod subtask;
pub mod verdict;

pub use host::{Worker, WorkerSettings};
