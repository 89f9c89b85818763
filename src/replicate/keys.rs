//! The keys that order transactions. Pure.
//!
//! Each unique key of the target gives a key by the values before and after a change; equal to the target means
//! equal here. What cannot be keyed (a value whose equality is not known, a table without a key, tables tied by
//! cascades) takes the whole table for itself.

use std::sync::Arc;

use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use super::schedule::{ConflictKey, Use};
use super::weights::Weights;
use crate::binlog::Value;
use crate::model::TableName;

/// How a column's values are compared by the target.
#[derive(Debug, Clone)]
pub enum Equality {
    /// Equal literals and nothing else: numbers, dates, binary strings.
    Literal,
    /// By their bytes, without blanks at the end, which PAD SPACE does not count.
    PaddedBytes,
    /// By the collation's weights.
    Weights(Arc<Weights>),
    /// Not known.
    Unknown,
}

/// A column's part in a key.
#[derive(Debug, Clone)]
pub struct KeyPart {
    /// Its place in the row of the binlog, for the value.
    pub value: usize,
    /// Its place among the cells, for the literal.
    pub cell: usize,
    pub equality: Equality,
    /// Only so many characters (bytes, for binary strings) count.
    pub prefix: Option<usize>,
}

/// What orders the changes of one target table.
#[derive(Debug, Clone)]
pub struct TableKeys {
    /// The hash of the table, or of all tables that cascades tie together.
    table: u64,
    /// Every unique key; empty: the whole table is the key.
    unique: Vec<Vec<KeyPart>>,
    whole: bool,
}

impl TableKeys {
    /// `tied` names the tables that keep one order with this one; None: it stands for itself.
    pub fn new(target: &TableName, tied: Option<u64>, unique: Vec<Vec<KeyPart>>) -> Self {
        let whole = tied.is_some() || unique.is_empty();
        Self { table: tied.unwrap_or_else(|| hash_of(target)), unique, whole }
    }

    /// Adds the keys of one row image.
    pub fn add<'c>(&self, keys: &mut KeySet, values: &[Value<'_>], cell: impl Fn(usize) -> &'c [u8]) {
        if self.whole {
            return keys.add(self.table, Use::Exclusive);
        }
        let mut all_known = true;
        for (number, parts) in self.unique.iter().enumerate() {
            keys.scratch.clear();
            match append_key(&mut keys.scratch, parts, values, &cell) {
                KeyValue::Known => {
                    let hash = xxh3_64_with_seed(&keys.scratch, self.table ^ (number as u64 + 1));
                    keys.add(hash, Use::Exclusive);
                }
                // NULL is equal to nothing.
                KeyValue::Null => {}
                KeyValue::Unknown => all_known = false,
            }
        }
        keys.add(self.table, if all_known { Use::Shared } else { Use::Exclusive });
    }
}

pub fn hash_of(table: &TableName) -> u64 {
    xxh3_64(table.to_string().as_bytes())
}

enum KeyValue {
    Known,
    Null,
    Unknown,
}

fn append_key<'c>(
    out: &mut Vec<u8>,
    parts: &[KeyPart],
    values: &[Value<'_>],
    cell: &impl Fn(usize) -> &'c [u8],
) -> KeyValue {
    let mut known = KeyValue::Known;
    for part in parts {
        let Some(value) = values.get(part.value) else { return KeyValue::Unknown };
        match (value, &part.equality) {
            (Value::Null | Value::Skipped, _) => return KeyValue::Null,
            (_, Equality::Unknown) => known = KeyValue::Unknown,
            (Value::Bytes(bytes), Equality::Weights(weights)) => {
                let counted = part.prefix.and_then(|length| bytes.get(..length)).unwrap_or(bytes);
                if !bytes.is_ascii() || !weights.append(out, counted) {
                    known = KeyValue::Unknown;
                }
                out.push(0xff);
            }
            // A prefix counts characters, and these are bytes: fewer are compared, so only more is equal.
            (Value::Bytes(bytes), Equality::PaddedBytes) => {
                let counted = part.prefix.and_then(|length| bytes.get(..length)).unwrap_or(bytes);
                append_counted(out, without_trailing_blanks(counted));
            }
            (Value::Bytes(bytes), Equality::Literal) if part.prefix.is_some() => {
                append_counted(out, part.prefix.and_then(|length| bytes.get(..length)).unwrap_or(bytes));
            }
            (_, Equality::Weights(_) | Equality::PaddedBytes) => known = KeyValue::Unknown,
            (_, Equality::Literal) => append_counted(out, cell(part.cell)),
        }
    }
    known
}

