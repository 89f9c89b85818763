//! The source's structures as of the ledger's position: written with the copy, and with every DDL in the
//! transaction that records it. The text is the catalogue's; it is not looked into here.

use super::announced::StructureChange;
use super::error::Error;
use super::tables;
use super::takeover::Ledger;
use crate::model::TableName;
use crate::mysql::{Connection, Deadline, string_literal};

/// A table's structure, or a database's defaults when `name.table` is empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SavedStructure {
    pub name: TableName,
    pub structure: String,
}

impl Ledger {
    /// Saves or forgets a structure.
    pub fn structure_change_statement(&self, change: &StructureChange) -> String {
        match &change.structure {
            Some(structure) => {
                self.structure_statement(&SavedStructure { name: change.name.clone(), structure: structure.clone() })
            }
            None => self.forget_structure_statement(&change.name),
        }
    }

    pub fn structure_statement(&self, saved: &SavedStructure) -> String {
        format!(
            "REPLACE INTO {} (ledger_id, source_schema, source_table, structure) VALUES ({}, {}, {}, {})",
            self.table(tables::STRUCTURE),
            self.id_literal(),
            string_literal(&saved.name.schema),
            string_literal(&saved.name.table),
            string_literal(&saved.structure),
        )
    }

    pub fn forget_structure_statement(&self, name: &TableName) -> String {
        format!(
            "DELETE FROM {} WHERE ledger_id = {} AND source_schema = {} AND source_table = {}",
            self.table(tables::STRUCTURE),
            self.id_literal(),
            string_literal(&name.schema),
            string_literal(&name.table),
        )
    }
}

pub async fn read(
    ledger: &Ledger,
    connection: &mut Connection,
    deadline: Deadline,
) -> Result<Vec<SavedStructure>, Error> {
    let failed = |cause| Error::Database { doing: "read", id: ledger.id(), cause };
    let sql = format!(
        "SELECT source_schema, source_table, structure FROM {} WHERE ledger_id = {}",
        ledger.table(tables::STRUCTURE),
        ledger.id_literal()
    );
    let rows = connection.rows(&sql, "reading saved structures", deadline).await.map_err(failed)?;
    rows.iter()
        .map(|row| {
            Ok(SavedStructure {
                name: TableName::new(
                    row.text("source_schema").map_err(failed)?,
                    row.text("source_table").map_err(failed)?,
                ),
                structure: row.text("structure").map_err(failed)?,
            })
        })
        .collect()
}
