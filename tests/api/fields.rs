//! `docs/api-fields.md` says of every field what becomes of it. Here it is held to the document and to the answers.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::app::Answer;
use crate::bodies::{source, with};
use crate::scene::Scene;
use crate::servers::mariadb_source;

/// Field (`Schema.field`) to the codes in its row.
fn rows() -> BTreeMap<String, BTreeSet<u64>> {
    let page = std::fs::read_to_string(format!("{}/docs/api-fields.md", env!("CARGO_MANIFEST_DIR"))).unwrap();
    let mut schema = "";
    let mut rows = BTreeMap::new();
    for line in page.lines() {
        if let Some(name) = line.strip_prefix("## ") {
            schema = name;
        }
        let Some(row) = line.strip_prefix("| `") else { continue };
        let cells: Vec<&str> = row.trim_end_matches('|').split(" | ").collect();
        let [field, said, codes] = cells[..] else { panic!("three cells are wanted: {line}") };
        assert!(!said.trim().is_empty(), "nothing is said: {line}");
        let codes: BTreeSet<u64> =
            codes.split(',').map(str::trim).filter(|code| !code.is_empty()).map(|code| code.parse().unwrap()).collect();
        let earlier = rows.insert(format!("{schema}.{}", field.trim_end_matches('`')), codes);
        assert!(earlier.is_none(), "it stands there twice: {line}");
    }
    rows
}

/// All fields that clients can send in these bodies, by following the references, and those of a status's error.
fn fields_of_the_document() -> BTreeSet<String> {
    let document: Value =
        serde_json::from_str(&ferrymaster::api::documents().expect("the documents can be written").dm_30).unwrap();
    let schemas = document["components"]["schemas"].as_object().unwrap();
    // The last one is of answers: what an operator acts on is told field by field too.
    let mut open = vec!["CreateSourceRequest", "Task", "StartTaskRequest", "StopTaskRequest", "SubTaskError"];
    let mut seen = BTreeSet::new();
    let mut fields = BTreeSet::new();
    while let Some(name) = open.pop() {
        if !seen.insert(name) {
            continue;
        }
        for (field, property) in schemas[name]["properties"].as_object().into_iter().flatten() {
            fields.insert(format!("{name}.{field}"));
            // What only answers have is no field of a request.
            if field != "status_list" {
                references(property, &mut open);
            }
        }
    }
    fields
}

fn references<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
    match value {
        Value::Object(fields) => {
            let name = fields.get("$ref").and_then(Value::as_str);
            found.extend(name.and_then(|name| name.strip_prefix("#/components/schemas/")));
            fields.values().for_each(|value| references(value, found));
        }
        Value::Array(items) => items.iter().for_each(|value| references(value, found)),
        _ => {}
    }
}

#[test]
fn every_field_of_the_document_is_told_about_and_no_other() {
    let told: BTreeSet<String> = rows().into_keys().collect();
    assert_eq!(told, fields_of_the_document());
}

/// Refused by every server here only with settings of its own: see `src/probe/connection.rs`.
const NEEDS_ANOTHER_SERVER: (&str, u64) = ("Source.enable_gtid", 26007);