/// With the length before it, so that neighbouring parts do not run into each other.
fn append_counted(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
    out.extend_from_slice(bytes);
}

fn without_trailing_blanks(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().rposition(|&byte| byte != b' ').map_or(0, |last| last + 1);
    bytes.get(..end).unwrap_or(bytes)
}

/// The keys of one transaction, each once.
#[derive(Debug, Default)]
pub struct KeySet {
    keys: Vec<ConflictKey>,
    scratch: Vec<u8>,
}

impl KeySet {
    fn add(&mut self, hash: u64, usage: Use) {
        self.keys.push(ConflictKey { hash, usage });
    }

    /// Takes the keys out, without doubles; of two uses of one key the stronger stays.
    pub fn take(&mut self) -> Vec<ConflictKey> {
        let mut keys = std::mem::take(&mut self.keys);
        keys.sort_unstable_by(|one, other| one.hash.cmp(&other.hash).then(other.usage.cmp(&one.usage)));
        keys.dedup_by_key(|key| key.hash);
        keys
    }

    /// Puts back what was taken out of an earlier set.
    pub fn put(&mut self, keys: Vec<ConflictKey>) {
        self.keys = keys;
    }

    pub fn clear(&mut self) {
        self.keys.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(unique: Vec<Vec<KeyPart>>) -> TableKeys {
        TableKeys::new(&TableName::new("d", "t"), None, unique)
    }

    fn part(at: usize, equality: Equality, prefix: Option<usize>) -> KeyPart {
        KeyPart { value: at, cell: at, equality, prefix }
    }

    fn keys(table: &TableKeys, values: &[Value<'_>], cells: &[&'static str]) -> Vec<ConflictKey> {
        let mut set = KeySet::default();
        table.add(&mut set, values, |index| cells.get(index).map_or(b"", |cell| cell.as_bytes()));
        set.take()
    }

    fn exclusive(keys: &[ConflictKey]) -> Vec<u64> {
        keys.iter().filter(|key| key.usage == Use::Exclusive).map(|key| key.hash).collect()
    }

    #[test]
    fn rows_with_equal_key_values_share_a_key_and_others_do_not() {
        let table = table(vec![vec![part(0, Equality::Literal, None)]]);
        let one = keys(&table, &[Value::Int(1), Value::Int(5)], &["1", "5"]);
        let same = keys(&table, &[Value::Int(1), Value::Int(6)], &["1", "6"]);
        let other = keys(&table, &[Value::Int(2), Value::Int(5)], &["2", "5"]);
        assert_eq!(exclusive(&one), exclusive(&same));
        assert_ne!(exclusive(&one), exclusive(&other));
    }

    #[test]
    fn null_in_a_unique_key_orders_nothing() {
        let table = table(vec![vec![part(0, Equality::Literal, None)]]);
        assert!(exclusive(&keys(&table, &[Value::Null], &["NULL"])).is_empty());
    }

    #[test]
    fn a_table_without_a_key_and_a_value_of_unknown_equality_take_the_whole_table() {
        let whole = exclusive(&keys(&table(Vec::new()), &[Value::Int(1)], &["1"]));
        assert_eq!(whole, [hash_of(&TableName::new("d", "t"))]);
        let unknown = table(vec![vec![part(0, Equality::Unknown, None)]]);
        assert_eq!(exclusive(&keys(&unknown, &[Value::Int(1)], &["1"])), whole);
    }

    #[test]
    fn a_prefix_counts_only_so_far() {
        let table = table(vec![vec![part(0, Equality::Literal, Some(2))]]);
        let key = |bytes: &'static [u8]| exclusive(&keys(&table, &[Value::Bytes(bytes.into())], &["x"]));
        assert_eq!(key(b"abc"), key(b"abd"));
        assert_ne!(key(b"abc"), key(b"acc"));
    }
}
