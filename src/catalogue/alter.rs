//! A shape and an ALTER TABLE in, the shape after it out.
//!
//! All items of the statement are read first and carried out together, as the servers do: drops and changes in
//! place, then what is added or moved, in the order of the statement.
//! The surprise: a column that is changed loses what the new definition does not say, while its keys stay.

use super::charset::Collation;
use super::column::column;
use super::create::{Wishes, engine, forbid_nulls};
use super::error::CatalogueError;
use super::foreign_key::{foreign_keys as made, kept_by, rename_column};
use super::key::{KeyContext, KeyRequest, keys};
use super::settings::Settings;
use super::shape::{Column, Key, KeyPartSource, TableShape};
use crate::ddl::{
    AlterSpec, AlterTable, CharsetChoice, ColumnDefinition, DefaultChange, ElementKind, KeyKind, OptionKind, Place,
    same_name,
};
use crate::model::TableName;

/// What an ALTER TABLE did.
#[derive(Debug)]
pub(super) struct Altered {
    pub shape: TableShape,
    /// The new name of the table.
    pub renamed: Option<TableName>,
    /// Old and new names of columns.
    pub renamed_columns: Vec<(String, String)>,
    /// Items that did nothing, since they said IF EXISTS or IF NOT EXISTS.
    pub idle_items: Vec<usize>,
}

pub(super) fn alter(
    before: &TableShape,
    alter: &AlterTable,
    text: &str,
    convert_default: &Collation,
    settings: &Settings,
) -> Result<Altered, CatalogueError> {
    let mut alteration = Alteration::new(before, &alter.table.table, text, settings);
    alteration.read_collation(alter, convert_default)?;
    for (index, item) in alter.items.iter().enumerate() {
        if !alteration.read(&item.spec)? {
            alteration.idle_items.push(index);
        }
    }
    alteration.finish()
}

/// Where a column that is added or changed goes.
struct Arrival<'a> {
    column: Column,
    /// The name it has now; none: it is new.
    old: Option<&'a str>,
    place: Option<&'a Place>,
}

struct Alteration<'a> {
    before: &'a TableShape,
    table: &'a TableName,
    text: &'a str,
    settings: &'a Settings,
    /// The default of columns from now on.
    collation: Collation,
    /// CONVERT TO: every text column gets it.
    convert: Option<Collation>,
    engine: Option<String>,
    system_versioned: bool,
    dropped_columns: Vec<&'a str>,
    dropped_keys: Vec<&'a str>,
    dropped_foreign_keys: Vec<&'a str>,
    renamed_keys: Vec<(&'a str, &'a str)>,
    visibility: Vec<(&'a str, bool)>,
    arrivals: Vec<Arrival<'a>>,
    wishes: Wishes<'a>,
    renamed: Option<TableName>,
    idle_items: Vec<usize>,
}

impl<'a> Alteration<'a> {
    fn new(before: &'a TableShape, table: &'a TableName, text: &'a str, settings: &'a Settings) -> Self {
        Self {
            before,
            table,
            text,
            settings,
            collation: before.collation.clone(),
            convert: None,
            engine: before.engine.clone(),
            system_versioned: before.system_versioned,
            dropped_columns: Vec::new(),
            dropped_keys: Vec::new(),
            dropped_foreign_keys: Vec::new(),
            renamed_keys: Vec::new(),
            visibility: Vec::new(),
            arrivals: Vec::new(),
            wishes: Wishes::default(),
            renamed: None,
            idle_items: Vec::new(),
        }
    }

