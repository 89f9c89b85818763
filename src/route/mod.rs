//! Under which name a table or schema arrives in the target: a subtask's rules and a source name in, a target name out.
//!
//! A rule that names tables goes before one that names only a schema; a part of the target that a rule leaves out keeps
//! the source's name; what no rule routes keeps its name wholly. Two rules of equal rank that send one table to
//! different places are an error: when the router is built if a table that both name can be shown, else when such a
//! table is met. (DM drops that error and routes the table to itself.)
//!
//! Never here: I/O, memory of what was asked, and whether a table belongs to the task (see [`crate::filter`]).

use std::collections::BTreeSet;

use crate::filter::{PatternError, RuleName, Scope};
use crate::model::TableName;
use crate::model::subtask::MigrateRule;

/// Why rules are no routes, or a name has none.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum RouteError {
    #[error("cannot read the rule for {rule}")]
    Pattern {
        rule: RuleName,
        #[source]
        cause: PatternError,
    },
    #[error(transparent)]
    Contradiction(Box<Contradiction>),
    #[error(
        "the tables of schema {schema:?} go to several schemas, {targets:?}: a statement on the schema has no one target"
    )]
    SeveralSchemas { schema: String, targets: Vec<String> },
}

/// Two rules of equal rank, and a table that they send to different places.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("the rules for {first} and for {second} send {table} to different places, {first_target} and {second_target}")]
pub struct Contradiction {
    pub first: RuleName,
    pub second: RuleName,
    pub table: TableName,
    pub first_target: TableName,
    pub second_target: TableName,
}

/// A subtask's rules as routes.
#[derive(Debug, Clone)]
pub struct Router {
    rules: Vec<Rule>,
}

#[derive(Debug, Clone)]
struct Rule {
    name: RuleName,
    scope: Scope,
    /// None: the source's name. Both None: this rule does not route.
    target_schema: Option<String>,
    target_table: Option<String>,
}

impl Router {
    pub fn new(rules: &[MigrateRule], names_ignore_case: bool) -> Result<Self, RouteError> {
        let rules = rules.iter().map(|rule| Rule::new(rule, names_ignore_case)).collect::<Result<Vec<_>, _>>()?;
        for (place, first) in rules.iter().enumerate() {
            for second in rules.iter().skip(place + 1) {
                if first.routes()
                    && second.routes()
                    && first.rank() == second.rank()
                    && let Some(table) = first.scope.common_table(&second.scope)
                {
                    agree(first, second, &table)?;
                }
            }
        }
        Ok(Self { rules })
    }

    /// Where a table's rows and statements go.
    pub fn route_table(&self, table: &TableName) -> Result<TableName, RouteError> {
        let mut best: Option<&Rule> = None;
        for rule in self.rules.iter().filter(|rule| rule.routes() && rule.scope.holds_table(table)) {
            match best {
                Some(best) if best.rank() == rule.rank() => agree(best, rule, table)?,
                Some(other) if other.rank() > rule.rank() => {}
                _ => best = Some(rule),
            }
        }
        Ok(best.map_or_else(|| table.clone(), |rule| rule.target(table)))
    }

    /// Where a statement on a schema itself goes: to the place that a rule for the schema says, else to the one that
    /// the rules for its tables agree on.
    pub fn route_schema(&self, schema: &str) -> Result<String, RouteError> {
        let touching = || self.rules.iter().filter(|rule| rule.scope.touches_schema(schema));
        let naming_schema = || touching().filter(|rule| !rule.scope.names_tables() && rule.routes());
        let targets: BTreeSet<&str> = if naming_schema().next().is_some() {
            naming_schema().map(|rule| rule.schema_for(schema)).collect()
        } else {
            touching().map(|rule| rule.schema_for(schema)).collect()
        };
        let mut targets = targets.into_iter();
        match (targets.next(), targets.next()) {
            (None, _) => Ok(schema.to_owned()),
            (Some(only), None) => Ok(only.to_owned()),
            (Some(first), Some(second)) => Err(RouteError::SeveralSchemas {
                schema: schema.to_owned(),
                targets: [first, second].into_iter().chain(targets).map(str::to_owned).collect(),
            }),
        }
    }
}

