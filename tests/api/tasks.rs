//! Tasks through the API: what is stored, what is shown, and what starts and stops ask for. Nothing runs here.

use ferrymaster::model::report::{Outcome, RunState};
use ferrymaster::model::subtask::Wanted;
use ferrymaster::model::{Epoch, Generation, SourceName, WorkerName};
use serde_json::{Value, json};

use crate::app::{Answer, WORKER};
use crate::bodies::with;
use crate::scene::Scene;

fn names(list: &Answer) -> Vec<String> {
    let list = list.json();
    let names: Vec<String> =
        list["data"].as_array().unwrap().iter().map(|task| task["name"].as_str().unwrap().to_owned()).collect();
    names
}

#[tokio::test]
async fn a_created_task_is_echoed_with_its_check_and_shown_without_secrets() {
    let scene = Scene::with_sources(&["s1"]).await;
    let body = with(scene.task("t1", &["s1"]), "/task/timezone", json!("+08:00"));
    let body = with(body, "/task/target_config/session", json!({"foreign_key_checks": "0"}));
    let body = with(body, "/task/source_config/incr_migrate_conf", json!({"safe_mode": true}));
    let body = with(body, "/task/no_such_field", json!(1));
    let answer = scene.post("/api/v1/tasks", body).await.expect(201).json();
    assert_eq!(answer["check_result"], "pre-check is passed. ");
    let shown = scene.get("/api/v1/tasks/t1").await.expect(200).json();
    assert_eq!(answer["task"], shown);
    let mut shown = shown;
    shown["target_config"]["port"] = json!(3306);
    shown["meta_schema"] = json!("meta");
    shown["table_migrate_rule"][0]["source"]["schema"] = json!("shop");
    insta::assert_json_snapshot!(shown, @r#"
    {
      "name": "t1",
      "task_mode": "all",
      "meta_schema": "meta",
      "timezone": "+08:00",
      "enhance_online_schema_change": true,
      "on_duplicate": "error",
      "target_config": {
        "host": "127.0.0.1",
        "port": 3306,
        "user": "root",
        "password": "",
        "security": null,
        "session": {
          "foreign_key_checks": "0"
        }
      },
      "table_migrate_rule": [
        {
          "source": {
            "source_name": "s1",
            "schema": "shop",
            "table": "*"
          }
        }
      ],
      "source_config": {
        "source_conf": [
          {
            "source_name": "s1"
          }
        ],
        "incr_migrate_conf": {
          "repl_threads": 16,
          "repl_batch": 100,
          "safe_mode": true
        }
      }
    }
    "#);
    let status = scene.get("/api/v1/tasks/t1/status").await.expect(200).json();
    insta::assert_json_snapshot!(status, @r#"
    {
      "total": 1,
      "data": [
        {
          "name": "t1",
          "source_name": "s1",
          "worker_name": "worker-1",
          "stage": "Stopped",
          "unit": "Load",
          "unresolved_ddl_lock_id": "",
          "load_status": {
            "finished_bytes": 0,
            "total_bytes": 0,
            "progress": "0.00 %",
            "meta_binlog": "",
            "meta_binlog_gtid": "",
            "bps": 0,
            "finished_rows": 0,
            "estimate_total_rows": 0,
            "finished_tables": 0,
            "total_tables": 0,
            "rows_per_second": 0
          },
          "dump_status": {
            "total_tables": 0,
            "completed_tables": 0.0,
            "finished_bytes": 0.0,
            "finished_rows": 0.0,
            "estimate_total_rows": 0.0,
            "bps": 0,
            "progress": "0.00 %"
          }
        }
      ]
    }
    "#);
    let with_status = scene.get("/api/v1/tasks/t1?with_status=true").await.expect(200).json();
    assert_eq!(with_status["status_list"], status["data"]);
}

#[tokio::test]
async fn checks_can_be_left_out_and_unknown_ones_cannot() {
    let scene = Scene::with_sources(&["s1"]).await;
    let body = |items: Value| with(scene.task("t1", &["s1"]), "/task/ignore_checking_items", items);
    let answer = scene.post("/api/v1/tasks", body(json!(["versions"]))).await.expect(400);
    assert_eq!(answer.code(), 20001);
    assert!(answer.hint().contains("table_schema") || answer.hint().contains("version"), "{}", answer.text);
    let answer = scene.post("/api/v1/tasks", body(json!(["all", "schema_of_shard_tables"]))).await.expect(201);
    assert_eq!(answer.json()["check_result"], "");
}

#[tokio::test]
async fn lists_are_sorted_filtered_and_paged() {
    let scene = Scene::with_sources(&["s1", "s2"]).await;
    for (task, sources) in [("both", &["s1", "s2"][..]), ("one", &["s1"]), ("again", &["s2"])] {
        scene.create_task(task, sources).await;
    }
    let list = async |query: &str| scene.get(&format!("/api/v1/tasks{query}")).await.expect(200);
    assert_eq!(names(&list("").await), ["again", "both", "one"]);
    assert!(!list("").await.text.contains("status_list"));
    let with_status = list("?with_status=true").await.json();
    assert_eq!(with_status["data"][1]["status_list"].as_array().map(Vec::len), Some(2));
    // The set of a task's sources must be the one asked for, in any order.
    assert_eq!(names(&list("?source_name_list=s2&source_name_list=s1").await), ["both"]);
    assert_eq!(names(&list("?source_name_list=s1").await), ["one"]);
    for none in ["?source_name_list=s1,s2", "?source_name_list=s9", "?stage=Finished"] {
        assert!(names(&list(none).await).is_empty(), "{none}");
    }
    // Every subtask must be in the stage asked for.
    scene.start_task("both").await;
    scene.start_task("one").await;
    scene.report("both", "s1", RunState::Running, None).await;
    scene.report("one", "s1", RunState::Running, None).await;
    assert_eq!(names(&list("?stage=Running").await), ["one"]);
    assert_eq!(names(&list("?stage=Running&source_name_list=s1&with_status=1").await), ["one"]);
    assert_eq!(names(&list("?stage=Stopped").await), ["again"]);
    scene.report("both", "s2", RunState::Running, None).await;
    assert_eq!(names(&list("?stage=Running").await), ["both", "one"]);
    scene.report("one", "s1", RunState::Closed, Some(Outcome::Failed)).await;
    assert_eq!(names(&list("?stage=Paused").await), ["one"]);

    let first = list("?limit=2").await;
    assert_eq!(names(&first), ["again", "both"]);
    let cursor = first.json()["next_cursor"].as_str().unwrap().to_owned();
    let second = list(&format!("?limit=2&cursor={cursor}")).await;
    assert_eq!((names(&second), &second.json()["next_cursor"]), (vec!["one".to_owned()], &Value::Null));
}

#[tokio::test]
async fn odd_names_come_back_as_they_were_given() {
    let scene = Scene::with_sources(&["s1"]).await;
    for (name, encoded) in [
        ("t-Ë!s`t", "t-%C3%8B!s%60t"),
        ("a b/c", "a%20b%2Fc"),
        ("任务", "%E4%BB%BB%E5%8A%A1"),
        ("100%2F?#", "100%252F%3F%23"),
        (&"n".repeat(128), &"n".repeat(128)),
    ] {
        let path = format!("/api/v1/tasks/{encoded}");
        let answer = scene.get(&path).await.expect(404);
        assert_eq!(answer.code(), 46018);
        assert!(answer.message().contains(name), "{}", answer.text);
        scene.create_task(name, &["s1"]).await;
        assert_eq!(scene.get(&path).await.expect(200).json()["name"], name);
        assert_eq!(scene.stages(encoded).await, json!(["Stopped"]));
        scene.post_nothing(&format!("{path}/start?wait=0s")).await.expect(200);
        scene.post_nothing(&format!("{path}/stop?wait=0s")).await.expect(200);
        scene.delete(&path).await.expect(204);
        scene.get(&path).await.expect(404);
    }
}

#[tokio::test]
async fn what_a_get_shows_can_be_put_back_and_tuning_and_rules_may_change() {
    let scene = Scene::with_sources(&["s1", "s2"]).await;
    scene.create_task("t1", &["s1", "s2"]).await;
    let shown = scene.get("/api/v1/tasks/t1").await.expect(200).json();
    let answer = scene.put("/api/v1/tasks/t1", json!({"task": shown})).await.expect(200).json();
    assert_eq!((&answer["task"], &answer["check_result"]), (&shown, &json!("pre-check is passed. ")));
    assert_eq!(scene.get("/api/v1/tasks/t1").await.expect(200).json(), shown);

    let body = with(json!({"task": shown}), "/task/source_config/incr_migrate_conf", json!({"repl_threads": 1}));
    let body = with(body, "/task/table_migrate_rule/0/target", json!({"schema": "elsewhere"}));
    scene.put("/api/v1/tasks/t1", body).await.expect(200);
    let after = scene.get("/api/v1/tasks/t1").await.expect(200).json();
    assert_eq!(
        after["source_config"]["incr_migrate_conf"],
        json!({"repl_threads": 1, "repl_batch": 100, "safe_mode": false})
    );
    assert_eq!(scene.subtask("t1", "s1").await.settings.rules[0].target_schema.as_deref(), Some("elsewhere"));
    // A source that is left out stays as it is.
    let one = with(json!({"task": after}), "/task/source_config/source_conf", json!([{"source_name": "s2"}]));
    let one = with(one, "/task/table_migrate_rule", json!([after["table_migrate_rule"][1]]));
    scene.put("/api/v1/tasks/t1", one).await.expect(200);
    let sources = scene.get("/api/v1/tasks/t1").await.expect(200).json()["source_config"]["source_conf"].clone();
    assert_eq!(sources.as_array().map(Vec::len), Some(2), "{sources}");
    assert_eq!(scene.subtask("t1", "s1").await.settings.rules[0].target_schema.as_deref(), Some("elsewhere"));
}

#[tokio::test]
async fn an_update_that_progress_would_contradict_is_refused_and_changes_nothing() {
    let scene = Scene::with_sources(&["s1", "s2"]).await;
    scene.create_task("t1", &["s1"]).await;
    let shown = json!({"task": scene.get("/api/v1/tasks/t1").await.expect(200).json()});
    let before = scene.stored().await;
    for (place, value, code, text) in [
        ("/task/timezone", json!("+09:00"), 46035, "fields that should not be changed"),
        ("/task/source_config/incr_migrate_conf", json!({"safe_mode": true}), 46035, "safe-mode"),
        ("/task/target_config/session", json!({"foreign_key_checks": "1"}), 46035, "foreign_key_checks"),
        ("/task/target_config/host", json!("localhost"), 46035, "target_config.host"),
        ("/task/task_mode", json!("full"), 46035, "task_mode"),
        ("/task/name", json!("t2"), 49001, "t2"),
        ("/task/source_config/source_conf", json!([{"source_name": "s1"}, {"source_name": "s2"}]), 46034, "source s2"),
    ] {
        let answer = scene.put("/api/v1/tasks/t1", with(shown.clone(), place, value)).await.expect(400);
        assert_eq!(answer.code(), code, "{}", answer.text);
        assert!(answer.message().contains(text), "{place}: {}", answer.text);
        assert!(!answer.hint().is_empty());
    }
    assert_eq!(scene.put("/api/v1/tasks/t9", shown.clone()).await.expect(400).code(), 46018);
    assert_eq!(scene.stored().await, before);
    scene.start_task("t1").await;
    let before = scene.stored().await;
    assert_eq!(scene.put("/api/v1/tasks/t1", shown).await.expect(400).code(), 46035);
    assert_eq!(scene.stored().await, before);
}

#[tokio::test]
async fn start_and_stop_store_the_wish_and_repeating_them_changes_nothing() {
    let scene = Scene::with_sources(&["s1", "s2"]).await;
    scene.create_task("t1", &["s1", "s2"]).await;
    let wanted = async |source: &str| {
        let subtask = scene.subtask("t1", source).await;
        (subtask.wanted, subtask.generation)
    };
    let answer = scene.post("/api/v1/tasks/t1/start?wait=0s", json!({"source_name_list": ["s1"]})).await.expect(200);
    assert_eq!(answer.text, "");
    assert_eq!(wanted("s1").await, (Wanted::Running, Generation(1)));
    assert_eq!(wanted("s2").await, (Wanted::Stopped, Generation(0)));
    scene.post("/api/v1/tasks/t1/start?wait=0s", json!({"source_name_list": []})).await.expect(200);
    assert_eq!(wanted("s2").await, (Wanted::Running, Generation(1)));
    let before = format!("{:?}{:?}", scene.subtask("t1", "s1").await, scene.subtask("t1", "s2").await);
    scene.start_task("t1").await;
    assert_eq!(format!("{:?}{:?}", scene.subtask("t1", "s1").await, scene.subtask("t1", "s2").await), before);

    let body = json!({"timeout_duration": "1m0.2s", "source_name_list": ["s2"]});
    let answer = scene.post("/api/v1/tasks/t1/stop?wait=0s", body).await.expect(200);
    assert_eq!(answer.text, "");
    assert_eq!(wanted("s1").await, (Wanted::Running, Generation(1)));
    assert_eq!(wanted("s2").await, (Wanted::Stopped, Generation(1)));
    assert_eq!(scene.subtask("t1", "s2").await.settings.stop_grace_s, Some(61));
    for _ in 0..2 {
        scene.post_nothing("/api/v1/tasks/t1/stop?wait=0s").await.expect(200);
        assert_eq!(wanted("s1").await, (Wanted::Stopped, Generation(1)));
    }
    scene.start_task("t1").await;
    assert_eq!(wanted("s1").await, (Wanted::Running, Generation(2)));
}

/// Clients made by a generator name the content type even when they send no body.
#[tokio::test]
async fn start_and_stop_need_no_body_under_any_content_type() {
    let scene = Scene::with_sources(&["s1"]).await;
    scene.create_task("t1", &["s1"]).await;
    for (call, wanted) in [("start", Wanted::Running), ("stop", Wanted::Stopped)] {
        for content_type in [None, Some("application/json"), Some("text/plain")] {
            let mut request = axum::http::Request::post(format!("/api/v1/tasks/t1/{call}?wait=0s"));
            if let Some(content_type) = content_type {
                request = request.header("content-type", content_type);
            }
            scene.send(request.body(axum::body::Body::empty()).unwrap()).await.expect(200);
            assert_eq!(scene.subtask("t1", "s1").await.wanted, wanted, "{call} {content_type:?}");
        }
    }
}

#[tokio::test]
async fn a_call_answers_as_soon_as_the_worker_reports_the_new_stage() {
    let scene = Scene::with_sources(&["s1"]).await;
    scene.create_task("t1", &["s1"]).await;
    let reporting = async {
        while scene.subtask("t1", "s1").await.generation == Generation(0) {
            tokio::task::yield_now().await;
        }
        scene.report("t1", "s1", RunState::Running, None).await;
    };
    let begun = std::time::Instant::now();
    let (answer, ()) = tokio::join!(scene.post_nothing("/api/v1/tasks/t1/start?wait=50s"), reporting);
    answer.expect(200);
    assert!(begun.elapsed() < std::time::Duration::from_secs(20), "{:?}", begun.elapsed());
    assert_eq!(scene.stages("t1").await, json!(["Running"]));
}

#[tokio::test]
async fn a_start_that_cannot_be_is_refused_and_changes_nothing() {
    let scene = Scene::with_sources(&["s1", "off"]).await;
    scene.create_task("copying", &["s1"]).await;
    scene.create_task("on-disabled", &["off"]).await;
    scene.post_nothing("/api/v1/sources/off/disable").await.expect(200);
    let following = with(scene.task("following", &["s1"]), "/task/task_mode", json!("incremental"));
    scene.post("/api/v1/tasks", following).await.expect(201);
    let before = scene.stored().await;
    for (path, body, code, text) in [
        ("following/start", json!({}), 20022, "must set meta for task-mode incremental"),
        ("following/start", json!({"start_time": "yesterday"}), 0, "yesterday"),
        ("following/start", json!({"start_time": "2006-01-02 15:04:05", "safe_mode_time_duration": "x"}), 0, "x"),
        ("copying/start", json!({"start_time": "2006-01-02 15:04:05"}), 49001, "start time"),
        ("copying/start", json!({"source_name_list": ["s9"]}), 46017, "s9"),
        ("copying/start", json!({"source_name_list": "s1"}), 0, "source_name_list"),
        ("on-disabled/start", json!({}), 38058, "not enabled"),
        ("nothing/start", json!({}), 46016, "nothing"),
        ("nothing/stop", json!({}), 46016, "nothing"),
        ("copying/stop", json!({"source_name_list": ["s9"]}), 46017, "s9"),
        ("copying/stop", json!({"timeout_duration": "soon"}), 0, "soon"),
        ("copying/stop", json!({"timeout_duration": "9999h"}), 0, "9999h"),
        ("copying/stop?wait=61s", json!({}), 0, "61s"),
    ] {
        let answer = scene.post(&format!("/api/v1/tasks/{path}"), body).await.expect(400);
        assert_eq!(answer.code(), code, "{}", answer.text);
        assert!(answer.message().contains(text) && !answer.hint().is_empty(), "{}", answer.text);
    }
    assert_eq!(scene.stored().await, before);
}

#[tokio::test]
async fn a_status_tells_the_error_and_since_when_and_never_fails_as_a_whole() {
    let scene = Scene::with_sources(&["s1", "s2"]).await;
    scene.create_task("t1", &["s1", "s2"]).await;
    scene.start_task("t1").await;
    scene.report("t1", "s1", RunState::Closed, Some(Outcome::Failed)).await;
    scene.report("t1", "s2", RunState::Running, None).await;
    let status = async |query: &str| scene.get(&format!("/api/v1/tasks/t1/status{query}")).await.expect(200).json();
    let all = status("").await;
    assert_eq!((&all["data"][0]["stage"], &all["data"][1]["stage"]), (&json!("Paused"), &json!("Running")));
    let error = &all["data"][0]["error"];
    assert_eq!((&error["code"], &error["at"]), (&json!(10006), &json!("2023-11-14T22:13:20Z")));
    assert!(all["data"][0]["error_msg"].as_str().unwrap().contains("INSERT was refused"), "{all}");
    assert_eq!(all["data"][0]["reported_at"], "2023-11-14T22:13:21Z");
    let one = status("?source_name_list=s2").await;
    assert_eq!((&one["total"], &one["data"][0]["source_name"]), (&json!(1), &json!("s2")));

    // A worker that is not heard: how a run ended is known all the same, how one goes on is not.
    scene.app.registry.goodbye(&WorkerName::new(WORKER), Epoch(1));
    let silent = status("").await;
    assert_eq!((&silent["data"][0]["stage"], &silent["data"][1]["stage"]), (&json!("Paused"), &json!("")));
    assert!(silent["data"][1]["error_msg"].as_str().unwrap().contains("code=38008"), "{silent}");
    // A source without a worker.
    let source = SourceName::new("s2");
    scene.app.commit(vec![ferrymaster::model::change::Change::Unassign { source }]).await.unwrap();
    let unbound = status("?source_name_list=s2").await;
    assert_eq!(unbound["data"][0]["worker_name"], "");
    assert!(unbound["data"][0]["error_msg"].as_str().unwrap().contains("code=38029"), "{unbound}");
    let source = scene.get("/api/v1/sources/s2/status").await.expect(200).json();
    assert_eq!((&source["total"], &source["data"][0]["worker_name"]), (&json!(1), &json!("")));
    assert!(source["data"][0]["error_msg"].as_str().unwrap().contains("code=38029"), "{source}");
}

#[tokio::test]
async fn a_delete_is_refused_while_it_runs_and_a_new_task_of_that_name_begins_anew() {
    let scene = Scene::with_sources(&["s1"]).await;
    scene.create_task("t1", &["s1"]).await;
    let first = scene.subtask("t1", "s1").await.ledger_id;
    scene.start_task("t1").await;
    let before = scene.stored().await;
    for path in ["t1", "t1?force=false&keep_meta=true"] {
        let answer = scene.delete(&format!("/api/v1/tasks/{path}")).await.expect(400);
        assert_eq!(answer.code(), 49001);
        assert!(answer.message().contains("running subtasks"), "{}", answer.text);
    }
    for query in ["force=yes", "keep_meta=", "keep_meta=2", "wait=61s", "wait=-1s"] {
        let answer = scene.delete(&format!("/api/v1/tasks/t1?{query}")).await.expect(400);
        assert_eq!(answer.code(), 0, "{query}");
        assert!(!answer.hint().is_empty());
    }
    assert_eq!(scene.delete("/api/v1/tasks/t2?force=true").await.expect(400).code(), 46018);
    assert_eq!(scene.stored().await, before);
    scene.report("t1", "s1", RunState::Running, None).await;
    scene.report("t1", "s1", RunState::Closed, Some(Outcome::Stopped)).await;
    let answer = scene.delete("/api/v1/tasks/t1?force=1&keep_meta=f").await.expect(204);
    assert_eq!(answer.text, "");
    scene.get("/api/v1/tasks/t1").await.expect(404);
    assert_eq!(scene.get("/api/v1/tasks").await.expect(200).json()["total"], 0);
    scene.create_task("t1", &["s1"]).await;
    assert_ne!(scene.subtask("t1", "s1").await.ledger_id, first);
}

#[tokio::test]
async fn kept_progress_belongs_to_the_next_task_of_that_name() {
    let scene = Scene::with_sources(&["s1"]).await;
    scene.create_task("t1", &["s1"]).await;
    let first = scene.subtask("t1", "s1").await.ledger_id;
    scene.start_task("t1").await;
    scene.report("t1", "s1", RunState::Closed, Some(Outcome::Stopped)).await;
    scene.delete("/api/v1/tasks/t1?force=true&keep_meta=true").await.expect(204);
    assert_eq!(scene.get("/api/v1/cleanups").await.expect(200).json()["total"], 0);
    scene.create_task("t1", &["s1"]).await;
    let again = scene.subtask("t1", "s1").await;
    assert_eq!((again.ledger_id, again.ledger_kept, again.generation), (first, true, Generation(1)));
}

#[tokio::test]
async fn a_source_with_tasks_is_deleted_by_force_only_and_taken_out_of_them() {
    let scene = Scene::with_sources(&["s1", "s2"]).await;
    scene.create_task("both", &["s1", "s2"]).await;
    scene.create_task("one", &["s1"]).await;
    let with_status = scene.get("/api/v1/sources/s1?with_status=true").await.expect(200).json();
    assert_eq!(with_status["task_name_list"], json!(["both", "one"]));
    let before = scene.stored().await;
    let answer = scene.delete("/api/v1/sources/s1").await.expect(400);
    assert_eq!(answer.code(), 46010);
    assert!(answer.message().contains("both") && answer.message().contains("one"), "{}", answer.text);
    assert_eq!(scene.stored().await, before);
    scene.delete("/api/v1/sources/s1?force=true").await.expect(204);
    assert_eq!(scene.delete("/api/v1/sources/s1?force=true").await.expect(400).code(), 46008);
    scene.get("/api/v1/sources/s1").await.expect(404);
    assert_eq!(names(&scene.get("/api/v1/tasks").await), ["both"]);
    assert_eq!(scene.stages("both").await, json!(["Stopped"]));
    let task = scene.get("/api/v1/tasks/both").await.expect(200).json();
    assert_eq!(task["source_config"]["source_conf"], json!([{"source_name": "s2"}]));
    assert_eq!(task["table_migrate_rule"].as_array().map(Vec::len), Some(1));
    scene.put("/api/v1/tasks/both", json!({"task": task})).await.expect(200);
}

#[tokio::test]
async fn a_source_that_is_switched_takes_its_tasks_with_it() {
    let scene = Scene::with_sources(&["s1", "s2"]).await;
    scene.create_task("t1", &["s1", "s2"]).await;
    scene.start_task("t1").await;
    let shown = scene.get("/api/v1/sources/s1").await.expect(200).json();
    let refused = scene.put("/api/v1/sources/s1", json!({"source": shown})).await.expect(400);
    assert_eq!(refused.code(), 46025);
    assert!(refused.message().contains("t1"), "{}", refused.text);
    scene.post_nothing("/api/v1/sources/s1/disable?wait=0s").await.expect(200);
    assert_eq!(scene.subtask("t1", "s1").await.wanted, Wanted::Stopped);
    assert_eq!(scene.subtask("t1", "s2").await.wanted, Wanted::Running);
    let shown = scene.get("/api/v1/sources/s1").await.expect(200).json();
    scene
        .put("/api/v1/sources/s1", with(json!({"source": shown}), "/source/enable_gtid", json!(true)))
        .await
        .expect(200);
    scene.post_nothing("/api/v1/sources/s1/enable?wait=0s").await.expect(200);
    let subtask = scene.subtask("t1", "s1").await;
    assert_eq!((subtask.wanted, subtask.generation), (Wanted::Running, Generation(2)));
}
