//! Values too large for one packet of ours: they go to the target in parts, into a variable of the session, and the
//! statement names the variable. They are not copied before: what is sent are slices of the event they came in. So a
//! large value is in memory once, and not again as a literal, in its statement, in the packet, and in the driver's two
//! copies of that. Pure.

use super::transaction::{Image, SharedValue, Transaction};
use crate::mysql::append_string;

/// A value from this length on goes in parts.
pub const LARGE_BYTES: usize = 4 << 20;
/// The length of a part: the driver keeps buffers of this size for ever.
const PART_BYTES: usize = 128 << 10;
/// Parts are joined in groups first, and then the groups: each join copies what it joins.
const GROUP_PARTS: usize = 32;
const GROUP: &str = "@ferrymaster_group";

/// A cell that goes in parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LargeCell {
    /// Of the group.
    pub transaction: usize,
    pub image: Image,
    pub column: usize,
}

impl LargeCell {
    /// Its bytes, in the group that the statement was made of.
    pub fn value(self, group: &[Transaction]) -> &[u8] {
        let shared = group.get(self.transaction).and_then(|whole| whole.cells.shared(self.image, self.column));
        shared.map_or(b"", |shared| &shared.bytes)
    }
}

fn variable(number: usize) -> String {
    format!("@ferrymaster_{number}")
}

/// What stands for the value in a statement: the variable holds its bytes, and here they get their character set.
pub fn expression(value: &SharedValue, number: usize) -> String {
    let variable = variable(number);
    match &value.charset {
        None => variable,
        Some(charset) => format!("CONVERT({variable} USING {charset})"),
    }
}

/// The statements that bring a value into its variable, one after the other.
pub fn parts(value: &[u8], number: usize) -> impl Iterator<Item = Vec<u8>> + '_ {
    let whole = variable(number);
    let mut rest = value.chunks(PART_BYTES);
    let mut in_group = 0;
    let mut has_whole = false;
    std::iter::from_fn(move || {
        let next = if in_group == GROUP_PARTS { None } else { rest.next() };
        let Some(part) = next else {
            if std::mem::take(&mut in_group) == 0 {
                return None;
            }
            let is_first = !std::mem::replace(&mut has_whole, true);
            let joined = if is_first { GROUP.to_owned() } else { format!("CONCAT({whole},{GROUP})") };
            return Some(format!("SET {whole}={joined}").into_bytes());
        };
        in_group += 1;
        let (head, tail) = if in_group == 1 { ("=", "") } else { ("=CONCAT(@ferrymaster_group,", ")") };
        let mut statement = [b"SET ", GROUP.as_bytes(), head.as_bytes(), b"_binary"].concat();
        append_string(&mut statement, part);
        statement.extend_from_slice(tail.as_bytes());
        Some(statement)
    })
}

/// The statement that gives the variable's memory back.
pub fn forget(number: usize) -> String {
    format!("SET {}=NULL, {GROUP}=NULL", variable(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the server would have in the variable.
    fn joined(value: &[u8]) -> Vec<u8> {
        let (mut group, mut whole) = (Vec::new(), Vec::new());
        for statement in parts(value, 3) {
            let begun = statement.strip_prefix(b"SET @ferrymaster_group=_binary'".as_slice());
            let added = statement.strip_prefix(b"SET @ferrymaster_group=CONCAT(@ferrymaster_group,_binary'".as_slice());
            let part = match (begun, added) {
                (Some(part), _) => {
                    group.clear();
                    part.strip_suffix(b"'")
                }
                (_, Some(part)) => part.strip_suffix(b"')"),
                _ if statement == b"SET @ferrymaster_3=@ferrymaster_group" => {
                    whole.clone_from(&group);
                    continue;
                }
                _ => {
                    assert_eq!(statement, b"SET @ferrymaster_3=CONCAT(@ferrymaster_3,@ferrymaster_group)");
                    whole.extend_from_slice(&group);
                    continue;
                }
            };
            group.extend_from_slice(part.expect("a part"));
        }
        whole
    }

    #[test]
    fn parts_hold_the_whole_value_whatever_its_length() {
        let group = GROUP_PARTS * PART_BYTES;
        for length in [1, PART_BYTES, PART_BYTES + 1, group, group + 1, 2 * group + 7] {
            let value: Vec<u8> = (0..length).map(|at| if at % 3 == 0 { b'\\' } else { b'x' }).collect();
            let mut expected = Vec::new();
            append_string(&mut expected, &value);
            assert!(joined(&value) == expected[1..expected.len() - 1], "{length} bytes");
        }
    }

    #[test]
    fn bytes_stay_bytes_and_characters_get_their_set() {
        let value =
            |charset: Option<&str>| SharedValue { bytes: b"abc".as_slice().into(), charset: charset.map(Into::into) };
        assert_eq!(expression(&value(None), 0), "@ferrymaster_0");
        assert_eq!(expression(&value(Some("latin1")), 3), "CONVERT(@ferrymaster_3 USING latin1)");
    }
}
