//! Looking into a source's server.

use axum::extract::State;

use crate::api::app::{App, PROBE_DEADLINE};
use crate::api::error::ApiResult;
use crate::api::extract::{Path, SchemaPath, SourcePath};
use crate::api::failures::Refused;
use crate::api::faults;
use crate::api::pretty::Pretty;
use crate::model::wire::{SchemaNameList, TableNameList};
use crate::model::{Endpoint, SourceName};
use crate::probe;
use crate::probe::Deadline;

/// Lists the databases of a source.
///
/// The server's own are among them. Asked of the server, with one deadline.
#[utoipa::path(get, path = "/api/v1/sources/{source-name}/schemas", tag = "source",
    operation_id = "DMAPIGetSourceSchemaList", params(SourcePath),
    responses((status = 200, description = "the databases, by name", body = SchemaNameList), Refused))]
pub async fn list_schemas(State(app): State<App>, Path(path): Path<SourcePath>) -> ApiResult<Pretty<SchemaNameList>> {
    let endpoint = endpoint(&app, path.source_name).await?;
    let names = probe::schemas(&endpoint, Deadline::after(PROBE_DEADLINE)).await.map_err(|error| error.fault())?;
    Ok(Pretty(SchemaNameList(names)))
}

/// Lists the tables of a source's database.
///
/// Views are left out. Asked of the server, with one deadline.
#[utoipa::path(get, path = "/api/v1/sources/{source-name}/schemas/{schema-name}", tag = "source",
    operation_id = "DMAPIGetSourceTableList", params(SchemaPath),
    responses((status = 200, description = "the tables, by name", body = TableNameList), Refused))]
pub async fn list_tables(State(app): State<App>, Path(path): Path<SchemaPath>) -> ApiResult<Pretty<TableNameList>> {
    let endpoint = endpoint(&app, path.source_name).await?;
    let deadline = Deadline::after(PROBE_DEADLINE);
    let names = probe::tables(&endpoint, &path.schema_name, deadline).await.map_err(|error| error.fault())?;
    Ok(Pretty(TableNameList(names)))
}

async fn endpoint(app: &App, name: String) -> ApiResult<Endpoint> {
    let name = SourceName::new(name);
    let record = app.store.source(&name).await?.ok_or_else(|| faults::source_unknown(&name))?;
    Ok(record.endpoint)
}
