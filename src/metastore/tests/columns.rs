//! Both engines have the same tables.

use std::collections::BTreeMap;

use sqlx::{Connection as _, Row as _};

use super::engines;
use crate::metastore::Place;
use secrecy::ExposeSecret as _;

const SQLITE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/migrations/sqlite");
const MYSQL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/migrations/mysql");

/// File name → text with the engines' own words taken out.
fn migrations(directory: &str) -> BTreeMap<String, String> {
    std::fs::read_dir(directory)
        .unwrap()
        .map(|entry| {
            let path = entry.unwrap().path();
            let text = std::fs::read_to_string(&path).unwrap();
            let text = text
                .replace("LONGTEXT", "TEXT")
                .replace(" ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin", "");
            let words: Vec<_> = text.split_whitespace().collect();
            (path.file_name().unwrap().to_string_lossy().into_owned(), words.join(" "))
        })
        .collect()
}

#[test]
fn both_folders_hold_the_same_statements() {
    let sqlite = migrations(SQLITE);
    assert!(sqlite.len() >= 9);
    assert_eq!(sqlite, migrations(MYSQL));
}

#[test]
fn every_migration_is_one_statement() {
    for (file, text) in migrations(SQLITE) {
        assert!(!text.contains(';'), "{file}");
    }
}

/// table.column → (kind, may be null), as the server says it.
type Columns = BTreeMap<String, (String, bool)>;

#[tokio::test]
async fn the_servers_own_descriptions_are_equal() {
    let mut described: Vec<Columns> = vec![];
    for bench in engines::all().await {
        described.push(match &bench.place {
            Place::Directory(directory) => sqlite_columns(&directory.join("ferrymaster.db")).await,
            Place::Server(url) => mysql_columns(url.expose_secret()).await,
        });
        bench.finish().await;
    }
    let sqlite = &described[0];
    assert_eq!(sqlite.get("subtasks.conclusion"), Some(&("text".to_owned(), true)));
    for other in &described[1..] {
        assert_eq!(sqlite, other);
    }
}

async fn sqlite_columns(file: &std::path::Path) -> Columns {
    let mut db = sqlx::SqliteConnection::connect(&format!("sqlite://{}", file.display())).await.unwrap();
    let rows = sqlx::query(
        "SELECT m.name || '.' || c.name AS name, lower(c.type) AS kind, c.\"notnull\" AS required \
         FROM sqlite_master m JOIN pragma_table_info(m.name) c \
         WHERE m.type = 'table' AND m.name NOT LIKE '\\_sqlx%' ESCAPE '\\'",
    )
    .fetch_all(&mut db)
    .await
    .unwrap();
    rows.iter()
        .map(|row| (row.get::<String, _>("name"), (row.get::<String, _>("kind"), row.get::<i64, _>("required") == 0)))
        .collect()
}

async fn mysql_columns(url: &str) -> Columns {
    let mut db = sqlx::MySqlConnection::connect(url).await.unwrap();
    let rows = sqlx::query(
        "SELECT CONCAT(table_name, '.', column_name) AS name, \
         CAST(LOWER(REPLACE(REPLACE(column_type, 'bigint(20)', 'bigint'), 'longtext', 'text')) AS CHAR) AS kind, \
         CAST(is_nullable AS CHAR) AS nullable FROM information_schema.columns \
         WHERE table_schema = DATABASE() AND table_name NOT LIKE '\\_sqlx%'",
    )
    .fetch_all(&mut db)
    .await
    .unwrap();
    rows.iter()
        .map(|row| {
            (row.get::<String, _>("name"), (row.get::<String, _>("kind"), row.get::<String, _>("nullable") == "YES"))
        })
        .collect()
}
