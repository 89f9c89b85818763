//! Which tables of a source belong to a task, and which of their events are left out: a subtask's rules in, answers out.
//!
//! A table belongs to the task if any rule names it; without rules all do. System schemas never do, and neither does a
//! schema that was excluded (the ledger's). Event filters speak of the tables of the rule they stand in, and of no
//! others. (DM attaches each of a source's filters to all of its tables.)
//!
//! Never here: I/O, and names in the target (see [`crate::route`]). Answers are remembered, so asking for every row is
//! cheap. The surprise: statements on a schema itself are judged by the rules that take the schema whole, and only if
//! there are none by those that take single tables of it.

mod event;
mod pattern;

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::RwLock;
use regex::{RegexSet, RegexSetBuilder};

pub use self::event::{EventKind, EventSet};
pub use self::pattern::{Pattern, PatternError};
use crate::model::TableName;
use crate::model::subtask::{EventFilter, MigrateRule};

/// Decisions kept at most; a source with more tables than this has them decided again now and then.
const DECISIONS_MAX: usize = 20_000;

/// Why rules are no filter.
#[derive(Debug, thiserror::Error)]
pub enum FilterError {
    #[error("cannot read the rule for {rule}")]
    Pattern {
        rule: RuleName,
        #[source]
        cause: PatternError,
    },
    #[error("the filter of the rule for {rule} ignores {event:?}, which is not the name of an event")]
    UnknownEvent { rule: RuleName, event: String },
    #[error("cannot read `ignore_sql` in the filter of the rule for {rule}")]
    IgnoreSql {
        rule: RuleName,
        #[source]
        cause: Box<regex::Error>,
    },
}

/// A rule by the patterns its writer gave it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleName {
    schema: String,
    table: String,
}

impl RuleName {
    pub fn of(rule: &MigrateRule) -> Self {
        Self { schema: rule.schema.clone(), table: rule.table.clone() }
    }
}

impl std::fmt::Display for RuleName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.table.as_str() {
            "" => write!(f, "schema {:?}", self.schema),
            table => write!(f, "schema {:?}, table {table:?}", self.schema),
        }
    }
}

/// The patterns of one rule.
#[derive(Debug, Clone)]
pub struct Scope {
    schema: Pattern,
    /// None: the whole schema.
    table: Option<Pattern>,
}

impl Scope {
    pub fn of(rule: &MigrateRule, names_ignore_case: bool) -> Result<Self, PatternError> {
        if rule.schema.is_empty() {
            return Err(PatternError::EmptySchema);
        }
        Ok(Self {
            schema: Pattern::new(&rule.schema, names_ignore_case)?,
            table: match rule.table.as_str() {
                "" => None,
                table => Some(Pattern::new(table, names_ignore_case)?),
            },
        })
    }

    pub fn holds_table(&self, table: &TableName) -> bool {
        self.schema.matches(&table.schema) && self.table.as_ref().is_none_or(|pattern| pattern.matches(&table.table))
    }

    /// Whether the schema, or a part of it, is meant.
    pub fn touches_schema(&self, schema: &str) -> bool {
        self.schema.matches(schema)
    }

    /// Whether no table of a schema it touches is left out. A pattern that matches even the empty name is `*` or an
    /// expression that is as wide.
    pub fn is_whole(&self) -> bool {
        self.table.as_ref().is_none_or(|pattern| pattern.matches(""))
    }

    /// Whether the rule names tables, and so goes before one that names only a schema.
    pub fn names_tables(&self) -> bool {
        self.table.is_some()
    }

    /// A table that both mean, if one is found.
    pub fn common_table(&self, other: &Self) -> Option<TableName> {
        let any = Pattern::new("*", false).ok()?;
        let schema = self.schema.common_name(&other.schema)?;
        let table = self.table.as_ref().unwrap_or(&any).common_name(other.table.as_ref().unwrap_or(&any))?;
        Some(TableName { schema, table })
    }
}

/// What becomes of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Keep,
    /// Left out, by the rule at this place in the subtask's list.
    Ignore {
        rule: usize,
    },
}

/// A subtask's rules, compiled.
#[derive(Debug)]
pub struct Filter {
    rules: Vec<Rule>,
    names_ignore_case: bool,
    excluded: Vec<String>,
    decisions: RwLock<HashMap<TableName, Arc<Decision>>>,
}

#[derive(Debug)]
struct Rule {
    scope: Scope,
    filters: Vec<CompiledEventFilter>,
}

#[derive(Debug)]
struct CompiledEventFilter {
    events: EventSet,
    statements: RegexSet,
}

#[derive(Debug)]
struct Decision {
    kept: bool,
    /// The rules that name the table and have filters.
    filtering: Vec<usize>,
}

impl Filter {
    pub fn new(rules: &[MigrateRule], names_ignore_case: bool) -> Result<Self, FilterError> {
        Ok(Self {
            rules: rules.iter().map(|rule| Rule::new(rule, names_ignore_case)).collect::<Result<_, _>>()?,
            names_ignore_case,
            excluded: Vec::new(),
            decisions: RwLock::default(),
        })
    }

    /// Takes a schema out whatever the rules say: the one that holds the ledger.
    #[must_use]
    pub fn without_schema(mut self, schema: impl Into<String>) -> Self {
        self.excluded.push(schema.into());
        self
    }

    pub fn keeps_table(&self, table: &TableName) -> bool {
        self.decision(table).kept
    }

