//! New texts from old ones: a [`Rewrite`] gathers edits of spans, and applies them all at once.
//!
//! In: a [`Parsed`] and the wishes of the caller (new names, other collations, parts to leave out). Out: the text,
//! with everything else as it was. Never here: printing from the tree, or any knowledge of the target but its flavor.
//! The surprise: a cut may go through an executable comment; then the comment's marks go too, since its inside was
//! code to the source.

mod charset;
mod comment;
mod key;

#[cfg(test)]
mod tests;

pub use charset::{CollationRules, DefaultCharset};
pub use key::{DeferredKey, add_key_statements};

use super::context::Flavor;
use super::parser::{Meaning, Parsed};
use super::token::Span;
use super::tree::{AlterSpec, ClauseKind, ColumnDefinition, DefaultKind, ElementKind, Statement, TableElement};
use crate::model::TableName;

/// From this version on MySQL makes a foreign key of a column's own REFERENCES.
pub const INLINE_REFERENCES_SINCE: u32 = 90_000;

#[derive(Debug, Clone, PartialEq, Eq)]
struct Edit {
    span: Span,
    text: String,
}

/// Edits of one statement. They may be given in any order; what lies inside of a cut goes with it.
#[derive(Debug, Clone)]
pub struct Rewrite<'a> {
    parsed: &'a Parsed,
    edits: Vec<Edit>,
    cuts: Vec<Span>,
}

impl<'a> Rewrite<'a> {
    pub fn new(parsed: &'a Parsed) -> Self {
        Self { parsed, edits: Vec::new(), cuts: Vec::new() }
    }

    fn replace(&mut self, span: Span, text: impl Into<String>) {
        self.edits.push(Edit { span, text: text.into() });
    }

    fn insert(&mut self, place: usize, text: impl Into<String>) {
        self.replace(Span::at(place), text);
    }

    /// Leaves a blank, so that no two words grow together.
    fn cut(&mut self, span: Span) {
        self.cuts.push(span);
    }

    /// Gives every table and database of the statement the name that the closures give; tables become fully
    /// qualified. This reaches the names in REFERENCES, LIKE, EXCHANGE PARTITION, UNION and default values too.
    pub fn route(&mut self, table: impl Fn(&TableName) -> TableName, database: impl Fn(&str) -> String) {
        for named in &self.parsed.uses.tables {
            let target = table(&named.table).to_string();
            self.replace(named.span, target);
        }
        for named in &self.parsed.uses.databases {
            let name = quoted(&database(&named.name));
            // the name of ALTER DATABASE may have been left out
            let blank = if named.span.start == named.span.end { " " } else { "" };
            self.replace(named.span, format!("{name}{blank}"));
        }
    }

    /// Cuts every clause of a kind from the statement itself; with `inner`, from its items and elements instead.
    pub fn cut_clauses(&mut self, kind: ClauseKind, inner: bool) {
        let clauses = &self.parsed.uses.clauses;
        self.cuts.extend(clauses.iter().filter(|clause| clause.kind == kind && clause.inner == inner).map(|c| c.span));
    }

    /// Makes a CREATE that is repeated succeed. Nothing for `CREATE OR REPLACE`, which does so anyway.
    pub fn ensure_if_not_exists(&mut self) {
        let place = match self.parsed.statement() {
            Some(Statement::CreateTable(create)) if !create.if_not_exists && !create.or_replace => {
                create.table.span.start
            }
            Some(Statement::CreateTableLike(create)) if !create.if_not_exists && !create.or_replace => {
                create.table.span.start
            }
            Some(Statement::CreateDatabase(create)) if !create.if_not_exists && !create.or_replace => {
                create.name.span.start
            }
            _ => return,
        };
        self.insert(place, " IF NOT EXISTS ");
    }

    /// Makes a DROP that is repeated succeed.
    pub fn ensure_if_exists(&mut self) {
        let place = match self.parsed.statement() {
            Some(Statement::DropTable(drop)) if !drop.if_exists => drop.tables.first().map(|table| table.span.start),
            Some(Statement::DropDatabase(drop)) if !drop.if_exists => Some(drop.name.span.start),
            _ => None,
        };
        if let Some(place) = place {
            self.insert(place, " IF EXISTS ");
        }
    }

