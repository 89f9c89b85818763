//! What can go wrong when a database is asked.

use crate::error::{Chain, Fault, codes};
use crate::filter::FilterError;
use crate::mysql::{Error as ServerError, ErrorKind};
use crate::route::RouteError;

/// Which end of a migration is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Source,
    Target,
}

#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    #[error("cannot connect to the {}", .side.word())]
    Connect {
        side: Side,
        #[source]
        cause: ServerError,
    },
    #[error("cannot ask the {}", .side.word())]
    Ask {
        side: Side,
        #[source]
        cause: ServerError,
    },
    #[error("the source is {found}, and `flavor` says {wanted}")]
    OtherFlavor { found: &'static str, wanted: String },
    #[error("{server} has GTID_MODE = {found} instead of ON")]
    GtidModeOff { server: String, found: String },
    #[error("the rules for source {source_name} do not fit together")]
    Filter {
        source_name: String,
        #[source]
        cause: FilterError,
    },
    #[error("the rules for source {source_name} do not fit together")]
    Route {
        source_name: String,
        #[source]
        cause: Box<RouteError>,
    },
    #[error("the source has no timestamp for {0}")]
    NoTimestamp(String),
    #[error("database {0} is not known to the source, or hidden from the account")]
    UnknownSchema(String),
}

impl Side {
    fn word(self) -> &'static str {
        match self {
            Self::Source => "source",
            Self::Target => "target",
        }
    }

    fn of(self, fault: Fault) -> Fault {
        match self {
            Self::Source => fault.on_source(),
            Self::Target => fault.on_target(),
        }
    }
}

impl ProbeError {
    /// As the API tells it.
    pub fn fault(&self) -> Fault {
        match self {
            Self::Connect { side, cause } => side
                .of(codes::DATABASE_DRIVER.fault("database driver error"))
                .with_cause(cause)
                .with_workaround(way_out(&cause.kind)),
            Self::Ask { side, cause } => server_fault(*side, self, cause),
            Self::OtherFlavor { .. } => codes::FLAVOR_NOT_SUPPORTED
                .fault(self.to_string())
                .on_source()
                .with_workaround("leave `source.flavor` out: it is found out from the server"),
            Self::GtidModeOff { .. } => codes::SOURCE_GTID_MODE_OFF
                .fault(self.to_string())
                .on_source()
                .with_workaround("switch gtid_mode on at the source, or set `source.enable_gtid` to false"),
            Self::Filter { cause, .. } => {
                let code = match cause {
                    FilterError::UnknownEvent { .. } | FilterError::IgnoreSql { .. } => {
                        codes::BINLOG_EVENT_FILTER_INVALID
                    }
                    FilterError::Pattern { .. } => codes::ALLOW_LIST_INVALID,
                };
                code.fault(self.to_string())
                    .with_cause(Chain(cause))
                    .with_workaround("see `task.table_migrate_rule` and `task.binlog_filter_rule`")
            }
            Self::Route { cause, .. } => codes::ROUTE_INVALID
                .fault(self.to_string())
                .with_cause(Chain(cause.as_ref()))
                .with_workaround("see `task.table_migrate_rule`"),
            Self::NoTimestamp(_) => codes::API_COMMON
                .fault(self.to_string())
                .on_source()
                .with_workaround("`start_time`: expected a time from 1970 on that exists in the source's zone"),
            Self::UnknownSchema(_) => codes::DATABASE_QUERY_FAILED
                .fault(self.to_string())
                .on_source()
                .with_workaround("GET the source's schemas for those that can be seen"),
        }
    }
}

/// A server refused something, or was lost while it was asked.
pub(super) fn server_fault(side: Side, doing: &dyn std::fmt::Display, cause: &ServerError) -> Fault {
    let code = if cause.is_fatal() { codes::DATABASE_DRIVER } else { codes::DATABASE_QUERY_FAILED };
    side.of(code.fault(format!("database driver error: {doing}")))
        .with_cause(cause)
        .with_workaround(way_out(&cause.kind))
}

/// What an operator can do; by the kind of failure, and by the server's number for refusals.
fn way_out(kind: &ErrorKind) -> &'static str {
    match kind {
        ErrorKind::Connection(_) => "check host and port, that the server runs, and that it can be reached from here",
        ErrorKind::Tls(_) => "check the `security` settings, and whether the server offers TLS",
        ErrorKind::TimedOut => "the server did not answer in time: check that it is well, then try again",
        ErrorKind::Server { code: 1045 | 1698 | 3118 | 4151, .. } => {
            "check user and password, and from where the user may log in"
        }
        ErrorKind::Server { code: 1044 | 1142 | 1143 | 1227 | 1370, .. } => "grant the account what it lacks",
        ErrorKind::Server { code: 1040 | 1203 | 1226, .. } => {
            "the server has too many connections: try again later, or raise its limit"
        }
        ErrorKind::Server { .. } | ErrorKind::Protocol(_) | ErrorKind::Answer(_) => "see the server's own message",
    }
}
