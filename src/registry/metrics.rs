//! What the registry knows, as metrics.

use std::fmt;
use std::sync::Arc;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;

use super::{MasterClock, Registry, Seen};
use crate::model::SourcePosition;
use crate::model::report::{Outcome, RunState, SubtaskReport};
use crate::telemetry::names;

/// Reads the registry at each scrape.
pub struct WorkMetrics {
    pub registry: Arc<Registry>,
    pub clock: MasterClock,
}

impl fmt::Debug for WorkMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WorkMetrics")
    }
}

type Labels<'a> = Vec<(&'static str, &'a str)>;

fn family<'a, M: EncodeMetric>(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    kind: MetricType,
    members: impl Iterator<Item = (Labels<'a>, M)>,
) -> fmt::Result {
    let mut members = members.peekable();
    if members.peek().is_none() {
        return Ok(());
    }
    let mut metric = encoder.encode_descriptor(name, help, None, kind)?;
    for (labels, value) in members {
        value.encode(metric.encode_family(&labels)?)?;
    }
    Ok(())
}

fn labels(seen: &Seen) -> Labels<'_> {
    let id = &seen.report.id;
    vec![("task", id.task.as_str()), ("source_id", id.source.as_str()), ("worker", seen.worker.as_str())]
}

/// DM's numbers.
fn state(report: &SubtaskReport) -> i64 {
    match (report.state, &report.outcome) {
        (RunState::Initializing | RunState::Running | RunState::Closing, _) => 2,
        (RunState::Closed, Some(Outcome::Finished)) => 5,
        (RunState::Closed, Some(Outcome::Stopped | Outcome::Failed)) => 3,
        (RunState::Closed, Some(Outcome::NeverRun)) => 4,
        (RunState::Closed, None) => 0,
    }
}

impl Collector for WorkMetrics {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let seen: Vec<Seen> = self.registry.all_seen().into_values().collect();
        let workers = self.registry.workers();
        let now_us = self.clock.now_us();
        let encoder = &mut encoder;
        family(
            encoder,
            names::WORKER_STATE,
            "Whether a worker is in office",
            MetricType::Gauge,
            workers.iter().map(|worker| {
                let in_office = i64::from(worker.state.is_in_office());
                (vec![("worker", worker.record.name.as_str())], ConstGauge::new(in_office))
            }),
        )?;
        family(
            encoder,
            names::TASK_STATE,
            "0 unknown, 1 new, 2 running, 3 paused, 4 stopped, 5 finished",
            MetricType::Gauge,
            seen.iter().map(|seen| (labels(seen), ConstGauge::new(state(&seen.report)))),
        )?;
        family(
            encoder,
            names::REPORT_AGE,
            "How old what is known of a subtask is",
            MetricType::Gauge,
            seen.iter().map(|seen| {
                let micros = u32::try_from(seen.age_us(now_us)).unwrap_or(u32::MAX);
                (labels(seen), ConstGauge::new(f64::from(micros) / 1e6))
            }),
        )?;
        encode_copy(encoder, &seen)?;
        encode_replication(encoder, &seen)
    }
}

fn encode_copy(encoder: &mut DescriptorEncoder<'_>, seen: &[Seen]) -> fmt::Result {
    let copies = || seen.iter().filter_map(|seen| Some((seen, seen.report.load.as_ref()?)));
    family(
        encoder,
        names::COPIED_ROWS,
        "Rows copied",
        MetricType::Gauge,
        copies().map(|(seen, load)| (labels(seen), ConstGauge::new(load.finished_rows))),
    )?;
    family(
        encoder,
        names::ESTIMATED_ROWS,
        "Rows to copy, by the source's statistics",
        MetricType::Gauge,
        copies().map(|(seen, load)| (labels(seen), ConstGauge::new(load.estimated_rows))),
    )
}

