//! The DDL parser and the catalogue: on a corpus of statements, on random text, and against real servers.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on fails where it stands"
)]

mod corpus;
mod grammar;
mod logged;
mod random;
mod server;
mod shown;
mod stories;
mod summary;
