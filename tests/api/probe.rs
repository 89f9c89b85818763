//! Real servers, asked by the master.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use ferrymaster::model::subtask::{MigrateRule, TaskMode};
use ferrymaster::model::{Endpoint, Flavor};
use ferrymaster::mysql::{Connection, Deadline, Purpose};
use ferrymaster::probe::precheck::{IgnoredItems, Precheck, PrecheckSource};
use ferrymaster::probe::{check_source, schemas, tables};

use crate::servers::{Server, mariadb_source, mariadb_target, mysql_source, unique};

fn soon() -> Deadline {
    Deadline::after(Duration::from_secs(20))
}

fn rule(schema: &str) -> MigrateRule {
    MigrateRule {
        schema: schema.to_owned(),
        table: "*".to_owned(),
        target_schema: None,
        target_table: None,
        filters: Vec::new(),
    }
}

fn precheck(source: Endpoint, target: Endpoint, schema: &str) -> Precheck {
    Precheck {
        mode: TaskMode::All,
        sources: vec![PrecheckSource {
            name: "s1".to_owned(),
            endpoint: source,
            names_ignore_case: false,
            rules: vec![rule(schema)],
        }],
        target,
        meta_schema: "dm_meta".to_owned(),
        collation_map: BTreeMap::from([("utf8mb4_0900_ai_ci".to_owned(), "utf8mb4_uca1400_ai_ci".to_owned())]),
        ignored: IgnoredItems::default(),
    }
}

/// An account with these privileges, and a database with a table. Statements have `{u}` and `{d}` in their place.
async fn account(server: &Server, statements: &[&str]) -> (Endpoint, String) {
    let (user, database) = (unique("u"), unique("d"));
    let mut all = vec![
        format!("CREATE DATABASE {database}"),
        format!("CREATE TABLE {database}.t (id INT PRIMARY KEY, name VARCHAR(20))"),
        format!("CREATE USER {user}@'%' IDENTIFIED BY 'x'"),
    ];
    all.extend(statements.iter().map(|s| s.replace("{u}", &format!("{user}@'%'")).replace("{d}", &database)));
    server.run(&all.iter().map(String::as_str).collect::<Vec<_>>()).await;
    (server.endpoint(&user, "x"), database)
}

#[tokio::test]
async fn an_account_with_just_the_needed_privileges_passes() {
    for (server, role) in
        [(mariadb_source(), "SET DEFAULT ROLE r_{d} FOR {u}"), (mysql_source(), "SET DEFAULT ROLE r_{d} TO {u}")]
    {
        let backup = if role.ends_with("TO {u}") { ", BACKUP_ADMIN" } else { "" };
        let global =
            format!("GRANT SELECT, RELOAD, PROCESS, REPLICATION SLAVE, REPLICATION CLIENT{backup} ON *.* TO {{u}}");
        let by_role = [
            "CREATE ROLE r_{d}".to_owned(),
            global.replace("TO {u}", "TO r_{d}"),
            "GRANT r_{d} TO {u}".to_owned(),
            role.to_owned(),
        ];
        let by_database = [global.replace("SELECT, ", ""), "GRANT SELECT ON {d}.* TO {u}".to_owned()];
        let all = ["GRANT ALL PRIVILEGES ON *.* TO {u}".to_owned()];
        for grants in [&[global.clone()][..], &by_role, &by_database, &all] {
            let grants: Vec<&str> = grants.iter().map(String::as_str).collect();
            let (source, database) = account(&server, &grants).await;
            let outcome = precheck(source, mariadb_target().root(), &database).run(soon()).await;
            assert_eq!(outcome.expect("nothing fails"), "pre-check is passed. ", "{grants:?}");
        }
    }
}

