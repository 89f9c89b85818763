//! Character sets and collations that the target calls otherwise, or would default otherwise.

use super::{Rewrite, quoted};
use crate::ddl::tree::{CharsetPlace, Ident, Statement};

/// What to write instead. Each closure gets a name in lower case, and answers `None` to leave it.
pub struct CollationRules<'a> {
    /// Another name for a collation.
    pub collation: &'a dyn Fn(&str) -> Option<String>,
    /// Another name for a character set.
    pub charset: &'a dyn Fn(&str) -> Option<String>,
    /// The collation that the source gives to a bare character set, before mapping. `None`: left to the target.
    pub default_of: &'a dyn Fn(&str) -> Option<String>,
    /// What the source gives to a CREATE TABLE (its database's default) or CREATE DATABASE (the session's) that says
    /// nothing, before mapping. `None`: left to the target.
    pub unsaid: Option<DefaultCharset>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DefaultCharset {
    pub charset: String,
    pub collation: String,
}

impl CollationRules<'_> {
    fn collation_for(&self, collation: &str) -> String {
        (self.collation)(collation).unwrap_or_else(|| collation.to_owned())
    }

    fn charset_for(&self, charset: &str) -> String {
        (self.charset)(charset).unwrap_or_else(|| charset.to_owned())
    }
}

impl Rewrite<'_> {
    /// Renames explicit collations and character sets, and says aloud what the source took as default.
    pub fn map_collations(&mut self, rules: &CollationRules<'_>) {
        for charset_use in &self.parsed.uses.charsets {
            let charset = charset_use.charset.as_ref();
            if let Some(collation) = &charset_use.collation {
                self.map_collation(collation, charset, rules);
            }
            let Some(charset) = charset else { continue };
            let name = charset.value.to_ascii_lowercase();
            let in_default = matches!(charset_use.place, CharsetPlace::Database | CharsetPlace::Table);
            let mut collation = (rules.default_of)(&name);
            match &rules.unsaid {
                Some(unsaid) if name == "default" && in_default => {
                    self.replace(charset.span, rules.charset_for(&unsaid.charset));
                    collation = Some(unsaid.collation.clone());
                }
                _ => {
                    if let Some(other) = (rules.charset)(&name) {
                        self.replace(charset.span, other);
                    }
                }
            }
            let bare = charset_use.collation.is_none() && charset_use.place != CharsetPlace::Expression;
            if let (true, Some(place), Some(collation)) = (bare, charset_use.collate_at, collation) {
                self.insert(place, format!(" COLLATE {}", rules.collation_for(&collation)));
            }
        }
        self.say_unsaid(rules);
    }

    fn map_collation(&mut self, collation: &Ident, charset: Option<&Ident>, rules: &CollationRules<'_>) {
        let name = collation.value.to_ascii_lowercase();
        let unsaid = rules.unsaid.as_ref();
        let meant = match charset.map(|charset| charset.value.to_ascii_lowercase()) {
            _ if name != "default" => None,
            Some(charset) => (rules.default_of)(&charset),
            None => unsaid.map(|unsaid| unsaid.collation.clone()),
        };
        match meant {
            Some(meant) => self.replace(collation.span, rules.collation_for(&meant)),
            None => {
                if let Some(other) = (rules.collation)(&name) {
                    self.replace(collation.span, other);
                }
            }
        }
    }

    /// A CREATE without any character set gets the one that the source gave it.
    fn say_unsaid(&mut self, rules: &CollationRules<'_>) {
        let Some(unsaid) = &rules.unsaid else { return };
        let place = match self.parsed.statement() {
            Some(Statement::CreateTable(create)) if create.charset.is_empty() => create.options_at,
            Some(Statement::CreateDatabase(create)) if create.charset.is_empty() => create.name.span.end,
            _ => return,
        };
        let charset = rules.charset_for(&unsaid.charset);
        let collation = rules.collation_for(&unsaid.collation);
        self.insert(place, format!(" DEFAULT CHARACTER SET {charset} COLLATE {collation} "));
    }
}

/// `CHARACTER SET x COLLATE y` for a statement of one's own.
impl std::fmt::Display for DefaultCharset {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "CHARACTER SET {} COLLATE {}", quoted(&self.charset), quoted(&self.collation))
    }
}
