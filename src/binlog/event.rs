//! An event, decoded: its header, and a body by its kind.

use std::sync::Arc;

use bytes::Bytes;

use super::control::{Heartbeat, Incident, Rotate, XaPrepare};
use super::format::FormatDescription;
use super::header::EventHeader;
use super::mariadb_gtid::{GtidList, MariadbGtidEvent};
use super::mysql_gtid::MysqlGtidEvent;
use super::query::QueryEvent;
use super::rows::RowsEvent;
use super::table_map::TableMapEvent;
use crate::model::gtid::MysqlGtidSet;

/// One event. Inside a packed transaction the header's position is that of the whole transaction's end.
#[derive(Debug, Clone)]
pub struct Event {
    pub header: EventHeader,
    pub body: EventBody,
}

/// What an event says. Kinds without content, or whose content is of no use here, are told by name only.
#[derive(Debug, Clone)]
pub enum EventBody {
    FormatDescription(Arc<FormatDescription>),
    Rotate(Rotate),
    /// MySQL: a transaction begins, with or without a GTID.
    MysqlGtid(Box<MysqlGtidEvent>),
    /// MariaDB: a transaction or a single statement begins.
    MariadbGtid(Box<MariadbGtidEvent>),
    /// MySQL: all transactions in files before this one.
    PreviousGtids(MysqlGtidSet),
    /// MariaDB: the last transactions before this place.
    GtidList(GtidList),
    /// MariaDB: the oldest file that recovery after a crash needs.
    BinlogCheckpoint {
        file: String,
    },
    Query(Box<QueryEvent>),
    /// The transaction is committed.
    Xid(u64),
    XaPrepare(XaPrepare),
    TableMap(TableMapEvent),
    Rows(RowsEvent),
    /// MySQL: the statement whose rows follow.
    RowsQuery(Bytes),
    /// MariaDB: the statement whose rows follow.
    AnnotateRows(Bytes),
    Heartbeat(Heartbeat),
    Incident(Incident),
    /// The server stopped; the file ends.
    Stop,
    /// Statement format: LAST_INSERT_ID or INSERT_ID of the next statement.
    IntVar,
    /// Statement format: the seeds of RAND() of the next statement.
    Rand,
    /// Statement format: a user variable of the next statement.
    UserVar,
    /// Statement format: a part of LOAD DATA.
    LoadFamily,
    /// MySQL, `binlog_row_value_options=PARTIAL_JSON`: rows whose documents are told as changes.
    PartialUpdateRows {
        table_id: u64,
    },
    /// MariaDB 12.3: a fragment of a row event too large for one.
    PartialRowData,
    /// MySQL group replication: what certifies a transaction.
    TransactionContext,
    /// MySQL group replication: who is a member.
    ViewChange,
    /// MariaDB: the rest of the *file* is encrypted; what is sent is not.
    StartEncryption,
    /// Of no meaning to anyone but its writer.
    Ignorable,
    /// A kind that this decoder does not know. Unless `ignorable`, a reader must not go on.
    Unknown {
        ignorable: bool,
    },
}
