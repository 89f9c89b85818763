//! Shapes as they are stored with the ledger: JSON with a version, which must load for ever.

use serde::{Deserialize, Serialize};

use super::charset::Collation;
use super::error::CatalogueError;
use super::shape::TableShape;

/// A table's shape in a store. Old versions stay here as variants.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "version")]
pub enum StoredShape {
    #[serde(rename = "1")]
    V1(TableShape),
}

/// A database in a store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "version")]
pub enum StoredDatabase {
    #[serde(rename = "1")]
    V1 { collation: Collation },
}

impl StoredShape {
    pub fn to_json(shape: &TableShape) -> Result<String, CatalogueError> {
        serde_json::to_string(&Self::V1(shape.clone())).map_err(|error| unreadable(&error))
    }

    pub fn from_json(json: &str) -> Result<TableShape, CatalogueError> {
        let Self::V1(shape) = serde_json::from_str(json).map_err(|error| unreadable(&error))?;
        Ok(shape)
    }
}

impl StoredDatabase {
    pub fn to_json(collation: &Collation) -> Result<String, CatalogueError> {
        serde_json::to_string(&Self::V1 { collation: collation.clone() }).map_err(|error| unreadable(&error))
    }

    pub fn from_json(json: &str) -> Result<Collation, CatalogueError> {
        let Self::V1 { collation } = serde_json::from_str(json).map_err(|error| unreadable(&error))?;
        Ok(collation)
    }
}

fn unreadable(error: &serde_json::Error) -> CatalogueError {
    CatalogueError::Stored { reason: error.to_string() }
}
