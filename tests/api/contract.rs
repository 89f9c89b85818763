//! DM's contract, as far as it is built: each path, operation id, tag, status, parameter, field, type and enum of it
//! must be in `openapi/dm.json`. What a client made from DM's own document sends and reads is then understood.

use std::collections::BTreeSet;

use serde_json::{Value, json};

/// Method, path under `/api/v1`, operation id, success, tag, query parameters.
const OPERATIONS: &str = "
    get /docs GetDocHTML 200 doc
    get /dm.json GetDocJSON 200 doc
    get /cluster/info DMAPIGetClusterInfo 200 cluster
    put /cluster/info DMAPIUpdateClusterInfo 200 cluster
    get /cluster/masters DMAPIGetClusterMasterList 200 cluster
    delete /cluster/masters/{master-name} DMAPIOfflineMasterNode 204 cluster
    get /cluster/workers DMAPIGetClusterWorkerList 200 cluster
    delete /cluster/workers/{worker-name} DMAPIOfflineWorkerNode 204 cluster
    post /sources DMAPICreateSource 201 source
    get /sources DMAPIGetSourceList 200 source with_status enable_relay
    get /sources/{source-name} DMAPIGetSource 200 source with_status
    put /sources/{source-name} DMAPIUpdateSource 200 source
    delete /sources/{source-name} DMAPIDeleteSource 204 source force
    get /sources/{source-name}/status DMAPIGetSourceStatus 200 source
    post /sources/{source-name}/enable DMAPIEnableSource 200 source
    post /sources/{source-name}/disable DMAPIDisableSource 200 source
    get /sources/{source-name}/schemas DMAPIGetSourceSchemaList 200 source
    get /sources/{source-name}/schemas/{schema-name} DMAPIGetSourceTableList 200 source
    post /tasks DMAPICreateTask 201 task
    get /tasks DMAPIGetTaskList 200 task with_status stage source_name_list
    get /tasks/{task-name} DMAPIGetTask 200 task with_status
    put /tasks/{task-name} DMAPIUpdateTask 200 task
    delete /tasks/{task-name} DMAPIDeleteTask 204 task force keep_meta
    get /tasks/{task-name}/status DMAPIGetTaskStatus 200 task source_name_list
    post /tasks/{task-name}/start DMAPIStartTask 200 task
    post /tasks/{task-name}/stop DMAPIStopTask 200 task
";

/// Operations of DM that are not built: their paths answer so, and they are not in the document.
const NOT_BUILT: &str = "
    DMAPITransferSource DMAPIEnableRelay DMAPIDisableRelay DMAPIPurgeRelay DMAPIConvertTask DMAPICreateTaskTemplate
    DMAPIGetTaskTemplateList DMAPIImportTaskTemplate DMAPIGetTaskTemplate DMAPUpdateTaskTemplate
    DMAPIDeleteTaskTemplate DMAPIGetTaskMigrateTargets DMAPIGetSchemaListByTaskAndSource
    DMAPIGetTableListByTaskAndSource DMAPIGetTableStructure DMAPIOperateTableStructure DMAPIDeleteTableStructure
";

/// What clients send. No field may be required that DM does not require. `!`: required. Types by their first letter.
const SENT: &str = "
    Source: source_name!s host!s port!i user!s password:s enable_gtid!b enable!b flavor:s task_name_list:a security:o purge:o status_list:a relay_config:o
    Security: ssl_ca_content!s ssl_cert_content!s ssl_key_content!s cert_allowed_cn:a
    Purge: interval:i expires:i remain_space:i
    RelayConfig: enable_relay:b relay_binlog_name:s relay_binlog_gtid:s relay_dir:s
    CreateSourceRequest: source!o worker_name:s
    UpdateSourceRequest: source!o
    Task: name!s task_mode!s shard_mode:s strict_optimistic_shard_mode:b meta_schema:s timezone:s enhance_online_schema_change!b on_duplicate!s target_config!o binlog_filter_rule:o table_migrate_rule!a source_config!o status_list:a ignore_checking_items:a
    TaskTargetDataBase: host!s port!i user!s password!s security:o session:o
    TaskTargetSession: foreign_key_checks:s
    TaskBinLogFilterRule: ignore_event:a ignore_sql:a
    TaskTableMigrateRule: source!o target:o binlog_filter_rule:a
    TaskTableMigrateRuleSource: source_name!s schema!s table!s
    TaskTableMigrateRuleTarget: schema:s table:s
    TaskSourceConfig: source_conf!a full_migrate_conf:o incr_migrate_conf:o
    TaskSourceConf: source_name!s binlog_name:s binlog_pos:i binlog_gtid:s
    TaskFullMigrateConf: export_threads:i import_threads:i data_dir:s consistency:s import_mode:s sorting_dir:s disk_quota:s checksum:s analyze:s range_concurrency:i compress-kv-pairs:s pd_addr:s security:o on_duplicate_logical:s on_duplicate_physical:s
    TaskIncrMigrateConf: repl_threads:i repl_batch:i safe_mode:b
    CreateTaskRequest: task!o
    UpdateTaskRequest: task!o
    StartTaskRequest: remove_meta:b source_name_list:a start_time:s safe_mode_time_duration:s
    StopTaskRequest: timeout_duration:s source_name_list:a
    ClusterTopology: master_topology_list:a worker_topology_list:a grafana_topology:o prometheus_topology:o alert_manager_topology:o
    MasterTopology: name!s host!s port!i
    WorkerTopology: name!s host!s port!i
    GrafanaTopology: host!s port!i
    PrometheusTopology: host!s port!i
    AlertManagerTopology: host!s port!i
