//! Which tables and events go, and under which name.

use serde_json::json;

use super::migration::{Migration, TASK};
use super::support::compare::assert_tables_equal;
use super::support::servers::Kind::{Mariadb, Mysql};

const NAMES: &str =
    "SELECT CAST(TABLE_NAME AS CHAR) FROM information_schema.TABLES WHERE TABLE_SCHEMA = '{db}' ORDER BY 1";

#[tokio::test]
async fn patterns_choose_tables_in_the_copy_and_in_the_log() {
    for kind in [Mariadb, Mysql] {
        let migration = Migration::between((kind, kind), true).await;
        let make = |name: &str| format!("CREATE TABLE `{name}` (id INT PRIMARY KEY)");
        for name in ["log_1", "log_x", "user", "order_2024", "order_24"] {
            migration.write(&[&make(name), &format!("INSERT INTO `{name}` VALUES (1)")]).await;
        }
        let mut body = migration.task("all");
        let rule =
            |table: &str| json!({ "source": { "source_name": "s", "schema": migration.database, "table": table } });
        body["table_migrate_rule"] = json!([rule("log_?"), rule("~^order_[0-9]{4}$")]);
        migration.start(&body).await;
        migration.until_replicating().await;
        migration.write(&[&make("log_2"), &make("log_22"), &make("order_2025"), "INSERT INTO log_2 VALUES (5)"]).await;
        migration.write(&["INSERT INTO user VALUES (9)", "INSERT INTO log_1 VALUES (9)"]).await;
        migration.until_synced().await;
        assert_eq!(migration.at_target(NAMES).await, ["log_1", "log_2", "log_x", "order_2024", "order_2025"]);
        for name in ["log_1", "log_2", "order_2024"] {
            let (source, target) =
                ((&migration.source, &*migration.database, name), (&migration.target, &*migration.database, name));
            assert_tables_equal(source, target).await;
        }
    }
}

#[tokio::test]
async fn routes_give_databases_and_tables_other_names() {
    for kind in [Mariadb, Mysql] {
        let migration = Migration::between((kind, kind), true).await;
        let there = format!("{}_there", migration.database);
        migration.write(&["CREATE TABLE t (id INT PRIMARY KEY, v INT)", "INSERT INTO t VALUES (1, 1)"]).await;
        migration.write(&["CREATE TABLE u (id INT PRIMARY KEY)", "INSERT INTO u VALUES (4)"]).await;
        let mut body = migration.task("all");
        let rule = |table: &str, target: serde_json::Value| json!({ "source": { "source_name": "s", "schema": migration.database, "table": table }, "target": target });
        body["table_migrate_rule"] =
            json!([rule("t", json!({ "schema": there, "table": "renamed" })), rule("u", json!({ "schema": there }))]);
        migration.start(&body).await;
        migration.until_replicating().await;
        migration
            .write(&[
                "INSERT INTO t VALUES (2, 2)",
                "ALTER TABLE t ADD COLUMN w INT DEFAULT 3",
                "UPDATE t SET w = 4 WHERE id = 1",
                "INSERT INTO u VALUES (5)",
            ])
            .await;
        migration.until_synced().await;
        for (from, to) in [("t", "renamed"), ("u", "u")] {
            assert_tables_equal((&migration.source, &migration.database, from), (&migration.target, &there, to)).await;
        }
        assert!(migration.at_target(NAMES).await.is_empty(), "nothing is made under the old name");
    }
}

