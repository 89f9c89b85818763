//! The two families of servers.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A family: MySQL and what descends from it closely, or MariaDB. They differ in GTIDs, in what they log and in what
/// they accept, so code asks for the family and, within it, for the version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Flavor {
    MySql,
    MariaDb,
}

impl Flavor {
    /// The word that stands in the API and in stored records.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::MySql => "mysql",
            Self::MariaDb => "mariadb",
        }
    }
}

/// As people write it.
impl fmt::Display for Flavor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::MySql => "MySQL",
            Self::MariaDb => "MariaDB",
        })
    }
}
