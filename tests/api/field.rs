//! Faults that users of other tools reported of their API, tried on the real process with real servers.

use std::time::Instant;

use serde_json::{Value, json};

use crate::support::compare::until_databases_equal;
use crate::support::ferrymaster::Ferrymaster;
use crate::support::http::{source, task};
use crate::support::servers::{Kind, Role, Server, Session, unique_name};
use crate::support::wait::{secs, until_true};

/// A process with one source, and a database on it with three rows.
struct Site {
    ferrymaster: Ferrymaster,
    source: Server,
    target: Server,
    database: String,
}

impl Site {
    async fn set() -> Self {
        let source = Server::shared(Kind::Mariadb, Role::Source);
        let target = Server::shared(Kind::Mariadb, Role::Target);
        let ferrymaster = Ferrymaster::start().await;
        let database = source.create_database("api").await;
        source
            .run(&[
                &format!("CREATE TABLE `{database}`.t (id INT PRIMARY KEY, v VARCHAR(20))"),
                &format!("INSERT INTO `{database}`.t VALUES (1,'one'),(2,'two'),(3,'three')"),
            ])
            .await;
        ferrymaster.api.create_source("s", &source, true).await;
        Self { ferrymaster, source, target, database }
    }

    fn task(&self, name: &str, mode: &str) -> Value {
        task(name, mode, "s", &self.target, &self.database)
    }

    async fn equal(&self) {
        let (source, target) = ((&self.source, &*self.database), (&self.target, &*self.database));
        until_databases_equal(source, target, secs(30)).await;
    }
}

async fn make_user(server: &Server, password: &str, privileges: &str) -> String {
    let user = unique_name("u");
    server
        .run(&[
            &format!("CREATE USER `{user}`@'%' IDENTIFIED BY '{password}'"),
            &format!("GRANT {privileges} ON *.* TO `{user}`@'%'"),
        ])
        .await;
    user
}

/// The stage is not "running" although nothing works, and the error says what was refused, and since when.
async fn until_told(site: &Site, task: &str, text: &str) -> Value {
    let what = format!("to tell of {text}");
    let status = site
        .ferrymaster
        .api
        .until_status(task, &what, secs(15), |status| {
            status["stage"] == "Paused" && status["error_msg"].as_str().is_some_and(|told| told.contains(text))
        })
        .await;
    assert!(status["error"]["code"].as_u64().is_some_and(|code| code > 0), "{status}");
    assert!(status["error"]["at"].as_str().is_some_and(|at| at.ends_with('Z')), "{status}");
    status
}

/// C082: a status without a reason.
#[tokio::test]
async fn what_a_server_refuses_is_in_the_status_within_seconds() {
    let site = Site::set().await;
    let api = &site.ferrymaster.api;
    let user =
        make_user(&site.target, "gEh3im-1", "SELECT, UPDATE, DELETE, CREATE, ALTER, DROP, INDEX, REFERENCES, PROCESS")
            .await;
    let mut without_insert = site.task("without-insert", "all");
    without_insert["target_config"]["user"] = json!(user);
    without_insert["target_config"]["password"] = json!("gEh3im-1");
    api.create_task(&without_insert).await;
    api.start_task("without-insert").await;
    let status = until_told(&site, "without-insert", "INSERT command denied").await;
    assert_eq!(status["error"]["next"], "pause", "{status}");
    assert!(status["error"]["hint"].as_str().is_some_and(|hint| !hint.is_empty()), "{status}");
    assert!(!status.to_string().contains("gEh3im-1"), "{status}");

    let reader = make_user(&site.source, "gEh3im-1", "ALL").await;
    let mut other = source("other", &site.source, true);
    other["user"] = json!(reader);
    other["password"] = json!("gEh3im-1");
    api.post("/api/v1/sources", &json!({ "source": other })).await.expect(201);
    let mut locked_out = site.task("locked-out", "all");
    locked_out["source_config"] = json!({"source_conf": [{"source_name": "other"}]});
    locked_out["table_migrate_rule"][0]["source"]["source_name"] = json!("other");
    locked_out["table_migrate_rule"][0]["target"] = json!({"schema": format!("{}_2", site.database)});
    api.create_task(&locked_out).await;
    site.source.run(&[&format!("ALTER USER `{reader}`@'%' IDENTIFIED BY 'gEh3im-2'")]).await;
    api.start_task("locked-out").await;
    until_told(&site, "locked-out", "Access denied").await;

    // Mended, each goes on.
    site.target.run(&[&format!("GRANT INSERT ON *.* TO `{user}`@'%'")]).await;
    api.start_task("without-insert").await;
    api.until_synced("without-insert", secs(30)).await;
    site.equal().await;
}

