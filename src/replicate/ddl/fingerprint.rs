//! How tables of the target stand: their text, and their identity in the storage engine, which changes with a
//! rebuild, a truncate or a swap that leaves the text as it was.

use crate::ledger::Fingerprint;
use crate::model::{Flavor, TableName};
use crate::mysql::{self, Connection, Deadline, string_literal};

/// Reads the fingerprint of each table.
pub async fn read(
    connection: &mut Connection,
    tables: &[TableName],
    deadline: Deadline,
) -> Result<Vec<Fingerprint>, mysql::Error> {
    let mut fingerprints = Vec::with_capacity(tables.len());
    for table in tables {
        fingerprints.push(Fingerprint {
            table: table.clone(),
            definition: definition(connection, table, deadline).await?,
            engine_ids: engine_ids(connection, table, deadline).await?,
        });
    }
    Ok(fingerprints)
}

async fn definition(
    connection: &mut Connection,
    table: &TableName,
    deadline: Deadline,
) -> Result<Option<String>, mysql::Error> {
    match connection.first_row(&format!("SHOW CREATE TABLE {table}"), "reading a definition", deadline).await {
        Ok(row) => Ok(Some(without_counter(&row.text_at(1)?))),
        Err(error) if matches!(error.server_code(), Some(1146 | 1049)) => Ok(None),
        Err(error) => Err(error),
    }
}

/// `AUTO_INCREMENT=17` grows with rows.
fn without_counter(definition: &str) -> String {
    const OPTION: &str = " AUTO_INCREMENT=";
    // In the options, behind the last parenthesis: a comment may quote anything, but nothing follows this there.
    let Some(options) = definition.rfind("\n)").or_else(|| definition.rfind(')')) else { return definition.to_owned() };
    let (columns, options) = definition.split_at(options);
    match options.split_once(OPTION) {
        None => definition.to_owned(),
        Some((before, after)) => {
            let rest = after.trim_start_matches(|digit: char| digit.is_ascii_digit());
            format!("{columns}{before}{rest}")
        }
    }
}

/// InnoDB's numbers of the table and its partitions. None: this account may not look (it needs PROCESS).
async fn engine_ids(
    connection: &mut Connection,
    table: &TableName,
    deadline: Deadline,
) -> Result<Option<Vec<u64>>, mysql::Error> {
    let view = match connection.server().flavor {
        Flavor::MariaDb => "information_schema.innodb_sys_tables",
        Flavor::MySql => "information_schema.innodb_tables",
    };
    let pattern = format!("{}/{}", file_name_pattern(&table.schema), file_name_pattern(&table.table));
    let like = |pattern: &str| {
        format!(
            "CAST(name AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin LIKE {} ESCAPE '|'",
            string_literal(pattern)
        )
    };
    let sql = format!(
        "SELECT table_id AS id FROM {view} WHERE {} OR {} OR {} ORDER BY table_id",
        like(&pattern),
        like(&format!("{pattern}#P#%")),
        like(&format!("{pattern}#p#%")),
    );
    match connection.rows(&sql, "reading InnoDB's table ids", deadline).await {
        Ok(rows) => rows.iter().map(|row| row.number("id")).collect::<Result<Vec<u64>, _>>().map(Some),
        Err(error) if matches!(error.server_code(), Some(1227 | 1142 | 1044)) => Ok(None),
        Err(error) => Err(error),
    }
}

/// A LIKE pattern (escaped by `|`) for the form in which InnoDB keeps names: that of file names. ASCII letters and
/// digits stand for themselves, other ASCII characters as `@` and four digits; the codes of letters beyond ASCII are
/// left open, which at worst takes a table of a very similar name in.
fn file_name_pattern(name: &str) -> String {
    let mut pattern = String::with_capacity(name.len() * 2);
    for character in name.chars() {
        match character {
            '_' => pattern.push_str("|_"),
            plain if plain.is_ascii_alphanumeric() => pattern.push(plain),
            ascii if ascii.is_ascii() => pattern.push_str(&format!("@{:04x}", u32::from(ascii))),
            _ => pattern.push_str("@%"),
        }
    }
    pattern
}

/// Whether a DDL has changed what it touches since the fingerprints were taken. None: it cannot be told, since the
/// text is equal and the ids are not to be had.
pub fn has_changed(before: &[Fingerprint], now: &[Fingerprint]) -> Option<bool> {
    let mut certain = true;
    for (old, new) in before.iter().zip(now) {
        if old.definition != new.definition {
            return Some(true);
        }
        match (&old.engine_ids, &new.engine_ids) {
            (Some(old), Some(new)) if old != new => return Some(true),
            (Some(_), Some(_)) => {}
            _ => certain = false,
        }
    }
    certain.then_some(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_do_not_count() {
        let text = "CREATE TABLE `t` (\n  `id` int COMMENT ' AUTO_INCREMENT=3'\n) ENGINE=InnoDB AUTO_INCREMENT=17 DEFAULT CHARSET=utf8mb4";
        assert_eq!(
            without_counter(text),
            "CREATE TABLE `t` (\n  `id` int COMMENT ' AUTO_INCREMENT=3'\n) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4"
        );
    }

    #[test]
    fn names_are_looked_for_in_the_form_of_file_names() {
        assert_eq!(file_name_pattern("Abc_1"), "Abc|_1");
        assert_eq!(file_name_pattern("sh op.x/1"), "sh@0020op@002ex@002f1");
        assert_eq!(file_name_pattern("blé"), "bl@%");
    }

    #[test]
    fn equal_text_with_unknown_ids_is_undecided() {
        let print = |definition: Option<&str>, ids: Option<Vec<u64>>| Fingerprint {
            table: TableName::new("d", "t"),
            definition: definition.map(str::to_owned),
            engine_ids: ids,
        };
        let before = [print(Some("a"), Some(vec![1]))];
        assert_eq!(has_changed(&before, &[print(Some("a"), Some(vec![1]))]), Some(false));
        assert_eq!(has_changed(&before, &[print(Some("a"), Some(vec![2]))]), Some(true));
        assert_eq!(has_changed(&before, &[print(None, None)]), Some(true));
        assert_eq!(has_changed(&before, &[print(Some("a"), None)]), None);
    }
}
