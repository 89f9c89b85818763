//! The process `ferrymaster serve`: how it begins, what it refuses, how it ends. Without any database; what it does with
//! them is told elsewhere.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails, and says why")]

#[path = "../support/mod.rs"]
mod support;

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use support::ferrymaster::{Ferrymaster, Start, free_port};
use support::wait::{secs, until, until_true};

/// Runs the binary to its end, which must come by itself.
fn run(arguments: &[&str], environment: &[(&str, &str)]) -> Output {
    let child = Command::new(env!("CARGO_BIN_EXE_ferrymaster"))
        .args(arguments)
        .envs(environment.iter().copied())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary can be run");
    let id = child.id();
    let (done, waited) = std::sync::mpsc::channel::<()>();
    let watchdog = std::thread::spawn(move || {
        if waited.recv_timeout(secs(30)).is_err() {
            support::servers::send_signal("KILL", id);
        }
    });
    let output = child.wait_with_output().expect("a child can be waited for");
    done.send(()).ok();
    watchdog.join().expect("the watchdog ends");
    output
}

/// What it says on standard error when it refuses to start.
#[track_caller]
fn refusal(arguments: &[&str], environment: &[(&str, &str)]) -> String {
    let output = run(arguments, environment);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success(), "it started: {text}");
    text
}

#[tokio::test]
async fn it_is_ready_soon_and_answers_for_itself() {
    let ferrymaster = Ferrymaster::start().await;
    let workers = ferrymaster.api.get("/api/v1/cluster/workers").await.expect(200);
    assert_eq!(workers["total"], 1, "{workers}");
    let metrics = ferrymaster.api.get("/metrics").await.expect(200);
    assert!(metrics.as_str().unwrap().contains("dm_master_start_leader_counter_total 1"), "{metrics}");
    ferrymaster.api.get("/healthz").await.expect(200);
}

#[tokio::test]
async fn sigterm_ends_it_cleanly_and_what_it_knew_is_there_again() {
    let mut first = Ferrymaster::start().await;
    let id = first.api.get("/api/v1/cluster/info").await.expect(200)["cluster_id"].clone();
    let status = first.terminate(secs(10)).await;
    assert!(status.success(), "{status}");
    assert!(first.log_lines(&["gave the lease back"]).len() == 1, "{}", first.log());
    let start = Start { data_directory: Some(first.data_directory()), ..Start::default() };
    let second = Ferrymaster::start_with(start).await;
    assert_eq!(second.api.get("/api/v1/cluster/info").await.expect(200)["cluster_id"], id);
}

#[tokio::test]
async fn a_killed_one_is_followed_at_once() {
    let first = Ferrymaster::start().await;
    let begun = Instant::now();
    let second = first.kill_and_restart().await;
    second.api.get("/readyz").await.expect(200);
    assert!(begun.elapsed() < secs(5), "the dead one's lease was waited for: {:?}", begun.elapsed());
}

#[tokio::test]
async fn one_process_has_a_data_directory_and_a_copy_is_another_one() {
    let first = Ferrymaster::start().await;
    let directory = first.data_directory().to_str().unwrap();
    let listen = format!("127.0.0.1:{}", free_port());
    let text = refusal(&["serve", "--data-dir", directory, "--listen", &listen], &[]);
    assert!(text.contains("another ferrymaster is using the data directory") && text.contains(directory), "{text}");
    let copy = first.copy_data_directory();
    let start = Start { data_directory: Some(&copy.path()), ..Start::default() };
    let second = Ferrymaster::start_with(start).await;
    second.api.get("/readyz").await.expect(200);
    first.api.get("/readyz").await.expect(200);
}

#[tokio::test]
async fn a_frozen_one_leads_again_when_it_wakes_and_gives_its_worker_no_new_numbers() {
    let arguments = ["--leader-lease", "500ms", "--heartbeat", "200ms", "--worker-expiry", "1s"];
    let ferrymaster = Ferrymaster::start_with(Start { arguments: &arguments, ..Start::default() }).await;
    ferrymaster.freeze();
    let frozen = Instant::now();
    until_true("lease and expiry have run out", secs(10), async || frozen.elapsed() > Duration::from_secs(2)).await;
    ferrymaster.thaw();
    ferrymaster.until_logged(&["leading", "master.epoch=2"], secs(10)).await;
    until("it is ready", secs(10), async || match ferrymaster.api.get("/readyz").await {
        answer if answer.status.is_success() => Ok(()),
        answer => Err(format!("{answer:?}")),
    })
    .await;
    ferrymaster.until_logged(&["Waiting → Online", "worker.epoch=1"], secs(10)).await;
    assert!(ferrymaster.log_lines(&["→ Offline"]).is_empty(), "{}", ferrymaster.log());
}

