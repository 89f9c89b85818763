//! Reads a source consistently, at one known position, hardly locking it.
//!
//! In go an endpoint, a number of sessions and a function that reads structures; out come sessions that all see the
//! same moment, the position of that moment, and the structures of then ([`consistent::open`]); after that the rows
//! of key ranges, cell by cell as the server sends them ([`range`]).
//!
//! Never here: writing anywhere, and files on disk. The surprise: structures are outside of every server's
//! snapshots, so they are read while DDL alone is locked out, and a table whose structure changes before its rows
//! are read ends the snapshot with [`Error::StructureChanged`]; the run then opens another one for what is left.

pub mod consistent;
mod error;
mod mariadb;
mod mysql_family;
pub mod range;
pub mod select;
pub mod split;

pub use error::Error;
