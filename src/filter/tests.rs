use proptest::prelude::*;

use super::*;

fn rule(schema: &str, table: &str) -> MigrateRule {
    MigrateRule {
        schema: schema.to_owned(),
        table: table.to_owned(),
        target_schema: None,
        target_table: None,
        filters: Vec::new(),
    }
}

fn ignoring(mut rule: MigrateRule, events: &[&str], statements: &[&str]) -> MigrateRule {
    let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
    rule.filters.push(EventFilter { ignore_event: owned(events), ignore_sql: owned(statements) });
    rule
}

fn table(name: &str) -> TableName {
    let (schema, table) = name.split_once('.').unwrap();
    TableName::new(schema, table)
}

fn kept<'a>(rules: &[MigrateRule], names_ignore_case: bool, names: &[&'a str]) -> Vec<&'a str> {
    let filter = Filter::new(rules, names_ignore_case).unwrap().without_schema("dm_meta");
    names.iter().copied().filter(|name| filter.keeps_table(&table(name))).collect()
}

#[test]
fn without_rules_everything_but_the_servers_own_is_kept() {
    let names = [
        "shop.orders",
        "mysql.user",
        "MySQL.user",
        "sys.x",
        "INFORMATION_SCHEMA.TABLES",
        "performance_schema.threads",
        "dm_heartbeat.heartbeat",
        "dm_meta.ledger",
        "DM_META.ledger",
    ];
    assert_eq!(kept(&[], false, &names), ["shop.orders", "MySQL.user", "DM_META.ledger"]);
    assert_eq!(kept(&[], true, &names), ["shop.orders"]);
}

#[test]
fn no_rule_brings_a_system_schema_or_the_ledger_in() {
    assert_eq!(
        kept(&[rule("*", "*"), rule("mysql", ""), rule("dm_meta", "")], false, &["mysql.user", "dm_meta.x"]),
        [""; 0]
    );
}

#[test]
fn a_table_is_kept_if_any_rule_names_it() {
    let names = ["shop.orders", "shop.items", "crm.people", "crm.notes", "log.x", "shop.Orders"];
    assert_eq!(kept(&[rule("shop", "orders")], false, &names), ["shop.orders"]);
    assert_eq!(kept(&[rule("shop", "orders")], true, &names), ["shop.orders", "shop.Orders"]);
    // A whole schema beside single tables of another: DM would drop the second.
    assert_eq!(kept(&[rule("crm", ""), rule("shop", "i*")], false, &names), ["shop.items", "crm.people", "crm.notes"]);
    assert_eq!(kept(&[rule("~^(shop|log)$", "~^[ox]")], false, &names), ["shop.orders", "log.x"]);
}

#[test]
fn the_underscore_is_a_letter() {
    let names = ["d.a_b", "d.axb", "d.a%b", "d.a*b"];
    assert_eq!(kept(&[rule("d", "a_b")], false, &names), ["d.a_b"]);
    assert_eq!(kept(&[rule("d", "a?b")], false, &names), names);
}

#[test]
fn a_schema_is_kept_whole_only_by_a_rule_that_takes_it_whole() {
    let filter = Filter::new(&[rule("shop", "orders"), rule("crm", ""), rule("log", "*"), rule("doc", "~.*")], false)
        .unwrap()
        .without_schema("crm_meta");
    let judged =
        ["shop", "crm", "log", "doc", "other", "mysql"].map(|s| (filter.keeps_schema(s), filter.keeps_whole_schema(s)));
    assert_eq!(judged, [(true, false), (true, true), (true, true), (true, true), (false, false), (false, false)]);
    let everything = Filter::new(&[], false).unwrap();
    assert!(everything.keeps_whole_schema("shop") && !everything.keeps_schema("sys"));
}

