//! Tokens in, a [`Meaning`] out: recursive descent without ever going back, one file for each kind of thing.
//!
//! Expressions and unknown options are skipped as balanced text, by loops and not by recursion, so that no input can
//! exhaust the stack.

mod alter;
mod charset;
mod column;
mod cursor;
mod data_type;
mod database;
mod expression;
mod key;
mod named;
mod option;
mod partition;
mod table;

pub use cursor::NotUnderstood;

use self::cursor::{Parser, Result};
use super::context::Context;
use super::lexer::{Lexed, lex};
use super::token::{ExecutableComment, TokenKind};
use super::tree::{Action, Clause, ClauseKind, KeyKind, Named, Statement, Uses};

/// A statement's text and what was understood of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parsed {
    pub text: String,
    /// What it was read under.
    pub context: Context,
    pub meaning: Meaning,
    /// In the order of the text.
    pub comments: Vec<ExecutableComment>,
    /// What edits need. Complete for an understood statement, for sequences, and for DROP of anything.
    pub uses: Uses,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Meaning {
    /// Every part of it.
    Understood(Statement),
    /// What kind of statement it is, and the names of its objects.
    Named(Named),
    NotUnderstood(NotUnderstood),
}

impl Parsed {
    pub fn statement(&self) -> Option<&Statement> {
        match &self.meaning {
            Meaning::Understood(statement) => Some(statement),
            _ => None,
        }
    }

    pub fn named(&self) -> Option<&Named> {
        match &self.meaning {
            Meaning::Named(named) => Some(named),
            _ => None,
        }
    }
}

/// Reads one statement as the server of the context did. Never fails: what is not understood says why and where.
pub fn parse(text: &str, context: &Context) -> Parsed {
    let Lexed { tokens, comments } = lex(text, context);
    let mut parser = Parser::new(text, context, &tokens);
    let meaning = parser.meaning().unwrap_or_else(Meaning::NotUnderstood);
    let uses = match meaning {
        Meaning::NotUnderstood(_) => Uses::default(),
        _ => parser.uses,
    };
    Parsed { text: text.to_owned(), context: context.clone(), meaning, comments, uses }
}

impl Parser<'_> {
    fn meaning(&mut self) -> Result<Meaning> {
        self.set_statement()?;
        let meaning = match self.word_at(0).map(str::to_ascii_uppercase).as_deref() {
            Some("CREATE") => self.create()?,
            Some("ALTER") => self.alter()?,
            Some("DROP") => self.drop_object()?,
            Some("RENAME") => self.rename()?,
            Some("TRUNCATE") => {
                self.advance();
                Meaning::Understood(self.truncate()?)
            }
            _ => Meaning::Named(self.command()?),
        };
        if matches!(meaning, Meaning::Understood(_)) {
            self.eat_sign(';');
            if !self.at_end() {
                return self.unexpected("the end");
            }
        }
        Ok(meaning)
    }

    /// MariaDB's `SET STATEMENT a = 1, b = 2 FOR`.
    fn set_statement(&mut self) -> Result<()> {
        let start = self.here();
        if !self.context.is_mariadb() || !self.eat("SET STATEMENT") {
            return Ok(());
        }
        while !self.eat("FOR") {
            if self.is_sign('(') {
                self.balanced()?;
            } else if self.at_end() {
                return self.unexpected("FOR");
            } else {
                self.step()?;
            }
        }
        let span = self.since(start);
        self.uses.clauses.push(Clause { kind: ClauseKind::SetStatement, span, inner: false });
        Ok(())
    }

    fn create(&mut self) -> Result<Meaning> {
        let start = self.here();
        self.expect("CREATE")?;
        let or_replace = self.eat_clause("OR REPLACE", ClauseKind::OrReplace, false);
        if self.eat("TABLE") {
            return self.create_table(or_replace).map(Meaning::Understood);
        }
        if self.eat_any(&["DATABASE", "SCHEMA"]).is_some() {
            return self.create_database(or_replace).map(Meaning::Understood);
        }
        if self.eat_any(&["TEMPORARY TABLE", "TEMPORARY SEQUENCE"]).is_some() {
            self.if_not_exists(false);
            let tables = vec![self.object_name()?];
            return Ok(Meaning::Named(Named::TemporaryTables { action: Action::Create, tables }));
        }
        self.eat_clause("ONLINE", ClauseKind::Online, false);
        let kind = match self.eat_any(&["UNIQUE", "FULLTEXT", "SPATIAL", "VECTOR"]) {
            Some("UNIQUE") => KeyKind::Unique,
            Some("FULLTEXT") => KeyKind::FullText,
            Some("SPATIAL") if self.is_keyword("REFERENCE") => {
                return Ok(Meaning::Named(Named::ServerObject {
                    action: Action::Create,
                    kind: "SPATIAL REFERENCE SYSTEM".to_owned(),
                }));
            }
            Some("SPATIAL") => KeyKind::Spatial,
            Some(_) => KeyKind::Vector,
            None => KeyKind::Plain,
        };
        if self.eat_any(&["INDEX", "KEY"]).is_some() {
            return self.create_index(or_replace, kind, start).map(Meaning::Understood);
        }
        self.named_object(Action::Create, or_replace).map(Meaning::Named)
    }

    fn alter(&mut self) -> Result<Meaning> {
        self.expect("ALTER")?;
        self.eat_clause("ONLINE", ClauseKind::Online, false);
        let ignore = self.eat("IGNORE");
        if self.eat("TABLE") {
            return self.alter_table(ignore).map(Meaning::Understood);
        }
        if self.eat_any(&["DATABASE", "SCHEMA"]).is_some() {
            return self.alter_database().map(Meaning::Understood);
        }
        self.named_object(Action::Alter, false).map(Meaning::Named)
    }

    fn drop_object(&mut self) -> Result<Meaning> {
        self.expect("DROP")?;
        if self.eat_any(&["TABLE", "TABLES"]).is_some() {
            return self.drop_table().map(Statement::DropTable).map(Meaning::Understood);
        }
        if self.eat_any(&["TEMPORARY TABLE", "TEMPORARY TABLES", "TEMPORARY SEQUENCE"]).is_some() {
            let tables = self.drop_table()?.tables;
            return Ok(Meaning::Named(Named::TemporaryTables { action: Action::Drop, tables }));
        }
        if self.eat_any(&["DATABASE", "SCHEMA"]).is_some() {
            return self.drop_database().map(Meaning::Understood);
        }
        if self.eat("PREPARE") {
            return Ok(Meaning::Named(Named::Session { command: "DEALLOCATE".to_owned() }));
        }
        self.eat_clause("ONLINE", ClauseKind::Online, false);
        if self.eat_any(&["INDEX", "KEY"]).is_some() {
            return self.drop_index().map(Meaning::Understood);
        }
        self.named_object(Action::Drop, false).map(Meaning::Named)
    }

    fn rename(&mut self) -> Result<Meaning> {
        self.expect("RENAME")?;
        if self.eat("USER") {
            return Ok(Meaning::Named(Named::Account { command: "RENAME".to_owned() }));
        }
        if self.eat_any(&["TABLE", "TABLES"]).is_none() {
            return self.unexpected("TABLE or USER");
        }
        self.rename_table().map(Meaning::Understood)
    }
}

/// Whether the text holds anything but comments and blanks.
pub fn is_blank(text: &str, context: &Context) -> bool {
    lex(text, context).tokens.iter().all(|token| matches!(token.kind, TokenKind::End | TokenKind::Sign(';')))
}
