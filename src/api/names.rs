//! Which names sources and tasks may have.

use super::faults::common;
use crate::error::{Fault, codes};
use crate::model::{SourceName, TaskName};

const SOURCE_NAME_BYTES_MAX: usize = 32;
const TASK_NAME_BYTES_MAX: usize = 128;
/// Paths of their own under `/api/v1/tasks/`.
const RESERVED_TASK_NAMES: &[&str] = &["templates", "converters"];

/// 1 to 32 bytes.
pub fn source_name(name: &str) -> Result<SourceName, Fault> {
    let way_out = || format!("`source.source_name`: expected 1 to {SOURCE_NAME_BYTES_MAX} bytes");
    if name.is_empty() {
        return Err(codes::SOURCE_NAME_EMPTY.fault("the source's name is empty").with_workaround(way_out()));
    }
    if name.len() > SOURCE_NAME_BYTES_MAX {
        return Err(codes::SOURCE_NAME_TOO_LONG
            .fault(format!("the length of source ID {name} is more than max allowed value {SOURCE_NAME_BYTES_MAX}"))
            .with_workaround(way_out()));
    }
    check_characters(name, "source.source_name")?;
    Ok(SourceName::new(name))
}

/// 1 to 128 bytes, and no word that the paths of the API need.
pub fn task_name(name: &str) -> Result<TaskName, Fault> {
    let way_out = || format!("`task.name`: expected 1 to {TASK_NAME_BYTES_MAX} bytes");
    if name.is_empty() {
        return Err(codes::TASK_NAME_EMPTY.fault("the task's name is empty").with_workaround(way_out()));
    }
    if name.len() > TASK_NAME_BYTES_MAX {
        return Err(common(
            format!("the task's name has {} bytes, more than the {TASK_NAME_BYTES_MAX} allowed", name.len()),
            way_out(),
        ));
    }
    if RESERVED_TASK_NAMES.contains(&name) {
        return Err(common(
            format!("no task can be named {name}: the API has a path of that name"),
            "`task.name`: expected another name",
        ));
    }
    check_characters(name, "task.name")?;
    Ok(TaskName::new(name))
}

/// Anything that can stand in a path, percent-encoded, and in a line of a log.
fn check_characters(name: &str, field: &str) -> Result<(), Fault> {
    if name.chars().any(char::is_control) || matches!(name, "." | "..") {
        return Err(common(
            format!("the name {name:?} cannot stand in a path"),
            format!("`{field}`: expected a name without control characters, and other than `.` and `..`"),
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_limited_by_bytes() {
        assert_eq!(source_name("").unwrap_err().code, 40005);
        assert!(source_name(&"s".repeat(32)).is_ok());
        assert_eq!(source_name(&"s".repeat(33)).unwrap_err().code, 40006);
        assert_eq!(source_name(&"é".repeat(17)).unwrap_err().code, 40006);
        assert_eq!(task_name("").unwrap_err().code, 20004);
        assert!(task_name(&"t".repeat(128)).is_ok());
        assert_eq!(task_name(&"t".repeat(129)).unwrap_err().code, 49001);
    }

    #[test]
    fn odd_names_are_allowed_and_reserved_ones_are_not() {
        for name in ["t-Ë!s`t", "a b/c", "任务", "%2F"] {
            assert!(task_name(name).is_ok(), "{name}");
        }
        for name in ["templates", "converters", ".", "..", "a\nb", "\0"] {
            assert_eq!(task_name(name).unwrap_err().code, 49001, "{name:?}");
        }
    }
}
