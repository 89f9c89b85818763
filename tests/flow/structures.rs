//! Changes of structure while the binlog is followed, with rows before and after each; and those that stop a task.

use serde_json::json;

use super::migration::{Migration, TASK, place_of};
use super::support::compare::until_databases_equal;
use super::support::servers::Kind::{self, Mariadb, Mysql};
use super::support::servers::PAIRS;
use super::support::wait::secs;

/// Every statement that is replicated, on tables with rows.
const STATEMENTS: &[&str] = &[
    "CREATE TABLE items (id INT PRIMARY KEY AUTO_INCREMENT, name VARCHAR(20), n INT) COLLATE utf8mb4_general_ci",
    "INSERT INTO items (name, n) VALUES ('a', 1), ('b', 2), ('c', 3)",
    "ALTER TABLE items ADD COLUMN note TEXT, ADD COLUMN flag TINYINT NOT NULL DEFAULT 7 AFTER id",
    "INSERT INTO items (name, n, note) VALUES ('d', 4, 'né')",
    "ALTER TABLE items MODIFY COLUMN n BIGINT NULL, CHANGE COLUMN name title VARCHAR(40)",
    "UPDATE items SET n = n + 5000000000, title = CONCAT(title, '!') WHERE id < 3",
    "ALTER TABLE items RENAME COLUMN flag TO mark",
    "ALTER TABLE items DROP COLUMN note",
    "DELETE FROM items WHERE id = 3",
    "CREATE INDEX by_title ON items (title)",
    "CREATE UNIQUE INDEX by_n ON items (n)",
    "UPDATE items SET n = 9 WHERE id = 4",
    "DROP INDEX by_title ON items",
    "CREATE TABLE copied LIKE items",
    "INSERT INTO copied SELECT * FROM items",
    "CREATE TABLE selected (id INT PRIMARY KEY) AS SELECT id, title FROM items",
    "RENAME TABLE copied TO moved_away, selected TO chosen",
    "INSERT INTO moved_away (title, n) VALUES ('later', 77)",
    "CREATE TABLE emptied (v INT)",
    "INSERT INTO emptied VALUES (1), (1), (2)",
    "TRUNCATE TABLE emptied",
    "INSERT INTO emptied VALUES (3)",
    "CREATE TABLE gone (v INT)",
    "DROP TABLE gone",
    "ALTER TABLE items CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci",
    "INSERT INTO items (title, n) VALUES ('ß漢🚢', 10)",
    "ALTER TABLE items RENAME TO goods",
    "INSERT INTO goods (title, n) VALUES ('last', 11)",
];

async fn every_statement_follows(pair: (Kind, Kind)) {
    let migration = Migration::between(pair, true).await;
    migration.write(&["CREATE TABLE first (id INT PRIMARY KEY)", "INSERT INTO first VALUES (1)"]).await;
    migration.start(&migration.task("all")).await;
    migration.until_replicating().await;
    migration.write(STATEMENTS).await;
    migration.until_equal().await;
    let indexes = "SELECT DISTINCT CAST(INDEX_NAME AS CHAR) FROM information_schema.STATISTICS \
                   WHERE TABLE_SCHEMA = '{db}' AND TABLE_NAME = 'goods' ORDER BY 1";
    assert_eq!(migration.at_target(indexes).await, ["by_n", "PRIMARY"]);
}

#[tokio::test]
async fn they_follow_from_mariadb_to_mariadb() {
    every_statement_follows((Mariadb, Mariadb)).await;
}

#[tokio::test]
async fn they_follow_from_mariadb_to_mysql() {
    every_statement_follows((Mariadb, Mysql)).await;
}

#[tokio::test]
async fn they_follow_from_mysql_to_mariadb() {
    every_statement_follows((Mysql, Mariadb)).await;
}

#[tokio::test]
async fn they_follow_from_mysql_to_mysql() {
    every_statement_follows((Mysql, Mysql)).await;
}

