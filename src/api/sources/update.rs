//! Changing a source.

use axum::extract::State;

use super::document::{check_source, document, echo, endpoint};
use super::switch::{subtasks_to_start, tasks_of, want_all};
use crate::api::app::{App, PROBE_DEADLINE};
use crate::api::error::ApiResult;
use crate::api::extract::{Json, Path, SourcePath};
use crate::api::failures::Refused;
use crate::api::faults;
use crate::api::pretty::Pretty;
use crate::api::time::now_us;
use crate::model::SourceName;
use crate::model::change::Change;
use crate::model::record::SourceRecord;
use crate::model::subtask::Wanted;
use crate::model::wire::{Source, UpdateSourceRequest};
use crate::probe;
use crate::probe::Deadline;

/// Changes a source.
///
/// Refused while tasks run on it. A password left out or sent as `******` stays, unless host, port or user change.
#[utoipa::path(put, path = "/api/v1/sources/{source-name}", tag = "source", operation_id = "DMAPIUpdateSource",
    params(SourcePath),
    request_body(content = UpdateSourceRequest, description = "the source as it shall be"),
    responses((status = 200, description = "changed", body = Source), Refused))]
pub async fn update_source(
    State(app): State<App>,
    Path(path): Path<SourcePath>,
    Json(request): Json<UpdateSourceRequest>,
) -> ApiResult<Pretty<Source>> {
    let name = SourceName::new(path.source_name);
    let stored = app.store.source(&name).await?.ok_or_else(|| faults::source_unknown(&name))?;
    let source = request.source;
    if source.source_name != name.as_str() {
        return Err(faults::common(
            format!("the body speaks of source {}, and the path of {name}", source.source_name),
            "`source.source_name`: expected the name in the path; a source cannot be renamed",
        )
        .into());
    }
    check_source(&source)?;
    let endpoint = endpoint(&source, Some(&stored.endpoint))?;
    let subtasks = app.store.subtasks_of_source(&name).await?;
    let running = tasks_of(subtasks.iter().filter(|subtask| subtask.wanted == Wanted::Running));
    if !running.is_empty() {
        return Err(faults::source_not_updatable(&name, &running).into());
    }
    let deadline = Deadline::after(PROBE_DEADLINE);
    let server = probe::check_source(&endpoint, source.flavor.as_deref(), source.enable_gtid, deadline)
        .await
        .map_err(|error| error.fault())?;
    let becomes_enabled = source.enable && !stored.enabled;
    let record = SourceRecord {
        enabled: source.enable,
        document: document(&source)?,
        endpoint,
        enable_gtid: source.enable_gtid,
        server,
        updated_us: now_us(),
        ..stored
    };
    let mut changes = vec![Change::UpdateSource(Box::new(record))];
    if becomes_enabled {
        let tasks = app.store.tasks().await?;
        changes.extend(want_all(&subtasks_to_start(&subtasks, &tasks), Wanted::Running));
    }
    app.commit(changes).await?;
    Ok(Pretty(echo(&source)))
}
