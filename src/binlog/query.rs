//! QUERY: a statement, with the settings of the session that ran it.
//!
//! In row format these are DDL, BEGIN, COMMIT, SAVEPOINT and the like. The text is bytes in the session's client
//! character set, exactly as sent.

use bytes::Bytes;

use super::BinlogError;
use super::cursor::Cursor;
use super::query_status::QueryStatus;

/// One statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueryEvent {
    pub thread_id: u32,
    /// Seconds it took at the source.
    pub execution_time: u32,
    /// The error it ended with at the source, if it still changed something.
    pub error_code: u16,
    /// The current schema; empty if there was none.
    pub schema: String,
    pub sql: Bytes,
    pub status: QueryStatus,
}

impl QueryEvent {
    /// Everything but the statement, where the cursor is left.
    pub(super) fn parse_head(cursor: &mut Cursor<'_>, body: &Bytes) -> Result<Self, BinlogError> {
        let thread_id = cursor.u32("the thread's id")?;
        let execution_time = cursor.u32("the execution time")?;
        let schema_length = cursor.u8("the length of the schema's name")?;
        let error_code = cursor.u16("the error code")?;
        let status_length = cursor.u16("the length of the status variables")?;
        let mut status = cursor.part(usize::from(status_length), "the status variables")?;
        let status = QueryStatus::parse(&mut status, body)?;
        let schema = cursor.text(usize::from(schema_length), "the schema's name")?.to_owned();
        if cursor.u8("the end of the schema's name")? != 0 {
            return Err(cursor.malformed("a zero after the schema's name"));
        }
        Ok(Self { thread_id, execution_time, error_code, schema, sql: Bytes::new(), status })
    }

    pub(super) fn parse(cursor: &mut Cursor<'_>, body: &Bytes) -> Result<Self, BinlogError> {
        let mut event = Self::parse_head(cursor, body)?;
        event.sql = body.slice_ref(cursor.rest());
        Ok(event)
    }
}