/// An error if two rules send a table to different places.
fn agree(first: &Rule, second: &Rule, table: &TableName) -> Result<(), RouteError> {
    let (first_target, second_target) = (first.target(table), second.target(table));
    if first_target == second_target {
        return Ok(());
    }
    let (first, second, table) = (first.name.clone(), second.name.clone(), table.clone());
    Err(RouteError::Contradiction(Box::new(Contradiction { first, second, table, first_target, second_target })))
}

impl Rule {
    fn new(rule: &MigrateRule, names_ignore_case: bool) -> Result<Self, RouteError> {
        let given = |part: &Option<String>| part.clone().filter(|name| !name.is_empty());
        Ok(Self {
            name: RuleName::of(rule),
            scope: Scope::of(rule, names_ignore_case)
                .map_err(|cause| RouteError::Pattern { rule: RuleName::of(rule), cause })?,
            target_schema: given(&rule.target_schema),
            target_table: given(&rule.target_table),
        })
    }

    fn routes(&self) -> bool {
        self.target_schema.is_some() || self.target_table.is_some()
    }

    /// Higher goes first.
    fn rank(&self) -> u8 {
        u8::from(self.scope.names_tables())
    }

    fn schema_for<'a>(&'a self, schema: &'a str) -> &'a str {
        self.target_schema.as_deref().unwrap_or(schema)
    }

