//! Making a source.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};

use super::document::{check_source, document, echo, endpoint};
use crate::api::app::{App, PROBE_DEADLINE};
use crate::api::error::ApiResult;
use crate::api::extract::Json;
use crate::api::failures::Refused;
use crate::api::faults;
use crate::api::names::source_name;
use crate::api::pretty::Pretty;
use crate::api::time::now_us;
use crate::model::change::Change;
use crate::model::record::{Assignment, SourceRecord};
use crate::model::wire::{CreateSourceRequest, Source};
use crate::model::{SourceName, WorkerName};
use crate::probe;
use crate::probe::Deadline;

/// Creates a source.
///
/// Its server is connected to first, and its family and version are found out.
#[utoipa::path(post, path = "/api/v1/sources", tag = "source", operation_id = "DMAPICreateSource",
    request_body(content = CreateSourceRequest, description = "the source"),
    responses((status = 201, description = "created", body = Source), Refused))]
pub async fn create_source(State(app): State<App>, Json(request): Json<CreateSourceRequest>) -> ApiResult<Response> {
    let source = request.source;
    let name = source_name(&source.source_name)?;
    check_source(&source)?;
    let endpoint = endpoint(&source, None)?;
    if app.store.source(&name).await?.is_some() {
        return Err(faults::source_exists(&name).into());
    }
    let assignment = match &request.worker_name {
        None => None,
        Some(worker) => Some(assignment(&app, &name, &WorkerName::new(worker)).await?),
    };
    let deadline = Deadline::after(PROBE_DEADLINE);
    let server = probe::check_source(&endpoint, source.flavor.as_deref(), source.enable_gtid, deadline)
        .await
        .map_err(|error| error.fault())?;
    let now_us = now_us();
    let record = SourceRecord {
        name,
        revision: 0,
        enabled: source.enable,
        document: document(&source)?,
        endpoint,
        enable_gtid: source.enable_gtid,
        server,
        created_us: now_us,
        updated_us: now_us,
    };
    let name = record.name.clone();
    let mut changes = vec![Change::InsertSource(Box::new(record))];
    changes.extend(assignment.map(Change::Assign));
    app.commit(changes).await?;
    app.wait_until_placed(&[name]).await?;
    Ok((StatusCode::CREATED, Pretty(echo(&source))).into_response())
}

/// The source shall go to this worker, which must have room.
async fn assignment(app: &App, source: &SourceName, worker: &WorkerName) -> ApiResult<Assignment> {
    let status = app.registry.worker(worker).ok_or_else(|| faults::worker_unknown(worker))?;
    let held = app.store.assignments().await?.iter().filter(|assignment| &assignment.worker == worker).count();
    let has_room = u32::try_from(held).is_ok_and(|held| held < status.record.capacity);
    if !status.state.is_in_office() || !has_room {
        return Err(faults::worker_not_free(worker).into());
    }
    Ok(Assignment {
        source: source.clone(),
        worker: worker.clone(),
        worker_epoch: status.record.epoch,
        assigned_us: now_us(),
    })
}
