//! The applier's part that follows statements: the marks of transactions, and DDL.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::applier::{Applier, describe};
use super::ddl::apply::{self, Ddl};
use super::ddl::decide::{Decision, Rules, decide};
use super::error::Error;
use super::low_water::End;
use crate::binlog::{AlterPhase, EventHeader, QueryEvent};
use crate::ddl::{Meaning, Named, Parsed, TransactionControl, is_blank, parse};
use crate::ledger::LowWater;
use crate::model::BinlogPosition;
use crate::mysql::Deadline;

const ASKING: Duration = Duration::from_secs(60);

impl Applier {
    pub(super) async fn take_query(
        &mut self,
        query: QueryEvent,
        header: &EventHeader,
        end: &BinlogPosition,
        stop: &CancellationToken,
    ) -> Result<(), Error> {
        // By far the most frequent, and the same bytes in every character set.
        match &*query.sql {
            b"BEGIN" => {
                self.mark_begun();
                return Ok(());
            }
            b"COMMIT" => return self.commit(end, header.timestamp, stop).await,
            _ => {}
        }
        let text = self.text_of(&query, end).await?;
        let parsed = parse(&text, &self.facts.context(&query));
        if let Meaning::Named(Named::Transaction(control)) = &parsed.meaning {
            return self.take_control(control, &parsed.text, end, header.timestamp, stop).await;
        }
        if self.is_no_more_than_a_mark(&parsed) {
            return self.end_standalone(end, header.timestamp, stop).await;
        }
        self.take_statement(&query, parsed, header, end, stop).await
    }

    fn mark_begun(&mut self) {
        if let Some(current) = &mut self.state.current {
            current.begun = true;
        }
    }

    /// A DDL that was logged in two phases runs with the second; what failed at the source is not run.
    fn is_no_more_than_a_mark(&self, parsed: &Parsed) -> bool {
        let phase = self.state.current.as_ref().and_then(|current| current.alter);
        matches!(phase, Some(AlterPhase::Start | AlterPhase::Rollback { .. }))
            || is_blank(&parsed.text, &parsed.context)
    }

    /// The statement's text. Bytes of a character set that is not UTF-8 are turned by the target.
    async fn text_of(&mut self, query: &QueryEvent, end: &BinlogPosition) -> Result<String, Error> {
        let Some(charset) = self.facts.foreign_charset(query) else {
            return Ok(String::from_utf8_lossy(&query.sql).into_owned());
        };
        let hex = query.sql.iter().fold(String::new(), |hex, byte| format!("{hex}{byte:02x}"));
        let sql = format!("SELECT CONVERT(_{charset} 0x{hex} USING utf8mb4) AS statement");
        let failed = |cause| Error::Target { doing: "convert a statement at", position: end.to_string(), cause };
        let row = self
            .control
            .connection()
            .first_row(&sql, "converting a statement", Deadline::after(ASKING))
            .await
            .map_err(failed)?;
        row.text("statement").map_err(failed)
    }

    async fn take_control(
        &mut self,
        control: &TransactionControl,
        text: &str,
        end: &BinlogPosition,
        timestamp: u32,
        stop: &CancellationToken,
    ) -> Result<(), Error> {
        let has_rows = self
            .state
            .current
            .as_ref()
            .is_some_and(|current| current.is_streaming || !current.transaction.changes.is_empty());
        match control {
            TransactionControl::Begin => self.mark_begun(),
            TransactionControl::XaStart { .. } => self.begin_xa(),
            TransactionControl::Commit => return self.commit(end, timestamp, stop).await,
            TransactionControl::Savepoint(_)
            | TransactionControl::ReleaseSavepoint(_)
            | TransactionControl::XaEnd { .. }
            | TransactionControl::XaRecover => {}
            // Written when tables without transactions were changed: what of the rows before it stayed is not told.
            TransactionControl::Rollback | TransactionControl::RollbackTo(_) if has_rows => {
                return Err(
                    self.unsupported("a ROLLBACK of logged rows (a table without transactions)".to_owned(), end)
                );
            }
            TransactionControl::RollbackTo(_) => {}
            TransactionControl::Rollback => return self.commit(end, timestamp, stop).await,
            TransactionControl::XaCommit { xid, .. } => {
                return self.end_prepared(xid.of(text), true, end, timestamp, stop).await;
            }
            TransactionControl::XaRollback { xid } => {
                return self.end_prepared(xid.of(text), false, end, timestamp, stop).await;
            }
            TransactionControl::XaPrepare { .. } => {
                return Err(self.unsupported("XA PREPARE logged as a statement".to_owned(), end));
            }
        }
        Ok(())
    }

