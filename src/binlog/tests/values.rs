//! Every value of every type, against what the server that wrote it prints.

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};

use super::*;

/// The columns that are unsigned, where the binlog does not say so.
const UNSIGNED: [(&str, &[usize]); 3] = [("integers", &[2, 4, 6, 8, 10]), ("decimals", &[3]), ("floats", &[3])];

/// The fractions of the columns in MariaDB 5.3's form, which the binlog does not tell either.
const OLD_DIGITS: &[u8] = &[0, 0, 1, 2, 3, 4, 5, 6, 0, 1, 2, 3, 4, 5, 6, 0, 1, 2, 3, 4, 5, 6];

fn plan_of(table: Arc<TableMap>) -> TablePlan {
    if table.metadata.columns.iter().any(|column| column.unsigned.is_some()) {
        return TablePlan::of_description(table).unwrap();
    }
    let unsigned = UNSIGNED.iter().find(|(name, _)| *name == table.name.table).map_or(&[][..], |(_, columns)| columns);
    let old_digits = if table.name.table == "middle_dates" { OLD_DIGITS } else { &[] };
    let decoding = |at| ColumnDecoding {
        unsigned: unsigned.contains(&at),
        skip: false,
        fraction_digits: old_digits.get(at).copied().unwrap_or(0),
    };
    let columns: Vec<_> = (0..table.columns.len()).map(decoding).collect();
    TablePlan::new(table, &columns).unwrap()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02X}")).collect()
}

fn unhex(text: &str) -> Vec<u8> {
    (0..text.len() / 2).map(|at| u8::from_str_radix(&text[2 * at..2 * at + 2], 16).unwrap()).collect()
}

/// Whether a decoded value is the one printed, where both are not the same text by their nature.
fn is_equal(column: &WireColumn, value: &Value<'_>, expected: &str) -> bool {
    if value.is_null() || expected == "NULL" {
        return value.is_null() && expected == "NULL";
    }
    let text = text_of(value);
    if let Some(hash) = expected.strip_prefix("sha256:") {
        return hex(&Sha256::digest(&text)).eq_ignore_ascii_case(hash);
    }
    let expected = unhex(expected);
    match (column.column_type, value) {
        // The server was asked for the float as a double.
        (ColumnType::FLOAT, Value::Float(float)) => {
            let shown = str::from_utf8(&text).unwrap();
            let double: f64 = str::from_utf8(&expected).unwrap().parse().unwrap();
            (double as f32).to_bits() == float.to_bits() && shown.parse::<f32>().unwrap().to_bits() == float.to_bits()
        }
        // Fixed strings lose their padding in the binlog.
        (ColumnType::STRING, _) => {
            let end = expected.iter().rposition(|byte| *byte != 0).map_or(0, |at| at + 1);
            text == expected || text == expected[..end]
        }
        _ => text == expected,
    }
}

fn check(name: &str) {
    let mut expected: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for line in fixture_text(&format!("{name}.values")).lines() {
        let (table, row) = line.split_once('\t').unwrap();
        expected.entry(table.to_owned()).or_default().push(row.to_owned());
    }
    let mut tables = Tables::default();
    let mut found: BTreeMap<String, usize> = BTreeMap::new();
    let mut wrong = Vec::new();
    for event in decode_file(name) {
        tables.see(&event);
        let EventBody::Rows(rows) = &event.body else { continue };
        assert_eq!(rows.kind, RowsKind::Insert);
        let plan = plan_of(tables.of(rows));
        let table = plan.table().name.table.clone();
        let mut reader = rows.rows(&plan).unwrap();
        while let Some(change) = reader.next_row().unwrap() {
            let row = found.entry(table.clone()).or_default();
            let shown = &expected[&table][*row];
            *row += 1;
            let shown: Vec<_> = shown.split('\t').collect();
            let values = change.after.unwrap();
            assert_eq!(values.len(), shown.len(), "{table}");
            for (at, (value, shown)) in values.iter().zip(shown).enumerate() {
                if !is_equal(&plan.table().columns[at], value, shown) {
                    wrong.push(format!("{table} row {row} column {at}: {} is not {shown}", hex(&text_of(value))));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let expected: BTreeMap<_, _> = expected.into_iter().map(|(table, rows)| (table, rows.len())).collect();
    assert_eq!(found, expected);
}

#[test]
fn mariadb_values_are_what_the_server_prints() {
    check("mariadb-10.11-types");
    check("mariadb-11.8-types");
}

#[test]
fn mysql_values_are_what_the_server_prints() {
    check("mysql-9.7-types");
}