#[test]
fn a_filter_speaks_of_the_tables_of_its_own_rule_only() {
    let rules = [ignoring(rule("shop", "orders"), &["delete", "truncate table"], &[]), rule("shop", "")];
    let filter = Filter::new(&rules, false).unwrap();
    let verdicts = |name: &str| {
        [EventKind::Delete, EventKind::TruncateTable, EventKind::Insert]
            .map(|kind| filter.verdict(&table(name), kind, None))
    };
    assert_eq!(verdicts("shop.orders"), [Verdict::Ignore { rule: 0 }, Verdict::Ignore { rule: 0 }, Verdict::Keep]);
    assert_eq!(verdicts("shop.items"), [Verdict::Keep; 3]);
}

#[test]
fn events_and_statements_are_alternatives() {
    let rules = [ignoring(rule("shop", "*"), &["delete"], &["^DROP\\s+PROCEDURE", "add column .*hidden"])];
    let filter = Filter::new(&rules, false).unwrap();
    for (kind, sql, expected) in [
        (EventKind::Delete, None, Verdict::Ignore { rule: 0 }),
        (EventKind::Insert, None, Verdict::Keep),
        (EventKind::AddColumn, Some("ALTER TABLE t ADD COLUMN c_hidden INT"), Verdict::Ignore { rule: 0 }),
        (EventKind::AddColumn, Some("alter table t add column c int"), Verdict::Keep),
        (EventKind::DropTable, Some("drop   procedure p"), Verdict::Ignore { rule: 0 }),
    ] {
        assert_eq!(filter.verdict(&table("shop.t"), kind, sql), expected, "{kind} {sql:?}");
    }
}

#[test]
fn statements_on_a_schema_are_judged_by_the_rules_that_take_it_whole() {
    let single = ignoring(rule("shop", "log"), &["all ddl"], &[]);
    let filter = Filter::new(&[single.clone(), rule("shop", "*")], false).unwrap();
    assert_eq!(filter.schema_verdict("shop", EventKind::CreateDatabase, None), Verdict::Keep);
    let filter = Filter::new(&[single], false).unwrap();
    assert_eq!(filter.schema_verdict("shop", EventKind::CreateDatabase, None), Verdict::Ignore { rule: 0 });
    let filter = Filter::new(&[ignoring(rule("shop", ""), &["drop database"], &[])], false).unwrap();
    assert_eq!(filter.schema_verdict("shop", EventKind::DropDatabase, None), Verdict::Ignore { rule: 0 });
    assert_eq!(filter.schema_verdict("crm", EventKind::DropDatabase, None), Verdict::Keep);
}

#[test]
fn what_is_no_rule_is_refused_when_built() {
    for (rules, expected) in [
        (vec![rule("", "t")], "cannot read the rule for schema \"\", table \"t\": the pattern for the schema is empty"),
        (
            vec![rule("s", "~[")],
            "cannot read the rule for schema \"s\", table \"~[\": \"~[\" is not a regular expression: ",
        ),
        (
            vec![ignoring(rule("s", ""), &["trunkate"], &[])],
            "the filter of the rule for schema \"s\" ignores \"trunkate\", which is not the name of an event",
        ),
        (
            vec![ignoring(rule("s", "t"), &[], &["("])],
            "cannot read `ignore_sql` in the filter of the rule for schema \"s\", table \"t\": ",
        ),
    ] {
        let error = Filter::new(&rules, false).unwrap_err();
        let text = crate::error::Chain(&error).to_string();
        assert!(text.starts_with(expected), "{text}");
    }
}

proptest! {
    /// Answers from memory are the ones that would be worked out again, also past the bound.
    #[test]
    fn remembering_changes_no_answer(names in proptest::collection::vec("[ab]{1,2}\\.[abc]{1,3}", 1..40)) {
        let rules = [ignoring(rule("a*", "?b*"), &["insert"], &[]), rule("b", "")];
        let filter = Filter::new(&rules, false).unwrap();
        for name in names.iter().chain(&names) {
            let name = table(name);
            let fresh = Filter::new(&rules, false).unwrap();
            prop_assert_eq!(filter.keeps_table(&name), fresh.keeps_table(&name));
            prop_assert_eq!(
                filter.verdict(&name, EventKind::Insert, None), fresh.verdict(&name, EventKind::Insert, None)
            );
        }
    }
}
