//! Bad input: answered with its status, its code and a hint, and nothing changes.

use axum::body::Body;
use axum::http::Request;
use serde_json::{Value, json};

use crate::bodies::{source, with};
use crate::scene::Scene;
use crate::servers::mariadb_source;

const SOURCES: &str = "/api/v1/sources";
const TASKS: &str = "/api/v1/tasks";

/// Sends each, and looks at code, hint and the text that the message must hold.
async fn refused(scene: &Scene, path: &str, attempts: Vec<(Value, u64, &str)>) {
    let before = scene.stored().await;
    for (body, code, text) in attempts {
        let answer = scene.post(path, body.clone()).await.expect(400);
        assert_eq!(answer.code(), code, "{body}: {}", answer.text);
        assert!(!answer.hint().is_empty(), "no hint: {}", answer.text);
        assert!(answer.message().contains(text), "{text}: {}", answer.text);
    }
    assert_eq!(scene.stored().await, before);
}

#[tokio::test]
async fn bodies_that_cannot_be_read_are_refused_everywhere() {
    let scene = Scene::with_sources(&["s1"]).await;
    scene.create_task("t1", &["s1"]).await;
    let before = scene.stored().await;
    let deep = "[".repeat(10_000);
    let operations = [
        ("POST", SOURCES),
        ("PUT", "/api/v1/sources/s1"),
        ("POST", TASKS),
        ("PUT", "/api/v1/tasks/t1"),
        ("POST", "/api/v1/tasks/t1/start"),
        ("POST", "/api/v1/tasks/t1/stop"),
        ("PUT", "/api/v1/cluster/info"),
        ("PUT", "/api/v1/cleanups/0199c5a0-0000-7000-8000-000000000001"),
    ];
    for (method, path) in operations {
        for body in ["", "{", "{\"task\": {\"name\"", "nonsense", "[]", "\"text\"", "7", "\u{0}", "{} {}", &deep] {
            let request = Request::builder().method(method).uri(path).header("content-type", "application/json");
            if body.is_empty() && (path.ends_with("start") || path.ends_with("stop")) {
                continue; // there a body may be left out
            }
            let answer = scene.send(request.body(Body::from(body.to_owned())).unwrap()).await.expect(400);
            let shown: String = body.chars().take(20).collect();
            assert_eq!(answer.code(), 0, "{method} {path} {shown}");
            assert!(!answer.hint().is_empty() && !answer.message().is_empty(), "{method} {path} {shown}");
        }
        for content_type in [None, Some("text/plain"), Some("application/x-www-form-urlencoded")] {
            let mut request = Request::builder().method(method).uri(path);
            if let Some(content_type) = content_type {
                request = request.header("content-type", content_type);
            }
            let answer = scene.send(request.body(Body::from("{}")).unwrap()).await.expect(400);
            assert!(answer.hint().contains("Content-Type: application/json"), "{}", answer.text);
        }
    }
    assert_eq!(scene.stored().await, before);
}

