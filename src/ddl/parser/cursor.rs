//! Stepping through tokens: keywords, names, numbers and balanced parentheses.

use crate::ddl::context::Context;
use crate::ddl::token::{Span, Token, TokenKind};
use crate::ddl::tree::{Clause, ClauseKind, Ident, TableRef, TableRole, TableUse, Uses};
use crate::model::TableName;

/// Why a statement is not understood, and where that was seen.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason} at byte {offset}")]
pub struct NotUnderstood {
    pub reason: String,
    pub offset: usize,
}

pub(super) type Result<T> = std::result::Result<T, NotUnderstood>;

/// What `peek` gives beyond the last token.
static END: Token = Token { kind: TokenKind::End, span: Span::at(0) };

pub(super) struct Parser<'a> {
    pub text: &'a str,
    pub context: &'a Context,
    tokens: &'a [Token],
    at: usize,
    pub uses: Uses,
}

impl<'a> Parser<'a> {
    pub fn new(text: &'a str, context: &'a Context, tokens: &'a [Token]) -> Self {
        Self { text, context, tokens, at: 0, uses: Uses::default() }
    }

    pub fn peek(&self) -> &'a Token {
        self.peek_at(0)
    }

    pub fn peek_at(&self, ahead: usize) -> &'a Token {
        self.tokens.get(self.at + ahead).unwrap_or(&END)
    }

    pub fn advance(&mut self) -> &'a Token {
        let token = self.peek();
        if token.kind != TokenKind::End {
            self.at += 1;
        }
        token
    }

    /// The token that was read last.
    fn last(&self) -> &'a Token {
        self.at.checked_sub(1).and_then(|at| self.tokens.get(at)).unwrap_or(&END)
    }

    /// The end of the last token that was read.
    pub fn last_end(&self) -> usize {
        self.last().span.end
    }

    /// The beginning of the next token.
    pub fn here(&self) -> usize {
        self.peek().span.start
    }

    /// From `start` to the end of the last token read.
    pub fn since(&self, start: usize) -> Span {
        Span::new(start, self.last_end().max(start))
    }

    pub fn at_end(&self) -> bool {
        self.peek().kind == TokenKind::End
    }

    /// How many tokens were read; equal to an earlier answer, nothing was.
    pub fn progress(&self) -> usize {
        self.at
    }

    /// The tokens that were read between two answers of [`Self::progress`].
    pub fn tokens_from(&self, begin: usize, count: usize) -> &'a [Token] {
        self.tokens.get(begin..begin + count).unwrap_or(&[])
    }

    pub fn refuse<T>(&self, reason: impl Into<String>) -> Result<T> {
        let token = self.peek();
        let reason = match &token.kind {
            TokenKind::Unterminated(what) => format!("the {what} does not end"),
            _ => reason.into(),
        };
        Err(NotUnderstood { reason, offset: token.span.start })
    }

    /// Refuses the token that comes next.
    pub fn unexpected<T>(&self, wanted: &str) -> Result<T> {
        let token = self.peek();
        let found = match &token.kind {
            TokenKind::End => "the end".to_owned(),
            // texts may hold what nobody should read in a log
            TokenKind::Text(_) => "a string".to_owned(),
            _ => format!("`{}`", token.span.of(self.text)),
        };
        self.refuse(format!("expected {wanted}, found {found}"))
    }

    // keywords ------------------------------------------------------------------------------------------------

    pub fn word_at(&self, ahead: usize) -> Option<&'a str> {
        let token = self.peek_at(ahead);
        (token.kind == TokenKind::Word).then(|| token.span.of(self.text))
    }

    pub fn is_keyword_at(&self, ahead: usize, keyword: &str) -> bool {
        self.word_at(ahead).is_some_and(|word| word.eq_ignore_ascii_case(keyword))
    }

    pub fn is_keyword(&self, keyword: &str) -> bool {
        self.is_keyword_at(0, keyword)
    }

    pub fn is_any_keyword(&self, keywords: &[&str]) -> bool {
        keywords.iter().any(|keyword| self.is_keyword(keyword))
    }

    /// Whether these keywords, separated by blanks in `keywords`, come next.
    pub fn are_keywords(&self, keywords: &str) -> bool {
        keywords.split(' ').enumerate().all(|(ahead, keyword)| self.is_keyword_at(ahead, keyword))
    }

    /// Reads the keywords if all of them come next.
    pub fn eat(&mut self, keywords: &str) -> bool {
        let come_next = self.are_keywords(keywords);
        if come_next {
            self.at += keywords.split(' ').count();
        }
        come_next
    }

    /// Reads one of several keywords and gives it as written in `keywords`.
    pub fn eat_any<'k>(&mut self, keywords: &[&'k str]) -> Option<&'k str> {
        let found = keywords.iter().find(|keywords| self.are_keywords(keywords))?;
        self.at += found.split(' ').count();
        Some(found)
    }

    pub fn expect(&mut self, keywords: &str) -> Result<()> {
        if self.eat(keywords) { Ok(()) } else { self.unexpected(keywords) }
    }

    // signs ---------------------------------------------------------------------------------------------------

    pub fn is_sign_at(&self, ahead: usize, sign: char) -> bool {
        self.peek_at(ahead).kind == TokenKind::Sign(sign)
    }

    pub fn is_sign(&self, sign: char) -> bool {
        self.is_sign_at(0, sign)
    }

    pub fn eat_sign(&mut self, sign: char) -> bool {
        let comes_next = self.is_sign(sign);
        if comes_next {
            self.at += 1;
        }
        comes_next
    }

    pub fn expect_sign(&mut self, sign: char) -> Result<()> {
        if self.eat_sign(sign) { Ok(()) } else { self.unexpected(&format!("`{sign}`")) }
    }

    /// Reads `( … )` with whatever is between, and gives the place of all of it.
    pub fn balanced(&mut self) -> Result<Span> {
        let start = self.here();
        self.expect_sign('(')?;
        let mut depth = 1_usize;
        while depth > 0 {
            match &self.peek().kind {
                TokenKind::Sign('(') => depth += 1,
                TokenKind::Sign(')') => depth -= 1,
                TokenKind::End | TokenKind::Unterminated(_) => return self.unexpected("`)`"),
                _ => {}
            }
            self.at += 1;
        }
        Ok(self.since(start))
    }

    /// Reads one token of any kind; refuses text that breaks off.
    pub fn step(&mut self) -> Result<()> {
        if matches!(self.peek().kind, TokenKind::Unterminated(_)) {
            return self.refuse("");
        }
        self.advance();
        Ok(())
    }

    /// Reads everything that is left but a `;` at the very end.
    pub fn skip_rest(&mut self) -> Result<()> {
        while !self.at_end() {
            if self.is_sign(';') && self.peek_at(1).kind == TokenKind::End {
                break;
            }
            self.step()?;
        }
        Ok(())
    }

    // names and literals ---------------------------------------------------------------------------------------

    pub fn is_name(&self) -> bool {
        self.is_name_at(0)
    }

    pub fn is_name_at(&self, ahead: usize) -> bool {
        match &self.peek_at(ahead).kind {
            TokenKind::Word | TokenKind::QuotedName(_) => true,
            // a number without a dot is a name in a few places only; the servers refuse it here too
            _ => false,
        }
    }

    pub fn name(&mut self) -> Result<Ident> {
        let token = self.peek();
        let value = match &token.kind {
            TokenKind::Word => token.span.of(self.text).to_owned(),
            TokenKind::QuotedName(name) => name.clone(),
            _ => return self.unexpected("a name"),
        };
        self.at += 1;
        Ok(Ident { value, span: token.span })
    }

    /// A name or a string: what the grammars allow for character sets, engines and users.
    pub fn name_or_text(&mut self) -> Result<Ident> {
        let token = self.peek();
        if let TokenKind::Text(text) = &token.kind {
            self.at += 1;
            return Ok(Ident { value: text.clone(), span: token.span });
        }
        self.name()
    }

    /// A string literal; several in a row are one.
    pub fn text(&mut self) -> Result<String> {
        let TokenKind::Text(first) = &self.peek().kind else { return self.unexpected("a string") };
        let mut value = first.clone();
        self.at += 1;
        while let TokenKind::Text(more) = &self.peek().kind {
            value.push_str(more);
            self.at += 1;
        }
        Ok(value)
    }

    pub fn number(&mut self) -> Result<u64> {
        let token = self.peek();
        let digits = token.span.of(self.text);
        let value = match token.kind {
            TokenKind::Number => digits.parse::<u64>().ok(),
            TokenKind::Bits => digits.strip_prefix("0x").and_then(|hex| u64::from_str_radix(hex, 16).ok()),
            _ => None,
        };
        match value {
            Some(value) => {
                self.at += 1;
                Ok(value)
            }
            None => self.unexpected("a whole number"),
        }
    }

    /// `a` or `schema.a`, completed with the default schema.
    pub fn object_name(&mut self) -> Result<TableRef> {
        let first = if self.is_sign('.') { None } else { Some(self.name()?) };
        if first.is_some() && !self.is_sign('.') {
            let Some(first) = first else { return self.unexpected("a name") };
            let Some(schema) = &self.context.default_schema else {
                return Err(NotUnderstood {
                    reason: "a name without schema, and no default schema".to_owned(),
                    offset: first.span.start,
                });
            };
            return Ok(TableRef { table: TableName::new(schema.clone(), first.value), span: first.span });
        }
        let start = self.here();
        self.expect_sign('.')?;
        let name = self.name()?;
        // `.t` is the table of the default schema, as ODBC once wrote it
        let (schema, start) = match (first, &self.context.default_schema) {
            (Some(schema), _) => (schema.value, schema.span.start),
            (None, Some(schema)) => (schema.clone(), start),
            (None, None) => return self.refuse("a name without schema, and no default schema"),
        };
        Ok(TableRef { table: TableName::new(schema, name.value), span: Span::new(start, name.span.end) })
    }

    /// A table's name, noted for edits.
    pub fn table(&mut self, role: TableRole) -> Result<TableRef> {
        let table = self.object_name()?;
        self.uses.tables.push(TableUse { table: table.table.clone(), span: table.span, role });
        Ok(table)
    }

    // clauses --------------------------------------------------------------------------------------------------

    /// Reads the keywords if they come next and notes the clause.
    pub fn eat_clause(&mut self, keywords: &str, kind: ClauseKind, inner: bool) -> bool {
        let start = self.here();
        let found = self.eat(keywords);
        if found {
            let span = self.since(start);
            self.uses.clauses.push(Clause { kind, span, inner });
        }
        found
    }

    pub fn if_exists(&mut self, inner: bool) -> bool {
        self.eat_clause("IF EXISTS", ClauseKind::IfExists, inner)
    }

    pub fn if_not_exists(&mut self, inner: bool) -> bool {
        self.eat_clause("IF NOT EXISTS", ClauseKind::IfNotExists, inner)
    }

    /// MariaDB's `WAIT n` or `NOWAIT`.
    pub fn wait(&mut self) -> Result<()> {
        let start = self.here();
        if self.eat("WAIT") {
            if matches!(self.peek().kind, TokenKind::Number) {
                self.advance();
            } else {
                self.number()?;
            }
        } else if !self.eat("NOWAIT") {
            return Ok(());
        }
        let span = self.since(start);
        self.uses.clauses.push(Clause { kind: ClauseKind::Wait, span, inner: false });
        Ok(())
    }
}
