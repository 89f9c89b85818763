//! Global transaction ids: which transactions a place in a binlog has behind it.
//!
//! Two families that share nothing but the name: MySQL numbers the transactions of each server and keeps sets with
//! holes ([`MysqlGtidSet`]); MariaDB orders them inside domains and keeps the last one of each
//! ([`MariadbGtidList`]). [`GtidSet`] is either. Text is what the servers print and read, and is how all of these
//! are stored. An empty text does not say its family, so an empty set takes on that of whatever meets it.

mod intervals;
mod mariadb;
mod mysql;
mod mysql_wire;

use std::fmt;
use std::str::FromStr;

use super::Flavor;

pub use intervals::{Interval, Intervals, NUMBER_MAX};
pub use mariadb::{MariadbGtid, MariadbGtidList};
pub use mysql::{GtidTag, MysqlGtid, MysqlGtidSet, MysqlGtidSource};
pub use mysql_wire::GtidSetBytesError;

/// Makes types with `FromStr` and `Display` appear as their text in stored and sent JSON.
macro_rules! serde_text {
    ($($name:ty),+) => {$(
        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    )+};
}
use serde_text;

/// Why a text is no transaction id or set, or why two do not go together.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GtidError {
    #[error("{text:?} is not a GTID")]
    Gtid { text: String },
    #[error("{text:?} is not a part of a GTID set")]
    Set { text: String },
    #[error("{text:?} is not a server UUID")]
    Uuid { text: String },
    #[error("{text:?} is not a GTID tag")]
    Tag { text: String },
    #[error("{text:?} is not a transaction number between 1 and {NUMBER_MAX}")]
    Number { text: String },
    #[error("domain {domain} stands twice in a GTID list")]
    DomainTwice { domain: u32 },
    #[error("a {other} GTID does not go into a {set} GTID set")]
    FlavorsDiffer { set: Flavor, other: Flavor },
}

/// One transaction of either family.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Gtid {
    Mysql(MysqlGtid),
    Mariadb(MariadbGtid),
}

impl Gtid {
    pub fn flavor(&self) -> Flavor {
        match self {
            Self::Mysql(_) => Flavor::MySql,
            Self::Mariadb(_) => Flavor::MariaDb,
        }
    }
}

impl fmt::Display for Gtid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mysql(gtid) => gtid.fmt(f),
            Self::Mariadb(gtid) => gtid.fmt(f),
        }
    }
}

impl FromStr for Gtid {
    type Err = GtidError;

    fn from_str(text: &str) -> Result<Self, GtidError> {
        if text.contains(':') { text.parse().map(Self::Mysql) } else { text.parse().map(Self::Mariadb) }
    }
}

impl From<MysqlGtid> for Gtid {
    fn from(gtid: MysqlGtid) -> Self {
        Self::Mysql(gtid)
    }
}

impl From<MariadbGtid> for Gtid {
    fn from(gtid: MariadbGtid) -> Self {
        Self::Mariadb(gtid)
    }
}

/// A set of transactions of either family. Sets of different families never mix, unless one is empty.
#[derive(Debug, Clone, Eq)]
pub enum GtidSet {
    Mysql(MysqlGtidSet),
    Mariadb(MariadbGtidList),
}

impl GtidSet {
    pub fn empty(flavor: Flavor) -> Self {
        match flavor {
            Flavor::MySql => Self::Mysql(MysqlGtidSet::default()),
            Flavor::MariaDb => Self::Mariadb(MariadbGtidList::default()),
        }
    }

    /// Reads a set of a known family, in which an empty text has a meaning too.
    pub fn parse(flavor: Flavor, text: &str) -> Result<Self, GtidError> {
        match flavor {
            Flavor::MySql => text.parse().map(Self::Mysql),
            Flavor::MariaDb => text.parse().map(Self::Mariadb),
        }
    }

    pub fn flavor(&self) -> Flavor {
        match self {
            Self::Mysql(_) => Flavor::MySql,
            Self::Mariadb(_) => Flavor::MariaDb,
        }
    }

    pub fn is_empty(&self) -> bool {
        match self {
            Self::Mysql(set) => set.is_empty(),
            Self::Mariadb(list) => list.is_empty(),
        }
    }

    /// Never true across families.
    pub fn contains(&self, gtid: &Gtid) -> bool {
        match (self, gtid) {
            (Self::Mysql(set), Gtid::Mysql(gtid)) => set.contains(gtid),
            (Self::Mariadb(list), Gtid::Mariadb(gtid)) => list.contains(*gtid),
            _ => false,
        }
    }

    /// Adds as to a set; see [`MariadbGtidList::add`].
    pub fn add(&mut self, gtid: &Gtid) -> Result<(), GtidError> {
        self.become_flavor(gtid.flavor())?;
        match (self, gtid) {
            (Self::Mysql(set), Gtid::Mysql(gtid)) => set.add(gtid),
            (Self::Mariadb(list), Gtid::Mariadb(gtid)) => list.add(*gtid),
            _ => {}
        }
        Ok(())
    }

