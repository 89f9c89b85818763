//! Statements on their way: as many in one packet as the target takes. Pure.

use super::large::LargeCell;
use super::statement::Statement;
use crate::mysql::SESSION_SQL_MODE;

/// Enough that a round trip no longer counts.
const PACKET_BYTES: usize = 1 << 20;

/// The head of a packet inside of a transaction.
pub const NOTHING: &str = "DO 0";

/// One packet of statements, and where in its answers each statement's own stands.
pub struct Packet<'a> {
    pub sql: Vec<u8>,
    /// Statements with the place of their answer.
    places: Vec<(usize, &'a Statement)>,
    answers: usize,
}

impl<'a> Packet<'a> {
    fn begin(head: &str) -> Self {
        Self { sql: head.as_bytes().to_vec(), places: Vec::new(), answers: 1 }
    }

    pub fn statements(&self) -> impl Iterator<Item = (usize, &'a Statement)> + '_ {
        self.places.iter().copied()
    }

    /// Whether the statement's warnings can still be asked for: nothing came after it.
    pub fn ends_with(&self, statement: &Statement) -> bool {
        self.places.last().is_some_and(|(place, last)| std::ptr::eq(*last, statement) && place + 1 == self.answers)
    }

    /// The statement, when the packet has only one.
    pub fn only_statement(&self) -> Option<&'a Statement> {
        match self.places.as_slice() {
            [(_, statement)] => Some(statement),
            _ => None,
        }
    }

    fn has_large_cells(&self) -> bool {
        self.places.iter().any(|(_, statement)| !statement.large.is_empty())
    }

    /// The cells whose values must be at the target before this packet.
    pub fn large_cells(&self) -> &'a [LargeCell] {
        self.places.first().map_or(&[], |(_, statement)| statement.large.as_slice())
    }

    fn push(&mut self, statement: &'a Statement) {
        if statement.cascades {
            self.push_sql(b"SET foreign_key_checks=1");
        }
        if statement.relaxed {
            self.push_sql(b"SET SESSION sql_mode='ALLOW_INVALID_DATES,NO_AUTO_VALUE_ON_ZERO,NO_ENGINE_SUBSTITUTION'");
        }
        self.places.push((self.answers, statement));
        self.push_sql(&statement.sql);
        if statement.relaxed {
            self.push_sql(format!("SET SESSION sql_mode='{SESSION_SQL_MODE}'").as_bytes());
        }
        if statement.cascades {
            self.push_sql(b"SET foreign_key_checks=0");
        }
    }

    fn push_sql(&mut self, sql: &[u8]) {
        self.sql.extend_from_slice(b"; ");
        self.sql.extend_from_slice(sql);
        self.answers += 1;
    }
}

/// Packs statements behind `head`, which stands once at the beginning of the first packet. Packets stay below a
/// quarter of `limit` (what the target takes) unless a single statement is larger; one with large cells is alone in
/// its packet. They are made one at a time.
pub fn packets<'a>(statements: &'a [Statement], head: &'a str, limit: usize) -> impl Iterator<Item = Packet<'a>> {
    let limit = PACKET_BYTES.min(limit / 4);
    let mut rest = statements.iter().peekable();
    let mut head = Some(head);
    std::iter::from_fn(move || {
        if head.is_none() && rest.peek().is_none() {
            return None;
        }
        let mut packet = Packet::begin(head.take().unwrap_or(NOTHING));
        while let Some(statement) = rest.peek() {
            let is_alone = !statement.large.is_empty() || packet.has_large_cells();
            let is_full = is_alone || packet.sql.len() + statement.sql.len() > limit;
            if !packet.places.is_empty() && is_full {
                break;
            }
            packet.push(statement);
            rest.next();
        }
        Some(packet)
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::model::TableName;
    use crate::replicate::transaction::ApplyTable;

    fn statement(sql: &str, cascades: bool) -> Statement {
        Statement {
            sql: sql.as_bytes().to_vec(),
            expected_rows: 1,
            table: Arc::new(ApplyTable {
                target: TableName::new("d", "t"),
                source: TableName::new("d", "t"),
                columns: Vec::new(),
                identity: Vec::new(),
                other_unique: Vec::new(),
                always_set: Vec::new(),
                keeps_order: false,
                is_multiset: false,
                lead: None,
            }),
            first: (0, 0),
            cascades,
            relaxed: false,
            large: Vec::new(),
        }
    }

    #[test]
    fn answers_are_counted_past_the_settings_around_a_statement() {
        let statements = [statement("A", false), statement("B", true), statement("C", false)];
        let packets = packets(&statements, "BEGIN", 1 << 20).collect::<Vec<_>>();
        let [packet] = packets.as_slice() else { panic!("one packet") };
        assert_eq!(
            String::from_utf8_lossy(&packet.sql),
            "BEGIN; A; SET foreign_key_checks=1; B; SET foreign_key_checks=0; C"
        );
        assert_eq!(packet.statements().map(|(place, _)| place).collect::<Vec<_>>(), [1, 3, 5]);
        assert!(packet.ends_with(&statements[2]) && !packet.ends_with(&statements[1]));
    }

    #[test]
    fn a_packet_ends_before_the_target_s_limit_and_large_statements_go_alone() {
        let long = "x".repeat(60);
        let statements = [statement(&long, false), statement(&long, false), statement("y", false)];
        let sizes: Vec<usize> = packets(&statements, "BEGIN", 300).map(|packet| packet.places.len()).collect();
        assert_eq!(sizes, [1, 2]);
    }
}
