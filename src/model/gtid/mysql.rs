//! Transaction ids and sets of MySQL: `uuid:5`, `uuid:tag:5`, `uuid:1-3:5:tag:1-2,uuid2:7`.
//!
//! A source is a server's UUID and, from MySQL 8.3 on, an optional tag; each has numbers of its own. Texts are read
//! as the server reads them (blanks and line breaks between the parts, any case, any order) and printed as it
//! prints them, except that the line break after each comma stands only in the alternate form (`{:#}`).

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use uuid::Uuid;

use super::intervals::{Interval, Intervals, NUMBER_MAX};
use super::{GtidError, serde_text};

/// A tag: a letter or `_`, then letters, digits and `_`, at most 32, in lower case.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GtidTag(String);

impl GtidTag {
    pub const LENGTH_MAX: usize = 32;

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for GtidTag {
    type Err = GtidError;

    fn from_str(text: &str) -> Result<Self, GtidError> {
        let first_fits = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        let rest_fits = text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if !first_fits || !rest_fits || text.len() > Self::LENGTH_MAX {
            return Err(GtidError::Tag { text: text.to_owned() });
        }
        Ok(Self(text.to_ascii_lowercase()))
    }
}

impl fmt::Display for GtidTag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What numbers belong to: a server, or one tag on it. Untagged sorts before tagged, as the server prints them.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MysqlGtidSource {
    pub uuid: Uuid,
    pub tag: Option<GtidTag>,
}

/// One transaction.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MysqlGtid {
    pub source: MysqlGtidSource,
    pub number: u64,
}

impl MysqlGtid {
    pub fn new(uuid: Uuid, tag: Option<GtidTag>, number: u64) -> Self {
        Self { source: MysqlGtidSource { uuid, tag }, number }
    }
}

impl fmt::Display for MysqlGtid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.source.tag {
            None => write!(f, "{}:{}", self.source.uuid, self.number),
            Some(tag) => write!(f, "{}:{tag}:{}", self.source.uuid, self.number),
        }
    }
}

impl FromStr for MysqlGtid {
    type Err = GtidError;

    fn from_str(text: &str) -> Result<Self, GtidError> {
        let parts: Vec<&str> = text.split(':').map(str::trim).collect();
        match parts.as_slice() {
            [uuid, number] => Ok(Self::new(parse_uuid(uuid)?, None, parse_number(number)?)),
            [uuid, tag, number] => Ok(Self::new(parse_uuid(uuid)?, Some(tag.parse()?), parse_number(number)?)),
            _ => Err(GtidError::Gtid { text: text.to_owned() }),
        }
    }
}

/// A set of transactions, as in `@@gtid_executed`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct MysqlGtidSet {
    /// No entry is empty.
    sources: BTreeMap<MysqlGtidSource, Intervals>,
}

impl MysqlGtidSet {
    pub fn is_empty(&self) -> bool {
        self.sources.is_empty()
    }

    /// How many transactions the set has.
    pub fn count(&self) -> u64 {
        self.sources.values().map(Intervals::count).sum()
    }

    /// The set's parts in the order the server prints them.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&MysqlGtidSource, &Intervals)> {
        self.sources.iter()
    }

    pub fn contains(&self, gtid: &MysqlGtid) -> bool {
        self.sources.get(&gtid.source).is_some_and(|numbers| numbers.contains(gtid.number))
    }

    pub fn add(&mut self, gtid: &MysqlGtid) {
        let added = Interval { first: gtid.number, last: gtid.number };
        match self.sources.get_mut(&gtid.source) {
            Some(numbers) => numbers.insert(added),
            None => self.add_interval(gtid.source.clone(), added),
        }
    }

    /// Adds a range; an empty one (first above last) adds nothing.
    pub fn add_interval(&mut self, source: MysqlGtidSource, added: Interval) {
        if added.first <= added.last {
            self.sources.entry(source).or_default().insert(added);
        }
    }

    pub fn union(&mut self, other: &Self) {
        for (source, numbers) in &other.sources {
            match self.sources.get_mut(source) {
                Some(own) => own.union(numbers),
                None => {
                    self.sources.insert(source.clone(), numbers.clone());
                }
            }
        }
    }

    /// Takes out all that `other` has.
    pub fn subtract(&mut self, other: &Self) {
        self.sources.retain(|source, numbers| {
            if let Some(removed) = other.sources.get(source) {
                numbers.subtract(removed);
            }
            !numbers.is_empty()
        });
    }

    pub fn is_subset_of(&self, other: &Self) -> bool {
        self.sources
            .iter()
            .all(|(source, numbers)| other.sources.get(source).is_some_and(|whole| numbers.is_subset_of(whole)))
    }
}

