//! The tests' own tools, tested: a comparison that misses a difference, or a proxy that lets bytes through, would make
//! every other test worthless.

mod support;

use std::time::Duration;

use support::compare::{assert_databases_equal, database_differences, table_differences};
use support::ferrymaster::{Ferrymaster, Start};
use support::proxy::{Mode, Proxy};
use support::servers::{Kind, PAIRS, PrivateServer, Role, Server};
use support::wait::{secs, until};
use support::writer::{TABLES, Writer, create_tables};

/// Two values of each type that a careless comparison takes for equal.
const LOOKALIKES: &[(&str, &str, &str)] = &[
    ("INT", "0", "NULL"),
    ("BIGINT UNSIGNED", "18446744073709551615", "18446744073709551614"),
    ("FLOAT", "0.1", "0.10000001"),
    ("DOUBLE", "0.1", "0.10000000000000002"),
    ("DECIMAL(30,10)", "1.0000000001", "1.0000000002"),
    ("VARCHAR(20)", "'a'", "'a '"),
    ("VARCHAR(20)", "'a'", "'A'"),
    ("VARCHAR(20)", "''", "NULL"),
    ("VARCHAR(20)", "'NULL'", "NULL"),
    ("TEXT", "'é'", "'e'"),
    ("VARBINARY(20)", "x'00'", "x'0000'"),
    ("BLOB", "x'ff'", "x'fe'"),
    ("BIT(12)", "b'101'", "b'100'"),
    ("DATE", "'2024-02-29'", "'2024-03-01'"),
    ("TIME(3)", "'-00:00:00.001'", "'00:00:00.001'"),
    ("DATETIME(6)", "'2024-01-01 00:00:00.000001'", "'2024-01-01'"),
    ("TIMESTAMP(6) NULL", "'2024-01-01 00:00:00.000001'", "'2024-01-01 00:00:00'"),
    ("YEAR", "2000", "1900 + 1"),
    ("ENUM('','x')", "''", "1 - 1"),
    ("ENUM('1','0')", "'1'", "1 + 1"),
    ("SET('a','b')", "'a'", "'a,b'"),
    ("JSON", "'{\"a\":1}'", "'{\"a\":1.0}'"),
    ("JSON", "'null'", "NULL"),
    ("POINT", "ST_GeomFromText('POINT(1 2)')", "ST_GeomFromText('POINT(2 1)')"),
];

#[tokio::test]
async fn no_two_values_pass_for_equal_and_each_equals_itself() {
    for pair in PAIRS {
        let (source, target) = Server::shared_pair(pair);
        let database = source.create_database("compare").await;
        target.run(&[&format!("CREATE DATABASE `{database}`")]).await;
        // MariaDB stores no negative zero.
        let zeros = (target.kind == Kind::Mysql).then_some(("DOUBLE", "0e0", "-0e0"));
        for (number, (data_type, one, other)) in LOOKALIKES.iter().chain(&zeros).enumerate() {
            let table = format!("t{number}");
            let create = format!(
                "CREATE TABLE `{database}`.`{table}` (id INT PRIMARY KEY, v {data_type}) DEFAULT CHARSET utf8mb4"
            );
            // The error value of an ENUM, a zero, is only taken without strict mode.
            let insert = |value: &str| format!("INSERT INTO `{database}`.`{table}` VALUES (1, {value})");
            let lax = "SET sql_mode = ''";
            source.run(&[lax, &create, &insert(one)]).await;
            target.run(&[lax, &create, &insert(one)]).await;
            let sides = ((&source, database.as_str(), table.as_str()), (&target, database.as_str(), table.as_str()));
            assert_eq!(table_differences(sides.0, sides.1).await, None, "{pair:?}: {data_type} {one}");
            // Not by UPDATE: a server that takes both for equal leaves the first one there.
            target.run(&[lax, &format!("DELETE FROM `{database}`.`{table}`"), &insert(other)]).await;
            let report = table_differences(sides.0, sides.1).await;
            assert!(
                report.is_some_and(
                    |report| report.contains("only in the source") && report.contains("only in the target")
                ),
                "{pair:?}: {data_type}: {one} passed for {other}"
            );
        }
    }
}

