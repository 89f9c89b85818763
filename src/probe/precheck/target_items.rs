//! Judges what a target said. Pure.

use std::collections::BTreeSet;

use super::item::Item;
use super::result::Finding;
use super::source_items::version;
use super::survey::{SourceSurvey, TargetSurvey};
use crate::model::TableName;

const PRIVILEGES: &[&str] = &["CREATE", "SELECT", "INSERT", "UPDATE", "DELETE", "ALTER", "DROP", "INDEX"];

/// The findings of one item; None if it does not look at targets.
pub fn check(item: Item, sources: &[SourceSurvey], target: &TargetSurvey, meta_schema: &str) -> Option<Vec<Finding>> {
    Some(match item {
        Item::TargetPrivilege => target_privilege(sources, target, meta_schema),
        Item::Version => version(&target.server, "target"),
        Item::TargetTrigger => target_trigger(sources, target),
        Item::TargetTopology => target_topology(target),
        Item::DumpPrivilege
        | Item::ReplicationPrivilege
        | Item::ServerId
        | Item::BinlogEnable
        | Item::BinlogFormat
        | Item::BinlogRowImage
        | Item::Collation
        | Item::StorageEngine
        | Item::PrimaryKey => return None,
    })
}

fn target_tables(sources: &[SourceSurvey]) -> BTreeSet<&TableName> {
    sources.iter().flat_map(|source| &source.tables).map(|table| &table.target).collect()
}

fn target_privilege(sources: &[SourceSurvey], target: &TargetSurvey, meta_schema: &str) -> Vec<Finding> {
    let mut schemas: BTreeSet<&str> = target_tables(sources).iter().map(|table| table.schema.as_str()).collect();
    schemas.insert(meta_schema);
    PRIVILEGES
        .iter()
        .filter_map(|privilege| {
            let lacking: Vec<String> = schemas
                .iter()
                .filter(|schema| !target.grants.has_on_database(privilege, schema))
                .map(|schema| format!("`{schema}`.*"))
                .collect();
            (!lacking.is_empty()).then(|| {
                let levels = lacking.join(", ");
                Finding::warning(
                    format!("lack of {privilege} privilege on {levels}"),
                    format!("GRANT {privilege} ON these databases TO the target's account"),
                )
                .about(levels)
            })
        })
        .collect()
}

/// Row events already hold what the source's triggers did; the target's would do it again, or something else.
fn target_trigger(sources: &[SourceSurvey], target: &TargetSurvey) -> Vec<Finding> {
    let tables = target_tables(sources);
    let ignore_case = target.server.names_ignore_case();
    let is_written = |table: &TableName| {
        tables.contains(table)
            || ignore_case
                && tables.iter().any(|written| {
                    written.schema.eq_ignore_ascii_case(&table.schema)
                        && written.table.eq_ignore_ascii_case(&table.table)
                })
    };
    target
        .triggers
        .iter()
        .filter(|(_, table)| is_written(table))
        .map(|(trigger, table)| {
            Finding::failure(
                format!("{table} of the target has the trigger `{trigger}`, which would fire on every row applied"),
                "drop the trigger at the target and make it again after the switch-over, \
                 or name `target_trigger` in `ignore_checking_items`",
            )
            .about(table.to_string())
        })
        .collect()
}

fn target_topology(target: &TargetSurvey) -> Vec<Finding> {
    let mut findings = Vec::new();
    if target.writable_servers > 1 {
        findings.push(Finding::warning(
            format!(
                "{} servers take writes: locks that guard against two writers hold on one only",
                target.writable_servers
            ),
            "name one server's own address as target, not that of a proxy that spreads connections",
        ));
    }
    for name in ["read_only", "super_read_only"] {
        if target.variables.get(name).is_some_and(|value| value.eq_ignore_ascii_case("ON") || value == "1") {
            findings.push(Finding::warning(
                format!("{name} is ON at the target"),
                format!("SET GLOBAL {name} = OFF before the task is started"),
            ));
        }
    }
    findings
}
