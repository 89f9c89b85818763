//! The statements that read rows. Pure.

use crate::model::TableName;
use crate::model::cell::{CellForm, CopiedColumn};
use crate::mysql::identifier;

/// How a column of a key is compared in a statement. Only types whose order and equality the server applies to a
/// literal exactly as to the column are here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyForm {
    /// Integers.
    Integer,
    /// Decimals.
    Decimal,
    /// Dates, times, UUIDs, addresses: a plain string.
    Text,
    /// Characters, in the column's own collation.
    Characters { charset: String },
    /// Binary strings.
    Bytes,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyColumn {
    pub name: String,
    pub form: KeyForm,
    /// Its place among the columns that are read.
    pub position: usize,
}

/// A table as it is read.
#[derive(Debug, Clone)]
pub struct SourceTable {
    pub name: TableName,
    pub columns: Vec<CopiedColumn>,
    /// Columns whose text would not be exact: FLOAT is printed with about six digits, as a double with all.
    pub floats: Vec<usize>,
    /// The key that orders the table; empty: it is read as one stream, in no order.
    pub key: Vec<KeyColumn>,
}

/// A key's values, each in the bytes the source sent.
pub type KeyValues = Vec<Vec<u8>>;

/// The statement that reads the rows above `lower` up to `upper`, in the key's order.
pub fn rows_between(table: &SourceTable, lower: Option<&KeyValues>, upper: Option<&KeyValues>) -> String {
    let expressions: Vec<String> =
        table.columns.iter().enumerate().map(|(index, column)| expression(table, index, column)).collect();
    let mut sql = format!("SELECT {} FROM {}", expressions.join(", "), table.name);
    let conditions: Vec<String> =
        lower.map(|key| above(table, key)).into_iter().chain(upper.map(|key| up_to(table, key))).collect();
    if !conditions.is_empty() {
        sql.push_str(" WHERE ");
        sql.push_str(&conditions.join(" AND "));
    }
    if !table.key.is_empty() {
        sql.push_str(" ORDER BY ");
        sql.push_str(&key_names(table).join(", "));
    }
    sql
}

/// The statement that reads the key `skip` rows above `lower`.
pub fn key_after(table: &SourceTable, lower: Option<&KeyValues>, skip: u64) -> String {
    let names = key_names(table).join(", ");
    let condition = lower.map(|key| format!(" WHERE {}", above(table, key))).unwrap_or_default();
    format!("SELECT {names} FROM {}{condition} ORDER BY {names} LIMIT {skip}, 1", table.name)
}

fn key_names(table: &SourceTable) -> Vec<String> {
    table.key.iter().map(|column| identifier(&column.name)).collect()
}

fn expression(table: &SourceTable, index: usize, column: &CopiedColumn) -> String {
    let name = identifier(&column.name);
    if table.floats.contains(&index) {
        return format!("{name}+0e0");
    }
    match column.form {
        CellForm::Number => format!("{name}+0"),
        _ => name,
    }
}

/// `a > x OR (a = x AND (b > y OR …))`: what optimizers turn into a range, which they do not with row constructors.
fn above(table: &SourceTable, key: &KeyValues) -> String {
    compare(table, key, ">", false)
}

fn up_to(table: &SourceTable, key: &KeyValues) -> String {
    compare(table, key, "<", true)
}

fn compare(table: &SourceTable, key: &KeyValues, strictly: &str, or_equal: bool) -> String {
    let parts: Vec<(String, String)> = table
        .key
        .iter()
        .zip(key)
        .map(|(column, value)| (identifier(&column.name), literal(&column.form, value)))
        .collect();
    let mut condition = String::new();
    for (index, (name, value)) in parts.iter().enumerate().rev() {
        let is_last = index + 1 == parts.len();
        condition = match (is_last, or_equal) {
            (true, true) => format!("{name} {strictly}= {value}"),
            (true, false) => format!("{name} {strictly} {value}"),
            (false, _) => format!("({name} {strictly} {value} OR ({name} = {value} AND {condition}))"),
        };
    }
    // The leading column alone bounds the scan where an optimizer does not see it in the OR.
    match parts.split_first() {
        Some(((name, value), rest)) if !rest.is_empty() => format!("({name} {strictly}= {value} AND {condition})"),
        _ => condition,
    }
}

fn literal(form: &KeyForm, value: &[u8]) -> String {
    match form {
        KeyForm::Integer | KeyForm::Decimal => String::from_utf8_lossy(value).into_owned(),
        KeyForm::Text => crate::mysql::string_literal(&String::from_utf8_lossy(value)),
        KeyForm::Characters { charset } => introduced(charset, value),
        KeyForm::Bytes => introduced("binary", value),
    }
}

/// A string by its bytes and their character set. An empty one has no form in hexadecimal.
fn introduced(charset: &str, value: &[u8]) -> String {
    if value.is_empty() {
        return format!("_{charset}''");
    }
    value.iter().fold(format!("_{charset} 0x"), |mut literal, byte| {
        literal.push_str(&format!("{byte:02x}"));
        literal
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> SourceTable {
        let column = |name: &str, form| CopiedColumn { name: name.to_owned(), form, target_charset: None };
        SourceTable {
            name: TableName::new("d", "t"),
            columns: vec![
                column("a", CellForm::Text),
                column("b", CellForm::Characters { charset: "utf8mb4".into() }),
                column("e", CellForm::Number),
                column("f", CellForm::Text),
            ],
            floats: vec![3],
            key: vec![
                KeyColumn { name: "a".into(), form: KeyForm::Integer, position: 0 },
                KeyColumn { name: "b".into(), form: KeyForm::Characters { charset: "utf8mb4".into() }, position: 1 },
            ],
        }
    }

    #[test]
    fn a_range_is_bounded_on_both_sides_of_a_composite_key() {
        assert_eq!(
            rows_between(&table(), Some(&vec![b"-5".to_vec(), b"x'".to_vec()]), Some(&vec![b"9".to_vec(), vec![]])),
            "SELECT `a`, `b`, `e`+0, `f`+0e0 FROM `d`.`t` WHERE \
             (`a` >= -5 AND (`a` > -5 OR (`a` = -5 AND `b` > _utf8mb4 0x7827))) AND \
             (`a` <= 9 AND (`a` < 9 OR (`a` = 9 AND `b` <= _utf8mb4''))) ORDER BY `a`, `b`"
        );
    }

    #[test]
    fn without_a_key_there_is_no_order() {
        let table = SourceTable { key: Vec::new(), ..table() };
        assert_eq!(rows_between(&table, None, None), "SELECT `a`, `b`, `e`+0, `f`+0e0 FROM `d`.`t`");
    }

    #[test]
    fn the_next_key_is_looked_for_behind_the_last() {
        assert_eq!(key_after(&table(), None, 1000), "SELECT `a`, `b` FROM `d`.`t` ORDER BY `a`, `b` LIMIT 1000, 1");
    }
}
