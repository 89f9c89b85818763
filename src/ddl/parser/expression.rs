//! Expressions and default values: skipped as balanced text, with what they call noted.

use super::cursor::{Parser, Result};
use crate::ddl::token::{Span, TokenKind};
use crate::ddl::tree::{
    CharsetPlace, CharsetUse, DefaultKind, DefaultValue, Expression, TableRef, TableRole, TableUse,
};
use crate::model::TableName;

/// Functions that are called without parentheses.
const BARE_FUNCTIONS: [&str; 9] = [
    "CURRENT_TIMESTAMP",
    "LOCALTIME",
    "LOCALTIMESTAMP",
    "CURRENT_DATE",
    "CURRENT_TIME",
    "CURRENT_USER",
    "UTC_TIMESTAMP",
    "UTC_DATE",
    "UTC_TIME",
];

/// Synonyms of `NOW`.
const NOW: [&str; 5] = ["CURRENT_TIMESTAMP", "NOW", "LOCALTIME", "LOCALTIMESTAMP", "SYSTIMESTAMP"];

impl Parser<'_> {
    /// `( … )` as an expression. `own` is the table that the statement is about, whose name may qualify columns.
    pub fn parenthesised(&mut self, own: &TableName) -> Result<Expression> {
        let begin = self.progress();
        let span = self.balanced()?;
        Ok(self.expression_between(begin, span, own))
    }

    /// What a range of tokens that was already read calls and names.
    fn expression_between(&mut self, begin: usize, span: Span, own: &TableName) -> Expression {
        let mut expression = Expression { span, functions: Vec::new(), sequences: Vec::new(), reads_variables: false };
        let read = self.progress() - begin;
        let mut scan = Parser::new(self.text, self.context, self.tokens_from(begin, read));
        while scan.peek().span.start < span.end && !scan.at_end() && scan.progress() < read {
            scan.note_term(&mut expression, own);
        }
        self.uses.tables.append(&mut scan.uses.tables);
        self.uses.charsets.append(&mut scan.uses.charsets);
        expression
    }

    /// Steps over one term of an expression.
    fn note_term(&mut self, expression: &mut Expression, own: &TableName) {
        if self.is_sign('@') {
            expression.reads_variables = true;
        } else if self.eat_any(&["NEXT VALUE FOR", "PREVIOUS VALUE FOR"]).is_some() {
            return self.note_sequence(expression);
        } else if self.is_any_keyword(&["NEXTVAL", "LASTVAL", "SETVAL"]) && self.is_sign_at(1, '(') {
            self.advance();
            self.advance();
            return self.note_sequence(expression);
        } else if self.eat("COLLATE") {
            if let Ok(name) = self.name_or_text() {
                let collation = Some(name);
                let place = CharsetPlace::Expression;
                self.uses.charsets.push(CharsetUse { place, charset: None, collation, collate_at: None });
            }
            return;
        } else if self.eat_any(&["CHARACTER SET", "CHARSET", "USING"]).is_some() {
            if let Ok(name) = self.name_or_text() {
                let charset = Some(name);
                let place = CharsetPlace::Expression;
                self.uses.charsets.push(CharsetUse { place, charset, collation: None, collate_at: None });
            }
            return;
        } else if self.is_name() && self.is_sign_at(1, '.') {
            return self.note_qualified(own);
        } else if let Some(word) = self.word_at(0) {
            let function = word.to_ascii_uppercase();
            if self.is_sign_at(1, '(') || BARE_FUNCTIONS.contains(&function.as_str()) {
                expression.functions.push(function);
            }
        }
        self.advance();
    }

    fn note_sequence(&mut self, expression: &mut Expression) {
        if let Ok(sequence) = self.table(TableRole::Sequence) {
            expression.functions.push("NEXTVAL".to_owned());
            expression.sequences.push(sequence);
        }
    }

    /// `table.column` or `schema.table.column`: the qualifier is noted if it names the statement's own table.
    fn note_qualified(&mut self, own: &TableName) {
        let Ok(first) = self.name() else { return };
        let mut qualifier = TableRef { table: TableName::new(own.schema.clone(), first.value), span: first.span };
        let mut parts = 1;
        while self.is_sign('.') && self.is_name_at(1) {
            self.advance();
            let Ok(next) = self.name() else { return };
            parts += 1;
            if self.is_sign('.') {
                let schema = std::mem::replace(&mut qualifier.table.table, next.value);
                qualifier.table.schema = schema;
                qualifier.span.end = next.span.end;
            }
        }
        let is_own = qualifier.table.schema.eq_ignore_ascii_case(&own.schema)
            && qualifier.table.table.eq_ignore_ascii_case(&own.table);
        if is_own && parts <= 3 && !self.is_sign('(') {
            let TableRef { span, .. } = qualifier;
            self.uses.tables.push(TableUse { table: own.clone(), span, role: TableRole::Qualifier });
        }
    }

    /// The value after DEFAULT: a literal, a function, or an expression. MariaDB allows functions and CASE without
    /// parentheses round them.
    pub fn default_value(&mut self, own: &TableName) -> Result<DefaultValue> {
        let start = self.here();
        let begin = self.progress();
        let kind = self.default_kind()?;
        let span = self.since(start);
        let kind = match kind {
            Some(kind) => kind,
            None => DefaultKind::Expression(self.expression_between(begin, span, own)),
        };
        Ok(DefaultValue { kind, span })
    }

    /// Reads a default; `None` is an expression whose calls are to be noted.
    fn default_kind(&mut self) -> Result<Option<DefaultKind>> {
        if self.is_sign('(') {
            self.balanced()?;
            return Ok(None);
        }
        if self.eat_any(&["NEXT VALUE FOR", "PREVIOUS VALUE FOR"]).is_some() {
            self.object_name()?;
            return Ok(None);
        }
        if self.eat("CASE") {
            self.case()?;
            return Ok(None);
        }
        while self.eat_sign('-') || self.eat_sign('+') || self.eat_sign('~') || self.eat_sign('!') {}
        if self.is_sign('(') {
            self.balanced()?;
            return Ok(None);
        }
        if self.eat("NULL") {
            return Ok(Some(DefaultKind::Null));
        }
        if self.eat_any(&["TRUE", "FALSE"]).is_some() {
            return Ok(Some(DefaultKind::Literal));
        }
        if let Some(word) = self.word_at(0) {
            let next = &self.peek_at(1).kind;
            let typed = ["DATE", "TIME", "TIMESTAMP"].iter().any(|name| word.eq_ignore_ascii_case(name));
            if (typed || word.starts_with('_')) && matches!(next, TokenKind::Text(_) | TokenKind::Bits) {
                self.advance();
            }
        }
        match &self.peek().kind {
            TokenKind::Number | TokenKind::Bits => {
                self.advance();
                Ok(Some(DefaultKind::Literal))
            }
            TokenKind::Text(_) => {
                self.text()?;
                Ok(Some(DefaultKind::Literal))
            }
            TokenKind::Word | TokenKind::QuotedName(_) => self.default_call(),
            TokenKind::Sign('@') => {
                while self.eat_sign('@') {}
                self.name_or_text()?;
                while self.eat_sign('.') {
                    self.name()?;
                }
                Ok(None)
            }
            _ => self.unexpected("a default value"),
        }
    }

    fn default_call(&mut self) -> Result<Option<DefaultKind>> {
        let is_now = self.is_any_keyword(&NOW);
        self.name()?;
        while self.eat_sign('.') {
            self.name()?;
        }
        if self.is_sign('(') {
            self.balanced()?;
        } else if !is_now && !self.call_may_end_here() {
            return self.unexpected("a default value");
        }
        Ok(is_now.then_some(DefaultKind::CurrentTimestamp))
    }

    /// A bare word is a function without parentheses or another column, both followed by an attribute, a separator
    /// or the end.
    fn call_may_end_here(&self) -> bool {
        matches!(self.peek().kind, TokenKind::End | TokenKind::Word | TokenKind::Sign(',' | ')' | ';'))
    }

    /// From after CASE to its END, others inside included.
    fn case(&mut self) -> Result<()> {
        let mut depth = 1_usize;
        while depth > 0 {
            if self.eat("CASE") {
                depth += 1;
            } else if self.eat("END") {
                depth -= 1;
            } else if self.is_sign('(') {
                self.balanced()?;
            } else if matches!(self.peek().kind, TokenKind::End | TokenKind::Unterminated(_)) {
                return self.unexpected("END");
            } else {
                self.advance();
            }
        }
        Ok(())
    }
}
