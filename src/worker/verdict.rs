//! From an error to what users see and what happens next: one function from kind to verdict, never from text.

use crate::error::{Chain, Code, Fault};
use crate::model::report::{ErrorDetail, ErrorHistory, ErrorReport, Verdict};
use crate::model::{SourcePosition, TableName};
use crate::worker::error::Error;
use crate::{ledger, load, mysql, replicate, snapshot};

/// Codes of DM's catalogue where the meaning is the same, ours (50xxx) where there is none.
mod code {
    use super::Code;

    pub const DRIVER: Code = Code::new(10001, "database", "high");
    pub const BAD_CONNECTION: Code = Code::new(10002, "database", "high");
    pub const EXECUTE: Code = Code::new(10006, "database", "high");
    pub const COLUMNS_DIFFER: Code = Code::new(36027, "sync-unit", "high");
    pub const ROW_IMAGE: Code = Code::new(11126, "functional", "high");
    pub const DDL_REFUSED: Code = Code::new(50001, "sync-unit", "high");
    pub const UNSUPPORTED: Code = Code::new(50002, "sync-unit", "high");
    pub const MISMATCH: Code = Code::new(50003, "sync-unit", "high");
    pub const UNKNOWN_COLLATION: Code = Code::new(50004, "load-unit", "high");
    pub const TARGET_NOT_EMPTY: Code = Code::new(50005, "load-unit", "high");
    pub const TARGET_MISFIT: Code = Code::new(50006, "load-unit", "high");
    pub const SOURCE_REPLACED: Code = Code::new(50007, "sync-unit", "high");
    pub const SUPERSEDED: Code = Code::new(50008, "internal", "medium");
    pub const GENERATION: Code = Code::new(50009, "internal", "medium");
    pub const SNAPSHOT: Code = Code::new(50010, "dump-unit", "high");
    pub const ROW_REFUSED: Code = Code::new(50011, "load-unit", "high");
    pub const BINLOG_GONE: Code = Code::new(50012, "sync-unit", "high");
    pub const UNDECIDED_DDL: Code = Code::new(50013, "sync-unit", "high");
    pub const RULES: Code = Code::new(50014, "config", "medium");
    pub const INTERNAL: Code = Code::new(50015, "internal", "high");
    pub const LEDGER: Code = Code::new(50016, "internal", "high");
    pub const LOG_BEGUN_ANEW: Code = Code::new(50017, "sync-unit", "high");
    pub const SERVER_ID_TAKEN: Code = Code::new(50018, "sync-unit", "high");
}

/// Which side an error of a server belongs to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Source,
    Target,
}

/// Judges an error. `at_us` is the worker's clock. [`Error::Stopped`] is no error and has no report.
pub fn report(error: &Error, at_us: i64) -> Option<ErrorReport> {
    if is_stop(error) {
        return None;
    }
    let (fault, verdict) = judge(error);
    let fault = Fault { message: error.to_string(), ..fault };
    let fault = match cause_text(error) {
        Some(cause) => fault.with_cause(cause),
        None => fault,
    };
    let fault = match &verdict {
        Verdict::PauseFor(advice) => fault.with_workaround(advice.clone()),
        _ => fault,
    };
    Some(ErrorReport {
        fault,
        verdict,
        table: table_of(error),
        position: position_of(error),
        at_us,
        detail: detail_of(error),
        history: ErrorHistory::default(),
    })
}

fn is_stop(error: &Error) -> bool {
    matches!(error, Error::Stopped | Error::Replicate(replicate::Error::Stopped))
}

fn cause_text(error: &Error) -> Option<String> {
    let mut cause = std::error::Error::source(error)?;
    // Transparent variants hand their cause's cause on.
    if cause.to_string() == error.to_string() {
        cause = cause.source()?;
    }
    Some(Chain(cause).to_string())
}

fn pause(advice: &str) -> Verdict {
    Verdict::PauseFor(advice.to_owned())
}

