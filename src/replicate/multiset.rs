//! The changes of a table without a key. Pure.
//!
//! Rows that are equal in every column are one row several times, so what a group of changes does to such a table is
//! how many of each row go and how many come. Finding rows by all their columns reads the table unless an index helps:
//! so rows that go are put into few statements, each of which reads it once. Whether such a statement took exactly the
//! rows it should is told by their number; a row that stays with a twin that goes makes it too large, and then rows
//! are taken one kind at a time, with a LIMIT.

use std::collections::HashMap;
use std::sync::Arc;

use foldhash::fast::FixedState;
use xxhash_rust::xxh3::Xxh3;

use super::statement::{Statement, delete_any_of, delete_some};
use super::transaction::{ApplyTable, CellText, Image, Row, Transaction};

/// Rows in one statement, and its bytes.
const ROWS: usize = 500;
const BYTES: usize = 256 * 1024;

/// A row of one of the group's transactions.
#[derive(Debug, Clone, Copy)]
pub struct Place {
    pub transaction: usize,
    pub change: usize,
    pub image: Image,
}

impl Place {
    pub fn cells(self, group: &[Transaction]) -> Option<&CellText> {
        group.get(self.transaction).map(|transaction| &transaction.cells)
    }
}

/// A row, and how many of it come (or go, below zero).
#[derive(Debug, Clone, Copy)]
struct Kind {
    place: Place,
    count: i64,
}

/// What a group's changes come to: statements that take rows away, and the rows to put in after them.
pub struct Difference {
    pub deletes: Vec<Statement>,
    pub inserts: Vec<Place>,
}

/// Works out the difference. `has_twins`: rows that go may have twins that stay.
pub fn difference(
    group: &[Transaction],
    table: &Arc<ApplyTable>,
    changes: &[(usize, usize)],
    has_twins: bool,
) -> Difference {
    let kinds = kinds(group, table, changes);
    let mut inserts = Vec::new();
    for kind in kinds.iter().filter(|kind| kind.count > 0) {
        inserts.extend((0..kind.count).map(|_| kind.place));
    }
    let leaving: Vec<Kind> = kinds.into_iter().filter(|kind| kind.count < 0).collect();
    let deletes = if has_twins { one_kind_each(group, table, &leaving) } else { many_kinds(group, table, &leaving) };
    Difference { deletes, inserts }
}

/// One entry for each row that comes or goes, in the order they were met.
fn kinds(group: &[Transaction], table: &ApplyTable, changes: &[(usize, usize)]) -> Vec<Kind> {
    let mut kinds: Vec<Kind> = Vec::new();
    let mut known: HashMap<u128, usize, FixedState> = HashMap::default();
    let mut count = |place: Place, by: i64| {
        let Some(cells) = place.cells(group) else { return };
        let index = *known.entry(hash(table, cells, place.image)).or_insert(kinds.len());
        match kinds.get_mut(index) {
            Some(kind) => kind.count += by,
            None => kinds.push(Kind { place, count: by }),
        }
    };
    for &(transaction, change) in changes {
        let place = |image| Place { transaction, change, image };
        match group.get(transaction).and_then(|whole| whole.changes.get(change)).map(|change| change.row) {
            Some(Row::Insert { after }) => count(place(after), 1),
            Some(Row::Delete { before }) => count(place(before), -1),
            Some(Row::Update { before, after }) => {
                count(place(before), -1);
                count(place(after), 1);
            }
            None => {}
        }
    }
    kinds
}

/// The same for the same literals in all columns, and else not.
fn hash(table: &ApplyTable, cells: &CellText, image: Image) -> u128 {
    let mut hasher = Xxh3::new();
    for column in 0..table.columns.len() {
        let literal = cells.get(image, column);
        hasher.update(&(literal.len() as u64).to_le_bytes());
        hasher.update(literal);
    }
    hasher.digest128()
}

fn one_kind_each(group: &[Transaction], table: &Arc<ApplyTable>, leaving: &[Kind]) -> Vec<Statement> {
    let mut statements = Vec::new();
    for kind in leaving {
        let Some(cells) = kind.place.cells(group) else { continue };
        let mut sql = Vec::new();
        delete_some(&mut sql, table, cells, kind.place.image, kind.count.unsigned_abs());
        statements.push(statement(sql, table, std::slice::from_ref(kind)));
    }
    statements
}

fn many_kinds(group: &[Transaction], table: &Arc<ApplyTable>, leaving: &[Kind]) -> Vec<Statement> {
    let size = |kind: &Kind| -> usize {
        let cells = kind.place.cells(group);
        cells.map_or(0, |cells| (0..table.columns.len()).map(|column| cells.get(kind.place.image, column).len()).sum())
    };
    let mut statements = Vec::new();
    let mut rest = leaving;
    while !rest.is_empty() {
        let mut bytes = 0;
        let fits = |kind: &&Kind| {
            bytes += size(kind);
            bytes <= BYTES
        };
        let count = rest.iter().take(ROWS).take_while(fits).count().max(1);
        let (some, others) = rest.split_at(count.min(rest.len()));
        let rows: Vec<(&CellText, Image)> =
            some.iter().filter_map(|kind| Some((kind.place.cells(group)?, kind.place.image))).collect();
        let mut sql = Vec::new();
        delete_any_of(&mut sql, table, &rows);
        statements.push(statement(sql, table, some));
        rest = others;
    }
    statements
}

fn statement(sql: Vec<u8>, table: &Arc<ApplyTable>, kinds: &[Kind]) -> Statement {
    let first = kinds.first().map_or((0, 0), |kind| (kind.place.transaction, kind.place.change));
    let expected_rows = kinds.iter().map(|kind| kind.count.unsigned_abs()).sum();
    Statement::plain(sql, expected_rows, table, first)
}
