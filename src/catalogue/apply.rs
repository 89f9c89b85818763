//! Carries a parsed statement out on the catalogue. Either all of it or nothing.

use std::sync::Arc;

use super::alter::{Altered, alter};
use super::create;
use super::error::CatalogueError;
use super::foreign_key::{follow_own_rename, rename_parent_column};
use super::key::{KeyContext, KeyRequest, keys};
use super::settings::Settings;
use super::shape::TableShape;
use super::{Catalogue, Collation, Entry};
use crate::ddl::{
    Action, AlterSpec, AlterTable, CreateDatabase, CreateIndex, CreateTable, CreateTableLike, DropIndex, Meaning,
    Named, Parsed, PartitionAction, Statement,
};
use crate::model::TableName;

/// What a statement did to the catalogue. A statement that only looks (or changes rows) does nothing.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Applied {
    pub created: Vec<TableName>,
    /// Their shapes may be the same as before.
    pub changed: Vec<TableName>,
    pub dropped: Vec<TableName>,
    /// Old and new names, in order.
    pub renamed: Vec<(TableName, TableName)>,
    /// Tables that the statement changes, drops or renames and that are not known here.
    pub unknown: Vec<TableName>,
    /// Items of an ALTER TABLE that did nothing, since they said IF EXISTS or IF NOT EXISTS.
    pub idle_items: Vec<usize>,
    /// The statement as a whole did nothing, for the same reason.
    pub idle: bool,
}

impl Catalogue {
    /// Follows one statement of the source. An error leaves the catalogue as it was.
    pub fn apply(&mut self, parsed: &Parsed, settings: &Settings) -> Result<Applied, CatalogueError> {
        let statement = match &parsed.meaning {
            Meaning::Understood(statement) => statement,
            Meaning::Named(named) => return self.apply_named(named, settings),
            Meaning::NotUnderstood(reason) => {
                return Err(CatalogueError::NotUnderstood { reason: reason.reason.clone(), offset: reason.offset });
            }
        };
        let mut applied = Applied::default();
        match statement {
            Statement::CreateTable(create) => self.create_table(create, &parsed.text, settings, &mut applied)?,
            Statement::CreateTableLike(create) => self.create_table_like(create, &mut applied)?,
            Statement::AlterTable(alter) => self.alter_table(alter, parsed, settings, &mut applied)?,
            Statement::DropTable(drop) => {
                for table in &drop.tables {
                    self.drop_table(&table.table, &mut applied);
                }
                applied.idle = applied.dropped.is_empty();
            }
            Statement::RenameTable(rename) => {
                for (from, to) in &rename.pairs {
                    self.rename_table(&from.table, &to.table, &mut applied);
                }
            }
            Statement::TruncateTable(table) => {
                let known = self.table(&table.table).is_some();
                let list = if known { &mut applied.changed } else { &mut applied.unknown };
                list.push(table.table.clone());
            }
            Statement::CreateIndex(create) => self.create_index(create, &parsed.text, settings, &mut applied)?,
            Statement::DropIndex(drop) => self.drop_index(drop, settings, &mut applied)?,
            Statement::CreateDatabase(create) => self.create_database(create, settings, &mut applied)?,
            Statement::AlterDatabase(alter) => {
                let current = self.known_database(&alter.name)?;
                let inherited = if alter.charset.charset.is_some() { &settings.server_collation } else { current };
                let collation = settings.choose(&alter.charset, inherited)?;
                self.add_database(&alter.name, collation);
            }
            Statement::DropDatabase(drop) => self.drop_database(&drop.name.value, &mut applied),
        }
        Ok(applied)
    }

    fn known_database(&self, name: &str) -> Result<&Collation, CatalogueError> {
        self.database(name).ok_or_else(|| CatalogueError::UnknownDatabase { database: name.to_owned() })
    }

    /// Makes room for a new table: false if there is one that stays.
    fn make_room(&mut self, table: &TableName, or_replace: bool, if_not_exists: bool) -> Result<bool, CatalogueError> {
        if self.table(table).is_none() || or_replace {
            return Ok(true);
        }
        if if_not_exists { Ok(false) } else { Err(CatalogueError::TableExists { table: table.clone() }) }
    }

    fn create_table(
        &mut self,
        create: &CreateTable,
        text: &str,
        settings: &Settings,
        applied: &mut Applied,
    ) -> Result<(), CatalogueError> {
        let table = &create.table.table;
        if !self.make_room(table, create.or_replace, create.if_not_exists)? {
            applied.idle = true;
            return Ok(());
        }
        let shape = create::shape(create, text, self.known_database(&table.schema)?, settings)?;
        self.add_table(table.clone(), Arc::new(shape));
        applied.created.push(table.clone());
        Ok(())
    }

