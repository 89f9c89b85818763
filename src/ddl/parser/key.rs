//! Keys, foreign keys, checks and periods: everything between a table's parentheses that is not a column.

use super::cursor::{Parser, Result};
use crate::ddl::token::TokenKind;
use crate::ddl::tree::{
    ElementKind, ForeignKeyDefinition, Ident, KeyDefinition, KeyKind, KeyPart, KeyPartSource, ReferenceAction,
    TableRef, TableRole, TableUse,
};
use crate::model::TableName;

/// Words after `CONSTRAINT` that are not its name.
const CONSTRAINT_KINDS: [&str; 4] = ["PRIMARY", "UNIQUE", "FOREIGN", "CHECK"];

impl Parser<'_> {
    /// A column, key, constraint or period.
    pub fn element(&mut self, own: &TableName) -> Result<ElementKind> {
        match self.constraint_element(own)? {
            Some(element) => Ok(element),
            None => self.column_definition(own).map(ElementKind::Column),
        }
    }

    /// An element that is not a column; nothing is read if a column comes next.
    pub fn constraint_element(&mut self, own: &TableName) -> Result<Option<ElementKind>> {
        let start = self.here();
        let mut constraint = None;
        if self.eat("CONSTRAINT") && !self.is_any_keyword(&CONSTRAINT_KINDS) {
            // MariaDB: `CONSTRAINT IF NOT EXISTS c CHECK (…)`
            self.if_not_exists(true);
            if !self.is_any_keyword(&CONSTRAINT_KINDS) {
                constraint = Some(self.name()?);
            }
        }
        if self.eat("CHECK") {
            self.check_rest(own)?;
            return Ok(Some(ElementKind::Check { name: constraint }));
        }
        if self.eat("FOREIGN KEY") {
            let if_not_exists = self.if_not_exists(true);
            let index_name = if self.is_sign('(') { None } else { Some(self.name()?) };
            let columns = self.column_list()?;
            let mut foreign_key = self.references(start, constraint, index_name, columns, own)?;
            foreign_key.if_not_exists = if_not_exists;
            return Ok(Some(ElementKind::ForeignKey(foreign_key)));
        }
        if self.is_keyword("PERIOD") && self.is_keyword_at(1, "FOR") {
            let (name, period_start, period_end) = self.period()?;
            return Ok(Some(ElementKind::Period { name, start: period_start, end: period_end }));
        }
        let Some(kind) = self.key_kind() else {
            return if self.here() == start { Ok(None) } else { self.unexpected("a constraint") };
        };
        let mut key = self.key_after_kind(start, kind)?;
        key.name = key.name.or(constraint);
        Ok(Some(ElementKind::Key(key)))
    }

    /// The words before a key's name.
    fn key_kind(&mut self) -> Option<KeyKind> {
        let kind = if self.eat("PRIMARY") {
            KeyKind::Primary
        } else if self.eat("UNIQUE") {
            KeyKind::Unique
        } else if self.eat("FULLTEXT") {
            KeyKind::FullText
        } else if self.eat("SPATIAL") {
            KeyKind::Spatial
        } else if self.is_keyword("VECTOR") && (self.is_keyword_at(1, "INDEX") || self.is_keyword_at(1, "KEY")) {
            self.advance();
            KeyKind::Vector
        } else if self.is_any_keyword(&["KEY", "INDEX"]) {
            KeyKind::Plain
        } else {
            return None;
        };
        self.eat_any(&["KEY", "INDEX"]);
        Some(kind)
    }

    /// `[IF NOT EXISTS] [name] [USING type] (parts) [options]`.
    fn key_after_kind(&mut self, start: usize, kind: KeyKind) -> Result<KeyDefinition> {
        let if_not_exists = self.if_not_exists(true);
        let name = if self.is_sign('(') || self.is_index_type() { None } else { Some(self.name()?) };
        let hash_before = self.index_type()?;
        let parts = self.key_parts()?;
        let hash = self.key_options()? || hash_before;
        // the name of a primary key is ignored
        let name = name.filter(|_| kind != KeyKind::Primary);
        Ok(KeyDefinition { kind, name, if_not_exists, parts, hash, span: self.since(start) })
    }

    /// `USING BTREE`, or the old `TYPE BTREE`; a key may be named `type`.
    fn is_index_type(&self) -> bool {
        self.is_keyword("USING") || (self.is_keyword("TYPE") && !self.is_sign_at(1, '('))
    }

    /// Reads the type of the index if one is given, and tells whether it is HASH.
    pub fn index_type(&mut self) -> Result<bool> {
        if !self.is_index_type() {
            return Ok(false);
        }
        self.advance();
        match self.eat_any(&["BTREE", "HASH", "RTREE"]) {
            Some(name) => Ok(name == "HASH"),
            None => self.unexpected("BTREE, HASH or RTREE"),
        }
    }

    pub fn key_parts(&mut self) -> Result<Vec<KeyPart>> {
        self.expect_sign('(')?;
        let mut parts = Vec::new();
        loop {
            parts.push(self.key_part()?);
            if !self.eat_sign(',') {
                break;
            }
        }
        self.expect_sign(')')?;
        Ok(parts)
    }

    fn key_part(&mut self) -> Result<KeyPart> {
        if self.is_sign('(') {
            let source = KeyPartSource::Expression(self.balanced()?);
            return Ok(KeyPart { source, prefix: None, descending: self.descending() });
        }
        let name = self.name()?;
        if self.eat("WITHOUT OVERLAPS") {
            return Ok(KeyPart { source: KeyPartSource::Period(name), prefix: None, descending: false });
        }
        let mut prefix = None;
        if self.eat_sign('(') {
            prefix = Some(self.number()?);
            self.expect_sign(')')?;
        }
        Ok(KeyPart { source: KeyPartSource::Column(name), prefix, descending: self.descending() })
    }

    fn descending(&mut self) -> bool {
        let descending = self.eat("DESC");
        if !descending {
            self.eat("ASC");
        }
        descending
    }

    /// Options after the parts; true if one of them is `USING HASH`.
    pub fn key_options(&mut self) -> Result<bool> {
        let mut hash = false;
        loop {
            if self.is_index_type() {
                hash = self.index_type()? || hash;
            } else if self.eat("KEY_BLOCK_SIZE") {
                self.eat_sign('=');
                self.number()?;
            } else if self.eat("COMMENT") {
                self.text()?;
            } else if self.eat("WITH PARSER") {
                self.name()?;
            } else if self.eat_any(&["VISIBLE", "INVISIBLE", "IGNORED", "NOT IGNORED"]).is_some() {
                // optimizers' matter only
            } else if self.eat_any(&["ENGINE_ATTRIBUTE", "SECONDARY_ENGINE_ATTRIBUTE"]).is_some() {
                self.eat_sign('=');
                self.text()?;
            } else if self.is_any_keyword(&["ALGORITHM", "LOCK"]) {
                return Ok(hash);
            } else if self.is_name() && self.is_sign_at(1, '=') {
                self.advance();
                self.advance();
                if matches!(self.peek().kind, TokenKind::Sign(_) | TokenKind::End | TokenKind::Unterminated(_)) {
                    return self.unexpected("a value");
                }
                self.advance();
            } else {
                return Ok(hash);
            }
        }
    }

    pub fn column_list(&mut self) -> Result<Vec<Ident>> {
        self.expect_sign('(')?;
        let mut columns = Vec::new();
        loop {
            columns.push(self.name()?);
            // a prefix length is allowed here, and means nothing
            if self.is_sign('(') {
                self.balanced()?;
            }
            if !self.eat_sign(',') {
                break;
            }
        }
        self.expect_sign(')')?;
        Ok(columns)
    }

    /// From REFERENCES on. A parent without schema stands in the schema of the child, whatever the default is.
    pub fn references(
        &mut self,
        start: usize,
        name: Option<Ident>,
        index_name: Option<Ident>,
        columns: Vec<Ident>,
        own: &TableName,
    ) -> Result<ForeignKeyDefinition> {
        self.expect("REFERENCES")?;
        let parent = self.parent(own)?;
        let parent_columns = if self.is_sign('(') { self.column_list()? } else { Vec::new() };
        let mut foreign_key = ForeignKeyDefinition {
            name,
            index_name,
            if_not_exists: false,
            columns,
            parent,
            parent_columns,
            on_delete: ReferenceAction::Unspecified,
            on_update: ReferenceAction::Unspecified,
            span: self.since(start),
        };
        loop {
            if self.eat("MATCH") {
                if self.eat_any(&["FULL", "PARTIAL", "SIMPLE"]).is_none() {
                    return self.unexpected("FULL, PARTIAL or SIMPLE");
                }
            } else if self.eat("ON DELETE") {
                foreign_key.on_delete = self.reference_action()?;
            } else if self.is_keyword("ON") && self.is_keyword_at(1, "UPDATE") && !self.is_now_at(2) {
                self.expect("ON UPDATE")?;
                foreign_key.on_update = self.reference_action()?;
            } else {
                break;
            }
        }
        foreign_key.span = self.since(start);
        Ok(foreign_key)
    }

    fn parent(&mut self, own: &TableName) -> Result<TableRef> {
        if self.is_name() && !self.is_sign_at(1, '.') {
            let name = self.name()?;
            let table = TableName::new(own.schema.clone(), name.value);
            self.uses.tables.push(TableUse { table: table.clone(), span: name.span, role: TableRole::References });
            return Ok(TableRef { table, span: name.span });
        }
        self.table(TableRole::References)
    }

    /// `ON UPDATE CURRENT_TIMESTAMP` belongs to the column, also after its REFERENCES.
    fn is_now_at(&self, ahead: usize) -> bool {
        ["CURRENT_TIMESTAMP", "NOW", "LOCALTIME", "LOCALTIMESTAMP"].iter().any(|word| self.is_keyword_at(ahead, word))
    }

    fn reference_action(&mut self) -> Result<ReferenceAction> {
        match self.eat_any(&["RESTRICT", "CASCADE", "SET NULL", "NO ACTION", "SET DEFAULT"]) {
            Some("RESTRICT") => Ok(ReferenceAction::Restrict),
            Some("CASCADE") => Ok(ReferenceAction::Cascade),
            Some("SET NULL") => Ok(ReferenceAction::SetNull),
            Some("NO ACTION") => Ok(ReferenceAction::NoAction),
            Some(_) => Ok(ReferenceAction::SetDefault),
            None => self.unexpected("RESTRICT, CASCADE, SET NULL, NO ACTION or SET DEFAULT"),
        }
    }

    /// `PERIOD FOR name (start, end)`.
    pub fn period(&mut self) -> Result<(Ident, Ident, Ident)> {
        self.expect("PERIOD FOR")?;
        self.if_not_exists(true);
        let name = self.name()?;
        self.expect_sign('(')?;
        let start = self.name()?;
        self.expect_sign(',')?;
        let end = self.name()?;
        self.expect_sign(')')?;
        Ok((name, start, end))
    }
}
