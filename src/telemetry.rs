//! Logs and metrics: how they are set up, and what metrics are called.
//!
//! A log line is readable alone and findable by field. Metrics are read from what is known anyway at the moment of a
//! scrape, so those of a deleted task are gone with it. DM's names stand where DM has a metric of that meaning.

use std::io::IsTerminal as _;

use parking_lot::RwLock;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;
use tracing_subscriber::EnvFilter;

use crate::config::{LogFormat, LogSettings};

/// What metrics are called.
pub mod names {
    /// 1: in office, 0: lost or gone. Labels: worker.
    pub const WORKER_STATE: &str = "dm_master_worker_state";
    /// 0 unknown, 1 new, 2 running, 3 paused, 4 stopped, 5 finished. Labels: task, `source_id`, worker.
    pub const TASK_STATE: &str = "dm_worker_task_state";
    /// How often this process became the leader.
    pub const LEADER_STARTS: &str = "dm_master_start_leader_counter";
    /// Seconds. Labels: task, `source_id`, worker.
    pub const LAG: &str = "dm_syncer_replication_lag_gauge";
    /// Offset in the binlog file. Labels: node (master: the source's end; syncer: surely applied), task, `source_id`.
    pub const BINLOG_POSITION: &str = "dm_syncer_binlog_pos";
    /// The number at the end of the binlog file's name. Labels as of the position.
    pub const BINLOG_FILE: &str = "dm_syncer_binlog_file";
    /// Source transactions applied since the run was opened. Labels: task, worker, `source_id`.
    pub const TRANSACTIONS: &str = "dm_syncer_finished_transaction";
    /// Row changes applied since the run was opened. Labels: task, worker, `source_id`.
    pub const ROW_CHANGES: &str = "ferrymaster_replicated_row_changes";
    /// Rows copied since the copy began. Labels: task, worker, `source_id`.
    pub const COPIED_ROWS: &str = "ferrymaster_copied_rows";
    /// Rows to copy, by the source's statistics. Labels: task, worker, `source_id`.
    pub const ESTIMATED_ROWS: &str = "ferrymaster_copy_estimated_rows";
    /// How old what is known of a subtask is. Labels: task, worker, `source_id`.
    pub const REPORT_AGE: &str = "ferrymaster_subtask_report_age_seconds";
    /// Deleted tasks whose target is not cleaned yet.
    pub const OPEN_CLEANUPS: &str = "ferrymaster_open_cleanups";
}

/// Everything that can be scraped.
#[derive(Debug, Default)]
pub struct Metrics {
    registry: RwLock<Registry>,
}

impl Metrics {
    /// The content type of [`Metrics::text`].
    pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

    pub fn add(&self, collector: impl Collector) {
        self.registry.write().register_collector(Box::new(collector));
    }

    /// All metrics now, in OpenMetrics text.
    pub fn text(&self) -> Result<String, std::fmt::Error> {
        let mut text = String::new();
        encode(&mut text, &self.registry.read())?;
        Ok(text)
    }
}

#[derive(Debug, thiserror::Error)]
pub enum LogError {
    #[error("`log_level` is not understood")]
    Filter(#[source] tracing_subscriber::filter::ParseError),
    #[error("logging is set up already")]
    SetUp(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// Begins to log, to standard error. Once for a process.
pub fn begin_logging(settings: &LogSettings) -> Result<(), LogError> {
    let filter = EnvFilter::try_new(directives(&settings.filter)).map_err(LogError::Filter)?;
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    let begun = match settings.format {
        LogFormat::Terminal => log.with_ansi(std::io::stderr().is_terminal()).with_target(false).try_init(),
        LogFormat::Json => log.json().flatten_event(true).try_init(),
    };
    begun.map_err(LogError::SetUp)
}

/// The driver tells of every refused statement as an error of its own. Ours are told once, where they are handled; so it
/// is silent unless it is asked for by name.
fn directives(filter: &str) -> String {
    if filter.contains("mysql_async") { filter.to_owned() } else { format!("{filter},mysql_async=off") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_driver_is_silent_unless_it_is_asked_for() {
        assert_eq!(directives("info"), "info,mysql_async=off");
        assert_eq!(directives("warn,mysql_async=debug"), "warn,mysql_async=debug");
        EnvFilter::try_new(directives("ferrymaster::worker=debug,info")).unwrap();
    }
}
