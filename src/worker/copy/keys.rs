//! Makes what was put off while rows were copied: secondary keys when a table's rows are there, foreign keys when
//! all tables' are.

use std::time::Duration;

use crate::ledger::LaneSession;
use crate::mysql::Deadline;
use crate::worker::error::Error;

/// Building an index reads the whole table; only a dead server takes longer.
const BUILD_PATIENCE: Duration = Duration::from_secs(24 * 3600);

/// What a server says when an earlier run, which was killed before it could record so, had made the key already:
/// duplicate key name; duplicate foreign key (two ways).
const MADE_ALREADY: [u16; 3] = [1061, 1826, 121];

/// Runs the statements, each of which adds whole keys. One that was made before a crash is no error.
pub async fn make(session: &mut LaneSession, statements: &[String]) -> Result<(), Error> {
    for statement in statements {
        let deadline = Deadline::after(BUILD_PATIENCE);
        match session.connection().run(statement, "making keys", deadline).await {
            Ok(_) => {}
            Err(error) if error.server_code().is_some_and(|code| MADE_ALREADY.contains(&code)) => {}
            // MariaDB reports a foreign key of that name as a failure of the storage engine.
            Err(error) if error.server_code() == Some(1005) && error.to_string().contains("errno: 121") => {}
            Err(cause) => return Err(Error::TargetStatement { statement: statement.clone(), cause }),
        }
    }
    Ok(())
}
