//! Turns the changes of a group of transactions into few statements. Pure.
//!
//! Within a group all commits together, so only the last state of each row matters. For a table with a key the
//! changes of one row become one, and the table's statements go out as: deletes, updates, inserts. That order is
//! right as long as no update changes another unique key of the table; where one does, and for tables that are tied by
//! cascades, the changes keep their order and only neighbours of one kind are put together. Of a table without a key
//! see [`super::multiset`].

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use foldhash::fast::FixedState;

use super::multiset::{Place, difference};
use super::statement::{RowCells, Statement, delete, delete_many, insert_head, row_values, update};
use super::transaction::{ApplyTable, CellText, Change, Image, Row, Transaction};
use crate::model::TableName;

/// A statement's size: large enough that its overhead vanishes, small enough for every server.
const STATEMENT_BYTES: usize = 256 * 1024;
const DELETE_ROWS: usize = 500;

/// What a row was before the group and is after it.
#[derive(Debug, Clone, Copy)]
struct Net {
    before: Option<Place>,
    after: Option<Place>,
}

/// A table with its changes, each as (transaction, change).
type TableChanges = (Arc<ApplyTable>, Vec<(usize, usize)>);

/// The statements of a group, in the order they must be sent. `with_twins`: target tables without a key in which rows
/// that go have had twins that stay.
pub fn merged(group: &[Transaction], with_twins: &HashSet<TableName>) -> Vec<Statement> {
    let mut statements = Vec::new();
    let mut tables: Vec<TableChanges> = Vec::new();
    let mut ordered: Vec<(usize, usize)> = Vec::new();
    let mut places: HashMap<*const ApplyTable, usize, FixedState> = HashMap::default();
    for (transaction, whole) in group.iter().enumerate() {
        for (index, change) in whole.changes.iter().enumerate() {
            if change.table.keeps_order || change.cascades || change.relaxed {
                ordered.push((transaction, index));
                continue;
            }
            let place = *places.entry(Arc::as_ptr(&change.table)).or_insert_with(|| {
                tables.push((Arc::clone(&change.table), Vec::new()));
                tables.len() - 1
            });
            if let Some((_, changes)) = tables.get_mut(place) {
                changes.push((transaction, index));
            }
        }
    }
    // Two source tables that are routed into one target table are one table here, and only order tells their rows
    // apart; a relaxed change must not overtake others of its table. Then all keep their order.
    let mut in_order_too: Vec<_> = changes_at(group, &ordered).map(|change| change.table.target.clone()).collect();
    for (index, (table, _)) in tables.iter().enumerate() {
        if tables.iter().skip(index + 1).any(|(other, _)| other.target == table.target) {
            in_order_too.push(table.target.clone());
        }
    }
    tables.retain(|(table, changes)| {
        let moves = in_order_too.contains(&table.target);
        if moves {
            ordered.extend_from_slice(changes);
        }
        !moves
    });
    ordered.sort_unstable();
    for (table, changes) in &tables {
        if table.is_multiset {
            let difference = difference(group, table, changes, with_twins.contains(&table.target));
            statements.extend(difference.deletes);
            insert_all(group, table, difference.inserts, &mut statements);
            continue;
        }
        match net_changes(group, table, changes) {
            Some(net) => net_statements(group, table, &net, &mut statements),
            None => in_order(group, changes, &mut statements),
        }
    }
    in_order(group, &ordered, &mut statements);
    statements
}

/// The statements of one transaction, one for each change: slower, and every error has its row.
pub fn one_by_one(transaction: &Transaction) -> Vec<Statement> {
    let mut statements = Vec::new();
    for index in 0..transaction.changes.len() {
        in_order(std::slice::from_ref(transaction), &[(0, index)], &mut statements);
    }
    statements
}

fn changes_at<'a>(group: &'a [Transaction], at: &'a [(usize, usize)]) -> impl Iterator<Item = &'a Change> {
    at.iter().filter_map(|&(transaction, change)| group.get(transaction)?.changes.get(change))
}

/// The cells of the given columns, as one string of bytes that is the same for the same values only.
fn joined(cells: &CellText, image: Image, columns: &[usize]) -> Vec<u8> {
    let mut key = Vec::new();
    for &column in columns {
        let literal = cells.get(image, column);
        key.extend_from_slice(&(literal.len() as u64).to_le_bytes());
        key.extend_from_slice(literal);
    }
    key
}

