//! The words of a statement, each with its place in the text.

/// A byte range of the statement's text. Both ends lie on character boundaries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Span {
    pub start: usize,
    pub end: usize,
}

impl Span {
    pub const fn new(start: usize, end: usize) -> Self {
        Self { start, end }
    }

    /// The empty span at a place.
    pub const fn at(place: usize) -> Self {
        Self { start: place, end: place }
    }

    /// From the beginning of this one to the end of the other.
    pub const fn to(self, other: Self) -> Self {
        Self { start: self.start, end: other.end }
    }

    pub const fn contains(self, other: Self) -> bool {
        self.start <= other.start && other.end <= self.end
    }

    /// The part of `text` that this span names; empty if it lies outside.
    pub fn of(self, text: &str) -> &str {
        text.get(self.start..self.end).unwrap_or("")
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TokenKind {
    /// A word without quotes: a keyword or a name, decided by where it stands.
    Word,
    /// A quoted name, with its doubled quotes undone.
    QuotedName(String),
    /// A string literal, with its escapes undone.
    Text(String),
    /// `x'41'`, `0x41`, `b'01'`, `0b01`.
    Bits,
    Number,
    /// One character that is none of the above.
    Sign(char),
    /// The text ends inside of a string, a quoted name or a comment.
    Unterminated(&'static str),
    End,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Token {
    pub kind: TokenKind,
    pub span: Span,
}

/// `/*! … */` or `/*M! … */`: text that some servers execute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExecutableComment {
    /// `/*!50100` with the version's digits.
    pub open: Span,
    /// `*/`; `None` if the statement ends inside.
    pub close: Option<Span>,
    /// Written `/*M!`, which only MariaDB executes.
    pub mariadb_only: bool,
    /// The lowest version that executes it; `None` for every version.
    pub version: Option<u32>,
    /// Whether the server of the [`Context`](super::Context) executed it.
    pub executed: bool,
}

impl ExecutableComment {
    /// The whole of it, from `/*!` to `*/`.
    pub fn span(&self, text: &str) -> Span {
        Span::new(self.open.start, self.close.map_or(text.len(), |close| close.end))
    }
}
