//! Positions that are gone or foreign, and things in the log that must not be taken for what they are not: each stops
//! with its own error, which names what was stored and what is there, before the target is written; and goes on after
//! what the error's hint says. What only looks like it (holes among GTIDs, GTIDs on and off, a successor of the source
//! that holds the same transactions) goes on by itself.

use ferrymaster::model::Endpoint;
use ferrymaster::mysql::{BinlogRequest, BinlogStart, Connection, Deadline, Purpose, open_binlog};
use serde_json::{Value, json};

use super::followed::{Both, Followed, has, identity, make_database, newest_file, purge_up_to, rows, text, with_cause};
use super::support::compare::until_databases_equal;
use super::support::servers::{Kind, PrivateServer, Role, Server, unique_name};
use super::support::wait::secs;

const SOURCE_REPLACED: u64 = 50_007;
const BINLOG_GONE: u64 = 50_012;
const LOG_BEGUN_ANEW: u64 = 50_017;
const SERVER_ID_TAKEN: u64 = 50_018;
const ROW_IMAGE: u64 = 11_126;
const UNSUPPORTED: u64 = 50_002;

async fn the_log_is_purged(kind: Kind) {
    let (source, target) = (PrivateServer::start(kind, &[]), Server::shared(kind, Role::Target));
    let both = Both::of(&source.server, &target).await;
    both.stop().await;
    let needed = newest_file(&source.server).await;
    both.write(2).await;
    source.server.run(&["FLUSH BINARY LOGS"]).await;
    let left = newest_file(&source.server).await;
    purge_up_to(&source.server, &left).await;
    both.write(3).await;
    let errors = both.must_refuse(&[BINLOG_GONE; 2]).await;
    for error in &errors {
        has(error, &[&needed, &left]);
    }
    both.copy_anew().await;
    both.until_equal().await;
    // Files that nobody needs any more may go.
    both.stop().await;
    source.server.run(&["FLUSH BINARY LOGS"]).await;
    both.start().await;
    both.until_equal().await;
    both.write(4).await;
    both.until_equal().await;
    both.stop().await;
    let left = newest_file(&source.server).await;
    purge_up_to(&source.server, &left).await;
    both.write(5).await;
    both.start().await;
    both.until_equal().await;
}

async fn the_log_is_begun_anew(kind: Kind) {
    let (source, target) = (PrivateServer::start(kind, &[]), Server::shared(kind, Role::Target));
    let both = Both::of(&source.server, &target).await;
    both.stop().await;
    let reset = match kind {
        Kind::Mariadb => "RESET MASTER",
        Kind::Mysql => "RESET BINARY LOGS AND GTIDS",
    };
    source.server.run(&[reset]).await;
    let errors = both.must_refuse(&[LOG_BEGUN_ANEW; 2]).await;
    let file = newest_file(&source.server).await;
    for error in &errors {
        has(error, &["RESET", &file]);
    }
    both.write(2).await;
    both.must_refuse(&[LOG_BEGUN_ANEW; 2]).await;
    // The numbers that were asked for, and the offsets, exist again.
    for round in 3..20 {
        both.write(round).await;
    }
    both.must_refuse(&[LOG_BEGUN_ANEW; 2]).await;
    both.copy_anew().await;
    both.until_equal().await;
    both.write(20).await;
    both.until_equal().await;
}

async fn the_log_is_begun_anew_while_it_is_followed(kind: Kind) {
    let (source, target) = (PrivateServer::start(kind, &[]), Server::shared(kind, Role::Target));
    let both = Both::of(&source.server, &target).await;
    let mut before = Vec::new();
    for followed in &both.tasks {
        before.push(rows(&target, &followed.database).await);
    }
    let reset = match kind {
        Kind::Mariadb => "RESET MASTER",
        Kind::Mysql => "RESET BINARY LOGS AND GTIDS",
    };
    source.server.run(&[reset]).await;
    both.must_have_refused(&[LOG_BEGUN_ANEW; 2], &before).await;
    both.copy_anew().await;
    both.until_equal().await;
}

