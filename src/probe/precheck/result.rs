//! What the precheck found, and the text that is answered.
//!
//! The text's form is DM's, to the blank: clients look into it.

use serde::Serialize;

use super::item::Item;
use crate::error::{Fault, codes};

/// What is answered when nothing was found.
pub const PASSED: &str = "pre-check is passed. ";
const HEADER: &str = "fail to check synchronization configuration with type";
/// Findings told of each severity.
const TOLD_MAX: usize = 10;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    Success,
    Warn,
    Fail,
}

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    pub severity: State,
    #[serde(rename = "short_error")]
    pub error: String,
    /// The object it speaks of.
    #[serde(rename = "self", skip_serializing_if = "String::is_empty")]
    pub object: String,
    /// The object it does not fit to.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub other: String,
    /// What can be done.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub instruction: String,
}

impl Finding {
    fn new(severity: State, error: impl Into<String>, instruction: impl Into<String>) -> Self {
        Self {
            severity,
            error: error.into(),
            object: String::new(),
            other: String::new(),
            instruction: instruction.into(),
        }
    }

    pub fn warning(error: impl Into<String>, instruction: impl Into<String>) -> Self {
        Self::new(State::Warn, error, instruction)
    }

    pub fn failure(error: impl Into<String>, instruction: impl Into<String>) -> Self {
        Self::new(State::Fail, error, instruction)
    }

    /// Names the object that the finding speaks of.
    pub fn about(mut self, object: impl Into<String>) -> Self {
        self.object = object.into();
        self
    }
}

/// One item, checked at one server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checked {
    pub item: Item,
    /// `user@host:port`.
    pub server: String,
    pub findings: Vec<Finding>,
}

impl Checked {
    fn state(&self) -> State {
        self.findings.iter().map(|finding| finding.severity).max().unwrap_or(State::Success)
    }
}

#[derive(Serialize)]
struct Report<'a> {
    results: Vec<ReportedResult<'a>>,
    summary: Summary,
}

#[derive(Serialize)]
struct ReportedResult<'a> {
    id: usize,
    name: &'static str,
    desc: &'static str,
    state: State,
    errors: Vec<&'a Finding>,
    extra: String,
}

#[derive(Serialize)]
struct Summary {
    passed: bool,
    total: usize,
    successful: usize,
    failed: usize,
    warning: usize,
}

/// The text of `check_result`, or the error if something failed.
pub fn conclude(checked: &[Checked]) -> Result<String, Fault> {
    if checked.is_empty() {
        return Ok(String::new());
    }
    let count = |state| checked.iter().filter(|one| one.state() == state).count();
    let summary = Summary {
        passed: count(State::Fail) == 0,
        total: checked.len(),
        successful: count(State::Success),
        failed: count(State::Fail),
        warning: count(State::Warn),
    };
    if summary.successful == summary.total {
        return Ok(PASSED.to_owned());
    }
    let passed = summary.passed;
    let detail = detail(&Report { results: told(checked), summary });
    if passed {
        return Ok(format!("{HEADER}: no errors but some warnings\n detail: {detail}"));
    }
    let instructions: Vec<&str> = checked
        .iter()
        .flat_map(|one| &one.findings)
        .filter(|finding| finding.severity == State::Fail && !finding.instruction.is_empty())
        .map(|finding| finding.instruction.as_str())
        .take(TOLD_MAX)
        .collect();
    Err(codes::PRECHECK_FAILED
        .fault(format!("{HEADER}: check was failed, please see detail\n detail: {detail}"))
        .with_workaround(instructions.join("; ")))
}

/// Items with findings, at most ten findings of each severity in all; the summary counts the rest.
fn told(checked: &[Checked]) -> Vec<ReportedResult<'_>> {
    let mut left = [TOLD_MAX, TOLD_MAX];
    checked
        .iter()
        .enumerate()
        .filter_map(|(id, one)| {
            let errors: Vec<&Finding> = one
                .findings
                .iter()
                .filter(|finding| {
                    let [warnings, failures] = &mut left;
                    let left = if finding.severity == State::Fail { failures } else { warnings };
                    let fits = *left > 0;
                    *left = left.saturating_sub(1);
                    fits
                })
                .collect();
            (!errors.is_empty()).then(|| ReportedResult {
                id,
                name: one.item.name(),
                desc: one.item.description(),
                state: one.state(),
                errors,
                extra: format!("address of db instance - {}", one.server),
            })
        })
        .collect()
}

fn detail(report: &Report<'_>) -> String {
    serde_json::to_string_pretty(report).unwrap_or_else(|error| format!("the detail could not be written: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(item: Item, findings: Vec<Finding>) -> Checked {
        Checked { item, server: "dm@127.0.0.1:3306".to_owned(), findings }
    }

    #[test]
    fn nothing_found_is_answered_with_dms_words_and_nothing_checked_with_none() {
        assert_eq!(conclude(&[checked(Item::Version, Vec::new())]).unwrap(), "pre-check is passed. ");
        assert_eq!(conclude(&[]).unwrap(), "");
    }

    #[test]
    fn warnings_alone_let_the_task_be_made() {
        let text = conclude(&[
            checked(Item::ServerId, Vec::new()),
            checked(
                Item::Version,
                vec![Finding::warning("MySQL 5.6.1 is not known to work", "upgrade").about("5.6.1")],
            ),
        ])
        .unwrap();
        insta::assert_snapshot!(text, @r#"
        fail to check synchronization configuration with type: no errors but some warnings
         detail: {
          "results": [
            {
              "id": 1,
              "name": "version",
              "desc": "the servers' versions are known to work",
              "state": "warn",
              "errors": [
                {
                  "severity": "warn",
                  "short_error": "MySQL 5.6.1 is not known to work",
                  "self": "5.6.1",
                  "instruction": "upgrade"
                }
              ],
              "extra": "address of db instance - dm@127.0.0.1:3306"
            }
          ],
          "summary": {
            "passed": true,
            "total": 2,
            "successful": 1,
            "failed": 0,
            "warning": 1
          }
        }
        "#);
    }

    #[test]
    fn a_failure_is_an_error_that_says_what_to_do() {
        let fault = conclude(&[checked(Item::BinlogEnable, vec![Finding::failure("log_bin is OFF", "set log_bin")])])
            .unwrap_err();
        assert_eq!(fault.code, 26005);
        assert_eq!(fault.workaround.as_deref(), Some("set log_bin"));
        assert!(fault.message.contains("\"failed\": 1"));
    }

    #[test]
    fn at_most_ten_findings_of_a_severity_are_told() {
        let findings = (0..25).map(|n| Finding::failure(format!("f{n}"), "")).collect();
        let fault = conclude(&[checked(Item::Collation, findings)]).unwrap_err();
        assert!(fault.message.contains("\"f9\"") && !fault.message.contains("\"f10\""));
    }
}
