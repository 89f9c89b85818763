//! Options of tables, and the partition clause.

use super::charset::CharsetOption;
use super::cursor::{Parser, Result};
use crate::ddl::token::{Span, TokenKind};
use crate::ddl::tree::{CharsetChoice, CharsetPlace, Clause, ClauseKind, OptionKind, TableOption, TableRole};

/// Options of one word and a value that may follow without `=`.
const VALUED: [&str; 32] = [
    "AUTOEXTEND_SIZE",
    "AVG_ROW_LENGTH",
    "CHECKSUM",
    "COMMENT",
    "COMPRESSION",
    "CONNECTION",
    "DATA DIRECTORY",
    "DELAY_KEY_WRITE",
    "ENCRYPTION",
    "ENGINE_ATTRIBUTE",
    "INDEX DIRECTORY",
    "INSERT_METHOD",
    "KEY_BLOCK_SIZE",
    "MAX_ROWS",
    "MIN_ROWS",
    "NODEGROUP",
    "PACK_KEYS",
    "PAGE_CHECKSUM",
    "PASSWORD",
    "ROW_FORMAT",
    "SECONDARY_ENGINE",
    "SECONDARY_ENGINE_ATTRIBUTE",
    "SEQUENCE",
    "STATS_AUTO_RECALC",
    "STATS_PERSISTENT",
    "STATS_SAMPLE_PAGES",
    "STORAGE",
    "TABLE_CHECKSUM",
    "TABLESPACE",
    "TRANSACTIONAL",
    "IETF_QUOTES",
    "START_LSN",
];

impl Parser<'_> {
    /// Options separated by blanks, and with `commas` by commas too. `inner`: they belong to an ALTER TABLE.
    pub fn table_options(
        &mut self,
        place: CharsetPlace,
        commas: bool,
        inner: bool,
    ) -> Result<(Vec<TableOption>, CharsetChoice)> {
        let mut options = Vec::new();
        let mut charsets = Vec::new();
        let mut comma_before = None;
        loop {
            let start = self.here();
            let Some(kind) = self.table_option(&mut charsets)? else { break };
            let span = self.since(start);
            let clause = match kind {
                OptionKind::AutoIncrement(_) => Some(ClauseKind::AutoIncrement),
                OptionKind::StartTransaction => Some(ClauseKind::StartTransaction),
                _ => None,
            };
            let comma = self.here();
            let comma_after = commas && self.eat_sign(',');
            // cut with one comma at most
            let cut = match comma_before {
                _ if comma_after => self.since(start),
                Some(comma) => Span::new(comma, span.end),
                None => span,
            };
            self.uses.clauses.extend(clause.map(|kind| Clause { kind, span: cut, inner }));
            options.push(TableOption { kind, span });
            comma_before = comma_after.then_some(comma);
        }
        let choice = self.note_default(place, charsets);
        Ok((options, choice))
    }

    fn table_option(&mut self, charsets: &mut Vec<CharsetOption>) -> Result<Option<OptionKind>> {
        if let Some(option) = self.default_charset_option()? {
            let kind = match &option {
                CharsetOption::Charset(name) => OptionKind::Charset(name.value.to_ascii_lowercase()),
                CharsetOption::Collation(name) => OptionKind::Collate(name.value.to_ascii_lowercase()),
            };
            charsets.push(option);
            return Ok(Some(kind));
        }
        if self.eat_any(&["ENGINE", "TYPE"]).is_some() {
            self.eat_sign('=');
            return Ok(Some(OptionKind::Engine(self.name_or_text()?.value)));
        }
        if self.eat("AUTO_INCREMENT") {
            self.eat_sign('=');
            return self.number().map(OptionKind::AutoIncrement).map(Some);
        }
        if self.eat("WITH SYSTEM VERSIONING") {
            return Ok(Some(OptionKind::SystemVersioning));
        }
        if self.eat("START TRANSACTION") {
            return Ok(Some(OptionKind::StartTransaction));
        }
        if self.eat("UNION") {
            self.eat_sign('=');
            return self.union_tables().map(Some);
        }
        if let Some(word) = self.eat_any(&VALUED) {
            self.eat_sign('=');
            self.option_value()?;
            // `TABLESPACE ts STORAGE DISK`
            return Ok(Some(OptionKind::Other(word.to_owned())));
        }
        if self.is_name() && self.is_sign_at(1, '=') {
            let name = self.name()?.value.to_ascii_uppercase();
            self.advance();
            self.option_value()?;
            return Ok(Some(OptionKind::Other(name)));
        }
        Ok(None)
    }

    fn option_value(&mut self) -> Result<()> {
        match self.peek().kind {
            TokenKind::Text(_) => self.text().map(drop),
            TokenKind::Word | TokenKind::QuotedName(_) | TokenKind::Number | TokenKind::Bits => {
                self.advance();
                Ok(())
            }
            _ => self.unexpected("a value"),
        }
    }

    fn union_tables(&mut self) -> Result<OptionKind> {
        let mut tables = Vec::new();
        self.expect_sign('(')?;
        while !self.is_sign(')') {
            tables.push(self.table(TableRole::Union)?);
            if !self.eat_sign(',') {
                break;
            }
        }
        self.expect_sign(')')?;
        Ok(OptionKind::Union(tables))
    }

    /// `PARTITION BY …` as far as it goes: to the end, or to the SELECT of a CREATE TABLE.
    pub fn partition_clause(&mut self) -> Result<Option<Span>> {
        let start = self.here();
        if !self.eat("PARTITION BY") {
            return Ok(None);
        }
        loop {
            match self.peek().kind {
                TokenKind::End | TokenKind::Sign(';') => break,
                TokenKind::Unterminated(_) => return self.refuse(""),
                TokenKind::Sign('(') if self.begins_select_at(1) => break,
                TokenKind::Sign('(') => {
                    self.balanced()?;
                }
                _ if self.begins_select_at(0) => break,
                _ => {
                    self.advance();
                }
            }
        }
        Ok(Some(self.since(start)))
    }

    /// Whether a query expression comes there, with IGNORE, REPLACE or AS before it.
    pub fn begins_select_at(&self, mut ahead: usize) -> bool {
        let mut announced = false;
        for word in ["IGNORE", "REPLACE", "AS"] {
            if self.is_keyword_at(ahead, word) {
                ahead += 1;
                announced = true;
            }
        }
        while self.is_sign_at(ahead, '(') {
            ahead += 1;
        }
        self.is_keyword_at(ahead, "SELECT")
            || (self.is_keyword_at(ahead, "WITH") && !self.is_keyword_at(ahead + 1, "SYSTEM"))
            || self.is_keyword_at(ahead, "TABLE")
            || (self.is_keyword_at(ahead, "VALUES") && (announced || self.is_keyword_at(ahead + 1, "ROW")))
    }
}