    /// Cuts the SELECT of a CREATE TABLE, and MySQL's mark that its rows follow.
    pub fn cut_select(&mut self) {
        if let Some(Statement::CreateTable(create)) = self.parsed.statement() {
            self.cuts.extend(create.select);
        }
        self.cut_clauses(ClauseKind::StartTransaction, false);
    }

    /// Cuts items of an ALTER TABLE by their index, and tells whether any is left.
    pub fn cut_items(&mut self, cut: impl Fn(usize) -> bool) -> bool {
        let Some(Statement::AlterTable(alter)) = self.parsed.statement() else { return true };
        let spans: Vec<Span> = alter.items.iter().map(|item| item.span).collect();
        self.cut_from_list(&spans, &cut);
        (0..spans.len()).any(|index| !cut(index))
    }

    /// Cuts items of a list together with one of the separators beside each.
    fn cut_from_list(&mut self, spans: &[Span], cut: impl Fn(usize) -> bool) {
        let first_kept = (0..spans.len()).find(|index| !cut(*index));
        for (index, span) in spans.iter().enumerate().filter(|(index, _)| cut(*index)) {
            let next = spans.get(index + 1).map(|next| next.start);
            let before = index.checked_sub(1).and_then(|before| spans.get(before)).map(|before| before.end);
            let with_separator = match first_kept {
                Some(kept) if index > kept => Span::new(before.unwrap_or(span.start), span.end),
                _ => Span::new(span.start, next.unwrap_or(span.end)),
            };
            self.cut(with_separator);
        }
    }

    /// Makes the text one that a server of the given flavor and version runs as the source did: comments settled,
    /// clauses that only MariaDB knows cut, and its function defaults put in parentheses for MySQL.
    ///
    /// An IF EXISTS or IF NOT EXISTS of an item is cut too: the caller must have cut, with [`Self::cut_items`],
    /// the items that did nothing at the source.
    pub fn fit_to(&mut self, flavor: Flavor, version: u32) {
        self.settle_comments(flavor, version);
        let source = &self.parsed.context;
        if source.flavor == Flavor::MySql && source.version < INLINE_REFERENCES_SINCE {
            self.cut_inline_references();
        }
        if flavor == Flavor::MariaDb {
            return;
        }
        for kind in [ClauseKind::IfExists, ClauseKind::IfNotExists] {
            self.cut_clauses(kind, true);
        }
        for kind in [ClauseKind::Wait, ClauseKind::Online, ClauseKind::SetStatement] {
            self.cut_clauses(kind, false);
        }
        match self.parsed.statement() {
            Some(Statement::AlterTable(_) | Statement::RenameTable(_) | Statement::DropIndex(_)) => {
                self.cut_clauses(ClauseKind::IfExists, false);
            }
            Some(Statement::CreateIndex(_)) => {
                self.cut_clauses(ClauseKind::IfNotExists, false);
                self.cut_clauses(ClauseKind::OrReplace, false);
            }
            _ => {}
        }
        self.parenthesise_defaults();
    }

    /// `REFERENCES` on a column, which MySQL reads over before 9.0, and every MariaDB makes a foreign key of.
    fn cut_inline_references(&mut self) {
        let Some(statement) = self.parsed.statement() else { return };
        let columns = columns_of(statement);
        self.cuts
            .extend(columns.iter().filter_map(|column| column.references.as_ref()).map(|reference| reference.span));
    }

    fn parenthesise_defaults(&mut self) {
        let Some(statement) = self.parsed.statement() else { return };
        let defaults = columns_of(statement).into_iter().filter_map(|column| column.default.as_ref());
        let expressions = defaults.filter(|default| matches!(default.kind, DefaultKind::Expression(_)));
        let spans: Vec<Span> = expressions.map(|default| default.span).collect();
        for span in spans.into_iter().filter(|span| !span.of(&self.parsed.text).starts_with('(')) {
            self.insert(span.start, "(");
            self.insert(span.end, ")");
        }
    }