/// Another server with the same rows and a log of its own.
async fn another_server_takes_its_place(kind: Kind) {
    let (source, target) = (Server::shared(kind, Role::Source), Server::shared(kind, Role::Target));
    let other = PrivateServer::start(kind, &["--log-bin=others"]);
    let both = Both::of(&source, &target).await;
    both.stop().await;
    for followed in &both.tasks {
        make_database(&other.server, &followed.database).await;
    }
    for round in 1..30 {
        both.write_at(&other.server, round).await;
    }
    both.point_at(&other.server, |by_gtid| by_gtid).await;
    let errors = both.must_refuse(&[SOURCE_REPLACED; 2]).await;
    let (known, present) = (identity(&source).await, identity(&other.server).await);
    for error in &errors {
        has(error, &[&known, &present]);
    }
    both.write(2).await;
    both.point_at(&source, |by_gtid| by_gtid).await;
    both.start().await;
    both.until_equal().await;
}

/// Its server id is no better than the default that both have.
async fn another_server_of_the_same_id_takes_its_place() {
    let arguments = ["--server-id=1"];
    let (source, other) =
        (PrivateServer::start(Kind::Mariadb, &arguments), PrivateServer::start(Kind::Mariadb, &arguments));
    let both = Both::of(&source.server, &Server::shared(Kind::Mariadb, Role::Target)).await;
    both.stop().await;
    other.server.run(&["CREATE DATABASE something_else"]).await;
    for followed in &both.tasks {
        make_database(&other.server, &followed.database).await;
    }
    for round in 1..30 {
        both.write_at(&other.server, round).await;
    }
    both.point_at(&other.server, |by_gtid| by_gtid).await;
    both.must_refuse(&[LOG_BEGUN_ANEW; 2]).await;
    both.write(2).await;
    both.point_at(&source.server, |by_gtid| by_gtid).await;
    both.start().await;
    both.until_equal().await;
}

/// A replica of the source is promoted: by GTID that is no other source.
async fn a_successor_takes_its_place(kind: Kind) {
    let arguments: &[&str] = match kind {
        Kind::Mariadb => &["--log-slave-updates=ON"],
        Kind::Mysql => &[],
    };
    let (source, successor) = (PrivateServer::start(kind, arguments), PrivateServer::start(kind, arguments));
    let target = Server::shared(kind, Role::Target);
    let (port, stop) = (source.server.port, if kind == Kind::Mariadb { "STOP SLAVE" } else { "STOP REPLICA" });
    let follow = match kind {
        Kind::Mariadb => [
            format!(
                "CHANGE MASTER TO MASTER_HOST='127.0.0.1', MASTER_PORT={port}, MASTER_USER='root', MASTER_USE_GTID=slave_pos"
            ),
            "START SLAVE".to_owned(),
        ],
        Kind::Mysql => [
            format!(
                "CHANGE REPLICATION SOURCE TO SOURCE_HOST='127.0.0.1', SOURCE_PORT={port}, SOURCE_USER='root', SOURCE_AUTO_POSITION=1, GET_SOURCE_PUBLIC_KEY=1"
            ),
            "START REPLICA".to_owned(),
        ],
    };
    successor.server.run(&[&follow[0], &follow[1]]).await;
    let both = Both::by_gtid(&source.server, &target).await;
    both.stop().await;
    both.write(2).await;
    for followed in &both.tasks {
        let (ours, theirs) = ((&source.server, &*followed.database), (&successor.server, &*followed.database));
        until_databases_equal(ours, theirs, secs(30)).await;
    }
    successor.server.run(&[stop]).await;
    both.write_at(&successor.server, 3).await;
    both.point_at(&successor.server, |by_gtid| by_gtid).await;
    both.start().await;
    both.until_equal_to(&successor.server).await;
    let status = both.ferrymaster.api.subtask_status("by-gtid").await;
    assert!(status["notices"].to_string().contains("another server now"), "{status}");
    // Its files are those that positions are of from now on.
    both.stop().await;
    both.write_at(&successor.server, 4).await;
    both.point_at(&successor.server, |_| false).await;
    both.start().await;
    both.until_equal_to(&successor.server).await;
    both.stop().await;
    both.point_at(&source.server, |_| false).await;
    both.must_refuse(&[SOURCE_REPLACED]).await;
}

