//! The statements of row changes. Pure.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::large::{LargeCell, expression};
use super::transaction::{ApplyTable, CellText, Change, Compare, Image, LEFT_OUT_CHANGED, LEFT_OUT_SAME};

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
    /// Cells that stand in it by variables, in their order.
    pub large: Vec<LargeCell>,
}

impl Statement {
    /// One that neither cascades nor is relaxed, and has no large cells.
    pub fn plain(sql: Vec<u8>, expected_rows: u64, table: &Arc<ApplyTable>, first: (usize, usize)) -> Self {
        let table = Arc::clone(table);
        Self { sql, expected_rows, table, first, cascades: false, relaxed: false, large: Vec::new() }
    }
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

/// A row of one of the group's transactions.
#[derive(Debug, Clone, Copy)]
pub struct RowCells<'a> {
    pub transaction: usize,
    pub cells: &'a CellText,
    pub image: Image,
}

/// The cell as it stands in VALUES or SET: a large one by a variable.
fn push_cell(out: &mut Vec<u8>, row: RowCells<'_>, column: usize, large: &mut Vec<LargeCell>) {
    let Some(value) = row.cells.shared(row.image, column) else {
        return out.extend_from_slice(row.cells.get(row.image, column));
    };
    out.extend_from_slice(expression(value, large.len()).as_bytes());
    large.push(LargeCell { transaction: row.transaction, image: row.image, column });
}

/// `(…)`. Large cells are added to `large`.
pub fn row_values(out: &mut Vec<u8>, table: &ApplyTable, row: RowCells<'_>, large: &mut Vec<LargeCell>) {
    out.push(b'(');
    for column in 0..table.columns.len() {
        if column > 0 {
            out.push(b',');
        }
        push_cell(out, row, column, large);
    }
    out.push(b')');
}

/// `UPDATE t SET … WHERE …`; false when nothing that the target holds has changed. `same_change`: both images are of
/// one change, and not of the first and the last of several.
pub fn update(
    out: &mut Vec<u8>,
    table: &ApplyTable,
    before: (&CellText, Image),
    after: RowCells<'_>,
    same_change: bool,
    large: &mut Vec<LargeCell>,
) -> bool {
    let changed = |index: &usize| match before.0.get(before.1, *index) {
        LEFT_OUT_CHANGED => true,
        LEFT_OUT_SAME => !same_change,
        literal => literal != after.cells.get(after.image, *index),
    };
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
        push_cell(out, after, index, large);
    }
    out.extend_from_slice(b" WHERE ");
    find_row(out, table, before.0, before.1);
    true
}

fn delete_head(out: &mut Vec<u8>, table: &ApplyTable) {
    out.extend_from_slice(b"DELETE FROM ");
    out.extend_from_slice(table.target.to_string().as_bytes());
    out.extend_from_slice(b" WHERE ");
}

/// `DELETE FROM t WHERE …`.
pub fn delete(out: &mut Vec<u8>, table: &ApplyTable, cells: &CellText, row: Image) {
    delete_head(out, table);
    find_row(out, table, cells, row);
}

