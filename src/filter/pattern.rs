//! A pattern for a schema's or table's name: text in, a matcher out.
//!
//! `*` stands for any tail and only as the last character, `?` for one character, `[a-z]` and `[!a-z]` for one
//! character in or out of a set, and `~` in front makes the rest a regular expression that may match anywhere in the
//! name. Nothing else is special: `_` and `%` are letters like others, and `[*]` is a star.
//!
//! The surprise: where the source ignores case, so does the pattern, by lower-casing both. And `?` is one character,
//! not one byte as in DM: for a name like `café` that is what its writer meant.

use regex::{Regex, RegexBuilder};

/// Why a text is no pattern.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum PatternError {
    #[error("the pattern for the schema is empty")]
    EmptySchema,
    #[error("in {pattern:?}, `*` may only be the last character (write `[*]` for a star in the name)")]
    StarInside { pattern: String },
    #[error("in {pattern:?}, a `[` has no `]`")]
    OpenSet { pattern: String },
    #[error("in {pattern:?}, `[]` holds nothing")]
    EmptySet { pattern: String },
    #[error("in {pattern:?}, the range {first}-{last} runs backwards")]
    BackwardRange { pattern: String, first: char, last: char },
    #[error("{pattern:?} is not a regular expression")]
    Regex {
        pattern: String,
        #[source]
        cause: regex::Error,
    },
}

/// A compiled pattern.
#[derive(Debug, Clone)]
pub struct Pattern {
    ignore_case: bool,
    matcher: Matcher,
}

#[derive(Debug, Clone)]
enum Matcher {
    Wildcard { units: Vec<Unit>, any_tail: bool },
    Regex(Regex),
}

/// What one character of a name may be.
#[derive(Debug, Clone, PartialEq)]
enum Unit {
    Exactly(char),
    Any,
    Among { ranges: Vec<(char, char)>, negated: bool },
}

impl Pattern {
    pub fn new(pattern: &str, ignore_case: bool) -> Result<Self, PatternError> {
        let matcher = match pattern.strip_prefix('~') {
            Some(expression) => Matcher::Regex(
                RegexBuilder::new(expression)
                    .case_insensitive(ignore_case)
                    .build()
                    .map_err(|cause| PatternError::Regex { pattern: pattern.to_owned(), cause })?,
            ),
            None if ignore_case => wildcard(&pattern.to_lowercase())?,
            None => wildcard(pattern)?,
        };
        Ok(Self { ignore_case, matcher })
    }

    pub fn matches(&self, name: &str) -> bool {
        match &self.matcher {
            Matcher::Regex(expression) => expression.is_match(name),
            Matcher::Wildcard { units, any_tail } if self.ignore_case => {
                wildcard_matches(units, *any_tail, &name.to_lowercase())
            }
            Matcher::Wildcard { units, any_tail } => wildcard_matches(units, *any_tail, name),
        }
    }

    /// A name that both patterns match, if one is found. None proves nothing where an expression takes part.
    pub fn common_name(&self, other: &Self) -> Option<String> {
        let candidate = match (&self.matcher, &other.matcher) {
            (Matcher::Wildcard { units: ours, any_tail: our_tail }, Matcher::Wildcard { units, any_tail }) => {
                common_wildcard_name(ours, *our_tail, units, *any_tail)?
            }
            _ => self.only_name().or_else(|| other.only_name())?,
        };
        (self.matches(&candidate) && other.matches(&candidate)).then_some(candidate)
    }

    /// The one name this pattern stands for, if it is a plain name.
    fn only_name(&self) -> Option<String> {
        match &self.matcher {
            Matcher::Wildcard { units, any_tail: false } => units
                .iter()
                .map(|unit| match unit {
                    Unit::Exactly(letter) => Some(*letter),
                    Unit::Any | Unit::Among { .. } => None,
                })
                .collect(),
            Matcher::Wildcard { .. } | Matcher::Regex(_) => None,
        }
    }
}

impl Unit {
    fn contains(&self, letter: char) -> bool {
        match self {
            Self::Exactly(only) => *only == letter,
            Self::Any => true,
            Self::Among { ranges, negated } => {
                ranges.iter().any(|&(first, last)| (first..=last).contains(&letter)) != *negated
            }
        }
    }

