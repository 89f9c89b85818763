//! Open cleanups through the API. What they do to real targets is told by `tests/deletion`.

use ferrymaster::model::change::Change;
use ferrymaster::model::record::{AbandonedLedger, CleanupRecord};
use ferrymaster::model::{Endpoint, Generation, LedgerId, SourceName, TaskName};
use secrecy::ExposeSecret as _;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::app::TestApp;

const LIST: &str = "/api/v1/cleanups";

/// A target that was down when its task was deleted.
fn open(number: u8) -> CleanupRecord {
    CleanupRecord {
        id: Uuid::parse_str(&format!("0199c5a0-0000-7000-8000-0000000000{number:02}")).unwrap(),
        task: TaskName::new(format!("t{number}")),
        target: Endpoint {
            host: "db".to_owned(),
            port: 3306,
            user: "mover".to_owned(),
            password: "geheim".into(),
            tls: None,
        },
        meta_schema: "dm_meta".to_owned(),
        ledgers: vec![AbandonedLedger {
            source: SourceName::new("s1"),
            ledger_id: LedgerId::new(),
            generation: Generation(3),
        }],
        confirmed_off: true,
        attempts: 2,
        tried_us: Some(1_700_000_000_000_000),
        cause: Some("connection refused".to_owned()),
        created_us: 1_700_000_000_000_000,
    }
}

async fn with_open(numbers: &[u8]) -> TestApp {
    let app = TestApp::start().await;
    for number in numbers {
        app.app.commit(vec![Change::InsertCleanup(Box::new(open(*number)))]).await.unwrap();
    }
    app
}

#[tokio::test]
async fn open_cleanups_are_listed_oldest_first_and_in_pages() {
    let app = with_open(&[2, 1, 3]).await;
    let tasks = |list: &Value| -> Vec<String> {
        list["data"].as_array().unwrap().iter().map(|one| one["task_name"].as_str().unwrap().to_owned()).collect()
    };
    let all = app.get(LIST).await.expect(200);
    assert!(!all.text.contains("geheim"));
    assert_eq!((tasks(&all.json()), &all.json()["total"]), (["t1", "t2", "t3"].map(str::to_owned).to_vec(), &json!(3)));
    let mut first = all.json()["data"][0].clone();
    first.as_object_mut().unwrap().remove("next_attempt_at");
    insta::assert_json_snapshot!(first, @r#"
    {
      "id": "0199c5a0-0000-7000-8000-000000000001",
      "task_name": "t1",
      "source_name_list": [
        "s1"
      ],
      "target": "mover@db:3306",
      "meta_schema": "dm_meta",
      "created_at": "2023-11-14T22:13:20Z",
      "attempts": 2,
      "last_error": "connection refused",
      "last_attempt_at": "2023-11-14T22:13:20Z"
    }
    "#);
    let page = app.get(&format!("{LIST}?limit=2")).await.expect(200).json();
    assert_eq!(tasks(&page), ["t1", "t2"]);
    let next = format!("{LIST}?limit=2&cursor={}", page["next_cursor"].as_str().unwrap());
    assert_eq!(tasks(&app.get(&next).await.expect(200).json()), ["t3"]);
    assert_eq!(TestApp::start().await.get(LIST).await.expect(200).json(), json!({"total": 0, "data": []}));
}

#[tokio::test]
async fn a_cleanup_that_is_given_up_is_gone_and_an_unknown_one_is_not_found() {
    let app = with_open(&[1]).await;
    let known = format!("{LIST}/{}", open(1).id);
    let unknown = format!("{LIST}/{}", open(9).id);
    let account = json!({"user": "u", "password": "p"});
    let before = app.stored().await;
    for answer in [app.delete(&unknown).await, app.put(&unknown, account.clone()).await] {
        let answer = answer.expect(404);
        assert_eq!(answer.code(), 49001);
        assert!(answer.hint().contains("GET /api/v1/cleanups"), "{}", answer.text);
    }
    for answer in [app.delete(&format!("{LIST}/7")).await, app.put(&format!("{LIST}/7"), account).await] {
        assert_eq!(answer.expect(400).code(), 0);
    }
    assert_eq!(app.stored().await, before);
    app.delete(&known).await.expect(204);
    assert_eq!(app.get(LIST).await.expect(200).json()["total"], 0);
    app.delete(&known).await.expect(404);
}

#[tokio::test]
async fn another_account_is_stored_and_never_shown() {
    let app = with_open(&[1]).await;
    let path = format!("{LIST}/{}", open(1).id);
    let before = app.stored().await;
    for (body, code) in [
        (json!({"user": "u", "password": "******"}), 49001),
        (json!({"user": "u"}), 0),
        (json!({"user": "u", "password": 918_273}), 0),
    ] {
        let answer = app.put(&path, body).await.expect(400);
        assert_eq!(answer.code(), code, "{}", answer.text);
        assert!(!answer.hint().is_empty() && !answer.text.contains("918273"), "{}", answer.text);
    }
    assert_eq!(app.stored().await, before);
    let answer = app.put(&path, json!({"user": "other", "password": "n3u"})).await.expect(200);
    assert_eq!(answer.json()["target"], "other@db:3306");
    assert!(!answer.text.contains("n3u") && !app.get(LIST).await.text.contains("n3u"));
    let stored = app.app.store.cleanup(open(1).id).await.unwrap().expect("it is open");
    assert_eq!((stored.target.user.as_str(), stored.target.password.expose_secret()), ("other", "n3u"));
}