    /// Takes the transaction as the place now reached; see [`MariadbGtidList::advance`].
    pub fn advance(&mut self, gtid: &Gtid) -> Result<(), GtidError> {
        match (&mut *self, gtid) {
            (Self::Mariadb(list), Gtid::Mariadb(gtid)) => {
                list.advance(*gtid);
                Ok(())
            }
            _ => self.add(gtid),
        }
    }

    pub fn union(&mut self, other: &Self) -> Result<(), GtidError> {
        if other.is_empty() {
            return Ok(());
        }
        self.become_flavor(other.flavor())?;
        match (self, other) {
            (Self::Mysql(set), Self::Mysql(other)) => set.union(other),
            (Self::Mariadb(list), Self::Mariadb(other)) => list.union(other),
            _ => {}
        }
        Ok(())
    }

    /// Takes out all that `other` has; what is of another family has nothing of it.
    pub fn subtract(&mut self, other: &Self) {
        match (self, other) {
            (Self::Mysql(set), Self::Mysql(other)) => set.subtract(other),
            (Self::Mariadb(list), Self::Mariadb(other)) => list.subtract(other),
            _ => {}
        }
    }

    pub fn is_subset_of(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Mysql(set), Self::Mysql(other)) => set.is_subset_of(other),
            (Self::Mariadb(list), Self::Mariadb(other)) => list.is_subset_of(other),
            _ => self.is_empty(),
        }
    }

    /// An empty set may still take another family on.
    fn become_flavor(&mut self, other: Flavor) -> Result<(), GtidError> {
        let set = self.flavor();
        if set == other {
            return Ok(());
        }
        if !self.is_empty() {
            return Err(GtidError::FlavorsDiffer { set, other });
        }
        *self = Self::empty(other);
        Ok(())
    }
}

/// Empty sets are equal, whatever their family.
impl PartialEq for GtidSet {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Mysql(set), Self::Mysql(other)) => set == other,
            (Self::Mariadb(list), Self::Mariadb(other)) => list == other,
            _ => self.is_empty() && other.is_empty(),
        }
    }
}

impl fmt::Display for GtidSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mysql(set) => set.fmt(f),
            Self::Mariadb(list) => list.fmt(f),
        }
    }
}

/// Tells the families apart by the colon, which MySQL always writes and MariaDB never; an empty text gives an
/// empty set that takes any family on.
impl FromStr for GtidSet {
    type Err = GtidError;

    fn from_str(text: &str) -> Result<Self, GtidError> {
        let flavor = if text.contains(':') || text.trim().is_empty() { Flavor::MySql } else { Flavor::MariaDb };
        Self::parse(flavor, text)
    }
}

impl From<MysqlGtidSet> for GtidSet {
    fn from(set: MysqlGtidSet) -> Self {
        Self::Mysql(set)
    }
}

impl From<MariadbGtidList> for GtidSet {
    fn from(list: MariadbGtidList) -> Self {
        Self::Mariadb(list)
    }
}

serde_text!(Gtid, GtidSet);

#[cfg(test)]
mod tests {
    use super::*;

    const A: &str = "24bc7850-2c16-11e6-a073-0242ac110002";

    #[test]
    fn the_text_tells_the_family() {
        let mysql: GtidSet = format!("{A}:1-3").parse().unwrap();
        let mariadb: GtidSet = "0-1-7,3-1-2".parse().unwrap();
        assert_eq!((mysql.flavor(), mariadb.flavor()), (Flavor::MySql, Flavor::MariaDb));
        assert!(mysql.contains(&format!("{A}:2").parse().unwrap()));
        assert!(!mysql.contains(&"0-1-2".parse().unwrap()));
    }

    #[test]
    fn an_empty_set_takes_any_family_on() {
        let mut set: GtidSet = "".parse().unwrap();
        set.add(&"0-1-7".parse().unwrap()).unwrap();
        assert_eq!(set.to_string(), "0-1-7");
        assert_eq!(GtidSet::empty(Flavor::MySql), GtidSet::empty(Flavor::MariaDb));
        assert!(GtidSet::empty(Flavor::MySql).is_subset_of(&set));
        assert_eq!(serde_json::to_string(&set).unwrap(), "\"0-1-7\"");
    }

    #[test]
    fn families_do_not_mix() {
        let mut set: GtidSet = "0-1-7".parse().unwrap();
        let error = set.add(&format!("{A}:2").parse().unwrap()).unwrap_err();
        assert_eq!(error.to_string(), "a MySQL GTID does not go into a MariaDB GTID set");
        assert_eq!(set.union(&format!("{A}:2").parse().unwrap()).unwrap_err(), error);
        assert_eq!(set.to_string(), "0-1-7");
    }
}