#[tokio::test]
async fn every_code_is_what_a_refused_value_is_answered_with() {
    let scene = Scene::with_sources(&["s1", "silent"]).await;
    scene.create_task("taken", &["s1"]).await;
    let key_only = json!({"ssl_ca_content": "", "ssl_cert_content": "", "ssl_key_content": "k"});
    let certificate_only = json!({"ssl_ca_content": "", "ssl_cert_content": "c", "ssl_key_content": ""});
    let names = json!({"ssl_ca_content": "", "ssl_cert_content": "", "ssl_key_content": "", "cert_allowed_cn": ["db"]});
    let full = |field: &str, value: Value| ("/task/source_config/full_migrate_conf", json!({field: value}));
    let rule = "/task/table_migrate_rule/0";
    let filter = |event: &str, sql: &str| json!({"f": {"ignore_event": [event], "ignore_sql": [sql]}});

    let mut answered: BTreeMap<String, BTreeSet<u64>> = BTreeMap::new();
    let mut note = |field: &str, answer: Answer| {
        let answer = answer.expect(400);
        assert!(!answer.hint().is_empty(), "{field} has no hint: {}", answer.text);
        answered.entry(field.to_owned()).or_default().insert(answer.code());
    };

    for (field, place, value) in [
        ("CreateSourceRequest.worker_name", "/worker_name", json!("nobody")),
        ("Source.source_name", "/source/source_name", json!("")),
        ("Source.source_name", "/source/source_name", json!("s".repeat(33))),
        ("Source.source_name", "/source/source_name", json!("s1")),
        ("Source.source_name", "/source/source_name", json!("a\tb")),
        ("Source.host", "/source/host", json!(" ")),
        ("Source.port", "/source/port", json!(0)),
        ("Source.user", "/source/user", json!("a\u{0}b")),
        ("Source.password", "/source/password", json!("******")),
        ("Source.flavor", "/source/flavor", json!("mysql")),
        ("Security.ssl_cert_content", "/source/security", certificate_only),
        ("Security.ssl_key_content", "/source/security", key_only),
        ("Security.cert_allowed_cn", "/source/security", names),
        ("RelayConfig.enable_relay", "/source/relay_config", json!({"enable_relay": true})),
    ] {
        let body = with(source("s2", mariadb_source().port()), place, value);
        note(field, scene.post("/api/v1/sources", body).await);
    }

    for (field, (place, value)) in [
        ("Task.name", ("/task/name", json!(""))),
        ("Task.name", ("/task/name", json!("taken"))),
        ("Task.name", ("/task/name", json!("templates"))),
        ("Task.task_mode", ("/task/task_mode", json!("load"))),
        ("Task.shard_mode", ("/task/shard_mode", json!("optimistic"))),
        ("Task.strict_optimistic_shard_mode", ("/task/strict_optimistic_shard_mode", json!(true))),
        ("Task.meta_schema", ("/task/meta_schema", json!("m".repeat(65)))),
        ("Task.timezone", ("/task/timezone", json!("SYSTEM"))),
        ("Task.ignore_checking_items", ("/task/ignore_checking_items", json!(["versions"]))),
        ("TaskTargetDataBase.host", ("/task/target_config/host", json!(""))),
        ("TaskTargetDataBase.port", ("/task/target_config/port", json!(0))),
        ("TaskTargetDataBase.user", ("/task/target_config/user", json!("a\nb"))),
        ("TaskTargetDataBase.password", ("/task/target_config/password", json!("******"))),
        ("TaskTableMigrateRule.binlog_filter_rule", ("/task/table_migrate_rule/0/binlog_filter_rule", json!(["g"]))),
        ("TaskTableMigrateRuleSource.source_name", ("/task/table_migrate_rule/0/source/source_name", json!("silent"))),
        ("TaskTableMigrateRuleSource.schema", ("/task/table_migrate_rule/0/source/schema", json!(""))),
        ("TaskTableMigrateRuleSource.table", ("/task/table_migrate_rule/0/source/table", json!("~("))),
        ("TaskTableMigrateRuleTarget.schema", ("/task/table_migrate_rule/0/target", json!({"schema": "a?"}))),
        ("TaskTableMigrateRuleTarget.table", ("/task/table_migrate_rule/0/target", json!({"table": "*"}))),
        ("TaskSourceConfig.source_conf", ("/task/source_config/source_conf", json!([]))),
        ("TaskSourceConf.source_name", ("/task/source_config/source_conf/0/source_name", json!("s9"))),
        ("TaskSourceConf.binlog_name", ("/task/source_config/source_conf/0/binlog_name", json!("b.000001"))),
        ("TaskSourceConf.binlog_pos", ("/task/source_config/source_conf/0/binlog_pos", json!(4))),
        ("TaskSourceConf.binlog_gtid", ("/task/source_config/source_conf/0/binlog_gtid", json!("0-1-1"))),
        ("TaskFullMigrateConf.export_threads", full("export_threads", json!(257))),
        ("TaskFullMigrateConf.import_threads", full("import_threads", json!(257))),
        ("TaskFullMigrateConf.consistency", full("consistency", json!("perhaps"))),
        ("TaskFullMigrateConf.import_mode", full("import_mode", json!("import-into"))),
        ("TaskFullMigrateConf.sorting_dir", full("sorting_dir", json!("./sorted"))),
        ("TaskFullMigrateConf.disk_quota", full("disk_quota", json!("80G"))),
        ("TaskFullMigrateConf.checksum", full("checksum", json!("required"))),
        ("TaskFullMigrateConf.analyze", full("analyze", json!("required"))),
        ("TaskFullMigrateConf.range_concurrency", full("range_concurrency", json!(16))),
        ("TaskFullMigrateConf.compress-kv-pairs", full("compress-kv-pairs", json!("gzip"))),
        ("TaskFullMigrateConf.pd_addr", full("pd_addr", json!("127.0.0.1:2379"))),
        (
            "TaskFullMigrateConf.security",
            full("security", json!({"ssl_ca_content": "a", "ssl_cert_content": "", "ssl_key_content": ""})),
        ),
        ("TaskFullMigrateConf.on_duplicate_logical", full("on_duplicate_logical", json!("replace"))),
        ("TaskFullMigrateConf.on_duplicate_physical", full("on_duplicate_physical", json!("manual"))),
        ("TaskIncrMigrateConf.repl_threads", ("/task/source_config/incr_migrate_conf", json!({"repl_threads": 257}))),
        ("TaskIncrMigrateConf.repl_batch", ("/task/source_config/incr_migrate_conf", json!({"repl_batch": 100_001}))),
    ] {
        let body = with(scene.task("t1", &["s1"]), place, value);
        // An unknown source would be noticed by the rule that names it.
        let body = if field == "TaskSourceConf.source_name" {
            with(body, "/task/table_migrate_rule", json!([]))
        } else {
            body
        };
        note(field, scene.post("/api/v1/tasks", body).await);
    }
    for (field, filters) in [
        ("TaskBinLogFilterRule.ignore_event", filter("no such event", "^DROP")),
        ("TaskBinLogFilterRule.ignore_sql", filter("all dml", "(")),
    ] {
        let body = with(scene.task("t1", &["s1"]), "/task/binlog_filter_rule", filters);
        let body = with(body, &format!("{rule}/binlog_filter_rule"), json!(["f"]));
        note(field, scene.post("/api/v1/tasks", body).await);
    }
    // Positions are looked at further in mode `incremental`: a GTID set alone is nothing for a source without.
    let following = with(scene.task("t1", &["s1"]), "/task/task_mode", json!("incremental"));
    let gtid_alone = with(following, "/task/source_config/source_conf/0/binlog_gtid", json!("0-1-1"));
    note("TaskSourceConf.binlog_gtid", scene.post("/api/v1/tasks", gtid_alone).await);

    for (field, call, value) in [
        ("StartTaskRequest.source_name_list", "start", json!({"source_name_list": ["s9"]})),
        ("StartTaskRequest.start_time", "start", json!({"start_time": "2006-01-02"})),
        ("StartTaskRequest.start_time", "start", json!({"start_time": "2006-01-02 15:04:05"})),
        ("StartTaskRequest.safe_mode_time_duration", "start", json!({"safe_mode_time_duration": "10"})),
        ("StopTaskRequest.timeout_duration", "stop", json!({"timeout_duration": "1h1s"})),
        ("StopTaskRequest.source_name_list", "stop", json!({"source_name_list": ["s9"]})),
    ] {
        note(field, scene.post(&format!("/api/v1/tasks/taken/{call}"), value).await);
    }
    scene.start_task("taken").await;
    note("StartTaskRequest.remove_meta", scene.post("/api/v1/tasks/taken/start", json!({"remove_meta": true})).await);
    scene.app.registry.goodbye(&ferrymaster::model::WorkerName::new(crate::app::WORKER), ferrymaster::model::Epoch(1));
    let body = with(source("s2", mariadb_source().port()), "/worker_name", json!(crate::app::WORKER));
    note("CreateSourceRequest.worker_name", scene.post("/api/v1/sources", body).await);

    let mut told = rows();
    let (field, code) = NEEDS_ANOTHER_SERVER;
    assert!(told.get_mut(field).is_some_and(|codes| codes.remove(&code)), "{field}");
    told.retain(|_, codes| !codes.is_empty());
    assert_eq!(told, answered);
}
