//! Rows that the source changes by a foreign key's rule: MariaDB never logs them, so the target must do the same, or
//! the task must stop.

use serde_json::json;

use super::migration::{Migration, TASK};
use super::support::servers::Kind::{self, Mariadb, Mysql};

const TABLES: [&str; 4] = [
    "CREATE TABLE parent (id INT PRIMARY KEY)",
    "CREATE TABLE child (id INT PRIMARY KEY, parent INT, FOREIGN KEY (parent) REFERENCES parent (id) \
     ON DELETE CASCADE ON UPDATE CASCADE)",
    "INSERT INTO parent VALUES (1), (2), (3)",
    "INSERT INTO child VALUES (10, 1), (11, 1), (20, 2), (30, 3)",
];

#[tokio::test]
async fn children_follow_their_parents_on_every_pair() {
    for pair in [(Mariadb, Mariadb), (Mariadb, Mysql), (Mysql, Mariadb), (Mysql, Mysql)] {
        let migration = Migration::between(pair, true).await;
        migration.write(&TABLES).await;
        migration.start(&migration.task("all")).await;
        migration.until_replicating().await;
        migration.write(&["DELETE FROM parent WHERE id = 1", "UPDATE parent SET id = 22 WHERE id = 2"]).await;
        migration.until_equal().await;
        let children = migration.at_target("SELECT CONCAT(id, ':', parent) FROM `{db}`.child ORDER BY id").await;
        assert_eq!(children, ["20:22", "30:3"], "{pair:?}");
    }
}

#[tokio::test]
async fn a_child_without_its_key_at_the_target_stops_the_task_before_anything_is_lost() {
    let migration = Migration::between((Mariadb, Mariadb), true).await;
    migration.write(&TABLES).await;
    migration.start(&migration.task("all")).await;
    migration.until_replicating().await;
    migration.target.run(&[&format!("ALTER TABLE `{}`.child DROP FOREIGN KEY child_ibfk_1", migration.database)]).await;
    migration.api().stop_task(TASK).await;
    migration.api().start_task(TASK).await;
    migration.until_replicating().await;
    migration.write(&["DELETE FROM parent WHERE id = 1"]).await;
    let error = migration.until_error().await;
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("child") && message.contains("binlog.0"), "{error}");
    assert!(error["position"].as_str().is_some_and(|position| message.contains(position)), "{error}");
    assert_eq!(error["code"], 50006, "{error}");
    assert!(error["hint"].as_str().unwrap().contains("foreign key"), "{error}");
    assert_eq!(migration.at_target("SELECT CAST(COUNT(*) AS CHAR) FROM `{db}`.parent").await, ["3"]);
}

#[tokio::test]
async fn a_parent_that_is_left_out_stops_the_task_when_its_children_would_be_lost() {
    let migration = Migration::between((Mariadb, Mariadb), true).await;
    migration.write(&TABLES).await;
    let mut body = migration.task("all");
    body["table_migrate_rule"] =
        json!([{ "source": { "source_name": "s", "schema": migration.database, "table": "child" } }]);
    migration.start(&body).await;
    migration.until_replicating().await;
    migration.write(&["DELETE FROM parent WHERE id = 1"]).await;
    let error = migration.until_error().await;
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("parent") && message.contains("binlog.0"), "{error}");
    assert_eq!(error["code"], 50006, "{error}");
    assert_eq!(migration.at_target("SELECT CAST(COUNT(*) AS CHAR) FROM `{db}`.child").await, ["4"]);
}

#[tokio::test]
async fn a_child_that_is_left_out_stops_nothing() {
    for target in [Mariadb, Mysql] {
        let migration = Migration::between((Mariadb, target), true).await;
        migration.write(&TABLES).await;
        let mut body = migration.task("all");
        body["table_migrate_rule"][0]["source"]["table"] = "parent".into();
        migration.start(&body).await;
        migration.until_replicating().await;
        migration.write(&["DELETE FROM parent WHERE id = 1", "UPDATE parent SET id = 22 WHERE id = 2"]).await;
        migration.until_synced().await;
        let parents = "SELECT CAST(id AS CHAR) FROM `{db}`.parent ORDER BY id";
        assert_eq!(migration.at_target(parents).await, ["3", "22"], "{target:?}");
    }
}