#[test]
fn it_refuses_an_address_that_others_can_reach() {
    let place = tempfile::tempdir().unwrap();
    let directory = place.path().join("data");
    let text = refusal(&["serve", "--data-dir", directory.to_str().unwrap(), "--listen", "0.0.0.0:0"], &[]);
    assert!(text.contains("`listen` must not be 0.0.0.0:0") && text.contains("--allow-unprotected-listen"), "{text}");
    assert!(!directory.exists(), "nothing was made");
}

#[test]
fn settings_come_from_the_environment_and_the_file_and_wrong_ones_are_named() {
    let place = tempfile::tempdir().unwrap();
    let text = refusal(&["serve"], &[("FERRYMASTER_HEARTBEAT", "soon")]);
    assert!(text.contains("soon") && text.contains("--heartbeat"), "{text}");
    let text = refusal(&["serve"], &[("FERRYMASTER_WORKER_EXPIRY", "100ms")]);
    assert!(text.contains("`worker_expiry` must not be 100ms"), "{text}");
    let file = place.path().join("settings.toml");
    std::fs::write(&file, "[serve]\nlisten = \"127.0.0.1:1\"\n").unwrap();
    let text = refusal(&["serve", "--config", file.to_str().unwrap()], &[]);
    assert!(text.contains("settings.toml") && text.contains("serve"), "{text}");
}

#[tokio::test]
async fn it_refuses_a_taken_port_a_loose_key_and_a_strange_key() {
    let mut first = Ferrymaster::start().await;
    let other = tempfile::tempdir().unwrap();
    let other = other.path().join("data");
    let listen = format!("127.0.0.1:{}", first.port);
    let text = refusal(&["serve", "--data-dir", other.to_str().unwrap(), "--listen", &listen], &[]);
    assert!(text.contains(&format!("cannot listen on {listen}: it is in use")), "{text}");

    first.terminate(secs(10)).await;
    let key = first.data_directory().join("ferrymaster.key");
    let arguments = ["serve", "--data-dir", first.data_directory().to_str().unwrap(), "--listen", &listen];
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o644)).unwrap();
    let text = refusal(&arguments, &[]);
    assert!(text.contains("may be read by others (mode 0644)"), "{text}");
    std::fs::copy(other.join("ferrymaster.key"), &key).unwrap();
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600)).unwrap();
    let text = refusal(&arguments, &[]);
    assert!(text.contains("sealed with another key"), "{text}");
}

#[tokio::test]
async fn a_client_that_says_nothing_or_half_a_request_is_cut_off() {
    let ferrymaster = Ferrymaster::start().await;
    let begun = ["", "GET /healthz HTT"].map(|beginning| {
        let mut client = TcpStream::connect(("127.0.0.1", ferrymaster.port)).unwrap();
        client.set_read_timeout(Some(secs(20))).unwrap();
        client.write_all(beginning.as_bytes()).unwrap();
        client
    });
    for mut client in begun {
        let mut answer = Vec::new();
        // Closed with or without a word; not kept for ever.
        client.read_to_end(&mut answer).expect("the connection is closed in time");
        let answer = String::from_utf8_lossy(&answer);
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 408"), "{answer}");
    }
}

#[tokio::test]
async fn an_idle_connection_does_not_hold_up_the_end() {
    let mut ferrymaster = Ferrymaster::start().await;
    let mut client = TcpStream::connect(("127.0.0.1", ferrymaster.port)).unwrap();
    client.write_all(b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
    let mut first = [0; 15];
    client.read_exact(&mut first).unwrap();
    assert_eq!(&first, b"HTTP/1.1 200 OK");
    let status = ferrymaster.terminate(secs(8)).await;
    assert!(status.success(), "{status}");
}

#[test]
fn the_api_s_description_is_written_where_it_is_asked_for() {
    let place = tempfile::tempdir().unwrap();
    let directory = place.path().join("a/b");
    let output = run(&["openapi", "--dir", directory.to_str().unwrap()], &[]);
    assert!(output.status.success(), "{output:?}");
    for (file, version) in [("openapi.json", "3.1"), ("dm.json", "3.0.3")] {
        let text = std::fs::read_to_string(directory.join(file)).unwrap();
        let document: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert!(document["openapi"].as_str().unwrap().starts_with(version), "{file}");
    }
}