#[tokio::test]
async fn twins_in_a_table_without_a_key_are_counted() {
    let (source, target) = Server::shared_pair((Kind::Mariadb, Kind::Mariadb));
    let database = source.create_database("twins").await;
    let create = format!("CREATE TABLE `{database}`.t (a INT, b VARCHAR(9))");
    let insert = |rows: &str| format!("INSERT INTO `{database}`.t VALUES {rows}");
    source.run(&[&create, &insert("(1,'x'),(1,'x'),(NULL,NULL)")]).await;
    target.run(&[&format!("CREATE DATABASE `{database}`"), &create, &insert("(NULL,NULL),(1,'x')")]).await;
    let report = database_differences((&source, &database), (&target, &database)).await;
    assert_eq!(
        report.unwrap(),
        format!("{database}.t: 1 rows only in the source, the first of them:\n  1x a=1 b=78\n")
    );
    target.run(&[&insert("(1,'x')")]).await;
    assert_databases_equal((&source, &database), (&target, &database)).await;
}

#[tokio::test]
async fn missing_tables_and_columns_are_differences() {
    let (source, target) = Server::shared_pair((Kind::Mariadb, Kind::Mysql));
    let database = source.create_database("shape").await;
    source
        .run(&[&format!("CREATE TABLE `{database}`.t (a INT)"), &format!("CREATE TABLE `{database}`.u (a INT)")])
        .await;
    target
        .run(&[&format!("CREATE DATABASE `{database}`"), &format!("CREATE TABLE `{database}`.t (a INT, b INT)")])
        .await;
    let report = database_differences((&source, &database), (&target, &database)).await.unwrap();
    assert!(report.contains("tables in the source: [\"t\", \"u\"]\ntables in the target: [\"t\"]"), "{report}");
    assert!(report.contains(&format!("columns of {database}.t: [\"a\", \"b\"]")), "{report}");
}

#[tokio::test]
async fn the_writer_changes_every_table_and_stops() {
    for kind in [Kind::Mariadb, Kind::Mysql] {
        let server = Server::shared(kind, Role::Source);
        let database = server.create_database("writer").await;
        create_tables(&server, &database, 1500, 7).await;
        let before = sums(&server, &database).await;
        assert!(before.iter().all(|(rows, _)| *rows >= 1000), "{before:?}");
        let writer = Writer::start(&server, &database, 7, 3, Duration::ZERO);
        writer.until_transactions(300).await;
        let tally = writer.stop().await;
        assert!(tally.transactions >= 300, "{tally:?}");
        let after = sums(&server, &database).await;
        for (table, (before, after)) in TABLES.iter().zip(before.iter().zip(&after)) {
            assert_ne!(before, after, "{table} was not changed");
        }
        let again = sums(&server, &database).await;
        assert_eq!(after, again, "it went on after its end");
    }
}

async fn sums(server: &Server, database: &str) -> Vec<(u64, u64)> {
    let mut session = server.connect().await;
    let mut sums = Vec::new();
    for table in ["orders", "events", "customers", "addresses", "words"] {
        let rows = session.value(&format!("SELECT COUNT(*) FROM `{database}`.{table}")).await;
        let checksums: Vec<(String, u64)> = session.rows(&format!("CHECKSUM TABLE `{database}`.{table}")).await;
        sums.extend(checksums.into_iter().map(|(_, checksum)| (rows, checksum)));
    }
    session.close().await;
    sums
}