";

/// What only answers have. What DM promises must be promised here too.
const ANSWERED: &str = "
    ErrorWithMessage: error_msg!s error_code!i
    GetSourceListResponse: total!i data!a
    GetSourceStatusResponse: total!i data!a
    GetTaskListResponse: total!i data!a
    GetTaskStatusResponse: total!i data!a
    GetClusterMasterListResponse: total!i data!a
    GetClusterWorkerListResponse: total!i data!a
    GetClusterInfoResponse: cluster_id!i topology:o
    OperateTaskResponse: task!o check_result!s
    ClusterMaster: name!s alive!b leader!b addr!s
    ClusterWorker: name!s addr!s bound_stage!s bound_source_name!s
    SourceStatus: source_name!s worker_name!s relay_status:o error_msg:s
    RelayStatus: master_binlog!s master_binlog_gtid!s relay_dir!s relay_binlog_gtid!s relay_catch_up_master!b stage!s
    SubTaskStatus: name!s source_name!s worker_name!s stage!s unit!s unresolved_ddl_lock_id:s load_status:o sync_status:o dump_status:o error_msg:s
    DumpStatus: total_tables!i completed_tables!n finished_bytes!n finished_rows!n estimate_total_rows!n bps!i progress!s
    LoadStatus: finished_bytes!i total_bytes!i progress!s meta_binlog!s meta_binlog_gtid!s bps!i
    SyncStatus: total_events!i total_tps!i recent_tps!i master_binlog!s master_binlog_gtid!s syncer_binlog!s syncer_binlog_gtid!s blocking_ddls!a unresolved_groups!a synced!b binlog_type!s seconds_behind_master!i io_total_bytes!i dump_io_total_bytes!i
    ShardingGroup: target!s ddl_list!a first_location!s synced!a unsynced!a
";

/// Enums, whose values must all be there and stand for the same.
const ENUMS: &str = "
    Task.task_mode: full incremental all dump load
    Task.shard_mode: pessimistic optimistic
    Task.on_duplicate: replace error ignore
    TaskTargetSession.foreign_key_checks: 0 1
    TaskFullMigrateConf.import_mode: logical physical import-into
    TaskFullMigrateConf.checksum: required optional off
    TaskFullMigrateConf.analyze: required optional off
    TaskFullMigrateConf.on_duplicate_logical: replace error ignore
    TaskFullMigrateConf.on_duplicate_physical: none manual
    SubTaskStatus.stage: Stopped Running Finished Paused
";

fn document() -> Value {
    serde_json::from_str(&ferrymaster::api::documents().expect("the documents can be written").dm_30).unwrap()
}

fn lines(table: &str) -> impl Iterator<Item = &str> {
    table.lines().map(str::trim).filter(|line| !line.is_empty())
}

/// Follows a reference, also one that words stand beside.
fn resolved<'a>(document: &'a Value, schema: &'a Value) -> &'a Value {
    let reference = schema["$ref"].as_str().or_else(|| schema["allOf"][0]["$ref"].as_str());
    match reference.and_then(|reference| reference.strip_prefix('#')) {
        Some(pointer) => resolved(document, document.pointer(pointer).expect("the reference leads somewhere")),
        None => schema,
    }
}

#[test]
fn every_operation_of_dm_is_there_under_its_own_name() {
    let document = document();
    for line in lines(OPERATIONS) {
        let [method, path, id, success, tag, parameters @ ..] = &line.split(' ').collect::<Vec<_>>()[..] else {
            panic!("{line}")
        };
        let operation = &document["paths"][format!("/api/v1{path}")][*method];
        assert_eq!(operation["operationId"], *id, "{line}");
        assert_eq!(operation["tags"], json!([tag]), "{line}");
        assert!(operation["responses"][*success].is_object(), "{line}");
        let given = operation["parameters"].as_array().cloned().unwrap_or_default();
        let names = |place: &str| -> BTreeSet<String> {
            let of_place = given.iter().filter(|parameter| parameter["in"] == place);
            of_place.map(|parameter| parameter["name"].as_str().unwrap().to_owned()).collect()
        };
        let in_path: BTreeSet<String> =
            path.split('/').filter_map(|part| Some(part.strip_prefix('{')?.strip_suffix('}')?.to_owned())).collect();
        assert_eq!(names("path"), in_path, "{line}");
        for parameter in parameters {
            assert!(names("query").contains(*parameter), "{line}: {parameter}");
        }
        let required: Vec<&Value> =
            given.iter().filter(|parameter| parameter["in"] == "query" && parameter["required"] == true).collect();
        assert!(required.is_empty(), "{line}: {required:?}");
    }
}

