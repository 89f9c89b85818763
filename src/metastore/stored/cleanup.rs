//! A cleanup record at rest.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::endpoint::StoredEndpoint;
use crate::model::record::{AbandonedLedger, CleanupRecord};
use crate::model::{Endpoint, Generation, LedgerId, SourceName};
use crate::secrets::{SealError, Sealer};

#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "version")]
pub(in crate::metastore) enum StoredCleanup {
    #[serde(rename = "1")]
    V1(CleanupV1),
}

#[derive(Debug, Serialize, Deserialize)]
pub(in crate::metastore) struct CleanupV1 {
    target: StoredEndpoint,
    meta_schema: String,
    ledgers: Vec<StoredLedger>,
}

#[derive(Debug, Serialize, Deserialize)]
struct StoredLedger {
    source: String,
    ledger_id: Uuid,
    generation: u64,
}

/// What of a cleanup is in the document, and not in a column.
pub(in crate::metastore) struct CleanupContent {
    pub target: Endpoint,
    pub meta_schema: String,
    pub ledgers: Vec<AbandonedLedger>,
}

impl StoredCleanup {
    pub(in crate::metastore) fn seal(record: &CleanupRecord, sealer: &Sealer) -> Result<Self, SealError> {
        Ok(Self::V1(CleanupV1 {
            target: StoredEndpoint::seal(&row(record.id), &record.target, sealer)?,
            meta_schema: record.meta_schema.clone(),
            ledgers: record
                .ledgers
                .iter()
                .map(|ledger| StoredLedger {
                    source: ledger.source.to_string(),
                    ledger_id: ledger.ledger_id.0,
                    generation: ledger.generation.0,
                })
                .collect(),
        }))
    }

    pub(in crate::metastore) fn open(self, id: Uuid, sealer: &Sealer) -> Result<CleanupContent, SealError> {
        let Self::V1(stored) = self;
        Ok(CleanupContent {
            target: stored.target.open(&row(id), sealer)?,
            meta_schema: stored.meta_schema,
            ledgers: stored
                .ledgers
                .into_iter()
                .map(|ledger| AbandonedLedger {
                    source: SourceName::new(ledger.source),
                    ledger_id: LedgerId(ledger.ledger_id),
                    generation: Generation(ledger.generation),
                })
                .collect(),
        })
    }
}

fn row(id: Uuid) -> String {
    format!("cleanups/{id}/target")
}