impl Extend<MysqlGtid> for MysqlGtidSet {
    fn extend<T: IntoIterator<Item = MysqlGtid>>(&mut self, gtids: T) {
        for gtid in gtids {
            self.add(&gtid);
        }
    }
}

impl FromStr for MysqlGtidSet {
    type Err = GtidError;

    fn from_str(text: &str) -> Result<Self, GtidError> {
        let mut set = Self::default();
        // The server takes empty parts between commas, as a list put together by hand may have.
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            parse_source(part, &mut set)?;
        }
        Ok(set)
    }
}

/// Reads `uuid:1-3:5:tag:1`: a tag holds for the intervals after it.
fn parse_source(part: &str, set: &mut MysqlGtidSet) -> Result<(), GtidError> {
    let malformed = || GtidError::Set { text: part.to_owned() };
    let mut items = part.split(':').map(str::trim);
    let mut source = MysqlGtidSource { uuid: parse_uuid(items.next().unwrap_or_default())?, tag: None };
    let mut intervals_missing = true;
    for item in items {
        if item.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
            if source.tag.is_some() && intervals_missing {
                return Err(malformed());
            }
            source.tag = Some(item.parse()?);
            intervals_missing = true;
            continue;
        }
        let (first, last) = match item.split_once('-') {
            Some((first, last)) => (parse_number(first.trim())?, parse_number(last.trim())?),
            None => parse_number(item).map(|number| (number, number))?,
        };
        if first > last {
            return Err(malformed());
        }
        set.add_interval(source.clone(), Interval { first, last });
        intervals_missing = false;
    }
    if intervals_missing { Err(malformed()) } else { Ok(()) }
}

fn parse_uuid(text: &str) -> Result<Uuid, GtidError> {
    // Only the dashed form and the bare digits: `Uuid` would take URNs too.
    let length_fits = text.len() == 36 || text.len() == 32;
    Uuid::try_parse(text).ok().filter(|_| length_fits).ok_or_else(|| GtidError::Uuid { text: text.to_owned() })
}

fn parse_number(text: &str) -> Result<u64, GtidError> {
    let number = text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse::<u64>().ok()).flatten();
    number.filter(|number| (1..=NUMBER_MAX).contains(number)).ok_or_else(|| GtidError::Number { text: text.to_owned() })
}

/// One line; with `{:#}` a line break after each comma, exactly as in `@@gtid_executed`.
impl fmt::Display for MysqlGtidSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut printed: Option<Uuid> = None;
        for (source, numbers) in &self.sources {
            if printed != Some(source.uuid) {
                if printed.is_some() {
                    f.write_str(if f.alternate() { ",\n" } else { "," })?;
                }
                write!(f, "{}", source.uuid)?;
                printed = Some(source.uuid);
            }
            if let Some(tag) = &source.tag {
                write!(f, ":{tag}")?;
            }
            write!(f, ":{numbers}")?;
        }
        Ok(())
    }
}

serde_text!(GtidTag, MysqlGtid, MysqlGtidSet);

