//! Executable comments, settled for another server: it must execute what the source executed, and nothing else.

use super::Rewrite;
use crate::ddl::context::Flavor;
use crate::ddl::lexer::executes;
use crate::ddl::token::{ExecutableComment, Span};

/// What to do with what MySQL put into a comment, for a MariaDB that would pass over it. Judged by the first words.
const FROM_MYSQL: [(&str, Fit); 9] = [
    ("DEFAULT ENCRYPTION", Fit::Drop),
    ("ENCRYPTION", Fit::Drop),
    ("COLUMN_FORMAT", Fit::Drop),
    ("STORAGE", Fit::Drop),
    ("AUTOEXTEND_SIZE", Fit::Drop),
    ("SECONDARY_ENGINE", Fit::Drop),
    ("ENGINE_ATTRIBUTE", Fit::Drop),
    ("NOT SECONDARY", Fit::Drop),
    ("SRID", Fit::Rename("SRID", "REF_SYSTEM_ID =")),
];

/// What to do with what MariaDB put into a comment, for a MySQL that would pass over it.
const FROM_MARIADB: [(&str, Fit); 1] = [("COMPRESSED", Fit::Drop)];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fit {
    /// The inside stays, without the marks: the target knows it, or must say that it does not.
    Open,
    /// The inside goes: the rows are the same without it.
    Drop,
    /// The inside stays under another word.
    Rename(&'static str, &'static str),
}

impl Rewrite<'_> {
    /// Opens comments that the source executed and the target would not, drops those that the source did not
    /// execute, and leaves the rest.
    pub fn settle_comments(&mut self, flavor: Flavor, version: u32) {
        for comment in &self.parsed.comments {
            if !comment.executed {
                let span = comment.span(&self.parsed.text);
                self.cut(span);
                continue;
            }
            let runs_there = (flavor == Flavor::MariaDb || !comment.mariadb_only)
                && comment.version.is_none_or(|needed| executes(needed, comment.mariadb_only, flavor, version));
            if !runs_there {
                self.settle(comment, flavor);
            }
        }
    }

    fn settle(&mut self, comment: &ExecutableComment, flavor: Flavor) {
        let Some(close) = comment.close else { return };
        let inside = Span::new(comment.open.end, close.start);
        let words = inside.of(&self.parsed.text).trim_start();
        let rules: &[(&str, Fit)] = if flavor == Flavor::MariaDb { &FROM_MYSQL } else { &FROM_MARIADB };
        let rule = rules
            .iter()
            .find(|(first, _)| words.get(..first.len()).is_some_and(|beginning| beginning.eq_ignore_ascii_case(first)));
        match rule.map_or(Fit::Open, |(_, fit)| *fit) {
            Fit::Drop => return self.cut(comment.span(&self.parsed.text)),
            Fit::Rename(old, new) => {
                let start = inside.end - words.len();
                self.replace(Span::new(start, start + old.len()), new);
            }
            Fit::Open => {}
        }
        self.cut(comment.open);
        self.cut(close);
    }
}
