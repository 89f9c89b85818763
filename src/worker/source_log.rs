//! Whether the source still has what a ledger's position needs, asked before its stream is: so nothing of another
//! server's log, or of a log that was begun anew, is taken for what comes next.
//!
//! [`SourceLog::read`] asks, [`judge`] decides and is pure. Both families would go on without a word after a RESET if
//! enough was written since: the place or the number asked for exists again, and means something else. So the stored
//! place is looked at too, where the server is still the same.

use std::time::Duration;

use super::error::Error;
use super::opening::identity;
use crate::model::gtid::{GtidSet, MariadbGtid, MariadbGtidList};
use crate::model::{BinlogPosition, Endpoint, Flavor, SourcePosition};
use crate::mysql::{Connection, Deadline, ErrorKind, Purpose, string_literal};

/// Looking at a place reads its file up to there.
const LOOK_PATIENCE: Duration = Duration::from_secs(20);
/// The files of a log begin with four bytes that are no event.
const FIRST_OFFSET: u64 = 4;
/// "Error when executing command SHOW BINLOG EVENTS": no event begins there.
const NO_EVENT_THERE: u16 = 1220;

/// What the source says of its log.
#[derive(Debug, Clone)]
pub struct SourceLog {
    /// Of the server that answered: behind an address that moves it may be another than before.
    identity: String,
    flavor: Flavor,
    /// Names and sizes, oldest first. None: the account may not see them.
    files: Option<Vec<(String, u64)>>,
    gtids: Gtids,
    place: Place,
}

#[derive(Debug, Clone)]
enum Gtids {
    Mysql {
        executed: GtidSet,
        purged: GtidSet,
        /// Streams by GTID are given (`gtid_mode=ON`).
        on: bool,
    },
    /// The last of each domain and server, and what a replica that logs nothing of it has applied.
    Mariadb { state: Vec<MariadbGtid>, replica: MariadbGtidList },
}

/// What stands at the stored place.
#[derive(Debug, Clone)]
enum Place {
    NotLookedAt,
    /// Nothing begins or ends there.
    InsideOfAnEvent,
    /// MariaDB: the last transaction of each domain before it.
    After(MariadbGtidList),
}

/// What a ledger holds, and how the task is to go on.
#[derive(Debug, Clone, Copy)]
pub struct Stored<'a> {
    pub position: &'a SourcePosition,
    /// The server that the ledger was begun with; empty: not known.
    pub identity: &'a str,
    pub by_gtid: bool,
    /// File and GTIDs belong together: neither was given by a user.
    pub is_consistent: bool,
}

/// How the stream is to be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Way {
    pub by_gtid: bool,
    /// Another server that holds the same transactions has taken the first one's place.
    pub is_successor: bool,
}

impl SourceLog {
    pub async fn read(endpoint: &Endpoint, position: &SourcePosition, deadline: Deadline) -> Result<Self, Error> {
        let failed = |cause| Error::Source { doing: "look at the binlog", cause };
        let mut connection = Connection::open(endpoint, Purpose::Asking, deadline).await.map_err(failed)?;
        let flavor = connection.server().flavor;
        let identity = identity(&mut connection, deadline).await.map_err(failed)?;
        let gtids = gtids(&mut connection, deadline).await?;
        let files = files(&mut connection, deadline).await?;
        let is_there =
            files.iter().flatten().any(|(name, size)| *name == position.binlog.file && *size >= position.binlog.offset);
        let can_be_asked = u32::try_from(position.binlog.offset).is_ok() && position.binlog.offset > FIRST_OFFSET;
        let place = if is_there && can_be_asked {
            look_at(&mut connection, flavor, &position.binlog).await
        } else {
            Place::NotLookedAt
        };
        if connection.is_open() {
            connection.close(Deadline::after(Duration::from_millis(500))).await;
        }
        Ok(Self { identity, flavor, files, gtids, place })
    }

    /// Whether streams by GTID are to be had.
    fn gives_gtids(&self) -> bool {
        !matches!(self.gtids, Gtids::Mysql { on: false, .. })
    }

    /// Whether all of the set was written by this server, or applied to it.
    fn holds(&self, set: &GtidSet) -> bool {
        match (&self.gtids, set) {
            (Gtids::Mysql { executed, .. }, set) => set.is_subset_of(executed),
            (Gtids::Mariadb { state, replica }, GtidSet::Mariadb(list)) => list.iter().all(|ours| {
                let wrote = |theirs: &MariadbGtid| {
                    (theirs.domain, theirs.server) == (ours.domain, ours.server) && theirs.sequence >= ours.sequence
                };
                state.iter().any(wrote) || replica.last_of(ours.domain) == Some(ours)
            }),
            _ => false,
        }
    }

