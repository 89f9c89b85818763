//! A source on the wire and as it is stored.

use serde_json::Value;

use crate::api::endpoint::SentEndpoint;
use crate::api::faults::common;
use crate::error::{Fault, codes};
use crate::model::Endpoint;
use crate::model::record::SourceRecord;
use crate::model::wire::{Purge, RelayConfig, Secret, Source};

const FLAVORS: &[&str] = &["", "mysql", "mariadb"];

/// Checks what can be checked by looking at the source alone.
pub fn check_source(source: &Source) -> Result<(), Fault> {
    if let Some(flavor) = source.flavor.as_deref().filter(|flavor| !FLAVORS.contains(flavor)) {
        return Err(codes::FLAVOR_NOT_SUPPORTED
            .fault(format!("flavor {flavor} is not supported"))
            .with_workaround("`source.flavor`: expected `mysql` or `mariadb`; left out, it is found out"));
    }
    if source.relay_config.as_ref().and_then(|relay| relay.enable_relay) == Some(true) {
        return Err(common("relay logs are not built yet", "leave `source.relay_config.enable_relay` out, or false"));
    }
    Ok(())
}

/// The endpoint that a source's fields say, with secrets that were not sent taken from the stored one.
pub fn endpoint(source: &Source, stored: Option<&Endpoint>) -> Result<Endpoint, Fault> {
    SentEndpoint {
        field: "source",
        host: &source.host,
        port: source.port,
        user: &source.user,
        password: source.password.as_ref(),
        security: source.security.as_ref(),
    }
    .resolve(stored)
}

/// What is stored of what the client sent: all but its secrets and what only answers have.
pub fn document(source: &Source) -> Result<Value, Fault> {
    let source = Source { task_name_list: None, status_list: None, ..source.clone() };
    serde_json::to_value(source)
        .map_err(|error| common("the source cannot be written down", "please report this").with_cause(error))
}

/// The source as a GET answers it. A PUT of the answer changes nothing.
pub fn view(record: &SourceRecord) -> Result<Source, Fault> {
    let mut source: Source = serde_json::from_value(record.document.clone()).map_err(|error| {
        common(format!("the stored source {} cannot be understood", record.name), "please report this")
            .with_cause(error)
    })?;
    source.password = Some(Secret::masked());
    source.enable = record.enabled;
    source.flavor = Some(record.server.flavor.as_str().to_owned());
    source.purge.get_or_insert_with(Purge::default);
    source.relay_config.get_or_insert_with(RelayConfig::default);
    Ok(source)
}

/// The source as a create or update echoes it: as it was sent, without its secrets.
pub fn echo(source: &Source) -> Source {
    Source { task_name_list: None, status_list: None, ..source.clone() }
}
