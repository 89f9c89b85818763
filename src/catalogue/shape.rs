//! The shape of a table at one moment: columns, keys and foreign keys, as the server has them after all defaults.

use serde::{Deserialize, Serialize};

use super::charset::Collation;
use super::column_type::ColumnType;
use crate::ddl::{KeyKind, ReferenceAction, same_name};
use crate::model::TableName;

/// Plain data; stored as JSON inside of [`super::StoredShape`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableShape {
    /// As declared, in their order. What the binlog adds to them is in [`Self::logged_columns`].
    pub columns: Vec<Column>,
    pub keys: Vec<Key>,
    pub foreign_keys: Vec<ForeignKey>,
    /// The default of columns to come.
    pub collation: Collation,
    /// In upper case; none: the server's default.
    pub engine: Option<String>,
    /// `WITH SYSTEM VERSIONING`.
    pub system_versioned: bool,
    /// One of MariaDB's sequences, which are tables with one row.
    pub sequence: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Column {
    pub name: String,
    pub column_type: ColumnType,
    pub nullable: bool,
    pub auto_increment: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generated: Option<GeneratedKind>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub invisible: bool,
    /// MariaDB's COMPRESSED: the binlog carries the values compressed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub compressed: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum GeneratedKind {
    Virtual,
    Stored,
    RowStart,
    RowEnd,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Key {
    /// `PRIMARY` for the primary key.
    pub name: String,
    #[serde(with = "stored_kind")]
    pub kind: KeyKind,
    pub parts: Vec<KeyPart>,
    /// MariaDB keeps a unique key that is too long for the engine as a key over a hash, in a hidden column.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub hashed: bool,
    /// Made by the server for a foreign key; goes when another key can serve. Not told by SHOW CREATE TABLE.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub generated: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyPart {
    pub source: KeyPartSource,
    /// In characters for texts, in bytes for binary strings; none: the whole column.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefix: Option<u64>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub descending: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum KeyPartSource {
    Column(String),
    /// The text of a functional key part.
    Expression(String),
    /// `WITHOUT OVERLAPS` of this period.
    Period(String),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForeignKey {
    pub name: String,
    pub columns: Vec<String>,
    pub parent: TableName,
    pub parent_columns: Vec<String>,
    #[serde(with = "stored_action")]
    pub on_delete: ReferenceAction,
    #[serde(with = "stored_action")]
    pub on_update: ReferenceAction,
}

/// A column of the binlog's row events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoggedColumn<'a> {
    Declared(&'a Column),
    /// The period of a system-versioned table that does not declare it.
    HiddenRowStart,
    HiddenRowEnd,
    /// The hash of a unique key that is too long: BIGINT UNSIGNED.
    HiddenKeyHash,
}

impl Column {
    /// Whether a writer gives it a value; the server computes the others.
    pub fn is_writable(&self) -> bool {
        self.generated.is_none()
    }
}

impl Key {
    pub fn is_unique(&self) -> bool {
        matches!(self.kind, KeyKind::Primary | KeyKind::Unique)
    }

    /// The columns it consists of; functional parts have none.
    pub fn columns(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match &part.source {
            KeyPartSource::Column(name) => Some(name.as_str()),
            _ => None,
        })
    }
}

impl TableShape {
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|column| same_name(&column.name, name))
    }

    pub fn key(&self, name: &str) -> Option<&Key> {
        self.keys.iter().find(|key| same_name(&key.name, name))
    }

    pub fn primary_key(&self) -> Option<&Key> {
        self.keys.iter().find(|key| key.kind == KeyKind::Primary)
    }

    /// The primary key and all unique keys.
    pub fn unique_keys(&self) -> impl Iterator<Item = &Key> {
        self.keys.iter().filter(|key| key.is_unique())
    }

    /// The columns that a writer gives values to, invisible ones included.
    pub fn writable_columns(&self) -> impl Iterator<Item = &Column> {
        self.columns.iter().filter(|column| column.is_writable())
    }

    /// The columns of the binlog's row events, in their order. Virtual and invisible columns are among them; the
    /// hidden columns behind MySQL's functional keys are not.
    pub fn logged_columns(&self) -> Vec<LoggedColumn<'_>> {
        let mut logged: Vec<LoggedColumn<'_>> = self.columns.iter().map(LoggedColumn::Declared).collect();
        let declares_period = self.columns.iter().any(|column| column.generated == Some(GeneratedKind::RowStart));
        if self.system_versioned && !declares_period {
            logged.extend([LoggedColumn::HiddenRowStart, LoggedColumn::HiddenRowEnd]);
        }
        logged.extend(self.keys.iter().filter(|key| key.hashed).map(|_| LoggedColumn::HiddenKeyHash));
        logged
    }
}

/// The stored words of key kinds.
mod stored_kind {
    use serde::{Deserialize, Deserializer, Serializer};

    use crate::ddl::KeyKind;

    pub fn serialize<S: Serializer>(kind: &KeyKind, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(match kind {
            KeyKind::Primary => "primary",
            KeyKind::Unique => "unique",
            KeyKind::Plain => "plain",
            KeyKind::FullText => "fulltext",
            KeyKind::Spatial => "spatial",
            KeyKind::Vector => "vector",
        })
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<KeyKind, D::Error> {
        let word = String::deserialize(deserializer)?;
        Ok(match word.as_str() {
            "primary" => KeyKind::Primary,
            "unique" => KeyKind::Unique,
            "plain" => KeyKind::Plain,
            "fulltext" => KeyKind::FullText,
            "spatial" => KeyKind::Spatial,
            "vector" => KeyKind::Vector,
            _ => return Err(serde::de::Error::custom(format!("`{word}` is no kind of key"))),
        })
    }
}

/// The stored words of what a foreign key does.
mod stored_action {
    use serde::{Deserialize, Deserializer, Serializer};

    use crate::ddl::ReferenceAction;

    pub fn serialize<S: Serializer>(action: &ReferenceAction, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(match action {
            ReferenceAction::Unspecified => "",
            ReferenceAction::Restrict => "restrict",
            ReferenceAction::NoAction => "no action",
            ReferenceAction::Cascade => "cascade",
            ReferenceAction::SetNull => "set null",
            ReferenceAction::SetDefault => "set default",
        })
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<ReferenceAction, D::Error> {
        let word = String::deserialize(deserializer)?;
        Ok(match word.as_str() {
            "" => ReferenceAction::Unspecified,
            "restrict" => ReferenceAction::Restrict,
            "no action" => ReferenceAction::NoAction,
            "cascade" => ReferenceAction::Cascade,
            "set null" => ReferenceAction::SetNull,
            "set default" => ReferenceAction::SetDefault,
            _ => return Err(serde::de::Error::custom(format!("`{word}` is no action of a foreign key"))),
        })
    }
}