#[tokio::test]
async fn event_filters_leave_out_what_they_name() {
    for kind in [Mariadb, Mysql] {
        let migration = Migration::between((kind, kind), true).await;
        migration.write(&["CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1), (2)"]).await;
        migration.write(&["CREATE TABLE kept (id INT PRIMARY KEY)"]).await;
        let mut body = migration.task("all");
        body["binlog_filter_rule"] = json!({
            "no-loss": { "ignore_event": ["delete", "drop table", "truncate table"] },
            "no-comment": { "ignore_sql": ["^ALTER TABLE .* COMMENT"] },
        });
        body["table_migrate_rule"][0]["binlog_filter_rule"] = json!(["no-loss", "no-comment"]);
        migration.start(&body).await;
        migration.until_replicating().await;
        migration
            .write(&[
                "DELETE FROM t WHERE id = 1",
                "INSERT INTO t VALUES (3)",
                "ALTER TABLE t COMMENT = 'not for the target'",
                "DROP TABLE kept",
                "TRUNCATE TABLE t",
                "INSERT INTO t VALUES (4)",
            ])
            .await;
        migration.until_synced().await;
        assert_eq!(
            migration.at_target("SELECT CAST(id AS CHAR) FROM `{db}`.t ORDER BY id").await,
            ["1", "2", "3", "4"]
        );
        assert_eq!(migration.at_target(NAMES).await, ["kept", "t"]);
        let comment = "SELECT CAST(TABLE_COMMENT AS CHAR) FROM information_schema.TABLES WHERE TABLE_SCHEMA = '{db}' AND TABLE_NAME = 't'";
        assert_eq!(migration.at_target(comment).await, [""]);
    }
}

#[tokio::test]
async fn several_tables_go_into_one() {
    for pair in [(Mariadb, Mysql), (Mysql, Mariadb)] {
        let migration = Migration::between(pair, true).await;
        for (name, id) in [("part_1", 1), ("part_2", 2)] {
            let make = format!("CREATE TABLE {name} (id INT PRIMARY KEY, v INT)");
            migration.write(&[&make, &format!("INSERT INTO {name} VALUES ({id}, 0)")]).await;
        }
        migration.target.run(&[&format!("CREATE DATABASE `{}`", migration.database)]).await;
        let whole = format!("CREATE TABLE `{}`.whole (id INT PRIMARY KEY, v INT)", migration.database);
        migration.target.run(&[&whole]).await;
        let mut body = migration.task("all");
        body["table_migrate_rule"] = json!([{
            "source": { "source_name": "s", "schema": migration.database, "table": "part_*" },
            "target": { "schema": migration.database, "table": "whole" },
        }]);
        migration.start(&body).await;
        migration.until_replicating().await;
        migration
            .write(&[
                "INSERT INTO part_1 VALUES (11, 0)",
                "INSERT INTO part_2 VALUES (12, 0)",
                "UPDATE part_2 SET v = 5 WHERE id = 2",
                "DELETE FROM part_1 WHERE id = 1",
            ])
            .await;
        migration.until_synced().await;
        let rows = "SELECT CONCAT(id, ':', v) FROM `{db}`.whole ORDER BY id";
        assert_eq!(migration.at_target(rows).await, ["2:5", "11:0", "12:0"], "{pair:?}");
        assert_eq!(migration.at_target(NAMES).await, ["whole"], "{pair:?}");
    }
}

#[tokio::test]
async fn what_takes_one_of_several_tables_away_stops_instead_of_taking_the_others_too() {
    for statement in [
        "TRUNCATE TABLE part_1",
        "DROP TABLE part_1",
        "RENAME TABLE part_1 TO other",
        "CREATE OR REPLACE TABLE part_1 (id INT PRIMARY KEY)",
        "ALTER TABLE part_1 DROP COLUMN v",
    ] {
        let migration = Migration::between((Mariadb, Mariadb), true).await;
        for (name, id) in [("part_1", 1), ("part_2", 2)] {
            let make = format!("CREATE TABLE {name} (id INT PRIMARY KEY, v INT)");
            migration.write(&[&make, &format!("INSERT INTO {name} VALUES ({id}, 0)")]).await;
        }
        migration.target.run(&[&format!("CREATE DATABASE `{}`", migration.database)]).await;
        migration
            .target
            .run(&[&format!("CREATE TABLE `{}`.whole (id INT PRIMARY KEY, v INT)", migration.database)])
            .await;
        let mut body = migration.task("all");
        let schema = &migration.database;
        body["table_migrate_rule"] = json!([
            {
                "source": { "source_name": "s", "schema": schema, "table": "part_*" },
                "target": { "schema": schema, "table": "whole" },
            },
            { "source": { "source_name": "s", "schema": schema, "table": "other" } },
        ]);
        migration.start(&body).await;
        migration.until_replicating().await;
        migration.write(&[statement]).await;
        let error = migration.until_error().await;
        let message = error["message"].as_str().unwrap();
        assert!(message.contains("part_2") && message.contains("whole"), "{statement}: {error}");
        assert_eq!(migration.at_target("SELECT CAST(id AS CHAR) FROM `{db}`.whole ORDER BY id").await, ["1", "2"]);
    }
}