    /// Everything but the foreign keys is taken over.
    fn create_table_like(&mut self, create: &CreateTableLike, applied: &mut Applied) -> Result<(), CatalogueError> {
        let table = &create.table.table;
        let like = &create.like.table;
        let Some(model) = self.table(like) else { return Err(CatalogueError::UnknownTable { table: like.clone() }) };
        let mut shape = TableShape::clone(model);
        shape.foreign_keys.clear();
        if !self.make_room(table, create.or_replace, create.if_not_exists)? {
            applied.idle = true;
            return Ok(());
        }
        self.add_table(table.clone(), Arc::new(shape));
        applied.created.push(table.clone());
        Ok(())
    }

    fn alter_table(
        &mut self,
        statement: &AlterTable,
        parsed: &Parsed,
        settings: &Settings,
        applied: &mut Applied,
    ) -> Result<(), CatalogueError> {
        let table = &statement.table.table;
        let Some(before) = self.table(table).cloned() else {
            applied.unknown.push(table.clone());
            return Ok(());
        };
        let convert_default = self.convert_default(table, parsed, settings)?;
        let Altered { shape, renamed, renamed_columns, idle_items } =
            alter(&before, statement, &parsed.text, &convert_default, settings)?;
        let shape = Arc::new(shape);
        self.add_table(table.clone(), Arc::clone(&shape));
        applied.changed.push(table.clone());
        applied.idle = !statement.items.is_empty() && idle_items.len() == statement.items.len();
        applied.idle_items = idle_items;
        if !renamed_columns.is_empty() {
            self.rename_columns_of_parent(table, &renamed_columns);
        }
        for item in &statement.items {
            match &item.spec {
                AlterSpec::Partition(PartitionAction::ConvertToTable { table: part }) => {
                    self.add_table(part.table.clone(), Arc::clone(&shape));
                    applied.created.push(part.table.clone());
                }
                AlterSpec::Partition(PartitionAction::ConvertFromTable { table: part }) => {
                    self.drop_table(&part.table, applied);
                }
                _ => {}
            }
        }
        if let Some(to) = renamed {
            self.rename_table(table, &to, applied);
        }
        Ok(())
    }

    /// What `CONVERT TO CHARACTER SET DEFAULT` means: to MariaDB the default collation of the character set of the
    /// table's database, to MySQL the collation of the session's database, whichever the table's is.
    fn convert_default(
        &self,
        table: &TableName,
        parsed: &Parsed,
        settings: &Settings,
    ) -> Result<Collation, CatalogueError> {
        let schema = if settings.is_mariadb() { Some(&table.schema) } else { parsed.context.default_schema.as_ref() };
        let database = schema.and_then(|schema| self.database(schema)).unwrap_or(&settings.server_collation);
        if settings.is_mariadb() { settings.default_collation(database.charset()) } else { Ok(database.clone()) }
    }

    fn drop_table(&mut self, table: &TableName, applied: &mut Applied) {
        let key = self.folded_table(table);
        match self.tables.remove(&key) {
            Some(entry) => applied.dropped.push(entry.name),
            None => applied.unknown.push(table.clone()),
        }
    }

    fn rename_table(&mut self, from: &TableName, to: &TableName, applied: &mut Applied) {
        let Some(mut entry) = self.tables.remove(&self.folded_table(from)) else {
            // whatever bore the new name is another table now
            applied.unknown.push(from.clone());
            self.forget_table(to);
            return;
        };
        if !entry.shape.foreign_keys.is_empty() {
            follow_own_rename(&mut Arc::make_mut(&mut entry.shape).foreign_keys, from, to);
        }
        entry.name = to.clone();
        self.tables.insert(self.folded_table(to), entry);
        self.for_children(from, |foreign_key| foreign_key.parent = to.clone());
        applied.renamed.push((from.clone(), to.clone()));
    }

    /// Changes the foreign keys of all tables that point to a parent.
    fn for_children(&mut self, parent: &TableName, change: impl Fn(&mut super::ForeignKey)) {
        let parent = self.folded_table(parent);
        let ignore_case = self.names_ignore_case;
        let is_parent = |table: &TableName| {
            *table == parent
                || (ignore_case
                    && table.schema.to_lowercase() == parent.schema
                    && table.table.to_lowercase() == parent.table)
        };
        for entry in self.tables.values_mut() {
            if entry.shape.foreign_keys.iter().any(|key| is_parent(&key.parent)) {
                let shape = Arc::make_mut(&mut entry.shape);
                shape.foreign_keys.iter_mut().filter(|key| is_parent(&key.parent)).for_each(&change);
            }
        }
    }

