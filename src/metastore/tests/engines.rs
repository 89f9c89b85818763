//! A store per engine, each in a place of its own.

use std::sync::Arc;

use secrecy::SecretString;
use sqlx::{Connection as _, Executor as _};
use tempfile::TempDir;
use uuid::Uuid;

use crate::metastore::{Place, Store};
use crate::model::Epoch;
use crate::secrets::Sealer;

/// A store that one test has for itself.
pub struct Bench {
    pub store: Store,
    pub place: Place,
    pub directory: TempDir,
    database: Option<String>,
}

impl Bench {
    pub fn sealer(&self) -> Arc<Sealer> {
        Arc::new(Sealer::open_or_create(self.directory.path()).unwrap())
    }

    /// Leads, as the first master does.
    pub async fn lead(&self) -> Epoch {
        let seen = self.store.lease().await.unwrap();
        self.store.claim_lease(seen.as_ref(), "test", 1).await.unwrap().unwrap()
    }

    /// A second handle, as another process would have.
    pub async fn again(&self) -> Store {
        Store::open(&self.place, self.sealer()).await.unwrap()
    }

    pub async fn finish(self) {
        self.store.close().await;
        if let (Some(database), Some(address)) = (&self.database, mariadb()) {
            let mut server = sqlx::MySqlConnection::connect(&format!("mysql://root@{address}/")).await.unwrap();
            server.execute(sqlx::AssertSqlSafe(format!("DROP DATABASE `{database}`"))).await.unwrap();
        }
    }
}

pub fn mariadb() -> Option<String> {
    std::env::var("FERRYMASTER_TEST_MARIADB_TARGET").ok().filter(|address| !address.is_empty())
}

pub async fn sqlite() -> Bench {
    let directory = tempfile::tempdir().unwrap();
    let place = Place::Directory(directory.path().to_owned());
    open(place, directory, None).await
}

pub async fn all() -> Vec<Bench> {
    let mut benches = vec![sqlite().await];
    if let Some(address) = mariadb() {
        let database = format!("ferrymaster_meta_{}", Uuid::new_v4().simple());
        let mut server = sqlx::MySqlConnection::connect(&format!("mysql://root@{address}/")).await.unwrap();
        server.execute(sqlx::AssertSqlSafe(format!("CREATE DATABASE `{database}`"))).await.unwrap();
        let place = Place::Server(SecretString::from(format!("mysql://root@{address}/{database}")));
        benches.push(open(place, tempfile::tempdir().unwrap(), Some(database)).await);
    }
    benches
}

async fn open(place: Place, directory: TempDir, database: Option<String>) -> Bench {
    let sealer = Arc::new(Sealer::open_or_create(directory.path()).unwrap());
    let store = Store::open(&place, sealer).await.unwrap();
    Bench { store, place, directory, database }
}