fn judge(error: &Error) -> (Fault, Verdict) {
    match error {
        Error::Source { cause, .. } => server(cause, Side::Source),
        Error::Target { cause, .. } | Error::TargetTable { cause, .. } | Error::TargetStatement { cause, .. } => {
            server(cause, Side::Target)
        }
        Error::PreparedXa { .. } => (
            code::SNAPSHOT.fault("").on_source(),
            pause("commit or roll back these XA transactions at the source (XA RECOVER lists them), then start again"),
        ),
        Error::OpeningTimedOut => (code::DRIVER.fault(""), Verdict::RetryLater),
        Error::Rules { .. } => (code::RULES.fault(""), pause("correct the task's rules, then start it again")),
        Error::SourceReplaced { .. } => (
            code::SOURCE_REPLACED.fault("").on_source(),
            pause(
                "stop the task and point the source at the server it was (by GTID also at one that holds the same \
                 transactions); or drop the target's tables, and start the task with remove_meta to copy anew",
            ),
        ),
        Error::LogBegunAnew { .. } => (code::LOG_BEGUN_ANEW.fault("").on_source(), pause(COPY_ANEW)),
        Error::BinlogGone { cause: None, .. } => (code::BINLOG_GONE.fault("").on_source(), pause(COPY_ANEW)),
        Error::BinlogGone { .. } => (
            code::BINLOG_GONE.fault("").on_source(),
            pause(
                "remove the cause that the source names, then start the task again; where that cannot be, stop the \
                 task, drop the target's tables, and start it with remove_meta to copy anew",
            ),
        ),
        Error::ServerIdTaken { .. } => (
            code::SERVER_ID_TAKEN.fault("").on_source(),
            pause("end the other reader, or give it another server id, then start the task again"),
        ),
        Error::NoBinlog => (
            code::UNSUPPORTED.fault("").on_source(),
            pause("switch the binlog on at the source (log_bin), or use mode full"),
        ),
        Error::Engine { .. } => (
            code::SNAPSHOT.fault("").on_source(),
            pause("change the table's engine to InnoDB, or leave the table out of the task"),
        ),
        Error::Definition { .. } => {
            (code::UNSUPPORTED.fault("").on_source(), pause("leave the table out of the task, and report this"))
        }
        Error::TargetNotEmpty { .. } => (
            code::TARGET_NOT_EMPTY.fault("").on_target(),
            pause("empty or drop the table at the target, or route the source's table elsewhere, then start again"),
        ),
        Error::TargetHalfCopied { .. } => (
            code::TARGET_NOT_EMPTY.fault("").on_target(),
            pause("bring the table back to what it was (or empty it), then start the task with remove_meta"),
        ),
        Error::TargetMisfit { .. } => (
            code::TARGET_MISFIT.fault("").on_target(),
            pause("change the target's table so that it has the source's columns, or drop it, then start again"),
        ),
        Error::ModeUnsupported { .. } => (code::UNSUPPORTED.fault(""), pause("use mode full, incremental or all")),
        Error::Internal(_) => (code::INTERNAL.fault(""), pause("start the task again, and report this")),
        Error::Snapshot(error) => of_snapshot(error),
        Error::Load(error) => of_load(error),
        Error::Replicate(error) => of_replication(error),
        Error::Ledger(error) => of_ledger(error),
        Error::Stopped => (code::INTERNAL.fault(""), Verdict::RetryLater),
    }
}

/// An error of a connection or a server. The list of what is tried again by itself is short: what passes without
/// anybody's doing.
fn server(error: &mysql::Error, side: Side) -> (Fault, Verdict) {
    use mysql::ErrorKind::{Answer, Connection, Protocol, Server, TimedOut, Tls};
    let scoped = |code: Code| {
        let fault = code.fault("");
        if side == Side::Source { fault.on_source() } else { fault.on_target() }
    };
    match &error.kind {
        Connection(_) | TimedOut => (scoped(code::BAD_CONNECTION), Verdict::RetryLater),
        Tls(_) => (scoped(code::DRIVER), pause("correct the certificates of the connection, then start again")),
        Protocol(_) | Answer(_) => (scoped(code::DRIVER), pause("start the task again; if it comes back, report this")),
        Server { code, .. } => match code {
            // Shutting down, too many connections, lock waits and deadlocks, read-only for a while, disk full for a
            // while, killed sessions, lost connections.
            1053
            | 1040
            | 1203
            | 1205
            | 1213
            | 1290
            | 1792
            | 1836
            | 3100
            | 1021
            | 1041
            | 1114
            | 1317
            | 1927
            | 1184
            | 3032
            | 3169
            | 4031
            | 1152
            | 1154..=1161
            | 1077
            | 1080
            | 1047 => (scoped(code::EXECUTE), Verdict::RetryLater),
            1044 | 1045 | 1142 | 1143 | 1227 | 1370 | 1698 | 3159 => (
                scoped(code::DRIVER),
                pause("correct the account's password or grant it what the message names, then start again"),
            ),
            1236 => (
                scoped(code::BINLOG_GONE),
                pause(
                    "the source cannot send the binlog from this position (see the cause); if its files are gone, \
                     start the task with remove_meta to copy anew",
                ),
            ),
            1153 => (
                scoped(code::EXECUTE),
                pause("raise max_allowed_packet at this server above the size of the row, then start again"),
            ),
            _ => (scoped(code::EXECUTE), pause("remove the cause that the message names, then start again")),
        },
    }
}

