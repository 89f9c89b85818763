//! Every question of the master that reaches a database: is it there, what may we do, which tables has it.
//!
//! In: endpoints, a task's rules, and one [`Deadline`] for the whole call, connecting
//! included. Out: facts, lists, findings, or an error that is a [`Fault`](crate::error::Fault) of DM's catalogue.
//! Never here: writing anything, retries, waiting without a limit. What is found is judged in pure functions
//! (`precheck::source_items`, `precheck::target_items`); what is asked stands apart from them (`precheck::survey`).

mod browse;
mod cleanup;
mod connection;
mod error;
mod local_time;
pub mod precheck;
mod rules;

pub use browse::{schemas, tables};
pub use cleanup::clean;
pub use connection::{check_source, check_target};
pub use error::{ProbeError, Side};
pub use local_time::local_time;
pub use rules::Rules;

pub use crate::mysql::Deadline;
