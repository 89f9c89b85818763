//! What an account may do, from the text of SHOW GRANTS.
//!
//! In: the lines of SHOW GRANTS, roles included (the caller asks for them). Out: whether a privilege holds for
//! everything, a database or a table. Server families differ in the names: MariaDB prints BINLOG MONITOR for what was
//! granted as REPLICATION CLIENT; both names are the same here. Database names in grants are patterns (`_`, `%`).
//! The surprise: MySQL prints partial revokes as REVOKE lines, which take back what a global grant gave.

use std::collections::BTreeSet;

/// The rights of one account.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Grants {
    global: BTreeSet<String>,
    databases: Vec<(String, BTreeSet<String>)>,
    tables: Vec<(String, String, BTreeSet<String>)>,
    revoked: Vec<(String, BTreeSet<String>)>,
}

impl Grants {
    /// Reads the lines; what is no grant on tables (roles, proxies, routines) is passed over.
    pub fn parse<'a>(lines: impl IntoIterator<Item = &'a str>) -> Self {
        let mut grants = Self::default();
        for line in lines {
            grants.read_line(line);
        }
        grants
    }

    fn read_line(&mut self, line: &str) {
        let mut words = Words::new(line);
        let revokes = match words.next() {
            Some(Word::Bare("GRANT")) => false,
            Some(Word::Bare("REVOKE")) => true,
            _ => return,
        };
        let Some((privileges, level)) = privileges_and_level(words) else { return };
        match (level, revokes) {
            (Level::Global, false) => self.global.extend(privileges),
            (Level::Global, true) => self.global.retain(|name| !privileges.contains(name)),
            (Level::Database(database), false) => self.databases.push((database, privileges)),
            (Level::Database(database), true) => self.revoked.push((database, privileges)),
            (Level::Table(database, table), false) => self.tables.push((database, table, privileges)),
            (Level::Table(..), true) => {}
        }
    }

    /// Whether the privilege holds everywhere.
    pub fn has_globally(&self, privilege: &str) -> bool {
        holds(&self.global, privilege)
    }

    /// Whether the privilege holds for all tables of a database.
    pub fn has_on_database(&self, privilege: &str, database: &str) -> bool {
        let revoked = self.revoked.iter().any(|(pattern, names)| pattern == database && holds(names, privilege));
        (self.has_globally(privilege) && !revoked)
            || self.databases.iter().any(|(pattern, names)| holds(names, privilege) && matches(pattern, database))
    }

    /// Whether the privilege holds for a table.
    pub fn has_on_table(&self, privilege: &str, database: &str, table: &str) -> bool {
        self.has_on_database(privilege, database)
            || self.tables.iter().any(|(d, t, names)| d == database && t == table && holds(names, privilege))
    }
}

fn holds(names: &BTreeSet<String>, privilege: &str) -> bool {
    names.contains("ALL") || names.contains(privilege)
}

/// One name for each privilege, whatever the server calls it.
fn common_name(name: &str) -> String {
    match name {
        "ALL PRIVILEGES" => "ALL",
        "BINLOG MONITOR" => "REPLICATION CLIENT",
        "REPLICATION REPLICA" => "REPLICATION SLAVE",
        other => other,
    }
    .to_owned()
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Level {
    Global,
    Database(String),
    Table(String, String),
}

fn privileges_and_level(words: Words<'_>) -> Option<(BTreeSet<String>, Level)> {
    let mut privileges = BTreeSet::new();
    let mut name = String::new();
    let mut of_columns = false;
    let mut depth = 0_u32;
    let mut words = words.peekable();
    loop {
        match words.next()? {
            Word::Bare("ON") if depth == 0 => break,
            Word::Symbol('(') => (depth, of_columns) = (depth + 1, true),
            Word::Symbol(')') => depth = depth.saturating_sub(1),
            Word::Symbol(',') if depth == 0 => {
                finish(&mut privileges, &mut name, &mut of_columns);
            }
            Word::Bare(word) if depth == 0 => {
                if !name.is_empty() {
                    name.push(' ');
                }
                name.push_str(&word.to_ascii_uppercase());
            }
            // A quoted name where a privilege should be: a role is granted.
            Word::Quoted(_) if depth == 0 => return None,
            _ => {}
        }
    }
    finish(&mut privileges, &mut name, &mut of_columns);
    match words.peek() {
        Some(Word::Bare("TABLE")) => drop(words.next()),
        Some(Word::Bare("FUNCTION" | "PROCEDURE" | "PACKAGE")) => return None,
        _ => {}
    }
    let level = match (words.next()?, words.next()?, words.next()?) {
        (Word::Symbol('*'), Word::Symbol('.'), Word::Symbol('*')) => Level::Global,
        (database, Word::Symbol('.'), Word::Symbol('*')) => Level::Database(database.into_name()?),
        (database, Word::Symbol('.'), table) => Level::Table(database.into_name()?, table.into_name()?),
        _ => return None,
    };
    Some((privileges, level))
}

/// Privileges on single columns give nothing that helps here.
fn finish(privileges: &mut BTreeSet<String>, name: &mut String, of_columns: &mut bool) {
    let name = std::mem::take(name);
    if !std::mem::take(of_columns) && !name.is_empty() {
        privileges.insert(common_name(&name));
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Word<'a> {
    Bare(&'a str),
    Quoted(String),
    Symbol(char),
}

impl Word<'_> {
    fn into_name(self) -> Option<String> {
        match self {
            Self::Quoted(name) => Some(name),
            Self::Bare(name) => Some(name.to_owned()),
            Self::Symbol(_) => None,
        }
    }
}

/// Splits a line into words, quoted names and symbols.
struct Words<'a> {
    rest: &'a str,
}

impl<'a> Words<'a> {
    fn new(line: &'a str) -> Self {
        Self { rest: line }
    }

    /// A name in back-quotes or quotes, doubled inside for themselves.
    fn quoted(&mut self, quote: char) -> Word<'a> {
        let mut name = String::new();
        let mut characters = self.rest.char_indices();
        while let Some((at, character)) = characters.next() {
            if character != quote {
                name.push(character);
                continue;
            }
            let after = self.rest.get(at + quote.len_utf8()..).unwrap_or_default();
            if after.starts_with(quote) {
                name.push(quote);
                characters.next();
                continue;
            }
            self.rest = after;
            return Word::Quoted(name);
        }
        self.rest = "";
        Word::Quoted(name)
    }
}

