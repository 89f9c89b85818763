//! The DDL that is about to be applied. DDL commits by itself, so it is announced before and recorded after; a line
//! found at a takeover means that a run ended in between, and the table's fingerprint tells whether it was applied.

use serde::{Deserialize, Serialize};

use super::error::Error;
use super::takeover::Ledger;
use super::{progress::LowWater, tables};
use crate::model::TableName;
use crate::mysql::{Connection, Deadline, string_literal};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnnouncedDdl {
    /// The low-water once it is applied.
    pub after: LowWater,
    /// The statement as the source logged it.
    pub source_statement: String,
    /// As it is sent to the target.
    pub target_statement: String,
    /// The SET statement of the session it runs in.
    pub environment: String,
    /// It may be run twice: the second time changes nothing.
    pub repeatable: bool,
    /// The target tables it touches, each as it was before.
    pub before: Vec<Fingerprint>,
    /// The source's structures once it is applied.
    pub structures: Vec<StructureChange>,
}

/// A structure to save, or to forget when `structure` is None.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StructureChange {
    pub name: TableName,
    pub structure: Option<String>,
}

/// A target object as it stands: its definition without counters, and its identity in the storage engine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fingerprint {
    pub table: TableName,
    /// None: it does not exist.
    pub definition: Option<String>,
    /// InnoDB's table ids, one for each partition; None: this account may not read them.
    pub engine_ids: Option<Vec<u64>>,
}

impl Ledger {
    pub fn announce_statement(&self, announced: &AnnouncedDdl) -> Result<String, Error> {
        Ok(format!(
            "INSERT INTO {} (ledger_id, announced) VALUES ({}, {})",
            self.table(tables::ANNOUNCED),
            self.id_literal(),
            string_literal(&self.write_json(announced)?)
        ))
    }

    pub fn withdraw_statement(&self) -> String {
        format!("DELETE FROM {} WHERE ledger_id = {}", self.table(tables::ANNOUNCED), self.id_literal())
    }
}

pub async fn read(
    ledger: &Ledger,
    connection: &mut Connection,
    deadline: Deadline,
) -> Result<Option<AnnouncedDdl>, Error> {
    let failed = |cause| Error::Database { doing: "read", id: ledger.id(), cause };
    let sql =
        format!("SELECT announced FROM {} WHERE ledger_id = {}", ledger.table(tables::ANNOUNCED), ledger.id_literal());
    let row = connection.optional_row(&sql, "reading the announced DDL", deadline).await.map_err(failed)?;
    row.map(|row| ledger.read_json(&row.text("announced").map_err(failed)?, "an announced DDL")).transpose()
}