#[test]
fn every_operation_of_dm_is_either_there_or_known_not_to_be_built() {
    let all = 43;
    assert_eq!(lines(OPERATIONS).count() + NOT_BUILT.split_whitespace().count(), all);
    let text = document().to_string();
    for id in NOT_BUILT.split_whitespace() {
        assert!(!text.contains(&format!("\"{id}\"")), "{id} is in the document: move it to the built ones");
    }
}

/// What of DM's required fields must be required here.
#[derive(Clone, Copy, PartialEq)]
enum Required {
    JustThose,
    AtLeastThose,
}

/// Compares the fields of each schema.
fn check_fields(table: &str, required: Required) {
    let document = document();
    let mut faults = Vec::new();
    for line in lines(table) {
        let (name, fields) = line.split_once(": ").unwrap_or_else(|| panic!("{line}"));
        let schema = &document["components"]["schemas"][name];
        let ours: BTreeSet<&str> =
            schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let mut theirs = BTreeSet::new();
        for field in fields.split(' ') {
            let is_required = field.contains('!');
            let (field, letter) = field.split_once(['!', ':']).unwrap_or_else(|| panic!("{name}: {field}"));
            if is_required {
                theirs.insert(field);
            }
            let property = resolved(&document, &schema["properties"][field]);
            let kind = property["type"].as_str().unwrap_or("nothing");
            if !kind.starts_with(letter) {
                faults.push(format!("{name}.{field} is {kind}, and DM has {letter}"));
            }
        }
        if !ours.is_superset(&theirs) || (required == Required::JustThose && ours != theirs) {
            faults.push(format!("{name} requires {ours:?}, and DM {theirs:?}"));
        }
    }
    assert!(faults.is_empty(), "{faults:#?}");
}

#[test]
fn bodies_have_dms_fields_and_require_just_what_dm_requires() {
    check_fields(SENT, Required::JustThose);
}

#[test]
fn answers_have_dms_fields_and_promise_what_dm_promises() {
    check_fields(ANSWERED, Required::AtLeastThose);
}

#[test]
fn enums_have_dms_values() {
    let document = document();
    for line in lines(ENUMS) {
        let (place, values) = line.split_once(": ").unwrap();
        let (schema, field) = place.split_once('.').unwrap();
        let property = resolved(&document, &document["components"]["schemas"][schema]["properties"][field]);
        let ours: BTreeSet<&str> =
            property["enum"].as_array().unwrap_or_else(|| panic!("{line}")).iter().filter_map(Value::as_str).collect();
        let theirs: BTreeSet<&str> = values.split(' ').collect();
        let beyond: Vec<&&str> = ours.difference(&theirs).collect();
        assert!(theirs.is_subset(&ours), "{line}: {ours:?}");
        // The one value beyond DM's: a stage that is not known, which DM answers without having it in its document.
        assert!(beyond.is_empty() || (field == "stage" && beyond == [&""]), "{line}: {ours:?}");
    }
}

#[test]
fn what_is_left_out_has_dms_defaults() {
    let document = document();
    let schemas = &document["components"]["schemas"];
    for (schema, field, default) in [
        ("Source", "enable", json!(false)),
        ("Source", "enable_gtid", json!(false)),
        ("Task", "enhance_online_schema_change", json!(true)),
        ("Task", "strict_optimistic_shard_mode", json!(false)),
        ("TaskIncrMigrateConf", "safe_mode", json!(false)),
        ("StartTaskRequest", "remove_meta", json!(false)),
        ("Purge", "interval", json!(3600)),
        ("Purge", "expires", json!(0)),
        ("Purge", "remain_space", json!(15)),
        ("RelayConfig", "relay_dir", json!("./relay_log")),
        ("TaskFullMigrateConf", "export_threads", json!(4)),
        ("TaskFullMigrateConf", "import_threads", json!(16)),
        ("TaskFullMigrateConf", "range_concurrency", json!(0)),
        ("TaskIncrMigrateConf", "repl_threads", json!(16)),
        ("TaskIncrMigrateConf", "repl_batch", json!(100)),
        // DM's document and code differ in it; this is the code's.
        ("Task", "meta_schema", json!("dm_meta")),
    ] {
        assert_eq!(schemas[schema]["properties"][field]["default"], default, "{schema}.{field}");
    }
    assert_eq!(schemas["TaskTargetSession"]["additionalProperties"], json!(false));
}
