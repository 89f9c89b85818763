//! Whatever goes wrong, the answer has the same body, with a hint that helps.

use axum::body::Body;
use axum::http::Request;
use serde_json::json;

use crate::app::TestApp;

fn request(method: &str, path: &str, headers: &[(&str, &str)], body: &'static str) -> Request<Body> {
    let mut request = Request::builder().method(method).uri(path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(Body::from(body)).expect("a request")
}

const JSON: (&str, &str) = ("content-type", "application/json");

#[tokio::test]
async fn every_kind_of_failure_has_the_one_body() {
    let app = TestApp::start().await;
    let mut told = Vec::new();
    for (what, request, status) in [
        ("a body that is no JSON", request("POST", "/api/v1/tasks", &[JSON], "{\"task\": {"), 400),
        ("an empty JSON body", request("POST", "/api/v1/tasks", &[JSON], ""), 400),
        ("another content type", request("POST", "/api/v1/tasks", &[("content-type", "text/plain")], "{}"), 400),
        ("a missing field", request("POST", "/api/v1/sources", &[JSON], "{\"source\": {}}"), 400),
        ("no body at all", request("POST", "/api/v1/sources", &[], ""), 400),
        (
            "a wrong enum",
            request("POST", "/api/v1/tasks", &[JSON], "{\"task\":{\"name\":\"t\",\"task_mode\":\"both\"}}"),
            400,
        ),
        ("a wrong boolean", request("GET", "/api/v1/tasks?with_status=yes", &[], ""), 400),
        ("a wrong stage", request("GET", "/api/v1/tasks?stage=", &[], ""), 400),
        ("an unknown path", request("GET", "/api/v1/nothing", &[], ""), 404),
        ("a wrong method", request("PATCH", "/api/v1/tasks", &[], ""), 405),
        (
            "a page of another site",
            request("POST", "/api/v1/tasks", &[JSON, ("sec-fetch-site", "cross-site")], "{}"),
            403,
        ),
        ("an operation that is not built", request("POST", "/api/v1/sources/s1/transfer", &[JSON], "{}"), 400),
        ("a source that does not exist", request("GET", "/api/v1/sources/s1", &[], ""), 404),
        ("a task that does not exist", request("GET", "/api/v1/tasks/t-%C3%8B!s%60t", &[], ""), 404),
    ] {
        let answer = app.send(request).await.expect(status);
        let failure = answer.failure();
        assert_eq!(answer.headers["content-type"], "application/json; charset=utf-8", "{what}");
        assert_eq!(answer.headers["x-request-id"], answer.json()["request_id"].as_str().unwrap(), "{what}");
        assert!(!failure["hint"].as_str().unwrap().is_empty(), "{what} has no hint");
        told.push(json!({"what": what, "status": status, "code": failure["error_code"],
            "message": failure["error_msg"], "hint": failure["hint"]}));
    }
    insta::assert_json_snapshot!(told);
}

#[tokio::test]
async fn too_large_a_body_is_refused() {
    let app = TestApp::start().await;
    let body = Body::from(vec![b' '; (4 << 20) + 1]);
    let request = Request::post("/api/v1/tasks").header("content-type", "application/json").body(body).unwrap();
    app.send(request).await.expect(413).failure();
}

#[tokio::test]
async fn a_path_with_a_slash_too_many_is_redirected() {
    let app = TestApp::start().await;
    let answer = app.get("/api/v1/sources/?with_status=true").await.expect(301);
    assert_eq!(answer.headers["location"], "/api/v1/sources?with_status=true");
    app.post("/api/v1/sources/", json!({})).await.expect(307);
}

#[tokio::test]
async fn a_plain_request_id_is_kept_and_an_odd_one_is_not() {
    let app = TestApp::start().await;
    let send = async |id: &str| app.send(request("GET", "/healthz", &[("x-request-id", id)], "")).await.expect(200);
    assert_eq!(send("job-7.a").await.headers["x-request-id"], "job-7.a");
    assert_ne!(send("a b").await.headers["x-request-id"], "a b");
}

#[tokio::test]
async fn successes_are_indented_by_four_spaces() {
    let app = TestApp::start().await;
    assert_eq!(app.get("/api/v1/tasks").await.expect(200).text, "{\n    \"total\": 0,\n    \"data\": []\n}");
}

#[tokio::test]
async fn the_page_and_the_documents_are_served_without_anything_from_elsewhere() {
    let app = TestApp::start().await;
    let page = app.get("/api/v1/docs").await.expect(200);
    assert!(page.headers["content-type"].to_str().unwrap().starts_with("text/html"));
    assert!(!page.text.contains("http://") && !page.text.contains("https://"));
    for part in page.text.split('"').filter(|text| text.starts_with("/api/v1/docs/")) {
        app.get(part).await.expect(200);
    }
    let settings = app.get("/api/v1/docs/swagger-initializer.js").await.expect(200);
    assert!(settings.text.contains("/api/v1/openapi.json"), "{}", settings.text);
    app.get("/api/v1/docs/nothing.js").await.expect(404).failure();
    assert_eq!(app.get("/api/v1/openapi.json").await.expect(200).json()["openapi"], "3.1.0");
    assert_eq!(app.get("/api/v1/dm.json").await.expect(200).json()["openapi"], "3.0.3");
}

#[tokio::test]
async fn readiness_is_leadership() {
    let app = TestApp::start().await;
    app.get("/readyz").await.expect(200);
    app.lose_office();
    let answer = app.get("/readyz").await.expect(503);
    assert_eq!(answer.headers["retry-after"], "1");
}
