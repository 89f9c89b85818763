//! Plain data that several rooms share: names, positions, what is wanted, what was seen.
//!
//! Nothing here does I/O, decides, or reads a clock. Times are `i64` microseconds since the Unix epoch (UTC),
//! as the metastore keeps them; their names end in `_us`.

pub mod cell;
pub mod change;
pub mod endpoint;
pub mod flavor;
pub mod gtid;
pub mod names;
pub mod position;
pub mod record;
pub mod report;
pub mod subtask;
pub mod wire;

pub use endpoint::{Endpoint, Tls};
pub use flavor::Flavor;
pub use names::{Epoch, Generation, LedgerId, SourceName, SubtaskId, TableName, TaskName, WorkerName};
pub use position::{BinlogPosition, SourcePosition};
