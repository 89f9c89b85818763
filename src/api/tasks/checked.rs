//! A task as a client sent it, checked without asking anyone, and turned into what is stored.
//!
//! In: the wire's [`Task`]. Out: settings, one subtask for each source, and the document that a GET answers. Every
//! field is honoured, honoured differently or refused; `docs/api-fields.md` says which. Never here: looking at what
//! is stored or at a database; the secrets are `endpoint`'s.

use serde_json::Value;

use super::copy_options::check_options;
use super::rules::{check_sources_of_rules, rules_of_source};
use super::timezone::check_timezone;
use crate::api::faults::common;
use crate::api::names::task_name;
use crate::error::{Fault, codes};
use crate::model::record::TaskSettings;
use crate::model::subtask::{MigrateRule, StartAt, TaskMode};
use crate::model::wire::{Task, TaskSourceConf};
use crate::model::{SourceName, TaskName};
use crate::probe::precheck::IgnoredItems;

const META_SCHEMA_CHARACTERS_MAX: usize = 64;
const SYSTEM_SCHEMAS: &[&str] = &["mysql", "sys", "information_schema", "performance_schema"];

/// A task that holds together.
#[derive(Debug)]
pub struct CheckedTask {
    pub name: TaskName,
    pub settings: TaskSettings,
    pub subtasks: Vec<CheckedSubtask>,
    pub ignored: IgnoredItems,
    /// What the client sent, with defaults filled in and secrets masked.
    pub document: Value,
}

/// One source of the task.
#[derive(Debug)]
pub struct CheckedSubtask {
    pub source: SourceName,
    pub start: Option<StartAt>,
    pub rules: Vec<MigrateRule>,
}

/// Checks all that can be checked by looking at the task alone.
pub fn check_task(task: &Task) -> Result<CheckedTask, Fault> {
    let name = task_name(&task.name)?;
    check_mode(task)?;
    check_meta_schema(&task.meta_schema)?;
    if let Some(timezone) = task.timezone.as_deref().filter(|timezone| !timezone.is_empty()) {
        check_timezone(timezone)?;
    }
    let ignored = ignored_items(task)?;
    let options = &task.source_config;
    let tuning =
        check_options(options.full_migrate_conf.as_ref(), options.incr_migrate_conf.as_ref(), task.on_duplicate)?;
    check_sources_of_rules(task)?;
    Ok(CheckedTask {
        name,
        settings: TaskSettings {
            mode: task.task_mode,
            on_duplicate: task.on_duplicate,
            meta_schema: task.meta_schema.clone(),
            collation_map: task.target_config.collation_map.clone().unwrap_or_default(),
            export_threads: tuning.export_threads,
            import_threads: tuning.import_threads,
            replicate_lanes: tuning.replicate_lanes,
            replicate_batch: tuning.replicate_batch,
        },
        subtasks: subtasks(task)?,
        ignored,
        document: document(task)?,
    })
}

fn check_mode(task: &Task) -> Result<(), Fault> {
    if let TaskMode::Dump | TaskMode::Load = task.task_mode {
        return Err(codes::TASK_MODE_INVALID
            .fault("the task modes dump and load are not built yet")
            .with_workaround("`task.task_mode`: expected `full`, `incremental` or `all`"));
    }
    if task.shard_mode.is_some() {
        return Err(codes::SHARD_MODE_NOT_SUPPORTED
            .fault("merging sharded tables is not built yet")
            .with_workaround("leave `task.shard_mode` out"));
    }
    if task.strict_optimistic_shard_mode == Some(true) {
        return Err(codes::STRICT_OPTIMISTIC_WITHOUT_OPTIMISTIC
            .fault("strict_optimistic_shard_mode is only for shard_mode optimistic")
            .with_workaround("leave `task.strict_optimistic_shard_mode` out"));
    }
    Ok(())
}