/// The same rows, on a server of the other family.
async fn a_server_of_the_other_family_takes_its_place(kind: Kind) {
    let other = match kind {
        Kind::Mariadb => Server::shared(Kind::Mysql, Role::Source),
        Kind::Mysql => Server::shared(Kind::Mariadb, Role::Source),
    };
    let (source, target) = (Server::shared(kind, Role::Source), Server::shared(kind, Role::Target));
    let both = Both::of(&source, &target).await;
    both.stop().await;
    for followed in &both.tasks {
        make_database(&other, &followed.database).await;
    }
    both.write_at(&other, 1).await;
    both.point_at(&other, |by_gtid| by_gtid).await;
    let errors = both.must_refuse(&[SOURCE_REPLACED; 2]).await;
    let (known, present) = (identity(&source).await, identity(&other).await);
    for error in &errors {
        has(error, &[&known, &present]);
    }
    both.write(2).await;
    both.point_at(&source, |by_gtid| by_gtid).await;
    both.start().await;
    both.until_equal().await;
}

/// Followed by GTID, then by file, then by GTID: with rows that were written meanwhile, and rows between the two.
async fn the_way_of_following_changes(kind: Kind) {
    let both = Both::of(&Server::shared(kind, Role::Source), &Server::shared(kind, Role::Target)).await;
    for round in 2..5 {
        both.stop().await;
        both.write(round).await;
        both.point_at(&both.source, |by_gtid| by_gtid == (round % 2 == 1)).await;
        both.start().await;
        both.until_equal().await;
        both.write(round + 10).await;
        both.until_equal().await;
    }
}

/// The source itself gives no GTIDs any more, and then gives some again.
async fn gtids_are_switched_off_and_on_at_a_mysql_source() {
    let source = PrivateServer::start(Kind::Mysql, &[]);
    let both = Both::of(&source.server, &Server::shared(Kind::Mysql, Role::Target)).await;
    let set = async |mode: &str| source.server.run(&[&format!("SET GLOBAL gtid_mode = {mode}")]).await;
    both.stop().await;
    both.write(2).await;
    set("ON_PERMISSIVE").await;
    set("OFF_PERMISSIVE").await;
    both.write(3).await;
    set("OFF").await;
    // MySQL refuses to send the transactions with a GTID that are needed still, and says why.
    for error in both.must_refuse(&[BINLOG_GONE; 2]).await {
        has(&error, &["GTID_MODE = OFF"]);
        assert!(error["hint"].as_str().unwrap().contains("remove the cause"), "{error}");
    }
    set("OFF_PERMISSIVE").await;
    both.stop().await;
    both.start().await;
    both.until_equal().await;
    both.stop().await;
    set("OFF").await;
    both.write(4).await;
    both.start().await;
    both.until_equal().await;
    both.stop().await;
    both.write(5).await;
    for mode in ["OFF_PERMISSIVE", "ON_PERMISSIVE", "ON"] {
        set(mode).await;
    }
    // Transactions without a GTID are needed still, which MySQL does not send by GTID, nor with GTIDs on.
    set("ON_PERMISSIVE").await;
    both.write(6).await;
    both.start().await;
    both.until_equal().await;
}

