//! Masters, workers and the noted topology through the API.

use ferrymaster::model::{Epoch, WorkerName};
use serde_json::json;

use crate::app::{TestApp, WORKER};
use crate::scene::Scene;

#[tokio::test]
async fn the_topology_is_noted_and_shown_and_a_wrong_one_changes_nothing() {
    let app = TestApp::start().await;
    let info = app.get("/api/v1/cluster/info").await.expect(200).json();
    let id = info["cluster_id"].as_u64().expect("a number");
    assert!(id > 0);
    assert!(info.get("topology").is_none(), "{info}");
    let topology = json!({
        "master_topology_list": [{"name": "m1", "host": "10.0.0.1", "port": 8261}],
        "worker_topology_list": [{"name": "w1", "host": "10.0.0.2", "port": 8262}],
        "grafana_topology": {"host": "10.0.0.3", "port": 3000},
    });
    let echo = app.put("/api/v1/cluster/info", topology.clone()).await.expect(200).json();
    assert_eq!(echo, json!({"cluster_id": id, "topology": topology}));
    let wrong = json!({"prometheus_topology": {"host": "h", "port": 99_999}});
    let answer = app.put("/api/v1/cluster/info", wrong).await.expect(400);
    assert!(answer.hint().contains("`prometheus_topology.port`"), "{}", answer.text);
    assert_eq!(app.get("/api/v1/cluster/info").await.expect(200).json(), echo);
    let none = app.put("/api/v1/cluster/info", json!({})).await.expect(200).json();
    assert_eq!(none, json!({"cluster_id": id, "topology": {}}));
}

#[tokio::test]
async fn this_master_leads_and_stays() {
    let app = TestApp::start().await;
    let masters = async || app.get("/api/v1/cluster/masters").await.expect(200).json();
    let one = json!({"name": "master-1", "alive": true, "leader": true, "addr": "http://127.0.0.1:8261"});
    assert_eq!(masters().await, json!({"total": 1, "data": [one]}));
    let answer = app.delete("/api/v1/cluster/masters/master-1").await.expect(400);
    assert_eq!(answer.code(), 49001);
    assert!(!answer.hint().is_empty());
    let answer = app.delete("/api/v1/cluster/masters/master-9").await.expect(400);
    assert_eq!(answer.code(), 38048);
    assert!(answer.message().contains("not exists"), "{}", answer.text);
    assert_eq!(masters().await["total"], 1);
}

#[tokio::test]
async fn workers_are_listed_with_their_sources_and_forgotten_once_they_are_gone() {
    let scene = Scene::with_sources(&["s2", "s1"]).await;
    let workers = async || scene.get("/api/v1/cluster/workers").await.expect(200).json();
    let bound =
        json!({"name": WORKER, "addr": "in this process", "bound_stage": "bound", "bound_source_name": "s1,s2"});
    assert_eq!(workers().await, json!({"total": 1, "data": [bound]}));
    for source in ["s1", "s2"] {
        scene.delete(&format!("/api/v1/sources/{source}")).await.expect(204);
    }
    let free = workers().await;
    assert_eq!((&free["data"][0]["bound_stage"], &free["data"][0]["bound_source_name"]), (&json!("free"), &json!("")));
    let path = format!("/api/v1/cluster/workers/{WORKER}");
    assert_eq!(scene.delete(&path).await.expect(400).code(), 46005);
    assert_eq!(workers().await["total"], 1);
    scene.app.registry.goodbye(&WorkerName::new(WORKER), Epoch(1));
    assert_eq!(workers().await["data"][0]["bound_stage"], "offline");
    scene.delete(&path).await.expect(204);
    assert_eq!(workers().await, json!({"total": 0, "data": []}));
    assert_eq!(scene.delete(&path).await.expect(400).code(), 46004);
}