    /// The text with all edits.
    pub fn finish(self) -> String {
        let whole = Span::new(0, self.parsed.text.len());
        self.render(whole)
    }

    /// A part of the text with the edits inside of it. Cuts that reach beyond it do not count.
    fn render(&self, part: Span) -> String {
        let text = &self.parsed.text;
        let cuts = self.merged_cuts(part);
        let mut edits: Vec<(Span, &str)> = cuts.iter().map(|cut| (*cut, " ")).collect();
        edits.extend(
            self.edits
                .iter()
                .filter(|edit| part.contains(edit.span) && !cuts.iter().any(|cut| swallows(*cut, edit.span)))
                .map(|edit| (edit.span, edit.text.as_str())),
        );
        edits.sort_by_key(|(span, _)| *span);
        let mut rendered = String::with_capacity(part.end - part.start);
        let mut at = part.start;
        for (span, replacement) in edits.into_iter().filter(|(span, _)| span.start >= part.start) {
            if span.start < at {
                continue;
            }
            rendered.push_str(Span::new(at, span.start).of(text));
            rendered.push_str(replacement);
            at = span.end;
        }
        rendered.push_str(Span::new(at, part.end).of(text));
        rendered
    }

    /// The cuts within a part, joined where they meet, with both marks of a comment or none.
    fn merged_cuts(&self, part: Span) -> Vec<Span> {
        let mut cuts: Vec<Span> = self.cuts.iter().copied().filter(|cut| part.contains(*cut) && *cut != part).collect();
        for comment in self.parsed.comments.iter().filter(|comment| comment.executed) {
            let Some(close) = comment.close else { continue };
            let is_cut = |mark: Span| cuts.iter().any(|cut| cut.contains(mark));
            match (is_cut(comment.open), is_cut(close)) {
                (true, false) if part.contains(close) => cuts.push(close),
                (false, true) if part.contains(comment.open) => cuts.push(comment.open),
                _ => {}
            }
        }
        cuts.sort();
        let mut merged: Vec<Span> = Vec::new();
        for cut in cuts {
            match merged.last_mut() {
                Some(last) if cut.start <= last.end => last.end = last.end.max(cut.end),
                _ => merged.push(cut),
            }
        }
        merged
    }
}

/// Whether an edit goes with a cut: it lies inside, or is an insertion between the ends.
fn swallows(cut: Span, edit: Span) -> bool {
    if edit.start == edit.end { cut.start < edit.start && edit.start < cut.end } else { cut.contains(edit) }
}

fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

/// The columns among the elements of a table.
fn columns_among(elements: &[TableElement]) -> Vec<&ColumnDefinition> {
    let columns = elements.iter().filter_map(|element| match &element.kind {
        ElementKind::Column(column) => Some(column),
        _ => None,
    });
    columns.collect()
}

/// Every column that a statement defines.
fn columns_of(statement: &Statement) -> Vec<&ColumnDefinition> {
    match statement {
        Statement::CreateTable(create) => columns_among(&create.elements),
        Statement::AlterTable(alter) => {
            let columns = alter.items.iter().flat_map(|item| match &item.spec {
                AlterSpec::AddElements { elements, .. } => columns_among(elements),
                AlterSpec::AddColumn { column, .. }
                | AlterSpec::ChangeColumn { column, .. }
                | AlterSpec::ModifyColumn { column, .. } => vec![column],
                _ => Vec::new(),
            });
            columns.collect()
        }
        _ => Vec::new(),
    }
}

/// The whole text with names routed and nothing else changed: what a statement without any other wish needs.
pub fn route_names(
    parsed: &Parsed,
    table: impl Fn(&TableName) -> TableName,
    database: impl Fn(&str) -> String,
) -> Option<String> {
    if matches!(parsed.meaning, Meaning::NotUnderstood(_)) {
        return None;
    }
    let mut rewrite = Rewrite::new(parsed);
    rewrite.route(table, database);
    Some(rewrite.finish())
}
