//! Changes that a source makes by itself and does not log: the rows of a child, changed by ON DELETE or ON UPDATE of
//! its foreign key, on MariaDB and on MySQL before 9.6. The target repeats them if it has the same foreign key, with the
//! same rule: one that sets to NULL what the source deletes is as wrong as none. Where
//! it cannot, the change of the parent must stop the task: the child would differ from then on, and nobody would know.

use super::error::Error;
use crate::binlog::{RowsEvent, RowsKind};
use crate::catalogue::{Catalogue, ForeignKey};
use crate::ddl::{ReferenceAction, same_name};
use crate::filter::{EventKind, Filter, Verdict};
use crate::model::TableName;

/// A table of the task whose rows follow a parent's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Child {
    pub name: TableName,
    pub key: ForeignKey,
    pub on_delete: bool,
    pub on_update: bool,
}

/// The children that follow changes of this parent, and that the task would carry: a child whose own changes of the
/// kind are filtered out does not count.
pub fn children_of(parent: &TableName, catalogue: &Catalogue, filter: &Filter) -> Vec<Child> {
    let carried = |child: &TableName, action: ReferenceAction, deleting: bool| {
        let kind = match action {
            ReferenceAction::Cascade if deleting => EventKind::Delete,
            ReferenceAction::Cascade | ReferenceAction::SetNull => EventKind::Update,
            _ => return false,
        };
        filter.keeps_table(child) && !matches!(filter.verdict(child, kind, None), Verdict::Ignore { .. })
    };
    let keys = catalogue.tables().flat_map(|(name, shape)| shape.foreign_keys.iter().map(move |key| (name, key)));
    keys.filter(|(_, key)| key.parent == *parent)
        .map(|(name, key)| Child {
            name: name.clone(),
            key: key.clone(),
            on_delete: carried(name, key.on_delete, true),
            on_update: carried(name, key.on_update, false),
        })
        .filter(|child| child.on_delete || child.on_update)
        .collect()
}

impl Child {
    /// What is left of it when the target does by itself what a foreign key there does: `there` are those of the child
    /// at the target, `parent_there` is where the parent went. None: nothing is left.
    pub fn without_repeated(self, parent_there: &TableName, there: &[ForeignKey]) -> Option<Self> {
        let same = |key: &&ForeignKey| {
            key.parent == *parent_there
                && same_columns(&key.columns, &self.key.columns)
                && same_parent_columns(&key.parent_columns, &self.key.parent_columns)
        };
        let repeats = |rule: fn(&ForeignKey) -> ReferenceAction| {
            there.iter().filter(same).any(|key| rule(key) == rule(&self.key))
        };
        let on_delete = self.on_delete && !repeats(|key| key.on_delete);
        let on_update = self.on_update && !repeats(|key| key.on_update);
        (on_delete || on_update).then_some(Self { on_delete, on_update, ..self })
    }
}

/// A parent's columns may be left unsaid: then they are its primary key.
fn same_parent_columns(one: &[String], other: &[String]) -> bool {
    one.is_empty() || other.is_empty() || same_columns(one, other)
}

fn same_columns(one: &[String], other: &[String]) -> bool {
    one.len() == other.len() && one.iter().zip(other).all(|(one, other)| same_name(one, other))
}

/// Whether the event left the source to change children without a word, as its flags tell.
pub fn is_silent(rows: &RowsEvent) -> bool {
    rows.kind != RowsKind::Insert && !rows.flags.no_foreign_key_checks() && !rows.flags.uses_sql_foreign_keys()
}

/// `children` are those that the target would not change with the parent.
pub fn check(parent: &TableName, children: &[Child], kind: RowsKind, position: String) -> Result<(), Error> {
    let lost = |child: &&Child| match kind {
        RowsKind::Delete => child.on_delete,
        RowsKind::Update => child.on_update,
        RowsKind::Insert => false,
    };
    match children.iter().find(lost) {
        None => Ok(()),
        Some(child) => Err(Error::LostCascade {
            parent: parent.clone(),
            child: child.name.clone(),
            foreign_key: child.key.name.clone(),
            position,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(schema: &str, column: &str, on_delete: ReferenceAction, on_update: ReferenceAction) -> ForeignKey {
        ForeignKey {
            name: "line_ibfk_1".to_owned(),
            columns: vec![column.to_owned()],
            parent: TableName::new(schema, "bill"),
            parent_columns: vec!["id".to_owned()],
            on_delete,
            on_update,
        }
    }

    fn child(on_delete: bool, on_update: bool) -> Child {
        let key = key("shop", "bill", ReferenceAction::Cascade, ReferenceAction::Cascade);
        Child { name: TableName::new("shop", "line"), key, on_delete, on_update }
    }

    #[test]
    fn a_rule_is_repeated_only_by_the_same_rule_of_the_same_columns() {
        use ReferenceAction::{Cascade, SetNull};
        let parent = TableName::new("store", "bill");
        let left = |there: &[ForeignKey]| {
            child(true, true).without_repeated(&parent, there).map(|child| (child.on_delete, child.on_update))
        };
        assert_eq!(left(&[key("store", "BILL", Cascade, Cascade)]), None);
        assert_eq!(left(&[]), Some((true, true)));
        assert_eq!(left(&[key("store", "bill", SetNull, Cascade)]), Some((true, false)));
        assert_eq!(left(&[key("store", "bill", Cascade, SetNull)]), Some((false, true)));
        assert_eq!(left(&[key("store", "payer", Cascade, Cascade)]), Some((true, true)));
        assert_eq!(left(&[key("shop", "bill", Cascade, Cascade)]), Some((true, true)));
    }

    #[test]
    fn only_what_the_source_would_have_done_to_a_child_stops() {
        let parent = TableName::new("shop", "bill");
        let stops = |child: Child, kind| check(&parent, &[child], kind, "binlog.1:4".to_owned()).is_err();
        assert!(stops(child(true, false), RowsKind::Delete));
        assert!(!stops(child(true, false), RowsKind::Update));
        assert!(stops(child(false, true), RowsKind::Update));
        assert!(!stops(child(true, true), RowsKind::Insert));
    }
}