/// One entry for each row; None when the table's changes must keep their order.
fn net_changes(group: &[Transaction], table: &ApplyTable, changes: &[(usize, usize)]) -> Option<Vec<Net>> {
    if !table.has_key() {
        return None;
    }
    let mut net: Vec<Net> = Vec::new();
    let mut rows: HashMap<Vec<u8>, usize, FixedState> = HashMap::default();
    for &(transaction, change) in changes {
        let whole = group.get(transaction)?;
        let place = |image| Place { transaction, change, image };
        match whole.changes.get(change)?.row {
            Row::Insert { after } => {
                inserted(&mut net, &mut rows, joined(&whole.cells, after, &table.identity), place(after))?;
            }
            Row::Delete { before } => {
                deleted(&mut net, &mut rows, joined(&whole.cells, before, &table.identity), place(before))?;
            }
            Row::Update { before, after } => {
                let same = |columns: &Vec<usize>| {
                    columns.iter().all(|&column| whole.cells.get(before, column) == whole.cells.get(after, column))
                };
                if !table.other_unique.iter().all(same) {
                    return None;
                }
                let key = joined(&whole.cells, before, &table.identity);
                if same(&table.identity) {
                    updated(&mut net, &mut rows, key, place(before), place(after))?;
                } else {
                    deleted(&mut net, &mut rows, key, place(before))?;
                    inserted(&mut net, &mut rows, joined(&whole.cells, after, &table.identity), place(after))?;
                }
            }
        }
    }
    net.retain(|row| row.before.is_some() || row.after.is_some());
    Some(net)
}

type Rows = HashMap<Vec<u8>, usize, FixedState>;

/// None when the log contradicts itself (a row inserted twice): then order decides, and the target complains.
fn inserted(net: &mut Vec<Net>, rows: &mut Rows, key: Vec<u8>, after: Place) -> Option<()> {
    match rows.get(&key).and_then(|&at| net.get_mut(at)) {
        Some(row) if row.after.is_none() => row.after = Some(after),
        Some(_) => return None,
        None => {
            rows.insert(key, net.len());
            net.push(Net { before: None, after: Some(after) });
        }
    }
    Some(())
}

fn deleted(net: &mut Vec<Net>, rows: &mut Rows, key: Vec<u8>, before: Place) -> Option<()> {
    match rows.get(&key).and_then(|&at| net.get_mut(at)) {
        Some(row) if row.after.is_some() => row.after = None,
        Some(_) => return None,
        None => {
            rows.insert(key, net.len());
            net.push(Net { before: Some(before), after: None });
        }
    }
    Some(())
}

fn updated(net: &mut Vec<Net>, rows: &mut Rows, key: Vec<u8>, before: Place, after: Place) -> Option<()> {
    match rows.get(&key).and_then(|&at| net.get_mut(at)) {
        Some(row) if row.after.is_some() => row.after = Some(after),
        Some(_) => return None,
        None => {
            rows.insert(key, net.len());
            net.push(Net { before: Some(before), after: Some(after) });
        }
    }
    Some(())
}

fn net_statements(group: &[Transaction], table: &Arc<ApplyTable>, net: &[Net], out: &mut Vec<Statement>) {
    let mut deletes: Vec<Place> = Vec::new();
    let mut updates: Vec<(Place, Place)> = Vec::new();
    let mut inserts: Vec<Place> = Vec::new();
    for row in net {
        match (row.before, row.after) {
            (Some(before), None) => deletes.push(before),
            (None, Some(after)) => inserts.push(after),
            (Some(before), Some(after)) if changes_unique(group, table, before, after) => {
                // Deleted and inserted again with another unique value: an update could meet a row that still
                // holds it.
                deletes.push(before);
                inserts.push(after);
            }
            (Some(before), Some(after)) => updates.push((before, after)),
            (None, None) => {}
        }
    }
    for some in deletes.chunks(DELETE_ROWS) {
        let rows: Vec<(&CellText, Image)> =
            some.iter().filter_map(|place| Some((place.cells(group)?, place.image))).collect();
        let mut sql = Vec::new();
        delete_many(&mut sql, table, &rows);
        out.extend(some.first().map(|place| statement(sql, rows.len() as u64, table, *place)));
    }
    for (before, after) in updates {
        let (Some(old), Some(new)) = (before.cells(group), after.cells(group)) else { continue };
        let (mut sql, mut large) = (Vec::new(), Vec::new());
        let same_change = (before.transaction, before.change) == (after.transaction, after.change);
        let row = RowCells { transaction: after.transaction, cells: new, image: after.image };
        if update(&mut sql, table, (old, before.image), row, same_change, &mut large) {
            out.push(Statement { large, ..statement(sql, 1, table, after) });
        }
    }
    insert_all(group, table, inserts, out);
}