    /// A statement that is nothing to the target still ends its transaction.
    async fn end_standalone(
        &mut self,
        end: &BinlogPosition,
        timestamp: u32,
        stop: &CancellationToken,
    ) -> Result<(), Error> {
        match &self.state.current {
            Some(current) if current.begun => Ok(()),
            Some(_) => self.commit(end, timestamp, stop).await,
            None => Ok(()),
        }
    }

    async fn take_statement(
        &mut self,
        query: &QueryEvent,
        parsed: Parsed,
        header: &EventHeader,
        end: &BinlogPosition,
        stop: &CancellationToken,
    ) -> Result<(), Error> {
        let Some(current) = &self.state.current else {
            return Err(self.unsupported("a statement outside of a transaction".to_owned(), end));
        };
        let (gtid, inside, is_applied) = (current.gtid.clone(), current.begun, current.is_applied);
        let position = describe(end, gtid.as_ref());
        if inside && (current.is_streaming || !current.transaction.changes.is_empty()) {
            return match &parsed.meaning {
                Meaning::Named(Named::TemporaryTables { .. } | Named::Session { .. } | Named::Maintenance { .. }) => {
                    Ok(())
                }
                _ => Err(self.unsupported("a statement after rows of its own transaction".to_owned(), end)),
            };
        }
        // A CREATE … SELECT: the DDL is the second of the transaction's parts.
        if is_applied || (inside && self.parts_applied >= 2) {
            return if inside { Ok(()) } else { self.commit(end, header.timestamp, stop).await };
        }
        let settings = self.facts.settings(query);
        let stands = |table: &crate::model::TableName| self.floors.hold(table, end, gtid.as_ref());
        let rules = Rules {
            filter: &self.filter,
            router: &self.router,
            sides: &self.sides,
            stands_after: &stands,
            others_stand_after: self.floors.hold_others(end, gtid.as_ref()),
        };
        let decision = decide(&parsed, query, &settings, &mut self.catalogue, &rules).map_err(|stop| {
            let (statement, position) = (shown(&parsed.text), position.clone());
            match stop.is_collation {
                true => Error::StatementCollation { statement, position, why: stop.why },
                false => Error::Statement { statement, position, why: stop.why },
            }
        })?;
        let nothing = matches!(&decision, Decision::PassOver { structures, .. } if structures.is_empty());
        if let Decision::PassOver { notice: Some(notice), .. } = &decision {
            self.pulse.note(format!("{notice} at {position}"));
        }
        if nothing {
            return if inside { Ok(()) } else { self.commit(end, header.timestamp, stop).await };
        }
        self.barrier(stop).await?;
        let after = self.low_water_after(header, end, inside);
        match decision {
            Decision::PassOver { structures, .. } => {
                apply::pass_over(&mut self.control, &after, &structures, self.inherited.above(&after)).await?;
            }
            Decision::Apply { statement, touched, repeatable, structures } => {
                let environment = self.facts.environment(query, header.timestamp, self.sides.target.flavor);
                self.pulse.set_ddl(Some(shown(&statement)));
                let low_water = self.shared.low_water();
                let ddl = Ddl {
                    after,
                    source_statement: shown(&parsed.text),
                    target_statement: statement,
                    environment,
                    repeatable,
                    touched,
                    structures,
                    position,
                };
                apply::apply(&mut self.control, ddl, &low_water, self.inherited.above(&low_water)).await?;
                self.pulse.set_ddl(None);
            }
        }
        self.state.flows.clear();
        self.prepared.forget_rows();
        self.targets.forget();
        if inside {
            self.shared.set_parts(2);
            if let Some(current) = &mut self.state.current {
                current.parts = 2;
            }
            return Ok(());
        }
        self.commit(end, header.timestamp, stop).await
    }

    /// The low-water once this statement is done: behind its transaction, or inside of it.
    fn low_water_after(&self, header: &EventHeader, end: &BinlogPosition, inside: bool) -> LowWater {
        if inside {
            return LowWater { parts: 2, ..self.shared.low_water() };
        }
        let end = End {
            file: self.state.file.clone(),
            offset: end.offset,
            gtid: self.state.current.as_ref().and_then(|current| current.gtid.clone()),
            committed_s: header.timestamp,
        };
        self.shared.look(|tracker| tracker.low_water_after(&end))
    }
}

/// A statement for the ledger, status and messages, cut where it gets long.
fn shown(text: &str) -> String {
    const LONGEST: usize = 2000;
    let cut: String = text.chars().take(LONGEST).collect();
    if cut.len() < text.len() { format!("{cut}…") } else { cut }
}
