//! What to do with each table: copy it, copy it anew, leave it as it is. Pure.

use std::collections::{BTreeMap, BTreeSet};

use crate::catalogue::TableShape;
use crate::ddl::ReferenceAction;
use crate::ledger::{CopiedTable, TableState};
use crate::model::TableName;

/// A table the source holds now.
pub struct Present<'a> {
    pub name: &'a TableName,
    pub shape: &'a TableShape,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Task {
    /// Not seen by an earlier run.
    Copy,
    /// An earlier run did not finish it: what it left in the target goes, and it is read from the new snapshot.
    CopyAnew { number: u32 },
    /// An earlier run copied some of its stretches, which stay; the others are read from the new snapshot.
    Continue { number: u32 },
    /// An earlier run copied all of its rows; they stand at its snapshot's position.
    Keep { number: u32 },
}

#[derive(Debug, Default, PartialEq, Eq)]
pub struct CopyPlan {
    pub tasks: BTreeMap<TableName, Task>,
    /// Begun by an earlier run and gone from the source since: what is in the target of them goes too.
    pub abandoned: Vec<u32>,
}

/// Compares what the source holds with what earlier runs have done. `one_position`: all tables must stand at one
/// position (mode `full`, which has no replay to bring them together), so nothing is kept unless all is.
/// `may_continue`: the numbers of half-copied tables whose stretches may stand at several positions.
pub fn plan(
    present: &[Present<'_>],
    known: &[CopiedTable],
    may_continue: &BTreeSet<u32>,
    one_position: bool,
) -> CopyPlan {
    let by_name: BTreeMap<&TableName, &CopiedTable> = known.iter().map(|table| (&table.source, table)).collect();
    let finished = |table: &CopiedTable| matches!(table.state, TableState::Copied | TableState::Done);
    let mut plan = CopyPlan::default();
    for table in present {
        let task = match by_name.get(table.name) {
            None => Task::Copy,
            Some(known) if finished(known) => Task::Keep { number: known.number },
            Some(known) if may_continue.contains(&known.number) && !one_position => {
                Task::Continue { number: known.number }
            }
            Some(known) => Task::CopyAnew { number: known.number },
        };
        plan.tasks.insert(table.name.clone(), task);
    }
    let present_names: BTreeSet<&TableName> = present.iter().map(|table| table.name).collect();
    plan.abandoned = known
        .iter()
        .filter(|table| !finished(table) && !present_names.contains(&table.source))
        .map(|table| table.number)
        .collect();
    let incomplete = plan.tasks.values().any(|task| !matches!(task, Task::Keep { .. })) || !plan.abandoned.is_empty();
    let is_several = known.iter().any(&finished);
    if one_position && incomplete && is_several {
        copy_anew(&mut plan, |_| true);
        let gone = known.iter().filter(|table| finished(table) && !present_names.contains(&table.source));
        plan.abandoned.extend(gone.map(|table| table.number));
    } else {
        // Replaying a parent's changes cascades into its children: they must stand at one position.
        let groups = cascade_groups(present);
        loop {
            let before = plan.tasks.clone();
            for group in &groups {
                if group.iter().any(|name| plan.tasks.get(name).is_some_and(|task| !matches!(task, Task::Keep { .. })))
                {
                    copy_anew(&mut plan, |name| group.contains(name));
                }
            }
            let sharing = sharing_an_emptied_place(&plan, known);
            copy_anew(&mut plan, |name| sharing.contains(name));
            if plan.tasks == before {
                break;
            }
        }
    }
    plan
}

/// What is begun anew or abandoned empties its table at the target, and with it the rows that others have put there.
fn sharing_an_emptied_place(plan: &CopyPlan, known: &[CopiedTable]) -> BTreeSet<TableName> {
    let is_emptied = |table: &&CopiedTable| {
        plan.abandoned.contains(&table.number)
            || matches!(plan.tasks.get(&table.source), Some(Task::CopyAnew { number }) if *number == table.number)
    };
    let emptied: BTreeSet<&TableName> = known.iter().filter(is_emptied).map(|table| &table.target).collect();
    known.iter().filter(|table| emptied.contains(&table.target)).map(|table| table.source.clone()).collect()
}

fn copy_anew(plan: &mut CopyPlan, chosen: impl Fn(&TableName) -> bool) {
    for (name, task) in &mut plan.tasks {
        if let Task::Keep { number } | Task::Continue { number } = *task
            && chosen(name)
        {
            *task = Task::CopyAnew { number };
        }
    }
}

/// Tables that cascades connect, directly or through others.
fn cascade_groups(present: &[Present<'_>]) -> Vec<BTreeSet<TableName>> {
    let mut groups: Vec<BTreeSet<TableName>> = Vec::new();
    for table in present {
        let parents = table.shape.foreign_keys.iter().filter(|key| cascades(key.on_delete) || cascades(key.on_update));
        for key in parents {
            let mut group = BTreeSet::from([table.name.clone(), key.parent.clone()]);
            groups.retain(|other| {
                let apart = other.is_disjoint(&group);
                if !apart {
                    group.extend(other.iter().cloned());
                }
                apart
            });
            groups.push(group);
        }
    }
    groups
}

pub fn cascades(action: ReferenceAction) -> bool {
    matches!(action, ReferenceAction::Cascade | ReferenceAction::SetNull)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::Collation;
    use crate::ledger::Origin;

    fn name(table: &str) -> TableName {
        TableName::new("shop", table)
    }

    fn known(number: u32, source: &str, target: &str, state: TableState) -> CopiedTable {
        let (source, target) = (name(source), name(target));
        CopiedTable { number, source, target, state, origin: Origin::FoundEmpty, snapshot: 1, later: Vec::new() }
    }

    fn planned(present: &[&str], known: &[CopiedTable]) -> CopyPlan {
        let shape = TableShape {
            columns: Vec::new(),
            keys: Vec::new(),
            foreign_keys: Vec::new(),
            collation: Collation::new("utf8mb4_bin"),
            engine: None,
            system_versioned: false,
            sequence: false,
        };
        let names: Vec<TableName> = present.iter().map(|table| name(table)).collect();
        let present: Vec<Present<'_>> = names.iter().map(|name| Present { name, shape: &shape }).collect();
        plan(&present, known, &BTreeSet::from([9]), false)
    }

    #[test]
    fn a_finished_table_is_kept_beside_one_that_goes_elsewhere() {
        let earlier = [known(1, "a", "a", TableState::Done), known(2, "b", "b", TableState::Copying)];
        let plan = planned(&["a", "b", "c"], &earlier);
        let expected =
            [(name("a"), Task::Keep { number: 1 }), (name("b"), Task::CopyAnew { number: 2 }), (name("c"), Task::Copy)];
        assert_eq!(plan, CopyPlan { tasks: BTreeMap::from(expected), abandoned: Vec::new() });
    }

    #[test]
    fn a_finished_table_is_copied_anew_when_one_in_its_place_is() {
        let earlier = [known(1, "a", "whole", TableState::Done), known(2, "b", "whole", TableState::Copying)];
        let plan = planned(&["a", "b"], &earlier);
        assert_eq!(plan.tasks[&name("a")], Task::CopyAnew { number: 1 });
    }

    #[test]
    fn a_half_copied_table_is_gone_on_with_where_it_may_be() {
        let half = |number, table: &str| known(number, table, table, TableState::Copying);
        let plan = planned(&["a", "b"], &[half(8, "a"), half(9, "b")]);
        let expected = [(name("a"), Task::CopyAnew { number: 8 }), (name("b"), Task::Continue { number: 9 })];
        assert_eq!(plan.tasks, BTreeMap::from(expected));
    }

    #[test]
    fn a_half_copied_table_is_copied_anew_when_one_in_its_place_is() {
        let earlier = [known(8, "a", "whole", TableState::Copying), known(9, "b", "whole", TableState::Copying)];
        assert_eq!(planned(&["a", "b"], &earlier).tasks[&name("b")], Task::CopyAnew { number: 9 });
    }

    #[test]
    fn a_finished_table_is_copied_anew_when_one_in_its_place_is_abandoned() {
        let earlier = [known(1, "a", "whole", TableState::Done), known(2, "b", "whole", TableState::Copying)];
        let plan = planned(&["a"], &earlier);
        assert_eq!(plan.abandoned, [2]);
        assert_eq!(plan.tasks[&name("a")], Task::CopyAnew { number: 1 });
    }
}
