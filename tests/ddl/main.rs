//! The DDL parser and the catalogue: on a corpus of statements, on random text, and against real servers.

mod corpus;
mod grammar;
mod server;
mod summary;
