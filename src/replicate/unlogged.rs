//! Changes that a source makes by itself and does not log: the rows of a child, changed by ON DELETE or ON UPDATE of
//! its foreign key, on MariaDB and on MySQL before 9.6. The target repeats them if it has the same foreign key. Where
//! it cannot, the change of the parent must stop the task: the child would differ from then on, and nobody would know.

use super::error::Error;
use crate::binlog::{RowsEvent, RowsKind};
use crate::catalogue::Catalogue;
use crate::ddl::ReferenceAction;
use crate::filter::{EventKind, Filter, Verdict};
use crate::model::TableName;

/// A table of the task whose rows follow a parent's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Child {
    pub name: TableName,
    pub foreign_key: String,
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
            foreign_key: key.name.clone(),
            on_delete: carried(name, key.on_delete, true),
            on_update: carried(name, key.on_update, false),
        })
        .filter(|child| child.on_delete || child.on_update)
        .collect()
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
            foreign_key: child.foreign_key.clone(),
            position,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn child(on_delete: bool, on_update: bool) -> Child {
        let name = TableName::new("shop", "line");
        Child { name, foreign_key: "line_ibfk_1".to_owned(), on_delete, on_update }
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