#[tokio::test]
async fn databases_come_change_and_go() {
    for pair in PAIRS {
        let migration = Migration::between(pair, true).await;
        let other = format!("{}_more", migration.database);
        let mut body = migration.task("all");
        // Everything whose name begins so, whether it is there yet or not.
        body["table_migrate_rule"][0]["source"]["schema"] = format!("{}*", migration.database).into();
        migration.start(&body).await;
        migration.until_replicating().await;
        let exists =
            format!("SELECT CAST(SCHEMA_NAME AS CHAR) FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = '{other}'");
        migration
            .source
            .run(&[
                &format!("CREATE DATABASE `{other}` CHARACTER SET latin1"),
                &format!("ALTER DATABASE `{other}` CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci"),
                &format!("CREATE TABLE `{other}`.t (id INT PRIMARY KEY, v VARCHAR(10))"),
                &format!("INSERT INTO `{other}`.t VALUES (1, 'é')"),
            ])
            .await;
        migration.until_synced().await;
        until_databases_equal((&migration.source, &other), (&migration.target, &other), secs(30)).await;
        let collation = format!(
            "SELECT CAST(COLLATION_NAME AS CHAR) FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = '{other}' AND COLUMN_NAME = 'v'"
        );
        assert_eq!(migration.at_target(&collation).await, ["utf8mb4_unicode_ci"]);
        migration.source.run(&[&format!("DROP DATABASE `{other}`")]).await;
        migration.until_synced().await;
        assert!(migration.at_target(&exists).await.is_empty(), "{pair:?}");
    }
}

#[tokio::test]
async fn what_cannot_be_carried_stops_by_name_with_its_place() {
    for kind in [Mariadb, Mysql] {
        let migration = Migration::between((kind, kind), true).await;
        migration.write(&["CREATE TABLE t (v INT)"]).await;
        migration.start(&migration.task("all")).await;
        migration.until_replicating().await;
        let before = migration.place().await;
        // Each server would number the rows in an order of its own.
        migration
            .write(&["INSERT INTO t VALUES (1)", "ALTER TABLE t ADD COLUMN id INT AUTO_INCREMENT PRIMARY KEY"])
            .await;
        let after = migration.place().await;
        let error = migration.until_error().await;
        let message = error["message"].as_str().unwrap();
        assert!(message.contains("AUTO_INCREMENT") && message.contains("binlog.0"), "{error}");
        assert!(!error["hint"].as_str().unwrap().is_empty(), "{error}");
        let position = error["position"].as_str().and_then(place_of);
        assert!(position.is_some_and(|position| before < position && position <= after), "{error}");
        assert_eq!(migration.at_target("SELECT CAST(COUNT(*) AS CHAR) FROM `{db}`.t").await, ["1"]);
    }
}

#[tokio::test]
async fn a_collation_that_the_target_does_not_know_stops_with_column_and_collation() {
    let migration = Migration::between((Mysql, Mariadb), true).await;
    migration.write(&["CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(9) COLLATE utf8mb4_0900_ai_ci)"]).await;
    let mut body = migration.task("all");
    body["target_config"].as_object_mut().unwrap().remove("collation_map");
    let refused = migration.api().post("/api/v1/tasks", &json!({ "task": body })).await.expect_error(400, 26005);
    assert!(refused.contains("`v`") && refused.contains("utf8mb4_0900_ai_ci"), "{refused}");
    body["ignore_checking_items"] = json!(["collation"]);
    migration.start(&body).await;
    let error = migration.until_error().await;
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("column v") && message.contains("utf8mb4_0900_ai_ci"), "{error}");
    assert!(error["hint"].as_str().unwrap().contains("collation_map"), "{error}");
}

