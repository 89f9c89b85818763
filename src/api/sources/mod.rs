//! Sources: making, reading, changing, switching and deleting them, and looking into their servers.

pub mod browse;
pub mod create;
mod document;
pub mod read;
mod status;
pub mod switch;
pub mod update;