/// Numbers that were never used, and more than one sequence of them.
async fn gtids_have_holes(kind: Kind) {
    let (source, target) = (PrivateServer::start(kind, &[]), Server::shared(kind, Role::Target));
    let both = Both::of(&source.server, &target).await;
    let mut id = 1000;
    for round in 0..4_u32 {
        for followed in &both.tasks {
            let mut session = source.server.connect().await;
            session.run(&format!("USE `{}`", followed.database)).await;
            for step in 0..3 {
                id += 1;
                let insert = format!("INSERT INTO t VALUES ({id}, {round}, NULL)");
                let number = id * 10;
                match kind {
                    Kind::Mariadb => {
                        session.run(&format!("SET SESSION gtid_domain_id = {}", step % 2 * 7)).await;
                        session.run(&format!("SET SESSION gtid_seq_no = {number}")).await;
                        session.run(&insert).await;
                    }
                    Kind::Mysql => {
                        let origin = ["11111111-2222-3333-4444-555555555555", "99999999-2222-3333-4444-555555555555"];
                        // Not in order either: sets have no order.
                        let number = if step == 1 { 100_000 - number } else { number };
                        session.run(&format!("SET GTID_NEXT = '{}:{number}'", origin[step % 2])).await;
                        session.run(&insert).await;
                        // Passed over by an operator: a transaction of nothing.
                        session.run(&format!("SET GTID_NEXT = '{}:{}'", origin[step % 2], number + 5)).await;
                        session.run("COMMIT").await;
                        session.run("SET GTID_NEXT = AUTOMATIC").await;
                    }
                }
            }
            session.close().await;
        }
        both.write(round + 2).await;
        if round % 2 == 0 {
            both.stop().await;
            both.start().await;
        }
        both.until_equal().await;
    }
}

/// Two tasks on one source: neither is thrown out by the other. And a reader that takes the id of one.
async fn readers_have_ids_of_their_own(kind: Kind) {
    let source = PrivateServer::start(kind, &[]);
    let both = Both::of(&source.server, &Server::shared(kind, Role::Target)).await;
    let connections = async || {
        let mut session = source.server.connect().await;
        let sql = "SELECT ID FROM information_schema.PROCESSLIST WHERE COMMAND LIKE 'Binlog Dump%' ORDER BY 1";
        let ids: Vec<u64> = session.rows(sql).await;
        session.close().await;
        ids
    };
    let before = connections().await;
    assert_eq!(before.len(), 2, "{before:?}");
    for round in 2..6 {
        both.write(round).await;
        both.until_equal().await;
    }
    assert_eq!(connections().await, before, "somebody had to connect again");
    let own: u32 = text(&source.server, "SELECT CAST(@@server_id AS CHAR)").await.parse().unwrap();
    let mut ids = Vec::new();
    for followed in &both.tasks {
        ids.push(server_id_of(&both, followed, own).await);
    }
    assert!(ids[0] != ids[1] && !ids.contains(&own), "{ids:?} and {own}");
    let mut before = Vec::new();
    for followed in &both.tasks {
        before.push(rows(&both.target, &followed.database).await);
    }
    for (followed, id) in both.tasks.iter().zip(&ids) {
        let endpoint = Endpoint {
            host: source.server.host.clone(),
            port: source.server.port,
            user: "root".to_owned(),
            password: String::new().into(),
            tls: None,
        };
        let deadline = Deadline::after(secs(20));
        let session = Connection::open(&endpoint, Purpose::Asking, deadline).await.expect("the source answers");
        let flavor = session.server().flavor;
        let file = newest_file(&source.server).await;
        let start = BinlogStart::Position { file, offset: 4 };
        let request = BinlogRequest { start, server_id: *id, heartbeat: secs(1) };
        let mut stream = open_binlog(&endpoint, flavor, &request, deadline).await.expect("the source gives a stream");
        stream.next(Deadline::after(secs(20))).await.expect("a stream begins with an event");
        let has_error = |status: &Value| status["stage"] == "Paused" && status["error"]["code"].is_u64();
        let status = both.ferrymaster.api.until_status(followed.name, "to be thrown out", secs(60), has_error).await;
        assert_eq!(status["error"]["code"], SERVER_ID_TAKEN, "{status}");
        has(&with_cause(status["error"].clone(), &status), &[&id.to_string()]);
    }
    both.must_have_refused(&[SERVER_ID_TAKEN; 2], &before).await;
    both.write(7).await;
    both.start().await;
    both.until_equal().await;
}

