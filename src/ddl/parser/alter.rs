//! ALTER TABLE, CREATE INDEX and DROP INDEX.

use super::cursor::{Parser, Result};
use crate::ddl::token::TokenKind;
use crate::ddl::tree::{
    AlterItem, AlterSpec, AlterTable, CharsetPlace, ClauseKind, CreateIndex, DefaultChange, DropIndex, ElementKind,
    KeyDefinition, KeyKind, Place, Statement, TableRole,
};
use crate::model::TableName;

impl Parser<'_> {
    /// From after `ALTER [ONLINE] [IGNORE] TABLE`.
    pub fn alter_table(&mut self, ignore: bool) -> Result<Statement> {
        let if_exists = self.if_exists(false);
        let table = self.table(TableRole::Subject)?;
        self.wait()?;
        let own = table.table.clone();
        let mut items = Vec::new();
        while !self.at_end() && !self.is_sign(';') {
            let start = self.here();
            let spec = self.alter_spec(&own)?;
            items.push(AlterItem { spec, span: self.since(start) });
            // a partition clause follows without a comma
            let partitions_follow = self.are_keywords("PARTITION BY") || self.are_keywords("REMOVE PARTITIONING");
            if !self.eat_sign(',') && !partitions_follow {
                break;
            }
        }
        Ok(Statement::AlterTable(AlterTable { table, if_exists, ignore, items }))
    }

    fn alter_spec(&mut self, own: &TableName) -> Result<AlterSpec> {
        if let Some(action) = self.partition_action()? {
            return Ok(AlterSpec::Partition(action));
        }
        if self.eat("ADD") {
            return self.add_spec(own);
        }
        if self.eat("DROP") {
            return self.drop_spec();
        }
        if self.eat("CHANGE") {
            self.eat("COLUMN");
            let if_exists = self.if_exists(true);
            let old = self.name()?;
            let column = self.column_definition(own)?;
            return Ok(AlterSpec::ChangeColumn { if_exists, old, column, place: self.place()? });
        }
        if self.eat("MODIFY") {
            self.eat("COLUMN");
            let if_exists = self.if_exists(true);
            let column = self.column_definition(own)?;
            return Ok(AlterSpec::ModifyColumn { if_exists, column, place: self.place()? });
        }
        if self.eat("RENAME") {
            return self.rename_spec();
        }
        if self.eat("ALTER") {
            return self.alter_part(own);
        }
        if self.eat("CONVERT TO") {
            let Some(charset) = self.convert_charset()? else { return self.unexpected("CHARACTER SET") };
            return Ok(charset);
        }
        self.table_wide_spec()
    }

    fn add_spec(&mut self, own: &TableName) -> Result<AlterSpec> {
        if self.eat("SYSTEM VERSIONING") {
            return Ok(AlterSpec::AddSystemVersioning);
        }
        if !self.is_keyword("COLUMN") {
            let start = self.here();
            if let Some(element) = self.constraint_element(own)? {
                return Ok(match element {
                    ElementKind::Key(key) => AlterSpec::AddKey(key),
                    ElementKind::ForeignKey(foreign_key) => AlterSpec::AddForeignKey(foreign_key),
                    ElementKind::Check { name } => {
                        AlterSpec::AddCheck { name, if_not_exists: self.noted_if_not_exists(start) }
                    }
                    ElementKind::Period { name, start: from, end } => {
                        AlterSpec::AddPeriod { if_not_exists: self.noted_if_not_exists(start), name, start: from, end }
                    }
                    ElementKind::Column(_) => return self.unexpected("a constraint"),
                });
            }
        }
        self.eat("COLUMN");
        let if_not_exists = self.if_not_exists(true);
        if self.is_sign('(') {
            return Ok(AlterSpec::AddElements { if_not_exists, elements: self.elements(own)? });
        }
        let column = self.column_definition(own)?;
        Ok(AlterSpec::AddColumn { if_not_exists, column, place: self.place()? })
    }

    /// Whether an IF NOT EXISTS was read at or after a place.
    fn noted_if_not_exists(&self, start: usize) -> bool {
        self.uses.clauses.iter().any(|clause| clause.kind == ClauseKind::IfNotExists && clause.span.start >= start)
    }

    fn drop_spec(&mut self) -> Result<AlterSpec> {
        if self.eat("PRIMARY KEY") {
            return Ok(AlterSpec::DropPrimaryKey);
        }
        if self.eat("SYSTEM VERSIONING") {
            return Ok(AlterSpec::DropSystemVersioning);
        }
        if self.eat("FOREIGN KEY") {
            let if_exists = self.if_exists(true);
            return Ok(AlterSpec::DropForeignKey { if_exists, name: self.name()? });
        }
        if self.eat_any(&["INDEX", "KEY"]).is_some() {
            let if_exists = self.if_exists(true);
            return Ok(AlterSpec::DropKey { if_exists, name: self.name()? });
        }
        if self.eat("CHECK") {
            return Ok(AlterSpec::DropCheck { name: self.name()? });
        }
        if self.eat("CONSTRAINT") {
            let if_exists = self.if_exists(true);
            return Ok(AlterSpec::DropConstraint { if_exists, name: self.name()? });
        }
        if self.eat("PERIOD FOR") {
            let if_exists = self.if_exists(true);
            return Ok(AlterSpec::DropPeriod { if_exists, name: self.name()? });
        }
        self.eat("COLUMN");
        let if_exists = self.if_exists(true);
        let name = self.name()?;
        self.eat_any(&["RESTRICT", "CASCADE"]);
        Ok(AlterSpec::DropColumn { if_exists, name })
    }

    fn rename_spec(&mut self) -> Result<AlterSpec> {
        if self.eat("COLUMN") {
            let if_exists = self.if_exists(true);
            let old = self.name()?;
            self.expect("TO")?;
            return Ok(AlterSpec::RenameColumn { if_exists, old, new: self.name()? });
        }
        if self.eat_any(&["INDEX", "KEY"]).is_some() {
            let if_exists = self.if_exists(true);
            let old = self.name()?;
            self.expect("TO")?;
            return Ok(AlterSpec::RenameKey { if_exists, old, new: self.name()? });
        }
        if self.eat_any(&["TO", "AS"]).is_none() {
            self.eat_sign('=');
        }
        self.table(TableRole::Subject).map(AlterSpec::Rename)
    }

    /// `ALTER COLUMN`, `ALTER INDEX`, `ALTER CHECK`.
    fn alter_part(&mut self, own: &TableName) -> Result<AlterSpec> {
        if self.eat_any(&["INDEX", "KEY"]).is_some() {
            let if_exists = self.if_exists(true);
            let name = self.name()?;
            let ignored = match self.eat_any(&["VISIBLE", "NOT IGNORED", "INVISIBLE", "IGNORED"]) {
                Some("VISIBLE" | "NOT IGNORED") => false,
                Some(_) => true,
                None => return self.unexpected("VISIBLE, INVISIBLE or IGNORED"),
            };
            return Ok(AlterSpec::AlterKey { if_exists, name, ignored });
        }
        if self.eat_any(&["CHECK", "CONSTRAINT"]).is_some() {
            let name = self.name()?;
            if self.eat_any(&["NOT ENFORCED", "ENFORCED"]).is_none() {
                return self.unexpected("ENFORCED");
            }
            return Ok(AlterSpec::AlterCheck { name });
        }
        self.eat("COLUMN");
        let if_exists = self.if_exists(true);
        let name = self.name()?;
        let change = if self.eat("DROP DEFAULT") {
            DefaultChange::Drop
        } else if self.eat("SET VISIBLE") {
            DefaultChange::SetInvisible(false)
        } else if self.eat("SET INVISIBLE") {
            DefaultChange::SetInvisible(true)
        } else {
            self.expect("SET DEFAULT")?;
            DefaultChange::Set(self.default_value(own)?)
        };
        Ok(AlterSpec::AlterColumn { if_exists, name, change })
    }

    fn convert_charset(&mut self) -> Result<Option<AlterSpec>> {
        let mut options = Vec::new();
        while let Some(option) = self.default_charset_option()? {
            options.push(option);
        }
        if options.is_empty() {
            return Ok(None);
        }
        let choice = self.note_default(CharsetPlace::Convert, options);
        Ok(Some(AlterSpec::ConvertCharset(choice)))
    }

    /// What concerns the table as a whole: options and switches.
    fn table_wide_spec(&mut self) -> Result<AlterSpec> {
        const SWITCHES: [(&str, AlterSpec); 8] = [
            ("FORCE", AlterSpec::Force),
            ("ENABLE KEYS", AlterSpec::EnableKeys),
            ("DISABLE KEYS", AlterSpec::DisableKeys),
            ("DISCARD TABLESPACE", AlterSpec::DiscardTablespace),
            ("IMPORT TABLESPACE", AlterSpec::ImportTablespace),
            ("WITH VALIDATION", AlterSpec::Validation),
            ("WITHOUT VALIDATION", AlterSpec::Validation),
            ("SECONDARY_LOAD", AlterSpec::Validation),
        ];
        for (keywords, spec) in SWITCHES {
            if self.eat(keywords) {
                return Ok(spec);
            }
        }
        if self.eat("ALGORITHM") {
            self.eat_sign('=');
            return Ok(AlterSpec::Algorithm(self.name()?.value.to_ascii_uppercase()));
        }
        if self.eat("LOCK") {
            self.eat_sign('=');
            return Ok(AlterSpec::Lock(self.name()?.value.to_ascii_uppercase()));
        }
        if self.eat("ORDER BY") {
            self.order_by()?;
            return Ok(AlterSpec::OrderBy);
        }
        let (options, charset) = self.table_options(CharsetPlace::Table, false, true)?;
        if options.is_empty() {
            return self.unexpected("a change of the table");
        }
        Ok(AlterSpec::Options { options, charset })
    }

    fn order_by(&mut self) -> Result<()> {
        loop {
            self.name()?;
            while self.eat_sign('.') {
                self.name()?;
            }
            self.eat_any(&["ASC", "DESC"]);
            let mut next = 2;
            if self.is_keyword_at(next, "ASC") || self.is_keyword_at(next, "DESC") {
                next += 1;
            }
            let another = self.is_sign(',')
                && self.is_name_at(1)
                && matches!(self.peek_at(next).kind, TokenKind::Sign(',' | ';') | TokenKind::End);
            if !another {
                return Ok(());
            }
            self.advance();
        }
    }

    fn place(&mut self) -> Result<Place> {
        if self.eat("FIRST") {
            return Ok(Place::First);
        }
        if self.eat("AFTER") {
            return self.name().map(Place::After);
        }
        Ok(Place::Unspecified)
    }

    /// From after `CREATE [OR REPLACE] [ONLINE] [UNIQUE | FULLTEXT | SPATIAL | VECTOR] INDEX`.
    pub fn create_index(&mut self, or_replace: bool, kind: KeyKind, start: usize) -> Result<Statement> {
        let if_not_exists = self.if_not_exists(false);
        let name = self.name()?;
        let hash_before = self.index_type()?;
        self.expect("ON")?;
        let table = self.table(TableRole::Subject)?;
        let parts = self.key_parts()?;
        let hash = self.key_options()? || hash_before;
        let key = KeyDefinition { kind, name: Some(name), if_not_exists, parts, hash, span: self.since(start) };
        self.index_end()?;
        Ok(Statement::CreateIndex(CreateIndex { or_replace, table, key }))
    }

    /// From after `DROP [ONLINE] INDEX`.
    pub fn drop_index(&mut self) -> Result<Statement> {
        let if_exists = self.if_exists(false);
        let name = self.name()?;
        self.expect("ON")?;
        let table = self.table(TableRole::Subject)?;
        self.index_end()?;
        Ok(Statement::DropIndex(DropIndex { if_exists, table, name }))
    }

    fn index_end(&mut self) -> Result<()> {
        loop {
            self.wait()?;
            if self.eat_any(&["ALGORITHM", "LOCK"]).is_none() {
                return Ok(());
            }
            self.eat_sign('=');
            self.name()?;
        }
    }
}
