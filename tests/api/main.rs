//! The API driven from outside: its documents, its answers to good and bad input, and what it asks of real servers.

mod documents;
mod probe;
mod servers;
