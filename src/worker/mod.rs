//! The worker: subtasks driven through their phases.

pub mod copy;
pub mod error;
pub mod progress;
