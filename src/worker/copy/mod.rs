//! The first full copy: from a consistent snapshot straight into the target, range by range.
//!
//! In go the opened run and what the ledger already holds; on return every table's rows, keys and foreign keys are in
//! the target, the ledger knows the position they stand at, and the structures of then are saved. A run that ended
//! half way is gone on with: tables that were finished keep their position, the others are read again from a new
//! snapshot; [`plan`] decides which.
//!
//! - [`structures`] reads what the source holds; [`plan`] decides what to do with each table (pure);
//! - [`prepare`] makes or checks the target's tables; [`transfer`] says how each column travels (pure);
//! - [`pipeline`] moves the rows; [`keys`] makes what was put off.

pub mod keys;
pub mod pipeline;
pub mod plan;
pub mod prepare;
pub mod run;
pub mod structures;
pub mod transfer;