/// Holds a row of the target, so that whoever writes it waits.
async fn hold_row(site: &Site) -> Session {
    let mut session = site.target.connect().await;
    session.run("BEGIN").await;
    session.run(&format!("SELECT * FROM `{}`.t WHERE id = 1 FOR UPDATE", site.database)).await;
    session
}

/// C088: a call that ran out of time is not reported as done.
#[tokio::test]
async fn a_stop_that_is_not_done_in_time_is_shown_as_closing_and_nothing_is_applied_twice() {
    let site = Site::set().await;
    let api = &site.ferrymaster.api;
    api.create_task(&site.task("slow", "all")).await;
    api.start_task("slow").await;
    api.until_synced("slow", secs(30)).await;
    let mut holder = hold_row(&site).await;
    site.source.run(&[&format!("UPDATE `{}`.t SET v = 'uno' WHERE id = 1", site.database)]).await;
    until_true("the write to wait in the target", secs(10), async || {
        let waiting = "SELECT COUNT(*) FROM information_schema.processlist \
             WHERE COMMAND = 'Query' AND ID <> CONNECTION_ID()";
        let ours = format!("{waiting} AND INFO LIKE '%UPDATE%{}%'", site.database);
        holder.value::<i64>(&ours).await > 0
    })
    .await;
    let begun = Instant::now();
    let stop = json!({"timeout_duration": "4s"});
    api.post("/api/v1/tasks/slow/stop?wait=200ms", &stop).await.expect(200);
    assert!(begun.elapsed() < secs(3), "{:?}", begun.elapsed());
    let status = api.subtask_status("slow").await;
    assert_eq!((&status["stage"], &status["closing"]), (&json!("Running"), &json!(true)), "{status}");
    // A stop again is answered again, and a start meanwhile begins only after the end.
    api.post("/api/v1/tasks/slow/stop?wait=0s", &stop).await.expect(200);
    holder.run("ROLLBACK").await;
    holder.close().await;
    api.until_status("slow", "to be stopped", secs(20), |status| status["stage"] == "Paused").await;
    api.start_task("slow").await;
    api.until_synced("slow", secs(30)).await;
    site.equal().await;
}

/// C089: repeats, other bodies under a name that is taken, and starts and stops of what runs or is stopped.
#[tokio::test]
async fn a_repeated_create_makes_no_second_task_and_each_task_does_both_phases() {
    let site = Site::set().await;
    let api = &site.ferrymaster.api;
    let body = json!({ "task": site.task("twice", "all") });
    let (one, other) = tokio::join!(api.post("/api/v1/tasks", &body), api.post("/api/v1/tasks", &body));
    let (made, refused) = if one.status == 201 { (one, other) } else { (other, one) };
    made.expect(201);
    // The slower one met either the finished task or the other call at work.
    assert!([46014, 46024].contains(&refused.body["error_code"].as_u64().unwrap_or_default()), "{refused:?}");
    api.post("/api/v1/tasks", &body).await.expect_error(400, 46014);
    api.post("/api/v1/tasks", &json!({ "task": site.task("twice", "full") })).await.expect_error(400, 46014);
    let again = json!({ "source": source("s", &site.source, true) });
    api.post("/api/v1/sources", &again).await.expect_error(400, 46007);
    assert_eq!(api.get("/api/v1/tasks").await.expect(200)["total"], 1);

    for round in 0..2 {
        api.start_task("twice").await;
        api.start_task("twice").await;
        api.until_synced("twice", secs(30)).await;
        site.source.run(&[&format!("INSERT INTO `{}`.t VALUES ({}, 'more')", site.database, 10 + round)]).await;
        site.equal().await;
        api.stop_task("twice").await;
        api.stop_task("twice").await;
        assert_eq!(api.subtask_status("twice").await["stage"], "Paused");
        api.delete("/api/v1/tasks/twice").await.expect(204);
        api.get("/api/v1/tasks/twice").await.expect_error(404, 46018);
        // Copied anew, the rows would meet those that are there.
        site.target.run(&[&format!("DROP DATABASE `{}`", site.database)]).await;
        api.post("/api/v1/tasks", &body).await.expect(201);
    }
}

