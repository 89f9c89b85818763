//! Masters, workers, and the topology that operators note down.

use std::collections::BTreeMap;

use axum::extract::State;
use axum::http::StatusCode;
use serde::Deserialize;
use utoipa::IntoParams;

use super::app::App;
use super::error::ApiResult;
use super::extract::{Json, Path};
use super::failures::Refused;
use super::faults;
use super::pretty::Pretty;
use crate::model::change::Change;
use crate::model::record::Assignment;
use crate::model::wire::{
    ClusterMaster, ClusterTopology, ClusterWorker, GetClusterInfoResponse, GetClusterMasterListResponse,
    GetClusterWorkerListResponse,
};
use crate::model::{SourceName, WorkerName};
use crate::registry::WorkerState;

/// Under which name the metastore keeps the noted topology.
const TOPOLOGY: &str = "topology";

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct MasterPath {
    /// Name of the master.
    #[serde(rename = "master-name")]
    #[param(example = "master-1")]
    master_name: String,
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct WorkerPath {
    /// Name of the worker.
    #[serde(rename = "worker-name")]
    #[param(example = "worker-1")]
    worker_name: String,
}

/// Shows the cluster's id and noted topology.
#[utoipa::path(get, path = "/api/v1/cluster/info", tag = "cluster", operation_id = "DMAPIGetClusterInfo",
    responses((status = 200, description = "the cluster", body = GetClusterInfoResponse), Refused))]
pub async fn get_info(State(app): State<App>) -> ApiResult<Pretty<GetClusterInfoResponse>> {
    let topology = app.store.cluster_fact(TOPOLOGY).await?.map(|text| {
        serde_json::from_str(&text).map_err(|error| {
            faults::common("the stored topology cannot be understood", "note it down again with a PUT")
                .with_cause(error)
        })
    });
    Ok(Pretty(GetClusterInfoResponse { cluster_id: app.store.cluster_id().await?, topology: topology.transpose()? }))
}

/// Notes the topology down.
///
/// It replaces what was noted before. Nothing is derived from it.
#[utoipa::path(put, path = "/api/v1/cluster/info", tag = "cluster", operation_id = "DMAPIUpdateClusterInfo",
    request_body(content = ClusterTopology, description = "the topology"),
    responses((status = 200, description = "noted", body = GetClusterInfoResponse), Refused))]
pub async fn update_info(
    State(app): State<App>,
    Json(topology): Json<ClusterTopology>,
) -> ApiResult<Pretty<GetClusterInfoResponse>> {
    let value = serde_json::to_string(&topology).map_err(|error| {
        faults::common("the topology cannot be written down", "please report this").with_cause(error)
    })?;
    app.commit(vec![Change::SetCluster { name: TOPOLOGY.to_owned(), value }]).await?;
    Ok(Pretty(GetClusterInfoResponse { cluster_id: app.store.cluster_id().await?, topology: Some(topology) }))
}

/// Lists the masters.
#[utoipa::path(get, path = "/api/v1/cluster/masters", tag = "cluster", operation_id = "DMAPIGetClusterMasterList",
    responses((status = 200, description = "the masters", body = GetClusterMasterListResponse), Refused))]
pub async fn list_masters(State(app): State<App>) -> Pretty<GetClusterMasterListResponse> {
    let leader = app.leads();
    let data =
        vec![ClusterMaster { name: app.master.name.clone(), alive: true, leader, addr: app.master.address.clone() }];
    Pretty(GetClusterMasterListResponse { total: data.len(), data })
}

/// Takes a master out of the cluster.
///
/// The one that leads cannot be taken out.
#[utoipa::path(delete, path = "/api/v1/cluster/masters/{master-name}", tag = "cluster",
    operation_id = "DMAPIOfflineMasterNode", params(MasterPath),
    responses((status = 204, description = "taken out"), Refused))]
pub async fn delete_master(State(app): State<App>, Path(path): Path<MasterPath>) -> ApiResult<StatusCode> {
    if path.master_name == app.master.name {
        return Err(faults::common(
            format!("master {} leads, and is the only one", path.master_name),
            "shut the process down instead",
        )
        .into());
    }
    Err(faults::master_unknown(&path.master_name).into())
}

/// Lists the workers.
///
/// In the order of their names.
#[utoipa::path(get, path = "/api/v1/cluster/workers", tag = "cluster", operation_id = "DMAPIGetClusterWorkerList",
    responses((status = 200, description = "the workers", body = GetClusterWorkerListResponse), Refused))]
pub async fn list_workers(State(app): State<App>) -> ApiResult<Pretty<GetClusterWorkerListResponse>> {
    let held = held(app.store.assignments().await?);
    let mut data: Vec<ClusterWorker> = Vec::new();
    for record in app.store.workers().await? {
        let sources: Vec<&str> = held.get(&record.name).into_iter().flatten().map(SourceName::as_str).collect();
        let bound_stage = match (is_online(&app, &record.name), sources.is_empty()) {
            (false, _) => "offline",
            (true, true) => "free",
            (true, false) => "bound",
        };
        data.push(ClusterWorker {
            name: record.name.to_string(),
            addr: record.address,
            bound_stage: bound_stage.to_owned(),
            bound_source_name: sources.join(","),
        });
    }
    data.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(Pretty(GetClusterWorkerListResponse { total: data.len(), data }))
}

/// Forgets a worker.
///
/// Refused while it is online.
#[utoipa::path(delete, path = "/api/v1/cluster/workers/{worker-name}", tag = "cluster",
    operation_id = "DMAPIOfflineWorkerNode", params(WorkerPath),
    responses((status = 204, description = "forgotten"), Refused))]
pub async fn delete_worker(State(app): State<App>, Path(path): Path<WorkerPath>) -> ApiResult<StatusCode> {
    let name = WorkerName::new(path.worker_name);
    if app.store.workers().await?.iter().all(|record| record.name != name) {
        return Err(faults::worker_unknown(&name).into());
    }
    if app.registry.worker(&name).is_some_and(|worker| worker.state.is_in_office()) {
        return Err(faults::worker_online(&name).into());
    }
    app.commit(vec![Change::RemoveWorker { name: name.clone() }]).await?;
    app.registry.forget_worker(&name);
    Ok(StatusCode::NO_CONTENT)
}

fn is_online(app: &App, name: &WorkerName) -> bool {
    app.registry.worker(name).is_some_and(|worker| worker.state == WorkerState::Online)
}

fn held(assignments: Vec<Assignment>) -> BTreeMap<WorkerName, Vec<SourceName>> {
    let mut held: BTreeMap<WorkerName, Vec<SourceName>> = BTreeMap::new();
    for assignment in assignments {
        held.entry(assignment.worker).or_default().push(assignment.source);
    }
    held.values_mut().for_each(|sources| sources.sort_unstable());
    held
}
