//! When two strings are equal to the target: what conflict keys need to know of a collation.
//!
//! A key need only be *equal where the target says equal*. For collations without contractions the weights of single
//! characters are enough, and for most keys those of ASCII; a string with any other character gets the key of its
//! whole table instead, which orders it against everything there.

use std::collections::HashMap;
use std::sync::Arc;

use crate::mysql::{self, Connection, Deadline};

/// The weights of the ASCII characters under one collation. The weight of a string is those of its characters, one
/// after the other, without the trailing ones that are blanks.
#[derive(Debug, PartialEq, Eq)]
pub struct Weights {
    characters: Vec<Vec<u8>>,
}

impl Weights {
    /// Appends the weight of a string; false when it cannot be told from weights of single characters.
    pub fn append(&self, out: &mut Vec<u8>, text: &[u8]) -> bool {
        if !text.is_ascii() {
            return false;
        }
        let start = out.len();
        for byte in text {
            let Some(weight) = self.characters.get(usize::from(*byte)) else { return false };
            out.extend_from_slice(weight);
        }
        // Blanks at the end count for nothing under PAD SPACE; cutting them elsewhere only makes more equal.
        if let Some(blank) = self.characters.get(usize::from(b' ')).filter(|blank| !blank.is_empty()) {
            while out.get(start..).is_some_and(|weight| weight.ends_with(blank)) {
                out.truncate(out.len() - blank.len());
            }
        }
        true
    }
}

/// Collations whose weights were asked for; None: not to be told from single characters.
#[derive(Debug, Default)]
pub struct WeightTable {
    known: HashMap<String, Option<Arc<Weights>>>,
}

impl WeightTable {
    /// The weights of a collation, asked once from the target.
    pub async fn of(
        &mut self,
        connection: &mut Connection,
        charset: &str,
        collation: &str,
        deadline: Deadline,
    ) -> Result<Option<Arc<Weights>>, mysql::Error> {
        if let Some(known) = self.known.get(collation) {
            return Ok(known.clone());
        }
        let weights = if has_no_contractions(collation) && is_ascii_compatible(charset) {
            Some(Arc::new(ask(connection, charset, collation, deadline).await?))
        } else {
            None
        };
        self.known.insert(collation.to_owned(), weights.clone());
        Ok(weights)
    }
}

/// One query: the weight of each character in hexadecimal, by its code.
async fn ask(
    connection: &mut Connection,
    charset: &str,
    collation: &str,
    deadline: Deadline,
) -> Result<Weights, mysql::Error> {
    let columns: Vec<String> =
        (0..128).map(|code| format!("HEX(WEIGHT_STRING(_{charset} 0x{code:02x} COLLATE {collation}))")).collect();
    let row = connection
        .first_row(&format!("SELECT {}", columns.join(", ")), "asking for a collation's weights", deadline)
        .await?;
    let characters = (0..128).map(|code| row.bytes(code).unwrap_or_default().to_vec()).collect();
    Ok(Weights { characters })
}

/// Collations that compare character by character: the generic ones. National ones may treat `ch` or `ll` as one
/// letter, so only names known to be generic are taken.
fn has_no_contractions(collation: &str) -> bool {
    let Some((charset, rest)) = collation.split_once('_') else { return false };
    match charset {
        "latin1" => matches!(rest, "swedish_ci" | "swedish_nopad_ci" | "general_ci" | "general_cs"),
        "ascii" => matches!(rest, "general_ci" | "general_nopad_ci"),
        "utf8mb4" | "utf8mb3" | "utf8" => {
            let generic = rest.strip_suffix("_ci").map(|name| name.strip_suffix("_nopad").unwrap_or(name));
            matches!(generic, Some("general" | "general_mysql500" | "unicode" | "unicode_520"))
                || matches!(rest, "0900_ai_ci" | "0900_as_ci" | "0900_as_cs")
                || rest.strip_prefix("uca1400_").is_some_and(has_no_language)
        }
        _ => false,
    }
}

/// `ai_ci` and its siblings: what follows `uca1400_` when no language does.
fn has_no_language(rest: &str) -> bool {
    rest.split('_').all(|part| matches!(part, "nopad" | "ai" | "as" | "ci" | "cs"))
}

/// Character sets in which an ASCII byte is that character, wherever it stands.
fn is_ascii_compatible(charset: &str) -> bool {
    matches!(charset, "utf8mb4" | "utf8mb3" | "utf8" | "latin1" | "ascii")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_generic_collations_compare_character_by_character() {
        for generic in [
            "utf8mb4_general_ci",
            "utf8mb4_0900_ai_ci",
            "utf8mb4_uca1400_ai_ci",
            "utf8mb4_uca1400_nopad_as_cs",
            "utf8mb3_unicode_ci",
            "latin1_swedish_ci",
        ] {
            assert!(has_no_contractions(generic), "{generic}");
        }
        for other in [
            "utf8mb4_spanish2_ci",
            "utf8mb4_hungarian_ci",
            "utf8mb4_hu_0900_ai_ci",
            "utf8mb4_uca1400_spanish_ai_ci",
            "latin1_german2_ci",
            "gbk_chinese_ci",
            "utf8mb4_swedish_ci",
        ] {
            assert!(!has_no_contractions(other), "{other}");
        }
    }

    #[test]
    fn a_weight_has_no_trailing_blanks_and_none_beyond_ascii() {
        let weights = Weights { characters: (0..128u8).map(|code| vec![code.to_ascii_uppercase()]).collect() };
        let weight = |text: &[u8]| {
            let mut out = b"kept ".to_vec();
            weights.append(&mut out, text).then_some(out)
        };
        assert_eq!(weight(b"abc  "), weight(b"ABC"));
        assert_eq!(weight(b""), Some(b"kept ".to_vec()));
        assert_ne!(weight(b"a b"), weight(b"ab"));
        assert_eq!(weight("é".as_bytes()), None);
    }
}