fn of_snapshot(error: &snapshot::Error) -> (Fault, Verdict) {
    match error {
        snapshot::Error::Source { cause, .. } | snapshot::Error::Rows { cause, .. } => server(cause, Side::Source),
        // The run that follows opens another snapshot for what is left.
        snapshot::Error::StructureChanged { .. } | snapshot::Error::StructuresLocked { .. } => {
            (code::SNAPSHOT.fault("").on_source(), Verdict::RetryLater)
        }
        snapshot::Error::NotConsistent { .. } => (
            code::SNAPSHOT.fault("").on_source(),
            pause("grant what the message names, or start when the source is less busy"),
        ),
    }
}

const COPY_ANEW: &str = "stop the task, drop the target's tables, and start it with remove_meta to copy anew";

const ROW_ADVICE: &str = "change the target's table so that it takes the row as it is, then start again";

/// There is no call that passes over a single event: a rule for its table does, as long as it is there.
const CHANGE_ADVICE: &str = "change the target's table so that it takes the row as it is, then start again; to go on \
                             without it, stop the task, give the table a binlog_filter_rule that ignores this kind of \
                             event (ignore_event), start it, and take the rule away once the position is passed: what \
                             it ignored is then to be mended by hand";

/// A row or a statement that the target did not take: because of itself, or because the target takes nothing at the
/// moment, which passes.
fn refused(cause: &mysql::Error, code: Code, advice: &str) -> (Fault, Verdict) {
    let (fault, verdict) = server(cause, Side::Target);
    match verdict {
        Verdict::RetryLater => (fault, verdict),
        _ => (code.fault("").on_target(), pause(advice)),
    }
}

fn of_load(error: &load::Error) -> (Fault, Verdict) {
    match error {
        load::Error::Write { cause, .. } => server(cause, Side::Target),
        load::Error::Refused { cause, .. } => refused(cause, code::ROW_REFUSED, ROW_ADVICE),
        load::Error::Altered { .. } | load::Error::Miscounted { .. } => {
            (code::ROW_REFUSED.fault("").on_target(), pause(ROW_ADVICE))
        }
        load::Error::Ledger(error) => of_ledger(error),
    }
}

