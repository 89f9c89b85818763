//! Turns the bytes of a binlog stream into typed events with positions.
//!
//! In goes one raw event after the other, as the server sends or stores it: [`Decoder::decode`]. Out come
//! [`Event`]s; row events stay packed until a [`TablePlan`] reads their rows as borrowed [`Value`]s. Never here:
//! I/O, waiting, and any opinion on what to do with an event. Every byte is taken as hostile: all input gives an
//! event or a [`BinlogError`], never a panic, and never more memory than the limits given.
//!
//! The surprise: the binlog alone is not enough to read its rows. Whether a number is unsigned, how long a BINARY
//! is, and what a column is called stand in the table's definition, which the caller must know.

mod checksum;
mod column_type;
mod compression;
mod control;
mod cursor;
mod decoder;
mod error;
mod event;
mod event_type;
mod format;
mod header;
mod json;
mod mariadb_gtid;
mod mysql_gtid;
mod optional_metadata;
mod payload;
mod plan;
mod query;
mod query_status;
mod rows;
mod step;
mod table_map;
pub mod value;

#[cfg(test)]
mod tests;

pub use checksum::ChecksumAlgorithm;
pub use column_type::ColumnType;
pub use control::{Heartbeat, Incident, Rotate, XaId, XaPrepare};
pub use decoder::{Decoded, Decoder, DecoderOptions};
pub use error::{BinlogError, ValueError};
pub use event::{Event, EventBody};
pub use event_type::EventType;
pub use format::FormatDescription;
pub use header::{EventFlags, EventHeader, HEADER_LENGTH};
pub use json::{JsonBinary, JsonFidelity};
pub use mariadb_gtid::{AlterPhase, GtidList, MariadbGtidEvent, MariadbGtidFlags};
pub use mysql_gtid::MysqlGtidEvent;
pub use optional_metadata::{ColumnMetadata, KeyPart, OptionalMetadata};
pub use payload::Payload;
pub use plan::{ColumnDecoding, TablePlan};
pub use query::QueryEvent;
pub use query_status::{AutoIncrement, Invoker, QueryStatus, SessionCharset, SessionFlags, UpdatedSchemas};
pub use rows::{RowChange, RowReader, RowsEvent, RowsFlags, RowsKind};
pub use table_map::{TableMap, TableMapEvent, WireColumn};
pub use value::Value;