    /// Letters worth trying in a search for one that this unit contains.
    fn candidates(&self) -> Vec<char> {
        match self {
            Self::Exactly(only) => vec![*only],
            Self::Any => Vec::new(),
            Self::Among { ranges, .. } => ranges.iter().flat_map(|&(first, last)| [first, last]).collect(),
        }
    }
}

fn wildcard(pattern: &str) -> Result<Matcher, PatternError> {
    let mut units = Vec::new();
    let mut letters = pattern.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '*' if letters.peek().is_none() => return Ok(Matcher::Wildcard { units, any_tail: true }),
            '*' => return Err(PatternError::StarInside { pattern: pattern.to_owned() }),
            '?' => units.push(Unit::Any),
            '[' => {
                let mut inside = Vec::new();
                loop {
                    match letters.next() {
                        Some(']') => break,
                        Some(letter) => inside.push(letter),
                        None => return Err(PatternError::OpenSet { pattern: pattern.to_owned() }),
                    }
                }
                units.push(set(pattern, &inside)?);
            }
            plain => units.push(Unit::Exactly(plain)),
        }
    }
    Ok(Matcher::Wildcard { units, any_tail: false })
}

fn set(pattern: &str, inside: &[char]) -> Result<Unit, PatternError> {
    let (negated, mut rest) = match inside {
        ['!', rest @ ..] => (true, rest),
        rest => (false, rest),
    };
    let mut ranges = Vec::new();
    loop {
        match rest {
            [] if ranges.is_empty() => return Err(PatternError::EmptySet { pattern: pattern.to_owned() }),
            [] => return Ok(Unit::Among { ranges, negated }),
            [first, '-', last, tail @ ..] => {
                if first > last {
                    let (first, last) = (*first, *last);
                    return Err(PatternError::BackwardRange { pattern: pattern.to_owned(), first, last });
                }
                ranges.push((*first, *last));
                rest = tail;
            }
            [single, tail @ ..] => {
                ranges.push((*single, *single));
                rest = tail;
            }
        }
    }
}

fn wildcard_matches(units: &[Unit], any_tail: bool, name: &str) -> bool {
    let mut letters = name.chars();
    units.iter().all(|unit| letters.next().is_some_and(|letter| unit.contains(letter)))
        && (any_tail || letters.next().is_none())
}

