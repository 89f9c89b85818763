//! A source at rest.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::endpoint::StoredEndpoint;
use crate::model::Flavor;
use crate::model::record::{ServerFacts, SourceRecord};
use crate::secrets::{SealError, Sealer};

#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "version")]
pub(in crate::metastore) enum StoredSource {
    #[serde(rename = "1")]
    V1(SourceV1),
}

#[derive(Debug, Serialize, Deserialize)]
pub(in crate::metastore) struct SourceV1 {
    document: Value,
    endpoint: StoredEndpoint,
    enable_gtid: bool,
    flavor: StoredFlavor,
    server_version: String,
    names_ignore_case: bool,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum StoredFlavor {
    Mysql,
    Mariadb,
}

/// What of a source is in the document, and not in a column.
pub(in crate::metastore) struct SourceContent {
    pub document: Value,
    pub endpoint: crate::model::Endpoint,
    pub enable_gtid: bool,
    pub server: ServerFacts,
}

impl StoredSource {
    pub(in crate::metastore) fn seal(record: &SourceRecord, sealer: &Sealer) -> Result<Self, SealError> {
        Ok(Self::V1(SourceV1 {
            document: record.document.clone(),
            endpoint: StoredEndpoint::seal(&row(record.name.as_str()), &record.endpoint, sealer)?,
            enable_gtid: record.enable_gtid,
            flavor: match record.server.flavor {
                Flavor::MySql => StoredFlavor::Mysql,
                Flavor::MariaDb => StoredFlavor::Mariadb,
            },
            server_version: record.server.version.clone(),
            names_ignore_case: record.server.names_ignore_case,
        }))
    }

    pub(in crate::metastore) fn open(self, name: &str, sealer: &Sealer) -> Result<SourceContent, SealError> {
        let Self::V1(stored) = self;
        Ok(SourceContent {
            document: stored.document,
            endpoint: stored.endpoint.open(&row(name), sealer)?,
            enable_gtid: stored.enable_gtid,
            server: ServerFacts {
                flavor: match stored.flavor {
                    StoredFlavor::Mysql => Flavor::MySql,
                    StoredFlavor::Mariadb => Flavor::MariaDb,
                },
                version: stored.server_version,
                names_ignore_case: stored.names_ignore_case,
            },
        })
    }
}

fn row(name: &str) -> String {
    format!("sources/{name}")
}
