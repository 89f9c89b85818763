//! A column's definition: its type, then attributes in any order.

use super::cursor::{Parser, Result};
use crate::ddl::token::TokenKind;
use crate::ddl::tree::{CharsetPlace, CharsetUse, ColumnDefinition, Generated, Ident, TypeName};
use crate::model::TableName;

/// Words that end a column's definition: what follows belongs to ALTER TABLE.
const AFTER_DEFINITION: [&str; 2] = ["FIRST", "AFTER"];

impl Parser<'_> {
    pub fn column_definition(&mut self, own: &TableName) -> Result<ColumnDefinition> {
        let start = self.here();
        let name = self.name()?;
        self.column_after_name(start, name, own)
    }

    /// The definition from the type on; `start` is where the name began.
    pub fn column_after_name(&mut self, start: usize, name: Ident, own: &TableName) -> Result<ColumnDefinition> {
        let charsets = self.uses.charsets.len();
        let data_type = self.data_type()?;
        let serial = data_type.name == TypeName::Serial;
        let mut column = ColumnDefinition {
            name,
            data_type,
            nullable: serial.then_some(false),
            default: None,
            on_update: None,
            auto_increment: serial,
            primary_key: false,
            unique_key: serial,
            generated: None,
            invisible: false,
            compressed: false,
            without_system_versioning: false,
            with_system_versioning: false,
            references: None,
            checks: 0,
            span: self.since(start),
        };
        while self.column_attribute(&mut column, own, charsets)? {}
        column.span = self.since(start);
        Ok(column)
    }

    /// Reads one attribute; false if none comes next.
    fn column_attribute(&mut self, column: &mut ColumnDefinition, own: &TableName, charsets: usize) -> Result<bool> {
        match self.peek().kind {
            TokenKind::Word => {}
            _ => return self.engine_attribute(),
        }
        if self.is_any_keyword(&AFTER_DEFINITION) {
            return Ok(false);
        }
        if self.eat("NOT SECONDARY") {
            return Ok(true);
        }
        if self.eat("NOT NULL") {
            self.eat("ENABLE");
            column.nullable = Some(false);
        } else if self.eat("NULL") {
            column.nullable = Some(true);
        } else if self.eat("DEFAULT") {
            column.default = Some(self.default_value(own)?);
        } else if self.is_keyword("ON") && self.is_keyword_at(1, "UPDATE") {
            self.on_update(column)?;
        } else if self.eat("AUTO_INCREMENT") {
            column.auto_increment = true;
        } else if self.eat("SERIAL DEFAULT VALUE") {
            column.auto_increment = true;
            column.unique_key = true;
            column.nullable = Some(false);
        } else if self.eat_any(&["PRIMARY KEY", "PRIMARY", "KEY"]).is_some() {
            column.primary_key = true;
        } else if self.eat("UNIQUE") {
            self.eat("KEY");
            column.unique_key = true;
        } else if self.eat("COMMENT") {
            self.text()?;
        } else if self.eat("COLLATE") {
            let collation = self.name_or_text()?;
            column.data_type.charset.collation = Some(collation.value.to_ascii_lowercase());
            self.note_column_collation(collation, charsets);
        } else if let Some(charset) = self.charset_clause()? {
            // MariaDB prints it after other attributes in one case
            column.data_type.charset.charset = Some(charset.value.to_ascii_lowercase());
            self.note_column_charset(charset);
        } else {
            return self.rarer_attribute(column, own);
        }
        Ok(true)
    }

    fn rarer_attribute(&mut self, column: &mut ColumnDefinition, own: &TableName) -> Result<bool> {
        if self.is_keyword("GENERATED") || self.is_keyword("AS") {
            self.eat("GENERATED ALWAYS");
            self.expect("AS")?;
            column.generated = Some(self.generated(own)?);
        } else if self.eat("VISIBLE") {
            column.invisible = false;
        } else if self.eat("INVISIBLE") {
            column.invisible = true;
        } else if self.eat("COMPRESSED") {
            if self.eat_sign('=') {
                self.name_or_text()?;
            }
            column.compressed = true;
        } else if self.eat("WITHOUT SYSTEM VERSIONING") {
            column.without_system_versioning = true;
        } else if self.eat("WITH SYSTEM VERSIONING") {
            column.with_system_versioning = true;
        } else if self.is_keyword("CONSTRAINT") || self.is_keyword("CHECK") {
            self.eat("CONSTRAINT");
            if !self.is_keyword("CHECK") {
                self.name()?;
            }
            self.expect("CHECK")?;
            self.check_rest(own)?;
            column.checks += 1;
        } else if self.is_keyword("REFERENCES") {
            let start = self.here();
            let columns = vec![column.name.clone()];
            column.references = Some(Box::new(self.references(start, None, None, columns, own)?));
        } else if self.eat("SRID") {
            column.data_type.srid = u32::try_from(self.number()?).ok();
        } else if self.eat("REF_SYSTEM_ID") {
            self.expect_sign('=')?;
            column.data_type.srid = u32::try_from(self.number()?).ok();
        } else if self.eat("COLUMN_FORMAT") {
            if self.eat_any(&["FIXED", "DYNAMIC", "DEFAULT"]).is_none() {
                return self.unexpected("FIXED, DYNAMIC or DEFAULT");
            }
        } else if self.eat("STORAGE") {
            if self.eat_any(&["DISK", "MEMORY", "DEFAULT"]).is_none() {
                return self.unexpected("DISK, MEMORY or DEFAULT");
            }
        } else if self.eat_any(&["ENGINE_ATTRIBUTE", "SECONDARY_ENGINE_ATTRIBUTE"]).is_some() {
            self.eat_sign('=');
            self.text()?;
        } else {
            return self.engine_attribute();
        }
        Ok(true)
    }

    /// MariaDB's `name = value`, which an engine may know.
    fn engine_attribute(&mut self) -> Result<bool> {
        if !self.is_name() || !self.is_sign_at(1, '=') {
            return Ok(false);
        }
        self.advance();
        self.advance();
        match self.peek().kind {
            TokenKind::Text(_) | TokenKind::Number | TokenKind::Word | TokenKind::Bits => {
                self.advance();
                Ok(true)
            }
            _ => self.unexpected("a value"),
        }
    }

    fn on_update(&mut self, column: &mut ColumnDefinition) -> Result<()> {
        let start = self.here();
        self.expect("ON UPDATE")?;
        if self.eat_any(&["CURRENT_TIMESTAMP", "NOW", "LOCALTIMESTAMP", "LOCALTIME", "SYSTIMESTAMP"]).is_none() {
            return self.unexpected("CURRENT_TIMESTAMP");
        }
        if self.is_sign('(') {
            self.balanced()?;
        }
        column.on_update = Some(self.since(start));
        Ok(())
    }

    /// What follows AS: `(…) VIRTUAL`, `ROW START`.
    fn generated(&mut self, own: &TableName) -> Result<Generated> {
        if self.eat("ROW START") {
            return Ok(Generated::RowStart);
        }
        if self.eat("ROW END") {
            return Ok(Generated::RowEnd);
        }
        let expression = self.parenthesised(own)?;
        if self.eat_any(&["STORED", "PERSISTENT"]).is_some() {
            return Ok(Generated::Stored(expression));
        }
        self.eat("VIRTUAL");
        Ok(Generated::Virtual(expression))
    }

    /// `(…) [[NOT] ENFORCED]`.
    pub fn check_rest(&mut self, own: &TableName) -> Result<()> {
        self.parenthesised(own)?;
        self.eat_any(&["NOT ENFORCED", "ENFORCED"]);
        Ok(())
    }

    /// The collation joins the character set of the same column, if that was given.
    fn note_column_collation(&mut self, collation: Ident, charsets: usize) {
        let of_column = self.uses.charsets.get_mut(charsets..).unwrap_or(&mut []);
        let bare =
            of_column.iter_mut().find(|charset| charset.place == CharsetPlace::Column && charset.collation.is_none());
        match bare {
            Some(charset) => charset.collation = Some(collation),
            None => self.uses.charsets.push(CharsetUse {
                place: CharsetPlace::Column,
                charset: None,
                collation: Some(collation),
                collate_at: None,
            }),
        }
    }
}
