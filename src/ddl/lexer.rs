//! A statement's text in, its tokens and executable comments out.
//!
//! Plain comments vanish. An executable comment is decided by flavor and version: its inside becomes tokens, or it
//! is skipped whole. The lexer never fails: where the text breaks off inside of a string or comment it gives
//! [`TokenKind::Unterminated`], which no rule of the parser accepts.
//! The surprise: MariaDB does not execute `/*!50700 …*/` to `/*!99999 …*/`, since those are MySQL's own features.

use super::context::{Context, Flavor};
use super::token::{ExecutableComment, Span, Token, TokenKind};

pub(super) struct Lexed {
    /// Ends with [`TokenKind::End`].
    pub tokens: Vec<Token>,
    pub comments: Vec<ExecutableComment>,
}

pub(super) fn lex(text: &str, context: &Context) -> Lexed {
    let mut lexer = Lexer { text, context, at: 0, tokens: Vec::new(), comments: Vec::new(), open_comment: None };
    while lexer.step() {}
    Lexed { tokens: lexer.tokens, comments: lexer.comments }
}

struct Lexer<'a> {
    text: &'a str,
    context: &'a Context,
    at: usize,
    tokens: Vec<Token>,
    comments: Vec<ExecutableComment>,
    /// Index of the executed comment that `at` is inside of. They do not nest.
    open_comment: Option<usize>,
}

/// Letters, digits, `_`, `$` and everything beyond ASCII.
fn is_word(character: char) -> bool {
    character.is_ascii_alphanumeric() || character == '_' || character == '$' || !character.is_ascii()
}