fn of_replication(error: &replicate::Error) -> (Fault, Verdict) {
    use replicate::Error as E;
    match error {
        E::Source { cause, .. } => server(cause, Side::Source),
        E::Target { cause, .. } => server(cause, Side::Target),
        E::Refused { cause, .. } => refused(cause, code::EXECUTE, CHANGE_ADVICE),
        E::DdlRefused { cause, .. } => refused(
            cause,
            code::DDL_REFUSED,
            "make the target take the statement, then start again; to go on without it, make its change at the target \
             by hand, stop the task, name the statement in a binlog_filter_rule (ignore_sql), and start it",
        ),
        E::Mismatch { .. } => (
            code::MISMATCH.fault("").on_target(),
            pause(
                "the target's rows differ from what the source held: compare this row; make it by hand what the source \
                 had and start again, or copy the task anew",
            ),
        ),
        E::Altered { .. } => (code::ROW_REFUSED.fault("").on_target(), pause(CHANGE_ADVICE)),
        E::Decode { cause, .. } => match **cause {
            crate::binlog::BinlogError::PartialRowImage { .. } => (
                code::ROW_IMAGE.fault("").on_source(),
                pause(
                    "set binlog_row_image=FULL for all sessions of the source, stop the task, drop the target's tables, \
                     and start it with remove_meta to copy anew",
                ),
            ),
            _ => (code::UNSUPPORTED.fault("").on_source(), pause("report this, with the source's version")),
        },
        E::Unsupported { .. } => (
            code::UNSUPPORTED.fault("").on_source(),
            pause("this cannot be replicated: copy the task anew from after it"),
        ),
        E::Statement { .. } => (
            code::UNSUPPORTED.fault("").on_source(),
            pause("leave the statement out with a filter (ignore_sql), or copy the task anew from after it"),
        ),
        E::Structure { .. } => {
            (code::COLUMNS_DIFFER.fault("").on_source(), pause("copy the task anew, or leave the table out of it"))
        }
        E::TargetTable { .. } => (
            code::TARGET_MISFIT.fault("").on_target(),
            pause(
                "change the target's table as the message says, then start again; to go on without the table, stop \
                 the task, leave the table out of its table_migrate_rule, and start it",
            ),
        ),
        E::LostCascade { .. } => (
            code::TARGET_MISFIT.fault("").on_target(),
            pause(
                "give the child at the target the same foreign key, or take the parent into the task, or leave the \
                 child out of it; then start again",
            ),
        ),
        E::UnknownCollation { .. } | E::StatementCollation { .. } => (
            code::UNKNOWN_COLLATION.fault("").on_target(),
            pause("name the collation to use instead in target_config.collation_map, then start again"),
        ),
        E::UndecidedDdl { .. } => (
            code::UNDECIDED_DDL.fault("").on_target(),
            pause(
                "look at the target: if the DDL is not there, make its change by hand; grant PROCESS at the target so \
                 that this can be told in future; then copy the task anew",
            ),
        ),
        E::PreparedUnknown { .. } => (
            code::UNSUPPORTED.fault("").on_source(),
            pause(
                "copy the task anew, or, in mode incremental, from a position before its XA PREPARE; for a MySQL source \
                 grant XA_RECOVER_ADMIN, so that a copy waits for prepared transactions",
            ),
        ),
        E::PreparedGone { .. } => (code::BINLOG_GONE.fault("").on_source(), pause(COPY_ANEW)),
        E::Ledger(error) => of_ledger(error),
        E::Route(_) => (code::RULES.fault(""), pause("correct the task's routes, then start it again")),
        E::Stopped => (code::INTERNAL.fault(""), Verdict::RetryLater),
    }
}

fn of_ledger(error: &ledger::Error) -> (Fault, Verdict) {
    match error {
        ledger::Error::Database { cause, .. } => server(cause, Side::Target),
        ledger::Error::GenerationStale { ledger, .. } => {
            (code::GENERATION.fault("").on_target(), Verdict::NeedsGenerationAbove(*ledger))
        }
        // A run that its own master replaced is not asked how it ended; so this is another master, for instance one on
        // a copy of the data directory. Taking the ledger back would begin a quarrel without an end.
        ledger::Error::Superseded { .. } | ledger::Error::TakenOver { .. } => (
            code::SUPERSEDED.fault("").on_target(),
            pause(
                "leave the task to the other ferrymaster, or stop it there (or end that process), then start the task \
                 here",
            ),
        ),
        ledger::Error::StillHeld { .. } => (code::SUPERSEDED.fault("").on_target(), Verdict::RetryLater),
        ledger::Error::Unreadable { .. } => (
            code::LEDGER.fault("").on_target(),
            pause("run a version that knows this ledger, or start the task with remove_meta to copy anew"),
        ),
    }
}

/// By file and offset alone: the GTIDs before it are not told by the event.
fn position_of(error: &Error) -> Option<SourcePosition> {
    let Error::Replicate(error) = error else { return None };
    error.position().map(|binlog| SourcePosition { binlog, gtid: None })
}

fn detail_of(error: &Error) -> ErrorDetail {
    let (key, gtid) = match error {
        Error::Replicate(error) => (error.key(), error.gtid()),
        _ => (None, None),
    };
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    let mut server_error = None;
    while let (Some(looked_at), None) = (cause, server_error) {
        server_error = looked_at.downcast_ref::<mysql::Error>().and_then(mysql::Error::server_code);
        cause = looked_at.source();
    }
    ErrorDetail { key: key.map(str::to_owned), gtid: gtid.map(str::to_owned), server_error }
}

