//! The JSON that stands in the metastore's columns: types of their own, each with a version, apart from the types we
//! compute with and from the API's views. Samples of every version stay in `tests/stored/` and must load for ever.
//!
//! Surprise: a version is added, never changed. Only a field with a default may join an existing version.

mod cleanup;
mod conclusion;
mod endpoint;
mod source;
mod subtask;
mod task;
#[cfg(test)]
mod tests;

use serde::Serialize;
use serde::de::DeserializeOwned;

pub(super) use cleanup::StoredCleanup;
pub(super) use conclusion::StoredConclusion;
pub(super) use source::StoredSource;
pub(super) use subtask::StoredSubtask;
pub(super) use task::StoredTask;

use super::error::{Object, StoreError};

/// Reads a stored document, naming the row when it does not load.
pub(super) fn load<T: DeserializeOwned>(object: Object, name: &str, text: &str) -> Result<T, StoreError> {
    serde_json::from_str(text).map_err(|cause| StoreError::Unreadable { object, name: name.to_owned(), cause })
}

/// Writes a document for storing.
pub(super) fn save<T: Serialize>(object: Object, name: &str, document: &T) -> Result<String, StoreError> {
    serde_json::to_string(document).map_err(|cause| StoreError::Unwritable { object, name: name.to_owned(), cause })
}
