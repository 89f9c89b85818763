//! Keys and foreign keys that are made after the rows: cut from a CREATE TABLE, added later in their own words.

use super::Rewrite;
use crate::ddl::token::Span;
use crate::ddl::tree::{CreateTable, ElementKind, KeyDefinition, KeyKind, KeyPartSource, Statement};
use crate::model::TableName;

/// A key that was cut. Its definition is the original text with the edits of the rewrite.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeferredKey {
    /// `None`: a foreign key.
    pub kind: Option<KeyKind>,
    pub definition: String,
}

impl Rewrite<'_> {
    /// Cuts foreign keys and secondary keys that are not unique from a CREATE TABLE, and marks them with their
    /// places for [`Self::finish_deferred`]. A key stays that an AUTO_INCREMENT column needs.
    fn deferrable(create: &CreateTable) -> Vec<usize> {
        let needed = key_for_auto_increment(create);
        let deferrable = create.elements.iter().enumerate().filter(|(index, element)| match &element.kind {
            ElementKind::ForeignKey(_) => true,
            ElementKind::Key(key) => !matches!(key.kind, KeyKind::Primary | KeyKind::Unique) && needed != Some(*index),
            _ => false,
        });
        deferrable.map(|(index, _)| index).collect()
    }

    /// An element ends with its last word, also when that stands in an executable comment
    /// (`KEY k (a) /*!80000 INVISIBLE */`): the end of the comment belongs to it.
    fn with_comment_closed(&self, span: Span) -> Span {
        let closes = self.parsed.comments.iter().filter(|comment| span.contains(comment.open)).filter_map(|c| c.close);
        let blank = |close: &Span| Span::new(span.end, close.start).of(&self.parsed.text).trim().is_empty();
        let end = closes.filter(|close| close.start >= span.end).filter(blank).map(|close| close.end).max();
        Span::new(span.start, end.unwrap_or(span.end))
    }

    /// The text without foreign keys and secondary keys that are not unique, and those keys. All other edits must
    /// have been given before.
    ///
    /// A key stays where it was if an AUTO_INCREMENT column needs it. For anything but a CREATE TABLE nothing is cut.
    pub fn finish_deferred(mut self) -> (String, Vec<DeferredKey>) {
        let Some(Statement::CreateTable(create)) = self.parsed.statement() else { return (self.finish(), Vec::new()) };
        let cut = Self::deferrable(create);
        let deferred = cut
            .iter()
            .filter_map(|index| create.elements.get(*index))
            .map(|element| DeferredKey {
                kind: match &element.kind {
                    ElementKind::Key(key) => Some(key.kind),
                    _ => None,
                },
                definition: self.render(self.with_comment_closed(element.span)),
            })
            .collect();
        let spans: Vec<Span> = create.elements.iter().map(|element| self.with_comment_closed(element.span)).collect();
        self.cut_from_list(&spans, |index| cut.contains(&index));
        (self.finish(), deferred)
    }
}

/// The one plain key that begins with the AUTO_INCREMENT column, if no unique key does.
fn key_for_auto_increment(create: &CreateTable) -> Option<usize> {
    let column = create.columns().find(|column| column.auto_increment)?;
    if column.primary_key || column.unique_key {
        return None;
    }
    let begins = |key: &KeyDefinition| match key.parts.first().map(|part| &part.source) {
        Some(KeyPartSource::Column(name)) => name.is(&column.name.value),
        _ => false,
    };
    let mut keys = create.elements.iter().enumerate().filter_map(|(index, element)| match &element.kind {
        ElementKind::Key(key) if begins(key) => Some((index, key.kind)),
        _ => None,
    });
    let unique = keys.clone().any(|(_, kind)| matches!(kind, KeyKind::Primary | KeyKind::Unique));
    if unique { None } else { keys.find(|(_, kind)| *kind == KeyKind::Plain).map(|(index, _)| index) }
}

/// Statements that add cut keys to a table: all plain ones at once, since the rows are read once for them; full-text,
/// spatial and vector ones each by itself, since servers build only one of those in place; foreign keys last.
pub fn add_key_statements(table: &TableName, deferred: &[DeferredKey]) -> Vec<String> {
    let all_of = |kind: Option<KeyKind>| -> Vec<&str> {
        deferred.iter().filter(|key| key.kind == kind).map(|key| key.definition.as_str()).collect()
    };
    let add = |definitions: &[&str]| {
        let items: Vec<String> = definitions.iter().map(|definition| format!("ADD {definition}")).collect();
        format!("ALTER TABLE {table} {}", items.join(", "))
    };
    let mut statements = Vec::new();
    let plain = all_of(Some(KeyKind::Plain));
    if !plain.is_empty() {
        statements.push(add(&plain));
    }
    for kind in [KeyKind::FullText, KeyKind::Spatial, KeyKind::Vector] {
        statements.extend(all_of(Some(kind)).into_iter().map(|definition| add(&[definition])));
    }
    let foreign = all_of(None);
    if !foreign.is_empty() {
        statements.push(add(&foreign));
    }
    statements
}