fn insert_all(group: &[Transaction], table: &Arc<ApplyTable>, places: Vec<Place>, out: &mut Vec<Statement>) {
    let mut insert = InsertBuilder::default();
    for place in places {
        insert.add(group, table, place, out);
    }
    insert.flush(out);
}

fn changes_unique(group: &[Transaction], table: &ApplyTable, before: Place, after: Place) -> bool {
    let (Some(old), Some(new)) = (before.cells(group), after.cells(group)) else { return true };
    table.other_unique.iter().flatten().any(|&column| old.get(before.image, column) != new.get(after.image, column))
}

fn statement(sql: Vec<u8>, expected_rows: u64, table: &Arc<ApplyTable>, place: Place) -> Statement {
    Statement::plain(sql, expected_rows, table, (place.transaction, place.change))
}

/// Puts rows into multi-row INSERTs.
#[derive(Default)]
struct InsertBuilder {
    open: Option<Statement>,
}

impl InsertBuilder {
    fn add(&mut self, group: &[Transaction], table: &Arc<ApplyTable>, place: Place, out: &mut Vec<Statement>) {
        let Some(cells) = place.cells(group) else { return };
        if self.open.as_ref().is_some_and(|open| !Arc::ptr_eq(&open.table, table) || open.sql.len() > STATEMENT_BYTES) {
            self.flush(out);
        }
        let open = self.open.get_or_insert_with(|| {
            let mut sql = Vec::new();
            insert_head(&mut sql, table);
            statement(sql, 0, table, place)
        });
        if open.expected_rows > 0 {
            open.sql.push(b',');
        }
        let row = RowCells { transaction: place.transaction, cells, image: place.image };
        row_values(&mut open.sql, table, row, &mut open.large);
        open.expected_rows += 1;
        if !open.large.is_empty() {
            self.flush(out);
        }
    }

    fn flush(&mut self, out: &mut Vec<Statement>) {
        out.extend(self.open.take());
    }
}

/// Changes in their order; neighbouring inserts into one table become one statement.
fn in_order(group: &[Transaction], changes: &[(usize, usize)], out: &mut Vec<Statement>) {
    let mut insert = InsertBuilder::default();
    for &(transaction, index) in changes {
        let Some(whole) = group.get(transaction) else { continue };
        let Some(change) = whole.changes.get(index) else { continue };
        let place = |image| Place { transaction, change: index, image };
        let row = |image| RowCells { transaction, cells: &whole.cells, image };
        let plain = !change.cascades && !change.relaxed;
        match change.row {
            Row::Insert { after } if plain => insert.add(group, &change.table, place(after), out),
            Row::Insert { after } => {
                insert.flush(out);
                let (mut sql, mut large) = (Vec::new(), Vec::new());
                insert_head(&mut sql, &change.table);
                row_values(&mut sql, &change.table, row(after), &mut large);
                out.push(Statement { large, ..marked(statement(sql, 1, &change.table, place(after)), change) });
            }
            Row::Update { before, after } => {
                insert.flush(out);
                let (mut sql, mut large) = (Vec::new(), Vec::new());
                if update(&mut sql, &change.table, (&whole.cells, before), row(after), true, &mut large) {
                    out.push(Statement { large, ..marked(statement(sql, 1, &change.table, place(after)), change) });
                }
            }
            Row::Delete { before } => {
                insert.flush(out);
                let mut sql = Vec::new();
                delete(&mut sql, &change.table, &whole.cells, before);
                out.push(marked(statement(sql, 1, &change.table, place(before)), change));
            }
        }
    }
    insert.flush(out);
}

