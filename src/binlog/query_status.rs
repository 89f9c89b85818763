//! The status variables of a QUERY event: what the statement's meaning depends on.
//!
//! Each is a number and a value whose length follows from the number, so after an unknown one nothing more can be
//! read; like the servers we stop there, and say so in [`QueryStatus::unread_from`].

use bytes::Bytes;

use super::BinlogError;
use super::cursor::Cursor;

/// Session settings. None: the event does not say, and the server's default holds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct QueryStatus {
    pub flags: Option<SessionFlags>,
    /// The `sql_mode` as the bits of the source's own family, whose upper ones differ.
    pub sql_mode: Option<u64>,
    pub catalog: Option<Bytes>,
    pub auto_increment: Option<AutoIncrement>,
    pub charset: Option<SessionCharset>,
    /// `+02:00`, `SYSTEM` or a name.
    pub time_zone: Option<Bytes>,
    /// Number of `lc_time_names`; 0 (en_US) is not written.
    pub lc_time_names: Option<u16>,
    /// Collation id of the current schema's default.
    pub charset_database: Option<u16>,
    /// Which tables of a multi-table update change.
    pub table_map_for_update: Option<u64>,
    /// The user who ran a statement with CURRENT_USER or an implied definer.
    pub invoker: Option<Invoker>,
    /// MySQL: the schemas that the statement touches.
    pub updated_schemas: Option<UpdatedSchemas>,
    /// The fraction of the statement's time, in microseconds (both families).
    pub microseconds: Option<u32>,
    pub explicit_defaults_for_timestamp: Option<bool>,
    /// MySQL 8: the statement is atomic DDL, committed under this number.
    pub ddl_xid: Option<u64>,
    /// MySQL 8: collation id of `default_collation_for_utf8mb4`.
    pub default_collation_for_utf8mb4: Option<u16>,
    pub sql_require_primary_key: Option<bool>,
    pub default_table_encryption: Option<bool>,
    /// MariaDB: the statement is DDL that was logged under this number.
    pub mariadb_ddl_xid: Option<u64>,
    /// MariaDB: the second flags of the GTID event once more (two-phase ALTER), as bits.
    pub mariadb_gtid_flags: Option<u8>,
    /// MariaDB 11: `character_set_collations`, as pairs of collation ids: the character set's own default, and the
    /// one to use for it.
    pub character_set_collations: Vec<(u16, u16)>,
    /// The first variable that this decoder does not know; it and all after it were not read.
    pub unread_from: Option<u8>,
}

/// The part of the session's options that is logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionFlags(pub u32);

impl SessionFlags {
    const AUTO_IS_NULL: u32 = 1 << 14;
    const MARIADB_NO_CHECK_CONSTRAINTS: u32 = 1 << 15;
    const NOT_AUTOCOMMIT: u32 = 1 << 19;
    const MARIADB_EXPLICIT_DEFAULTS: u32 = 1 << 24;
    const NO_FOREIGN_KEY_CHECKS: u32 = 1 << 26;
    const RELAXED_UNIQUE_CHECKS: u32 = 1 << 27;
    const MARIADB_IF_EXISTS: u32 = 1 << 28;
    const MARIADB_INSERT_HISTORY: u32 = 1 << 30;

    pub fn sql_auto_is_null(self) -> bool {
        self.0 & Self::AUTO_IS_NULL != 0
    }

    pub fn autocommit_off(self) -> bool {
        self.0 & Self::NOT_AUTOCOMMIT != 0
    }

    pub fn foreign_key_checks_off(self) -> bool {
        self.0 & Self::NO_FOREIGN_KEY_CHECKS != 0
    }

    pub fn unique_checks_off(self) -> bool {
        self.0 & Self::RELAXED_UNIQUE_CHECKS != 0
    }

    /// MariaDB: `check_constraint_checks` is off.
    pub fn mariadb_check_constraints_off(self) -> bool {
        self.0 & Self::MARIADB_NO_CHECK_CONSTRAINTS != 0
    }

    /// MariaDB: `explicit_defaults_for_timestamp` is on.
    pub fn mariadb_explicit_defaults_for_timestamp(self) -> bool {
        self.0 & Self::MARIADB_EXPLICIT_DEFAULTS != 0
    }

    /// MariaDB: `sql_if_exists` is on, so the statement means IF EXISTS wherever that can be written.
    pub fn mariadb_if_exists(self) -> bool {
        self.0 & Self::MARIADB_IF_EXISTS != 0
    }

