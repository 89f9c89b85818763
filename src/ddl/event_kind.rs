//! The kinds of DDL that users name in binlog filters, as DM spells them.
//!
//! A statement is of one coarse kind (`alter table`), and an ALTER TABLE also of a finer one for each thing it does.
//! Some fine kinds depend on what the table was before (`value range decrease`): those are the catalogue's to find.

use std::fmt;
use std::str::FromStr;

use super::tree::{
    Action, AlterSpec, CharsetChoice, DefaultChange, Named, OptionKind, PartitionAction, Place, Statement,
};

macro_rules! event_kinds {
    ($($(#[$doc:meta])* $kind:ident = $name:literal, $incompatible:literal;)*) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum EventKind {
            $($(#[$doc])* $kind,)*
        }

        impl EventKind {
            pub const ALL: &'static [Self] = &[$(Self::$kind,)*];

            /// The name that users write.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$kind => $name,)*
                }
            }

            /// Whether the filter word `incompatible ddl changes` covers it.
            pub fn is_incompatible(self) -> bool {
                match self {
                    $(Self::$kind => $incompatible,)*
                }
            }
        }
    };
}

event_kinds! {
    CreateDatabase = "create database", false;
    DropDatabase = "drop database", true;
    AlterDatabase = "alter database", false;
    CreateTable = "create table", false;
    DropTable = "drop table", true;
    TruncateTable = "truncate table", true;
    RenameTable = "rename table", true;
    AlterTable = "alter table", false;
    CreateIndex = "create index", false;
    DropIndex = "drop index", true;
    CreateView = "create view", false;
    DropView = "drop view", false;
    AddTablePartition = "add table partition", false;
    DropTablePartition = "drop table partition", true;
    TruncateTablePartition = "truncate table partition", true;
    AddForeignKey = "add foreign key", true;
    DropForeignKey = "drop foreign key", true;
    ValueRangeDecrease = "value range decrease", true;
    PrecisionDecrease = "precision decrease", true;
    ModifyColumn = "modify column", true;
    RenameColumn = "rename column", true;
    RenameIndex = "rename index", true;
    DropColumn = "drop column", true;
    DropPrimaryKey = "drop primary key", true;
    DropUniqueKey = "drop unique key", true;
    ModifyDefaultValue = "modify default value", true;
    ModifyConstraint = "modify constraint", true;
    ModifyColumnsOrder = "modify columns order", true;
    ModifyCharset = "modify charset", true;
    ModifyCollation = "modify collation", true;
    RemoveAutoIncrement = "remove auto increment", true;
    ModifyStorageEngine = "modify storage engine", true;
    ReorganizePartition = "reorganize table partition", true;
    RebuildPartition = "rebuild table partition", true;
    CoalescePartition = "coalesce table partition", true;
    /// Of TiDB only; no statement of the MySQL family is one.
    SplitPartition = "split table partition", true;
    ExchangePartition = "exchange table partition", true;
    ModifySchemaCharsetAndCollate = "modify schema charset and collate", true;
    ModifyTableCharsetAndCollate = "modify table charset and collate", true;
    ModifyTableComment = "modify table comment", true;
    /// Of TiDB only.
    RecoverTable = "recover table", true;
    AlterTablePartitioning = "alter table partitioning", true;
    RemovePartitioning = "remove table partitioning", true;
    AddColumn = "add column", true;
    SetDefaultValue = "set default value", true;
    RebaseAutoId = "rebase auto id", true;
    AddPrimaryKey = "add primary key", true;
    AlterIndexVisibility = "alter index visibility", true;
    /// Of TiDB only.
    AlterTtlInfo = "alter ttl info", true;
    /// Of TiDB only.
    AlterTtlRemove = "alter ttl remove", true;
    MultiSchemaChange = "multi schema change", true;
}

impl fmt::Display for EventKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no kind of DDL that a binlog filter knows")]
pub struct UnknownEventKind(pub String);

/// Takes DM's names in any case, and `schema` for `database`.
impl FromStr for EventKind {
    type Err = UnknownEventKind;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let lower = name.to_ascii_lowercase();
        let wanted = match lower.as_str() {
            "create schema" => "create database",
            "drop schema" => "drop database",
            "alter schema" => "alter database",
            other => other,
        };
        Self::ALL.iter().copied().find(|kind| kind.as_str() == wanted).ok_or_else(|| UnknownEventKind(name.to_owned()))
    }
}