#[tokio::test]
async fn children_that_are_set_to_null_and_grandchildren_that_go_follow_too() {
    for target in [Mariadb, Mysql] {
        let migration = Migration::between((Mariadb, target), true).await;
        migration.write(&TABLES).await;
        migration
            .write(&[
                "CREATE TABLE loose (id INT PRIMARY KEY, parent INT, FOREIGN KEY (parent) REFERENCES parent (id) \
                 ON DELETE SET NULL ON UPDATE SET NULL)",
                "CREATE TABLE grandchild (id INT PRIMARY KEY, child INT, FOREIGN KEY (child) REFERENCES child (id) \
                 ON DELETE CASCADE)",
                "INSERT INTO loose VALUES (1, 1), (2, 2), (3, 3)",
                "INSERT INTO grandchild VALUES (100, 10), (110, 11), (200, 20)",
            ])
            .await;
        migration.start(&migration.task("all")).await;
        migration.until_replicating().await;
        migration.write(&["DELETE FROM parent WHERE id = 1", "UPDATE parent SET id = 22 WHERE id = 2"]).await;
        migration.until_equal().await;
        let loose = "SELECT COALESCE(CAST(parent AS CHAR), 'none') FROM `{db}`.loose ORDER BY id";
        assert_eq!(migration.at_target(loose).await, ["none", "none", "3"], "{target:?}");
        assert_eq!(migration.at_target("SELECT CAST(id AS CHAR) FROM `{db}`.grandchild").await, ["200"], "{target:?}");
    }
}

/// What the task says when the child's key has another rule at the target than at the source.
async fn with_another_rule_at_the_target(target: Kind, rule: &str, change: &str) -> serde_json::Value {
    let migration = Migration::between((Mariadb, target), true).await;
    migration.write(&TABLES).await;
    migration.start(&migration.task("all")).await;
    migration.until_replicating().await;
    migration.api().stop_task(TASK).await;
    let (child, parent) = (format!("`{}`.child", migration.database), format!("`{}`.parent", migration.database));
    migration
        .target
        .run(&[
            &format!("ALTER TABLE {child} DROP FOREIGN KEY child_ibfk_1"),
            &format!("ALTER TABLE {child} ADD FOREIGN KEY (parent) REFERENCES {parent} (id) {rule}"),
        ])
        .await;
    migration.api().start_task(TASK).await;
    migration.until_replicating().await;
    migration.write(&[change]).await;
    let error = migration.until_error().await;
    let children = "SELECT CONCAT(id, ':', COALESCE(CAST(parent AS CHAR), 'none')) FROM `{db}`.child ORDER BY id";
    assert_eq!(migration.at_target(children).await, ["10:1", "11:1", "20:2", "30:3"], "{error}");
    error
}

#[tokio::test]
async fn a_key_that_orphans_at_the_target_what_goes_at_the_source_stops_the_task() {
    for target in [Mariadb, Mysql] {
        let rule = "ON DELETE SET NULL ON UPDATE CASCADE";
        let error = with_another_rule_at_the_target(target, rule, "DELETE FROM parent WHERE id = 1").await;
        assert_eq!(error["code"], 50006, "{error}");
    }
}

#[tokio::test]
async fn a_key_that_orphans_at_the_target_what_is_renumbered_at_the_source_stops_the_task() {
    let rule = "ON DELETE CASCADE ON UPDATE SET NULL";
    let error = with_another_rule_at_the_target(Mariadb, rule, "UPDATE parent SET id = 22 WHERE id = 2").await;
    assert_eq!(error["code"], 50006, "{error}");
}