/// What a task calls itself at its source, from what stands in its ledger.
async fn server_id_of(both: &Both, followed: &Followed, own: u32) -> u32 {
    let sql = format!("SELECT CAST(ledger_id AS CHAR) FROM `{}_meta`.ferrymaster_run", followed.database);
    let id = text(&both.target, &sql).await;
    let ledger = serde_json::from_value(json!(id)).expect("a ledger has an id");
    ferrymaster::worker::replication::replica_id(ledger, own)
}

/// A session writes in a way that cannot be applied: to a table of nobody's interest, which is no matter, and then to
/// one that is followed.
async fn a_session_writes_in_its_own_way(kind: Kind, settings: &str, write: &str, code: u64, words: &[&str]) {
    let (source, target) = (Server::shared(kind, Role::Source), Server::shared(kind, Role::Target));
    let both = Both::of(&source, &target).await;
    let elsewhere = unique_name("elsewhere");
    make_database(&source, &elsewhere).await;
    let make = "ALTER TABLE t ADD doc JSON";
    source.run_in(&elsewhere, &[make, settings, write]).await;
    for followed in &both.tasks {
        source
            .run_in(&followed.database, &[make, "UPDATE t SET doc = '{\"a\": \"some text\", \"b\": [1, 2, 3]}'"])
            .await;
    }
    both.write(2).await;
    both.until_equal().await;
    let mut before = Vec::new();
    for followed in &both.tasks {
        before.push(rows(&target, &followed.database).await);
    }
    for followed in &both.tasks {
        source.run_in(&followed.database, &[settings, write]).await;
    }
    both.write(3).await;
    let errors = both.must_have_refused(&vec![code; both.tasks.len()], &before).await;
    for error in &errors {
        has(error, words);
    }
    both.copy_anew().await;
    both.until_equal().await;
    both.write(4).await;
    both.until_equal().await;
}

const MINIMAL: &str = "SET SESSION binlog_row_image = 'MINIMAL'";
const NOBLOB: &str = "SET SESSION binlog_row_image = 'NOBLOB'";
const STATEMENT: &str = "SET SESSION binlog_format = 'STATEMENT'";
const PARTIAL: &str = "SET SESSION binlog_row_value_options = 'PARTIAL_JSON'";
const UPDATE: &str = "UPDATE t SET v = 77 WHERE id = 3";

/// A statement that is left out by a filter, as the hint says; and one that ran in a database of nobody's interest and
/// changed a table that is followed.
async fn a_statement_from_elsewhere_is_not_passed_over(kind: Kind) {
    let (source, target) = (Server::shared(kind, Role::Source), Server::shared(kind, Role::Target));
    let mut both = Both::by_gtid(&source, &target).await;
    let elsewhere = source.create_database("elsewhere").await;
    let database = both.tasks[0].database.clone();
    let before = rows(&target, &database).await;
    source.run_in(&elsewhere, &[STATEMENT, &format!("UPDATE `{database}`.t SET v = 78 WHERE id = 3")]).await;
    let errors = both.must_have_refused(&[UNSUPPORTED], &[before]).await;
    has(&errors[0], &["UPDATE", "binlog_format"]);
    assert!(errors[0]["hint"].as_str().unwrap().contains("ignore_sql"), "{}", errors[0]);
    both.stop().await;
    let followed = &mut both.tasks[0];
    followed.body["binlog_filter_rule"] = json!({ "by-hand": { "ignore_sql": ["SET v = 78"] } });
    followed.body["table_migrate_rule"][0]["binlog_filter_rule"] = json!(["by-hand"]);
    let body = json!({ "task": followed.body });
    both.ferrymaster.api.put("/api/v1/tasks/by-gtid", &body).await.expect(200);
    target.run_in(&database, &["UPDATE t SET v = 78 WHERE id = 3"]).await;
    both.write(2).await;
    both.start().await;
    both.until_equal().await;
}

