//! The rights that `docs/operations.md` asks for are enough, on every pair.

use serde_json::json;

use super::migration::{Migration, TASK};
use super::support::http::source;
use super::support::servers::{Kind, PAIRS, unique_name};

const PAGE: &str = include_str!("../../docs/operations.md");

/// What the page grants on one side: `GRANT … ON *.*`, behind the line that names the side and the kind.
fn documented(side: &str, kind: Kind) -> String {
    let family = if kind == Kind::Mariadb { "MariaDB" } else { "MySQL" };
    let line = PAGE
        .lines()
        .find(|line| line.starts_with("GRANT ") && line.ends_with(&format!("-- {side}, {family}")))
        .unwrap_or_else(|| panic!("docs/operations.md has no grants for the {side} on {family}"));
    let (rights, _) = line.split_once(" ON *.* ").expect("`ON *.*` stands there");
    rights.to_owned()
}

#[tokio::test]
async fn documented_rights_are_enough_to_copy_follow_and_delete() {
    for pair in PAIRS {
        let migration = Migration::between(pair, true).await;
        migration
            .write(&[
                "CREATE TABLE t (id INT PRIMARY KEY, u INT, UNIQUE KEY (u))",
                "INSERT INTO t VALUES (1, 1), (2, 2)",
                "CREATE TABLE c (id INT PRIMARY KEY, t INT, FOREIGN KEY (t) REFERENCES t (id) ON DELETE CASCADE)",
            ])
            .await;
        let (reader, writer) = (unique_name("r"), unique_name("w"));
        for (server, user, side) in [(&migration.source, &reader, "source"), (&migration.target, &writer, "target")] {
            let grant = format!("{} ON *.* TO `{user}`@'%'", documented(side, server.kind));
            server.run(&[&format!("CREATE USER `{user}`@'%' IDENTIFIED BY 'secret'"), &grant]).await;
        }
        let mut given = source("limited", &migration.source, true);
        given["user"] = json!(reader);
        given["password"] = json!("secret");
        migration.api().post("/api/v1/sources", &json!({ "source": given })).await.expect(201);
        let mut body = migration.task("all");
        body["target_config"]["user"] = json!(writer);
        body["target_config"]["password"] = json!("secret");
        body["source_config"]["source_conf"][0]["source_name"] = json!("limited");
        body["table_migrate_rule"][0]["source"]["source_name"] = json!("limited");
        let answer = migration.api().post("/api/v1/tasks", &json!({ "task": body })).await.expect(201);
        assert_eq!(answer["check_result"], "pre-check is passed. ", "{pair:?}");
        migration.api().start_task(TASK).await;
        migration.until_replicating().await;
        migration
            .write(&[
                "INSERT INTO t VALUES (3, 3)",
                "ALTER TABLE t ADD COLUMN v INT",
                "UPDATE t SET v = 1 WHERE id = 1",
            ])
            .await;
        migration.until_equal().await;
        migration.api().delete(&format!("/api/v1/tasks/{TASK}?force=true")).await.expect(204);
        let left = migration.api().get("/api/v1/cleanups").await.expect(200);
        assert_eq!(left["total"], 0, "{pair:?}: {left}");
    }
}