#[tokio::test]
async fn each_privilege_taken_away_is_named_alone() {
    let needed = ["SELECT", "RELOAD", "REPLICATION SLAVE", "REPLICATION CLIENT"];
    let server = mariadb_source();
    for missing in needed {
        let rest: Vec<&str> = needed.into_iter().filter(|name| *name != missing).collect();
        let (source, database) = account(&server, &[&format!("GRANT {} ON *.* TO {{u}}", rest.join(", "))]).await;
        let fault = precheck(source, mariadb_target().root(), &database).run(soon()).await.expect_err(missing);
        assert_eq!(fault.code, 26005);
        let named = if missing == "REPLICATION CLIENT" { "BINLOG MONITOR" } else { missing };
        assert!(fault.message.contains(&format!("lack of {named} privilege")), "{}", fault.message);
        assert_eq!(fault.message.matches("lack of").count(), 1, "{}", fault.message);
    }
}

#[tokio::test]
async fn a_target_account_that_may_not_insert_is_warned_about() {
    let (target, _) =
        account(&mariadb_target(), &["GRANT SELECT, CREATE, UPDATE, DELETE, ALTER, DROP, INDEX ON *.* TO {u}"]).await;
    let (source, database) = account(&mariadb_source(), &["GRANT ALL PRIVILEGES ON *.* TO {u}"]).await;
    let text = precheck(source, target, &database).run(soon()).await.expect("warnings only");
    assert!(text.contains("no errors but some warnings") && text.contains("lack of INSERT privilege"), "{text}");
    assert!(text.contains(&format!("`{database}`.*")), "{text}");
}

#[tokio::test]
async fn users_and_passwords_with_special_characters_connect() {
    let user = format!("m@r%t{}", &unique("x")[2..8]);
    let password = "p@ss:w/o#r?d%20&x=1 é''\"\\\\";
    for server in [mariadb_source(), mysql_source()] {
        server.run(&[&format!("CREATE USER '{user}'@'%' IDENTIFIED BY '{password}'")]).await;
        let endpoint = server.endpoint(&user, "p@ss:w/o#r?d%20&x=1 é'\"\\");
        check_source(&endpoint, None, false, soon()).await.expect("the account can log in");
        server.run(&[&format!("DROP USER '{user}'@'%'")]).await;
    }
}

#[tokio::test]
async fn a_wrong_password_and_a_closed_port_are_driver_errors_of_the_source() {
    let server = mariadb_source();
    let fault = check_source(&server.endpoint("root", "wrong"), None, false, soon()).await.unwrap_err().fault();
    assert_eq!(
        (fault.code, fault.scope.as_str(), fault.message.as_str()),
        (10001, "upstream", "database driver error")
    );
    assert!(fault.cause.unwrap().contains("Access denied"));
    let closed = Endpoint { port: 1, ..server.root() };
    let fault = check_source(&closed, None, false, soon()).await.unwrap_err().fault();
    assert_eq!(fault.code, 10001);
    assert!(!fault.to_string().contains("wrong"));
}

#[tokio::test]
async fn a_server_that_never_answers_is_given_up_at_the_deadline() {
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = Endpoint { port: silent.local_addr().unwrap().port(), ..mariadb_source().root() };
    let begun = Instant::now();
    let fault =
        check_source(&endpoint, None, false, Deadline::after(Duration::from_millis(500))).await.unwrap_err().fault();
    assert!(begun.elapsed() < Duration::from_secs(2));
    assert_eq!(fault.code, 10001);
    assert!(fault.cause.unwrap().contains("deadline exceeded"));
}

#[tokio::test]
async fn a_source_is_told_by_its_family_and_version() {
    let facts = check_source(&mysql_source().root(), None, true, soon()).await.unwrap();
    assert_eq!(facts.flavor, Flavor::MySql);
    let facts = check_source(&mariadb_source().root(), Some("mariadb"), true, soon()).await.unwrap();
    assert!(facts.version.contains("MariaDB"));
    let fault = check_source(&mariadb_source().root(), Some("mysql"), false, soon()).await.unwrap_err().fault();
    assert_eq!(fault.code, 11010);
}

