//! Masters, workers, and the topology that operators note down.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A node of the control plane.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ClusterMaster {
    /// Its name.
    pub name: String,
    /// Whether it answers.
    pub alive: bool,
    /// Whether it leads.
    pub leader: bool,
    /// Its address.
    #[schema(example = "http://127.0.0.1:8261")]
    pub addr: String,
}

/// A worker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ClusterWorker {
    /// Its name.
    pub name: String,
    /// Its address.
    pub addr: String,
    /// `offline`, `free` (no source) or `bound`.
    #[schema(example = "bound")]
    pub bound_stage: String,
    /// The sources it holds, joined by `,`.
    #[schema(example = "mysql-01")]
    pub bound_source_name: String,
}

macro_rules! named_node {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
        pub struct $name {
            /// Name of the node.
            pub name: String,
            /// Its host.
            pub host: String,
            /// Its port.
            #[schema(format = "int32", minimum = 1, maximum = 65535)]
            pub port: u16,
        }
    };
}

macro_rules! unnamed_node {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
        pub struct $name {
            /// Host of the service.
            pub host: String,
            /// Its port.
            #[schema(format = "int32", minimum = 1, maximum = 65535)]
            pub port: u16,
        }
    };
}

named_node!(
    /// Where a master runs.
    MasterTopology
);
named_node!(
    /// Where a worker runs.
    WorkerTopology
);
unnamed_node!(
    /// Where Grafana runs.
    GrafanaTopology
);
unnamed_node!(
    /// Where Prometheus runs.
    PrometheusTopology
);
unnamed_node!(
    /// Where the alert manager runs.
    AlertManagerTopology
);

/// Where the parts of a deployment run, as noted by its operators. Nothing is derived from it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ClusterTopology {
    /// Masters.
    #[schema(nullable = false)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub master_topology_list: Option<Vec<MasterTopology>>,
    /// Workers.
    #[schema(nullable = false)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker_topology_list: Option<Vec<WorkerTopology>>,
    /// Grafana.
    #[schema(nullable = false)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grafana_topology: Option<GrafanaTopology>,
    /// Prometheus.
    #[schema(nullable = false)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prometheus_topology: Option<PrometheusTopology>,
    /// The alert manager.
    #[schema(nullable = false)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alert_manager_topology: Option<AlertManagerTopology>,
}

/// The cluster's id and noted topology.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct GetClusterInfoResponse {
    /// Made once, by the first leader.
    #[schema(format = "uint64")]
    pub cluster_id: u64,
    /// What operators noted; absent if nothing was.
    #[schema(nullable = false)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topology: Option<ClusterTopology>,
}

/// Masters, in the order of their names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct GetClusterMasterListResponse {
    /// How many `data` has.
    pub total: usize,
    /// The masters.
    pub data: Vec<ClusterMaster>,
}

/// Workers, in the order of their names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct GetClusterWorkerListResponse {
    /// How many `data` has.
    pub total: usize,
    /// The workers.
    pub data: Vec<ClusterWorker>,
}