fn check_meta_schema(name: &str) -> Result<(), Fault> {
    let is_system = SYSTEM_SCHEMAS.iter().any(|system| system.eq_ignore_ascii_case(name));
    if name.is_empty() || name.chars().count() > META_SCHEMA_CHARACTERS_MAX || is_system || name.contains('\0') {
        return Err(common(
            format!("meta_schema {name:?} cannot hold the progress"),
            "`task.meta_schema`: expected a database of its own, of 1 to 64 characters",
        ));
    }
    Ok(())
}

fn ignored_items(task: &Task) -> Result<IgnoredItems, Fault> {
    let names = task.ignore_checking_items.as_deref().unwrap_or_default();
    IgnoredItems::parse(names.iter().map(String::as_str)).map_err(|unknown| {
        codes::CHECK_ITEM_NOT_SUPPORTED.fault(format!("checking item {unknown} is not supported")).with_workaround(
            format!("`task.ignore_checking_items`: expected {}", IgnoredItems::known_names().join(", ")),
        )
    })
}

fn subtasks(task: &Task) -> Result<Vec<CheckedSubtask>, Fault> {
    let sources = &task.source_config.source_conf;
    if sources.is_empty() {
        return Err(common("the task has no source", "`task.source_config.source_conf`: expected at least one source"));
    }
    let mut subtasks: Vec<CheckedSubtask> = Vec::with_capacity(sources.len());
    for (index, source) in sources.iter().enumerate() {
        if subtasks.iter().any(|earlier| earlier.source.as_str() == source.source_name) {
            return Err(common(
                format!("source {} stands twice in the task", source.source_name),
                format!("`task.source_config.source_conf[{index}].source_name`: expected each source once"),
            ));
        }
        subtasks.push(CheckedSubtask {
            source: SourceName::new(&source.source_name),
            start: start(index, source, task.task_mode)?,
            rules: rules_of_source(task, &source.source_name)?,
        });
    }
    Ok(subtasks)
}

/// The start given in the task. Empty texts and a position of 0 mean that none is given.
fn start(index: usize, source: &TaskSourceConf, mode: TaskMode) -> Result<Option<StartAt>, Fault> {
    let field = format!("task.source_config.source_conf[{index}]");
    let given = |text: &Option<String>| text.clone().filter(|text| !text.trim().is_empty());
    let (file, gtid) = (given(&source.binlog_name), given(&source.binlog_gtid));
    let offset = source.binlog_pos.filter(|offset| *offset > 0);
    if file.is_none() && offset.is_some() {
        return Err(common(
            "binlog_pos is given without binlog_name",
            format!("`{field}.binlog_name`: expected the file that the position is in"),
        ));
    }
    if file.is_none() && gtid.is_none() {
        return Ok(None);
    }
    if mode.copies() {
        return Err(common(
            "a start position is only for task mode incremental: a copy has its own",
            format!("leave `binlog_name`, `binlog_pos` and `binlog_gtid` of `{field}` out"),
        ));
    }
    Ok(Some(StartAt::Position { file, offset, gtid }))
}