fn common_wildcard_name(ours: &[Unit], our_tail: bool, theirs: &[Unit], their_tail: bool) -> Option<String> {
    let mut name = String::new();
    for place in 0..ours.len().max(theirs.len()) {
        let (ours, theirs) = match (ours.get(place), theirs.get(place)) {
            (Some(ours), Some(theirs)) => (ours, theirs),
            (Some(ours), None) if their_tail => (ours, &Unit::Any),
            (None, Some(theirs)) if our_tail => (&Unit::Any, theirs),
            _ => return None,
        };
        let usual = ('a'..='z').chain('0'..='9').chain(['_', '$', 'é']);
        let letter = ours
            .candidates()
            .into_iter()
            .chain(theirs.candidates())
            .chain(usual)
            .find(|letter| ours.contains(*letter) && theirs.contains(*letter))?;
        name.push(letter);
    }
    // No object has an empty name.
    if name.is_empty() {
        if !(our_tail && their_tail) {
            return None;
        }
        name.push('a');
    }
    Some(name)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn matching<'a>(pattern: &str, ignore_case: bool, names: &[&'a str]) -> Vec<&'a str> {
        let pattern = Pattern::new(pattern, ignore_case).unwrap();
        names.iter().copied().filter(|name| pattern.matches(name)).collect()
    }

    #[test]
    fn each_token_matches_what_it_says() {
        let names = ["a_b", "axb", "a%b", "a*b", "ab", "axxb", "A_B", "a_bc", ""];
        for (pattern, expected) in [
            ("a_b", vec!["a_b"]),
            ("a%b", vec!["a%b"]),
            ("a?b", vec!["a_b", "axb", "a%b", "a*b"]),
            ("a[*]b", vec!["a*b"]),
            ("a[x_]b", vec!["a_b", "axb"]),
            ("a[!a-z]b", vec!["a_b", "a%b", "a*b"]),
            ("a[w-z]b", vec!["axb"]),
            ("a_*", vec!["a_b", "a_bc"]),
            ("*", names.to_vec()),
            ("~^a.b$", vec!["a_b", "axb", "a%b", "a*b"]),
            ("~b", vec!["a_b", "axb", "a%b", "a*b", "ab", "axxb", "a_bc"]),
            ("~", names.to_vec()),
            ("", vec![""]),
        ] {
            assert_eq!(matching(pattern, false, &names), expected, "pattern {pattern:?}");
        }
    }

    #[test]
    fn case_is_ignored_only_where_the_source_ignores_it() {
        let names = ["users", "Users", "USERS"];
        for pattern in ["Users", "~^Users$", "[T-V]sers", "User?"] {
            assert_eq!(matching(pattern, false, &names), ["Users"], "pattern {pattern:?}");
            assert_eq!(matching(pattern, true, &names), names, "pattern {pattern:?}");
        }
        // Lower-casing the expression itself would turn `\S` into `\s`.
        assert_eq!(matching(r"~^\Susers$", true, &["xUSERS", " USERS"]), ["xUSERS"]);
    }

    #[test]
    fn a_question_mark_is_one_character_whatever_its_bytes() {
        assert_eq!(matching("caf?", false, &["café", "cafe", "caf"]), ["café", "cafe"]);
    }

    #[test]
    fn what_is_no_pattern_is_refused_with_its_reason() {
        for (pattern, expected) in [
            ("a*b", "in \"a*b\", `*` may only be the last character (write `[*]` for a star in the name)"),
            ("**", "in \"**\", `*` may only be the last character (write `[*]` for a star in the name)"),
            ("a[bc", "in \"a[bc\", a `[` has no `]`"),
            ("a[]", "in \"a[]\", `[]` holds nothing"),
            ("a[!]", "in \"a[!]\", `[]` holds nothing"),
            ("a[z-a]", "in \"a[z-a]\", the range z-a runs backwards"),
            ("~(", "\"~(\" is not a regular expression"),
        ] {
            assert_eq!(Pattern::new(pattern, false).unwrap_err().to_string(), expected);
        }
    }

    #[test]
    fn a_common_name_is_found_where_there_is_one() {
        for (one, other, expected) in [
            ("orders", "orders", Some("orders")),
            ("orders", "order?", Some("orders")),
            ("orders", "~^ord", Some("orders")),
            ("a?", "?b", Some("ab")),
            ("a*", "abc*", Some("abc")),
            ("*", "*", Some("a")),
            ("[a-c]x", "[!a-b]?", Some("cx")),
            ("orders", "order", None),
            ("a?", "a", None),
            ("[a-c]", "[d-f]", None),
            ("~a", "~b", None),
        ] {
            let (one, other) = (Pattern::new(one, false).unwrap(), Pattern::new(other, false).unwrap());
            assert_eq!(one.common_name(&other).as_deref(), expected);
            assert_eq!(other.common_name(&one).as_deref(), expected);
        }
    }

    proptest! {
        #[test]
        fn a_wildcard_matches_as_the_expression_it_stands_for(
            pattern in "([ab?]|\\[[ab]\\]|\\[!a-b\\]){0,5}\\*?", name in "[abc]{0,6}"
        ) {
            let expression = format!("^{}$", pattern.replace('?', ".").replace("[!", "[^").replace('*', ".*"));
            prop_assert_eq!(
                Pattern::new(&pattern, false).unwrap().matches(&name),
                Regex::new(&expression).unwrap().is_match(&name)
            );
        }

        #[test]
        fn a_name_that_both_match_means_a_common_name_is_found(
            one in "[ab?]{0,4}\\*?", other in "([ab?]|\\[ab\\]){0,4}\\*?", name in "[abc]{1,5}"
        ) {
            let (one, other) = (Pattern::new(&one, false).unwrap(), Pattern::new(&other, false).unwrap());
            if one.matches(&name) && other.matches(&name) {
                let common = one.common_name(&other);
                prop_assert!(common.is_some_and(|common| one.matches(&common) && other.matches(&common)));
            }
        }
    }
}