#[tokio::test]
async fn bad_tasks_are_refused_by_their_code() {
    let scene = Scene::with_sources(&["s1"]).await;
    scene.create_task("taken", &["s1"]).await;
    let good = || scene.task("t1", &["s1"]);
    let at = |place: &str, value: Value| with(good(), place, value);
    let other = with(scene.task("taken", &["s1"]), "/task/task_mode", json!("full"));
    let attempts = vec![
        // a wrong enum
        (at("/task/task_mode", json!("both")), 0, "task.task_mode"),
        (at("/task/on_duplicate", json!("update")), 0, "task.on_duplicate"),
        (at("/task/shard_mode", json!("pessimistic1")), 0, "task.shard_mode"),
        (at("/task/target_config/session", json!({"foreign_key_checks": "on"})), 0, "foreign_key_checks"),
        (at("/task/target_config/session", json!({"FOREIGN_KEY_CHECKS": "1"})), 0, "FOREIGN_KEY_CHECKS"),
        // a wrong type, a missing field
        (at("/task/target_config/port", json!("3306")), 0, "task.target_config.port"),
        (at("/task/target_config/port", json!(3306.5)), 0, "task.target_config.port"),
        (at("/task/source_config", json!({})), 0, "source_conf"),
        (at("/task/target_config", Value::Null), 0, "target_config"),
        // names
        (at("/task/name", json!("")), 20004, "empty"),
        (at("/task/name", json!("t".repeat(129))), 49001, "129"),
        (at("/task/name", json!("t".repeat(200))), 49001, "200"),
        (at("/task/name", json!("a\u{0}b")), 49001, "cannot stand in a path"),
        (at("/task/name", json!("templates")), 49001, "templates"),
        (at("/task/name", json!("converters")), 49001, "converters"),
        // what is there already, whatever else the body says
        (scene.task("taken", &["s1"]), 46014, "already exist"),
        (other, 46014, "already exist"),
        // an unknown source, and none
        (scene.task("t1", &["s9"]), 46008, "s9"),
        (scene.task("t1", &[]), 49001, "no source"),
        // an unreachable database, a refused login, a host without a name
        (at("/task/target_config/port", json!(1)), 10001, "scope=downstream"),
        (at("/task/target_config/password", json!("wrong")), 10001, "Access denied"),
        (at("/task/target_config/host", json!("no-such-host.invalid")), 10001, "no-such-host.invalid"),
        (at("/task/target_config/host", json!("")), 49001, "task.target_config.host"),
        (at("/task/target_config/password", json!("******")), 49001, "mask"),
        // what is not built, and what makes no sense
        (at("/task/shard_mode", json!("optimistic")), 20033, "shard"),
        (at("/task/strict_optimistic_shard_mode", json!(true)), 20066, "optimistic"),
        (at("/task/task_mode", json!("dump")), 20020, "dump"),
        (at("/task/timezone", json!("Local")), 20008, "invalid timezone string"),
        (at("/task/meta_schema", json!("information_schema")), 49001, "meta_schema"),
        (at("/task/source_config/full_migrate_conf", json!({"import_mode": "physical"})), 20053, "physical"),
        (at("/task/source_config/source_conf/0", json!({"source_name": "s1", "binlog_pos": 4})), 49001, "binlog_name"),
        // rules
        (at("/task/table_migrate_rule/0/binlog_filter_rule", json!(["nothing"])), 49001, "nothing"),
        (at("/task/table_migrate_rule/0/source/schema", json!("")), 20044, "schema"),
        (at("/task/table_migrate_rule/0/source/schema", json!("~[")), 20044, "rules"),
        (at("/task/table_migrate_rule/0/target", json!({"schema": "a*"})), 20045, "wildcard"),
        (
            with(
                at("/task/table_migrate_rule/0/binlog_filter_rule", json!(["f"])),
                "/task/binlog_filter_rule",
                json!({"f": {"ignore_event": ["no such event"]}}),
            ),
            20037,
            "no such event",
        ),
    ];
    refused(&scene, TASKS, attempts).await;
}

#[tokio::test]
async fn bad_sources_are_refused_by_their_code() {
    let scene = Scene::with_sources(&["taken"]).await;
    let good = || source("s2", mariadb_source().port());
    let at = |place: &str, value: Value| with(good(), place, value);
    let attempts = vec![
        (at("/source/source_name", json!("")), 40005, "empty"),
        (at("/source/source_name", json!("s".repeat(33))), 40006, "more than max allowed value"),
        (at("/source/source_name", json!("é".repeat(17))), 40006, "more than max allowed value"),
        (at("/source/source_name", json!("a\nb")), 49001, "cannot stand in a path"),
        (at("/source/source_name", json!("taken")), 46007, "taken"),
        (at("/source/host", Value::Null), 0, "host"),
        (at("/source/port", json!(65_536)), 0, "source.port"),
        (at("/source/port", json!(-1)), 0, "source.port"),
        (at("/source/enable", json!("true")), 0, "source.enable"),
        (at("/source/port", json!(1)), 10001, "scope=upstream"),
        (at("/source/password", json!("wrong")), 10001, "Access denied"),
        (at("/source/host", json!("127.0.0.1\u{0}x")), 49001, "source.host"),
        (at("/source/flavor", json!("oracle")), 11010, "oracle"),
        (at("/worker_name", json!("nobody")), 46004, "nobody"),
        (json!({}), 0, "source"),
    ];
    refused(&scene, SOURCES, attempts).await;
}

#[tokio::test]
async fn unknown_things_are_named_by_every_operation_on_them() {
    let scene = Scene::with_sources(&["s1"]).await;
    let before = scene.stored().await;
    let body = json!({"source": source("s9", 1)["source"], "task": scene.task("t9", &["s1"])["task"]});
    for (method, path, status, code) in [
        ("GET", "/api/v1/sources/s9", 404, 46008),
        ("PUT", "/api/v1/sources/s9", 400, 46008),
        ("DELETE", "/api/v1/sources/s9", 400, 46008),
        ("DELETE", "/api/v1/sources/s9?force=true", 400, 46008),
        ("GET", "/api/v1/sources/s9/status", 400, 46008),
        ("POST", "/api/v1/sources/s9/enable", 400, 46008),
        ("POST", "/api/v1/sources/s9/disable", 400, 46008),
        ("GET", "/api/v1/sources/s9/schemas", 400, 46008),
        ("GET", "/api/v1/sources/s9/schemas/a", 400, 46008),
        ("GET", "/api/v1/tasks/t9", 404, 46018),
        ("PUT", "/api/v1/tasks/t9", 400, 46018),
        ("DELETE", "/api/v1/tasks/t9", 400, 46018),
        ("GET", "/api/v1/tasks/t9/status", 400, 46018),
        ("POST", "/api/v1/tasks/t9/start", 400, 46016),
        ("POST", "/api/v1/tasks/t9/stop", 400, 46016),
        ("DELETE", "/api/v1/cluster/masters/nobody", 400, 38048),
        ("DELETE", "/api/v1/cluster/workers/nobody", 400, 46004),
    ] {
        let mut request = Request::builder().method(method).uri(path);
        let body = if ["POST", "PUT"].contains(&method) {
            request = request.header("content-type", "application/json");
            Body::from(body.to_string())
        } else {
            Body::empty()
        };
        let answer = scene.send(request.body(body).unwrap()).await.expect(status);
        assert_eq!(answer.code(), code, "{method} {path}: {}", answer.text);
        assert!(!answer.hint().is_empty(), "{method} {path}");
    }
    assert_eq!(scene.stored().await, before);
}

