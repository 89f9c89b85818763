//! Tasks: making, reading, changing, starting, stopping and deleting them.

mod checked;
mod copy_options;
mod rules;
mod status;
mod timezone;
