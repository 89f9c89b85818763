//! Values too large for one packet of ours: they go to the target in parts, into a variable of the session, and the
//! statement names the variable. So a large value is in memory once, where it was decoded, and not again in its
//! statement, in the packet, and in the driver's two copies of that. Pure.

use super::transaction::{CellText, Image, Transaction};

/// A literal from this length on goes in parts.
pub const LARGE_BYTES: usize = 4 << 20;
/// The length of a part: the driver keeps a buffer of this size for each session for ever.
const PART_BYTES: usize = 128 << 10;
/// Parts are joined in groups first, and then the groups: each join copies what it joins.
const GROUP_PARTS: usize = 32;

/// A cell that goes in parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LargeCell {
    /// Of the group.
    pub transaction: usize,
    pub image: Image,
    pub column: usize,
}

impl LargeCell {
    /// The literal, in the group that the statement was made of.
    pub fn literal(self, group: &[Transaction]) -> &[u8] {
        group.get(self.transaction).map_or(b"", |whole| whole.cells.get(self.image, self.column))
    }
}

const GROUP: &str = "@ferrymaster_group";

/// Whether a cell goes in parts. Only literals of strings are so long.
pub fn is_large(cells: &CellText, image: Image, column: usize) -> bool {
    let literal = cells.get(image, column);
    literal.len() >= LARGE_BYTES && split_literal(literal).is_some()
}

/// The variable of a statement's nth large cell.
pub fn variable(number: usize) -> String {
    format!("@ferrymaster_{number}")
}

/// What stands for the literal in a statement: the variable holds its bytes, and here they get their character set.
pub fn expression(literal: &[u8], number: usize) -> Vec<u8> {
    let variable = variable(number);
    match split_literal(literal) {
        Some((b"binary", _)) | None => variable.into_bytes(),
        Some((charset, _)) => [b"CONVERT(", variable.as_bytes(), b" USING ", charset, b")"].concat(),
    }
}

/// The statements that bring a literal into its variable, one after the other.
pub fn parts(literal: &[u8], number: usize) -> impl Iterator<Item = Vec<u8>> + '_ {
    let whole = variable(number);
    let mut rest = split_literal(literal).map_or(&b""[..], |(_, body)| body);
    let mut in_group = 0;
    let mut has_whole = false;
    let mut is_first = true;
    std::iter::from_fn(move || {
        let is_over = rest.is_empty() && !std::mem::take(&mut is_first);
        if in_group == GROUP_PARTS || (is_over && in_group > 0) {
            in_group = 0;
            let joined =
                if std::mem::replace(&mut has_whole, true) { format!("CONCAT({whole},{GROUP})") } else { GROUP.into() };
            return Some(format!("SET {whole}={joined}").into_bytes());
        }
        if is_over {
            return None;
        }
        let (part, after) = rest.split_at(end_of_part(rest));
        rest = after;
        in_group += 1;
        let (head, tail) = if in_group == 1 { ("=", "") } else { ("=CONCAT(@ferrymaster_group,", ")") };
        Some([b"SET ", GROUP.as_bytes(), head.as_bytes(), b"_binary'", part, b"'", tail.as_bytes()].concat())
    })
}

/// The statement that gives the variable's memory back.
pub fn forget(number: usize) -> Vec<u8> {
    format!("SET {}=NULL, {GROUP}=NULL", variable(number)).into_bytes()
}

/// `_charset'body'`: the character set and the escaped body.
fn split_literal(literal: &[u8]) -> Option<(&[u8], &[u8])> {
    let rest = literal.strip_prefix(b"_")?.strip_suffix(b"'")?;
    let quote = rest.iter().position(|&byte| byte == b'\'')?;
    let (charset, body) = rest.split_at(quote);
    Some((charset, body.get(1..)?))
}

/// A part does not end between a backslash and what it escapes.
fn end_of_part(body: &[u8]) -> usize {
    if body.len() <= PART_BYTES {
        return body.len();
    }
    let before = body.get(..PART_BYTES).unwrap_or_default();
    let backslashes = before.iter().rev().take_while(|&&byte| byte == b'\\').count();
    PART_BYTES + backslashes % 2
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mysql::append_string;

    /// What the server would have in the variable.
    fn joined(literal: &[u8]) -> Vec<u8> {
        let (mut group, mut whole) = (Vec::new(), Vec::new());
        for statement in parts(literal, 3) {
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
            let part = part.expect("a part");
            assert!(part.len() <= PART_BYTES + 1, "{}", part.len());
            let escapes = part.iter().rev().take_while(|&&byte| byte == b'\\').count();
            assert_eq!(escapes % 2, 0, "an escape is cut");
            group.extend_from_slice(part);
        }
        whole
    }

    #[test]
    fn parts_hold_the_whole_literal_and_cut_no_escape() {
        for seed in 0..3_usize {
            let bytes: Vec<u8> = (0..(GROUP_PARTS * 5 + 1) * PART_BYTES / 4)
                .map(|at| if (at + seed) % 2 == 0 { b'\\' } else { b'x' })
                .collect();
            let mut literal = b"_latin1".to_vec();
            append_string(&mut literal, &bytes);
            let mut expected = Vec::new();
            append_string(&mut expected, &bytes);
            assert_eq!(joined(&literal), expected[1..expected.len() - 1]);
            assert_eq!(expression(&literal, 3), b"CONVERT(@ferrymaster_3 USING latin1)");
        }
    }

    #[test]
    fn bytes_stay_bytes() {
        assert_eq!(expression(b"_binary'abc'", 0), b"@ferrymaster_0");
        assert_eq!(joined(b"_binary''"), b"");
    }
}
