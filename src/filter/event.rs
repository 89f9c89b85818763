//! The kinds of binlog events that a rule may leave out, under the names that DM gives them, and sets of them.
//!
//! The names and their order of evaluation are DM's; a name that is none of them is refused when the filter is built.
//! The surprise: DM accepts names for the parts of an ALTER TABLE (`drop column`, …) and then never matches them. Here
//! they match, and `alter table` goes on to cover every ALTER TABLE whatever its parts.

use std::fmt;

macro_rules! event_kinds {
    ($($(#[$doc:meta])* $kind:ident = $name:literal, $class:ident;)*) => {
        /// What happened, as far as filters tell apart.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum EventKind {
            $($(#[$doc])* $kind,)*
        }

        impl EventKind {
            pub const ALL: &[Self] = &[$(Self::$kind,)*];

            /// The name that stands in a task's `ignore_event`.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$kind => $name,)*
                }
            }

            fn class(self) -> Class {
                match self {
                    $(Self::$kind => Class::$class,)*
                }
            }
        }
    };
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    Row,
    Statement,
    /// A statement of its own that takes something away.
    Incompatible,
    /// A part of an ALTER TABLE.
    Alter,
    /// A part of an ALTER TABLE that DM counts as an incompatible change.
    IncompatibleAlter,
}

event_kinds! {
    Insert = "insert", Row;
    Update = "update", Row;
    Delete = "delete", Row;
    CreateDatabase = "create database", Statement;
    DropDatabase = "drop database", Incompatible;
    AlterDatabase = "alter database", Statement;
    CreateTable = "create table", Statement;
    DropTable = "drop table", Incompatible;
    TruncateTable = "truncate table", Incompatible;
    RenameTable = "rename table", Incompatible;
    CreateIndex = "create index", Statement;
    DropIndex = "drop index", Incompatible;
    CreateView = "create view", Statement;
    DropView = "drop view", Statement;
    /// An ALTER TABLE, or a part of one that has no kind of its own.
    AlterTable = "alter table", Alter;
    AddTablePartition = "add table partition", Alter;
    DropTablePartition = "drop table partition", IncompatibleAlter;
    TruncateTablePartition = "truncate table partition", IncompatibleAlter;
    AddForeignKey = "add foreign key", Alter;
    DropForeignKey = "drop foreign key", Alter;
    ValueRangeDecrease = "value range decrease", IncompatibleAlter;
    PrecisionDecrease = "precision decrease", IncompatibleAlter;
    ModifyColumn = "modify column", IncompatibleAlter;
    RenameColumn = "rename column", IncompatibleAlter;
    RenameIndex = "rename index", IncompatibleAlter;
    DropColumn = "drop column", IncompatibleAlter;
    DropPrimaryKey = "drop primary key", IncompatibleAlter;
    DropUniqueKey = "drop unique key", IncompatibleAlter;
    ModifyDefaultValue = "modify default value", IncompatibleAlter;
    ModifyConstraint = "modify constraint", IncompatibleAlter;
    ModifyColumnsOrder = "modify columns order", IncompatibleAlter;
    ModifyCharset = "modify charset", IncompatibleAlter;
    ModifyCollation = "modify collation", IncompatibleAlter;
    RemoveAutoIncrement = "remove auto increment", IncompatibleAlter;
    ModifyStorageEngine = "modify storage engine", IncompatibleAlter;
    ReorganizeTablePartition = "reorganize table partition", IncompatibleAlter;
    RebuildTablePartition = "rebuild table partition", IncompatibleAlter;
    CoalesceTablePartition = "coalesce table partition", IncompatibleAlter;
    SplitTablePartition = "split table partition", IncompatibleAlter;
    ExchangeTablePartition = "exchange table partition", IncompatibleAlter;
    ModifySchemaCharsetAndCollate = "modify schema charset and collate", Incompatible;
    ModifyTableCharsetAndCollate = "modify table charset and collate", IncompatibleAlter;
    ModifyTableComment = "modify table comment", IncompatibleAlter;
    RecoverTable = "recover table", Incompatible;
    AlterTablePartitioning = "alter table partitioning", IncompatibleAlter;
    RemoveTablePartitioning = "remove table partitioning", IncompatibleAlter;
    AddColumn = "add column", IncompatibleAlter;
    SetDefaultValue = "set default value", IncompatibleAlter;
    RebaseAutoId = "rebase auto id", IncompatibleAlter;
    AddPrimaryKey = "add primary key", IncompatibleAlter;
    AlterIndexVisibility = "alter index visibility", IncompatibleAlter;
    AlterTtlInfo = "alter ttl info", IncompatibleAlter;
    AlterTtlRemove = "alter ttl remove", IncompatibleAlter;
    /// An ALTER TABLE of several parts.
    MultiSchemaChange = "multi schema change", IncompatibleAlter;
}

impl EventKind {
    /// Whether it changes rows, and so has no statement text.
    pub fn is_row(self) -> bool {
        self.class() == Class::Row
    }
}

impl fmt::Display for EventKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The kinds that one `ignore_event` list names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventSet(u64);

impl EventSet {
    /// Reads a list, or gives back the name that is none.
    pub fn parse(names: &[String]) -> Result<Self, &str> {
        let items = names.iter().map(|name| Item::parse(name).ok_or(name.as_str())).collect::<Result<Vec<_>, _>>()?;
        let chosen = EventKind::ALL.iter().filter(|kind| judged(&items, **kind));
        Ok(Self(chosen.fold(0, |bits, kind| bits | bit(*kind))))
    }

    pub fn contains(self, kind: EventKind) -> bool {
        self.0 & bit(kind) != 0
    }
}

fn bit(kind: EventKind) -> u64 {
    1 << kind as u8
}

/// One word of an `ignore_event` list.
enum Item {
    All,
    None,
    AllDdl,
    NoneDdl,
    AllDml,
    NoneDml,
    IncompatibleDdlChanges,
    Kind(EventKind),
}

impl Item {
    fn parse(name: &str) -> Option<Self> {
        let name = name.trim().to_lowercase();
        Some(match name.as_str() {
            "all" => Self::All,
            "none" => Self::None,
            "all ddl" => Self::AllDdl,
            "none ddl" => Self::NoneDdl,
            "all dml" => Self::AllDml,
            "none dml" => Self::NoneDml,
            "incompatible ddl changes" => Self::IncompatibleDdlChanges,
            "create schema" => Self::Kind(EventKind::CreateDatabase),
            "drop schema" => Self::Kind(EventKind::DropDatabase),
            "alter schema" => Self::Kind(EventKind::AlterDatabase),
            name => Self::Kind(*EventKind::ALL.iter().find(|kind| kind.name() == name)?),
        })
    }

    /// What this word says of a kind, if it speaks of it.
    fn says(&self, kind: EventKind) -> Option<bool> {
        use Class::{Alter, Incompatible, IncompatibleAlter, Row};
        let class = kind.class();
        let (speaks, verdict) = match self {
            Self::All => (true, true),
            Self::None => (true, false),
            Self::AllDdl => (class != Row, true),
            Self::NoneDdl => (class != Row, false),
            Self::AllDml => (class == Row, true),
            Self::NoneDml => (class == Row, false),
            Self::IncompatibleDdlChanges => (matches!(class, Incompatible | IncompatibleAlter), true),
            Self::Kind(EventKind::AlterTable) => (matches!(class, Alter | IncompatibleAlter), true),
            Self::Kind(named) => (*named == kind, true),
        };
        speaks.then_some(verdict)
    }
}

/// The first word that speaks of a kind decides; a kind of which none speaks is not in the set.
fn judged(items: &[Item], kind: EventKind) -> bool {
    items.iter().find_map(|item| item.says(kind)).unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(names: &[&str]) -> EventSet {
        EventSet::parse(&names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn all_kinds_have_a_bit_and_a_name_of_their_own() {
        assert!(EventKind::ALL.len() <= 64);
        for kind in EventKind::ALL {
            let alone: Vec<_> =
                EventKind::ALL.iter().filter(|other| set(&[kind.name()]).contains(**other)).copied().collect();
            if *kind == EventKind::AlterTable {
                assert!(alone.contains(&EventKind::DropColumn) && alone.contains(&EventKind::AddTablePartition));
                assert!(!alone.contains(&EventKind::DropIndex) && !alone.contains(&EventKind::Insert));
            } else {
                assert_eq!(alone, [*kind]);
            }
        }
    }

    #[test]
    fn the_first_word_that_speaks_of_a_kind_decides() {
        for (names, ignored, kept) in [
            (&["all"][..], &[EventKind::Insert, EventKind::DropTable][..], &[][..]),
            (&["none dml", "all"], &[EventKind::DropTable], &[EventKind::Insert]),
            (&["all ddl", "delete"], &[EventKind::AlterTable, EventKind::Delete], &[EventKind::Update]),
            (&["insert", "none", "delete"], &[EventKind::Insert], &[EventKind::Delete]),
            (
                &["incompatible ddl changes"],
                &[EventKind::TruncateTable, EventKind::DropColumn],
                &[EventKind::CreateTable, EventKind::Delete, EventKind::AlterTable],
            ),
            (&["Truncate Table", "drop schema"], &[EventKind::TruncateTable, EventKind::DropDatabase], &[]),
            (&[], &[], &[EventKind::Insert]),
        ] {
            let set = set(names);
            for kind in ignored {
                assert!(set.contains(*kind), "{names:?} should hold {kind}");
            }
            for kind in kept {
                assert!(!set.contains(*kind), "{names:?} should not hold {kind}");
            }
        }
    }

    #[test]
    fn an_unknown_name_is_given_back() {
        assert_eq!(EventSet::parse(&["insert".to_owned(), "trunkate table".to_owned()]), Err("trunkate table"));
        assert_eq!(EventSet::parse(&[String::new()]), Err(""));
    }
}