    /// MariaDB: `system_versioning_insert_history` is on.
    pub fn mariadb_insert_history(self) -> bool {
        self.0 & Self::MARIADB_INSERT_HISTORY != 0
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AutoIncrement {
    pub increment: u16,
    pub offset: u16,
}

/// Collation ids of `character_set_client` (its default collation), `collation_connection`, `collation_server`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionCharset {
    pub client: u16,
    pub connection: u16,
    pub server: u16,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invoker {
    pub user: Bytes,
    pub host: Bytes,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UpdatedSchemas {
    These(Vec<Bytes>),
    /// More than the server lists.
    Many,
}

impl QueryStatus {
    /// `cursor` ends where the variables end.
    pub(super) fn parse(cursor: &mut Cursor<'_>, body: &Bytes) -> Result<Self, BinlogError> {
        let mut status = Self::default();
        while !cursor.is_empty() {
            let code = cursor.u8("a status variable")?;
            if !status.read(code, cursor, body)? {
                status.unread_from = Some(code);
                break;
            }
        }
        Ok(status)
    }

    /// Reads one value; false if the variable is unknown.
    fn read(&mut self, code: u8, cursor: &mut Cursor<'_>, body: &Bytes) -> Result<bool, BinlogError> {
        match code {
            0 => self.flags = Some(SessionFlags(cursor.u32("the session flags")?)),
            1 => self.sql_mode = Some(cursor.u64("the sql_mode")?),
            2 => {
                self.catalog = Some(body.slice_ref(cursor.short_bytes("the catalog")?));
                cursor.u8("the end of the catalog")?;
            }
            3 => {
                let increment = cursor.u16("the auto-increment step")?;
                self.auto_increment = Some(AutoIncrement { increment, offset: cursor.u16("its offset")? });
            }
            4 => {
                let client = cursor.u16("the client's character set")?;
                let connection = cursor.u16("the connection's collation")?;
                let server = cursor.u16("the server's collation")?;
                self.charset = Some(SessionCharset { client, connection, server });
            }
            5 => self.time_zone = Some(body.slice_ref(cursor.short_bytes("the time zone")?)),
            6 => self.catalog = Some(body.slice_ref(cursor.short_bytes("the catalog")?)),
            7 => self.lc_time_names = Some(cursor.u16("the locale")?),
            8 => self.charset_database = Some(cursor.u16("the schema's collation")?),
            9 => self.table_map_for_update = Some(cursor.u64("the tables of an update")?),
            10 => {
                cursor.u32("the size at the first source")?;
            }
            11 => {
                let user = body.slice_ref(cursor.short_bytes("the invoker's user")?);
                let host = body.slice_ref(cursor.short_bytes("the invoker's host")?);
                self.invoker = Some(Invoker { user, host });
            }
            12 => self.updated_schemas = Some(read_updated_schemas(cursor, body)?),
            13 | 128 => self.microseconds = Some(cursor.uint(3, "the microseconds")? as u32),
            16 => self.explicit_defaults_for_timestamp = Some(read_switch(cursor)?),
            17 => self.ddl_xid = Some(cursor.u64("the number of the DDL")?),
            18 => self.default_collation_for_utf8mb4 = Some(cursor.u16("the collation for utf8mb4")?),
            19 => self.sql_require_primary_key = Some(read_switch(cursor)?),
            20 => self.default_table_encryption = Some(read_switch(cursor)?),
            // Whether cascades fired triggers at the source: its row events hold what they did.
            21 => {
                read_switch(cursor)?;
            }
            129 => self.mariadb_ddl_xid = Some(cursor.u64("the number of the DDL")?),
            130 => {
                const COMMIT_OR_ROLLBACK_ALTER: u8 = 4 | 8;
                let flags = cursor.u8("the GTID's second flags")?;
                if flags & COMMIT_OR_ROLLBACK_ALTER != 0 {
                    cursor.u64("the number of the ALTER's start")?;
                }
                self.mariadb_gtid_flags = Some(flags);
            }
            131 => {
                for _ in 0..cursor.u8("the number of collations")? {
                    let from = cursor.u16("a character set's collation")?;
                    self.character_set_collations.push((from, cursor.u16("the collation to use")?));
                }
            }
            _ => return Ok(false),
        }
        Ok(true)
    }
}

fn read_switch(cursor: &mut Cursor<'_>) -> Result<bool, BinlogError> {
    Ok(cursor.u8("a switch")? != 0)
}

/// Names with a NUL after each.
fn read_updated_schemas(cursor: &mut Cursor<'_>, body: &Bytes) -> Result<UpdatedSchemas, BinlogError> {
    const LISTED_MAX: u8 = 16;
    let count = cursor.u8("the number of schemas")?;
    if count > LISTED_MAX {
        return Ok(UpdatedSchemas::Many);
    }
    let mut names = Vec::with_capacity(usize::from(count));
    for _ in 0..count {
        let mut ahead = cursor.clone();
        let length = memchr::memchr(0, ahead.rest()).ok_or_else(|| cursor.malformed("the end of a schema's name"))?;
        names.push(body.slice_ref(cursor.bytes(length, "a schema's name")?));
        cursor.u8("the end of a schema's name")?;
    }
    Ok(UpdatedSchemas::These(names))
}

#[cfg(test)]
mod tests {
    use super::super::EventType;
    use super::*;

    fn parse(bytes: &[u8]) -> Result<QueryStatus, BinlogError> {
        let body = Bytes::copy_from_slice(bytes);
        QueryStatus::parse(&mut Cursor::new(EventType::QUERY, &body, 19), &body)
    }

    #[test]
    fn every_known_variable_is_read() {
        let bytes = b"\x00\x00\x00\x08\x0c\x01\x04\0\0\0\0\0\0\0\x06\x03std\x03\x02\0\x01\0\x04\x21\0\x22\0\x08\0\
            \x05\x06+02:00\x07\x05\0\x08\x09\0\x0b\x01u\x02%h\x0c\x02a\0bc\0\x0d\x40\x42\x0f\x10\x01\
            \x11\x09\0\0\0\0\0\0\0\x12\xff\0\x13\0\x14\x01\x15\x01\x80\x07\0\0\x81\x03\0\0\0\0\0\0\0\x82\x02\
            \x83\x01\x2d\0\xe0\0";
        let status = parse(bytes).unwrap();
        let flags = status.flags.unwrap();
        assert!(flags.foreign_key_checks_off() && flags.unique_checks_off() && flags.autocommit_off());
        assert!(!flags.sql_auto_is_null());
        assert_eq!(status.sql_mode, Some(4));
        assert_eq!(status.catalog.as_deref(), Some(&b"std"[..]));
        assert_eq!(status.auto_increment, Some(AutoIncrement { increment: 2, offset: 1 }));
        assert_eq!(status.charset, Some(SessionCharset { client: 33, connection: 34, server: 8 }));
        assert_eq!(status.time_zone.as_deref(), Some(&b"+02:00"[..]));
        assert_eq!((status.lc_time_names, status.charset_database), (Some(5), Some(9)));
        assert_eq!(status.invoker, Some(Invoker { user: "u".into(), host: "%h".into() }));
        assert_eq!(status.updated_schemas, Some(UpdatedSchemas::These(vec!["a".into(), "bc".into()])));
        assert_eq!(status.microseconds, Some(7), "the last one told");
        assert_eq!(status.explicit_defaults_for_timestamp, Some(true));
        assert_eq!((status.ddl_xid, status.mariadb_ddl_xid), (Some(9), Some(3)));
        assert_eq!(status.default_collation_for_utf8mb4, Some(255));
        assert_eq!((status.sql_require_primary_key, status.default_table_encryption), (Some(false), Some(true)));
        assert_eq!(status.mariadb_gtid_flags, Some(2));
        assert_eq!(status.character_set_collations, [(45, 224)]);
        assert_eq!(status.unread_from, None);
    }

    #[test]
    fn mariadb_logs_more_of_the_session() {
        let flags = parse(b"\x00\x00\x80\x00\x51").unwrap().flags.unwrap();
        assert!(flags.mariadb_check_constraints_off() && flags.mariadb_explicit_defaults_for_timestamp());
        assert!(flags.mariadb_if_exists() && flags.mariadb_insert_history());
        assert!(!flags.foreign_key_checks_off() && !flags.unique_checks_off());
    }

    #[test]
    fn reading_stops_at_an_unknown_variable_and_says_so() {
        let status = parse(b"\x07\x05\0\xf0\x01\x02").unwrap();
        assert_eq!((status.lc_time_names, status.unread_from), (Some(5), Some(0xf0)));
    }

    #[test]
    fn a_long_list_of_schemas_is_not_written() {
        assert_eq!(parse(b"\x0c\xfe\x07\x05\0").unwrap().updated_schemas, Some(UpdatedSchemas::Many));
        assert!(parse(b"\x0c\x01abc").is_err());
    }
}