    /// For messages.
    pub fn describe(&self) -> String {
        let files = match self.files.as_deref() {
            None => "files that the account may not see".to_owned(),
            Some([]) => "no files".to_owned(),
            Some([(only, size)]) => format!("the file {only} of {size} bytes"),
            Some([(first, _), .., (last, size)]) => format!("the files {first} to {last}, the last of {size} bytes"),
        };
        let gtids = match &self.gtids {
            Gtids::Mysql { executed, purged, .. } => format!("GTIDs {executed}, of which it has purged {purged}"),
            Gtids::Mariadb { state, .. } => {
                format!("GTIDs up to {}", state.iter().map(ToString::to_string).collect::<Vec<_>>().join(","))
            }
        };
        format!("{files}; {gtids}")
    }
}

async fn gtids(connection: &mut Connection, deadline: Deadline) -> Result<Gtids, Error> {
    let failed = |cause| Error::Source { doing: "ask for the GTIDs", cause };
    let misread = |error: crate::model::gtid::GtidError| Error::Internal(format!("GTIDs of the source: {error}"));
    let doing = "asking for the GTIDs";
    match connection.server().flavor {
        Flavor::MySql => {
            let sql = "SELECT @@GLOBAL.gtid_executed AS executed, @@GLOBAL.gtid_purged AS purged, \
                       @@GLOBAL.gtid_mode AS mode";
            let row = connection.first_row(sql, doing, deadline).await.map_err(failed)?;
            let set = |column| {
                let text = row.text(column).map_err(failed)?.replace(['\n', ' '], "");
                GtidSet::parse(Flavor::MySql, &text).map_err(misread)
            };
            let on = row.text("mode").map_err(failed)?.eq_ignore_ascii_case("ON");
            Ok(Gtids::Mysql { executed: set("executed")?, purged: set("purged")?, on })
        }
        Flavor::MariaDb => {
            let sql = "SELECT @@GLOBAL.gtid_binlog_state AS state, @@GLOBAL.gtid_slave_pos AS replica";
            let row = connection.first_row(sql, doing, deadline).await.map_err(failed)?;
            let state = row.text("state").map_err(failed)?;
            let state = state.split(',').map(str::trim).filter(|text| !text.is_empty());
            let state = state.map(str::parse).collect::<Result<_, _>>().map_err(misread)?;
            Ok(Gtids::Mariadb { state, replica: row.text("replica").map_err(failed)?.parse().map_err(misread)? })
        }
    }
}

async fn files(connection: &mut Connection, deadline: Deadline) -> Result<Option<Vec<(String, u64)>>, Error> {
    let failed = |cause| Error::Source { doing: "list the binlog files", cause };
    let rows = match connection.rows("SHOW BINARY LOGS", "listing binlog files", deadline).await {
        Ok(rows) => rows,
        // Not granted, and replication can do without.
        Err(error) if error.server_code() == Some(1227) => return Ok(None),
        Err(error) => return Err(failed(error)),
    };
    let file = |row: &crate::mysql::Row| Ok((row.text("Log_name")?, row.number("File_size")?));
    rows.iter().map(file).collect::<Result<_, _>>().map(Some).map_err(failed)
}

/// What cannot be found out stops nobody.
async fn look_at(connection: &mut Connection, flavor: Flavor, place: &BinlogPosition) -> Place {
    let (file, offset, deadline) = (string_literal(&place.file), place.offset, Deadline::after(LOOK_PATIENCE));
    let doing = "looking at a place in the binlog";
    match flavor {
        Flavor::MySql => {
            let sql = format!("SHOW BINLOG EVENTS IN {file} FROM {offset} LIMIT 1");
            match connection.rows(&sql, doing, deadline).await {
                Err(error) if matches!(error.kind, ErrorKind::Server { code: NO_EVENT_THERE, .. }) => {
                    Place::InsideOfAnEvent
                }
                _ => Place::NotLookedAt,
            }
        }
        Flavor::MariaDb => {
            let sql = format!("SELECT BINLOG_GTID_POS({file}, {offset}) AS gtids");
            match connection.first_row(&sql, doing, deadline).await.and_then(|row| row.optional_text("gtids")) {
                Ok(Some(text)) => text.parse().map_or(Place::NotLookedAt, Place::After),
                Ok(None) => Place::InsideOfAnEvent,
                Err(_) => Place::NotLookedAt,
            }
        }
    }
}

