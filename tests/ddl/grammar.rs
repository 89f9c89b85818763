//! The parser and the servers agree on what is a statement: each one of the corpus is prepared, which parses it and
//! does not run it.

use ferrymaster::ddl::{Meaning, parse};

use crate::corpus::cases;
use crate::server::Server;

/// Syntax error, unknown data type.
const REFUSED: [u16; 2] = [1064, 4161];

async fn agrees(server: Server, files: &[&str]) {
    let mut session = server.open("ferrymaster_grammar").await;
    let mut differing = Vec::new();
    for case in files.iter().flat_map(|file| cases(file)) {
        if case.since.is_some_and(|since| since > session.version) {
            continue;
        }
        let mode = case.sql_mode.as_str();
        session.run(&format!("SET sql_mode = '{mode}'")).await.unwrap();
        let context = session.context().with_sql_mode_words(&case.full_sql_mode());
        let understood = !matches!(parse(&case.sql, &context).meaning, Meaning::NotUnderstood(_));
        let quoted = case.sql.replace('\'', "''");
        let quoted = if mode.contains("NO_BACKSLASH") { quoted } else { quoted.replace('\\', "\\\\") };
        let accepted = match session.run(&format!("PREPARE s FROM '{quoted}'")).await {
            Err((code, _)) => !REFUSED.contains(&code),
            Ok(()) => true,
        };
        if accepted != understood {
            differing.push(format!("server: {accepted}, parser: {understood}: {}", case.sql));
        }
    }
    session.close().await;
    assert!(differing.is_empty(), "{}", differing.join("\n"));
}

#[tokio::test]
async fn mariadb_accepts_what_is_understood_and_nothing_else_of_the_corpus() {
    agrees(Server::MariaDb, &["both", "mariadb"]).await;
}

#[tokio::test]
async fn mysql_accepts_what_is_understood_and_nothing_else_of_the_corpus() {
    agrees(Server::MySql, &["both", "mysql"]).await;
}
