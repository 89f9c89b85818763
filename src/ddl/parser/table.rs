//! CREATE TABLE, DROP TABLE, RENAME TABLE, TRUNCATE.

use super::cursor::{Parser, Result};
use crate::ddl::tree::{
    CharsetPlace, CreateTable, CreateTableLike, DropTable, RenameTable, Statement, TableElement, TableRole,
};
use crate::model::TableName;

impl Parser<'_> {
    /// From after `CREATE [OR REPLACE] TABLE`.
    pub fn create_table(&mut self, or_replace: bool) -> Result<Statement> {
        let if_not_exists = self.if_not_exists(false);
        let table = self.table(TableRole::Subject)?;
        let in_parentheses = self.is_sign('(') && self.is_keyword_at(1, "LIKE");
        if in_parentheses {
            self.advance();
        }
        if self.eat("LIKE") {
            let like = self.table(TableRole::Like)?;
            if in_parentheses {
                self.expect_sign(')')?;
            }
            return Ok(Statement::CreateTableLike(CreateTableLike { or_replace, if_not_exists, table, like }));
        }
        let own = table.table.clone();
        let mut elements = Vec::new();
        let mut options_at = table.span.end;
        if self.is_sign('(') && !self.begins_select_at(1) {
            elements = self.elements(&own)?;
            options_at = self.last_end();
        }
        let (options, charset) = self.table_options(CharsetPlace::Table, true, false)?;
        let partitions = self.partition_clause()?;
        let select = if self.begins_select_at(0) {
            let start = self.here();
            self.skip_rest()?;
            Some(self.since(start))
        } else {
            None
        };
        if elements.is_empty() && select.is_none() {
            return self.unexpected("columns");
        }
        Ok(Statement::CreateTable(CreateTable {
            or_replace,
            if_not_exists,
            table,
            elements,
            options,
            charset,
            options_at,
            partitions,
            select,
        }))
    }

    /// `( element, … )`.
    pub fn elements(&mut self, own: &TableName) -> Result<Vec<TableElement>> {
        self.expect_sign('(')?;
        let mut elements = Vec::new();
        loop {
            let start = self.here();
            let kind = self.element(own)?;
            elements.push(TableElement { kind, span: self.since(start) });
            if !self.eat_sign(',') {
                break;
            }
        }
        self.expect_sign(')')?;
        Ok(elements)
    }

    /// From after `DROP TABLE`.
    pub fn drop_table(&mut self) -> Result<DropTable> {
        let if_exists = self.if_exists(false);
        let mut tables = vec![self.table(TableRole::Subject)?];
        while self.eat_sign(',') {
            tables.push(self.table(TableRole::Subject)?);
        }
        self.wait()?;
        self.eat_any(&["RESTRICT", "CASCADE"]);
        Ok(DropTable { if_exists, tables })
    }

    /// From after `RENAME TABLE`.
    pub fn rename_table(&mut self) -> Result<Statement> {
        let if_exists = self.if_exists(false);
        let mut pairs = Vec::new();
        loop {
            let from = self.table(TableRole::Subject)?;
            self.wait()?;
            self.expect("TO")?;
            pairs.push((from, self.table(TableRole::Subject)?));
            if !self.eat_sign(',') {
                break;
            }
        }
        Ok(Statement::RenameTable(RenameTable { if_exists, pairs }))
    }

    /// From after `TRUNCATE`.
    pub fn truncate(&mut self) -> Result<Statement> {
        self.eat("TABLE");
        let table = self.table(TableRole::Subject)?;
        self.wait()?;
        Ok(Statement::TruncateTable(table))
    }
}
