//! The statements of row changes. Pure.

use std::sync::Arc;

use super::transaction::{ApplyTable, Compare, Image};
use super::transaction::{CellText, Change};

/// A statement with the number of rows it must match.
#[derive(Debug, Clone)]
pub struct Statement {
    pub sql: Vec<u8>,
    pub expected_rows: u64,
    pub table: Arc<ApplyTable>,
    /// The first change it carries, as (transaction of the group, change of the transaction).
    pub first: (usize, usize),
    pub cascades: bool,
    pub relaxed: bool,
}

const NULL: &[u8] = b"NULL";

/// `INSERT INTO t (…) VALUES `, to be followed by rows.
pub fn insert_head(out: &mut Vec<u8>, table: &ApplyTable) {
    out.extend_from_slice(b"INSERT INTO ");
    out.extend_from_slice(table.target.to_string().as_bytes());
    out.extend_from_slice(b" (");
    for (index, column) in table.columns.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        out.extend_from_slice(column.name.as_bytes());
    }
    out.extend_from_slice(b") VALUES ");
}

/// `(…)`.
pub fn row_values(out: &mut Vec<u8>, table: &ApplyTable, cells: &CellText, row: Image) {
    out.push(b'(');
    for index in 0..table.columns.len() {
        if index > 0 {
            out.push(b',');
        }
        out.extend_from_slice(cells.get(row, index));
    }
    out.push(b')');
}

/// `UPDATE t SET … WHERE …`; false when nothing that the target holds has changed.
pub fn update(out: &mut Vec<u8>, table: &ApplyTable, before: (&CellText, Image), after: (&CellText, Image)) -> bool {
    let changed = |index: &usize| before.0.get(before.1, *index) != after.0.get(after.1, *index);
    if !(0..table.columns.len()).any(|index| changed(&index)) {
        return false;
    }
    out.extend_from_slice(b"UPDATE ");
    out.extend_from_slice(table.target.to_string().as_bytes());
    out.extend_from_slice(b" SET ");
    let mut first = true;
    for (index, column) in table.columns.iter().enumerate() {
        if !changed(&index) && !table.always_set.contains(&index) {
            continue;
        }
        if !std::mem::take(&mut first) {
            out.push(b',');
        }
        out.extend_from_slice(column.name.as_bytes());
        out.push(b'=');
        out.extend_from_slice(after.0.get(after.1, index));
    }
    out.extend_from_slice(b" WHERE ");
    find_row(out, table, before.0, before.1);
    true
}

/// `DELETE FROM t WHERE …`.
pub fn delete(out: &mut Vec<u8>, table: &ApplyTable, cells: &CellText, row: Image) {
    out.extend_from_slice(b"DELETE FROM ");
    out.extend_from_slice(table.target.to_string().as_bytes());
    out.extend_from_slice(b" WHERE ");
    find_row(out, table, cells, row);
}

/// `DELETE FROM t WHERE …` for several rows of a table with a key.
pub fn delete_many(out: &mut Vec<u8>, table: &ApplyTable, rows: &[(&CellText, Image)]) {
    out.extend_from_slice(b"DELETE FROM ");
    out.extend_from_slice(table.target.to_string().as_bytes());
    out.extend_from_slice(b" WHERE ");
    if let [column] = table.identity.as_slice() {
        out.extend_from_slice(table.columns.get(*column).map_or(b"", |column| column.name.as_bytes()));
        out.extend_from_slice(b" IN (");
        for (index, (cells, row)) in rows.iter().enumerate() {
            if index > 0 {
                out.push(b',');
            }
            out.extend_from_slice(cells.get(*row, *column));
        }
        out.push(b')');
        return;
    }
    for (index, (cells, row)) in rows.iter().enumerate() {
        if index > 0 {
            out.extend_from_slice(b" OR ");
        }
        out.push(b'(');
        find_row(out, table, cells, *row);
        out.push(b')');
    }
}

/// The condition that finds exactly this row. Without a key: one of the rows that are equal in every byte.
fn find_row(out: &mut Vec<u8>, table: &ApplyTable, cells: &CellText, row: Image) {
    if table.has_key() {
        for (place, &index) in table.identity.iter().enumerate() {
            if place > 0 {
                out.extend_from_slice(b" AND ");
            }
            out.extend_from_slice(table.columns.get(index).map_or(b"", |column| column.name.as_bytes()));
            out.push(b'=');
            out.extend_from_slice(cells.get(row, index));
        }
        return;
    }
    for (index, column) in table.columns.iter().enumerate() {
        if index > 0 {
            out.extend_from_slice(b" AND ");
        }
        same_cell(out, &column.name, column.compare, cells.get(row, index));
    }
    out.extend_from_slice(b" LIMIT 1");
}

fn same_cell(out: &mut Vec<u8>, name: &str, compare: Compare, literal: &[u8]) {
    let mut push = |parts: &[&[u8]]| parts.iter().for_each(|part| out.extend_from_slice(part));
    let name = name.as_bytes();
    if literal == NULL {
        return push(&[name, b" IS NULL"]);
    }
    match compare {
        Compare::Exact => push(&[name, b"=", literal]),
        Compare::Characters => {
            push(&[name, b"=", literal, b" AND CAST(", name, b" AS BINARY)=CAST(", literal, b" AS BINARY)"]);
        }
        Compare::Json => push(&[name, b"=CAST(", literal, b" AS JSON)"]),
        Compare::Geometry => push(&[b"HEX(", name, b")=HEX(", literal, b")"]),
    }
}

/// A row's key as an operator would write it: `` `id`=7 ``; long values are cut. Without a key: nothing, since a
/// row's values do not belong into messages.
pub fn name_row(change: &Change, cells: &CellText) -> String {
    use super::transaction::Row;
    let image = match change.row {
        Row::Insert { after } => after,
        Row::Update { before, .. } | Row::Delete { before } => before,
    };
    if !change.table.has_key() {
        return "a row without a key".to_owned();
    }
    let parts = change.table.identity.iter().filter_map(|&index| {
        let literal = String::from_utf8_lossy(cells.get(image, index));
        let shown: String = literal.chars().take(80).collect();
        Some(format!("{}={shown}", change.table.columns.get(index)?.name))
    });
    parts.collect::<Vec<_>>().join(", ")
}
