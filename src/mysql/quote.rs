//! Names and text as they stand in a statement. Holds for sessions without NO_BACKSLASH_ESCAPES and without
//! ANSI_QUOTES, which is how [`super::Purpose`] sets all of ours.

/// `` `name` ``, with back-quotes doubled.
pub fn identifier(name: &str) -> String {
    let mut quoted = String::with_capacity(name.len() + 2);
    quoted.push('`');
    for character in name.chars() {
        if character == '`' {
            quoted.push('`');
        }
        quoted.push(character);
    }
    quoted.push('`');
    quoted
}

/// `'text'`, escaped.
pub fn string_literal(text: &str) -> String {
    let mut quoted = Vec::with_capacity(text.len() + 2);
    append_string(&mut quoted, text.as_bytes());
    // Only ASCII bytes are put in, and only before ASCII bytes: UTF-8 stays UTF-8.
    String::from_utf8_lossy(&quoted).into_owned()
}

const EXACT_FROM: usize = 1 << 20;

/// Appends `'bytes'`, escaped byte by byte. The session's client character set must not give a meaning of its own to
/// bytes after a lead byte (utf8mb4 and binary do not; gbk and sjis do).
pub fn append_string(out: &mut Vec<u8>, bytes: &[u8]) {
    if bytes.len() >= EXACT_FROM {
        // Memory for a large value is taken once: growing would take up to twice as much.
        let escapes = bytes.iter().filter(|byte| matches!(byte, b'\'' | b'\\' | 0)).count();
        out.reserve_exact(bytes.len() + escapes + 2);
    }
    out.push(b'\'');
    let mut rest = bytes;
    while let Some(at) = rest.iter().position(|byte| matches!(byte, b'\'' | b'\\' | 0)) {
        let (plain, special) = rest.split_at(at);
        out.extend_from_slice(plain);
        match special.split_first() {
            Some((0, tail)) => {
                out.extend_from_slice(b"\\0");
                rest = tail;
            }
            Some((&byte, tail)) => {
                out.extend_from_slice(&[b'\\', byte]);
                rest = tail;
            }
            None => break,
        }
    }
    out.extend_from_slice(rest);
    out.push(b'\'');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_text_survive_quoting() {
        assert_eq!(identifier("a`b"), "`a``b`");
        assert_eq!(string_literal("it's \\ \0 ok é"), "'it\\'s \\\\ \\0 ok é'");
        assert_eq!(string_literal(""), "''");
    }
}
