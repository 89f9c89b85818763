//! Which tables and events go, and under which name.

use serde_json::json;

use super::migration::Migration;
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