fn table_of(error: &Error) -> Option<TableName> {
    use replicate::Error as E;
    match error {
        Error::Engine { table, .. }
        | Error::Definition { table, .. }
        | Error::TargetNotEmpty { table }
        | Error::TargetHalfCopied { table }
        | Error::TargetMisfit { table, .. }
        | Error::TargetTable { table, .. }
        | Error::Snapshot(snapshot::Error::Rows { table, .. } | snapshot::Error::StructureChanged { table })
        | Error::Load(
            load::Error::Write { table, .. }
            | load::Error::Refused { table, .. }
            | load::Error::Altered { table, .. }
            | load::Error::Miscounted { table, .. },
        )
        | Error::Replicate(
            E::Refused { table, .. }
            | E::Mismatch { table, .. }
            | E::Altered { table, .. }
            | E::Structure { table, .. }
            | E::TargetTable { table, .. }
            | E::LostCascade { child: table, .. }
            | E::UnknownCollation { table, .. },
        ) => Some(table.clone()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mysql::ErrorKind;

    fn answered(code: u16) -> mysql::Error {
        let kind = ErrorKind::Server { code, state: "HY000".into(), message: "so it is".into() };
        mysql::Error { doing: "applying changes".into(), server: "mover@db:3306".into(), kind }
    }

    fn verdict(error: impl Into<Error>) -> Verdict {
        report(&error.into(), 1).expect("an error has a report").verdict
    }

    /// The same answer of the target, wherever it is met.
    fn everywhere(code: u16) -> [Verdict; 5] {
        let table = || TableName::new("shop", "orders");
        [
            verdict(Error::Target { doing: "ask", cause: answered(code) }),
            verdict(load::Error::Write { table: table(), cause: answered(code) }),
            verdict(load::Error::Refused { table: table(), key: "`id`=1".to_owned(), cause: answered(code) }),
            verdict(replicate::Error::Refused {
                table: table(),
                key: "`id`=1".to_owned(),
                position: "(b.000001, 4)".to_owned(),
                cause: answered(code),
            }),
            verdict(replicate::Error::DdlRefused {
                statement: "ALTER TABLE orders ADD n INT".to_owned(),
                position: "(b.000001, 4)".to_owned(),
                cause: answered(code),
            }),
        ]
    }

    #[test]
    fn what_passes_by_itself_is_tried_again_wherever_it_is_met() {
        // read-only, disk full (two ways), lock waits, deadlocks, shutdown, killed, too many connections
        for code in [1290, 1836, 1114, 1021, 1205, 1213, 1053, 1927, 3169, 1040] {
            for (place, verdict) in everywhere(code).into_iter().enumerate() {
                assert_eq!(verdict, Verdict::RetryLater, "error {code} in place {place}");
            }
        }
    }

    #[test]
    fn what_needs_somebody_waits_at_once_and_says_what_to_do() {
        // duplicate key, too long, unknown column, no right, syntax
        for code in [1062, 1406, 1054, 1142, 1064] {
            for (place, verdict) in everywhere(code).into_iter().enumerate() {
                assert!(
                    matches!(&verdict, Verdict::PauseFor(advice) if advice.len() > 20),
                    "{code}, {place}: {verdict:?}"
                );
            }
        }
    }

    #[test]
    fn an_error_of_replication_says_where_in_the_log_it_happened() {
        let at = |position: &str| {
            let error = replicate::Error::Unsupported { what: "it".to_owned(), position: position.to_owned() };
            report(&error.into(), 1).and_then(|report| report.position).map(|position| position.to_string())
        };
        assert_eq!(at("(b.000001, 4)").as_deref(), Some("(b.000001, 4)"));
        assert_eq!(at("(b.000001, 4) gtid 0-1-7").as_deref(), Some("(b.000001, 4)"));
        assert_eq!(at(""), None);
    }

    #[test]
    fn a_dead_connection_is_tried_again_and_bad_certificates_are_not() {
        let error = |kind| Error::Source { doing: "ask", cause: mysql::Error { kind, ..answered(0) } };
        assert_eq!(verdict(error(ErrorKind::Connection("refused".into()))), Verdict::RetryLater);
        assert_eq!(verdict(error(ErrorKind::TimedOut)), Verdict::RetryLater);
        assert!(matches!(verdict(error(ErrorKind::Tls("expired".into()))), Verdict::PauseFor(_)));
        assert!(report(&Error::Stopped, 1).is_none());
    }
}
