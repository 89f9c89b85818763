//! The checks, by the names that `ignore_checking_items` knows them under.

use crate::model::subtask::TaskMode;

macro_rules! items {
    ($($(#[$doc:meta])* $variant:ident = $name:literal: $description:literal,)*) => {
        /// One check of the precheck.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Item {
            $($(#[$doc])* $variant,)*
        }

        impl Item {
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The name users write.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }

            /// What is looked at.
            pub fn description(self) -> &'static str {
                match self {
                    $(Self::$variant => $description,)*
                }
            }
        }
    };
}

items! {
    DumpPrivilege = "dump_privilege": "the source account may read the tables and take a snapshot",
    ReplicationPrivilege = "replication_privilege": "the source account may follow the binlog",
    Version = "version": "the servers' versions are known to work",
    ServerId = "server_id": "the source has a server id",
    BinlogEnable = "binlog_enable": "the source writes a binlog",
    BinlogFormat = "binlog_format": "the source logs rows, not statements",
    BinlogRowImage = "binlog_row_image": "the source logs whole rows",
    TargetPrivilege = "target_privilege": "the target account may create and write the tables",
    /// Ours.
    Collation = "collation": "the target knows the collations of the migrated tables, or a map names others",
    /// Ours.
    StorageEngine = "storage_engine": "the migrated tables are in engines that have snapshots",
    PrimaryKey = "primary_key": "the migrated tables have keys that find a changed row",
    /// Ours.
    TargetTrigger = "target_trigger": "the target's tables have no triggers of their own",
    /// Ours.
    TargetTopology = "target_topology": "one writable server stands behind the target's address",
}

/// Names that DM knows and that check nothing here: what they speak of is not built yet, or cannot go wrong. They may
/// be written, so that a task made for DM needs no change.
const WITHOUT_CHECK: &[&str] = &[
    "table_schema",
    "schema_of_shard_tables",
    "auto_increment_ID",
    "online_ddl",
    "binlog_db",
    "meta_position",
    "conn_number",
    "empty_region",
    "region_distribution",
    "downstream_version",
    "free_space",
    "downstream_mutex_features",
    "downstream_table_empty",
];

/// Which items a task leaves out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IgnoredItems {
    all: bool,
    items: Vec<Item>,
}

impl IgnoredItems {
    /// Fails with the first name that is unknown.
    pub fn parse<'a>(names: impl IntoIterator<Item = &'a str>) -> Result<Self, String> {
        let mut ignored = Self::default();
        for name in names {
            if name == "all" {
                ignored.all = true;
            } else if let Some(item) = Item::ALL.iter().find(|item| item.name() == name) {
                ignored.items.push(*item);
            } else if !WITHOUT_CHECK.contains(&name) {
                return Err(name.to_owned());
            }
        }
        Ok(ignored)
    }

    /// Every name that may be written.
    pub fn known_names() -> Vec<&'static str> {
        let mut names = vec!["all"];
        names.extend(Item::ALL.iter().map(|item| item.name()));
        names.extend(WITHOUT_CHECK);
        names
    }

    /// The items to check for a task of this mode, in their order.
    pub fn remaining(&self, mode: TaskMode) -> Vec<Item> {
        if self.all {
            return Vec::new();
        }
        Item::ALL.iter().copied().filter(|item| item.applies_to(mode) && !self.items.contains(item)).collect()
    }
}

impl Item {
    fn applies_to(self, mode: TaskMode) -> bool {
        match self {
            Self::DumpPrivilege | Self::StorageEngine => mode.copies(),
            Self::ReplicationPrivilege
            | Self::ServerId
            | Self::BinlogEnable
            | Self::BinlogFormat
            | Self::BinlogRowImage
            | Self::PrimaryKey => mode.replicates(),
            Self::Version | Self::TargetPrivilege | Self::Collation | Self::TargetTrigger | Self::TargetTopology => {
                true
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_copy_needs_no_binlog_and_replication_no_dump() {
        let of = |mode| IgnoredItems::default().remaining(mode);
        assert!(!of(TaskMode::Full).contains(&Item::BinlogEnable) && of(TaskMode::Full).contains(&Item::DumpPrivilege));
        assert!(!of(TaskMode::Incremental).contains(&Item::DumpPrivilege));
        assert_eq!(of(TaskMode::All).len(), Item::ALL.len());
    }

    #[test]
    fn items_are_left_out_one_by_one_or_all_together() {
        let ignored = IgnoredItems::parse(["version", "meta_position"]).unwrap();
        assert_eq!(ignored.remaining(TaskMode::All).len(), Item::ALL.len() - 1);
        assert!(IgnoredItems::parse(["all"]).unwrap().remaining(TaskMode::All).is_empty());
    }

    #[test]
    fn an_unknown_name_is_refused_by_name() {
        assert_eq!(IgnoredItems::parse(["version", "versions"]), Err("versions".to_owned()));
    }
}