#[tokio::test]
async fn a_table_that_several_go_to_must_be_there_and_is_filled_once_it_is() {
    let migration = Migration::between((Mariadb, Mariadb), true).await;
    for (name, id) in [("part_1", 1), ("part_2", 2)] {
        let make = format!("CREATE TABLE {name} (id INT PRIMARY KEY, v INT, KEY by_v (v))");
        migration.write(&[&make, &format!("INSERT INTO {name} VALUES ({id}, 0)")]).await;
    }
    let mut body = migration.task("all");
    body["table_migrate_rule"] = json!([{
        "source": { "source_name": "s", "schema": migration.database, "table": "part_*" },
        "target": { "schema": migration.database, "table": "whole" },
    }]);
    migration.start(&body).await;
    let error = migration.until_error().await;
    let message = error["message"].as_str().unwrap();
    assert!(["part_1", "part_2", "whole"].iter().all(|name| message.contains(name)), "{error}");
    assert_eq!(error["code"], 50014, "{error}");
    let whole = format!("CREATE TABLE `{}`.whole (id INT PRIMARY KEY, v INT)", migration.database);
    migration.target.run(&[&whole]).await;
    migration.api().start_task(TASK).await;
    migration.until_replicating().await;
    migration.until_synced().await;
    assert_eq!(migration.at_target("SELECT CAST(id AS CHAR) FROM `{db}`.whole ORDER BY id").await, ["1", "2"]);
}

#[tokio::test]
async fn several_tables_that_go_together_take_the_one_they_share_along() {
    let migration = Migration::between((Mariadb, Mariadb), true).await;
    migration.write(&["CREATE TABLE part_1 (id INT PRIMARY KEY)", "CREATE TABLE part_2 (id INT PRIMARY KEY)"]).await;
    migration.target.run(&[&format!("CREATE DATABASE `{}`", migration.database)]).await;
    migration.target.run(&[&format!("CREATE TABLE `{}`.whole (id INT PRIMARY KEY)", migration.database)]).await;
    let mut body = migration.task("all");
    body["table_migrate_rule"] = json!([{
        "source": { "source_name": "s", "schema": migration.database, "table": "part_*" },
        "target": { "schema": migration.database, "table": "whole" },
    }]);
    migration.start(&body).await;
    migration.until_replicating().await;
    migration.write(&["DROP TABLE part_1, part_2"]).await;
    migration.until_synced().await;
    assert!(migration.at_target(NAMES).await.is_empty());
}

#[tokio::test]
async fn a_route_of_a_schema_takes_its_tables_but_for_those_that_a_rule_names() {
    for kind in [Mariadb, Mysql] {
        let migration = Migration::between((kind, kind), true).await;
        let there = format!("{}_there", migration.database);
        migration.write(&["CREATE TABLE a (id INT PRIMARY KEY)", "INSERT INTO a VALUES (1)"]).await;
        migration.write(&["CREATE TABLE b (id INT PRIMARY KEY)", "INSERT INTO b VALUES (2)"]).await;
        let mut body = migration.task("all");
        let source = |table: &str| json!({ "source_name": "s", "schema": format!("{}?", shortened(&migration.database)), "table": table });
        body["table_migrate_rule"] = json!([
            { "source": source(""), "target": { "schema": there } },
            { "source": source("b"), "target": { "schema": there, "table": "second" } },
        ]);
        migration.start(&body).await;
        migration.until_replicating().await;
        migration
            .write(&[
                "CREATE TABLE late (id INT PRIMARY KEY)",
                "INSERT INTO late VALUES (7)",
                "RENAME TABLE late TO later",
                "CREATE TABLE gone (id INT PRIMARY KEY)",
                "DROP TABLE gone",
                "INSERT INTO a VALUES (3)",
                "UPDATE b SET id = 4",
            ])
            .await;
        migration.until_synced().await;
        for (from, to) in [("a", "a"), ("b", "second"), ("later", "later")] {
            assert_tables_equal((&migration.source, &migration.database, from), (&migration.target, &there, to)).await;
        }
        let names = NAMES.replace("{db}", &there);
        assert_eq!(migration.at_target(&names).await, ["a", "later", "second"], "{kind:?}");
        assert!(migration.at_target(NAMES).await.is_empty(), "nothing is made under the old name");
    }
}

