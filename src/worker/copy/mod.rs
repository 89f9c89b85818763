//! The first full copy: from a consistent snapshot straight into the target, range by range.
//!
//! In go the opened run and what the ledger already holds; on return every table's rows, keys and foreign keys are in
//! the target, the ledger knows the position they stand at, and the structures of then are saved. A run that ended
//! half way is gone on with: tables that were finished keep their position, of half-copied ones the missing stretches
//! are read from a new snapshot where their key allows it, and the others as a whole.
//!
//! - [`run`] is the way through one pass, [`pass`] its preparation;
//! - [`continuing`] judges half-copied tables, by [`remainder`] (pure) and by what the log says [`between`];
//! - [`structures`] reads what the source holds; [`plan`] decides what to do with each table (pure);
//! - [`prepare`] makes or checks the target's tables; [`transfer`] says how each column travels (pure);
//! - [`pipeline`] moves the rows; [`keys`] makes what was put off.

mod between;
mod continuing;
pub mod keys;
mod pass;
pub mod pipeline;
pub mod plan;
pub mod prepare;
mod prepared;
pub mod remainder;
pub mod run;
pub mod structures;
pub mod transfer;
