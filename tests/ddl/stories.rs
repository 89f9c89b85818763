//! Stories of DDL, told to a real server and to the catalogue: after every statement both hold the same tables.
//!
//! The stories are in `tests/fixtures/catalogue`: statements end with `;` at the end of a line, stories with an empty
//! line. `<a>` and `<b>` are two databases made anew for each story; `<a>` is the default one. A statement that the
//! server must refuse begins with `?`.

use ferrymaster::catalogue::{Catalogue, Collation, Settings};
use ferrymaster::ddl::parse;
use mysql_async::prelude::Queryable;

use crate::server::{Server, Session};
use crate::shown::differences;

fn stories(file: &str) -> Vec<Vec<String>> {
    let path = format!("{}/tests/fixtures/catalogue/{file}.sql", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let blocks = text.split("\n\n").filter(|block| !block.trim().is_empty() && !block.starts_with("# "));
    let statements = |block: &str| {
        let lines = block.lines().filter(|line| !line.starts_with("-- ")).collect::<Vec<_>>().join("\n");
        let statements = lines.split(";\n").map(|s| s.trim().trim_end_matches(';').to_owned());
        statements.filter(|statement| !statement.is_empty()).collect::<Vec<_>>()
    };
    blocks.map(statements).collect()
}

/// What a binlog event would tell of the session that ran the statement.
async fn settings(session: &mut Session) -> Settings {
    let mut settings = Settings::new(session.server.flavor(), session.version);
    let (collation, explicit): (String, bool) = session
        .conn
        .query_first("SELECT @@collation_server, @@explicit_defaults_for_timestamp")
        .await
        .unwrap()
        .expect("one row");
    settings.server_collation = Collation::new(&collation);
    settings.explicit_defaults_for_timestamp = explicit;
    settings
}

async fn tell(server: Server, story: &[String], number: usize, file: &str) -> Result<(), String> {
    let (a, b) = (format!("fm_{file}_{number}"), format!("fm_{file}_{number}_b"));
    let mut session = server.open(&a).await;
    let mut checker = server.open(&b).await;
    checker.run("SET sql_mode = ''").await.unwrap();
    let mut catalogue = Catalogue::new(false);
    for schema in [&a, &b] {
        let query = "SELECT default_collation_name FROM information_schema.schemata WHERE schema_name = ?";
        let collation: String = checker.conn.exec_first(query, (schema,)).await.unwrap().expect("it exists");
        catalogue.add_database(schema, Collation::new(&collation));
    }
    let mut told = String::new();
    for statement in story {
        let sql = statement.replace("<a>", &a).replace("<b>", &b);
        let (sql, refused) = match sql.strip_prefix('?') {
            Some(sql) => (sql.trim().to_owned(), true),
            None => (sql, false),
        };
        told.push_str(&format!("{sql};\n"));
        let settings = settings(&mut session).await;
        let (mode, schema): (String, Option<String>) =
            session.conn.query_first("SELECT @@sql_mode, DATABASE()").await.unwrap().expect("one row");
        let mut context = session.context().with_sql_mode_words(&mode);
        context.default_schema = schema;
        match session.run(&sql).await {
            Ok(()) if refused => return Err(format!("{told}the server did not refuse it")),
            Err(_) if refused => continue,
            Err((code, message)) => return Err(format!("{told}{code}: {message}")),
            Ok(()) => {}
        }
        let parsed = parse(&sql, &context);
        catalogue.apply(&parsed, &settings).map_err(|error| format!("{told}{error}"))?;
        let found = differences(&mut checker, &catalogue, &[&a, &b], &settings).await;
        if !found.is_empty() {
            return Err(format!("{told}{found}"));
        }
    }
    let logged = crate::logged::mismatches(&mut checker, &catalogue, &[&a, &b]).await;
    session.close().await;
    checker.close().await;
    if logged.is_empty() { Ok(()) } else { Err(format!("{told}{logged}")) }
}

async fn tell_all(server: Server, files: &[&str], prefix: &str) {
    let mut failures = Vec::new();
    for file in files {
        for (number, story) in stories(file).iter().enumerate() {
            if let Err(failure) = tell(server, story, number, &format!("{prefix}_{file}")).await {
                failures.push(failure);
            }
        }
    }
    assert!(failures.is_empty(), "{} stories differ:\n\n{}", failures.len(), failures.join("\n----\n"));
}

#[tokio::test]
async fn mariadb_and_the_catalogue_make_the_same_of_every_story() {
    tell_all(Server::MariaDb, &["both", "mariadb"], "m").await;
}

#[tokio::test]
async fn mysql_and_the_catalogue_make_the_same_of_every_story() {
    tell_all(Server::MySql, &["both", "mysql"], "y").await;
}
