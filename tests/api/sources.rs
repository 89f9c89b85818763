//! Sources through the API, on real servers.

use serde_json::{Value, json};

use crate::app::{TestApp, WORKER};
use crate::bodies::source;
use crate::servers::{mariadb_source, mysql_source, unique};

async fn with_source(name: &str) -> TestApp {
    let app = TestApp::start().await;
    app.post("/api/v1/sources", source(name, mariadb_source().port())).await.expect(201);
    app
}

#[tokio::test]
async fn a_created_source_is_echoed_shown_and_listed() {
    let app = TestApp::start().await;
    let mut body = source("mysql-01", mariadb_source().port());
    body["source"]["password"] = Value::Null;
    let echo = app.post("/api/v1/sources", body).await.expect(201).json();
    assert_eq!((&echo["source_name"], &echo["password"]), (&json!("mysql-01"), &Value::Null));
    let mut shown = app.get("/api/v1/sources/mysql-01?with_status=true").await.expect(200).json();
    shown["port"] = json!(3306);
    insta::assert_json_snapshot!(shown, @r#"
    {
      "source_name": "mysql-01",
      "host": "127.0.0.1",
      "port": 3306,
      "user": "root",
      "password": "******",
      "enable_gtid": false,
      "enable": true,
      "flavor": "mariadb",
      "task_name_list": [],
      "security": null,
      "purge": {
        "interval": 3600,
        "expires": 0,
        "remain_space": 15
      },
      "status_list": [
        {
          "source_name": "mysql-01",
          "worker_name": "worker-1"
        }
      ],
      "relay_config": {
        "enable_relay": false,
        "relay_binlog_name": null,
        "relay_binlog_gtid": null,
        "relay_dir": "./relay_log"
      }
    }
    "#);
    let list = app.get("/api/v1/sources?with_status=1").await.expect(200).json();
    assert_eq!((&list["total"], &list["data"][0]["status_list"][0]["worker_name"]), (&json!(1), &json!(WORKER)));
    let status = app.get("/api/v1/sources/mysql-01/status").await.expect(200).json();
    assert_eq!(status, json!({"total": 1, "data": [{"source_name": "mysql-01", "worker_name": WORKER}]}));
}

#[tokio::test]
async fn bad_sources_are_refused_by_their_code_and_change_nothing() {
    let app = with_source("s1").await;
    let port = mariadb_source().port();
    let with = |field: &str, value: Value| {
        let mut body = source("s2", port);
        body["source"][field] = value;
        body
    };
    let before = app.stored().await;
    for (body, code) in [
        (source("", port), 40005),
        (source(&"s".repeat(33), port), 40006),
        (source("s1", port), 46007),
        (with("flavor", json!("oracle")), 11010),
        (with("flavor", json!("mysql")), 11010),
        (with("password", json!("******")), 49001),
        (with("password", json!("wrong")), 10001),
        (with("port", json!(1)), 10001),
        (with("port", json!(0)), 49001),
        (with("host", json!("")), 49001),
        (with("relay_config", json!({"enable_relay": true})), 49001),
        (with("security", json!({"ssl_ca_content": "", "ssl_cert_content": "c", "ssl_key_content": ""})), 49001),
    ] {
        let answer = app.post("/api/v1/sources", body.clone()).await.expect(400);
        assert_eq!(answer.code(), code, "{body}: {}", answer.text);
        assert!(!answer.hint().is_empty(), "{}", answer.text);
    }
    let mut body = source("s2", port);
    body["worker_name"] = json!("nobody");
    assert_eq!(app.post("/api/v1/sources", body).await.expect(400).code(), 46004);
    assert_eq!(app.stored().await, before);
}

#[tokio::test]
async fn a_server_that_accepts_and_never_answers_is_a_driver_error_in_time() {
    let app = TestApp::start().await;
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let begun = std::time::Instant::now();
    let answer = app.post("/api/v1/sources", source("s1", silent.local_addr().unwrap().port())).await.expect(400);
    assert_eq!(answer.code(), 10001);
    assert!(answer.message().contains("deadline exceeded"), "{}", answer.text);
    assert!(begun.elapsed() < std::time::Duration::from_secs(12));
}

#[tokio::test]
async fn what_a_get_shows_can_be_put_back_and_changes_nothing_but_the_revision() {
    let server = mariadb_source();
    let (user, password) = (unique("u"), "p@ss:w/o#r?d");
    server.run(&[&format!("CREATE USER {user}@'%' IDENTIFIED BY '{password}'")]).await;
    let app = TestApp::start().await;
    let mut body = source("s1", server.port());
    body["source"]["user"] = json!(user);
    body["source"]["password"] = json!(password);
    body["source"]["purge"] = json!({"interval": 7});
    app.post("/api/v1/sources", body).await.expect(201);
    let shown = app.get("/api/v1/sources/s1").await.expect(200).json();
    assert_eq!(shown["password"], "******");
    app.put("/api/v1/sources/s1", json!({"source": shown})).await.expect(200);
    assert_eq!(app.get("/api/v1/sources/s1").await.expect(200).json(), shown);
    assert_eq!(shown["purge"], json!({"interval": 7, "expires": 0, "remain_space": 15}));
    // The password is still the one that was sent first: the account can be looked through.
    app.get("/api/v1/sources/s1/schemas").await.expect(200);
    let stored = app.app.store.source(&ferrymaster::model::SourceName::new("s1")).await.unwrap().unwrap();
    assert_eq!(secrecy::ExposeSecret::expose_secret(&stored.endpoint.password), password);
}

#[tokio::test]
async fn a_put_cannot_send_the_password_elsewhere_nor_rename() {
    let app = with_source("s1").await;
    let shown = app.get("/api/v1/sources/s1").await.expect(200).json();
    let before = app.stored().await;
    let with = |field: &str, value: Value| {
        let mut source = shown.clone();
        source[field] = value;
        json!({"source": source})
    };
    for (body, code) in [
        (with("host", json!("localhost")), 49001),
        (with("user", json!("other")), 49001),
        (with("source_name", json!("s2")), 49001),
        (with("flavor", json!("mysql")), 11010),
    ] {
        assert_eq!(app.put("/api/v1/sources/s1", body).await.expect(400).code(), code);
    }
    assert_eq!(app.put("/api/v1/sources/s2", json!({"source": shown})).await.expect(400).code(), 46008);
    assert_eq!(app.stored().await, before);
}

#[tokio::test]
async fn a_source_is_switched_off_and_on() {
    let app = with_source("s1").await;
    let enabled = async || app.get("/api/v1/sources/s1").await.expect(200).json()["enable"].clone();
    app.post_nothing("/api/v1/sources/s1/disable").await.expect(200);
    assert_eq!(enabled().await, json!(false));
    app.post_nothing("/api/v1/sources/s1/disable").await.expect(200);
    let answer = app.post_nothing("/api/v1/sources/s1/enable").await.expect(200);
    assert_eq!(answer.text, "");
    assert_eq!(enabled().await, json!(true));
    assert_eq!(app.post_nothing("/api/v1/sources/s9/enable").await.expect(400).code(), 46008);
}

#[tokio::test]
async fn databases_and_tables_are_browsed_by_any_name() {
    let app = with_source("s1").await;
    let database = format!("{} x`y/z", unique("d"));
    let quoted = format!("`{}`", database.replace('`', "``"));
    let server = mariadb_source();
    server.run(&[&format!("CREATE DATABASE {quoted}"), &format!("CREATE TABLE {quoted}.t (id INT PRIMARY KEY)")]).await;
    let schemas = app.get("/api/v1/sources/s1/schemas").await.expect(200).json();
    assert!(schemas.as_array().unwrap().contains(&json!(database)));
    let encoded = database.replace(' ', "%20").replace('`', "%60").replace('/', "%2F");
    let tables = app.get(&format!("/api/v1/sources/s1/schemas/{encoded}")).await.expect(200).json();
    assert_eq!(tables, json!(["t"]));
    let answer = app.get("/api/v1/sources/s1/schemas/nothing").await.expect(400);
    assert_eq!(answer.code(), 10005);
    assert_eq!(app.get("/api/v1/sources/s2/schemas").await.expect(400).code(), 46008);
    server.run(&[&format!("DROP DATABASE {quoted}")]).await;
}

#[tokio::test]
async fn lists_are_sorted_filtered_and_paged() {
    let app = TestApp::start().await;
    for name in ["b", "c", "a"] {
        app.post("/api/v1/sources", source(name, mysql_source().port())).await.expect(201);
    }
    let names = |list: &Value| -> Vec<String> {
        list["data"].as_array().unwrap().iter().map(|s| s["source_name"].as_str().unwrap().to_owned()).collect()
    };
    let first = app.get("/api/v1/sources?limit=2").await.expect(200).json();
    assert_eq!(names(&first), ["a", "b"]);
    let next = format!("/api/v1/sources?limit=2&cursor={}", first["next_cursor"].as_str().unwrap());
    let second = app.get(&next).await.expect(200).json();
    assert_eq!((names(&second), &second["next_cursor"]), (vec!["c".to_owned()], &Value::Null));
    assert_eq!(app.get("/api/v1/sources?enable_relay=true").await.expect(200).json()["total"], 0);
    assert_eq!(app.get("/api/v1/sources?enable_relay=f").await.expect(200).json()["total"], 3);
    app.get("/api/v1/sources?limit=0").await.expect(400);
}