#[tokio::test]
async fn a_collation_that_comes_with_a_new_table_stops_there() {
    let migration = Migration::between((Mysql, Mariadb), true).await;
    let known = format!("ALTER DATABASE `{}` COLLATE utf8mb4_general_ci", migration.database);
    migration.write(&[&known, "CREATE TABLE t (id INT PRIMARY KEY)"]).await;
    let mut body = migration.task("all");
    body["target_config"].as_object_mut().unwrap().remove("collation_map");
    migration.start(&body).await;
    migration.until_replicating().await;
    migration.write(&["INSERT INTO t VALUES (1)", "CREATE TABLE u (v VARCHAR(9) COLLATE utf8mb4_0900_ai_ci)"]).await;
    let error = migration.until_error().await;
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("column v") && message.contains("utf8mb4_0900_ai_ci"), "{error}");
    assert!(message.contains("binlog.0"), "{error}");
    assert!(error["hint"].as_str().unwrap().contains("collation_map"), "{error}");
    assert_eq!(error["code"], 50004, "{error}");
    assert_eq!(migration.at_target("SELECT CAST(id AS CHAR) FROM `{db}`.t").await, ["1"]);
}

#[tokio::test]
async fn a_change_that_was_logged_as_a_statement_stops_with_code_and_place() {
    for kind in [Mariadb, Mysql] {
        let migration = Migration::between((kind, kind), true).await;
        migration.write(&["CREATE TABLE t (id INT PRIMARY KEY)"]).await;
        migration.start(&migration.task("all")).await;
        migration.until_replicating().await;
        migration
            .write(&[
                "INSERT INTO t VALUES (1)",
                "SET SESSION binlog_format = 'STATEMENT'",
                "INSERT INTO t VALUES (2)",
                "SET SESSION binlog_format = 'ROW'",
                "INSERT INTO t VALUES (3)",
            ])
            .await;
        let error = migration.until_error().await;
        let message = error["message"].as_str().unwrap();
        assert!(message.contains("INSERT") && message.contains("binlog_format"), "{error}");
        assert!(message.contains("binlog.0"), "{error}");
        assert_eq!((&error["code"], &error["next"]), (&json!(50002), &json!("pause")), "{error}");
        let status = migration.api().subtask_status(TASK).await;
        assert!(status["error_msg"].as_str().unwrap().contains("[code=50002:"), "{status}");
        // What stood before it is there; nothing after it is.
        assert_eq!(migration.at_target("SELECT CAST(id AS CHAR) FROM `{db}`.t").await, ["1"], "{kind:?}");
    }
}

#[tokio::test]
async fn views_triggers_routines_and_events_are_noticed_and_not_carried() {
    for kind in [Mariadb, Mysql] {
        let migration = Migration::between((kind, kind), true).await;
        migration.write(&["CREATE TABLE t (id INT PRIMARY KEY, v INT)"]).await;
        migration.start(&migration.task("all")).await;
        migration.until_replicating().await;
        migration
            .write(&[
                "CREATE VIEW seen AS SELECT id FROM t",
                "CREATE TRIGGER raised BEFORE INSERT ON t FOR EACH ROW SET NEW.v = NEW.v + 100",
                "CREATE PROCEDURE nothing() SELECT 1",
                "CREATE EVENT far_away ON SCHEDULE AT '2037-01-01 00:00:00' DO SELECT 1",
                "INSERT INTO t VALUES (1, 1)",
            ])
            .await;
        let status = migration.until_synced().await;
        migration.until_equal().await;
        assert_eq!(migration.at_target("SELECT CAST(v AS CHAR) FROM `{db}`.t").await, ["101"], "once, at the source");
        let notices = status["notices"].to_string();
        for what in ["a view", "a trigger", "a stored routine", "an event"] {
            assert!(notices.contains(&format!("{what} is not carried")), "{what}: {notices}");
        }
        let made = "SELECT CAST(TABLE_NAME AS CHAR) FROM information_schema.TABLES WHERE TABLE_SCHEMA = '{db}' \
                    UNION ALL SELECT CAST(TRIGGER_NAME AS CHAR) FROM information_schema.TRIGGERS \
                    WHERE TRIGGER_SCHEMA = '{db}'";
        assert_eq!(migration.at_target(made).await, ["t"], "{kind:?}");
    }
}