/// Decides whether what follows the stored position in this log is what follows it in the task.
pub fn judge(stored: Stored<'_>, log: &SourceLog) -> Result<Way, Error> {
    let (position, present) = (stored.position, &log.identity);
    let is_same = stored.identity.is_empty() || stored.identity == present;
    let flavor = log.flavor;
    let set = match position.gtid.as_deref().map(|text| GtidSet::parse(flavor, text)) {
        None => None,
        Some(Ok(set)) => Some(set),
        Some(Err(_)) => {
            return Err(replaced(
                stored,
                log,
                format!("the task stands at {position}, which means nothing to {flavor}"),
            ));
        }
    };
    let by_gtid = stored.by_gtid && log.gives_gtids();
    match set.as_ref().filter(|set| by_gtid && (!set.is_empty() || flavor == Flavor::MySql)) {
        Some(set) => judge_gtids(stored, log, set, is_same)?,
        None if !is_same => {
            return Err(replaced(stored, log, "file positions of one mean nothing on another".to_owned()));
        }
        None => judge_file(stored, log)?,
    }
    if is_same && stored.is_consistent {
        judge_place(stored, log, set.as_ref())?;
    }
    Ok(Way { by_gtid, is_successor: !is_same })
}

fn replaced(stored: Stored<'_>, log: &SourceLog, because: String) -> Error {
    let (known, present) = (stored.identity, &log.identity);
    Error::SourceReplaced {
        why: format!(
            "the source is another server than the one this task was begun with ({present} instead of {known}), and \
             {because}"
        ),
    }
}

fn begun_anew(stored: Stored<'_>, log: &SourceLog, because: &str) -> Error {
    let (position, identity) = (stored.position, &log.identity);
    let present = log.describe();
    Error::LogBegunAnew {
        why: format!(
            "the binlog of the source ({identity}) was begun anew (RESET): the task stands at {position}, and {because}; \
             the source has {present}"
        ),
    }
}

fn gone(stored: Stored<'_>, log: &SourceLog, because: &str) -> Error {
    let (position, present) = (stored.position, log.describe());
    let why = format!("the task stands at {position}, and {because}; the source has {present}");
    Error::BinlogGone { why, cause: None }
}

fn judge_gtids(stored: Stored<'_>, log: &SourceLog, set: &GtidSet, is_same: bool) -> Result<(), Error> {
    if !log.holds(set) {
        let present = log.describe();
        return Err(if is_same {
            begun_anew(stored, log, "not all of its transactions are in this log")
        } else {
            let position = stored.position;
            replaced(stored, log, format!("does not hold all that the task has applied ({position}); it has {present}"))
        });
    }
    if let Gtids::Mysql { purged, .. } = &log.gtids
        && !purged.is_subset_of(set)
    {
        return Err(gone(stored, log, "transactions after it are purged"));
    }
    Ok(())
}

fn judge_file(stored: Stored<'_>, log: &SourceLog) -> Result<(), Error> {
    let file = &stored.position.binlog.file;
    if file.is_empty() {
        return Err(replaced(stored, log, "no place in its files is known yet: go on by GTID".to_owned()));
    }
    let Some(files) = &log.files else { return Ok(()) };
    if is_ahead(&stored.position.binlog, files) {
        return Err(begun_anew(stored, log, "its files do not reach so far"));
    }
    if files.iter().all(|(name, _)| name != file) {
        return Err(gone(stored, log, "that file is purged"));
    }
    Ok(())
}

/// Whether all files are older than this one, of the same name.
fn is_ahead(position: &BinlogPosition, files: &[(String, u64)]) -> bool {
    files.last().is_some_and(|(last, _)| {
        let last = BinlogPosition::new(last.as_str(), 0);
        last.is_of_same_log(position) && last.file_number() < position.file_number()
    })
}

fn judge_place(stored: Stored<'_>, log: &SourceLog, set: Option<&GtidSet>) -> Result<(), Error> {
    let anew = |because: &str| Err(begun_anew(stored, log, because));
    let position = &stored.position.binlog;
    let files = log.files.as_deref().unwrap_or_default();
    if position.file.is_empty() {
        return Ok(());
    }
    if is_ahead(position, files) {
        return anew("its files do not reach so far");
    }
    if files.iter().any(|(name, size)| *name == position.file && *size < position.offset) {
        return anew("that file is shorter now");
    }
    match (&log.place, set) {
        (Place::InsideOfAnEvent, _) => anew("no event begins or ends there now"),
        // Behind the set is where a stream by GTID begins to look; ahead of it transactions would be lost.
        (Place::After(there), Some(GtidSet::Mariadb(ours))) => {
            let is_further =
                |ours: MariadbGtid| there.last_of(ours.domain).is_some_and(|theirs| theirs.sequence > ours.sequence);
            if ours.iter().any(is_further) { anew("other transactions stand before that place now") } else { Ok(()) }
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