    fn target(&self, table: &TableName) -> TableName {
        TableName::new(self.schema_for(&table.schema), self.target_table.as_deref().unwrap_or(&table.table))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// `schema.table -> schema.table`, where each part may be empty and the target may be left out.
    fn rule(text: &str) -> MigrateRule {
        let (source, target) = text.split_once(" -> ").map_or((text, None), |(source, target)| (source, Some(target)));
        let (schema, table) = source.split_once('.').unwrap();
        let target = target.map(|target| target.split_once('.').unwrap());
        MigrateRule {
            schema: schema.to_owned(),
            table: table.to_owned(),
            target_schema: target.map(|(schema, _)| schema.to_owned()),
            target_table: target.map(|(_, table)| table.to_owned()),
            filters: Vec::new(),
        }
    }

    fn router(rules: &[&str]) -> Result<Router, RouteError> {
        Router::new(&rules.iter().map(|text| rule(text)).collect::<Vec<_>>(), false)
    }

    fn routed(rules: &[&str], name: &str) -> String {
        let (schema, table) = name.split_once('.').unwrap();
        let target = router(rules).and_then(|router| router.route_table(&TableName::new(schema, table)));
        target.map_or_else(|error| error.to_string(), |target| format!("{}.{}", target.schema, target.table))
    }

    fn routed_schema(rules: &[&str], schema: &str) -> String {
        router(rules).and_then(|router| router.route_schema(schema)).unwrap_or_else(|error| error.to_string())
    }

    #[test]
    fn a_table_goes_where_its_rule_says() {
        for (rules, name, expected) in [
            (&[][..], "shop.orders", "shop.orders"),
            (&["shop."], "shop.orders", "shop.orders"),
            (&["shop. -> ."], "shop.orders", "shop.orders"),
            (&["shop. -> store."], "shop.orders", "store.orders"),
            (&["shop.orders -> .sales"], "shop.orders", "shop.sales"),
            (&["shop.orders -> store.sales"], "shop.orders", "store.sales"),
            (&["shop.orders -> store.sales"], "shop.items", "shop.items"),
            (&["d.a_b -> .moved"], "d.axb", "d.axb"),
            (&["shop_?.t_* -> all.t"], "shop_1.t_9", "all.t"),
            (&["~^shop.~^o -> x."], "shop2.orders", "x.orders"),
        ] {
            assert_eq!(routed(rules, name), expected, "{name} by {rules:?}");
        }
    }

    #[test]
    fn a_rule_for_tables_goes_before_one_for_the_schema_in_either_order() {
        for rules in [["shop. -> store.", "shop.o* -> x."], ["shop.o* -> x.", "shop. -> store."]] {
            assert_eq!(routed(&rules, "shop.orders"), "x.orders");
            assert_eq!(routed(&rules, "shop.items"), "store.items");
        }
    }

    #[test]
    fn a_rule_without_a_target_only_selects() {
        assert_eq!(routed(&["shop. -> store.", "shop.orders"], "shop.orders"), "store.orders");
    }

    #[test]
    fn rules_that_contradict_each_other_are_refused_when_built() {
        for (rules, table) in [
            (["shop.orders -> a.", "shop.orders -> b."], "`shop`.`orders`"),
            (["shop.orders -> a.", "shop.order? -> b."], "`shop`.`orders`"),
            (["*.a* -> a.", "s.?b -> b."], "`s`.`ab`"),
            (["shop. -> a.", "sh*. -> b."], "`shop`.`a`"),
            (["~^shop.orders -> a.", "shop.~^o -> b."], "`shop`.`orders`"),
            (["shop.orders -> .a", "shop.* -> x."], "`shop`.`orders`"),
        ] {
            match router(&rules) {
                Err(RouteError::Contradiction(shown)) => assert_eq!(shown.table.to_string(), table),
                other => panic!("{rules:?} gave {other:?}"),
            }
        }
    }

    #[test]
    fn rules_that_agree_may_overlap() {
        assert_eq!(routed(&["shop.orders -> a.", "shop.o* -> a."], "shop.orders"), "a.orders");
        assert_eq!(routed(&["shop.orders -> a.orders", "shop.* -> a."], "shop.orders"), "a.orders");
    }

    #[test]
    fn a_contradiction_that_only_a_table_shows_is_an_error_then() {
        let rules = ["shop.~s$ -> a.", "shop.~^o -> b."];
        assert_eq!(routed(&rules, "shop.items"), "a.items");
        assert_eq!(
            routed(&rules, "shop.orders"),
            "the rules for schema \"shop\", table \"~s$\" and for schema \"shop\", table \"~^o\" send `shop`.`orders` \
             to different places, `a`.`orders` and `b`.`orders`"
        );
    }

    #[test]
    fn a_schema_goes_where_its_own_rule_or_all_of_its_tables_go() {
        for (rules, expected) in [
            (&[][..], "shop"),
            (&["shop. -> store."], "store"),
            (&["shop. -> store.", "shop.orders -> x."], "store"),
            (&["shop.* -> store."], "store"),
            (&["shop.orders -> store.", "shop.items -> store."], "store"),
            (&["shop.orders -> .sales"], "shop"),
            (&["crm. -> store."], "shop"),
        ] {
            assert_eq!(routed_schema(rules, "shop"), expected, "by {rules:?}");
        }
        for rules in [["shop.orders -> a.", "shop.items -> b."], ["shop.orders -> a.", "shop.items"]] {
            assert!(routed_schema(&rules, "shop").starts_with("the tables of schema \"shop\" go to several schemas"));
        }
    }

    #[test]
    fn case_is_ignored_where_the_source_ignores_it() {
        let router = Router::new(&[rule("Shop.Orders -> Store.")], true).unwrap();
        assert_eq!(router.route_table(&TableName::new("shop", "ORDERS")), Ok(TableName::new("Store", "ORDERS")));
    }

    #[test]
    fn a_broken_pattern_is_refused() {
        assert_eq!(
            router(&["s.a*b -> x."]).unwrap_err().to_string(),
            "cannot read the rule for schema \"s\", table \"a*b\""
        );
    }

    proptest! {
        /// What building lets pass for patterns without expressions never contradicts itself later.
        #[test]
        fn wildcards_that_were_accepted_never_contradict(
            rules in proptest::collection::vec("[ab?]{1,2}\\.[ab?]{0,2}\\*? -> [xy]?\\.", 1..5),
            name in "[ab]{1,2}\\.[ab]{1,3}"
        ) {
            let texts: Vec<_> = rules.iter().map(String::as_str).collect();
            if let Ok(router) = router(&texts) {
                let (schema, table) = name.split_once('.').unwrap();
                prop_assert!(router.route_table(&TableName::new(schema, table)).is_ok());
            }
        }
    }
}