#[tokio::test]
async fn names_that_cannot_be_are_unknown_and_never_a_fault_of_the_server() {
    let scene = Scene::with_sources(&["s1"]).await;
    for path in [
        "/api/v1/tasks/a%00b",
        "/api/v1/tasks/a%2Fb",
        "/api/v1/tasks/..%2F..%2Fetc",
        "/api/v1/tasks/%20",
        "/api/v1/sources/a%00b",
        "/api/v1/sources/%F0%9F%9A%A2",
    ] {
        let answer = scene.get(path).await.expect(404);
        assert!(answer.code() != 0 && !answer.hint().is_empty(), "{path}: {}", answer.text);
    }
    // No UTF-8, or no percent-encoding at all.
    for path in ["/api/v1/tasks/%FF", "/api/v1/sources/%C3%28"] {
        let answer = scene.get(path).await.expect(400);
        assert!(answer.hint().contains("UTF-8"), "{path}: {}", answer.text);
    }
    let answer = scene.get("/api/v1/sources/s1/schemas/a%00b").await.expect(400);
    assert_ne!(answer.code(), 0, "{}", answer.text);
}

#[tokio::test]
async fn what_is_sent_in_megabytes_is_not_sent_back() {
    let scene = Scene::with_sources(&["s1"]).await;
    let long = "n".repeat(3_000_000);
    let before = scene.stored().await;
    for (path, body, code) in [
        (SOURCES, json!(long), 0),
        (SOURCES, with(source("s2", 1), "/source/source_name", json!(long)), 40006),
        (SOURCES, with(source("s2", 1), "/source/flavor", json!(long)), 11010),
        (TASKS, with(scene.task("t1", &["s1"]), "/task/name", json!(long)), 49001),
        (TASKS, with(scene.task("t1", &["s1"]), "/task/task_mode", json!(long)), 0),
        (TASKS, with(scene.task("t1", &["s1"]), "/task/timezone", json!(long)), 20008),
    ] {
        let answer = scene.post(path, body).await.expect(400);
        assert_eq!(answer.code(), code);
        assert!(answer.text.len() < 200_000, "{} bytes for code {code}", answer.text.len());
        assert!(!answer.hint().is_empty());
    }
    assert_eq!(scene.stored().await, before);
    let request = Request::post(SOURCES).header("content-type", "application/json").header("content-encoding", "gzip");
    let answer = scene.send(request.body(Body::from("{}")).unwrap()).await.expect(400);
    assert!(answer.hint().contains("Content-Encoding"), "{}", answer.text);
}

#[tokio::test]
async fn of_a_field_that_stands_twice_the_last_counts_and_unknown_fields_are_ignored() {
    let scene = Scene::with_sources(&["s1"]).await;
    let port = mariadb_source().port();
    let body = format!(
        r#"{{"nonsense": [{{}}], "source": {{"source_name": "a", "source_name": "b", "host": "127.0.0.1", "port": {port},
            "user": "root", "enable": true, "enable_gtid": false, "and": {{"so": "on"}}}}}}"#
    );
    let request = Request::post(SOURCES).header("content-type", "application/json; charset=UTF-8");
    scene.send(request.body(Body::from(body)).unwrap()).await.expect(201);
    scene.get("/api/v1/sources/a").await.expect(404);
    scene.get("/api/v1/sources/b").await.expect(200);
}

#[tokio::test]
async fn a_head_is_a_get_without_a_body_and_other_methods_are_named() {
    let scene = Scene::with_sources(&["s1"]).await;
    let send = async |method: &str, path: &str| {
        scene.send(Request::builder().method(method).uri(path).body(Body::empty()).unwrap()).await
    };
    let answer = send("HEAD", SOURCES).await.expect(200);
    assert_eq!(answer.headers["content-type"], "application/json; charset=utf-8");
    for (method, path) in
        [("OPTIONS", SOURCES), ("PATCH", SOURCES), ("DELETE", TASKS), ("POST", "/api/v1/tasks/t/status")]
    {
        let answer = send(method, path).await.expect(405);
        assert!(answer.headers.contains_key("allow"), "{method} {path}");
        assert!(answer.hint().contains("allow"), "{}", answer.text);
    }
}
