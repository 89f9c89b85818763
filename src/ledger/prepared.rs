//! Transactions that the source has prepared (XA PREPARE) and not ended when the ledger's position passed them. Their
//! rows are not in the target; the note says where to read them when the XA COMMIT comes.

use serde::{Deserialize, Serialize};

use super::error::Error;
use super::tables;
use super::takeover::Ledger;
use crate::model::BinlogPosition;
use crate::mysql::{Connection, Deadline, string_literal};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PreparedTransaction {
    /// As XA statements of the binlog write it: `X'6774',X'62',1`.
    pub xid: String,
    pub place: PreparedPlace,
}

/// Where its events begin, and in whose log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PreparedPlace {
    pub begins: BinlogPosition,
    pub source_identity: String,
}

impl Ledger {
    /// Notes it. An xid is used again only when the transaction before has ended: the later note stands.
    pub fn prepared_statement(&self, prepared: &PreparedTransaction) -> Result<String, Error> {
        Ok(format!(
            "REPLACE INTO {} (ledger_id, xid, place) VALUES ({}, {}, {})",
            self.table(tables::PREPARED),
            self.id_literal(),
            string_literal(&prepared.xid),
            string_literal(&self.write_json(&prepared.place)?),
        ))
    }

    pub fn forget_prepared_statement(&self, xid: &str) -> String {
        format!(
            "DELETE FROM {} WHERE ledger_id = {} AND xid = {}",
            self.table(tables::PREPARED),
            self.id_literal(),
            string_literal(xid),
        )
    }
}

pub async fn read(
    ledger: &Ledger,
    connection: &mut Connection,
    deadline: Deadline,
) -> Result<Vec<PreparedTransaction>, Error> {
    let failed = |cause| Error::Database { doing: "read", id: ledger.id(), cause };
    let sql =
        format!("SELECT xid, place FROM {} WHERE ledger_id = {}", ledger.table(tables::PREPARED), ledger.id_literal());
    let rows = connection.rows(&sql, "reading the prepared transactions", deadline).await.map_err(failed)?;
    rows.iter()
        .map(|row| {
            let place = row.text("place").map_err(failed)?;
            Ok(PreparedTransaction {
                xid: row.text("xid").map_err(failed)?,
                place: ledger.read_json(&place, "a prepared transaction")?,
            })
        })
        .collect()
}
