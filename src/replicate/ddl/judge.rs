//! A statement that is understood, judged table by table: what of it is sent, under which names, and what the catalogue
//! keeps of it. Pure.

use std::collections::BTreeSet;

use super::decide::{Decision, Rules, Stop, cut, stop};
use crate::catalogue::{Applied, Catalogue, Settings, StoredDatabase, StoredShape, shape_changes};
use crate::ddl::edit::{DefaultCharset, Rewrite};
use crate::ddl::{AlterSpec, Hazard, Parsed, PartitionAction, Statement, TableRole, event_kinds, hazards};
use crate::filter::{EventKind, Verdict};
use crate::ledger::StructureChange;
use crate::model::TableName;
use crate::mysql::identifier;

pub(super) struct Judge<'a> {
    pub parsed: &'a Parsed,
    pub settings: &'a Settings,
    pub rules: &'a Rules<'a>,
}

impl Judge<'_> {
    pub fn understood(&self, statement: &Statement, catalogue: &mut Catalogue) -> Result<Decision, Stop> {
        match statement {
            Statement::CreateDatabase(create) => {
                self.database(&create.name.value, EventKind::CreateDatabase, catalogue)
            }
            Statement::AlterDatabase(alter) => self.database(&alter.name, EventKind::AlterDatabase, catalogue),
            Statement::DropDatabase(drop) => self.drop_database(&drop.name.value, catalogue),
            Statement::DropTable(drop) => {
                let tables: Vec<TableName> = drop.tables.iter().map(|table| table.table.clone()).collect();
                self.drop_tables(&tables, catalogue)
            }
            Statement::RenameTable(rename) => {
                let pairs = rename.pairs.iter().map(|(from, to)| (from.table.clone(), to.table.clone())).collect();
                self.rename_tables(pairs, catalogue)
            }
            Statement::AlterTable(alter) => {
                let renamed = alter.items.iter().find_map(|item| match &item.spec {
                    AlterSpec::Rename(to) => Some(to.table.clone()),
                    _ => None,
                });
                match renamed {
                    Some(to) if alter.items.len() == 1 => {
                        self.rename_tables(vec![(alter.table.table.clone(), to)], catalogue)
                    }
                    Some(to) if self.keeps(&alter.table.table) != self.keeps(&to) => {
                        Err(stop("it changes a table and renames it into or out of the task"))
                    }
                    _ => self.one_table(&alter.table.table, statement, catalogue),
                }
            }
            Statement::CreateTable(create) => self.one_table(&create.table.table, statement, catalogue),
            Statement::CreateTableLike(create) => self.one_table(&create.table.table, statement, catalogue),
            Statement::TruncateTable(table) => self.one_table(&table.table, statement, catalogue),
            Statement::CreateIndex(create) => self.one_table(&create.table.table, statement, catalogue),
            Statement::DropIndex(drop) => self.one_table(&drop.table.table, statement, catalogue),
        }
    }

    fn keeps(&self, table: &TableName) -> bool {
        self.rules.filter.keeps_table(table)
    }

    fn route(&self, table: &TableName) -> Result<TableName, Stop> {
        self.rules.router.route_table(table).map_err(|error| stop(error.to_string()))
    }

    /// What takes a table away, or its rows, would do so to all that are routed to its place at the target. `going`
    /// are the tables that go with it.
    fn check_alone(&self, table: &TableName, catalogue: &Catalogue, going: &[TableName]) -> Result<(), Stop> {
        let target = self.route(table)?;
        let mut others = catalogue.tables().map(|(name, _)| name).filter(|name| *name != table && self.keeps(name));
        match others.find(|other| !going.contains(other) && self.route(other).is_ok_and(|theirs| theirs == target)) {
            None => Ok(()),
            Some(other) => Err(stop(format!("{other} goes to the same table {target} of the target as {table}"))),
        }
    }

    fn follow(&self, catalogue: &mut Catalogue) -> Result<Applied, Stop> {
        catalogue.apply(self.parsed, self.settings).map_err(|error| stop(error.to_string()))
    }

    /// A statement on one table (which may name others).
    fn one_table(&self, table: &TableName, statement: &Statement, catalogue: &mut Catalogue) -> Result<Decision, Stop> {
        if !self.keeps(table) {
            return Ok(Decision::nothing());
        }
        if (self.rules.stands_after)(table) {
            return Ok(Decision::nothing());
        }
        for other in &self.parsed.uses.tables {
            let needed = matches!(other.role, TableRole::Like | TableRole::Partition | TableRole::Subject);
            if needed && !self.keeps(&other.table) {
                return Err(stop(format!("it needs {}, which is not in this task", other.table)));
            }
        }
        let before = catalogue.table(table).cloned();
        let applied = self.follow(catalogue)?;
        if applied.unknown.iter().any(|unknown| self.keeps(unknown)) && !applied.idle {
            return Err(stop(format!("it changes {table}, whose structure at this position is not known")));
        }
        let structures = structures(&applied, catalogue)?;
        if applied.idle {
            return Ok(Decision::PassOver { notice: None, structures });
        }
        let mut kinds: Vec<EventKind> =
            event_kinds(statement).into_iter().filter_map(|kind| filter_kind(kind.as_str())).collect();
        if let (Some(before), Some(after)) = (&before, catalogue.table(table)) {
            kinds.extend(shape_changes(before, after).into_iter().filter_map(|kind| filter_kind(kind.as_str())));
        }
        if self.is_left_out(table, &kinds) {
            let notice = format!("left out by a filter: {}", cut(&self.parsed.text));
            return Ok(Decision::PassOver { notice: Some(notice), structures });
        }
        self.check_hazards(statement, before.as_deref())?;
        for name in applied.created.iter().chain(&applied.changed).chain(applied.renamed.iter().map(|(_, to)| to)) {
            if let Some(shape) = catalogue.table(name) {
                let unknown =
                    |error: crate::replicate::error::Error| Stop { why: error.to_string(), is_collation: true };
                self.rules.sides.check_collations(name, shape).map_err(unknown)?;
            }
        }
        let touched = self.touched()?;
        let repeatable = matches!(statement, Statement::TruncateTable(_));
        if takes_away(statement) {
            self.check_alone(table, catalogue, &[])?;
        }
        let statement = self.rewritten(table, &applied, catalogue)?;
        Ok(match statement {
            Some(statement) => Decision::Apply { statement, touched, repeatable, structures },
            None => Decision::PassOver { notice: None, structures },
        })
    }

    fn is_left_out(&self, table: &TableName, kinds: &[EventKind]) -> bool {
        let text = Some(self.parsed.text.as_str());
        kinds.iter().any(|kind| matches!(self.rules.filter.verdict(table, *kind, text), Verdict::Ignore { .. }))
    }

    fn check_hazards(&self, statement: &Statement, before: Option<&crate::catalogue::TableShape>) -> Result<(), Stop> {
        for hazard in hazards(statement) {
            match hazard {
                Hazard::ColumnDefault { column, function } => {
                    return Err(stop(format!(
                        "the default of the new column {} calls {function}, which gives other values at the target",
                        identifier(&column)
                    )));
                }
                Hazard::AutoIncrement { column, new_column } => {
                    let has_key = before.is_some_and(|shape| shape.primary_key().is_some());
                    if !(has_key && new_column) {
                        return Err(stop(format!(
                            "it numbers the rows of a table without a primary key ({}), in an order that the target \
                             does not have to follow",
                            identifier(&column)
                        )));
                    }
                }
                Hazard::RowsIgnored => {
                    return Err(stop("ALTER IGNORE drops rows, and which ones depends on the order of reading"));
                }
                // The target's table was made by the same statements, so its partitions are the same.
                Hazard::PartitionRows => {}
            }
        }
        Ok(())
    }

    /// The target tables whose fingerprints tell whether the statement ran.
    fn touched(&self) -> Result<Vec<TableName>, Stop> {
        let subjects = self
            .parsed
            .uses
            .tables
            .iter()
            .filter(|named| matches!(named.role, TableRole::Subject | TableRole::Partition))
            .map(|named| self.route(&named.table))
            .collect::<Result<BTreeSet<_>, _>>()?;
        Ok(subjects.into_iter().collect())
    }

    /// The statement's text for the target; None when no item of it did anything at the source.
    fn rewritten(&self, table: &TableName, applied: &Applied, catalogue: &Catalogue) -> Result<Option<String>, Stop> {
        let mut routed = Vec::new();
        for named in &self.parsed.uses.tables {
            routed.push((named.table.clone(), self.route(&named.table)?));
        }
        let sides = self.rules.sides;
        let mut rewrite = Rewrite::new(self.parsed);
        rewrite.route(
            |name| routed.iter().find(|(from, _)| from == name).map_or_else(|| name.clone(), |(_, to)| to.clone()),
            |schema| self.rules.router.route_schema(schema).unwrap_or_else(|_| schema.to_owned()),
        );
        let unsaid = catalogue.database(&table.schema).map(|collation| DefaultCharset {
            charset: collation.charset().to_owned(),
            collation: collation.as_str().to_owned(),
        });
        sides.map_collations(&mut rewrite, unsaid);
        if !applied.idle_items.is_empty() && !rewrite.cut_items(|index| applied.idle_items.contains(&index)) {
            return Ok(None);
        }
        rewrite.cut_select();
        rewrite.fit_to(sides.target.flavor, sides.target.version);
        Ok(Some(rewrite.finish()))
    }

    fn database(&self, name: &str, kind: EventKind, catalogue: &mut Catalogue) -> Result<Decision, Stop> {
        let rules = self.rules;
        let concerned = match kind {
            EventKind::CreateDatabase => rules.filter.keeps_schema(name),
            _ => rules.filter.keeps_whole_schema(name),
        };
        if !concerned {
            return Ok(Decision::nothing());
        }
        if kind == EventKind::AlterDatabase && catalogue.database(name).is_none() {
            return Err(stop(format!("it changes the database {}, which is not known here", identifier(name))));
        }
        let applied = self.follow(catalogue)?;
        let structures = vec![database_structure(name, catalogue)?];
        let left_out =
            matches!(rules.filter.schema_verdict(name, kind, Some(&self.parsed.text)), Verdict::Ignore { .. });
        if left_out || rules.others_stand_after || applied.idle {
            return Ok(Decision::PassOver { notice: None, structures });
        }
        let mut rewrite = Rewrite::new(self.parsed);
        let target = rules.router.route_schema(name).map_err(|error| stop(error.to_string()))?;
        rewrite.route(TableName::clone, |_| target.clone());
        let server = &self.settings.server_collation;
        let unsaid = (kind == EventKind::CreateDatabase)
            .then(|| DefaultCharset { charset: server.charset().to_owned(), collation: server.as_str().to_owned() });
        rules.sides.map_collations(&mut rewrite, unsaid);
        rewrite.ensure_if_not_exists();
        rewrite.fit_to(rules.sides.target.flavor, rules.sides.target.version);
        Ok(Decision::Apply { statement: rewrite.finish(), touched: Vec::new(), repeatable: true, structures })
    }

    /// A dropped database takes its tables with it. The target's database goes as a whole only if all of it is this
    /// source database's.
    fn drop_database(&self, name: &str, catalogue: &mut Catalogue) -> Result<Decision, Stop> {
        let rules = self.rules;
        if !rules.filter.keeps_schema(name) {
            return Ok(Decision::nothing());
        }
        let tables: Vec<TableName> =
            catalogue.tables().filter(|(table, _)| table.schema == name).map(|(table, _)| table.clone()).collect();
        let left_out = matches!(
            rules.filter.schema_verdict(name, EventKind::DropDatabase, Some(&self.parsed.text)),
            Verdict::Ignore { .. }
        );
        let target = rules.router.route_schema(name).map_err(|error| stop(error.to_string()))?;
        let shared = catalogue
            .databases()
            .any(|(other, _)| other != name && rules.router.route_schema(other).is_ok_and(|routed| routed == target));
        let leaving: Vec<TableName> = tables.iter().filter(|table| !(rules.stands_after)(table)).cloned().collect();
        let mut going: Vec<TableName> = Vec::new();
        for table in &leaving {
            if !left_out {
                self.check_alone(table, catalogue, &leaving)?;
            }
            going.push(self.route(table)?);
        }
        let whole = rules.filter.keeps_whole_schema(name)
            && !shared
            && !rules.others_stand_after
            && going.iter().all(|table| table.schema == target);
        self.follow(catalogue)?;
        let mut structures: Vec<StructureChange> =
            tables.into_iter().map(|name| StructureChange { name, structure: None }).collect();
        structures.push(StructureChange { name: TableName::new(name, ""), structure: None });
        if left_out {
            let notice = Some(format!("left out by a filter: {}", cut(&self.parsed.text)));
            return Ok(Decision::PassOver { notice, structures });
        }
        if whole {
            let statement = format!("DROP DATABASE IF EXISTS {}", identifier(&target));
            return Ok(Decision::Apply { statement, touched: Vec::new(), repeatable: true, structures });
        }
        Ok(self.drop_statement(&going, structures))
    }

    fn drop_statement(&self, targets: &[TableName], structures: Vec<StructureChange>) -> Decision {
        if targets.is_empty() {
            return Decision::PassOver { notice: None, structures };
        }
        // Several tables of the source may be one at the target.
        let names: BTreeSet<String> = targets.iter().map(TableName::to_string).collect();
        let names: Vec<String> = names.into_iter().collect();
        // Nothing but names is in a DROP; repeated, it finds nothing and says so in a note.
        let statement = format!("DROP TABLE IF EXISTS {}", names.join(", "));
        Decision::Apply { statement, touched: targets.to_vec(), repeatable: true, structures }
    }

    fn drop_tables(&self, tables: &[TableName], catalogue: &mut Catalogue) -> Result<Decision, Stop> {
        let kept: Vec<&TableName> = tables.iter().filter(|table| self.keeps(table)).collect();
        if kept.is_empty() {
            return Ok(Decision::nothing());
        }
        let mut structures = Vec::new();
        let mut going = Vec::new();
        let mut left_out = false;
        let is_there = |table: &TableName, catalogue: &Catalogue| {
            !(self.rules.stands_after)(table) && catalogue.table(table).is_some()
        };
        let leaving: Vec<TableName> = kept
            .iter()
            .filter(|table| is_there(table, catalogue) && !self.is_left_out(table, &[EventKind::DropTable]))
            .map(|table| (*table).clone())
            .collect();
        for table in kept {
            if !is_there(table, catalogue) {
                continue;
            }
            structures.push(StructureChange { name: table.clone(), structure: None });
            if self.is_left_out(table, &[EventKind::DropTable]) {
                left_out = true;
            } else {
                self.check_alone(table, catalogue, &leaving)?;
                going.push(self.route(table)?);
            }
            catalogue.forget_table(table);
        }
        let decision = self.drop_statement(&going, structures);
        Ok(match decision {
            Decision::PassOver { structures, .. } if left_out => Decision::PassOver {
                notice: Some(format!("left out by a filter: {}", cut(&self.parsed.text))),
                structures,
            },
            other => other,
        })
    }

    fn rename_tables(&self, pairs: Vec<(TableName, TableName)>, catalogue: &mut Catalogue) -> Result<Decision, Stop> {
        let mut statements = Vec::new();
        let mut structures = Vec::new();
        let mut touched = BTreeSet::new();
        let mut notices = Vec::new();
        let mut dropped = Vec::new();
        for (from, to) in pairs {
            match (self.keeps(&from), self.keeps(&to)) {
                (false, false) => continue,
                (false, true) => {
                    if (self.rules.stands_after)(&to) {
                        continue;
                    }
                    return Err(stop(format!(
                        "it renames {from}, which this task has not copied, to {to}, which belongs to it"
                    )));
                }
                (true, _) if catalogue.table(&from).is_none() && (self.rules.stands_after)(&from) => continue,
                (true, false) => {
                    notices
                        .push(format!("{from} was renamed to {to} and has left the task; the target keeps its copy"));
                    catalogue.forget_table(&from);
                    structures.push(StructureChange { name: from, structure: None });
                    continue;
                }
                (true, true) => {}
            }
            let Some(shape) = catalogue.table(&from).cloned() else {
                return Err(stop(format!("it renames {from}, whose structure at this position is not known")));
            };
            let (target_from, target_to) = (self.route(&from)?, self.route(&to)?);
            let from_stands = (self.rules.stands_after)(&from);
            let to_stands = (self.rules.stands_after)(&to);
            if from_stands {
                continue;
            }
            let is_left_out = self.is_left_out(&from, &[EventKind::RenameTable]);
            if to_stands || !(is_left_out || target_from == target_to) {
                self.check_alone(&from, catalogue, &[])?;
            }
            catalogue.forget_table(&from);
            structures.push(StructureChange { name: from.clone(), structure: None });
            if to_stands {
                // The new name was copied after the rename: what is left under the old one is what was renamed.
                dropped.push(target_from);
                continue;
            }
            catalogue.add_table(to.clone(), shape);
            if is_left_out {
                notices.push(format!("left out by a filter: {}", cut(&self.parsed.text)));
            } else if target_from != target_to {
                statements.push(format!("{target_from} TO {target_to}"));
                touched.extend([target_from, target_to]);
            }
            structures.push(table_structure(&to, catalogue)?);
        }
        let notice = (!notices.is_empty()).then(|| notices.join("; "));
        match (statements.is_empty(), dropped.is_empty()) {
            (true, true) => Ok(Decision::PassOver { notice, structures }),
            (true, false) => Ok(self.drop_statement(&dropped, structures)),
            (false, true) => Ok(Decision::Apply {
                statement: format!("RENAME TABLE {}", statements.join(", ")),
                touched: touched.into_iter().collect(),
                repeatable: false,
                structures,
            }),
            (false, false) => {
                Err(stop("it renames tables of which some were copied before it and some after; copy the task anew"))
            }
        }
    }
}

