//! Opening a run: rules are compiled, both servers looked at, and the target taken over.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::error::Error;
use crate::catalogue::Settings;
use crate::filter::Filter;
use crate::ledger::{CONTROL_LANE, Found, LaneSession, Ledger};
use crate::model::subtask::SubtaskConfig;
use crate::model::{Flavor, Generation, SubtaskId};
use crate::mysql::{Connection, Deadline, Purpose, Server};
use crate::replicate::ddl::environment::SourceFacts;
use crate::replicate::sides::{Sides, known_collations};
use crate::route::Router;

/// A run that is open: nothing is read or written yet.
pub struct Opened {
    pub filter: Arc<Filter>,
    pub router: Arc<Router>,
    pub sides: Arc<Sides>,
    pub facts: SourceFacts,
    pub source: SourceState,
    pub ledger: Ledger,
    pub found: Found,
    pub control: LaneSession,
}

/// What the source said of itself.
#[derive(Debug, Clone)]
pub struct SourceState {
    pub server: Server,
    /// The server's UUID, or its id and GTID domain.
    pub identity: String,
    pub has_binlog: bool,
    /// Server id of the source itself.
    pub server_id: u32,
    /// How far its clock is ahead of ours.
    pub clock_offset_us: i64,
}

/// Opens everything within the deadline.
pub async fn open(
    id: &SubtaskId,
    generation: Generation,
    config: &SubtaskConfig,
    deadline: Deadline,
) -> Result<Opened, Error> {
    let rules = |why: String| Error::Rules { why };
    let filter = Filter::new(&config.rules, config.names_ignore_case)
        .map_err(|error| rules(error.to_string()))?
        .without_schema(config.meta_schema.clone());
    let router = Router::new(&config.rules, config.names_ignore_case).map_err(|error| rules(error.to_string()))?;
    let (source, facts) = look_at_source(config, deadline).await?;
    let (ledger, found) =
        Ledger::take_over(&config.target, &config.meta_schema, config.ledger_id, generation, id, deadline).await?;
    let mut control = LaneSession::open(&ledger, CONTROL_LANE, deadline).await?;
    let target = control.connection().server().clone();
    let sides = Sides {
        source: facts.settings.clone(),
        target: settings_of(&target),
        collation_map: canonical_map(&config.collation_map),
        known_collations: known_collations(control.connection(), deadline).await?,
    };
    Ok(Opened {
        filter: Arc::new(filter),
        router: Arc::new(router),
        sides: Arc::new(sides),
        facts,
        source,
        ledger,
        found,
        control,
    })
}

fn canonical_map(map: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    map.iter().map(|(from, to)| (crate::catalogue::charset::canonical(from), to.clone())).collect()
}

fn settings_of(server: &Server) -> Settings {
    let mut settings = Settings::new(server.flavor, server.version);
    settings.server_collation = crate::catalogue::Collation::new(&server.default_collation);
    settings
}

async fn look_at_source(config: &SubtaskConfig, deadline: Deadline) -> Result<(SourceState, SourceFacts), Error> {
    let failed = |doing| move |cause| Error::Source { doing, cause };
    let mut connection =
        Connection::open(&config.source, Purpose::Asking, deadline).await.map_err(failed("open a session"))?;
    let server = connection.server().clone();
    let doing = "reading the server's settings";
    let identity = identity(&mut connection, deadline).await.map_err(failed("read the settings"))?;
    let read = failed("read the settings");
    // The session's zone is UTC; the difference of the system's zone is asked for by its name.
    let sql = "SELECT @@log_bin AS log_bin, @@server_id AS server_id, \
               CAST(UNIX_TIMESTAMP(NOW(6)) * 1000000 AS UNSIGNED) AS now_us";
    let row = connection.first_row(sql, doing, deadline).await.map_err(read)?;
    let now_us: i64 = row.number("now_us").map_err(failed("read the clock"))?;
    let has_binlog = row.number::<u8>("log_bin").map_err(failed("read the settings"))? != 0;
    let server_id = row.number("server_id").map_err(failed("read the settings"))?;
    let system_time_zone = system_time_zone(&mut connection, deadline).await?;
    let collations = collations(&mut connection, deadline).await?;
    connection.close(deadline.at_most(Duration::from_millis(500))).await;
    let facts = SourceFacts { settings: settings_of(&server), collations, system_time_zone };
    let clock_offset_us = now_us - our_clock_us();
    Ok((SourceState { server, identity, has_binlog, server_id, clock_offset_us }, facts))
}

/// What tells a server from others; see [`SourceState::identity`].
pub async fn identity(connection: &mut Connection, deadline: Deadline) -> Result<String, crate::mysql::Error> {
    let sql = match connection.server().flavor {
        Flavor::MySql => "SELECT @@server_uuid AS identity",
        Flavor::MariaDb => "SELECT CONCAT('server-', @@server_id, ' domain-', @@gtid_domain_id) AS identity",
    };
    connection.first_row(sql, "asking who the server is", deadline).await?.text("identity")
}

/// The offset of the server's system time zone, as `+02:00`.
async fn system_time_zone(connection: &mut Connection, deadline: Deadline) -> Result<String, Error> {
    let failed = |cause| Error::Source { doing: "read the time zone", cause };
    let sql = "SELECT TIMESTAMPDIFF(MINUTE, UTC_TIMESTAMP(), NOW()) AS minutes";
    let doing = "reading the time zone";
    connection.run("SET SESSION time_zone='SYSTEM'", doing, deadline).await.map_err(failed)?;
    let row = connection.first_row(sql, doing, deadline).await.map_err(failed)?;
    connection.run("SET SESSION time_zone='+00:00'", doing, deadline).await.map_err(failed)?;
    let minutes: i64 = row.number("minutes").map_err(failed)?;
    let (sign, minutes) = if minutes < 0 { ('-', -minutes) } else { ('+', minutes) };
    Ok(format!("{sign}{:02}:{:02}", minutes / 60, minutes % 60))
}

/// Names of collations by their number.
async fn collations(connection: &mut Connection, deadline: Deadline) -> Result<BTreeMap<u16, String>, Error> {
    let failed = |cause| Error::Source { doing: "list the collations", cause };
    let doing = "listing collations";
    let contextual = connection.server().flavor == Flavor::MariaDb && connection.server().version >= 101_000;
    let sql = if contextual {
        // Where one name stands for several character sets, this view has each with its number.
        "SELECT id AS id, full_collation_name AS name FROM information_schema.collation_character_set_applicability"
    } else {
        "SELECT id AS id, collation_name AS name FROM information_schema.collations"
    };
    let mut names = BTreeMap::new();
    for row in connection.rows(sql, doing, deadline).await.map_err(failed)? {
        if let Some(id) = row.optional_number::<u16>("id").map_err(failed)? {
            names.insert(id, row.text("name").map_err(failed)?);
        }
    }
    Ok(names)
}

pub fn our_clock_us() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}
