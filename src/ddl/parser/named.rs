//! Statements of which only the kind and the names are read. What follows the names is not looked at.

use super::cursor::{Parser, Result};
use crate::ddl::token::{Span, TokenKind};
use crate::ddl::tree::{Action, Named, RoutineKind, TableRef, TableRole, TransactionControl};

impl Parser<'_> {
    /// From after CREATE, ALTER or DROP (and OR REPLACE), if it is not of a table, index or database.
    pub fn named_object(&mut self, action: Action, or_replace: bool) -> Result<Named> {
        self.object_prefix()?;
        if self.eat("VIEW") {
            let views = self.object_list(action)?;
            return Ok(Named::View { action, views });
        }
        if self.eat("TRIGGER") {
            return self.trigger(action);
        }
        if self.eat("EVENT") {
            self.existence();
            return Ok(Named::Event { action, event: self.object(action)? });
        }
        if self.eat("SEQUENCE") {
            let if_exists = self.if_exists(false);
            let if_not_exists = self.if_not_exists(false);
            let mut sequences = vec![self.table(TableRole::Subject)?];
            while action == Action::Drop && self.eat_sign(',') {
                sequences.push(self.table(TableRole::Subject)?);
            }
            let mut data_type = None;
            while action == Action::Create && !self.at_end() && data_type.is_none() {
                if self.eat("AS") {
                    data_type = Some(self.data_type()?);
                } else {
                    self.step()?;
                }
            }
            return Ok(Named::Sequence { action, or_replace, if_exists, if_not_exists, sequences, data_type });
        }
        if let Some(kind) = self.routine_kind() {
            return self.routine(action, kind);
        }
        if self.eat_any(&["USER", "ROLE"]).is_some() {
            return Ok(Named::Account { command: verb(action).to_owned() });
        }
        const SERVER_OBJECTS: [&str; 10] = [
            "SERVER",
            "TABLESPACE",
            "UNDO TABLESPACE",
            "LOGFILE GROUP",
            "RESOURCE GROUP",
            "SPATIAL REFERENCE SYSTEM",
            "INSTANCE",
            "CATALOG",
            "MASKING POLICY",
            "MATERIALIZED VIEW",
        ];
        match self.eat_any(&SERVER_OBJECTS) {
            Some(kind) => Ok(Named::ServerObject { action, kind: kind.to_owned() }),
            None => self.unexpected("a kind of object"),
        }
    }

    /// ALGORITHM, DEFINER and SQL SECURITY before the kind of the object.
    fn object_prefix(&mut self) -> Result<()> {
        loop {
            if self.is_keyword("ALGORITHM") && self.is_sign_at(1, '=') {
                self.advance();
                self.advance();
                self.name()?;
            } else if self.eat("DEFINER") {
                self.eat_sign('=');
                self.account()?;
            } else if self.eat("SQL SECURITY") {
                self.name()?;
            } else if !self.eat("AGGREGATE") {
                return Ok(());
            }
        }
    }

    /// `user@host`, `CURRENT_USER()`.
    fn account(&mut self) -> Result<()> {
        self.name_or_text()?;
        if self.is_sign('(') {
            self.balanced()?;
        }
        if self.eat_sign('@') {
            self.step()?;
            // a host without quotes may be an address
            while self.here() == self.last_end()
                && matches!(self.peek().kind, TokenKind::Word | TokenKind::Number | TokenKind::Sign('.' | '-'))
            {
                self.advance();
            }
        }
        Ok(())
    }

    fn existence(&mut self) {
        self.eat_any(&["IF EXISTS", "IF NOT EXISTS"]);
    }

    /// The object's name; of a DROP it is noted for edits, since nothing else in it needs one.
    fn object(&mut self, action: Action) -> Result<TableRef> {
        if action == Action::Drop { self.table(TableRole::Subject) } else { self.object_name() }
    }

    fn object_list(&mut self, action: Action) -> Result<Vec<TableRef>> {
        self.existence();
        let mut objects = vec![self.object(action)?];
        while self.eat_sign(',') {
            objects.push(self.object(action)?);
        }
        Ok(objects)
    }

    fn trigger(&mut self, action: Action) -> Result<Named> {
        self.existence();
        let trigger = self.object(action)?;
        let mut table = None;
        if action == Action::Create {
            while !self.eat("ON") {
                if self.at_end() {
                    return self.unexpected("ON");
                }
                self.step()?;
            }
            table = Some(self.object_name()?);
        }
        Ok(Named::Trigger { action, trigger, table })
    }

    fn routine_kind(&mut self) -> Option<RoutineKind> {
        const KINDS: [(&str, RoutineKind); 5] = [
            ("PROCEDURE", RoutineKind::Procedure),
            ("FUNCTION", RoutineKind::Function),
            ("PACKAGE BODY", RoutineKind::PackageBody),
            ("PACKAGE", RoutineKind::Package),
            ("LIBRARY", RoutineKind::Library),
        ];
        KINDS.into_iter().find(|(words, _)| self.eat(words)).map(|(_, kind)| kind)
    }

    fn routine(&mut self, action: Action, kind: RoutineKind) -> Result<Named> {
        self.existence();
        // a function of a shared library has no schema and no parameters
        let loadable = kind == RoutineKind::Function && action == Action::Create && self.is_keyword_at(1, "RETURNS");
        if loadable {
            return Ok(Named::LoadableFunction { action, name: self.name()? });
        }
        Ok(Named::Routine { action, kind, routine: self.object(action)? })
    }

    /// A statement by its first word, other than CREATE, ALTER, DROP, RENAME and TRUNCATE.
    pub fn command(&mut self) -> Result<Named> {
        if let Some(control) = self.transaction_control()? {
            return Ok(Named::Transaction(control));
        }
        let is_query = self.is_sign('(');
        let first = self.word_at(0).map(str::to_ascii_uppercase).unwrap_or_default();
        let command = first.clone();
        match first.as_str() {
            "OPTIMIZE" | "ANALYZE" | "REPAIR" | "CHECK" | "CHECKSUM" => self.maintenance(command),
            "FLUSH" | "CACHE" | "KILL" | "SHUTDOWN" | "RESTART" | "RESET" | "PURGE" | "START" | "STOP" | "CHANGE"
            | "BACKUP" => Ok(Named::Maintenance { command, tables: Vec::new() }),
            "LOAD" if self.is_keyword_at(1, "INDEX") => Ok(Named::Maintenance { command, tables: Vec::new() }),
            "GRANT" | "REVOKE" => Ok(Named::Account { command }),
            "SET" if self.is_keyword_at(1, "PASSWORD") || self.is_keyword_at(1, "ROLE") => {
                Ok(Named::Account { command })
            }
            "SET" if self.are_keywords("SET DEFAULT ROLE") => Ok(Named::Account { command }),
            "INSTALL" | "UNINSTALL" => {
                let action = if first == "INSTALL" { Action::Create } else { Action::Drop };
                let kind = self.word_at(1).unwrap_or("PLUGIN").to_ascii_uppercase();
                Ok(Named::ServerObject { action, kind })
            }
            "INSERT" | "UPDATE" | "DELETE" | "REPLACE" | "LOAD" | "CALL" | "DO" | "SELECT" | "WITH" | "VALUES"
            | "TABLE" | "HANDLER" | "EXECUTE" | "BINLOG" | "BEGIN" => Ok(Named::Rows { command }),
            "" if is_query => Ok(Named::Rows { command: "SELECT".to_owned() }),
            "SET" | "USE" | "LOCK" | "UNLOCK" | "PREPARE" | "DEALLOCATE" | "SHOW" | "DESCRIBE" | "DESC" | "EXPLAIN"
            | "HELP" => Ok(Named::Session { command }),
            _ => self.unexpected("a statement"),
        }
    }

    /// OPTIMIZE TABLE and its like. Without TABLE it is MariaDB's ANALYZE of a statement, which runs that.
    fn maintenance(&mut self, command: String) -> Result<Named> {
        self.advance();
        self.eat_any(&["NO_WRITE_TO_BINLOG", "LOCAL"]);
        if self.eat_any(&["TABLE", "TABLES"]).is_none() {
            if self.eat_any(&["VIEW"]).is_some() {
                return Ok(Named::Maintenance { command, tables: Vec::new() });
            }
            return Ok(Named::Rows { command });
        }
        let mut tables = vec![self.object_name()?];
        while self.eat_sign(',') {
            tables.push(self.object_name()?);
        }
        Ok(Named::Maintenance { command, tables })
    }

    fn transaction_control(&mut self) -> Result<Option<TransactionControl>> {
        if self.is_keyword("BEGIN") && !self.is_keyword_at(1, "NOT") {
            return Ok(Some(TransactionControl::Begin));
        }
        if self.eat("START TRANSACTION") {
            return Ok(Some(TransactionControl::Begin));
        }
        if self.eat("COMMIT") {
            return Ok(Some(TransactionControl::Commit));
        }
        if self.eat("ROLLBACK") {
            self.eat("WORK");
            if !self.eat("TO") {
                return Ok(Some(TransactionControl::Rollback));
            }
            self.eat("SAVEPOINT");
            return Ok(Some(TransactionControl::RollbackTo(self.name()?)));
        }
        if self.eat("SAVEPOINT") {
            return Ok(Some(TransactionControl::Savepoint(self.name()?)));
        }
        if self.eat("RELEASE SAVEPOINT") {
            return Ok(Some(TransactionControl::ReleaseSavepoint(self.name()?)));
        }
        if self.eat("XA") {
            return self.xa().map(Some);
        }
        Ok(None)
    }

    fn xa(&mut self) -> Result<TransactionControl> {
        let verbs = ["START", "BEGIN", "END", "PREPARE", "COMMIT", "ROLLBACK", "RECOVER"];
        let Some(verb) = self.eat_any(&verbs) else { return self.unexpected("a verb of XA") };
        if verb == "RECOVER" {
            return Ok(TransactionControl::XaRecover);
        }
        let xid = self.xid()?;
        Ok(match verb {
            "START" | "BEGIN" => TransactionControl::XaStart { xid },
            "END" => TransactionControl::XaEnd { xid },
            "PREPARE" => TransactionControl::XaPrepare { xid },
            "COMMIT" => TransactionControl::XaCommit { xid, one_phase: self.eat("ONE PHASE") },
            _ => TransactionControl::XaRollback { xid },
        })
    }

    /// `gtrid [, bqual [, format]]`, each a string, a bit literal or a number.
    fn xid(&mut self) -> Result<Span> {
        let start = self.here();
        loop {
            match self.peek().kind {
                TokenKind::Text(_) | TokenKind::Bits | TokenKind::Number => self.advance(),
                _ => return self.unexpected("an xid"),
            };
            if !self.eat_sign(',') {
                return Ok(self.since(start));
            }
        }
    }
}

fn verb(action: Action) -> &'static str {
    match action {
        Action::Create => "CREATE",
        Action::Alter => "ALTER",
        Action::Drop => "DROP",
        Action::Rename => "RENAME",
    }
}