/// The kinds of a statement: the coarse one first.
pub fn event_kinds(statement: &Statement) -> Vec<EventKind> {
    use EventKind as E;
    match statement {
        Statement::CreateTable(_) | Statement::CreateTableLike(_) => vec![E::CreateTable],
        Statement::DropTable(_) => vec![E::DropTable],
        Statement::RenameTable(_) => vec![E::RenameTable],
        Statement::TruncateTable(_) => vec![E::TruncateTable],
        Statement::CreateIndex(_) => vec![E::CreateIndex],
        Statement::DropIndex(_) => vec![E::DropIndex],
        Statement::CreateDatabase(_) => vec![E::CreateDatabase],
        Statement::DropDatabase(_) => vec![E::DropDatabase],
        Statement::AlterDatabase(alter) if alter.charset.is_empty() => vec![E::AlterDatabase],
        Statement::AlterDatabase(_) => vec![E::AlterDatabase, E::ModifySchemaCharsetAndCollate],
        Statement::AlterTable(alter) => {
            let mut kinds = vec![E::AlterTable];
            let changes = alter.items.iter().filter(|item| !is_hint(&item.spec)).count();
            if changes > 1 {
                kinds.push(E::MultiSchemaChange);
            }
            for kind in alter.items.iter().flat_map(|item| spec_kinds(&item.spec)) {
                if !kinds.contains(&kind) {
                    kinds.push(kind);
                }
            }
            kinds
        }
    }
}

/// The kind of a statement that is only named, if users can filter it.
pub fn named_event_kind(named: &Named) -> Option<EventKind> {
    match named {
        Named::View { action: Action::Create | Action::Alter, .. } => Some(EventKind::CreateView),
        Named::View { action: Action::Drop, .. } => Some(EventKind::DropView),
        _ => None,
    }
}

/// How to do it, not what.
fn is_hint(spec: &AlterSpec) -> bool {
    matches!(spec, AlterSpec::Algorithm(_) | AlterSpec::Lock(_) | AlterSpec::Validation)
}