/// C089: `start_time` picks the first event at or after it.
#[tokio::test]
async fn a_start_time_begins_with_the_first_event_at_or_after_it() {
    let site = Site::set().await;
    let api = &site.ferrymaster.api;
    site.target
        .run(&[
            &format!("CREATE DATABASE `{}`", site.database),
            &format!("CREATE TABLE `{}`.t (id INT PRIMARY KEY, v VARCHAR(20))", site.database),
        ])
        .await;
    let mut session = site.source.connect().await;
    let second: i64 = session.value("SELECT UNIX_TIMESTAMP()").await;
    until_true("the source's next second", secs(5), async || {
        session.value::<i64>("SELECT UNIX_TIMESTAMP()").await > second
    })
    .await;
    let now: String = session.value("SELECT DATE_FORMAT(NOW(), '%Y-%m-%d %H:%i:%s')").await;
    session.run(&format!("INSERT INTO `{}`.t VALUES (4, 'four')", site.database)).await;
    session.close().await;
    api.create_task(&site.task("later", "incremental")).await;
    api.post_empty("/api/v1/tasks/later/start").await.expect_error(400, 20022);
    let with_zone = json!({"start_time": format!("{now}Z")});
    api.post("/api/v1/tasks/later/start", &with_zone).await.expect(200);
    api.until_synced("later", secs(30)).await;
    let mut target = site.target.connect().await;
    let ids: Vec<i64> = target.rows(&format!("SELECT id FROM `{}`.t ORDER BY id", site.database)).await;
    assert_eq!(ids, [4]);
    target.close().await;
}