/// A name without its last character, for which a pattern then stands.
fn shortened(name: &str) -> &str {
    let mut characters = name.chars();
    characters.next_back();
    characters.as_str()
}

#[tokio::test]
async fn a_filter_is_for_the_tables_of_its_rule() {
    for kind in [Mariadb, Mysql] {
        let migration = Migration::between((kind, kind), true).await;
        for name in ["kept_1", "plain"] {
            let make = format!("CREATE TABLE {name} (id INT PRIMARY KEY, v INT)");
            migration.write(&[&make, &format!("INSERT INTO {name} VALUES (1, 0), (2, 0)")]).await;
        }
        let mut body = migration.task("all");
        body["binlog_filter_rule"] = json!({
            "no-delete": { "ignore_event": ["delete"] },
            "no-drop": { "ignore_sql": ["(?i)^drop\\s+table"] },
        });
        let rule = |table: &str, filters: &[&str]| {
            json!({
                "source": { "source_name": "s", "schema": migration.database, "table": table },
                "binlog_filter_rule": filters,
            })
        };
        body["table_migrate_rule"] = json!([rule("~^kept_[0-9]+$", &["no-delete", "no-drop"]), rule("plain", &[])]);
        migration.start(&body).await;
        migration.until_replicating().await;
        migration
            .write(&[
                "DELETE FROM kept_1 WHERE id = 1",
                "UPDATE kept_1 SET v = 9 WHERE id = 2",
                "DELETE FROM plain WHERE id = 1",
                "CREATE TABLE kept_2 (id INT PRIMARY KEY)",
                "drop  table kept_2",
            ])
            .await;
        let status = migration.until_synced().await;
        let rows = |table: &str| format!("SELECT CONCAT(id, ':', v) FROM `{{db}}`.{table} ORDER BY id");
        assert_eq!(migration.at_target(&rows("kept_1")).await, ["1:0", "2:9"], "{kind:?}");
        assert_eq!(migration.at_target(&rows("plain")).await, ["2:0"], "{kind:?}");
        assert_eq!(migration.at_target(NAMES).await, ["kept_1", "kept_2", "plain"], "{kind:?}");
        assert!(status["notices"].to_string().contains("left out by a filter"), "{status}");
        // Left out, then dropped: without the filter's rule, a plain table goes.
        migration.write(&["DROP TABLE plain"]).await;
        migration.until_synced().await;
        assert_eq!(migration.at_target(NAMES).await, ["kept_1", "kept_2"], "{kind:?}");
    }
}

#[tokio::test]
async fn a_table_that_is_renamed_into_the_task_stops_it() {
    for kind in [Mariadb, Mysql] {
        let migration = Migration::between((kind, kind), true).await;
        migration.write(&["CREATE TABLE t (id INT PRIMARY KEY)", "CREATE TABLE strange (id INT PRIMARY KEY)"]).await;
        migration.write(&["INSERT INTO strange VALUES (1)"]).await;
        let mut body = migration.task("all");
        body["table_migrate_rule"][0]["source"]["table"] = "t*".into();
        migration.start(&body).await;
        migration.until_replicating().await;
        migration.write(&["RENAME TABLE strange TO t_new"]).await;
        let error = migration.until_error().await;
        let message = error["message"].as_str().unwrap();
        assert!(message.contains("strange") && message.contains("has not copied"), "{error}");
        assert_eq!(error["code"], 50002, "{error}");
        assert_eq!(migration.at_target(NAMES).await, ["t"], "{kind:?}");
    }
}
