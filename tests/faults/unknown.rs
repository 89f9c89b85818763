//! Events of a kind that nobody knows yet. A proxy gives events of a real source a number that has no meaning: one that
//! a reader must understand stops the task, one that says it may be ignored does not.

use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use super::support::compare::until_databases_equal;
use super::support::ferrymaster::Ferrymaster;
use super::support::http::task;
use super::support::servers::{Kind, Role, Server};
use super::support::wait::secs;

const TASK: &str = "puzzled";
/// In the events that are changed.
const MARK: &[u8] = b"a thing from the future";
const UNKNOWN: u8 = 200;
const WRITE_ROWS_V1: u8 = 23;
const ROWS_QUERY: u8 = 29;
const UNSUPPORTED: u64 = 50_002;

/// Passes everything on, packet by packet; events of this kind that have the mark get another number.
struct Changer {
    port: u16,
    kind: watch::Sender<Option<u8>>,
    serving: tokio::task::JoinHandle<()>,
}

impl Changer {
    async fn before(server: &Server, kind: u8) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port is free");
        let port = listener.local_addr().expect("it has an address").port();
        let address = (server.host.clone(), server.port);
        let (sender, kind) = watch::channel(Some(kind));
        let serving = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let server = TcpStream::connect(address.clone()).await.expect("the server listens");
                let (from_client, to_client) = client.into_split();
                let (from_server, to_server) = server.into_split();
                tokio::spawn(pass(from_client, to_server));
                tokio::spawn(change(from_server, to_client, kind.clone()));
            }
        });
        Self { port, kind: sender, serving }
    }

    fn change_no_more(&self) {
        self.kind.send_replace(None);
    }
}

impl Drop for Changer {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

/// Ends with either side.
async fn pass(mut from: OwnedReadHalf, mut to: OwnedWriteHalf) {
    // A connection that breaks is of no interest here.
    let _ = tokio::io::copy(&mut from, &mut to).await;
}

async fn change(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, kind: watch::Receiver<Option<u8>>) {
    let mut head = [0; 4];
    while from.read_exact(&mut head).await.is_ok() {
        let length = u32::from_le_bytes([head[0], head[1], head[2], 0]) as usize;
        let mut packet = vec![0; length];
        if from.read_exact(&mut packet).await.is_err() {
            return;
        }
        if let Some(kind) = *kind.borrow() {
            give_other_number(&mut packet, kind);
        }
        if to.write_all(&head).await.is_err() || to.write_all(&packet).await.is_err() {
            return;
        }
    }
}

/// A packet of a stream is a zero and an event: header of 19 bytes, body, checksum.
fn give_other_number(packet: &mut [u8], kind: u8) {
    let has_mark = packet.windows(MARK.len()).any(|bytes| bytes == MARK);
    let Some((0, event)) = packet.split_first_mut().filter(|_| has_mark).map(|(first, event)| (*first, event)) else {
        return;
    };
    if event.len() < 24
        || event[4] != kind
        || u32::from_le_bytes([event[9], event[10], event[11], event[12]]) as usize != event.len()
    {
        return;
    }
    event[4] = UNKNOWN;
    let (checked, checksum) = event.split_at_mut(event.len() - 4);
    checksum.copy_from_slice(&crc32fast::hash(checked).to_le_bytes());
}

/// The source, the proxy before it, the target, a database, and a task that follows.
async fn followed(kind: Kind, changed: u8) -> (Server, Changer, Server, String, Ferrymaster) {
    let (source, target) = (Server::shared(kind, Role::Source), Server::shared(kind, Role::Target));
    let database = source.create_database("unknown").await;
    source.run(&[&format!("CREATE TABLE `{database}`.t (id INT NOT NULL PRIMARY KEY, body VARCHAR(200))")]).await;
    let changer = Changer::before(&source, changed).await;
    let ferrymaster = Ferrymaster::start().await;
    ferrymaster.api.create_source("s", &Server { port: changer.port, ..source.clone() }, true).await;
    ferrymaster.api.create_task(&task(TASK, "all", "s", &target, &database)).await;
    ferrymaster.api.start_task(TASK).await;
    ferrymaster.api.until_synced(TASK, secs(60)).await;
    (source, changer, target, database, ferrymaster)
}

#[tokio::test]
async fn an_event_that_must_be_understood_stops_the_task_before_it() {
    let (source, changer, target, database, ferrymaster) = followed(Kind::Mariadb, WRITE_ROWS_V1).await;
    let mark = String::from_utf8_lossy(MARK);
    let insert = |id: u32, body: &str| format!("INSERT INTO `{database}`.t VALUES ({id}, '{body}')");
    source.run(&[&insert(1, "known"), &insert(2, &mark), &insert(3, "known")]).await;
    let has_error = |status: &Value| status["stage"] == "Paused" && status["error"]["code"].is_u64();
    let status = ferrymaster.api.until_status(TASK, "to stop", secs(60), has_error).await;
    assert_eq!(status["error"]["code"], UNSUPPORTED, "{status}");
    assert!(status["error"]["message"].as_str().unwrap().contains("unknown type 200"), "{status}");
    let mut session = target.connect().await;
    let ids: Vec<u32> = session.rows(&format!("SELECT id FROM `{database}`.t")).await;
    session.close().await;
    assert_eq!(ids, [1], "what stands before it, and nothing behind it");
    // As a version would that knows it.
    changer.change_no_more();
    ferrymaster.api.start_task(TASK).await;
    ferrymaster.api.until_synced(TASK, secs(60)).await;
    until_databases_equal((&source, &*database), (&target, &*database), secs(30)).await;
}

#[tokio::test]
async fn an_event_that_may_be_ignored_is_ignored() {
    let (source, _changer, target, database, ferrymaster) = followed(Kind::Mysql, ROWS_QUERY).await;
    let mut session = source.connect().await;
    session.run("SET SESSION binlog_rows_query_log_events = ON").await;
    let mark = String::from_utf8_lossy(MARK);
    session.run(&format!("INSERT INTO `{database}`.t VALUES (1, '{mark}')")).await;
    session.run(&format!("INSERT INTO `{database}`.t VALUES (2, 'known')")).await;
    session.close().await;
    until_databases_equal((&source, &*database), (&target, &*database), secs(30)).await;
    let status = ferrymaster.api.until_synced(TASK, secs(60)).await;
    assert_eq!(status["stage"], "Running", "{status}");
}
