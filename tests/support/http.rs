//! The API as a client sees it: JSON in, status and JSON out.

use std::sync::Once;
use std::time::Duration;

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::servers::Server;
use super::wait::{secs, until};

/// What came back.
#[derive(Debug, Clone)]
pub struct Answer {
    pub request: String,
    pub status: StatusCode,
    /// Null if the body was empty; a string if it was no JSON.
    pub body: Value,
}

impl Answer {
    /// The body, if the status is the expected one.
    #[track_caller]
    pub fn expect(self, status: u16) -> Value {
        assert_eq!(self.status.as_u16(), status, "{}: {:#}", self.request, self.body);
        self.body
    }

    /// The error message, if status and code are the expected ones.
    #[track_caller]
    pub fn expect_error(self, status: u16, code: u64) -> String {
        assert_eq!(
            (self.status.as_u16(), self.body["error_code"].as_u64()),
            (status, Some(code)),
            "{}: {:#}",
            self.request,
            self.body
        );
        self.body["error_msg"].as_str().expect("an error has a message").to_owned()
    }
}

/// A client of one ferrymaster.
#[derive(Debug, Clone)]
pub struct Api {
    base: String,
    client: reqwest::Client,
}

impl Api {
    /// `base` is `http://host:port`.
    pub fn new(base: impl Into<String>) -> Self {
        static PROVIDER: Once = Once::new();
        PROVIDER.call_once(|| {
            rustls::crypto::ring::default_provider().install_default().expect("no other provider was installed");
        });
        let client = reqwest::Client::builder().no_proxy().timeout(secs(90)).build().expect("a client can be built");
        Self { base: base.into(), client }
    }

    pub async fn try_send(&self, method: Method, path: &str, body: Option<&Value>) -> reqwest::Result<Answer> {
        let request = format!("{method} {path}");
        let mut builder = self.client.request(method, format!("{}{path}", self.base));
        if let Some(body) = body {
            builder = builder.json(body);
        }
        let response = builder.send().await?;
        let status = response.status();
        let text = response.text().await?;
        let body = match text.as_str() {
            "" => Value::Null,
            text => serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned())),
        };
        Ok(Answer { request, status, body })
    }

    async fn send(&self, method: Method, path: &str, body: Option<&Value>) -> Answer {
        let request = format!("{method} {path}");
        self.try_send(method, path, body).await.unwrap_or_else(|error| panic!("{request}: {error:?}"))
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.send(Method::GET, path, None).await
    }

    pub async fn post(&self, path: &str, body: &Value) -> Answer {
        self.send(Method::POST, path, Some(body)).await
    }

    /// POST without a body.
    pub async fn post_empty(&self, path: &str) -> Answer {
        self.send(Method::POST, path, None).await
    }

    pub async fn put(&self, path: &str, body: &Value) -> Answer {
        self.send(Method::PUT, path, Some(body)).await
    }

    pub async fn delete(&self, path: &str) -> Answer {
        self.send(Method::DELETE, path, None).await
    }

    pub async fn create_source(&self, name: &str, server: &Server, enable_gtid: bool) {
        self.post("/api/v1/sources", &json!({ "source": source(name, server, enable_gtid) })).await.expect(201);
    }

    pub async fn create_task(&self, task: &Value) {
        self.post("/api/v1/tasks", &json!({ "task": task })).await.expect(201);
    }

    pub async fn start_task(&self, name: &str) {
        self.post_empty(&format!("/api/v1/tasks/{name}/start")).await.expect(200);
    }

    pub async fn stop_task(&self, name: &str) {
        self.post_empty(&format!("/api/v1/tasks/{name}/stop")).await.expect(200);
    }

    /// The status of a task's subtask on its only source.
    pub async fn subtask_status(&self, task: &str) -> Value {
        let mut answer = self.get(&format!("/api/v1/tasks/{task}/status")).await.expect(200);
        let list = answer["data"].as_array_mut().expect("`data` is a list");
        assert_eq!(list.len(), 1, "one source, one subtask: {list:?}");
        list.remove(0)
    }

    /// Waits until the status of the only subtask satisfies `wanted`. An error in the status ends the wait, unless it
    /// is what is waited for.
    pub async fn until_status(
        &self,
        task: &str,
        what: &str,
        deadline: Duration,
        wanted: impl Fn(&Value) -> bool,
    ) -> Value {
        until(&format!("task {task} {what}"), deadline, async || {
            let status = self.subtask_status(task).await;
            if wanted(&status) { Ok(status) } else { Err(status) }
        })
        .await
    }

    /// Waits until replication has applied everything that the source has.
    pub async fn until_synced(&self, task: &str, deadline: Duration) -> Value {
        self.until_status(task, "to be synced", deadline, |status| {
            status["unit"] == "Sync" && status["sync_status"]["synced"] == true
        })
        .await
    }
}

/// The `source` object of a create call.
pub fn source(name: &str, server: &Server, enable_gtid: bool) -> Value {
    json!({
        "source_name": name,
        "host": server.host,
        "port": server.port,
        "user": "root",
        "password": "",
        "enable": true,
        "enable_gtid": enable_gtid
    })
}

/// The `task` object of a create call, for one source: `mode` is `full`, `incremental` or `all`, and `database` is
/// copied whole under its own name.
pub fn task(name: &str, mode: &str, source: &str, target: &Server, database: &str) -> Value {
    json!({
        "name": name,
        "task_mode": mode,
        "meta_schema": format!("{database}_meta"),
        "enhance_online_schema_change": true,
        "on_duplicate": "error",
        "target_config": { "host": target.host, "port": target.port, "user": "root", "password": "" },
        "table_migrate_rule": [{ "source": { "source_name": source, "schema": database, "table": "*" } }],
        "source_config": { "source_conf": [{ "source_name": source }] }
    })
}
