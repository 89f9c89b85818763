//! What of a task may change once it exists. Pure.
//!
//! DM's words for the refusals are kept where its clients look for them.

use crate::api::faults::subtask_not_updatable;
use crate::error::Fault;
use crate::model::record::SubtaskRecord;
use crate::model::wire::{SubTaskStatus, Task, TaskIncrMigrateConf, TaskStage};
use crate::model::{Generation, TaskName};

/// The new task with the sources of the old one that it does not name, and their rules and filters.
pub fn with_omitted_sources(mut task: Task, before: &Task) -> Task {
    let is_named = |task: &Task, name: &str| task.source_config.source_conf.iter().any(|s| s.source_name == name);
    let omitted: Vec<_> =
        before.source_config.source_conf.iter().filter(|source| !is_named(&task, &source.source_name)).collect();
    for source in &omitted {
        let rules = before.table_migrate_rule.iter().filter(|rule| rule.source.source_name == source.source_name);
        for rule in rules {
            for name in rule.binlog_filter_rule.iter().flatten() {
                let filter = before.binlog_filter_rule.as_ref().and_then(|filters| filters.get(name));
                if let Some(filter) = filter {
                    let filters = task.binlog_filter_rule.get_or_insert_default();
                    filters.entry(name.clone()).or_insert_with(|| filter.clone());
                }
            }
            task.table_migrate_rule.push(rule.clone());
        }
    }
    task.source_config.source_conf.extend(omitted.into_iter().cloned());
    task
}

/// Refuses changes that the progress so far would contradict.
pub fn check_changes(
    name: &TaskName,
    before: &Task,
    after: &Task,
    subtasks: &[SubtaskRecord],
    statuses: &[SubTaskStatus],
) -> Result<(), Fault> {
    let changed = fixed_fields(before, after);
    if !changed.is_empty() {
        return Err(subtask_not_updatable(
            name,
            format!("these fields that should not be changed differ: {}", changed.join(", ")),
            "leave them as they are, or delete the task and create it anew",
        ));
    }
    let has_begun = subtasks.iter().any(|subtask| subtask.generation > Generation(0));
    if has_begun && before.source_config.source_conf != after.source_config.source_conf {
        return Err(subtask_not_updatable(
            name,
            "it has begun, so that its start positions should not be changed",
            "leave `task.source_config.source_conf` as it is, or start with `start_time`",
        ));
    }
    let rules_differ = before.table_migrate_rule != after.table_migrate_rule;
    let copying = statuses.iter().zip(subtasks).find(|(status, subtask)| {
        subtask.generation > Generation(0) && status.unit == "Load" && status.stage != TaskStage::Finished
    });
    match copying {
        Some((status, _)) if rules_differ => Err(subtask_not_updatable(
            name,
            format!("source {} is still being copied, by the rules as they are", status.source_name),
            "change the rules once `unit` is `Sync`",
        )),
        _ => Ok(()),
    }
}

/// The names of fields that differ and must not.
fn fixed_fields(before: &Task, after: &Task) -> Vec<&'static str> {
    let session = |task: &Task| task.target_config.session.as_ref().and_then(|session| session.foreign_key_checks);
    let safe_mode = |task: &Task| {
        task.source_config.incr_migrate_conf.as_ref().map_or(TaskIncrMigrateConf::default().safe_mode, |c| c.safe_mode)
    };
    let timezone = |task: &Task| task.timezone.clone().unwrap_or_default();
    let target = |task: &Task| (task.target_config.host.clone(), task.target_config.port);
    [
        ("task_mode", before.task_mode != after.task_mode),
        ("meta_schema", before.meta_schema != after.meta_schema),
        ("timezone", timezone(before) != timezone(after)),
        ("target_config.host and port", target(before) != target(after)),
        ("foreign_key_checks", session(before) != session(after)),
        ("safe-mode", safe_mode(before) != safe_mode(after)),
        ("on_duplicate", before.on_duplicate != after.on_duplicate),
    ]
    .into_iter()
    .filter(|(_, differs)| *differs)
    .map(|(name, _)| name)
    .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn body() -> Value {
        json!({
            "name": "t1", "task_mode": "all", "on_duplicate": "error", "timezone": "+08:00",
            "target_config": {"host": "db", "port": 3306, "user": "root", "password": "p", "session": {"foreign_key_checks": "0"}},
            "table_migrate_rule": [
                {"source": {"source_name": "s1", "schema": "a", "table": "*"}},
                {"source": {"source_name": "s2", "schema": "b", "table": "*"}, "binlog_filter_rule": ["f"]},
            ],
            "binlog_filter_rule": {"f": {"ignore_event": ["truncate table"]}},
            "source_config": {
                "source_conf": [{"source_name": "s1"}, {"source_name": "s2"}],
                "incr_migrate_conf": {"repl_threads": 4, "safe_mode": false},
            },
        })
    }

    fn task(body: Value) -> Task {
        serde_json::from_value(body).unwrap()
    }

    fn refusal(path: &str, value: Value) -> Option<String> {
        let mut after = body();
        *after.pointer_mut(path).unwrap() = value;
        let name = TaskName::new("t1");
        check_changes(&name, &task(body()), &task(after), &[], &[]).err().map(|fault| {
            assert_eq!(fault.code, 46035);
            fault.message
        })
    }

    #[test]
    fn what_progress_depends_on_may_not_change() {
        for (path, value, field) in [
            ("/task_mode", json!("full"), "task_mode"),
            ("/timezone", json!("+09:00"), "timezone"),
            ("/target_config/host", json!("other"), "target_config.host"),
            ("/target_config/session/foreign_key_checks", json!("1"), "foreign_key_checks"),
            ("/source_config/incr_migrate_conf/safe_mode", json!(true), "safe-mode"),
            ("/on_duplicate", json!("replace"), "on_duplicate"),
        ] {
            let message = refusal(path, value).unwrap_or_else(|| panic!("{path} may not change"));
            assert!(message.contains("fields that should not be changed") && message.contains(field), "{message}");
        }
    }

    #[test]
    fn rules_tuning_and_the_account_may_change() {
        for (path, value) in [
            ("/source_config/incr_migrate_conf/repl_threads", json!(1)),
            ("/target_config/user", json!("other")),
            ("/target_config/password", json!("******")),
            ("/table_migrate_rule/0/source/table", json!("x")),
        ] {
            assert_eq!(refusal(path, value), None, "{path}");
        }
    }

    #[test]
    fn sources_left_out_stay_with_their_rules_and_filters() {
        let mut after = body();
        after["source_config"]["source_conf"] = json!([{"source_name": "s1"}]);
        after["table_migrate_rule"] = json!([{"source": {"source_name": "s1", "schema": "new", "table": "*"}}]);
        after["binlog_filter_rule"] = json!({});
        let merged = with_omitted_sources(task(after), &task(body()));
        let names: Vec<_> = merged.source_config.source_conf.iter().map(|s| s.source_name.as_str()).collect();
        assert_eq!(names, ["s1", "s2"]);
        let schemas: Vec<_> = merged.table_migrate_rule.iter().map(|rule| rule.source.schema.as_str()).collect();
        assert_eq!(schemas, ["new", "b"]);
        assert!(merged.binlog_filter_rule.unwrap().contains_key("f"));
    }
}
