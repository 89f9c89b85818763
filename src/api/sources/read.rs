//! Reading sources and how they stand.

use axum::extract::State;
use utoipa::IntoParams;

use super::document::view;
use super::status::status_of;
use super::switch::tasks_of;
use crate::api::app::App;
use crate::api::error::{ApiError, ApiResult};
use crate::api::extract::{FromQuery, Path, Query, QueryParameters, SourcePath};
use crate::api::failures::{NotFound, Refused};
use crate::api::faults;
use crate::api::holders::Holders;
use crate::api::page::Page;
use crate::api::pretty::Pretty;
use crate::model::SourceName;
use crate::model::record::{SourceRecord, SubtaskRecord};
use crate::model::wire::{GetSourceListResponse, GetSourceStatusResponse, Source, TaskNameList};

#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct WithStatus {
    /// Add `status_list` and `task_name_list`.
    with_status: Option<bool>,
}

impl FromQuery for WithStatus {
    fn from_query(parameters: &QueryParameters) -> Result<Self, ApiError> {
        Ok(Self { with_status: parameters.boolean("with_status")? })
    }
}

#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct SourceFilter {
    /// Add `status_list` and `task_name_list`.
    with_status: Option<bool>,
    /// Keep sources that workers pull relay logs of, or those that none does.
    enable_relay: Option<bool>,
    #[param(ignore)]
    page: Page,
}

impl FromQuery for SourceFilter {
    fn from_query(parameters: &QueryParameters) -> Result<Self, ApiError> {
        Ok(Self {
            with_status: parameters.boolean("with_status")?,
            enable_relay: parameters.boolean("enable_relay")?,
            page: Page::from_query(parameters)?,
        })
    }
}

/// Lists the sources.
///
/// In the order of their names.
#[utoipa::path(get, path = "/api/v1/sources", tag = "source", operation_id = "DMAPIGetSourceList",
    params(SourceFilter, Page), responses((status = 200, description = "the sources", body = GetSourceListResponse), Refused))]
pub async fn list_sources(
    State(app): State<App>,
    Query(filter): Query<SourceFilter>,
) -> ApiResult<Pretty<GetSourceListResponse>> {
    // No worker pulls relay logs yet.
    let records = if filter.enable_relay == Some(true) { Vec::new() } else { app.store.sources().await? };
    let total = records.len();
    let (records, next_cursor) = filter.page.cut(records, |record| record.name.to_string());
    let mut data = records.iter().map(view).collect::<Result<Vec<_>, _>>()?;
    if filter.with_status == Some(true) {
        let (holders, subtasks) = (Holders::read(&app).await?, app.store.subtasks().await?);
        for (source, record) in data.iter_mut().zip(&records) {
            add_status(source, record, &holders, &subtasks);
        }
    }
    Ok(Pretty(GetSourceListResponse { total, data, next_cursor }))
}

/// Shows a source.
///
/// Its password is never shown.
#[utoipa::path(get, path = "/api/v1/sources/{source-name}", tag = "source", operation_id = "DMAPIGetSource",
    params(SourcePath, WithStatus), responses((status = 200, description = "the source", body = Source), NotFound))]
pub async fn get_source(
    State(app): State<App>,
    Path(path): Path<SourcePath>,
    Query(query): Query<WithStatus>,
) -> ApiResult<Pretty<Source>> {
    let name = SourceName::new(path.source_name);
    let record = app.store.source(&name).await?;
    let record = record.ok_or_else(|| faults::not_found(&faults::source_unknown(&name)))?;
    let mut source = view(&record)?;
    if query.with_status == Some(true) {
        let subtasks = app.store.subtasks_of_source(&name).await?;
        add_status(&mut source, &record, &Holders::read(&app).await?, &subtasks);
    }
    Ok(Pretty(source))
}

/// Shows which worker holds a source.
///
/// One entry; its worker name is empty while there is none.
#[utoipa::path(get, path = "/api/v1/sources/{source-name}/status", tag = "source",
    operation_id = "DMAPIGetSourceStatus", params(SourcePath),
    responses((status = 200, description = "the status", body = GetSourceStatusResponse), Refused))]
pub async fn get_status(
    State(app): State<App>,
    Path(path): Path<SourcePath>,
) -> ApiResult<Pretty<GetSourceStatusResponse>> {
    let name = SourceName::new(path.source_name);
    if app.store.source(&name).await?.is_none() {
        return Err(faults::source_unknown(&name).into());
    }
    let data = vec![status_of(&name, &Holders::read(&app).await?)];
    Ok(Pretty(GetSourceStatusResponse { total: data.len(), data }))
}

fn add_status(source: &mut Source, record: &SourceRecord, holders: &Holders, subtasks: &[SubtaskRecord]) {
    let tasks = tasks_of(subtasks.iter().filter(|subtask| subtask.id.source == record.name));
    source.task_name_list = Some(tasks.iter().map(ToString::to_string).collect::<TaskNameList>());
    source.status_list = Some(vec![status_of(&record.name, holders)]);
}
