//! `CHARACTER SET x`, `CHARSET x`, `COLLATE y`, wherever they stand, and the notes that edits need of them.

use super::cursor::{Parser, Result};
use crate::ddl::tree::{CharsetChoice, CharsetPlace, CharsetUse, Ident};

impl Parser<'_> {
    /// `CHARACTER SET x` or `CHARSET x` without `=`, as columns have it.
    pub fn charset_clause(&mut self) -> Result<Option<Ident>> {
        if self.eat_any(&["CHARACTER SET", "CHAR SET", "CHARSET"]).is_none() {
            return Ok(None);
        }
        self.name_or_text().map(Some)
    }

    /// `[DEFAULT] CHARACTER SET [=] x` or `[DEFAULT] COLLATE [=] y`, as tables and databases have it.
    pub fn default_charset_option(&mut self) -> Result<Option<CharsetOption>> {
        const CHARSET: [&str; 6] =
            ["DEFAULT CHARACTER SET", "DEFAULT CHAR SET", "DEFAULT CHARSET", "CHARACTER SET", "CHAR SET", "CHARSET"];
        if self.eat_any(&CHARSET).is_some() {
            self.eat_sign('=');
            return Ok(Some(CharsetOption::Charset(self.name_or_text()?)));
        }
        if self.eat_any(&["DEFAULT COLLATE", "COLLATE"]).is_some() {
            self.eat_sign('=');
            return Ok(Some(CharsetOption::Collation(self.name_or_text()?)));
        }
        Ok(None)
    }

    /// The character set of the column that is being read; its COLLATE may follow later.
    pub fn note_column_charset(&mut self, charset: Ident) {
        let collate_at = Some(charset.span.end);
        self.uses.charsets.push(CharsetUse {
            place: CharsetPlace::Column,
            charset: Some(charset),
            collation: None,
            collate_at,
        });
    }

    /// Notes options that together are the default of one thing.
    pub fn note_default(&mut self, place: CharsetPlace, options: Vec<CharsetOption>) -> CharsetChoice {
        let mut choice = CharsetChoice::default();
        let mut found: Vec<CharsetUse> = Vec::new();
        for option in options {
            match option {
                CharsetOption::Charset(charset) => {
                    choice.charset = Some(charset.value.to_ascii_lowercase());
                    let collate_at = Some(charset.span.end);
                    // said twice is legal if it is the same
                    match found.last_mut().filter(|last| last.charset.is_none()) {
                        Some(last) => (last.charset, last.collate_at) = (Some(charset), collate_at),
                        None => found.push(CharsetUse { place, charset: Some(charset), collation: None, collate_at }),
                    }
                }
                CharsetOption::Collation(collation) => {
                    choice.collation = Some(collation.value.to_ascii_lowercase());
                    match found.last_mut().filter(|last| last.collation.is_none()) {
                        Some(last) => last.collation = Some(collation),
                        None => found.push(CharsetUse {
                            place,
                            charset: None,
                            collation: Some(collation),
                            collate_at: None,
                        }),
                    }
                }
            }
        }
        // a collation that was given for an earlier mention holds for all
        if choice.collation.is_some() {
            for charset in found.iter_mut().filter(|charset| charset.collation.is_none()) {
                charset.collate_at = None;
            }
        }
        self.uses.charsets.append(&mut found);
        choice
    }
}

pub(super) enum CharsetOption {
    Charset(Ident),
    Collation(Ident),
}