/// Whether a statement takes rows, values or the table itself away.
fn takes_away(statement: &Statement) -> bool {
    match statement {
        Statement::TruncateTable(_) => true,
        Statement::CreateTable(create) => create.or_replace,
        Statement::CreateTableLike(create) => create.or_replace,
        Statement::AlterTable(alter) => alter.items.iter().any(|item| match &item.spec {
            AlterSpec::DropColumn { .. } | AlterSpec::Rename(_) => true,
            AlterSpec::Partition(action) => matches!(
                action,
                PartitionAction::Drop
                    | PartitionAction::Truncate
                    | PartitionAction::Exchange { .. }
                    | PartitionAction::ConvertToTable { .. }
            ),
            _ => false,
        }),
        _ => false,
    }
}

fn table_structure(name: &TableName, catalogue: &Catalogue) -> Result<StructureChange, Stop> {
    let shape = catalogue.table(name).map(|shape| StoredShape::to_json(shape)).transpose();
    Ok(StructureChange { name: name.clone(), structure: shape.map_err(|error| stop(error.to_string()))? })
}

fn database_structure(name: &str, catalogue: &Catalogue) -> Result<StructureChange, Stop> {
    let defaults = catalogue.database(name).map(StoredDatabase::to_json).transpose();
    Ok(StructureChange {
        name: TableName::new(name, ""),
        structure: defaults.map_err(|error| stop(error.to_string()))?,
    })
}

/// What to save of what a statement did to the catalogue.
fn structures(applied: &Applied, catalogue: &Catalogue) -> Result<Vec<StructureChange>, Stop> {
    let gone = applied.dropped.iter().chain(applied.renamed.iter().map(|(from, _)| from));
    let mut changes: Vec<StructureChange> =
        gone.map(|name| StructureChange { name: name.clone(), structure: None }).collect();
    let there = applied.created.iter().chain(&applied.changed).chain(applied.renamed.iter().map(|(_, to)| to));
    for name in there {
        changes.push(table_structure(name, catalogue)?);
    }
    Ok(changes)
}

/// The filter's kind of the same name.
fn filter_kind(name: &str) -> Option<EventKind> {
    EventKind::ALL.iter().copied().find(|kind| kind.name() == name)
}
