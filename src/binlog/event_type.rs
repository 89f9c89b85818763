//! The kinds of binlog events by their number on the wire, with the servers' own names.

use std::fmt;

/// The number of an event's kind. MySQL counts up from 1, MariaDB's own begin at 160.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct EventType(pub u8);

macro_rules! event_types {
    ($($number:literal $name:ident)+) => {
        impl EventType {
            $(pub const $name: Self = Self($number);)+

            /// The server's name of the kind; None for one that this decoder does not know.
            pub fn name(self) -> Option<&'static str> {
                match self.0 {
                    $($number => Some(stringify!($name)),)+
                    _ => None,
                }
            }
        }
    };
}

event_types! {
    1 START_V3
    2 QUERY
    3 STOP
    4 ROTATE
    5 INTVAR
    6 LOAD
    7 SLAVE
    8 CREATE_FILE
    9 APPEND_BLOCK
    10 EXEC_LOAD
    11 DELETE_FILE
    12 NEW_LOAD
    13 RAND
    14 USER_VAR
    15 FORMAT_DESCRIPTION
    16 XID
    17 BEGIN_LOAD_QUERY
    18 EXECUTE_LOAD_QUERY
    19 TABLE_MAP
    20 PRE_GA_WRITE_ROWS
    21 PRE_GA_UPDATE_ROWS
    22 PRE_GA_DELETE_ROWS
    23 WRITE_ROWS_V1
    24 UPDATE_ROWS_V1
    25 DELETE_ROWS_V1
    26 INCIDENT
    27 HEARTBEAT
    28 IGNORABLE
    29 ROWS_QUERY
    30 WRITE_ROWS
    31 UPDATE_ROWS
    32 DELETE_ROWS
    33 GTID
    34 ANONYMOUS_GTID
    35 PREVIOUS_GTIDS
    36 TRANSACTION_CONTEXT
    37 VIEW_CHANGE
    38 XA_PREPARE
    39 PARTIAL_UPDATE_ROWS
    40 TRANSACTION_PAYLOAD
    41 HEARTBEAT_V2
    42 GTID_TAGGED
    160 ANNOTATE_ROWS
    161 BINLOG_CHECKPOINT
    162 MARIADB_GTID
    163 GTID_LIST
    164 START_ENCRYPTION
    165 QUERY_COMPRESSED
    166 WRITE_ROWS_COMPRESSED_V1
    167 UPDATE_ROWS_COMPRESSED_V1
    168 DELETE_ROWS_COMPRESSED_V1
    169 WRITE_ROWS_COMPRESSED
    170 UPDATE_ROWS_COMPRESSED
    171 DELETE_ROWS_COMPRESSED
    172 PARTIAL_ROW_DATA
}

impl fmt::Display for EventType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "type {}", self.0),
        }
    }
}
