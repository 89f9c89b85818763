//! Character sets and collations as far as shapes depend on them: names, defaults, and bytes for a character.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::ddl::Flavor;

/// A collation by its full name in lower case, with `utf8mb3` spelled out.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Collation(String);

impl Collation {
    /// `utf8_bin` and `UTF8MB3_BIN` are the same.
    pub fn new(name: &str) -> Self {
        Self(canonical(name))
    }

    pub fn binary() -> Self {
        Self("binary".to_owned())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// A collation's name begins with its character set's.
    pub fn charset(&self) -> &str {
        self.0.split('_').next().unwrap_or(&self.0)
    }

    pub fn is_binary(&self) -> bool {
        self.0 == "binary"
    }

    /// The collation of the same character set that compares code points (`latin1_bin`).
    pub fn by_code_point(&self) -> Self {
        if self.is_binary() { self.clone() } else { Self(format!("{}_bin", self.charset())) }
    }

    /// How many bytes a character may take at most.
    pub fn bytes_per_character(&self) -> u32 {
        bytes_per_character(self.charset())
    }
}

impl fmt::Display for Collation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A character set's or collation's name in lower case, with `utf8` as `utf8mb3`.
pub fn canonical(name: &str) -> String {
    let name = name.to_ascii_lowercase();
    match name.strip_prefix("utf8") {
        Some("") => "utf8mb3".to_owned(),
        Some(rest) if rest.starts_with('_') => format!("utf8mb3{rest}"),
        _ => name,
    }
}

/// Every character set, its default collation (as the older servers have it) and its bytes for a character.
const CHARSETS: [(&str, &str, u32); 41] = [
    ("armscii8", "armscii8_general_ci", 1),
    ("ascii", "ascii_general_ci", 1),
    ("big5", "big5_chinese_ci", 2),
    ("binary", "binary", 1),
    ("cp1250", "cp1250_general_ci", 1),
    ("cp1251", "cp1251_general_ci", 1),
    ("cp1256", "cp1256_general_ci", 1),
    ("cp1257", "cp1257_general_ci", 1),
    ("cp850", "cp850_general_ci", 1),
    ("cp852", "cp852_general_ci", 1),
    ("cp866", "cp866_general_ci", 1),
    ("cp932", "cp932_japanese_ci", 2),
    ("dec8", "dec8_swedish_ci", 1),
    ("eucjpms", "eucjpms_japanese_ci", 3),
    ("euckr", "euckr_korean_ci", 2),
    ("gb18030", "gb18030_chinese_ci", 4),
    ("gb2312", "gb2312_chinese_ci", 2),
    ("gbk", "gbk_chinese_ci", 2),
    ("geostd8", "geostd8_general_ci", 1),
    ("greek", "greek_general_ci", 1),
    ("hebrew", "hebrew_general_ci", 1),
    ("hp8", "hp8_english_ci", 1),
    ("keybcs2", "keybcs2_general_ci", 1),
    ("koi8r", "koi8r_general_ci", 1),
    ("koi8u", "koi8u_general_ci", 1),
    ("latin1", "latin1_swedish_ci", 1),
    ("latin2", "latin2_general_ci", 1),
    ("latin5", "latin5_turkish_ci", 1),
    ("latin7", "latin7_general_ci", 1),
    ("macce", "macce_general_ci", 1),
    ("macroman", "macroman_general_ci", 1),
    ("sjis", "sjis_japanese_ci", 2),
    ("swe7", "swe7_swedish_ci", 1),
    ("tis620", "tis620_thai_ci", 1),
    ("ucs2", "ucs2_general_ci", 2),
    ("ujis", "ujis_japanese_ci", 3),
    ("utf16", "utf16_general_ci", 4),
    ("utf16le", "utf16le_general_ci", 4),
    ("utf32", "utf32_general_ci", 4),
    ("utf8mb3", "utf8mb3_general_ci", 3),
    ("utf8mb4", "utf8mb4_general_ci", 4),
];

fn entry(charset: &str) -> Option<&'static (&'static str, &'static str, u32)> {
    CHARSETS.iter().find(|(name, ..)| *name == charset)
}

pub fn is_known(charset: &str) -> bool {
    entry(charset).is_some()
}

/// Of a character set that is not known here: four, the most there is.
pub fn bytes_per_character(charset: &str) -> u32 {
    entry(charset).map_or(4, |(.., bytes)| *bytes)
}

/// The collation that a server gives to a character set out of the box.
pub fn built_in_default(charset: &str, flavor: Flavor, version: u32) -> Option<Collation> {
    let (name, collation, _) = entry(charset)?;
    let unicode = ["utf8mb3", "utf8mb4", "ucs2", "utf16", "utf32"].contains(name);
    match flavor {
        Flavor::MySql if *name == "utf8mb4" && version >= 80_001 => Some(Collation("utf8mb4_0900_ai_ci".to_owned())),
        Flavor::MariaDb if unicode && version >= 110_500 => Some(Collation(format!("{name}_uca1400_ai_ci"))),
        _ => Some(Collation((*collation).to_owned())),
    }
}