/// C097: passwords in answers, in the log, and at rest.
#[tokio::test]
async fn no_password_is_shown_logged_or_kept_in_clear() {
    let site = Site::set().await;
    let api = &site.ferrymaster.api;
    let (of_source, of_target) = ("gEh3im@:/#?%&1", "gEh3im@:/#?%&2");
    let reader = make_user(&site.source, of_source, "ALL").await;
    let writer = make_user(&site.target, of_target, "ALL").await;
    let mut told = Vec::new();
    let mut other = source("other", &site.source, true);
    other["user"] = json!(reader);
    other["password"] = json!(of_source);
    let mut wrong = other.clone();
    wrong["password"] = json!("gEh3im-wrong");
    told.push(api.post("/api/v1/sources", &json!({ "source": wrong })).await.expect(400));
    told.push(api.post("/api/v1/sources", &json!({ "source": other })).await.expect(201));
    let mut task = site.task("secret", "all");
    task["target_config"]["user"] = json!(writer);
    task["target_config"]["password"] = json!(of_target);
    task["source_config"] = json!({"source_conf": [{"source_name": "other"}]});
    task["table_migrate_rule"][0]["source"]["source_name"] = json!("other");
    told.push(api.post("/api/v1/tasks", &json!({ "task": task })).await.expect(201));

    // Put back as it was shown, and without the field.
    let shown = api.get("/api/v1/sources/other").await.expect(200);
    told.push(api.put("/api/v1/sources/other", &json!({ "source": shown })).await.expect(200));
    let mut without = shown.clone();
    without.as_object_mut().unwrap().remove("password");
    told.push(api.put("/api/v1/sources/other", &json!({ "source": without })).await.expect(200));
    let shown_task = api.get("/api/v1/tasks/secret").await.expect(200);
    assert_eq!((&shown["password"], &shown_task["target_config"]["password"]), (&json!("******"), &json!("******")));
    told.push(api.put("/api/v1/tasks/secret", &json!({ "task": shown_task })).await.expect(200));
    let mut other_user = shown_task.clone();
    other_user["target_config"]["user"] = json!("root");
    let refused = api.put("/api/v1/tasks/secret", &json!({ "task": other_user })).await;
    assert!(refused.expect_error(400, 49001).contains("cannot stay as it is"));
    // They still work: the databases are listed, and the task runs to the end of the log.
    api.get("/api/v1/sources/other/schemas").await.expect(200);
    api.start_task("secret").await;
    api.until_synced("secret", secs(30)).await;
    site.equal().await;
    for path in [
        "/api/v1/sources",
        "/api/v1/sources?with_status=true",
        "/api/v1/sources/other",
        "/api/v1/tasks",
        "/api/v1/tasks?with_status=true",
        "/api/v1/tasks/secret",
        "/api/v1/tasks/secret/status",
        "/api/v1/cluster/info",
        "/api/v1/cluster/workers",
        "/api/v1/dm.json",
        "/metrics",
    ] {
        told.push(api.get(path).await.expect(200));
    }
    for body in told {
        assert!(!body.to_string().contains("gEh3im"), "{body}");
    }
    assert!(!site.ferrymaster.log().contains("gEh3im"));
    let directory = site.ferrymaster.data_directory();
    let mut files = 0;
    for entry in std::fs::read_dir(directory).unwrap().flatten().filter(|entry| entry.path().is_file()) {
        let bytes = std::fs::read(entry.path()).unwrap();
        assert!(!bytes.windows(6).any(|window| window == b"gEh3im"), "{entry:?}");
        files += 1;
    }
    assert!(files >= 2, "the metastore and its key");
    let key = std::fs::metadata(directory.join("ferrymaster.key")).unwrap();
    assert_eq!(std::os::unix::fs::PermissionsExt::mode(&key.permissions()) & 0o777, 0o600);
}

/// C101: only this machine reaches the API, and no page of another site may use a browser on it.
#[tokio::test]
async fn the_api_is_for_this_machine_only() {
    let ferrymaster = Ferrymaster::start().await;
    // A connected UDP socket sends nothing, and tells which address faces the network.
    let socket = std::net::UdpSocket::bind("0.0.0.0:0").unwrap();
    if socket.connect("192.0.2.1:9").is_ok() {
        let outward = socket.local_addr().unwrap().ip();
        if !outward.is_loopback() {
            let reached = std::net::TcpStream::connect_timeout(&(outward, ferrymaster.port).into(), secs(2));
            assert!(reached.is_err(), "{outward} is reachable");
        }
    }
    let client = reqwest::Client::builder().no_proxy().timeout(secs(10)).build().unwrap();
    let base = format!("http://127.0.0.1:{}", ferrymaster.port);
    for (name, value) in [("sec-fetch-site", "cross-site"), ("origin", "http://evil.example")] {
        let request = client.post(format!("{base}/api/v1/sources")).header(name, value).json(&json!({}));
        let answer = request.send().await.unwrap();
        assert_eq!(answer.status().as_u16(), 403, "{name}");
        let body: Value = answer.json().await.unwrap();
        assert!(body["hint"].as_str().is_some_and(|hint| !hint.is_empty()), "{body}");
    }
    let answer = client.get(format!("{base}/api/v1/sources")).send().await.unwrap();
    assert!(answer.headers().get("access-control-allow-origin").is_none());
}