impl<'a> Lexer<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or("")
    }

    fn push(&mut self, kind: TokenKind, start: usize) {
        self.tokens.push(Token { kind, span: Span::new(start, self.at) });
    }

    /// Reads one token, comment or blank; false at the end.
    fn step(&mut self) -> bool {
        let start = self.at;
        let rest = self.rest();
        let Some(first) = rest.chars().next() else {
            let kind = if self.open_comment.is_some() { TokenKind::Unterminated("comment") } else { TokenKind::End };
            let ended = kind == TokenKind::End;
            self.open_comment = None;
            self.push(kind, start);
            return !ended;
        };
        if first.is_ascii_whitespace() || first == '\u{b}' || first == '\0' {
            self.at += 1;
        } else if first == '#' || starts_dash_comment(rest) {
            self.at += rest.find('\n').map_or(rest.len(), |newline| newline + 1);
        } else if rest.starts_with("/*") {
            self.block_comment();
        } else if rest.starts_with("*/") && self.open_comment.is_some() {
            self.at += 2;
            let close = Span::new(start, self.at);
            if let Some(comment) = self.open_comment.take().and_then(|index| self.comments.get_mut(index)) {
                comment.close = Some(close);
            }
        } else {
            self.token(first);
        }
        true
    }

    fn token(&mut self, first: char) {
        let start = self.at;
        let rest = self.rest();
        match first {
            '`' => self.quoted('`', false, "quoted name"),
            '"' if self.context.ansi_quotes => self.quoted('"', false, "quoted name"),
            '\'' | '"' => self.quoted(first, true, "string"),
            'x' | 'X' | 'b' | 'B' if rest.get(1..2) == Some("'") => {
                let end = rest.get(2..).and_then(|inside| inside.find('\''));
                self.at += end.map_or(rest.len(), |end| end + 3);
                self.push(if end.is_some() { TokenKind::Bits } else { TokenKind::Unterminated("literal") }, start);
            }
            'n' | 'N' if rest.get(1..2) == Some("'") => {
                self.at += 1;
                self.quoted('\'', true, "string");
                if let Some(token) = self.tokens.last_mut() {
                    token.span.start = start;
                }
            }
            '.' if !self.follows_name()
                && rest.get(1..2).is_some_and(|next| next.starts_with(|c: char| c.is_ascii_digit())) =>
            {
                self.number();
            }
            first if first.is_ascii_digit() && !self.follows_dot() => self.number(),
            first if is_word(first) => self.word(),
            sign => {
                self.at += sign.len_utf8();
                self.push(TokenKind::Sign(sign), start);
            }
        }
    }

    /// Whether the token before ends right here and is a name, so that a dot separates and a digit after it begins a
    /// name: `db.1t`.
    fn follows_name(&self) -> bool {
        self.tokens.last().is_some_and(|token| {
            token.span.end == self.at && matches!(token.kind, TokenKind::Word | TokenKind::QuotedName(_))
        })
    }

    fn follows_dot(&self) -> bool {
        let mut before = self.tokens.iter().rev();
        before.next().is_some_and(|token| token.kind == TokenKind::Sign('.') && token.span.end == self.at)
            && before.next().is_some_and(|token| matches!(token.kind, TokenKind::Word | TokenKind::QuotedName(_)))
    }

    fn word(&mut self) {
        let start = self.at;
        let rest = self.rest();
        self.at += rest.find(|character| !is_word(character)).unwrap_or(rest.len());
        self.push(TokenKind::Word, start);
    }

    /// A number, or a name that begins with digits (`1st`, but not `1e3`).
    fn number(&mut self) {
        let start = self.at;
        let rest = self.rest();
        let run = rest.find(|character| !is_word(character)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(run);
        let digits = word.find(|character: char| !character.is_ascii_digit()).unwrap_or(word.len());
        let (whole, tail) = word.split_at(digits);
        let radix_digits = |prefix: &str, is_digit: fn(&char) -> bool| {
            word.strip_prefix(prefix).is_some_and(|digits| !digits.is_empty() && digits.chars().all(|c| is_digit(&c)))
        };
        if radix_digits("0x", char::is_ascii_hexdigit) || radix_digits("0b", |c| matches!(c, '0' | '1')) {
            self.at += run;
            return self.push(TokenKind::Bits, start);
        }
        if tail.is_empty() {
            self.at += run;
            if let Some(fraction) = after.strip_prefix('.') {
                let digits = fraction.find(|c: char| !c.is_ascii_digit()).unwrap_or(fraction.len());
                self.at += 1 + digits;
                self.at += exponent(fraction.get(digits..).unwrap_or(""));
            }
            return self.push(TokenKind::Number, start);
        }
        let exponent = exponent(rest.get(digits..).unwrap_or(""));
        // `1e3` is a number; `1e3x` and `1st` are names
        if exponent >= tail.len() && !whole.is_empty() {
            self.at += digits + exponent;
            return self.push(TokenKind::Number, start);
        }
        self.at += run;
        self.push(TokenKind::Word, start);
    }

    fn quoted(&mut self, quote: char, escapes: bool, what: &'static str) {
        let start = self.at;
        let escapes = escapes && !self.context.no_backslash_escapes;
        let mut value = String::new();
        let mut characters = self.rest().char_indices().skip(1).peekable();
        let mut end = None;
        while let Some((offset, character)) = characters.next() {
            if character == quote {
                if characters.peek().is_some_and(|(_, next)| *next == quote) {
                    characters.next();
                    value.push(quote);
                } else {
                    end = Some(offset + quote.len_utf8());
                    break;
                }
            } else if character == '\\' && escapes {
                let Some((_, escaped)) = characters.next() else { break };
                push_escaped(&mut value, escaped);
            } else {
                value.push(character);
            }
        }
        let Some(end) = end else {
            self.at = self.text.len();
            return self.push(TokenKind::Unterminated(what), start);
        };
        self.at += end;
        let is_name = quote == '`' || (quote == '"' && self.context.ansi_quotes);
        self.push(if is_name { TokenKind::QuotedName(value) } else { TokenKind::Text(value) }, start);
    }

    fn block_comment(&mut self) {
        let start = self.at;
        let rest = self.rest();
        let mariadb_only = rest.starts_with("/*M!");
        let executable = rest.starts_with("/*!") || (mariadb_only && self.context.flavor == Flavor::MariaDb);
        if !executable || self.open_comment.is_some() {
            // a plain comment, also inside of an executed one
            let end = rest.get(2..).and_then(|inside| inside.find("*/"));
            self.at += end.map_or(rest.len(), |end| end + 4);
            if end.is_none() {
                self.push(TokenKind::Unterminated("comment"), start);
            } else if executable {
                // the servers differ in how these end
                self.push(TokenKind::Unterminated("executable comment around another one"), start);
            }
            return;
        }
        let prefix = if mariadb_only { 4 } else { 3 };
        let digits = rest.get(prefix..).map_or(0, |after| self.version_digits(after));
        let version = rest.get(prefix..prefix + digits).and_then(|digits| digits.parse::<u32>().ok());
        let executed =
            version.is_none_or(|version| executes(version, mariadb_only, self.context.flavor, self.context.version));
        let open = Span::new(start, start + prefix + digits);
        self.comments.push(ExecutableComment { open, close: None, mariadb_only, version, executed });
        self.at = open.end;
        if executed {
            self.open_comment = Some(self.comments.len() - 1);
            return;
        }
        // skipped whole; plain comments inside are stepped over, as the servers do
        match skipped_comment_end(self.rest()) {
            Some(end) => {
                self.at += end;
                let close = Span::new(self.at - 2, self.at);
                if let Some(comment) = self.comments.last_mut() {
                    comment.close = Some(close);
                }
            }
            None => {
                self.at = self.text.len();
                self.push(TokenKind::Unterminated("comment"), start);
            }
        }
    }

    /// How many digits the version has: five or six (MySQL 5.7 knows five only), or none.
    fn version_digits(&self, after: &str) -> usize {
        let digits = after.bytes().take(6).take_while(u8::is_ascii_digit).count();
        let six_known = self.context.flavor == Flavor::MariaDb || self.context.version >= 80_000;
        match digits {
            6 if six_known => 6,
            5 | 6 => 5,
            _ => 0,
        }
    }
}