#[tokio::test]
async fn the_proxy_misbehaves_as_told() {
    let server = Server::shared(Kind::Mariadb, Role::Target);
    let proxy = Proxy::to(&server.host, server.port);
    let behind = Server { port: proxy.port, ..server.clone() };
    let answers = async |server: &Server| {
        let attempt = async { server.try_connect().await.ok()?.try_run("SELECT 1").await.ok() };
        tokio::time::timeout(Duration::from_millis(500), attempt).await.map(|done| done.is_some())
    };
    assert_eq!(answers(&behind).await, Ok(true));

    proxy.set(Mode::Silent);
    let accepted = proxy.accepted();
    assert!(answers(&behind).await.is_err(), "silence is no answer and no error");
    assert!(proxy.accepted() > accepted);

    proxy.set(Mode::Refuse);
    until("connections to be refused", secs(5), async || {
        match tokio::net::TcpStream::connect(("127.0.0.1", proxy.port)).await {
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionRefused => Ok(()),
            other => Err(format!("{other:?}")),
        }
    })
    .await;

    proxy.set(Mode::Pass);
    let mut session =
        until("connections to pass again", secs(5), async || behind.try_connect().await.map_err(|e| e.to_string()))
            .await;
    proxy.set(Mode::Delay(Duration::from_millis(150)));
    let begin = std::time::Instant::now();
    session.run("SELECT 1").await;
    assert!(begin.elapsed() >= Duration::from_millis(300), "there and back");

    proxy.set(Mode::SilentAfterBytes(2000));
    let frozen = tokio::time::timeout(secs(1), session.try_run("SELECT REPEAT('x', 5000)")).await;
    assert!(frozen.is_err(), "more than 2,000 bytes came through");

    proxy.set(Mode::Pass);
    let mut session = behind.connect().await;
    proxy.cut();
    assert!(session.try_run("SELECT 1").await.is_err(), "a cut connection still works");
}

#[tokio::test]
async fn the_proxy_falls_silent_after_a_ping() {
    use mysql_async::prelude::Queryable;
    let server = Server::shared(Kind::Mysql, Role::Target);
    let proxy = Proxy::to(&server.host, server.port);
    proxy.set(Mode::SilentAfterPing);
    let options = mysql_async::OptsBuilder::default()
        .ip_or_hostname("127.0.0.1")
        .tcp_port(proxy.port)
        .user(Some("root"))
        .prefer_socket(false);
    let mut conn = mysql_async::Conn::new(options).await.unwrap();
    conn.query_drop("SELECT 1").await.unwrap();
    conn.ping().await.unwrap();
    assert!(tokio::time::timeout(secs(1), conn.query_drop("SELECT 1")).await.is_err(), "it answered after the ping");
}

#[tokio::test]
async fn a_private_server_can_be_frozen_stopped_and_started_again() {
    for kind in [Kind::Mariadb, Kind::Mysql] {
        let private = PrivateServer::start(kind, &["--max-connections=77"]);
        let database = private.server.create_database("kept").await;
        let mut session = private.server.connect().await;
        assert_eq!(session.value::<u64>("SELECT @@max_connections").await, 77);
        private.freeze();
        let answer = tokio::time::timeout(Duration::from_millis(300), session.try_run("SELECT 1")).await;
        assert!(answer.is_err(), "a frozen server answered");
        private.thaw();
        private.wait_until_answering().await;
        private.kill();
        assert!(private.server.try_connect().await.is_err(), "a killed server answered");
        private.start_again();
        let mut session = private.server.connect().await;
        assert_eq!(session.value::<u64>("SELECT @@max_connections").await, 77);
        session.run(&format!("CREATE TABLE `{database}`.t (a INT)")).await;
    }
}

#[tokio::test]
async fn the_binary_can_be_killed_frozen_and_ended_and_goes_on_with_its_data() {
    let source = Server::shared(Kind::Mariadb, Role::Source);
    let first = Ferrymaster::start().await;
    first.api.create_source("kept", &source, false).await;
    let log = first.until_logged(&["the API listens"], secs(5)).await;
    assert!(log.contains(&first.port.to_string()), "{log}");

    let mut second = first.kill_and_restart().await;
    assert_eq!(second.api.get("/api/v1/sources/kept").await.expect(200)["source_name"], "kept");

    let copy = second.copy_data_directory();
    second.freeze();
    let answer = tokio::time::timeout(Duration::from_millis(500), second.api.get("/readyz")).await;
    assert!(answer.is_err(), "a frozen process answered");
    let data = copy.path();
    let third = Ferrymaster::start_with(Start { data_directory: Some(&data), ..Start::default() }).await;
    third.api.get("/api/v1/sources/kept").await.expect(200);
    second.thaw();
    let status = second.terminate(secs(30)).await;
    assert!(status.success(), "{status}\n{}", second.log());
}
