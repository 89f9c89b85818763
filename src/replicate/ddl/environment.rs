//! The session a statement ran in, from its event: how its text is to be read, and how our session must be set to
//! give it the same meaning. Pure.

use std::collections::BTreeMap;

use crate::binlog::{QueryEvent, SessionFlags};
use crate::catalogue::{Collation, Settings};
use crate::ddl::Context;
use crate::model::Flavor;
use crate::mysql::{SESSION_SQL_MODE, string_literal};

/// What must be known of the source to read its events.
#[derive(Debug, Clone)]
pub struct SourceFacts {
    pub settings: Settings,
    /// Names of the source's collations by their number, which is what events carry.
    pub collations: BTreeMap<u16, String>,
    /// Offset of its system time zone from UTC, as `+02:00`: what `SYSTEM` in an event means.
    pub system_time_zone: String,
}

/// The bits of a logged sql_mode that change what a DDL means, by the name that both families know.
const MODES: [(u32, &str); 16] = [
    (0, "REAL_AS_FLOAT"),
    (1, "PIPES_AS_CONCAT"),
    (2, "ANSI_QUOTES"),
    (3, "IGNORE_SPACE"),
    (5, "ONLY_FULL_GROUP_BY"),
    (6, "NO_UNSIGNED_SUBTRACTION"),
    (19, "NO_AUTO_VALUE_ON_ZERO"),
    (20, "NO_BACKSLASH_ESCAPES"),
    (21, "STRICT_TRANS_TABLES"),
    (22, "STRICT_ALL_TABLES"),
    (23, "NO_ZERO_IN_DATE"),
    (24, "NO_ZERO_DATE"),
    (25, "ALLOW_INVALID_DATES"),
    (26, "ERROR_FOR_DIVISION_BY_ZERO"),
    (29, "HIGH_NOT_PRECEDENCE"),
    (30, "NO_ENGINE_SUBSTITUTION"),
];
/// MariaDB's alone; MySQL gives these bits other meanings or none.
const MARIADB_MODES: [(u32, &str); 3] = [(9, "ORACLE"), (32, "EMPTY_STRING_IS_NULL"), (34, "TIME_ROUND_FRACTIONAL")];

fn mode_names(bits: u64, source: Flavor, target: Flavor) -> String {
    let both_mariadb = source == Flavor::MariaDb && target == Flavor::MariaDb;
    let extra = if both_mariadb { MARIADB_MODES.as_slice() } else { &[] };
    let names: Vec<&str> =
        MODES.iter().chain(extra).filter(|(bit, _)| bits >> bit & 1 != 0).map(|(_, name)| *name).collect();
    names.join(",")
}

impl SourceFacts {
    /// How the statement's text is read.
    pub fn context(&self, query: &QueryEvent) -> Context {
        let context = Context::new(self.settings.flavor, self.settings.version)
            .with_sql_mode(query.status.sql_mode.unwrap_or_default());
        if query.schema.is_empty() { context } else { context.with_default_schema(query.schema.clone()) }
    }

    /// What the source took as default for the statement.
    pub fn settings(&self, query: &QueryEvent) -> Settings {
        let mut settings = self.settings.clone();
        let collation = |id: u16| self.collations.get(&id).map(|name| Collation::new(name));
        if let Some(server) = query.status.charset.and_then(|charset| collation(charset.server)) {
            settings.server_collation = server;
        }
        if let Some(default) = query.status.default_collation_for_utf8mb4.and_then(collation) {
            settings.default_collations.insert("utf8mb4".to_owned(), default);
        }
        for (of, to) in &query.status.character_set_collations {
            if let (Some(of), Some(to)) = (collation(*of), collation(*to)) {
                settings.default_collations.insert(of.charset().to_owned(), to);
            }
        }
        if let Some(explicit) = self.explicit_defaults_for_timestamp(query) {
            settings.explicit_defaults_for_timestamp = explicit;
        }
        settings
    }

    /// MariaDB logs the session's value since 10.10, where it became one of the session.
    fn explicit_defaults_for_timestamp(&self, query: &QueryEvent) -> Option<bool> {
        let is_told = self.settings.is_mariadb() && self.settings.version >= 101_000;
        let by_flag = || query.status.flags.map(SessionFlags::mariadb_explicit_defaults_for_timestamp);
        if is_told { by_flag() } else { query.status.explicit_defaults_for_timestamp }
    }

    /// The character set of the statement's bytes, when it is not UTF-8 or ASCII.
    pub fn foreign_charset(&self, query: &QueryEvent) -> Option<String> {
        if query.sql.is_ascii() {
            return None;
        }
        let client = self.collations.get(&query.status.charset?.client)?;
        let charset = Collation::new(client).charset().to_owned();
        (!matches!(charset.as_str(), "utf8mb4" | "utf8mb3" | "binary" | "ascii")).then_some(charset)
    }

    /// The SET statement that gives our session what the statement's meaning depends on. The text itself is sent as
    /// UTF-8.
    pub fn environment(&self, query: &QueryEvent, timestamp_s: u32, target: Flavor) -> String {
        let mut set = format!(
            "SET NAMES utf8mb4; SET SESSION sql_mode={}, foreign_key_checks=0, timestamp={timestamp_s}.{:06}",
            string_literal(&mode_names(query.status.sql_mode.unwrap_or_default(), self.settings.flavor, target)),
            query.status.microseconds.unwrap_or_default(),
        );
        if let Some(zone) = &query.status.time_zone {
            let zone = String::from_utf8_lossy(zone);
            let zone = if zone.eq_ignore_ascii_case("SYSTEM") { self.system_time_zone.as_str() } else { zone.as_ref() };
            set.push_str(", time_zone=");
            set.push_str(&string_literal(zone));
        }
        if self.explicit_defaults_for_timestamp(query) == Some(false) {
            set.push_str(", explicit_defaults_for_timestamp=0");
        }
        // MySQL has no such setting, and stops where the source passed over something that was not there.
        let passes_over = query.status.flags.is_some_and(SessionFlags::mariadb_if_exists);
        if passes_over && self.settings.is_mariadb() && target == Flavor::MariaDb {
            set.push_str(", sql_if_exists=1");
        }
        set
    }
}

/// Takes an environment off again.
pub fn restore(environment: &str) -> String {
    let rare: String = ["explicit_defaults_for_timestamp", "sql_if_exists"]
        .into_iter()
        .filter(|name| environment.contains(name))
        .map(|name| format!(", {name}=DEFAULT"))
        .collect();
    format!(
        "SET NAMES binary; SET SESSION sql_mode='{SESSION_SQL_MODE}', foreign_key_checks=0, timestamp=DEFAULT, \
         time_zone='+00:00'{rare}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_that_only_mariadb_knows_are_not_sent_to_mysql() {
        let bits = 1 << 2 | 1 << 9 | 1 << 21;
        assert_eq!(mode_names(bits, Flavor::MariaDb, Flavor::MariaDb), "ANSI_QUOTES,STRICT_TRANS_TABLES,ORACLE");
        assert_eq!(mode_names(bits, Flavor::MariaDb, Flavor::MySql), "ANSI_QUOTES,STRICT_TRANS_TABLES");
        assert_eq!(mode_names(0, Flavor::MySql, Flavor::MySql), "");
    }
}
