//! The target's tables as they stand: shapes, what the server sets by itself, and which tables cascades tie together.
//! Asked when first needed, and again after every DDL.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use super::error::Error;
use super::keys::hash_of;
use super::weights::WeightTable;
use crate::catalogue::{Settings, TableShape};
use crate::model::TableName;
use crate::mysql::{Connection, Deadline, string_literal};

/// A table of the target.
#[derive(Debug)]
pub struct TargetTable {
    pub shape: TableShape,
    /// Columns with ON UPDATE CURRENT_TIMESTAMP.
    pub set_on_update: Vec<String>,
}

/// A foreign key that changes children by itself.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Cascade {
    child: TableName,
    parent: TableName,
}

/// What is known of the target. Everything is asked through the session that is handed in.
#[derive(Debug)]
pub struct TargetTables {
    settings: Settings,
    tables: HashMap<TableName, Arc<TargetTable>>,
    cascades: Option<Cascades>,
    pub weights: WeightTable,
}

#[derive(Debug, Default)]
struct Cascades {
    all: BTreeSet<Cascade>,
    /// The group of every table that a cascade touches.
    groups: BTreeMap<TableName, u64>,
}

impl TargetTables {
    /// `settings` are the target's.
    pub fn new(settings: Settings) -> Self {
        Self { settings, tables: HashMap::new(), cascades: None, weights: WeightTable::default() }
    }

    /// Forgets shapes and cascades; collations stay what they are.
    pub fn forget(&mut self) {
        self.tables.clear();
        self.cascades = None;
    }

    pub async fn table(
        &mut self,
        connection: &mut Connection,
        name: &TableName,
        deadline: Deadline,
    ) -> Result<Arc<TargetTable>, Error> {
        if let Some(known) = self.tables.get(name) {
            return Ok(Arc::clone(known));
        }
        let wrong = |why: String| Error::TargetTable { table: name.clone(), why, position: String::new() };
        let failed = |cause| Error::Target { doing: "read a structure of", position: String::new(), cause };
        let doing = "reading a table's structure";
        let row = match connection.first_row(&format!("SHOW CREATE TABLE {name}"), doing, deadline).await {
            Ok(row) => row,
            Err(error) if matches!(error.server_code(), Some(1146 | 1049)) => {
                return Err(wrong("it does not exist there".to_owned()));
            }
            Err(cause) => return Err(failed(cause)),
        };
        let text = row.text_at(1).map_err(failed)?;
        let shape = crate::catalogue::shape_of_definition(name, &text, &self.settings)
            .map_err(|error| wrong(error.to_string()))?;
        let sql = format!(
            "SELECT column_name AS name FROM information_schema.columns WHERE table_schema = {} AND table_name = {} \
             AND LOWER(extra) LIKE '%on update%'",
            string_literal(&name.schema),
            string_literal(&name.table)
        );
        let rows = connection.rows(&sql, doing, deadline).await.map_err(failed)?;
        let set_on_update = rows.iter().map(|row| row.text("name")).collect::<Result<_, _>>().map_err(failed)?;
        let table = Arc::new(TargetTable { shape, set_on_update });
        self.tables.insert(name.clone(), Arc::clone(&table));
        Ok(table)
    }

    /// Whether deleting or updating rows of this table changes rows of others, and the group it shares one order
    /// with.
    pub async fn ties(
        &mut self,
        connection: &mut Connection,
        name: &TableName,
        deadline: Deadline,
    ) -> Result<(bool, Option<u64>), Error> {
        let cascades = self.cascades(connection, deadline).await?;
        Ok((cascades.has_parent(name), cascades.groups.get(name).copied()))
    }

    async fn cascades(&mut self, connection: &mut Connection, deadline: Deadline) -> Result<&Cascades, Error> {
        if self.cascades.is_none() {
            self.cascades = Some(Cascades::of(read_cascades(connection, deadline).await?));
        }
        Ok(self.cascades.get_or_insert_with(Cascades::default))
    }
}

impl Cascades {
    /// Tables that are connected by cascades, directly or through others, get one group.
    fn of(all: BTreeSet<Cascade>) -> Self {
        let mut groups: BTreeMap<TableName, u64> = BTreeMap::new();
        for Cascade { child, parent } in &all {
            let group = groups.get(parent).copied().unwrap_or_else(|| hash_of(parent));
            groups.insert(parent.clone(), group);
            match groups.insert(child.clone(), group) {
                Some(old) if old != group => {
                    groups.values_mut().filter(|value| **value == old).for_each(|value| *value = group);
                }
                _ => {}
            }
        }
        Self { all, groups }
    }

    fn has_parent(&self, name: &TableName) -> bool {
        self.all.iter().any(|cascade| cascade.parent == *name)
    }
}

async fn read_cascades(connection: &mut Connection, deadline: Deadline) -> Result<BTreeSet<Cascade>, Error> {
    let failed = |cause| Error::Target { doing: "read the foreign keys of", position: String::new(), cause };
    let sql = "SELECT constraint_schema AS child_schema, table_name AS child_table, \
               unique_constraint_schema AS parent_schema, referenced_table_name AS parent_table \
               FROM information_schema.referential_constraints \
               WHERE delete_rule IN ('CASCADE', 'SET NULL') OR update_rule IN ('CASCADE', 'SET NULL')";
    let rows = connection.rows(sql, "reading foreign keys", deadline).await.map_err(failed)?;
    rows.iter()
        .map(|row| {
            let text = |column| row.text(column).map_err(failed);
            Ok(Cascade {
                child: TableName::new(text("child_schema")?, text("child_table")?),
                parent: TableName::new(text("parent_schema")?, text("parent_table")?),
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cascade(child: &str, parent: &str) -> Cascade {
        Cascade { child: TableName::new("d", child), parent: TableName::new("d", parent) }
    }

    #[test]
    fn tables_that_cascades_connect_share_one_order() {
        let cascades = Cascades::of(BTreeSet::from([
            cascade("line", "order"),
            cascade("tag", "item"),
            cascade("line", "item"),
            cascade("leaf", "root"),
        ]));
        let group = |name: &str| cascades.groups.get(&TableName::new("d", name)).copied();
        assert!(group("line").is_some());
        for name in ["order", "item", "tag"] {
            assert_eq!(group(name), group("line"), "{name}");
        }
        assert_ne!(group("leaf"), group("line"));
        assert_eq!(group("alone"), None);
        assert!(cascades.has_parent(&TableName::new("d", "item")));
        assert!(!cascades.has_parent(&TableName::new("d", "line")));
    }
}
