//! Every statement of `tests/fixtures/ddl`, with what is understood of it as a snapshot.

use std::fmt::Write as _;

use ferrymaster::ddl::{Context, Flavor, parse};

use crate::summary::summary;

/// One statement of a corpus file, and the sql_mode it was written in.
pub struct Case {
    pub sql: String,
    pub sql_mode: String,
    /// The lowest version of a server that knows it.
    pub since: Option<u32>,
}

impl Case {
    /// The mode as a server would show it.
    pub fn full_sql_mode(&self) -> String {
        if self.sql_mode == "ORACLE" { "ORACLE,ANSI_QUOTES".to_owned() } else { self.sql_mode.clone() }
    }
}

pub fn cases(file: &str) -> Vec<Case> {
    let path = format!("{}/tests/fixtures/ddl/{file}.sql", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let blocks = text.split("\n\n").map(|block| block.trim_matches('\n'));
    let mut cases = Vec::new();
    for block in blocks.filter(|block| !block.is_empty() && !block.starts_with("# ")) {
        let (directive, sql) = match block.strip_prefix("#! ") {
            Some(block) => block.split_once('\n').unwrap_or((block, "")),
            None => ("", block),
        };
        let since = directive.strip_prefix("since ").map(|version| version.parse().expect("a version"));
        let sql_mode = if since.is_some() { "" } else { directive };
        cases.push(Case { sql: sql.to_owned(), sql_mode: sql_mode.to_owned(), since });
    }
    cases
}

pub fn mysql() -> Context {
    Context::new(Flavor::MySql, 90704).with_default_schema("d")
}

pub fn mariadb() -> Context {
    Context::new(Flavor::MariaDb, 101119).with_default_schema("d")
}

fn summaries(file: &str, context: &Context) -> String {
    let mut summaries = String::new();
    for case in cases(file) {
        let parsed = parse(&case.sql, &context.clone().with_sql_mode_words(&case.full_sql_mode()));
        let _ = write!(summaries, "{}\n  => {}\n\n", case.sql, summary(&parsed));
    }
    summaries
}

#[test]
fn statements_of_both_families_are_understood_as_mysql() {
    insta::assert_snapshot!(summaries("both", &mysql()));
}

#[test]
fn statements_of_both_families_are_understood_alike_by_mariadb() {
    // all but the one with a comment that only MariaDB executes
    let one = summaries("both", &mysql());
    let other = summaries("both", &mariadb());
    let differing: Vec<_> = one.split("\n\n").zip(other.split("\n\n")).filter(|(one, other)| one != other).collect();
    assert_eq!(differing.len(), 1, "{differing:?}");
    assert!(differing[0].0.starts_with("/* header"));
    assert!(differing[0].1.contains("c3 Int default=Literal"), "{}", differing[0].1);
}

#[test]
fn statements_of_mysql_are_understood() {
    insta::assert_snapshot!(summaries("mysql", &mysql()));
}

#[test]
fn statements_of_mariadb_are_understood() {
    insta::assert_snapshot!(summaries("mariadb", &mariadb()));
}