impl<'a> Iterator for Words<'a> {
    type Item = Word<'a>;

    fn next(&mut self) -> Option<Word<'a>> {
        self.rest = self.rest.trim_start();
        let first = self.rest.chars().next()?;
        if matches!(first, '`' | '\'' | '"') {
            self.rest = self.rest.get(first.len_utf8()..)?;
            return Some(self.quoted(first));
        }
        let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$');
        if !is_word(first) {
            self.rest = self.rest.get(first.len_utf8()..)?;
            return Some(Word::Symbol(first));
        }
        let end = self.rest.find(|c| !is_word(c)).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        Some(Word::Bare(word))
    }
}

/// SQL's LIKE, as the server compares database names in grants: `_` is one character, `%` any number, `\` escapes.
fn matches(pattern: &str, name: &str) -> bool {
    fn step(pattern: &[char], name: &[char]) -> bool {
        match pattern {
            [] => name.is_empty(),
            ['%', rest @ ..] => (0..=name.len()).any(|skipped| step(rest, name.get(skipped..).unwrap_or_default())),
            ['\\', literal, rest @ ..] => {
                name.split_first().is_some_and(|(first, tail)| first == literal && step(rest, tail))
            }
            [wanted, rest @ ..] => {
                name.split_first().is_some_and(|(first, tail)| (*wanted == '_' || wanted == first) && step(rest, tail))
            }
        }
    }
    let (pattern, name): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
    step(&pattern, &name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mariadb_and_mysql_names_of_a_privilege_are_the_same() {
        for line in [
            "GRANT SELECT, RELOAD, PROCESS, REPLICATION SLAVE, BINLOG MONITOR ON *.* TO `dm1`@`%` IDENTIFIED BY PASSWORD '*AB'",
            "GRANT SELECT, RELOAD, PROCESS, REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO `dm1`@`%`",
        ] {
            let grants = Grants::parse([line]);
            for privilege in ["SELECT", "RELOAD", "REPLICATION SLAVE", "REPLICATION CLIENT"] {
                assert!(grants.has_globally(privilege), "{privilege} in {line}");
            }
            assert!(!grants.has_globally("INSERT"));
        }
    }

    #[test]
    fn all_privileges_hold_where_they_were_given() {
        let grants = Grants::parse(["GRANT ALL PRIVILEGES ON `shop`.* TO `u`@`%`", "GRANT USAGE ON *.* TO `u`@`%`"]);
        assert!(grants.has_on_database("INSERT", "shop"));
        assert!(!grants.has_on_database("INSERT", "shop2"));
        assert!(!grants.has_globally("USAGE2"));
        assert!(Grants::parse(["GRANT ALL PRIVILEGES ON *.* TO `root`@`%` WITH GRANT OPTION"]).has_globally("RELOAD"));
    }

    #[test]
    fn databases_in_grants_are_patterns() {
        let grants = Grants::parse([r"GRANT SELECT ON `a\_b%`.* TO `u`@`%`", "GRANT SELECT ON `c_d`.* TO `u`@`%`"]);
        for (database, may) in
            [("a_b", true), ("a_bc", true), ("axb", false), ("c_d", true), ("cxd", true), ("cd", false)]
        {
            assert_eq!(grants.has_on_database("SELECT", database), may, "{database}");
        }
    }

    #[test]
    fn tables_count_and_columns_do_not() {
        let grants = Grants::parse([
            "GRANT SELECT, INSERT (`a`, `b`), UPDATE ON `d`.`t` TO `u`@`%`",
            "GRANT SELECT ON TABLE `d`.`v``w` TO `u`@`%`",
            "GRANT EXECUTE ON PROCEDURE `d`.`p` TO `u`@`%`",
        ]);
        assert!(grants.has_on_table("SELECT", "d", "t") && grants.has_on_table("UPDATE", "d", "t"));
        assert!(!grants.has_on_table("INSERT", "d", "t"));
        assert!(grants.has_on_table("SELECT", "d", "v`w") && !grants.has_on_table("SELECT", "d", "x"));
        assert!(!grants.has_on_table("EXECUTE", "d", "p"));
    }

    #[test]
    fn a_partial_revoke_takes_back_what_a_global_grant_gave() {
        let grants =
            Grants::parse(["GRANT SELECT, INSERT ON *.* TO `u`@`%`", "REVOKE INSERT ON `secret`.* FROM `u`@`%`"]);
        assert!(grants.has_on_database("INSERT", "shop") && !grants.has_on_database("INSERT", "secret"));
        assert!(grants.has_on_database("SELECT", "secret"));
    }

    #[test]
    fn granted_roles_and_nonsense_are_passed_over() {
        for line in
            ["GRANT `r_dm`@`%` TO `u`@`%`", "GRANT PROXY ON ''@'%' TO 'root'@'%'", "GRANT", "", "GRANT SELECT ON `"]
        {
            assert_eq!(Grants::parse([line]), Grants::default(), "{line}");
        }
    }
}
