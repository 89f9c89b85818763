//! Whether a server can be reached, and what it is.

use super::{ProbeError, Side};
use crate::model::record::ServerFacts;
use crate::model::{Endpoint, Flavor};
use crate::mysql::{Connection, Deadline, Purpose, Server};

/// Connects to a source; fails if it is of another family than `flavor` says, or has no GTIDs although they are to
/// be used.
pub async fn check_source(
    endpoint: &Endpoint,
    flavor: Option<&str>,
    enable_gtid: bool,
    deadline: Deadline,
) -> Result<ServerFacts, ProbeError> {
    let mut connection = open(endpoint, Side::Source, deadline).await?;
    let facts = facts_of(connection.server());
    let found = connection.server().flavor;
    if let Some(wanted) = flavor.filter(|wanted| !wanted.is_empty() && !wanted.eq_ignore_ascii_case(found.as_str())) {
        return Err(ProbeError::OtherFlavor { found: found.as_str(), wanted: wanted.to_owned() });
    }
    if enable_gtid && found == Flavor::MySql {
        let row = connection
            .first_row("SELECT @@GLOBAL.gtid_mode AS mode", "reading gtid_mode", deadline)
            .await
            .map_err(|cause| ProbeError::Ask { side: Side::Source, cause })?;
        let mode = row.text("mode").map_err(|cause| ProbeError::Ask { side: Side::Source, cause })?;
        if !mode.eq_ignore_ascii_case("ON") {
            return Err(ProbeError::GtidModeOff { server: endpoint.to_string(), found: mode });
        }
    }
    connection.close(deadline).await;
    Ok(facts)
}

/// Connects to a target.
pub async fn check_target(endpoint: &Endpoint, deadline: Deadline) -> Result<ServerFacts, ProbeError> {
    let connection = open(endpoint, Side::Target, deadline).await?;
    let facts = facts_of(connection.server());
    connection.close(deadline).await;
    Ok(facts)
}

/// A session for questions.
pub(super) async fn open(endpoint: &Endpoint, side: Side, deadline: Deadline) -> Result<Connection, ProbeError> {
    Connection::open(endpoint, Purpose::Asking, deadline).await.map_err(|cause| ProbeError::Connect { side, cause })
}

fn facts_of(server: &Server) -> ServerFacts {
    ServerFacts {
        flavor: server.flavor,
        version: server.version_text.clone(),
        names_ignore_case: server.names_ignore_case(),
    }
}