/// `DELETE FROM t WHERE …` for several rows of a table with a key.
pub fn delete_many(out: &mut Vec<u8>, table: &ApplyTable, rows: &[(&CellText, Image)]) {
    delete_head(out, table);
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

/// `DELETE FROM t WHERE … LIMIT n` for rows without a key that are equal to this one.
pub fn delete_some(out: &mut Vec<u8>, table: &ApplyTable, cells: &CellText, row: Image, count: u64) {
    delete_head(out, table);
    same_row(out, table, cells, row);
    out.extend_from_slice(format!(" LIMIT {count}").as_bytes());
}

/// `DELETE FROM t WHERE …` for all rows that are equal to one of these: lists of rows, one for each set of columns
/// that are NULL, so that the server looks each row up instead of comparing it with all.
pub fn delete_any_of(out: &mut Vec<u8>, table: &ApplyTable, rows: &[(&CellText, Image)]) {
    delete_head(out, table);
    if let [(cells, row)] = rows {
        return same_row(out, table, cells, *row);
    }
    let mut lists: BTreeMap<Vec<bool>, Vec<(&CellText, Image)>> = BTreeMap::new();
    for (cells, row) in rows {
        let nulls = (0..table.columns.len()).map(|column| cells.get(*row, column) == NULL).collect();
        lists.entry(nulls).or_default().push((*cells, *row));
    }
    for (index, (nulls, rows)) in lists.iter().enumerate() {
        if index > 0 {
            out.extend_from_slice(b" OR ");
        }
        out.push(b'(');
        any_of(out, table, nulls, rows);
        out.push(b')');
    }
}

/// `a IS NULL AND b IN (…) AND (b,CAST(c AS BINARY)) IN ((…),…)`, where an index begins with b.
fn any_of(out: &mut Vec<u8>, table: &ApplyTable, nulls: &[bool], rows: &[(&CellText, Image)]) {
    let is_null = |column: usize| nulls.get(column).copied().unwrap_or(false);
    let name = |column: usize| table.columns.get(column).map_or("", |column| column.name.as_str());
    let mut conditions: Vec<Vec<u8>> = Vec::new();
    let (empty, filled): (Vec<usize>, Vec<usize>) = (0..table.columns.len()).partition(|column| is_null(*column));
    conditions.extend(empty.iter().map(|column| format!("{} IS NULL", name(*column)).into_bytes()));
    if let Some(lead) = table.lead.filter(|lead| !is_null(*lead)) {
        let literals: Vec<&[u8]> = rows.iter().map(|(cells, row)| cells.get(*row, lead)).collect();
        conditions.push([name(lead).as_bytes(), b" IN (", &literals.join(&b","[..]), b")"].concat());
    }
    let compare = |column: usize| table.columns.get(column).map(|column| column.compare);
    let as_bytes = |value: &[u8]| [b"CAST(", value, b" AS BINARY)"].concat();
    let tested = |column: usize| match compare(column) {
        Some(Compare::Characters) => as_bytes(name(column).as_bytes()),
        // In a list of rows MySQL compares it as text with a number.
        Some(Compare::Member) => [name(column).as_bytes(), b"+0"].concat(),
        _ => name(column).as_bytes().to_vec(),
    };
    let listed = |column: usize, literal: &[u8]| match compare(column) {
        Some(Compare::Characters) => as_bytes(literal),
        _ => literal.to_vec(),
    };
    let row_of = |values: Vec<Vec<u8>>| match values.as_slice() {
        [value] => value.clone(),
        _ => [b"(", &*values.join(&b","[..]), b")"].concat(),
    };
    if !filled.is_empty() {
        let names = filled.iter().map(|column| tested(*column)).collect();
        let lists: Vec<Vec<u8>> = rows
            .iter()
            .map(|(cells, row)| row_of(filled.iter().map(|column| listed(*column, cells.get(*row, *column))).collect()))
            .collect();
        conditions.push([&*row_of(names), b" IN (", &*lists.join(&b","[..]), b")"].concat());
    }
    out.extend_from_slice(&conditions.join(&b" AND "[..]));
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
    same_row(out, table, cells, row);
    out.extend_from_slice(b" LIMIT 1");
}

/// Equal in every byte of every column.
fn same_row(out: &mut Vec<u8>, table: &ApplyTable, cells: &CellText, row: Image) {
    for (index, column) in table.columns.iter().enumerate() {
        if index > 0 {
            out.extend_from_slice(b" AND ");
        }
        same_cell(out, &column.name, column.compare, cells.get(row, index));
    }
}

fn same_cell(out: &mut Vec<u8>, name: &str, compare: Compare, literal: &[u8]) {
    let mut push = |parts: &[&[u8]]| parts.iter().for_each(|part| out.extend_from_slice(part));
    let name = name.as_bytes();
    if literal == NULL {
        return push(&[name, b" IS NULL"]);
    }
    match compare {
        Compare::Exact | Compare::Member => push(&[name, b"=", literal]),
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