macro_rules! on_each {
    ($($name:ident: $scenario:expr),+ $(,)?) => {
        $(
            mod $name {
                use super::*;

                #[tokio::test]
                async fn on_mariadb() {
                    $scenario(Kind::Mariadb).await;
                }

                mod long {
                    use super::*;

                    #[tokio::test]
                    async fn on_mysql() {
                        $scenario(Kind::Mysql).await;
                    }
                }
            }
        )+
    };
}

on_each! {
    a_purged_log_stops_the_task: the_log_is_purged,
    a_log_begun_anew_stops_the_task: the_log_is_begun_anew,
    a_log_begun_anew_under_the_reader_stops_the_task: the_log_is_begun_anew_while_it_is_followed,
    another_server_in_its_place_stops_the_task: another_server_takes_its_place,
    a_successor_is_gone_on_with: a_successor_takes_its_place,
    the_other_family_in_its_place_stops_the_task: a_server_of_the_other_family_takes_its_place,
    following_may_change_its_way: the_way_of_following_changes,
    holes_among_gtids_are_no_matter: gtids_have_holes,
    no_two_readers_have_one_id: readers_have_ids_of_their_own,
    a_statement_from_elsewhere_stops_the_task: a_statement_from_elsewhere_is_not_passed_over,
}

#[tokio::test]
async fn another_mariadb_of_the_same_id_in_its_place_stops_the_task() {
    another_server_of_the_same_id_takes_its_place().await;
}

#[tokio::test]
async fn a_minimal_row_image_of_one_session_stops_the_task() {
    a_session_writes_in_its_own_way(Kind::Mariadb, MINIMAL, UPDATE, ROW_IMAGE, &["binlog_row_image"]).await;
}

#[tokio::test]
async fn a_row_image_without_blobs_of_one_session_stops_the_task() {
    a_session_writes_in_its_own_way(Kind::Mariadb, NOBLOB, UPDATE, ROW_IMAGE, &["binlog_row_image"]).await;
}

#[tokio::test]
async fn a_statement_of_one_session_stops_the_task() {
    a_session_writes_in_its_own_way(Kind::Mariadb, STATEMENT, UPDATE, UNSUPPORTED, &["UPDATE", "binlog_format"]).await;
}

#[tokio::test]
async fn parts_of_documents_of_one_session_stop_the_task() {
    let write = "UPDATE t SET doc = JSON_SET(doc, '$.a', 'x') WHERE id = 3";
    a_session_writes_in_its_own_way(Kind::Mysql, PARTIAL, write, UNSUPPORTED, &["PARTIAL_JSON"]).await;
}

mod long {
    use super::*;

    #[tokio::test]
    async fn gtids_may_be_switched_off_and_on_at_a_mysql_source() {
        gtids_are_switched_off_and_on_at_a_mysql_source().await;
    }

    #[tokio::test]
    async fn a_minimal_row_image_of_one_session_stops_the_task() {
        a_session_writes_in_its_own_way(Kind::Mysql, MINIMAL, UPDATE, ROW_IMAGE, &["binlog_row_image"]).await;
    }

    #[tokio::test]
    async fn a_row_image_without_blobs_of_one_session_stops_the_task() {
        a_session_writes_in_its_own_way(Kind::Mysql, NOBLOB, UPDATE, ROW_IMAGE, &["binlog_row_image"]).await;
    }

    #[tokio::test]
    async fn a_statement_of_one_session_stops_the_task() {
        a_session_writes_in_its_own_way(Kind::Mysql, STATEMENT, UPDATE, UNSUPPORTED, &["UPDATE", "binlog_format"])
            .await;
    }
}
