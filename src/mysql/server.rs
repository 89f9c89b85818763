//! What a server is: its family, version and identity.

use super::{Connection, Deadline, Error};
use crate::model::Flavor;

/// Facts read when a connection is opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Server {
    pub flavor: Flavor,
    /// As in executable comments: 101119 for MariaDB 10.11.19, 90704 for MySQL 9.7.4.
    pub version: u32,
    /// As the server prints it.
    pub version_text: String,
    pub connection_id: u64,
    pub max_allowed_packet: u64,
    /// 0: names are compared as they are; 1 and 2: without regard to case.
    pub lower_case_table_names: u8,
    pub default_character_set: String,
    pub default_collation: String,
    /// The server's own sql_mode, before we set ours.
    pub sql_mode: String,
}

impl Server {
    pub fn names_ignore_case(&self) -> bool {
        self.lower_case_table_names != 0
    }

    pub(super) async fn read(connection: &mut Connection, deadline: Deadline) -> Result<Self, Error> {
        let row = connection
            .first_row(
                "SELECT VERSION() AS version, CONNECTION_ID() AS id, @@max_allowed_packet AS packet, \
                 @@lower_case_table_names AS fold, @@character_set_server AS charset, \
                 @@collation_server AS collation, @@GLOBAL.sql_mode AS mode, @@version_comment AS comment",
                "reading the server's version",
                deadline,
            )
            .await?;
        let version_text = row.text("version")?;
        let comment = row.text("comment")?;
        let mariadb =
            version_text.to_ascii_lowercase().contains("mariadb") || comment.to_ascii_lowercase().contains("mariadb");
        Ok(Self {
            flavor: if mariadb { Flavor::MariaDb } else { Flavor::MySql },
            version: version_number(&version_text),
            version_text,
            connection_id: row.number("id")?,
            max_allowed_packet: row.number("packet")?,
            lower_case_table_names: row.number("fold")?,
            default_character_set: row.text("charset")?,
            default_collation: row.text("collation")?,
            sql_mode: row.text("mode")?,
        })
    }
}

/// `10.11.19-MariaDB-0+deb12u1` → 101119. Parts that are missing count as 0.
fn version_number(text: &str) -> u32 {
    // A proxy-friendly prefix that old MariaDB versions announce.
    let text = text.strip_prefix("5.5.5-").unwrap_or(text);
    let digits = text.split(|c: char| !c.is_ascii_digit() && c != '.').next().unwrap_or_default();
    let mut parts = digits.split('.').map(|part| part.parse::<u32>().unwrap_or(0).min(999));
    let (major, minor, patch) = (parts.next().unwrap_or(0), parts.next().unwrap_or(0), parts.next().unwrap_or(0));
    major * 10_000 + minor * 100 + patch
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_become_the_numbers_of_executable_comments() {
        for (text, number) in [
            ("10.11.19-MariaDB-0+deb12u1-log", 101_119),
            ("5.5.5-10.6.4-MariaDB", 100_604),
            ("9.7.4", 90_704),
            ("8.0.11-TiDB-v8.5.1", 80_011),
            ("nonsense", 0),
        ] {
            assert_eq!(version_number(text), number, "{text}");
        }
    }
}