    /// The new default counts for all columns of the statement, wherever in it it stands.
    fn read_collation(&mut self, alter: &AlterTable, convert_default: &Collation) -> Result<(), CatalogueError> {
        for item in &alter.items {
            match &item.spec {
                AlterSpec::Options { charset, .. } if !charset.is_empty() => {
                    // of the database, where it is not about a collation alone
                    let inherited = match charset.charset {
                        Some(_) => convert_default,
                        None => &self.before.collation,
                    };
                    self.collation = self.settings.choose(charset, inherited)?;
                }
                AlterSpec::ConvertCharset(charset) => {
                    let is_default = charset.charset.as_deref() == Some("default");
                    let charset = CharsetChoice {
                        charset: charset.charset.clone().filter(|_| !is_default),
                        collation: charset.collation.clone(),
                    };
                    let converted = self.settings.choose(&charset, convert_default)?;
                    self.collation = converted.clone();
                    self.convert = Some(converted);
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Reads one item; false if it does nothing.
    fn read(&mut self, spec: &'a AlterSpec) -> Result<bool, CatalogueError> {
        match spec {
            AlterSpec::AddColumn { if_not_exists, column, place } => {
                return self.add_column(column, *if_not_exists, place);
            }
            AlterSpec::AddElements { if_not_exists, elements } => {
                let mut effect = false;
                for element in elements {
                    match &element.kind {
                        ElementKind::Column(column) => {
                            effect |= self.add_column(column, *if_not_exists, &Place::Unspecified)?;
                        }
                        _ => {
                            self.wishes.add_element(element, self.text, self.settings);
                            effect = true;
                        }
                    }
                }
                return Ok(effect);
            }
            AlterSpec::AddKey(key) => {
                let request = KeyRequest::written(key, self.text);
                if key.if_not_exists && self.has_key(&request) {
                    return Ok(false);
                }
                self.wishes.keys.push(request);
            }
            AlterSpec::AddForeignKey(written) => {
                let name = written.name.as_ref().or(written.index_name.as_ref());
                let exists = name.is_some_and(|name| self.before.foreign_keys.iter().any(|key| name.is(&key.name)));
                if written.if_not_exists && exists {
                    return Ok(false);
                }
                self.wishes.add_foreign_key(written);
            }
            AlterSpec::AddPeriod { start, end, .. } => self.wishes.not_null.extend([&*start.value, &*end.value]),
            AlterSpec::ChangeColumn { if_exists, old, column, place } => {
                return self.change_column(&old.value, column, *if_exists, place);
            }
            AlterSpec::ModifyColumn { if_exists, column, place } => {
                return self.change_column(&column.name.value, column, *if_exists, place);
            }
            AlterSpec::RenameColumn { if_exists, old, new } => {
                let Some(renamed) = self.existing_column(&old.value, *if_exists)? else { return Ok(false) };
                let mut column = renamed.clone();
                column.name.clone_from(&new.value);
                self.arrivals.push(Arrival { column, old: Some(&old.value), place: None });
            }
            AlterSpec::AlterColumn { if_exists, name, change } => {
                if self.existing_column(&name.value, *if_exists)?.is_none() {
                    return Ok(false);
                }
                if let DefaultChange::SetInvisible(invisible) = change {
                    self.visibility.push((&name.value, *invisible));
                }
            }
            AlterSpec::DropColumn { if_exists, name } => {
                if self.existing_column(&name.value, *if_exists)?.is_none() {
                    return Ok(false);
                }
                self.dropped_columns.push(&name.value);
            }
            AlterSpec::DropPrimaryKey => return self.drop_key("PRIMARY", false),
            AlterSpec::DropKey { if_exists, name } => return self.drop_key(&name.value, *if_exists),
            AlterSpec::DropForeignKey { if_exists, name } => return self.drop_foreign_key(&name.value, *if_exists),
            AlterSpec::DropConstraint { name, .. } => return Ok(self.drop_constraint(&name.value)),
            AlterSpec::RenameKey { if_exists, old, new } => {
                if self.before.key(&old.value).is_none() {
                    return if *if_exists { Ok(false) } else { Err(self.unknown_key(&old.value)) };
                }
                self.renamed_keys.push((&old.value, &new.value));
            }
            AlterSpec::Rename(to) => self.renamed = Some(to.table.clone()),
            AlterSpec::Options { options, .. } => {
                let kinds = || options.iter().map(|option| &option.kind);
                self.engine = engine(kinds()).or(self.engine.take());
                self.system_versioned |= kinds().any(|kind| *kind == OptionKind::SystemVersioning);
            }
            AlterSpec::AddSystemVersioning => self.system_versioned = true,
            // a declared period must be dropped in the same statement
            AlterSpec::DropSystemVersioning => self.system_versioned = false,
            AlterSpec::AddCheck { .. }
            | AlterSpec::DropCheck { .. }
            | AlterSpec::AlterCheck { .. }
            | AlterSpec::DropPeriod { .. }
            | AlterSpec::AlterKey { .. }
            | AlterSpec::ConvertCharset(_)
            | AlterSpec::OrderBy
            | AlterSpec::Force
            | AlterSpec::EnableKeys
            | AlterSpec::DisableKeys
            | AlterSpec::DiscardTablespace
            | AlterSpec::ImportTablespace
            | AlterSpec::Algorithm(_)
            | AlterSpec::Lock(_)
            | AlterSpec::Validation
            | AlterSpec::Partition(_) => {}
        }
        Ok(true)
    }

    fn add_column(
        &mut self,
        definition: &'a ColumnDefinition,
        if_not_exists: bool,
        place: &'a Place,
    ) -> Result<bool, CatalogueError> {
        let name = &definition.name.value;
        let arriving = self.arrivals.iter().any(|arrival| same_name(&arrival.column.name, name));
        if if_not_exists && (arriving || self.before.column(name).is_some()) {
            return Ok(false);
        }
        let column = column(definition, &self.collation, self.settings)?;
        self.arrivals.push(Arrival { column, old: None, place: Some(place) });
        self.wishes.add_column(definition, self.settings);
        self.system_versioned |= definition.with_system_versioning;
        Ok(true)
    }

    fn change_column(
        &mut self,
        old: &'a str,
        definition: &'a ColumnDefinition,
        if_exists: bool,
        place: &'a Place,
    ) -> Result<bool, CatalogueError> {
        if self.existing_column(old, if_exists)?.is_none() {
            return Ok(false);
        }
        let column = column(definition, &self.collation, self.settings)?;
        let place = (*place != Place::Unspecified).then_some(place);
        self.arrivals.push(Arrival { column, old: Some(old), place });
        self.wishes.add_column(definition, self.settings);
        Ok(true)
    }

    fn existing_column(&self, name: &str, if_exists: bool) -> Result<Option<&'a Column>, CatalogueError> {
        match self.before.column(name) {
            None if !if_exists => Err(self.unknown_column(name)),
            found => Ok(found),
        }
    }

    /// A key that is not named is known by its first column.
    fn has_key(&self, request: &KeyRequest) -> bool {
        let first = request.parts.first().and_then(|part| match &part.source {
            KeyPartSource::Column(name) => Some(name),
            _ => None,
        });
        match (request.kind, request.name.as_ref().or(first)) {
            (KeyKind::Primary, _) => self.before.primary_key().is_some(),
            (_, Some(name)) => {
                let wished = self.wishes.keys.iter().filter_map(|key| key.name.as_deref());
                self.before.key(name).is_some() || wished.into_iter().any(|wished| same_name(wished, name))
            }
            (_, None) => false,
        }
    }

    fn drop_key(&mut self, name: &'a str, if_exists: bool) -> Result<bool, CatalogueError> {
        if self.before.key(name).is_some() {
            self.dropped_keys.push(name);
            return Ok(true);
        }
        if if_exists { Ok(false) } else { Err(self.unknown_key(name)) }
    }

    fn drop_foreign_key(&mut self, name: &'a str, if_exists: bool) -> Result<bool, CatalogueError> {
        if self.before.foreign_keys.iter().any(|key| same_name(&key.name, name)) {
            self.dropped_foreign_keys.push(name);
            return Ok(true);
        }
        let table = self.table.clone();
        if if_exists { Ok(false) } else { Err(CatalogueError::UnknownForeignKey { table, name: name.to_owned() }) }
    }

    /// Constraints share their names: a foreign key, a unique key, the primary key, or a check, which shapes do not
    /// hold, so that one not found may be one.
    fn drop_constraint(&mut self, name: &'a str) -> bool {
        if self.before.foreign_keys.iter().any(|key| same_name(&key.name, name)) {
            self.dropped_foreign_keys.push(name);
        } else if self.before.unique_keys().any(|key| same_name(&key.name, name)) {
            self.dropped_keys.push(name);
        }
        true
    }

    fn unknown_column(&self, column: &str) -> CatalogueError {
        CatalogueError::UnknownColumn { table: self.table.clone(), column: column.to_owned() }
    }

    fn unknown_key(&self, key: &str) -> CatalogueError {
        CatalogueError::UnknownKey { table: self.table.clone(), key: key.to_owned() }
    }

    fn finish(mut self) -> Result<Altered, CatalogueError> {
        let renamed_columns = self.renamed_columns();
        let new = self.arrivals.iter().filter(|arrival| arrival.old.is_none());
        let new_columns: Vec<String> = new.map(|arrival| arrival.column.name.clone()).collect();
        let mut columns = self.arrange_columns()?;
        if let Some(convert) = &self.convert {
            for column in &mut columns {
                column.column_type = column.column_type.converted(convert);
            }
        }
        let requests = self.key_requests(&renamed_columns, &new_columns);
        let engine = self.engine.as_deref();
        let context = KeyContext {
            table: self.table,
            columns: &columns,
            engine,
            system_versioned: self.system_versioned,
            settings: self.settings,
        };
        let keys = keys(requests, &context)?;
        forbid_nulls(&mut columns, &keys, &self.wishes.not_null);

        let mut foreign_keys = self.before.foreign_keys.clone();
        foreign_keys.retain(|key| !self.dropped_foreign_keys.iter().any(|name| same_name(name, &key.name)));
        for (old, new) in &renamed_columns {
            rename_column(&mut foreign_keys, old, new);
        }
        if kept_by(engine) {
            let before = &self.before.foreign_keys;
            foreign_keys.extend(made(&self.wishes.foreign_keys, self.table, before, self.settings));
        }
        let shape = TableShape {
            columns,
            keys,
            foreign_keys,
            collation: self.collation,
            engine: self.engine,
            system_versioned: self.system_versioned,
            sequence: self.before.sequence,
        };
        Ok(Altered { shape, renamed: self.renamed, renamed_columns, idle_items: self.idle_items })
    }

    fn renamed_columns(&self) -> Vec<(String, String)> {
        let changed = self.arrivals.iter().filter_map(|arrival| {
            let old = arrival.old?;
            (old != arrival.column.name).then(|| (old.to_owned(), arrival.column.name.clone()))
        });
        changed.collect()
    }

    /// The columns in their new order.
    fn arrange_columns(&mut self) -> Result<Vec<Column>, CatalogueError> {
        let mut columns: Vec<Column> = Vec::new();
        for old in &self.before.columns {
            if self.dropped_columns.iter().any(|name| same_name(name, &old.name)) {
                continue;
            }
            let changed = |arrival: &&Arrival<'_>| arrival.old.is_some_and(|name| same_name(name, &old.name));
            match self.arrivals.iter().find(changed) {
                Some(arrival) if arrival.place.is_none() => columns.push(arrival.column.clone()),
                Some(_) => {}
                None => columns.push(old.clone()),
            }
        }
        for arrival in self.arrivals.drain(..) {
            let Some(place) = arrival.place else { continue };
            if columns.iter().any(|column| same_name(&column.name, &arrival.column.name)) {
                let column = arrival.column.name;
                return Err(CatalogueError::ColumnExists { table: self.table.clone(), column });
            }
            let index = match place {
                Place::Unspecified => columns.len(),
                Place::First => 0,
                Place::After(after) => {
                    let found = columns.iter().position(|column| after.is(&column.name));
                    let table = self.table.clone();
                    let column = after.value.clone();
                    found.ok_or(CatalogueError::UnknownColumn { table, column })? + 1
                }
            };
            columns.insert(index, arrival.column);
        }
        for (name, invisible) in &self.visibility {
            for column in columns.iter_mut().filter(|column| same_name(&column.name, name)) {
                column.invisible = *invisible;
            }
        }
        Ok(columns)
    }

    /// The keys that stay, with their columns' new names, and then the new ones.
    fn key_requests(&mut self, renamed_columns: &[(String, String)], new_columns: &[String]) -> Vec<KeyRequest> {
        let mut requests: Vec<KeyRequest> = Vec::new();
        for key in &self.before.keys {
            if self.dropped_keys.iter().any(|name| same_name(name, &key.name)) {
                continue;
            }
            let key = self.key_after_columns(key, renamed_columns, new_columns);
            requests.extend((!key.parts.is_empty()).then(|| KeyRequest::from(key)));
        }
        requests.append(&mut self.wishes.keys);
        requests
    }

    fn key_after_columns(&self, key: &Key, renamed_columns: &[(String, String)], new_columns: &[String]) -> Key {
        let mut key = key.clone();
        if let Some((_, new)) = self.renamed_keys.iter().find(|(old, _)| same_name(old, &key.name)) {
            (*new).clone_into(&mut key.name);
        }
        // a column that is dropped and made anew in one statement stays in its keys
        let gone = |name: &str| {
            self.dropped_columns.iter().any(|dropped| same_name(dropped, name))
                && !new_columns.iter().any(|new| same_name(new, name))
        };
        key.parts.retain(|part| match &part.source {
            KeyPartSource::Column(name) => !gone(name),
            _ => true,
        });
        for part in &mut key.parts {
            if let KeyPartSource::Column(name) = &mut part.source
                && let Some((_, new)) = renamed_columns.iter().find(|(old, _)| same_name(old, name))
            {
                new.clone_into(name);
            }
        }
        key
    }
}
