//! The statements that write rows. Pure.

use crate::model::TableName;
use crate::model::cell::{CellForm, CopiedColumn};
use crate::mysql::{append_string, identifier};

/// A table of the target and the columns that rows are sent for, in their order.
#[derive(Debug, Clone)]
pub struct TargetTable {
    pub name: TableName,
    pub columns: Vec<CopiedColumn>,
    /// Positions in `columns` of the key, to name a row by; empty: there is none.
    pub key: Vec<usize>,
    /// The target has a JSON type of its own (MySQL), which does not take bytes.
    pub json_is_a_type: bool,
    pub duplicates: Duplicates,
}

/// What becomes of a row whose key the target has already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Duplicates {
    /// An error that names the row.
    Refuse,
    /// The source's row takes its place.
    Replace,
    /// The target's row stays.
    Keep,
}

/// `LOAD DATA LOCAL … INTO TABLE …`. The file's character set is binary: bytes arrive in a column as they are, and
/// what needs more goes through a variable.
pub fn load_data(table: &TargetTable) -> String {
    let mut fields = Vec::with_capacity(table.columns.len());
    let mut assignments = Vec::new();
    for (index, column) in table.columns.iter().enumerate() {
        let name = identifier(&column.name);
        match through_variable(table, column, index) {
            Some(expression) => {
                fields.push(format!("@f{index}"));
                assignments.push(format!("{name} = {expression}"));
            }
            None => fields.push(name),
        }
    }
    // LOCAL says IGNORE by itself; the count of skipped rows tells.
    let replace = if table.duplicates == Duplicates::Replace { "REPLACE " } else { "" };
    let mut sql = format!(
        "LOAD DATA LOCAL INFILE 'rows' {replace}INTO TABLE {} CHARACTER SET binary \
         FIELDS TERMINATED BY '\\t' ESCAPED BY '\\\\' LINES TERMINATED BY '\\n' ({})",
        table.name,
        fields.join(", ")
    );
    if !assignments.is_empty() {
        sql.push_str(" SET ");
        sql.push_str(&assignments.join(", "));
    }
    sql
}

/// The expression over `@f{index}` that turns the file's bytes into the value; None: the bytes are the value.
fn through_variable(table: &TargetTable, column: &CopiedColumn, index: usize) -> Option<String> {
    match &column.form {
        CellForm::Text | CellForm::Bytes | CellForm::Geometry => None,
        CellForm::Characters { charset } => {
            let same = column.target_charset.as_ref().is_none_or(|target| same_charset(target, charset));
            (!same).then(|| format!("CONVERT(@f{index} USING {charset})"))
        }
        // Not through a double, which has too few digits for a SET of 64 members.
        CellForm::Number => Some(format!("CAST(@f{index} AS UNSIGNED)")),
        CellForm::Json => table.json_is_a_type.then(|| format!("CONVERT(@f{index} USING utf8mb4)")),
    }
}

/// `utf8` and `utf8mb3` are one.
fn same_charset(one: &str, other: &str) -> bool {
    let plain = |name: &str| if name == "utf8" { "utf8mb3".to_owned() } else { name.to_ascii_lowercase() };
    plain(one) == plain(other)
}

/// `INSERT INTO … (…) VALUES`, to be followed by rows.
pub fn insert_head(table: &TargetTable) -> String {
    let names: Vec<String> = table.columns.iter().map(|column| identifier(&column.name)).collect();
    let verb = if table.duplicates == Duplicates::Replace { "REPLACE" } else { "INSERT" };
    format!("{verb} INTO {} ({}) VALUES ", table.name, names.join(", "))
}

/// What follows the rows of an insert: a duplicate is met by changing nothing. INSERT IGNORE would also let values be
/// altered.
pub fn insert_tail(table: &TargetTable) -> String {
    match (table.duplicates, table.columns.first()) {
        (Duplicates::Keep, Some(column)) => {
            let name = identifier(&column.name);
            format!(" ON DUPLICATE KEY UPDATE {name} = {}.{name}", table.name)
        }
        _ => String::new(),
    }
}