fn encode_replication(encoder: &mut DescriptorEncoder<'_>, seen: &[Seen]) -> fmt::Result {
    let syncs = || seen.iter().filter_map(|seen| Some((seen, seen.report.sync.as_ref()?)));
    family(
        encoder,
        names::LAG,
        "Seconds behind the source",
        MetricType::Gauge,
        syncs().map(|(seen, sync)| (labels(seen), ConstGauge::new(sync.lag_seconds))),
    )?;
    family(
        encoder,
        names::TRANSACTIONS,
        "Source transactions applied since the run was opened",
        MetricType::Counter,
        syncs().map(|(seen, sync)| (labels(seen), ConstCounter::new(sync.applied_transactions))),
    )?;
    family(
        encoder,
        names::ROW_CHANGES,
        "Row changes applied since the run was opened",
        MetricType::Counter,
        syncs().map(|(seen, sync)| (labels(seen), ConstCounter::new(sync.applied_rows))),
    )?;
    let positions: Vec<(Labels<'_>, &SourcePosition)> = syncs()
        .flat_map(|(seen, sync)| {
            [("master", &sync.source_position), ("syncer", &sync.applied_position)]
                .into_iter()
                .filter_map(move |(node, position)| Some((node_labels(node, seen), position.as_ref()?)))
        })
        .collect();
    family(
        encoder,
        names::BINLOG_POSITION,
        "Offset in the binlog file",
        MetricType::Gauge,
        positions.iter().map(|(labels, position)| (labels.clone(), ConstGauge::new(position.binlog.offset))),
    )?;
    family(
        encoder,
        names::BINLOG_FILE,
        "The number at the end of the binlog file's name",
        MetricType::Gauge,
        positions.iter().map(|(labels, position)| (labels.clone(), ConstGauge::new(position.binlog.file_number()))),
    )
}

fn node_labels<'a>(node: &'static str, seen: &'a Seen) -> Labels<'a> {
    let id = &seen.report.id;
    vec![("node", node), ("task", id.task.as_str()), ("source_id", id.source.as_str())]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::report::SyncProgress;
    use crate::model::{BinlogPosition, Epoch, WorkerName};
    use crate::registry::tests::{id, record, registry, report, subtask};
    use crate::telemetry::Metrics;

    #[test]
    fn what_is_seen_is_scraped_and_what_is_forgotten_is_not() {
        let registry = Arc::new(registry());
        registry.register(record("w", 1), 0);
        let mut running = subtask("t", 1, RunState::Running);
        let position = SourcePosition { binlog: BinlogPosition::new("bin.000007", 99), gtid: None };
        running.sync = Some(SyncProgress {
            lag_seconds: 4,
            applied_transactions: 12,
            applied_position: Some(position),
            ..SyncProgress::default()
        });
        registry.report(report("w", 1, vec![running]), 0);
        let metrics = Metrics::default();
        metrics.add(WorkMetrics { registry: registry.clone(), clock: MasterClock::start() });
        let text = metrics.text().unwrap();
        for line in [
            r#"dm_master_worker_state{worker="w"} 1"#,
            r#"dm_worker_task_state{task="t",source_id="s",worker="w"} 2"#,
            r#"dm_syncer_replication_lag_gauge{task="t",source_id="s",worker="w"} 4"#,
            r#"dm_syncer_finished_transaction_total{task="t",source_id="s",worker="w"} 12"#,
            r#"dm_syncer_binlog_file{node="syncer",task="t",source_id="s"} 7"#,
            r#"dm_syncer_binlog_pos{node="syncer",task="t",source_id="s"} 99"#,
        ] {
            assert!(text.lines().any(|present| present == line), "{line}\n{text}");
        }
        registry.forget(&id("t"));
        registry.register(record("w", 2), 0);
        assert!(!metrics.text().unwrap().contains("task="));
        assert_eq!(registry.worker(&WorkerName::new("w")).unwrap().record.epoch, Epoch(2));
    }
}
