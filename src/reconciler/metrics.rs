//! What the reconciler knows, as metrics.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;

use super::Reconciler;
use crate::telemetry::names;

/// Reads the reconciler at each scrape.
pub struct ControlMetrics(Arc<Reconciler>);

impl Reconciler {
    pub fn metrics(self: &Arc<Self>) -> ControlMetrics {
        ControlMetrics(self.clone())
    }
}

impl fmt::Debug for ControlMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ControlMetrics")
    }
}

impl Collector for ControlMetrics {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let starts = ConstCounter::new(self.0.leader_starts.load(Ordering::Relaxed));
        let help = "How often this process became the leader";
        starts.encode(encoder.encode_descriptor(names::LEADER_STARTS, help, None, starts.metric_type())?)?;
        let open = ConstGauge::new(i64::try_from(self.0.memory.cleanups().len()).unwrap_or(i64::MAX));
        let help = "Deleted tasks whose target is not cleaned yet";
        open.encode(encoder.encode_descriptor(names::OPEN_CLEANUPS, help, None, open.metric_type())?)
    }
}
