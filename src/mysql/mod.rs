//! Connections to MySQL-family servers: opening them, asking, sending rows, quoting.
//!
//! The only room that names the driver. In go an [`Endpoint`](crate::model::Endpoint), statements and a
//! [`Deadline`]; out come rows, counts and [`Error`]s that say what was being done. Every call has a deadline.
//! After an error other than one the server reported, and after a deadline, a connection is closed for good: the
//! driver may hold an unread packet, and the next answer would belong to the last question.
//!
//! Never here: pools, reconnecting behind the caller's back, retries. A session that was lost is opened again by
//! whoever knows what it held.

mod binlog;
mod connection;
mod deadline;
mod error;
mod quote;
mod row;
mod server;
mod session;
mod wire;

pub use crate::model::Flavor;
pub use binlog::{BinlogRequest, BinlogStart, BinlogStream, RawEvent, open_binlog};
pub use connection::{Cells, Connection, Done, RowStream};
pub use deadline::Deadline;
pub use error::{Error, ErrorKind, FATAL_OF_STREAM};
pub use quote::{append_string, identifier, string_literal};
pub use row::Row;
pub use server::Server;
pub use session::{Purpose, SESSION_SQL_MODE};
