//! Which databases and tables a source has, as its account sees them.

use super::connection::open;
use super::{ProbeError, Side};
use crate::model::Endpoint;
use crate::mysql::{Deadline, Error, Row, identifier};

/// The server's number for an unknown database.
const UNKNOWN_DATABASE: u16 = 1049;

/// All databases, the server's own included, in the order of their names.
pub async fn schemas(endpoint: &Endpoint, deadline: Deadline) -> Result<Vec<String>, ProbeError> {
    let mut connection = open(endpoint, Side::Source, deadline).await?;
    let rows = connection.rows("SHOW DATABASES", "listing databases", deadline).await.map_err(ask)?;
    let mut names = first_column(&rows).map_err(ask)?;
    names.sort_unstable();
    connection.close(deadline).await;
    Ok(names)
}

/// The tables of a database, without its views, in the order of their names.
pub async fn tables(endpoint: &Endpoint, schema: &str, deadline: Deadline) -> Result<Vec<String>, ProbeError> {
    let mut connection = open(endpoint, Side::Source, deadline).await?;
    let statement = format!("SHOW FULL TABLES IN {}", identifier(schema));
    let rows = connection.rows(&statement, "listing tables", deadline).await.map_err(|cause| {
        if cause.server_code() == Some(UNKNOWN_DATABASE) {
            ProbeError::UnknownSchema(schema.to_owned())
        } else {
            ask(cause)
        }
    })?;
    let mut names = Vec::with_capacity(rows.len());
    for row in &rows {
        let kind = row.text("Table_type").map_err(ask)?;
        if !kind.to_ascii_uppercase().ends_with("VIEW") {
            // The column's name holds the database's; its place is fixed.
            names.push(row.text_at(0).map_err(ask)?);
        }
    }
    names.sort_unstable();
    connection.close(deadline).await;
    Ok(names)
}

fn first_column(rows: &[Row]) -> Result<Vec<String>, Error> {
    rows.iter().map(|row| row.text_at(0)).collect()
}

fn ask(cause: Error) -> ProbeError {
    ProbeError::Ask { side: Side::Source, cause }
}
