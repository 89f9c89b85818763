//! Statements of which only the kind and the names of the objects are known.

use super::{DataType, Ident, TableRef};
use crate::ddl::token::Span;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Action {
    Create,
    Alter,
    Drop,
    Rename,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RoutineKind {
    Procedure,
    Function,
    Package,
    PackageBody,
    /// MySQL 9's library of JavaScript.
    Library,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Named {
    View {
        action: Action,
        views: Vec<TableRef>,
    },
    /// A trigger of the schema in `trigger`; its table is named by CREATE only.
    Trigger {
        action: Action,
        trigger: TableRef,
        table: Option<TableRef>,
    },
    Routine {
        action: Action,
        kind: RoutineKind,
        routine: TableRef,
    },
    /// A function in a shared library of the server.
    LoadableFunction {
        action: Action,
        name: Ident,
    },
    Event {
        action: Action,
        event: TableRef,
    },
    /// MariaDB's sequences, which stand among the tables.
    Sequence {
        action: Action,
        or_replace: bool,
        if_exists: bool,
        if_not_exists: bool,
        sequences: Vec<TableRef>,
        /// `AS type` of a CREATE.
        data_type: Option<DataType>,
    },
    /// Users, roles, grants, passwords.
    Account {
        command: String,
    },
    /// A server, tablespace, log file group, plugin, component, resource group, spatial reference system, instance.
    ServerObject {
        action: Action,
        kind: String,
    },
    /// CREATE or DROP of temporary tables, which no other session sees.
    TemporaryTables {
        action: Action,
        tables: Vec<TableRef>,
    },
    /// FLUSH, OPTIMIZE, ANALYZE, REPAIR, CHECK, CHECKSUM, CACHE INDEX, KILL, SHUTDOWN, RESET, PURGE.
    Maintenance {
        command: String,
        tables: Vec<TableRef>,
    },
    Transaction(TransactionControl),
    /// A change of rows written as a statement, or a call whose effects are unknown. `command` is its first word.
    Rows {
        command: String,
    },
    /// SET of a variable, USE, and LOCK or UNLOCK TABLES.
    Session {
        command: String,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TransactionControl {
    /// BEGIN, START TRANSACTION.
    Begin,
    Commit,
    Rollback,
    Savepoint(Ident),
    RollbackTo(Ident),
    ReleaseSavepoint(Ident),
    /// The text of the xid, as the statement writes it.
    XaStart {
        xid: Span,
    },
    XaEnd {
        xid: Span,
    },
    XaPrepare {
        xid: Span,
    },
    XaCommit {
        xid: Span,
        one_phase: bool,
    },
    XaRollback {
        xid: Span,
    },
    XaRecover,
}
