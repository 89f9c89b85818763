//! For other rooms' tests: a metastore of a test's own.

use std::path::Path;
use std::sync::Arc;

use sqlx::Connection as _;
use tempfile::TempDir;

use super::{Place, Store};
use crate::secrets::Sealer;

/// An embedded store in a directory that goes when it is dropped.
pub async fn temporary() -> (Store, TempDir) {
    let directory = tempfile::tempdir().unwrap();
    let sealer = Arc::new(Sealer::open_or_create(directory.path()).unwrap());
    let store = Store::open(&Place::Directory(directory.path().to_owned()), sealer).await.unwrap();
    (store, directory)
}

/// Runs a statement on the file itself, behind the store's back.
pub async fn run_directly(directory: &Path, statement: &'static str) {
    let file = directory.join("ferrymaster.db");
    let mut direct = sqlx::SqliteConnection::connect(&format!("sqlite://{}", file.display())).await.unwrap();
    sqlx::query(statement).execute(&mut direct).await.unwrap();
    direct.close().await.unwrap();
}