fn spec_kinds(spec: &AlterSpec) -> Vec<EventKind> {
    use EventKind as E;
    match spec {
        AlterSpec::AddColumn { column, place, .. } => {
            let mut kinds = vec![E::AddColumn];
            if *place != Place::Unspecified {
                kinds.push(E::ModifyColumnsOrder);
            }
            if column.primary_key {
                kinds.push(E::AddPrimaryKey);
            }
            kinds
        }
        AlterSpec::AddElements { .. } => vec![E::AddColumn],
        AlterSpec::AddKey(key) if key.kind == super::tree::KeyKind::Primary => vec![E::AddPrimaryKey],
        AlterSpec::AddKey(_) => vec![E::CreateIndex],
        AlterSpec::AddForeignKey(_) => vec![E::AddForeignKey],
        AlterSpec::AddCheck { .. } | AlterSpec::DropCheck { .. } | AlterSpec::AlterCheck { .. } => {
            vec![E::ModifyConstraint]
        }
        AlterSpec::DropConstraint { .. } => vec![E::ModifyConstraint],
        AlterSpec::ChangeColumn { old, column, place, .. } => {
            let renamed = !old.is(&column.name.value);
            let mut kinds = vec![E::ModifyColumn];
            kinds.extend(renamed.then_some(E::RenameColumn));
            kinds.extend((*place != Place::Unspecified).then_some(E::ModifyColumnsOrder));
            kinds
        }
        AlterSpec::ModifyColumn { place, .. } => {
            let mut kinds = vec![E::ModifyColumn];
            kinds.extend((*place != Place::Unspecified).then_some(E::ModifyColumnsOrder));
            kinds
        }
        AlterSpec::AlterColumn { change, .. } => match change {
            DefaultChange::Set(_) => vec![E::SetDefaultValue, E::ModifyDefaultValue],
            DefaultChange::Drop => vec![E::ModifyDefaultValue],
            DefaultChange::SetInvisible(_) => vec![E::ModifyColumn],
        },
        AlterSpec::DropColumn { .. } => vec![E::DropColumn],
        AlterSpec::DropPrimaryKey => vec![E::DropPrimaryKey],
        AlterSpec::DropKey { .. } => vec![E::DropIndex],
        AlterSpec::DropForeignKey { .. } => vec![E::DropForeignKey],
        AlterSpec::RenameColumn { .. } => vec![E::RenameColumn],
        AlterSpec::RenameKey { .. } => vec![E::RenameIndex],
        AlterSpec::Rename(_) => vec![E::RenameTable],
        AlterSpec::AlterKey { .. } => vec![E::AlterIndexVisibility],
        AlterSpec::ConvertCharset(charset) => charset_kinds(charset),
        AlterSpec::Options { options, charset } => {
            let mut kinds = charset_kinds(charset);
            kinds.extend(options.iter().filter_map(|option| match &option.kind {
                OptionKind::Engine(_) => Some(E::ModifyStorageEngine),
                OptionKind::AutoIncrement(_) => Some(E::RebaseAutoId),
                OptionKind::Other(name) if name == "COMMENT" => Some(E::ModifyTableComment),
                _ => None,
            }));
            kinds
        }
        AlterSpec::Partition(action) => partition_kind(action).into_iter().collect(),
        AlterSpec::AddPeriod { .. }
        | AlterSpec::DropPeriod { .. }
        | AlterSpec::OrderBy
        | AlterSpec::Force
        | AlterSpec::EnableKeys
        | AlterSpec::DisableKeys
        | AlterSpec::DiscardTablespace
        | AlterSpec::ImportTablespace
        | AlterSpec::Algorithm(_)
        | AlterSpec::Lock(_)
        | AlterSpec::Validation
        | AlterSpec::AddSystemVersioning
        | AlterSpec::DropSystemVersioning => Vec::new(),
    }
}

fn charset_kinds(charset: &CharsetChoice) -> Vec<EventKind> {
    use EventKind as E;
    let mut kinds = Vec::new();
    kinds.extend(charset.charset.is_some().then_some(E::ModifyCharset));
    kinds.extend(charset.collation.is_some().then_some(E::ModifyCollation));
    kinds.extend((!charset.is_empty()).then_some(E::ModifyTableCharsetAndCollate));
    kinds
}

fn partition_kind(action: &PartitionAction) -> Option<EventKind> {
    use EventKind as E;
    match action {
        PartitionAction::By => Some(E::AlterTablePartitioning),
        PartitionAction::Remove => Some(E::RemovePartitioning),
        PartitionAction::Add | PartitionAction::ConvertFromTable { .. } => Some(E::AddTablePartition),
        PartitionAction::Drop | PartitionAction::ConvertToTable { .. } => Some(E::DropTablePartition),
        PartitionAction::Truncate => Some(E::TruncateTablePartition),
        PartitionAction::Coalesce => Some(E::CoalescePartition),
        PartitionAction::Reorganize => Some(E::ReorganizePartition),
        PartitionAction::Rebuild => Some(E::RebuildPartition),
        PartitionAction::Exchange { .. } => Some(E::ExchangePartition),
        PartitionAction::Maintain => None,
    }
}
