//! The two servers side by side: how each reads and defaults, and what a collation of the source is called at the
//! target.

use std::collections::{BTreeMap, BTreeSet};

use super::error::Error;
use crate::catalogue::{Settings, TableShape};
use crate::ddl::edit::{CollationRules, DefaultCharset, Rewrite};
use crate::model::{Flavor, TableName};
use crate::mysql::{Connection, Deadline};

/// Both servers, and the collations by which a name of the source is called at the target.
#[derive(Debug)]
pub struct Sides {
    pub source: Settings,
    pub target: Settings,
    pub collation_map: BTreeMap<String, String>,
    pub known_collations: BTreeSet<String>,
}

impl Sides {
    /// The target's name of a collation.
    pub fn mapped(&self, collation: &str) -> String {
        self.collation_map.get(collation).cloned().unwrap_or_else(|| collation.to_owned())
    }

    /// Every collation of a table must be known to the target, after mapping.
    pub fn check_collations(&self, table: &TableName, shape: &TableShape) -> Result<(), Error> {
        let of_columns = shape
            .columns
            .iter()
            .filter_map(|column| Some((column.name.as_str(), column.column_type.collation()?.as_str())));
        for (column, collation) in of_columns.chain([("(default)", shape.collation.as_str())]) {
            if !self.known_collations.contains(&self.mapped(collation)) {
                return Err(Error::UnknownCollation {
                    table: table.clone(),
                    column: column.to_owned(),
                    collation: collation.to_owned(),
                });
            }
        }
        Ok(())
    }

    /// Names collations as the target does, and says aloud what the source took as default.
    pub fn map_collations(&self, rewrite: &mut Rewrite<'_>, unsaid: Option<DefaultCharset>) {
        let rules = CollationRules {
            collation: &|name| {
                let name = crate::catalogue::charset::canonical(name);
                self.collation_map.get(&name).cloned()
            },
            charset: &|_| None,
            default_of: &|charset| {
                self.source.default_collation(charset).ok().map(|collation| collation.as_str().to_owned())
            },
            unsaid,
        };
        rewrite.map_collations(&rules);
    }
}

/// The names of all collations a server knows.
pub async fn known_collations(connection: &mut Connection, deadline: Deadline) -> Result<BTreeSet<String>, Error> {
    let failed = |cause| Error::Target { doing: "list the collations of", position: String::new(), cause };
    let doing = "listing collations";
    let mut names = BTreeSet::new();
    let plain = "SELECT collation_name AS name FROM information_schema.collations";
    for row in connection.rows(plain, doing, deadline).await.map_err(failed)? {
        names.insert(crate::catalogue::charset::canonical(&row.text("name").map_err(failed)?));
    }
    if connection.server().flavor == Flavor::MariaDb && connection.server().version >= 101_000 {
        // The contextual names of UCA 14.0.0 (`uca1400_ai_ci`) are listed there by character set.
        let full = "SELECT full_collation_name AS name FROM \
                    information_schema.collation_character_set_applicability";
        for row in connection.rows(full, doing, deadline).await.map_err(failed)? {
            names.insert(crate::catalogue::charset::canonical(&row.text("name").map_err(failed)?));
        }
    }
    Ok(names)
}