fn document(task: &Task) -> Result<Value, Fault> {
    let task = Task { status_list: None, ..task.clone() };
    serde_json::to_value(task)
        .map_err(|error| common("the task cannot be written down", "please report this").with_cause(error))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn task() -> Value {
        json!({
            "name": "t1", "task_mode": "all", "on_duplicate": "error",
            "target_config": {"host": "db", "port": 3306, "user": "root", "password": "secret"},
            "table_migrate_rule": [
                {"source": {"source_name": "s1", "schema": "shop", "table": "*"}, "target": {"schema": "shop2", "table": ""},
                 "binlog_filter_rule": ["no-drop"]},
                {"source": {"source_name": "s2", "schema": "crm", "table": ""}},
            ],
            "binlog_filter_rule": {"no-drop": {"ignore_event": ["drop table"]}},
            "source_config": {"source_conf": [{"source_name": "s1"}, {"source_name": "s2"}]},
        })
    }

    fn with(path: &str, value: Value) -> Task {
        let mut task = task();
        *task.pointer_mut(path).unwrap_or_else(|| panic!("{path}")) = value;
        serde_json::from_value(task).unwrap()
    }

    fn with_field(field: &str, value: Value) -> Task {
        let mut task = task();
        task[field] = value;
        serde_json::from_value(task).unwrap()
    }

    #[test]
    fn each_source_gets_its_own_rules_and_only_its_filters() {
        let checked = check_task(&serde_json::from_value(task()).unwrap()).unwrap();
        let [first, second] = checked.subtasks.as_slice() else { panic!("two subtasks") };
        assert_eq!(first.rules.len(), 1);
        assert_eq!(first.rules[0].target_schema.as_deref(), Some("shop2"));
        assert_eq!(first.rules[0].target_table, None);
        assert_eq!(first.rules[0].filters[0].ignore_event, ["drop table"]);
        assert_eq!((second.rules[0].schema.as_str(), second.rules[0].table.as_str()), ("crm", ""));
        assert!(second.rules[0].filters.is_empty());
    }

    #[test]
    fn the_document_has_the_defaults_and_no_secret() {
        let checked = check_task(&serde_json::from_value(task()).unwrap()).unwrap();
        assert_eq!(checked.document["meta_schema"], "dm_meta");
        assert_eq!(checked.document["enhance_online_schema_change"], true);
        assert_eq!(checked.document["target_config"]["password"], "******");
        assert!(!checked.document.to_string().contains("secret"));
        let again: Task = serde_json::from_value(checked.document.clone()).unwrap();
        assert_eq!(check_task(&again).unwrap().document, checked.document);
    }

    #[test]
    fn what_is_not_built_or_makes_no_sense_is_refused_by_its_code() {
        for (task, code) in [
            (with("/task_mode", json!("dump")), 20020),
            (with_field("shard_mode", json!("pessimistic")), 20033),
            (with_field("strict_optimistic_shard_mode", json!(true)), 20066),
            (with_field("meta_schema", json!("mysql")), 49001),
            (with_field("meta_schema", json!("")), 49001),
            (with_field("timezone", json!("Mars/Base")), 20008),
            (with_field("ignore_checking_items", json!(["versions"])), 20001),
            (with("/source_config/source_conf", json!([])), 49001),
            (with("/source_config/source_conf/1/source_name", json!("s1")), 49001),
            (with("/table_migrate_rule/1/source/source_name", json!("s3")), 49001),
            (with("/table_migrate_rule/0/binlog_filter_rule/0", json!("other")), 49001),
            (with("/table_migrate_rule/0/target/table", json!("*")), 20045),
            (with("/table_migrate_rule/0/source/schema", json!("")), 20044),
            (with("/source_config/source_conf/0", json!({"source_name": "s1", "binlog_name": "b.1"})), 49001),
        ] {
            assert_eq!(check_task(&task).unwrap_err().code, code);
        }
    }

    #[test]
    fn a_start_is_what_is_given_of_file_offset_and_gtid() {
        for (conf, start) in [
            (json!({"source_name": "s1", "binlog_name": "", "binlog_pos": 0, "binlog_gtid": ""}), None),
            (
                json!({"source_name": "s1", "binlog_name": "b.1", "binlog_pos": 4}),
                Some(StartAt::Position { file: Some("b.1".to_owned()), offset: Some(4), gtid: None }),
            ),
            (
                json!({"source_name": "s1", "binlog_gtid": "0-1-2"}),
                Some(StartAt::Position { file: None, offset: None, gtid: Some("0-1-2".to_owned()) }),
            ),
        ] {
            let mut task = task();
            task["task_mode"] = json!("incremental");
            task["source_config"]["source_conf"][0] = conf;
            let checked = check_task(&serde_json::from_value(task).unwrap()).unwrap();
            assert_eq!(checked.subtasks[0].start, start);
        }
    }
}