fn marked(mut statement: Statement, change: &Change) -> Statement {
    statement.cascades = change.cascades;
    statement.relaxed = change.relaxed;
    statement
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replicate::transaction::{ApplyColumn, Compare};

    fn table(identity: &[usize], other_unique: &[&[usize]]) -> Arc<ApplyTable> {
        let column = |name: &str, compare| ApplyColumn { name: format!("`{name}`"), compare };
        Arc::new(ApplyTable {
            target: TableName::new("d", "t"),
            source: TableName::new("d", "t"),
            columns: vec![column("id", Compare::Exact), column("u", Compare::Exact), column("v", Compare::Characters)],
            identity: identity.to_vec(),
            other_unique: other_unique.iter().map(|columns| columns.to_vec()).collect(),
            always_set: Vec::new(),
            keeps_order: false,
            is_multiset: false,
            lead: None,
        })
    }

    fn multiset() -> Arc<ApplyTable> {
        let table = table(&[], &[]);
        Arc::new(ApplyTable { is_multiset: true, lead: Some(0), ..(*table).clone() })
    }

    type Literals<'a> = [&'a str; 3];

    struct Group {
        table: Arc<ApplyTable>,
        transaction: Transaction,
    }

    impl Group {
        fn new(table: Arc<ApplyTable>) -> Self {
            Self { table, transaction: Transaction::default() }
        }

        fn image(&mut self, row: Literals<'_>) -> Image {
            let image = self.transaction.cells.next_image();
            for cell in row {
                self.transaction.cells.buffer().extend_from_slice(cell.as_bytes());
                self.transaction.cells.end_cell();
            }
            image
        }

        fn push(&mut self, row: Row) {
            let change = Change { table: Arc::clone(&self.table), row, cascades: false, relaxed: false };
            self.transaction.changes.push(change);
        }

        fn insert(mut self, row: Literals<'_>) -> Self {
            let after = self.image(row);
            self.push(Row::Insert { after });
            self
        }

        fn delete(mut self, row: Literals<'_>) -> Self {
            let before = self.image(row);
            self.push(Row::Delete { before });
            self
        }

        fn update(mut self, old: Literals<'_>, new: Literals<'_>) -> Self {
            let (before, after) = (self.image(old), self.image(new));
            self.push(Row::Update { before, after });
            self
        }

        fn statements(&self) -> Vec<(String, u64)> {
            merged(std::slice::from_ref(&self.transaction), &HashSet::new())
                .into_iter()
                .map(|statement| (String::from_utf8(statement.sql).expect("text"), statement.expected_rows))
                .collect()
        }
    }

    #[test]
    fn changes_of_one_row_become_one() {
        let group = Group::new(table(&[0], &[]))
            .insert(["1", "1", "'a'"])
            .update(["1", "1", "'a'"], ["1", "2", "'a'"])
            .update(["7", "7", "'x'"], ["7", "7", "'y'"])
            .update(["7", "7", "'y'"], ["7", "8", "'z'"])
            .insert(["2", "5", "NULL"])
            .delete(["9", "9", "'q'"])
            .insert(["3", "3", "'c'"])
            .delete(["3", "3", "'c'"])
            .delete(["8", "8", "'q'"]);
        assert_eq!(
            group.statements(),
            [
                ("DELETE FROM `d`.`t` WHERE `id` IN (9,8)".into(), 2),
                ("UPDATE `d`.`t` SET `u`=8,`v`='z' WHERE `id`=7".into(), 1),
                ("INSERT INTO `d`.`t` (`id`,`u`,`v`) VALUES (1,2,'a'),(2,5,NULL)".into(), 2),
            ]
        );
    }

    #[test]
    fn a_row_deleted_and_inserted_again_is_updated_unless_a_unique_value_changed() {
        let again = |unique: &[&[usize]]| {
            Group::new(table(&[0], unique)).delete(["1", "1", "'a'"]).insert(["1", "2", "'a'"]).statements()
        };
        assert_eq!(again(&[]), [("UPDATE `d`.`t` SET `u`=2 WHERE `id`=1".into(), 1)]);
        assert_eq!(
            again(&[&[1]]),
            [
                ("DELETE FROM `d`.`t` WHERE `id` IN (1)".into(), 1),
                ("INSERT INTO `d`.`t` (`id`,`u`,`v`) VALUES (1,2,'a')".into(), 1),
            ]
        );
    }

    #[test]
    fn unique_values_that_move_keep_the_order() {
        let group = Group::new(table(&[0], &[&[1]]))
            .update(["1", "1", "'a'"], ["1", "3", "'a'"])
            .update(["2", "2", "'b'"], ["2", "1", "'b'"])
            .update(["1", "3", "'a'"], ["1", "2", "'a'"]);
        let sql: Vec<String> = group.statements().into_iter().map(|(sql, _)| sql).collect();
        assert_eq!(
            sql,
            [
                "UPDATE `d`.`t` SET `u`=3 WHERE `id`=1",
                "UPDATE `d`.`t` SET `u`=1 WHERE `id`=2",
                "UPDATE `d`.`t` SET `u`=2 WHERE `id`=1",
            ]
        );
    }

    #[test]
    fn a_key_that_changes_only_in_case_is_replaced() {
        let group = Group::new(table(&[2], &[])).update(["1", "1", "'abc'"], ["1", "1", "'ABC'"]);
        assert_eq!(
            group.statements(),
            [
                ("DELETE FROM `d`.`t` WHERE `v` IN ('abc')".into(), 1),
                ("INSERT INTO `d`.`t` (`id`,`u`,`v`) VALUES (1,1,'ABC')".into(), 1),
            ]
        );
    }

    #[test]
    fn rows_without_a_key_in_a_table_with_more_columns_are_found_by_every_byte() {
        let group = Group::new(table(&[], &[])).delete(["1", "NULL", "'a'"]).insert(["1", "1", "'b'"]);
        assert_eq!(
            group.statements(),
            [
                (
                    "DELETE FROM `d`.`t` WHERE `id`=1 AND `u` IS NULL AND `v`='a' AND CAST(`v` AS BINARY)=CAST('a' AS \
                     BINARY) LIMIT 1"
                        .into(),
                    1
                ),
                ("INSERT INTO `d`.`t` (`id`,`u`,`v`) VALUES (1,1,'b')".into(), 1),
            ]
        );
    }

    #[test]
    fn rows_without_a_key_go_together_by_the_columns_that_are_null() {
        let group = Group::new(multiset())
            .delete(["1", "NULL", "'a'"])
            .update(["2", "2", "'b'"], ["2", "3", "'b'"])
            .delete(["5", "NULL", "'c'"])
            .insert(["4", "4", "'d'"])
            .delete(["6", "6", "'e'"])
            .delete(["4", "4", "'d'"]);
        assert_eq!(
            group.statements(),
            [
                (
                    "DELETE FROM `d`.`t` WHERE (`id` IN (2,6) AND (`id`,`u`,CAST(`v` AS BINARY)) IN \
                     ((2,2,CAST('b' AS BINARY)),(6,6,CAST('e' AS BINARY)))) OR (`u` IS NULL AND `id` IN (1,5) AND \
                     (`id`,CAST(`v` AS BINARY)) IN ((1,CAST('a' AS BINARY)),(5,CAST('c' AS BINARY))))"
                        .into(),
                    4
                ),
                ("INSERT INTO `d`.`t` (`id`,`u`,`v`) VALUES (2,3,'b')".into(), 1),
            ]
        );
    }

    #[test]
    fn twins_without_a_key_go_by_their_number() {
        let group = Group::new(multiset())
            .delete(["1", "1", "'a'"])
            .delete(["1", "1", "'a'"])
            .update(["1", "1", "'a'"], ["2", "1", "'a'"])
            .update(["1", "1", "'b'"], ["1", "1", "'a'"]);
        let with_twins = HashSet::from([TableName::new("d", "t")]);
        let statements = merged(std::slice::from_ref(&group.transaction), &with_twins);
        let shown: Vec<_> = statements
            .into_iter()
            .map(|statement| (String::from_utf8(statement.sql).expect("text"), statement.expected_rows))
            .collect();
        let find = |row: &str| format!("`id`=1 AND `u`=1 AND `v`={row} AND CAST(`v` AS BINARY)=CAST({row} AS BINARY)");
        assert_eq!(
            shown,
            [
                (format!("DELETE FROM `d`.`t` WHERE {} LIMIT 2", find("'a'")), 2),
                (format!("DELETE FROM `d`.`t` WHERE {} LIMIT 1", find("'b'")), 1),
                ("INSERT INTO `d`.`t` (`id`,`u`,`v`) VALUES (2,1,'a')".into(), 1),
            ]
        );
    }

    #[test]
    fn an_update_of_nothing_the_target_holds_is_no_statement() {
        assert!(Group::new(table(&[0], &[])).update(["1", "1", "'a'"], ["1", "1", "'a'"]).statements().is_empty());
    }
}