    /// Whether a table of this schema may belong to the task. Tells that the schema must exist in the target, not
    /// that it may be dropped there: see [`Self::keeps_whole_schema`].
    pub fn keeps_schema(&self, schema: &str) -> bool {
        !self.is_excluded(schema)
            && (self.rules.is_empty() || self.rules.iter().any(|rule| rule.scope.touches_schema(schema)))
    }

    /// Whether all tables that this schema has or will have belong to the task.
    pub fn keeps_whole_schema(&self, schema: &str) -> bool {
        self.keeps_schema(schema)
            && (self.rules.is_empty()
                || self.rules.iter().any(|rule| rule.scope.is_whole() && rule.scope.touches_schema(schema)))
    }

    /// What becomes of an event of a table that is kept. `sql` is the statement's text, where there is one. A DDL on
    /// several parts of a table is asked for each of its kinds.
    pub fn verdict(&self, table: &TableName, kind: EventKind, sql: Option<&str>) -> Verdict {
        self.judge(&self.decision(table).filtering, kind, sql)
    }

    /// What becomes of a statement on a schema itself.
    pub fn schema_verdict(&self, schema: &str, kind: EventKind, sql: Option<&str>) -> Verdict {
        let touching: Vec<_> = self.places_of(|rule| rule.scope.touches_schema(schema)).collect();
        let whole: Vec<_> = self.places_of(|rule| rule.scope.is_whole() && rule.scope.touches_schema(schema)).collect();
        self.judge(if whole.is_empty() { &touching } else { &whole }, kind, sql)
    }

    fn judge(&self, rules: &[usize], kind: EventKind, sql: Option<&str>) -> Verdict {
        let ignoring = rules.iter().find(|place| {
            self.rules.get(**place).is_some_and(|rule| rule.filters.iter().any(|filter| filter.ignores(kind, sql)))
        });
        ignoring.map_or(Verdict::Keep, |rule| Verdict::Ignore { rule: *rule })
    }

    fn places_of(&self, wanted: impl Fn(&Rule) -> bool) -> impl Iterator<Item = usize> {
        self.rules.iter().enumerate().filter(move |(_, rule)| wanted(rule)).map(|(place, _)| place)
    }

    fn decision(&self, table: &TableName) -> Arc<Decision> {
        if let Some(decision) = self.decisions.read().get(table) {
            return Arc::clone(decision);
        }
        let decision = Arc::new(self.decide(table));
        let mut decisions = self.decisions.write();
        if decisions.len() >= DECISIONS_MAX {
            decisions.clear();
        }
        decisions.insert(table.clone(), Arc::clone(&decision));
        decision
    }

    fn decide(&self, table: &TableName) -> Decision {
        let named: Vec<_> = self.places_of(|rule| rule.scope.holds_table(table)).collect();
        Decision {
            kept: !self.is_excluded(&table.schema) && (self.rules.is_empty() || !named.is_empty()),
            filtering: named
                .into_iter()
                .filter(|place| self.rules.get(*place).is_some_and(|rule| !rule.filters.is_empty()))
                .collect(),
        }
    }

    fn is_excluded(&self, schema: &str) -> bool {
        let same = |other: &String| match self.names_ignore_case {
            true => other.to_lowercase() == schema.to_lowercase(),
            false => other == schema,
        };
        is_system_schema(schema, self.names_ignore_case) || self.excluded.iter().any(same)
    }
}

impl Rule {
    fn new(rule: &MigrateRule, names_ignore_case: bool) -> Result<Self, FilterError> {
        Ok(Self {
            scope: Scope::of(rule, names_ignore_case)
                .map_err(|cause| FilterError::Pattern { rule: RuleName::of(rule), cause })?,
            filters: rule
                .filters
                .iter()
                .map(|filter| CompiledEventFilter::new(rule, filter))
                .collect::<Result<_, _>>()?,
        })
    }
}

impl CompiledEventFilter {
    fn new(rule: &MigrateRule, filter: &EventFilter) -> Result<Self, FilterError> {
        Ok(Self {
            events: EventSet::parse(&filter.ignore_event)
                .map_err(|event| FilterError::UnknownEvent { rule: RuleName::of(rule), event: event.to_owned() })?,
            statements: RegexSetBuilder::new(&filter.ignore_sql)
                .case_insensitive(true)
                .build()
                .map_err(|cause| FilterError::IgnoreSql { rule: RuleName::of(rule), cause: Box::new(cause) })?,
        })
    }

    fn ignores(&self, kind: EventKind, sql: Option<&str>) -> bool {
        self.events.contains(kind) || sql.is_some_and(|sql| self.statements.is_match(sql))
    }
}

/// Whether a schema belongs to the server, or to the heartbeat that DM writes, and is never migrated. The views over
/// the server itself have no case anywhere; `mysql` and `sys` are directories like others.
pub fn is_system_schema(schema: &str, names_ignore_case: bool) -> bool {
    const ANY_CASE: [&str; 5] =
        ["information_schema", "performance_schema", "metrics_schema", "inspection_schema", "dm_heartbeat"];
    const AS_OTHERS: [&str; 2] = ["mysql", "sys"];
    ANY_CASE.iter().any(|name| schema.eq_ignore_ascii_case(name))
        || AS_OTHERS.iter().any(|name| match names_ignore_case {
            true => schema.eq_ignore_ascii_case(name),
            false => schema == *name,
        })
}

#[cfg(test)]
mod tests;
