//! What is known of a source's worker. Pure.

use crate::api::faults::{source_without_worker, worker_not_heard};
use crate::api::holders::{Holder, Holders};
use crate::model::SourceName;
use crate::model::wire::SourceStatus;

/// One entry: the worker that holds the source, or none.
pub fn status_of(source: &SourceName, holders: &Holders) -> SourceStatus {
    let (worker_name, error) = match holders.of(source) {
        Holder::Nobody => (String::new(), Some(source_without_worker(source))),
        Holder::Silent(worker) => (worker.to_string(), Some(worker_not_heard(worker))),
        Holder::Heard(worker) => (worker.to_string(), None),
    };
    SourceStatus {
        source_name: source.to_string(),
        worker_name,
        relay_status: None,
        error_msg: error.map(|fault| format!("{fault}.\n")),
    }
}
