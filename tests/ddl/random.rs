//! The parser on random text and on broken statements: it always ends, never panics, and its spans can be edited.

use ferrymaster::ddl::edit::{CollationRules, DefaultCharset, Rewrite, add_key_statements};
use ferrymaster::ddl::{Context, Flavor, Meaning, Parsed, event_kinds, hazards, parse};
use ferrymaster::model::TableName;
use proptest::prelude::*;

use crate::corpus::{cases, mariadb, mysql};

fn contexts() -> Vec<Context> {
    let mut odd = mariadb();
    odd.ansi_quotes = true;
    odd.no_backslash_escapes = true;
    odd.oracle = true;
    vec![mysql(), mariadb(), odd, Context::new(Flavor::MySql, 50744)]
}

/// Everything that is done with a statement.
fn exercise(parsed: &Parsed) {
    for table in &parsed.uses.tables {
        assert!(parsed.text.get(table.span.start..table.span.end).is_some(), "{:?} in {}", table.span, parsed.text);
    }
    if let Meaning::Understood(statement) = &parsed.meaning {
        let _ = (event_kinds(statement), hazards(statement), statement.tables().len(), statement.database());
    }
    let rules = CollationRules {
        collation: &|name| Some(format!("{name}_x")),
        charset: &|name| Some(format!("{name}x")),
        default_of: &|charset| Some(format!("{charset}_bin")),
        unsaid: Some(DefaultCharset { charset: "a".to_owned(), collation: "a_bin".to_owned() }),
    };
    for (flavor, version) in [(Flavor::MySql, 90704), (Flavor::MariaDb, 101119)] {
        let mut rewrite = Rewrite::new(parsed);
        rewrite.route(|table| TableName::new("o", table.table.clone()), |name| format!("{name}x"));
        rewrite.map_collations(&rules);
        rewrite.fit_to(flavor, version);
        rewrite.ensure_if_not_exists();
        rewrite.ensure_if_exists();
        rewrite.cut_items(|index| index % 2 == 0);
        rewrite.cut_select();
        let (_, deferred) = rewrite.finish_deferred();
        let _ = add_key_statements(&TableName::new("o", "t"), &deferred);
    }
}

fn all_statements() -> Vec<String> {
    ["both", "mysql", "mariadb"].into_iter().flat_map(cases).map(|case| case.sql).collect()
}

/// Pieces that grammars are made of, and pieces that break them.
fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z]{1,6}",
        Just("'".to_owned()),
        Just("\"".to_owned()),
        Just("`".to_owned()),
        Just("/*!50100 ".to_owned()),
        Just("/*M!100100 ".to_owned()),
        Just("/*".to_owned()),
        Just("*/".to_owned()),
        Just("-- ".to_owned()),
        Just("(".to_owned()),
        Just(")".to_owned()),
        Just(",".to_owned()),
        Just("\\".to_owned()),
        Just("é中\u{1F600}".to_owned()),
        Just(" CASE WHEN ".to_owned()),
        Just(" REFERENCES ".to_owned()),
        Just(" DEFAULT ".to_owned()),
        Just(" 0x ".to_owned()),
        Just("1e".to_owned()),
        Just(".".to_owned()),
        Just("@".to_owned()),
        Just("\0".to_owned()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn random_text_is_read_to_its_end(text in ".{0,200}") {
        for context in contexts() {
            exercise(&parse(&text, &context));
        }
    }

    #[test]
    fn random_bytes_are_read_to_their_end(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let text = String::from_utf8_lossy(&bytes);
        for context in contexts() {
            exercise(&parse(&text, &context));
        }
    }

    #[test]
    fn broken_statements_are_read_to_their_end(
        index in any::<prop::sample::Index>(),
        breaks in proptest::collection::vec((any::<prop::sample::Index>(), 0_usize..12, piece()), 1..4),
    ) {
        let statements = all_statements();
        let mut text = index.get(&statements).clone();
        for (place, length, insert) in breaks {
            let bounds: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
            let start = place.index(bounds.len());
            let end = (start + length).min(bounds.len() - 1);
            text.replace_range(bounds[start]..bounds[end], &insert);
        }
        for context in contexts() {
            exercise(&parse(&text, &context));
        }
    }

    #[test]
    fn a_routed_statement_reads_back_to_the_routed_names(
        index in any::<prop::sample::Index>(),
        schema in "[^\0]{1,8}",
        prefix in "[^\0]{0,8}",
    ) {
        let statements = all_statements();
        let statement: &String = index.get(&statements);
        for context in [mysql(), mariadb()] {
            let parsed = parse(statement, &context);
            if !matches!(parsed.meaning, Meaning::Understood(_)) {
                continue;
            }
            let target = |table: &TableName| TableName::new(schema.clone(), format!("{prefix}{}", table.table));
            let mut rewrite = Rewrite::new(&parsed);
            rewrite.route(target, |name| format!("{prefix}{name}"));
            let again = parse(&rewrite.finish(), &context);
            prop_assert!(matches!(again.meaning, Meaning::Understood(_)), "{}: {:?}", again.text, again.meaning);
            let routed: Vec<TableName> = parsed.uses.tables.iter().map(|named| target(&named.table)).collect();
            let read: Vec<TableName> = again.uses.tables.iter().map(|named| named.table.clone()).collect();
            prop_assert_eq!(routed, read);
            let databases: Vec<String> = parsed.uses.databases.iter().map(|named| format!("{prefix}{}", named.name)).collect();
            let read: Vec<String> = again.uses.databases.iter().map(|named| named.name.clone()).collect();
            prop_assert_eq!(databases, read);
        }
    }
}

#[test]
fn deep_nesting_does_not_exhaust_the_stack() {
    let text = format!("CREATE TABLE t (a INT DEFAULT {}1{}, b INT)", "(".repeat(500_000), ")".repeat(500_000));
    assert!(parse(&text, &mariadb()).statement().is_some());
    let text = format!("CREATE TABLE t (a INT DEFAULT {} 1", "CASE ".repeat(500_000));
    assert!(parse(&text, &mariadb()).statement().is_none());
}
