//! What to do with a statement of the source. Pure.
//!
//! A statement may name several tables, and each is judged by itself: whether the task has it, whether a filter leaves
//! the statement out, whether its rows stand after the statement already. The catalogue follows everything that
//! happens to tables of the task, also what is not sent to the target.

use std::collections::BTreeSet;

use super::judge::Judge;
use crate::binlog::QueryEvent;
use crate::catalogue::{Catalogue, Settings};
use crate::ddl::{Meaning, Named, Parsed, may_name};
use crate::filter::{EventKind, Filter, Verdict};
use crate::ledger::StructureChange;
use crate::model::TableName;
use crate::replicate::sides::Sides;
use crate::route::Router;

/// The rules and servers a statement is judged under.
pub struct Rules<'a> {
    pub filter: &'a Filter,
    pub router: &'a Router,
    pub sides: &'a Sides,
    /// Whether a table's rows stand after the statement already.
    pub stands_after: &'a (dyn Fn(&TableName) -> bool + Sync),
    /// The same for databases and for tables nobody has copied.
    pub others_stand_after: bool,
}

/// What becomes of a statement.
#[derive(Debug, PartialEq, Eq)]
pub enum Decision {
    /// Nothing is sent. `notice`: what an operator would want to know of it.
    PassOver { notice: Option<String>, structures: Vec<StructureChange> },
    /// To be sent; `touched` are the target tables whose fingerprints tell whether it ran.
    Apply { statement: String, touched: Vec<TableName>, repeatable: bool, structures: Vec<StructureChange> },
}

/// Why a statement stops the task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stop {
    pub why: String,
    /// What an operator can do about it is another thing than with other statements: name a collation.
    pub is_collation: bool,
}

pub(super) fn stop(why: impl Into<String>) -> Stop {
    Stop { why: why.into(), is_collation: false }
}

impl Decision {
    pub(super) fn nothing() -> Self {
        Self::PassOver { notice: None, structures: Vec::new() }
    }
}

/// Decides, and advances the catalogue. After a [`Stop`] the catalogue is as it was.
pub fn decide(
    parsed: &Parsed,
    query: &QueryEvent,
    settings: &Settings,
    catalogue: &mut Catalogue,
    rules: &Rules<'_>,
) -> Result<Decision, Stop> {
    match &parsed.meaning {
        Meaning::Understood(statement) => {
            let judge = Judge { parsed, settings, rules };
            let before = catalogue.clone();
            let outcome = judge.understood(statement, catalogue);
            if outcome.is_err() {
                *catalogue = before;
            }
            outcome
        }
        Meaning::Named(named) => named_only(named, &parsed.text, query, catalogue, rules),
        Meaning::NotUnderstood(reason) => not_understood(&parsed.text, &reason.reason, query, catalogue, rules),
    }
}

/// The databases of the task that a statement may be about which is not taken apart: the one it ran in, and those it
/// names. None: it is of others. Errs on the side of too many.
fn databases_of<'a>(
    text: &str,
    query: &'a QueryEvent,
    catalogue: &'a Catalogue,
    rules: &Rules<'_>,
) -> BTreeSet<&'a str> {
    let known = catalogue.databases().map(|(database, _)| database);
    let mut databases: BTreeSet<&str> = known
        .chain(catalogue.tables().map(|(table, _)| table.schema.as_str()))
        .filter(|database| rules.filter.keeps_schema(database) && may_name(text, database))
        .collect();
    if query.schema.is_empty() || rules.filter.keeps_schema(&query.schema) {
        databases.insert(&query.schema);
    }
    databases
}

/// Passes a statement over that is of others, or that the task leaves out by its text or kind.
fn passed_over(text: &str, kind: EventKind, databases: &BTreeSet<&str>, rules: &Rules<'_>) -> Option<Decision> {
    if databases.is_empty() {
        return Some(Decision::nothing());
    }
    let left_out = databases
        .iter()
        .all(|database| matches!(rules.filter.schema_verdict(database, kind, Some(text)), Verdict::Ignore { .. }));
    left_out.then(|| Decision::PassOver {
        notice: Some(format!("left out by a filter: {}", cut(text))),
        structures: Vec::new(),
    })
}

/// A statement that no rule of the parser fits: it may be passed over only if the task leaves it out by its text, or
/// has nothing to do with its database.
fn not_understood(
    text: &str,
    reason: &str,
    query: &QueryEvent,
    catalogue: &Catalogue,
    rules: &Rules<'_>,
) -> Result<Decision, Stop> {
    let databases = databases_of(text, query, catalogue, rules);
    if let Some(decision) = passed_over(text, EventKind::AlterTable, &databases, rules) {
        return Ok(decision);
    }
    Err(stop(format!("it is not understood ({reason})")))
}

/// Statements of which only the objects' names are known.
fn named_only(
    named: &Named,
    text: &str,
    query: &QueryEvent,
    catalogue: &Catalogue,
    rules: &Rules<'_>,
) -> Result<Decision, Stop> {
    let keeps = |table: &crate::ddl::TableRef| rules.filter.keeps_table(&table.table);
    let carried_later = |what: &str| Decision::PassOver {
        notice: Some(format!("{what} is not carried to the target")),
        structures: Vec::new(),
    };
    Ok(match named {
        Named::Maintenance { .. } | Named::Session { .. } | Named::TemporaryTables { .. } => Decision::nothing(),
        Named::Account { .. } | Named::ServerObject { .. } | Named::LoadableFunction { .. } => Decision::nothing(),
        Named::View { views, .. } if views.iter().any(keeps) => carried_later("a view"),
        Named::Trigger { table: Some(table), .. } if keeps(table) => carried_later("a trigger"),
        Named::Routine { routine, .. } if rules.filter.keeps_schema(&routine.table.schema) => {
            carried_later("a stored routine")
        }
        Named::Event { event, .. } if rules.filter.keeps_schema(&event.table.schema) => carried_later("an event"),
        Named::Sequence { sequences, .. } if sequences.iter().any(keeps) => carried_later("a sequence"),
        Named::View { .. }
        | Named::Trigger { .. }
        | Named::Routine { .. }
        | Named::Event { .. }
        | Named::Sequence { .. }
        | Named::Transaction(_) => Decision::nothing(),
        Named::Rows { command } => {
            // A change of rows that was logged as a statement: its effect here could be another.
            let kind = match command.as_str() {
                "UPDATE" => EventKind::Update,
                "DELETE" => EventKind::Delete,
                _ => EventKind::Insert,
            };
            if let Some(decision) = passed_over(text, kind, &databases_of(text, query, catalogue, rules), rules) {
                return Ok(decision);
            }
            return Err(stop(format!(
                "a session of the source logged a {command} as a statement (binlog_format was not ROW)"
            )));
        }
    })
}

/// A statement for a message: its beginning. Statements may hold literals, so not the whole.
pub(super) fn cut(text: &str) -> String {
    let shown: String = text.chars().take(120).collect();
    if shown.len() < text.len() { format!("{shown}…") } else { shown }
}