#[tokio::test]
async fn databases_and_tables_are_listed_without_views_and_with_any_name() {
    for server in [mariadb_source(), mysql_source()] {
        let database = format!("{}`x y", unique("d"));
        let quoted = format!("`{}`", database.replace('`', "``"));
        server
            .run(&[
                &format!("CREATE DATABASE {quoted}"),
                &format!("CREATE TABLE {quoted}.b (id INT PRIMARY KEY)"),
                &format!("CREATE TABLE {quoted}.`a b` (id INT PRIMARY KEY)"),
                &format!("CREATE VIEW {quoted}.v AS SELECT 1"),
            ])
            .await;
        let root = server.root();
        let names = schemas(&root, soon()).await.unwrap();
        assert!(names.contains(&database) && names.contains(&"mysql".to_owned()) && names.is_sorted());
        assert_eq!(tables(&root, &database, soon()).await.unwrap(), ["a b", "b"]);
        let fault = tables(&root, "no such database", soon()).await.unwrap_err().fault();
        assert!(fault.to_string().contains("no such database"));
        server.run(&[&format!("DROP DATABASE {quoted}")]).await;
    }
}

#[tokio::test]
async fn a_collation_the_target_does_not_know_fails_by_column_and_the_map_mends_it() {
    let server = mysql_source();
    let (source, database) = account(&server, &["GRANT ALL PRIVILEGES ON *.* TO {u}"]).await;
    server
        .run(&[&format!(
            "CREATE TABLE {database}.c (id INT PRIMARY KEY, tag VARCHAR(9) COLLATE utf8mb4_cs_0900_as_cs)"
        )])
        .await;
    let mut check = precheck(source, mariadb_target().root(), &database);
    let fault = check.run(soon()).await.expect_err("the collation is unknown");
    let expected =
        format!("collation utf8mb4_cs_0900_as_cs of column `tag` of `{database}`.`c` is not known to the target");
    assert!(fault.message.contains(&expected), "{}", fault.message);
    check.collation_map.insert("utf8mb4_cs_0900_as_cs".to_owned(), "utf8mb4_uca1400_as_cs".to_owned());
    assert_eq!(check.run(soon()).await.unwrap(), "pre-check is passed. ");
}

#[tokio::test]
async fn a_trigger_on_a_target_table_fails_unless_the_item_is_left_out() {
    let (source, database) = account(&mariadb_source(), &["GRANT ALL PRIVILEGES ON *.* TO {u}"]).await;
    let target = mariadb_target();
    target
        .run(&[
            &format!("CREATE DATABASE {database}"),
            &format!("CREATE TABLE {database}.t (id INT PRIMARY KEY, name VARCHAR(20))"),
            &format!("CREATE TRIGGER {database}.stamp BEFORE INSERT ON {database}.t FOR EACH ROW SET NEW.name = 'x'"),
        ])
        .await;
    let mut check = precheck(source, target.root(), &database);
    let fault = check.run(soon()).await.expect_err("the trigger is in the way");
    assert!(fault.message.contains("has the trigger `stamp`"), "{}", fault.message);
    check.ignored = IgnoredItems::parse(["target_trigger"]).unwrap();
    assert_eq!(check.run(soon()).await.unwrap(), "pre-check is passed. ");
    check.ignored = IgnoredItems::parse(["all"]).unwrap();
    assert_eq!(check.run(soon()).await.unwrap(), "");
}

#[tokio::test]
async fn an_error_in_the_middle_of_a_packet_is_told_and_the_session_goes_on() {
    for server in [mariadb_source(), mysql_source()] {
        let mut connection = Connection::open(&server.root(), Purpose::Asking, soon()).await.unwrap();
        for (packet, code) in [
            ("DO 1; INSERT INTO no_such_database.t VALUES (1)", 1146),
            ("DO 1; SELECT * FROM no_such_database.t", 1146),
            ("DO 1; SELECT 1; nonsense", 1064),
            ("DO 1; DO 1; nonsense; DO 1", 1064),
            ("nonsense; DO 1", 1064),
        ] {
            let error = connection.run_many(packet.as_bytes(), "trying", soon()).await.expect_err(packet);
            assert!([Some(code), Some(1049)].contains(&error.server_code()), "{packet}: {error}");
            let done = connection.run_many(b"DO 1; DO 1; DO 1", "going on", soon()).await.unwrap();
            assert_eq!(done.len(), 3);
        }
    }
}
