//! Whether a name may stand in a statement, without taking it apart. Pure.

/// Whether `name` is among the words of a statement, in whatever case. A name that has other than ASCII's letters,
/// digits, `_` and `$` may be written in another character set, or with doubled quotes: it may stand in any statement.
pub fn may_name(text: &str, name: &str) -> bool {
    let mut words = text.split(|letter: char| !u8::try_from(letter).is_ok_and(is_name_byte));
    !name.bytes().all(is_name_byte) || words.any(|word| word.eq_ignore_ascii_case(name))
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$'
}