#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::*;

    use super::*;

    const A: &str = "24bc7850-2c16-11e6-a073-0242ac110002";
    const B: &str = "3e11fa47-71ca-11e1-9e33-c80aa9429562";

    fn set(text: &str) -> MysqlGtidSet {
        text.parse().unwrap()
    }

    #[test]
    fn sets_print_as_the_server_prints_them() {
        let text = format!("{B}:11-18:1-5:6,\n{A}:7:tag_b:2:1:Tag_a:9");
        assert_eq!(set(&text).to_string(), format!("{A}:7:tag_a:9:tag_b:1-2,{B}:1-6:11-18"));
        assert_eq!(format!("{:#}", set(&text)), format!("{A}:7:tag_a:9:tag_b:1-2,\n{B}:1-6:11-18"));
        assert_eq!(set("").to_string(), "");
        assert_eq!(set(" , \n").to_string(), "");
    }

    #[test]
    fn a_source_with_tags_only_has_no_untagged_part() {
        let text = format!("{A}:blue:1-3");
        assert_eq!(set(&text).to_string(), text);
        assert!(!set(&text).contains(&format!("{A}:2").parse().unwrap()));
        assert!(set(&text).contains(&format!("{A}:blue:2").parse().unwrap()));
    }

    #[test]
    fn malformed_sets_are_refused() {
        for text in [
            "0-1-5",
            A,
            &format!("{A}:"),
            &format!("{A}:0"),
            &format!("{A}:5-3"),
            &format!("{A}:1-2-3"),
            &format!("{A}:+1"),
            &format!("{A}:9223372036854775807"),
            &format!("{A}:tag"),
            &format!("{A}:tag:other:1"),
            &format!("{A}:tag-1:1"),
            &format!("{A}:{}:1", "x".repeat(33)),
            &format!("urn:uuid:{A}:1"),
        ] {
            assert!(text.parse::<MysqlGtidSet>().is_err(), "{text}");
        }
    }

    #[test]
    fn tagged_and_untagged_numbers_are_apart() {
        let mut left = set(&format!("{A}:1-10:blue:1-10"));
        left.subtract(&set(&format!("{A}:blue:3-20")));
        assert_eq!(left.to_string(), format!("{A}:1-10:blue:1-2"));
        left.subtract(&set(&format!("{A}:1-100:blue:1-2")));
        assert!(left.is_empty());
    }

    #[test]
    fn a_set_is_text_in_json() {
        let value = set(&format!("{A}:1-3"));
        let json = serde_json::to_string(&value).unwrap();
        assert_eq!(json, format!("\"{A}:1-3\""));
        assert_eq!(serde_json::from_str::<MysqlGtidSet>(&json).unwrap(), value);
        assert!(serde_json::from_str::<MysqlGtidSet>("\"x:1\"").is_err());
    }

    pub fn any_set() -> impl Strategy<Value = MysqlGtidSet> {
        let tag = prop::option::of("[a-c]".prop_map(|tag| tag.parse::<GtidTag>().unwrap()));
        let part = (0u128..3, tag, 1u64..40, 0u64..6);
        prop::collection::vec(part, 0..10).prop_map(|parts| {
            let mut set = MysqlGtidSet::default();
            for (uuid, tag, first, more) in parts {
                let source = MysqlGtidSource { uuid: Uuid::from_u128(uuid), tag };
                set.add_interval(source, Interval { first, last: first + more });
            }
            set
        })
    }

    proptest! {
        #[test]
        fn text_reads_back_as_the_same_set(set in any_set()) {
            prop_assert_eq!(&set.to_string().parse::<MysqlGtidSet>().unwrap(), &set);
            prop_assert_eq!(&format!("{set:#}").parse::<MysqlGtidSet>().unwrap(), &set);
        }

        #[test]
        fn union_and_difference_hold_the_laws_of_sets(a in any_set(), b in any_set()) {
            let mut union = a.clone();
            union.union(&b);
            prop_assert!(a.is_subset_of(&union) && b.is_subset_of(&union));
            let mut rest = union.clone();
            rest.subtract(&a);
            prop_assert!(rest.is_subset_of(&b));
            rest.union(&a);
            prop_assert_eq!(&rest, &union);
            let mut nothing = a.clone();
            nothing.subtract(&a);
            prop_assert!(nothing.is_empty());
            prop_assert_eq!(a.is_subset_of(&b), { let mut left = a.clone(); left.subtract(&b); left.is_empty() });
        }

        #[test]
        fn any_text_is_read_or_refused(text in "\\PC{0,60}") {
            let _ = text.parse::<MysqlGtidSet>();
            let _ = text.parse::<MysqlGtid>();
        }
    }
}
