//! Transaction ids and positions of MariaDB: `domain-server-sequence`, and a list of them, one a domain.
//!
//! Inside a domain transactions have one order, so the last one stands for all before it: the list
//! `0-1-42,7-1-3` means "domain 0 up to 42, domain 7 up to 3", as `gtid_slave_pos` does.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use super::{GtidError, serde_text};

/// One transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MariadbGtid {
    pub domain: u32,
    pub server: u32,
    pub sequence: u64,
}

impl fmt::Display for MariadbGtid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}-{}", self.domain, self.server, self.sequence)
    }
}

impl FromStr for MariadbGtid {
    type Err = GtidError;

    fn from_str(text: &str) -> Result<Self, GtidError> {
        let malformed = || GtidError::Gtid { text: text.to_owned() };
        let mut parts = text.split('-').map(|part| {
            let digits = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
            digits.then(|| part.parse::<u64>().ok()).flatten().ok_or_else(malformed)
        });
        let mut next = || parts.next().ok_or_else(malformed).and_then(|part| part);
        let domain = u32::try_from(next()?).map_err(|_| malformed())?;
        let server = u32::try_from(next()?).map_err(|_| malformed())?;
        let sequence = next()?;
        if parts.next().is_some() { Err(malformed()) } else { Ok(Self { domain, server, sequence }) }
    }
}

/// The last transaction of each domain, standing for all before it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct MariadbGtidList {
    last: BTreeMap<u32, MariadbGtid>,
}

impl MariadbGtidList {
    pub fn is_empty(&self) -> bool {
        self.last.is_empty()
    }

    /// The last transactions, by domain.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = MariadbGtid> + '_ {
        self.last.values().copied()
    }

    /// The last transaction of a domain.
    pub fn last_of(&self, domain: u32) -> Option<MariadbGtid> {
        self.last.get(&domain).copied()
    }

    /// Whether the transaction is at or before the last one of its domain.
    pub fn contains(&self, gtid: MariadbGtid) -> bool {
        self.last.get(&gtid.domain).is_some_and(|last| gtid.sequence <= last.sequence)
    }

    /// Adds a transaction as to a set: a lower one than known changes nothing.
    pub fn add(&mut self, gtid: MariadbGtid) {
        let last = self.last.entry(gtid.domain).or_insert(gtid);
        if gtid.sequence > last.sequence {
            *last = gtid;
        }
    }

    /// Takes the transaction as the place now reached in its domain, even if its number is lower than the one
    /// before. A source without `gtid_strict_mode` may write such; asked to go on after the higher number, it
    /// would send the lower one again.
    pub fn advance(&mut self, gtid: MariadbGtid) {
        self.last.insert(gtid.domain, gtid);
    }

    /// The further place in each domain.
    pub fn union(&mut self, other: &Self) {
        for gtid in other.iter() {
            self.add(gtid);
        }
    }

    /// Leaves the domains in which this list is further than `other`.
    pub fn subtract(&mut self, other: &Self) {
        self.last.retain(|_, last| !other.contains(*last));
    }

    /// Whether `other` is at least as far in every domain.
    pub fn is_subset_of(&self, other: &Self) -> bool {
        self.iter().all(|last| other.contains(last))
    }
}

/// Later ones of a domain replace earlier ones: in a binlog's own list (`gtid_binlog_state`) the last stands last.
impl FromIterator<MariadbGtid> for MariadbGtidList {
    fn from_iter<T: IntoIterator<Item = MariadbGtid>>(gtids: T) -> Self {
        let mut list = Self::default();
        for gtid in gtids {
            list.advance(gtid);
        }
        list
    }
}

impl FromStr for MariadbGtidList {
    type Err = GtidError;

    fn from_str(text: &str) -> Result<Self, GtidError> {
        let mut list = Self::default();
        if text.trim().is_empty() {
            return Ok(list);
        }
        for part in text.split(',').map(str::trim) {
            let gtid: MariadbGtid = part.parse()?;
            if list.last.insert(gtid.domain, gtid).is_some() {
                return Err(GtidError::DomainTwice { domain: gtid.domain });
            }
        }
        Ok(list)
    }
}

impl fmt::Display for MariadbGtidList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, gtid) in self.iter().enumerate() {
            write!(f, "{}{gtid}", if at > 0 { "," } else { "" })?;
        }
        Ok(())
    }
}

serde_text!(MariadbGtid, MariadbGtidList);

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn list(text: &str) -> MariadbGtidList {
        text.parse().unwrap()
    }

    #[test]
    fn lists_hold_several_domains() {
        let text = "4294967295-1-3,0-2-42,7-1-18446744073709551615";
        assert_eq!(list(text).to_string(), "0-2-42,7-1-18446744073709551615,4294967295-1-3");
        assert!(list(text).contains("0-9-42".parse().unwrap()), "the server does not matter inside a domain");
        assert!(!list(text).contains("1-1-1".parse().unwrap()));
        assert_eq!(list(" ").to_string(), "");
    }

    #[test]
    fn malformed_lists_are_refused() {
        for text in ["0-1", "0-1-2-3", "0-1-x", "-1-2-3", "0-1-+2", "4294967296-1-1", "0-1-2,", "0-1-2,0-1-3", "0--1"] {
            assert!(text.parse::<MariadbGtidList>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_lower_number_is_a_place_but_takes_nothing_from_a_set() {
        let mut set = list("0-1-10");
        set.add("0-2-5".parse().unwrap());
        assert_eq!(set.to_string(), "0-1-10");
        set.advance("0-2-5".parse().unwrap());
        assert_eq!(set.to_string(), "0-2-5");
    }

    #[test]
    fn difference_leaves_the_domains_that_are_further() {
        let mut left = list("0-1-10,1-1-5,2-1-7");
        left.subtract(&list("0-1-10,1-1-4"));
        assert_eq!(left.to_string(), "1-1-5,2-1-7");
    }

    fn any_list() -> impl Strategy<Value = MariadbGtidList> {
        let gtid = (0u32..4, 1u32..3, 1u64..9);
        let gtid = gtid.prop_map(|(domain, server, sequence)| MariadbGtid { domain, server, sequence });
        prop::collection::vec(gtid, 0..6).prop_map(|gtids| gtids.into_iter().collect())
    }

    proptest! {
        #[test]
        fn text_reads_back_as_the_same_list(list in any_list()) {
            prop_assert_eq!(list.to_string().parse::<MariadbGtidList>().unwrap(), list);
        }

        #[test]
        fn a_union_holds_both_and_no_more(a in any_list(), b in any_list()) {
            let mut union = a.clone();
            union.union(&b);
            prop_assert!(a.is_subset_of(&union) && b.is_subset_of(&union));
            prop_assert!(union.iter().all(|last| a.contains(last) || b.contains(last)));
            let mut rest = a.clone();
            rest.subtract(&b);
            prop_assert_eq!(rest.is_empty(), a.is_subset_of(&b));
        }
    }
}
