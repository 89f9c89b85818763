//! Tasks: making, reading, changing, starting, stopping and deleting them.

mod changes;
mod checked;
mod copy_options;
pub mod create;
mod document;
mod precheck;
pub mod read;
mod rules;
mod selection;
pub mod start;
mod status;
mod statuses;
pub mod stop;
mod timezone;
pub mod update;

pub use selection::Selected;
