//! Where the metastore is, and how it is connected to.

use std::fmt;
use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::str::FromStr as _;
use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};
use sqlx::any::{AnyConnectOptions, AnyPoolOptions};
use sqlx::migrate::Migrator;
use sqlx::{AnyPool, Executor as _};

use super::error::StoreError;

static SQLITE_MIGRATIONS: Migrator = sqlx::migrate!("migrations/sqlite");
static MYSQL_MIGRATIONS: Migrator = sqlx::migrate!("migrations/mysql");

/// The name of the embedded store's file in the data directory.
pub(super) const DATABASE_FILE: &str = "ferrymaster.db";
const CONNECT_DEADLINE: Duration = Duration::from_secs(10);
/// Readers of the embedded store, and all connections to a server.
const CONNECTIONS: u32 = 8;

/// Where the metastore is.
#[derive(Debug, Clone)]
pub enum Place {
    /// The embedded store, in this directory.
    Directory(PathBuf),
    /// A database of the MySQL family: `mysql://user:password@host:port/database`.
    Server(SecretString),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Engine {
    Sqlite,
    MysqlFamily,
}

impl Engine {
    /// SQLite: a transaction that reads first and writes later would be refused at once when another one wrote in
    /// between, however long it may wait for a lock; so a writing one says at its start that it will write.
    pub(super) fn begin_writing(self) -> &'static str {
        match self {
            Self::Sqlite => "BEGIN IMMEDIATE",
            Self::MysqlFamily => "START TRANSACTION",
        }
    }
}

/// Shows no user and no password.
impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Directory(path) => write!(f, "{}", path.join(DATABASE_FILE).display()),
            Self::Server(url) => {
                let url = url.expose_secret();
                let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
                let host = rest.rsplit_once('@').map_or(rest, |(_, host)| host);
                write!(f, "{scheme}://{host}")
            }
        }
    }
}

impl Place {
    /// Gives (engine, readers, writers), the schema brought up to date.
    pub(super) async fn connect(&self) -> Result<(Engine, AnyPool, AnyPool), StoreError> {
        sqlx::any::install_default_drivers();
        match self {
            Self::Directory(directory) => {
                let absolute = std::path::absolute(directory)
                    .map_err(|_| StoreError::BadPath { path: directory.clone() })?
                    .join(DATABASE_FILE);
                make_for_owner(&absolute)
                    .map_err(|cause| StoreError::Open { place: self.to_string(), cause: sqlx::Error::Io(cause) })?;
                let path = absolute.to_str().ok_or_else(|| StoreError::BadPath { path: absolute.clone() })?;
                let url = format!("sqlite://{}?mode=rwc", percent_encoded(path));
                let writers = self.pool(&url, 1, Engine::Sqlite).await?;
                self.migrate(&writers, &SQLITE_MIGRATIONS).await?;
                let readers = self.pool(&url, CONNECTIONS, Engine::Sqlite).await?;
                Ok((Engine::Sqlite, readers, writers))
            }
            Self::Server(url) => {
                let url = url.expose_secret();
                if !url.starts_with("mysql://") && !url.starts_with("mariadb://") {
                    return Err(StoreError::UnknownEngine { url: self.to_string() });
                }
                let pool = self.pool(url, CONNECTIONS, Engine::MysqlFamily).await?;
                self.migrate(&pool, &MYSQL_MIGRATIONS).await?;
                Ok((Engine::MysqlFamily, pool.clone(), pool))
            }
        }
    }

    async fn pool(&self, url: &str, connections: u32, engine: Engine) -> Result<AnyPool, StoreError> {
        let failed = |cause| StoreError::Open { place: self.to_string(), cause };
        let options = AnyConnectOptions::from_str(url).map_err(failed)?;
        AnyPoolOptions::new()
            .max_connections(connections)
            .acquire_timeout(CONNECT_DEADLINE)
            .after_connect(move |connection, _| {
                Box::pin(async move {
                    match engine {
                        // WAL: readers and the writer do not wait for each other. FULL: a commit survives a power cut.
                        Engine::Sqlite => {
                            connection
                                .execute(
                                    "PRAGMA busy_timeout = 5000; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL",
                                )
                                .await?
                        }
                        Engine::MysqlFamily => {
                            connection
                                .execute("SET SESSION innodb_lock_wait_timeout = 3, lock_wait_timeout = 5")
                                .await?
                        }
                    };
                    Ok(())
                })
            })
            .connect_with(options)
            .await
            .map_err(failed)
    }

    async fn migrate(&self, pool: &AnyPool, migrations: &Migrator) -> Result<(), StoreError> {
        migrations.run(pool).await.map_err(|cause| StoreError::Migrate { place: self.to_string(), cause })
    }
}

/// An empty file is an empty database; the files that SQLite makes beside it get its permissions.
fn make_for_owner(file: &Path) -> std::io::Result<()> {
    OpenOptions::new().create(true).append(true).mode(0o600).open(file).map(|_| ())
}

/// A path as it may stand in an address.
fn percent_encoded(path: &str) -> String {
    let mut encoded = String::with_capacity(path.len());
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"/-_.~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_shown_without_its_account() {
        let place = Place::Server(SecretString::from("mysql://root:p@ss@db.example:3306/meta"));
        assert_eq!(place.to_string(), "mysql://db.example:3306/meta");
    }

    #[test]
    fn odd_paths_can_stand_in_an_address() {
        assert_eq!(percent_encoded("/a b/ü?#%"), "/a%20b/%C3%BC%3F%23%25");
    }
}
