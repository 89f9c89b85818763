//! CREATE, ALTER and DROP DATABASE.

use super::cursor::{Parser, Result};
use crate::ddl::token::Span;
use crate::ddl::tree::{
    AlterDatabase, CharsetChoice, CharsetPlace, CreateDatabase, DatabaseUse, DropDatabase, Ident, Statement,
};

impl Parser<'_> {
    fn database_name(&mut self) -> Result<Ident> {
        let name = self.name()?;
        self.uses.databases.push(DatabaseUse { name: name.value.clone(), span: name.span });
        Ok(name)
    }

    /// From after `CREATE [OR REPLACE] DATABASE`.
    pub fn create_database(&mut self, or_replace: bool) -> Result<Statement> {
        let if_not_exists = self.if_not_exists(false);
        let name = self.database_name()?;
        let charset = self.database_options()?;
        Ok(Statement::CreateDatabase(CreateDatabase { or_replace, if_not_exists, name, charset }))
    }

    /// From after `ALTER DATABASE`.
    pub fn alter_database(&mut self) -> Result<Statement> {
        let named = self.is_name() && !self.is_database_option();
        let name = match &self.context.default_schema {
            _ if named => self.database_name()?.value,
            Some(schema) => {
                let span = Span::at(self.here());
                self.uses.databases.push(DatabaseUse { name: schema.clone(), span });
                schema.clone()
            }
            None => return self.refuse("no database is named, and there is no default schema"),
        };
        if self.eat("UPGRADE DATA DIRECTORY NAME") {
            return Ok(Statement::AlterDatabase(AlterDatabase { name, charset: CharsetChoice::default() }));
        }
        let charset = self.database_options()?;
        Ok(Statement::AlterDatabase(AlterDatabase { name, charset }))
    }

    /// From after `DROP DATABASE`.
    pub fn drop_database(&mut self) -> Result<Statement> {
        let if_exists = self.if_exists(false);
        Ok(Statement::DropDatabase(DropDatabase { if_exists, name: self.database_name()? }))
    }

    /// A database may be left out, and be named like the first word of an option.
    fn is_database_option(&self) -> bool {
        let option = ["DEFAULT", "CHARACTER", "CHARSET", "COLLATE", "ENCRYPTION", "READ", "COMMENT"];
        let is_option = self.word_at(0).is_some_and(|word| option.iter().any(|o| word.eq_ignore_ascii_case(o)));
        // a database called `charset`, with an option after it
        let after = self.is_any_keyword(&["CHARSET", "ENCRYPTION", "READ", "COMMENT"])
            && option.iter().any(|option| self.is_keyword_at(1, option));
        is_option && !after
    }

    fn database_options(&mut self) -> Result<CharsetChoice> {
        let mut charsets = Vec::new();
        loop {
            if let Some(option) = self.default_charset_option()? {
                charsets.push(option);
            } else if self.eat_any(&["DEFAULT ENCRYPTION", "ENCRYPTION", "COMMENT"]).is_some() {
                self.eat_sign('=');
                self.text()?;
            } else if self.eat("READ ONLY") {
                self.eat_sign('=');
                self.advance();
            } else {
                return Ok(self.note_default(CharsetPlace::Database, charsets));
            }
        }
    }
}
