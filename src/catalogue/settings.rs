//! What a session of the source takes where a statement says nothing.

use std::collections::BTreeMap;

use super::charset::{Collation, built_in_default, canonical};
use super::error::CatalogueError;
use crate::ddl::{CharsetChoice, Flavor};

/// The server and the session that a statement ran in. The binlog's query events carry what differs by session.
#[derive(Debug, Clone)]
pub struct Settings {
    pub flavor: Flavor,
    /// As in [`crate::ddl::Context`]: 101119 is 10.11.19.
    pub version: u32,
    /// The session's `collation_server`: the default of new databases.
    pub server_collation: Collation,
    /// Default collations of character sets that this server or session was told to change
    /// (`character_set_collations`, `default_collation_for_utf8mb4`); all others are built in.
    pub default_collations: BTreeMap<String, Collation>,
    /// Off: a TIMESTAMP that says nothing is NOT NULL.
    pub explicit_defaults_for_timestamp: bool,
}

impl Settings {
    /// A server as it comes.
    pub fn new(flavor: Flavor, version: u32) -> Self {
        let (latin1_until, explicit_since) = match flavor {
            Flavor::MySql => (80_001, 80_002),
            Flavor::MariaDb => (110_600, 101_000),
        };
        let charset = if version < latin1_until { "latin1" } else { "utf8mb4" };
        let server_collation = built_in_default(charset, flavor, version).unwrap_or_else(Collation::binary);
        Self {
            flavor,
            version,
            server_collation,
            default_collations: BTreeMap::new(),
            explicit_defaults_for_timestamp: version >= explicit_since,
        }
    }

    pub fn is_mariadb(&self) -> bool {
        self.flavor == Flavor::MariaDb
    }

    /// The collation of a character set that is named without one.
    pub fn default_collation(&self, charset: &str) -> Result<Collation, CatalogueError> {
        let charset = canonical(charset);
        self.default_collations
            .get(&charset)
            .cloned()
            .or_else(|| built_in_default(&charset, self.flavor, self.version))
            .ok_or(CatalogueError::UnknownCharset { charset })
    }

    /// A collation by name. MariaDB's `uca1400_ai_ci` takes the character set from where it stands.
    pub fn collation(&self, name: &str, charset: &str) -> Collation {
        let bare = name.to_ascii_lowercase().starts_with("uca1400_");
        if bare { Collation::new(&format!("{}_{name}", canonical(charset))) } else { Collation::new(name) }
    }

    /// What a choice means where `inherited` is the default.
    pub fn choose(&self, choice: &CharsetChoice, inherited: &Collation) -> Result<Collation, CatalogueError> {
        let of_charset = match choice.charset.as_deref() {
            // the default's character set, but with that one's own default collation
            Some("default") => self.default_collation(inherited.charset())?,
            Some(charset) => self.default_collation(charset)?,
            None => inherited.clone(),
        };
        match choice.collation.as_deref().filter(|collation| *collation != "default") {
            Some(name) => Ok(self.collation(name, of_charset.charset())),
            None => Ok(of_charset),
        }
    }
}