/// Appends `(value, …)`.
pub fn append_row(out: &mut Vec<u8>, table: &TargetTable, row: &[Option<Vec<u8>>]) {
    out.push(b'(');
    for (index, (column, cell)) in table.columns.iter().zip(row).enumerate() {
        if index > 0 {
            out.push(b',');
        }
        match cell {
            None => out.extend_from_slice(b"NULL"),
            Some(bytes) => append_value(out, &column.form, bytes),
        }
    }
    out.push(b')');
}

fn append_value(out: &mut Vec<u8>, form: &CellForm, bytes: &[u8]) {
    match form {
        CellForm::Text => append_string(out, bytes),
        CellForm::Number => out.extend_from_slice(bytes),
        CellForm::Bytes | CellForm::Geometry => {
            out.extend_from_slice(b"_binary");
            append_string(out, bytes);
        }
        CellForm::Json => {
            out.extend_from_slice(b"_utf8mb4");
            append_string(out, bytes);
        }
        CellForm::Characters { charset } => {
            out.push(b'_');
            out.extend_from_slice(charset.as_bytes());
            append_string(out, bytes);
        }
    }
}

/// A row's key as an operator would write it: `` `id`=7 ``; long and binary values are cut. Without a key: its place
/// in the batch.
pub fn name_row(table: &TargetTable, row: &[Option<Vec<u8>>], place: usize) -> String {
    if table.key.is_empty() {
        return format!("no key, row {} of its batch", place + 1);
    }
    let parts = table.key.iter().filter_map(|&index| {
        let (column, cell) = (table.columns.get(index)?, row.get(index)?);
        let value = match cell {
            None => "NULL".to_owned(),
            Some(bytes) => match std::str::from_utf8(bytes) {
                Ok(text) if !text.chars().any(char::is_control) => text.chars().take(64).collect(),
                _ => {
                    bytes.iter().take(32).map(|byte| format!("{byte:02x}")).fold("0x".to_owned(), |all, hex| all + &hex)
                }
            },
        };
        Some(format!("{}={value}", identifier(&column.name)))
    });
    parts.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> TargetTable {
        let column = |name: &str, form: CellForm, target_charset: Option<&str>| CopiedColumn {
            name: name.to_owned(),
            form,
            target_charset: target_charset.map(str::to_owned),
        };
        TargetTable {
            name: TableName::new("d", "t`x"),
            columns: vec![
                column("id", CellForm::Text, None),
                column("e", CellForm::Number, Some("latin1")),
                column("g", CellForm::Characters { charset: "gbk".into() }, Some("utf8mb4")),
                column("u", CellForm::Characters { charset: "utf8".into() }, Some("utf8mb3")),
                column("j", CellForm::Json, None),
                column("b", CellForm::Bytes, None),
            ],
            key: vec![0],
            json_is_a_type: true,
            duplicates: Duplicates::Refuse,
        }
    }

    #[test]
    fn a_load_statement_turns_only_what_needs_it_through_variables() {
        assert_eq!(
            load_data(&table()),
            "LOAD DATA LOCAL INFILE 'rows' INTO TABLE `d`.`t``x` CHARACTER SET binary FIELDS TERMINATED BY '\\t' \
             ESCAPED BY '\\\\' LINES TERMINATED BY '\\n' (`id`, @f1, @f2, `u`, @f4, `b`) SET `e` = CAST(@f1 AS \
             UNSIGNED), `g` = CONVERT(@f2 USING gbk), `j` = CONVERT(@f4 USING utf8mb4)"
        );
    }

    #[test]
    fn an_inserted_row_names_the_character_set_of_its_bytes() {
        let mut sql = insert_head(&table()).into_bytes();
        let row = [Some(b"1".to_vec()), Some(b"0".to_vec()), None, Some(b"it's".to_vec()), Some(b"{}".to_vec()), None];
        append_row(&mut sql, &table(), &row);
        assert_eq!(
            String::from_utf8_lossy(&sql),
            "INSERT INTO `d`.`t``x` (`id`, `e`, `g`, `u`, `j`, `b`) VALUES ('1',0,NULL,_utf8'it\\'s',_utf8mb4'{}',NULL)"
        );
        assert_eq!(name_row(&table(), &row, 3), "`id`=1");
    }
}
