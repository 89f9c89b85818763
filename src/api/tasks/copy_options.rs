//! The options of the copy: honoured, needless, or refused because physical import is not built.

use crate::api::faults::common;
use crate::error::{Fault, codes};
use crate::model::subtask::OnDuplicate;
use crate::model::wire::task_config::{ImportMode, ImportStep, OnDuplicatePhysical};
use crate::model::wire::{TaskFullMigrateConf, TaskIncrMigrateConf};

const THREADS_MAX: u32 = 256;
const BATCH_MAX: u32 = 100_000;
const CONSISTENCIES: &[&str] = &["", "auto", "flush", "snapshot", "lock", "none"];

/// How many sessions read, write and apply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tuning {
    pub export_threads: u32,
    pub import_threads: u32,
    pub replicate_lanes: u32,
    pub replicate_batch: u32,
}

/// Checks all options of copy and replication. 0 means the default, as it does for DM.
pub fn check_options(
    full: Option<&TaskFullMigrateConf>,
    incremental: Option<&TaskIncrMigrateConf>,
    on_duplicate: OnDuplicate,
) -> Result<Tuning, Fault> {
    let (full, incremental) = (full.cloned().unwrap_or_default(), incremental.cloned().unwrap_or_default());
    refuse_physical_import(&full)?;
    if full.on_duplicate_logical.is_some_and(|logical| logical != on_duplicate) {
        return Err(codes::DUPLICATE_RESOLUTION_INVALID
            .fault("on_duplicate_logical says something else than on_duplicate")
            .with_workaround("leave `task.source_config.full_migrate_conf.on_duplicate_logical` out"));
    }
    if let Some(consistency) = full.consistency.as_deref().filter(|word| !CONSISTENCIES.contains(word)) {
        return Err(common(
            format!("consistency {consistency} is not known"),
            "`task.source_config.full_migrate_conf.consistency`: expected `auto`, `flush`, `snapshot`, `lock` or `none`",
        ));
    }
    Ok(Tuning {
        export_threads: within(full.export_threads, 4, THREADS_MAX, "full_migrate_conf.export_threads")?,
        import_threads: within(full.import_threads, 16, THREADS_MAX, "full_migrate_conf.import_threads")?,
        replicate_lanes: within(incremental.repl_threads, 16, THREADS_MAX, "incr_migrate_conf.repl_threads")?,
        replicate_batch: within(incremental.repl_batch, 100, BATCH_MAX, "incr_migrate_conf.repl_batch")?,
    })
}

fn within(number: u32, default: u32, largest: u32, field: &str) -> Result<u32, Fault> {
    match number {
        0 => Ok(default),
        1.. if number <= largest => Ok(number),
        _ => Err(common(
            format!("{field} is {number}, more than {largest}"),
            format!("`task.source_config.{field}`: expected 1 to {largest}"),
        )),
    }
}

/// Options that only physical import has. Those that ask for nothing pass.
fn refuse_physical_import(full: &TaskFullMigrateConf) -> Result<(), Fault> {
    if let Some(mode @ (ImportMode::Physical | ImportMode::ImportInto)) = full.import_mode {
        let word = if mode == ImportMode::Physical { "physical" } else { "import-into" };
        return Err(codes::IMPORT_MODE_INVALID
            .fault(format!("import mode {word} is not built yet"))
            .with_workaround("`task.source_config.full_migrate_conf.import_mode`: leave it out, or `logical`"));
    }
    if full.checksum == Some(ImportStep::Required) {
        return Err(codes::CHECKSUM_INVALID
            .fault("a required checksum belongs to physical import, which is not built yet")
            .with_workaround("`task.source_config.full_migrate_conf.checksum`: leave it out, or `off`"));
    }
    if full.analyze == Some(ImportStep::Required) {
        return Err(codes::ANALYZE_INVALID
            .fault("a required analyze belongs to physical import, which is not built yet")
            .with_workaround("`task.source_config.full_migrate_conf.analyze`: leave it out, or `off`"));
    }
    let is_given = |text: &Option<String>| text.as_deref().is_some_and(|text| !text.is_empty());
    let given = [
        ("sorting_dir", is_given(&full.sorting_dir)),
        ("disk_quota", is_given(&full.disk_quota)),
        ("range_concurrency", full.range_concurrency.is_some_and(|number| number != 0)),
        ("compress-kv-pairs", is_given(&full.compress_kv_pairs)),
        ("pd_addr", is_given(&full.pd_addr)),
        ("security", full.security.is_some()),
        ("on_duplicate_physical", full.on_duplicate_physical == Some(OnDuplicatePhysical::Manual)),
    ];
    match given.iter().find(|(_, is_given)| *is_given) {
        None => Ok(()),
        Some((field, _)) => Err(common(
            format!("{field} belongs to physical import, which is not built yet"),
            format!("leave `task.source_config.full_migrate_conf.{field}` out"),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code_of(full: serde_json::Value) -> Option<u32> {
        let full: TaskFullMigrateConf = serde_json::from_value(full).unwrap();
        check_options(Some(&full), None, OnDuplicate::Error).err().map(|fault| fault.code)
    }

    #[test]
    fn nothing_given_gives_the_defaults_and_so_does_zero() {
        let defaults = Tuning { export_threads: 4, import_threads: 16, replicate_lanes: 16, replicate_batch: 100 };
        assert_eq!(check_options(None, None, OnDuplicate::Error).unwrap(), defaults);
        let zeros = TaskFullMigrateConf { export_threads: 0, import_threads: 0, ..TaskFullMigrateConf::default() };
        assert_eq!(check_options(Some(&zeros), None, OnDuplicate::Error).unwrap(), defaults);
    }

    #[test]
    fn options_of_physical_import_are_refused_by_their_code() {
        for (full, code) in [
            (serde_json::json!({"import_mode": "physical"}), 20053),
            (serde_json::json!({"import_mode": "import-into"}), 20053),
            (serde_json::json!({"checksum": "required"}), 20062),
            (serde_json::json!({"analyze": "required"}), 20063),
            (serde_json::json!({"pd_addr": "127.0.0.1:2379"}), 49001),
            (serde_json::json!({"disk_quota": "80G"}), 49001),
            (serde_json::json!({"compress-kv-pairs": "gzip"}), 49001),
            (serde_json::json!({"range_concurrency": 4}), 49001),
            (serde_json::json!({"on_duplicate_physical": "manual"}), 49001),
            (serde_json::json!({"on_duplicate_logical": "replace"}), 20054),
            (serde_json::json!({"consistency": "maybe"}), 49001),
            (serde_json::json!({"export_threads": 257}), 49001),
        ] {
            assert_eq!(code_of(full.clone()), Some(code), "{full}");
        }
    }

    #[test]
    fn options_that_ask_for_nothing_pass() {
        let full = serde_json::json!({
            "import_mode": "logical", "checksum": "off", "analyze": "optional", "range_concurrency": 0, "pd_addr": "",
            "on_duplicate_physical": "none", "on_duplicate_logical": "error", "consistency": "auto", "data_dir": "./x",
        });
        assert_eq!(code_of(full), None);
    }
}
