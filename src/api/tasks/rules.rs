//! From the rules of a task to the rules of each of its sources.

use std::collections::BTreeMap;

use crate::api::faults::common;
use crate::error::{Fault, codes};
use crate::model::subtask::{EventFilter, MigrateRule};
use crate::model::wire::{Task, TaskBinLogFilterRule, TaskTableMigrateRule};

/// The rules that name this source, in their order.
pub fn rules_of_source(task: &Task, source_name: &str) -> Result<Vec<MigrateRule>, Fault> {
    let none = BTreeMap::new();
    let filters = task.binlog_filter_rule.as_ref().unwrap_or(&none);
    task.table_migrate_rule
        .iter()
        .enumerate()
        .filter(|(_, rule)| rule.source.source_name == source_name)
        .map(|(index, rule)| migrate_rule(index, rule, filters))
        .collect()
}

/// Every rule must speak of a source of the task: one that does not would do nothing, unnoticed.
pub fn check_sources_of_rules(task: &Task) -> Result<(), Fault> {
    let is_source = |name: &str| task.source_config.source_conf.iter().any(|source| source.source_name == name);
    match task.table_migrate_rule.iter().enumerate().find(|(_, rule)| !is_source(&rule.source.source_name)) {
        None => Ok(()),
        Some((index, rule)) => Err(common(
            format!("a rule speaks of source {}, which is no source of the task", rule.source.source_name),
            format!("`task.table_migrate_rule[{index}].source.source_name`: expected a source of `source_conf`"),
        )),
    }
}

fn migrate_rule(
    index: usize,
    rule: &TaskTableMigrateRule,
    filters: &BTreeMap<String, TaskBinLogFilterRule>,
) -> Result<MigrateRule, Fault> {
    let field = format!("task.table_migrate_rule[{index}]");
    if rule.source.schema.is_empty() {
        return Err(codes::ALLOW_LIST_INVALID
            .fault("a rule names no schema")
            .with_workaround(format!("`{field}.source.schema`: expected a name or a pattern; `*` is every schema")));
    }
    let target = rule.target.clone().unwrap_or_default();
    let target_schema = given_name(target.schema.as_deref(), &format!("{field}.target.schema"))?;
    let target_table = given_name(target.table.as_deref(), &format!("{field}.target.table"))?;
    if target_table.is_some() && rule.source.table.is_empty() {
        return Err(codes::ROUTE_INVALID
            .fault("a whole schema cannot go into one table")
            .with_workaround(format!("`{field}.source.table`: name the table, or leave `target.table` out")));
    }
    let names = rule.binlog_filter_rule.clone().unwrap_or_default();
    let filters = names.iter().map(|name| event_filter(name, filters, &field)).collect::<Result<_, _>>()?;
    Ok(MigrateRule {
        schema: rule.source.schema.clone(),
        table: rule.source.table.clone(),
        target_schema,
        target_table,
        filters,
    })
}

/// A name in the target: empty is none, and wildcards mean nothing there.
fn given_name(name: Option<&str>, field: &str) -> Result<Option<String>, Fault> {
    match name.unwrap_or_default() {
        "" => Ok(None),
        name if name.contains(['*', '?']) => Err(codes::ROUTE_INVALID
            .fault(format!("the target name {name} has a wildcard"))
            .with_workaround(format!("`{field}`: expected a plain name; left out, the source's name is kept"))),
        name => Ok(Some(name.to_owned())),
    }
}

fn event_filter(
    name: &str,
    filters: &BTreeMap<String, TaskBinLogFilterRule>,
    field: &str,
) -> Result<EventFilter, Fault> {
    let rule = filters.get(name).ok_or_else(|| {
        common(
            format!("filter rule name {name} not found"),
            format!("`{field}.binlog_filter_rule`: expected names of `task.binlog_filter_rule`"),
        )
    })?;
    Ok(EventFilter {
        ignore_event: rule.ignore_event.clone().unwrap_or_default(),
        ignore_sql: rule.ignore_sql.clone().unwrap_or_default(),
    })
}
