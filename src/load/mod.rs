//! Writes copied rows into the target.
//!
//! In go batches of rows, already in the form of a load file, each with the ledger line that says how far it
//! reaches; out comes a commit that holds both or neither ([`writer::write`]).
//!
//! The fast way is LOAD DATA LOCAL from memory. It behaves like IGNORE even in strict mode: a duplicate row is
//! dropped and a long value cut, with no more than a warning. So a batch is committed only when the server says
//! "no warnings, nothing skipped, exactly the rows sent"; else it is rolled back and sent again as INSERTs, whose
//! error names the row.

pub mod batch;
mod error;
mod insert;
pub mod statement;
pub mod writer;

pub use error::Error;
