//! What can be wrong with a binlog event. Every variant says of which event, and where in it.

use std::io;

use super::EventType;
use crate::model::TableName;
use crate::model::gtid::GtidSetBytesError;

/// Offsets count from the first byte of the event's header; in a compressed event, of what it unpacks to.
#[derive(Debug, thiserror::Error)]
pub enum BinlogError {
    #[error("{event} event is malformed at byte {offset}: expected {expected}")]
    Malformed { event: EventType, offset: usize, expected: &'static str },
    #[error("{event} event says it has {stated} bytes, but {received} were received")]
    SizeDiffers { event: EventType, stated: u32, received: usize },
    #[error("{event} event is damaged: its checksum is {stored:08x}, its bytes give {computed:08x}")]
    ChecksumDiffers { event: EventType, stored: u32, computed: u32 },
    #[error("{event} event came before the format of the binlog was told")]
    FormatMissing { event: EventType },
    #[error("the binlog's format is not supported: {reason}")]
    FormatUnsupported { reason: String },
    #[error("{event} event needs {size} bytes, more than the limit of {limit}")]
    TooLarge { event: EventType, size: u64, limit: usize },
    #[error("{event} event cannot be unpacked")]
    Decompress {
        event: EventType,
        #[source]
        cause: io::Error,
    },
    #[error("{event} event is packed by method {method}, which is not known")]
    CompressionUnknown { event: EventType, method: u64 },
    #[error("{event} event stands inside a packed transaction, where it cannot be")]
    NotInPayload { event: EventType },
    #[error("{event} event has a malformed GTID set")]
    GtidSet {
        event: EventType,
        #[source]
        cause: GtidSetBytesError,
    },
    #[error("{event} event has a field that must not be passed over, but is not known (number {field})")]
    FieldUnknown { event: EventType, field: u64 },
    #[error("column {column} of {table} has type {type_code}, which cannot be decoded")]
    ColumnTypeUnsupported { table: TableName, column: usize, type_code: u8 },
    #[error("column {column} of {table} has a type ({type_code}) with the impossible description {metadata}")]
    ColumnMetadata { table: TableName, column: usize, type_code: u8, metadata: u16 },
    #[error("{table} has {wire} columns in the binlog, but {expected} were expected")]
    ColumnCountDiffers { table: TableName, wire: usize, expected: usize },
    #[error(
        "{event} event of {table} leaves column {column} out: only full row images can be applied; \
         a session had binlog_row_image other than FULL"
    )]
    PartialRowImage { event: EventType, table: TableName, column: usize },
    #[error("{event} event of {table}, column {column}, is malformed at byte {offset}: expected {expected}")]
    Value { event: EventType, table: TableName, column: usize, offset: usize, expected: &'static str },
}

/// What is wrong inside one value. The offset counts from the value's first byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a value is malformed at byte {offset}: expected {expected}")]
pub struct ValueError {
    pub offset: usize,
    pub expected: &'static str,
}
