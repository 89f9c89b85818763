//! Every stored shape of every release must load for ever. A new version adds a file; none is ever edited.

use std::path::PathBuf;

use secrecy::ExposeSecret as _;
use uuid::Uuid;

use super::*;
use crate::model::Flavor;
use crate::model::record::{Conclusion, SubtaskSettings};
use crate::model::subtask::{OnDuplicate, StartAt, TaskMode};
use crate::secrets::Sealer;

fn directory() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/stored"))
}

fn sample<T: DeserializeOwned>(file: &str) -> T {
    let text = std::fs::read_to_string(directory().join(file)).unwrap();
    load(Object::ClusterFact, file, &text).unwrap()
}

/// The key the samples were sealed with, copied to where its permissions can be set.
fn sealer() -> Sealer {
    use std::os::unix::fs::PermissionsExt as _;
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join(crate::secrets::KEY_FILE);
    std::fs::copy(directory().join("sample.key"), &file).unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    Sealer::open_or_create(place.path()).unwrap()
}

#[test]
fn source_version_1_loads() {
    let content = sample::<StoredSource>("source.v1.json").open("mysql-1", &sealer()).unwrap();
    assert_eq!(content.endpoint.to_string(), "repl@src.example:3306");
    assert_eq!(content.endpoint.password.expose_secret(), "sample password");
    assert_eq!(content.endpoint.tls.unwrap().key.expose_secret(), "sample key");
    assert!(content.enable_gtid && content.server.names_ignore_case);
    assert_eq!(content.server.flavor, Flavor::MariaDb);
    assert_eq!(content.document["source_name"], "mysql-1");
}

#[test]
fn task_version_1_loads() {
    let content = sample::<StoredTask>("task.v1.json").open("orders", &sealer()).unwrap();
    assert_eq!(content.target.password.expose_secret(), "sample password");
    assert_eq!(content.settings.mode, TaskMode::All);
    assert_eq!(content.settings.on_duplicate, OnDuplicate::Error);
    assert_eq!(content.settings.collation_map["utf8mb4_0900_ai_ci"], "utf8mb4_uca1400_ai_ci");
}

#[test]
fn subtask_version_1_loads() {
    let settings = SubtaskSettings::from(sample::<StoredSubtask>("subtask.v1.json"));
    assert!(matches!(settings.start, Some(StartAt::Position { .. })));
    assert!(matches!(settings.restart.unwrap().at, StartAt::Time { at_us: 1_700_000_000_000_000 }));
    assert_eq!(settings.rules[0].filters[0].ignore_event, ["drop table"]);
    let smallest: StoredSubtask = load(Object::Subtask, "t", r#"{"version":"1","rules":[]}"#).unwrap();
    assert_eq!(SubtaskSettings::from(smallest), SubtaskSettings::default());
}

#[test]
fn conclusion_version_1_loads() {
    let conclusion = Conclusion::from(sample::<StoredConclusion>("conclusion.v1.json"));
    assert_eq!((conclusion.generation().0, conclusion.ended_us, conclusion.worked), (7, 6, false));
    assert_eq!(conclusion.report.error.unwrap().fault.code, 10001);
    assert_eq!(conclusion.report.sync.unwrap().applied_rows, 12);
}

#[test]
fn cleanup_version_1_loads() {
    let id = Uuid::parse_str("0199c5a0-0000-7000-8000-000000000001").unwrap();
    let content = sample::<StoredCleanup>("cleanup.v1.json").open(id, &sealer()).unwrap();
    assert_eq!(content.meta_schema, "dm_meta");
    assert_eq!(content.ledgers[0].generation.0, 3);
    assert_eq!(content.target.password.expose_secret(), "sample password");
}

#[test]
fn an_unknown_version_is_named_and_not_guessed_at() {
    let error = load::<StoredTask>(Object::Task, "orders", r#"{"version":"99"}"#).unwrap_err();
    assert_eq!(error.to_string(), "the stored task orders cannot be understood");
}
