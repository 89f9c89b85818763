//! Times that a user wrote by a source's own clock.

use super::connection::open;
use super::{ProbeError, Side};
use crate::model::Endpoint;
use crate::mysql::{Deadline, string_literal};

/// Microseconds since 1970 of `YYYY-MM-DD hh:mm:ss` in the server's time zone, daylight saving of that day included.
pub async fn local_time(endpoint: &Endpoint, text: &str, deadline: Deadline) -> Result<i64, ProbeError> {
    let ask = |cause| ProbeError::Ask { side: Side::Source, cause };
    let mut connection = open(endpoint, Side::Source, deadline).await?;
    let doing = "asking what time it was at the source";
    connection.run("SET SESSION time_zone = @@GLOBAL.time_zone", doing, deadline).await.map_err(ask)?;
    let statement = format!("SELECT UNIX_TIMESTAMP({}) AS seconds", string_literal(text));
    let row = connection.first_row(&statement, doing, deadline).await.map_err(ask)?;
    // Servers print a fraction for some arguments; whole seconds were given.
    let seconds = row.text("seconds").map_err(ask)?;
    connection.close(deadline).await;
    let whole = seconds.split('.').next().and_then(|whole| whole.parse::<i64>().ok()).unwrap_or(0);
    if whole <= 0 {
        return Err(ProbeError::NoTimestamp(text.to_owned()));
    }
    Ok(whole.saturating_mul(1_000_000))
}