/// Whether a server executes a comment that asks for this version.
pub(super) fn executes(needed: u32, mariadb_only: bool, flavor: Flavor, version: u32) -> bool {
    let mysqls_own = (50_700..=99_999).contains(&needed);
    needed <= version && (flavor == Flavor::MySql || mariadb_only || !mysqls_own)
}

/// `--` begins a comment only before a blank, a control character or the end.
fn starts_dash_comment(rest: &str) -> bool {
    rest.strip_prefix("--")
        .is_some_and(|after| after.chars().next().is_none_or(|c| c.is_whitespace() || c.is_control()))
}

/// The length of `e3`, `E+3` at the beginning of a text; 0 if there is none.
fn exponent(text: &str) -> usize {
    let Some(after) = text.strip_prefix(['e', 'E']) else { return 0 };
    let unsigned = after.strip_prefix(['+', '-']).unwrap_or(after);
    let digits = unsigned.find(|c: char| !c.is_ascii_digit()).unwrap_or(unsigned.len());
    if digits == 0 { 0 } else { 1 + (after.len() - unsigned.len()) + digits }
}

/// The offset after the `*/` that ends a comment which is not executed.
fn skipped_comment_end(text: &str) -> Option<usize> {
    let mut at = 0;
    loop {
        let rest = text.get(at..)?;
        let close = rest.find("*/")?;
        match rest.find("/*") {
            Some(open) if open < close => {
                let inside = rest.get(open + 2..)?;
                at += open + 2 + inside.find("*/")? + 2;
            }
            _ => return Some(at + close + 2),
        }
    }
}

fn push_escaped(value: &mut String, escaped: char) {
    match escaped {
        'n' => value.push('\n'),
        't' => value.push('\t'),
        'r' => value.push('\r'),
        'b' => value.push('\u{8}'),
        '0' => value.push('\0'),
        'Z' => value.push('\u{1a}'),
        // kept for LIKE patterns
        '%' | '_' => value.extend(['\\', escaped]),
        other => value.push(other),
    }
}