    fn rename_columns_of_parent(&mut self, parent: &TableName, renamed: &[(String, String)]) {
        self.for_children(parent, |foreign_key| {
            let own = foreign_key.parent.clone();
            for (old, new) in renamed {
                rename_parent_column(std::slice::from_mut(foreign_key), &own, old, new);
            }
        });
    }

    /// Makes the keys of a table anew from the requests that `change` leaves.
    fn change_keys(
        &mut self,
        table: &TableName,
        settings: &Settings,
        change: impl FnOnce(&TableShape, &mut Vec<KeyRequest>) -> Result<bool, CatalogueError>,
        applied: &mut Applied,
    ) -> Result<(), CatalogueError> {
        let Some(shape) = self.table(table) else {
            applied.unknown.push(table.clone());
            return Ok(());
        };
        let mut requests: Vec<KeyRequest> = shape.keys.iter().cloned().map(KeyRequest::from).collect();
        if !change(shape, &mut requests)? {
            applied.idle = true;
            return Ok(());
        }
        let engine = shape.engine.as_deref();
        let context =
            KeyContext { table, columns: &shape.columns, engine, system_versioned: shape.system_versioned, settings };
        let mut changed = TableShape::clone(shape);
        changed.keys = keys(requests, &context)?;
        self.add_table(table.clone(), Arc::new(changed));
        applied.changed.push(table.clone());
        Ok(())
    }

    fn create_index(
        &mut self,
        create: &CreateIndex,
        text: &str,
        settings: &Settings,
        applied: &mut Applied,
    ) -> Result<(), CatalogueError> {
        let name = create.key.name.as_ref().map_or("", |name| &name.value);
        let request = KeyRequest::written(&create.key, text);
        let change = |shape: &TableShape, requests: &mut Vec<KeyRequest>| {
            let exists = shape.key(name).is_some();
            if exists && create.key.if_not_exists {
                return Ok(false);
            }
            if create.or_replace {
                requests.retain(|key| key.name.as_deref().is_none_or(|key| !crate::ddl::same_name(key, name)));
            }
            requests.push(request);
            Ok(true)
        };
        self.change_keys(&create.table.table, settings, change, applied)
    }

    fn drop_index(
        &mut self,
        drop: &DropIndex,
        settings: &Settings,
        applied: &mut Applied,
    ) -> Result<(), CatalogueError> {
        let table = &drop.table.table;
        let change = |shape: &TableShape, requests: &mut Vec<KeyRequest>| {
            if shape.key(&drop.name.value).is_none() {
                let unknown = CatalogueError::UnknownKey { table: table.clone(), key: drop.name.value.clone() };
                return if drop.if_exists { Ok(false) } else { Err(unknown) };
            }
            requests.retain(|key| key.name.as_deref().is_none_or(|key| !drop.name.is(key)));
            Ok(true)
        };
        self.change_keys(table, settings, change, applied)
    }

    fn create_database(
        &mut self,
        create: &CreateDatabase,
        settings: &Settings,
        applied: &mut Applied,
    ) -> Result<(), CatalogueError> {
        let name = &create.name.value;
        if self.database(name).is_some() && !create.or_replace {
            applied.idle = true;
            return Ok(());
        }
        let collation = settings.choose(&create.charset, &settings.server_collation)?;
        self.drop_tables_of(name, applied);
        self.add_database(name, collation);
        Ok(())
    }

    fn drop_database(&mut self, name: &str, applied: &mut Applied) {
        let known = self.databases.remove(&self.folded(name)).is_some();
        applied.idle = !known;
        self.drop_tables_of(name, applied);
    }

    fn drop_tables_of(&mut self, database: &str, applied: &mut Applied) {
        let database = self.folded(database);
        let of_database: Vec<TableName> =
            self.tables.keys().filter(|table| table.schema == database).cloned().collect();
        for table in of_database {
            if let Some(Entry { name, .. }) = self.tables.remove(&table) {
                applied.dropped.push(name);
            }
        }
    }

    /// Sequences stand among the tables; all other objects have no shape.
    fn apply_named(&mut self, named: &Named, settings: &Settings) -> Result<Applied, CatalogueError> {
        let mut applied = Applied::default();
        let Named::Sequence { action, or_replace, if_not_exists, sequences, data_type, .. } = named else {
            return Ok(applied);
        };
        for sequence in sequences {
            match action {
                Action::Create => {
                    if self.make_room(&sequence.table, *or_replace, *if_not_exists)? {
                        let shape = create::sequence(data_type.as_ref(), settings)?;
                        self.add_table(sequence.table.clone(), Arc::new(shape));
                        applied.created.push(sequence.table.clone());
                    } else {
                        applied.idle = true;
                    }
                }
                Action::Drop => self.drop_table(&sequence.table, &mut applied),
                Action::Alter | Action::Rename => applied.changed.push(sequence.table.clone()),
            }
        }
        Ok(applied)
    }
}
