//! Keys as the servers make them from definitions: names for those that have none, prefixes that mean something,
//! hidden keys for foreign keys, and MariaDB's hashes for unique keys that are too long.

use super::column_type::{ColumnType, IntWidth};
use super::error::CatalogueError;
use super::settings::Settings;
use super::shape::{Column, GeneratedKind, Key, KeyPart, KeyPartSource};
use crate::ddl::{self, ForeignKeyDefinition, Ident, KeyDefinition, KeyKind, same_name};
use crate::model::TableName;

/// A key to be made, or one that is there and must be judged again.
#[derive(Debug, Clone)]
pub(super) struct KeyRequest {
    pub name: Option<String>,
    pub kind: KeyKind,
    pub parts: Vec<KeyPart>,
    /// `USING HASH`.
    pub hash: bool,
    /// Wanted by a foreign key only.
    pub generated: bool,
}

/// What the table's other parts say about its keys.
pub(super) struct KeyContext<'a> {
    pub table: &'a TableName,
    pub columns: &'a [Column],
    pub engine: Option<&'a str>,
    /// The table keeps its history.
    pub system_versioned: bool,
    pub settings: &'a Settings,
}

impl KeyRequest {
    pub fn written(key: &KeyDefinition, text: &str) -> Self {
        let parts = key.parts.iter().map(|part| KeyPart {
            source: match &part.source {
                ddl::KeyPartSource::Column(name) => KeyPartSource::Column(name.value.clone()),
                ddl::KeyPartSource::Expression(span) => KeyPartSource::Expression(span.of(text).to_owned()),
                ddl::KeyPartSource::Period(name) => KeyPartSource::Period(name.value.clone()),
            },
            prefix: part.prefix,
            descending: part.descending,
        });
        Self {
            name: key.name.as_ref().map(|name| name.value.clone()),
            kind: key.kind,
            parts: parts.collect(),
            hash: key.hash,
            generated: false,
        }
    }

    /// `PRIMARY KEY` or `UNIQUE` on a column itself.
    pub fn of_column(column: &str, kind: KeyKind) -> Self {
        Self { name: None, kind, parts: vec![whole(column)], hash: false, generated: false }
    }

    /// The key that a foreign key needs on its own table.
    pub fn for_foreign_key(foreign_key: &ForeignKeyDefinition) -> Self {
        let name = foreign_key.name.as_ref().or(foreign_key.index_name.as_ref()).map(|name| name.value.clone());
        let parts = foreign_key.columns.iter().map(|column: &Ident| whole(&column.value)).collect();
        Self { name, kind: KeyKind::Plain, parts, hash: false, generated: true }
    }
}

impl From<Key> for KeyRequest {
    fn from(key: Key) -> Self {
        // MariaDB judges anew whether a key needs a hash, and forgets that one was asked for
        let Key { name, kind, parts, generated, .. } = key;
        Self { name: Some(name), kind, parts, hash: false, generated }
    }
}

fn whole(column: &str) -> KeyPart {
    KeyPart { source: KeyPartSource::Column(column.to_owned()), prefix: None, descending: false }
}

/// Makes the keys of a table, in the order of the requests.
pub(super) fn keys(requests: Vec<KeyRequest>, context: &KeyContext<'_>) -> Result<Vec<Key>, CatalogueError> {
    let mut keys: Vec<Key> = Vec::new();
    for request in without_needless(requests) {
        let parts = request
            .parts
            .into_iter()
            .map(|part| settled(part, request.kind, context))
            .collect::<Result<Vec<KeyPart>, CatalogueError>>()?;
        let parts = context.with_row_end(request.kind, parts);
        let name = match (request.kind, request.name) {
            (KeyKind::Primary, _) => "PRIMARY".to_owned(),
            (_, Some(name)) => name,
            (_, None) => free_name(&parts, &keys),
        };
        if keys.iter().any(|key| same_name(&key.name, &name)) {
            return Err(CatalogueError::KeyExists { table: context.table.clone(), key: name });
        }
        let hashed = is_hashed(request.kind, &parts, request.hash, context);
        keys.push(Key { name, kind: request.kind, parts, hashed, generated: request.generated });
    }
    Ok(keys)
}

/// Leaves out keys made for foreign keys that another key begins like.
fn without_needless(requests: Vec<KeyRequest>) -> Vec<KeyRequest> {
    let mut needed = vec![true; requests.len()];
    for (index, key) in requests.iter().enumerate() {
        for (before, other) in requests.iter().enumerate().take(index) {
            let both = needed.get(index) == Some(&true) && needed.get(before) == Some(&true);
            if !both {
                continue;
            }
            let shorter = key.parts.len() < other.parts.len();
            let needless = match (key.generated, other.generated) {
                (true, true) if shorter => begins_like(key, other).then_some(index),
                (true, true) | (false, true) => begins_like(other, key).then_some(before),
                (true, false) => begins_like(key, other).then_some(index),
                (false, false) => None,
            };
            if let Some(slot) = needless.and_then(|needless| needed.get_mut(needless)) {
                *slot = false;
            }
        }
    }
    requests.into_iter().zip(needed).filter(|(_, needed)| *needed).map(|(request, _)| request).collect()
}

/// Whether the parts of one key are the first parts of another.
fn begins_like(shorter: &KeyRequest, longer: &KeyRequest) -> bool {
    let same = |one: &KeyPart, other: &KeyPart| match (&one.source, &other.source) {
        (KeyPartSource::Column(one_name), KeyPartSource::Column(other_name)) => {
            same_name(one_name, other_name) && one.prefix == other.prefix
        }
        _ => false,
    };
    let usable = !matches!(longer.kind, KeyKind::FullText | KeyKind::Spatial | KeyKind::Vector);
    usable
        && shorter.parts.len() <= longer.parts.len()
        && shorter.parts.iter().zip(&longer.parts).all(|(one, other)| same(one, other))
}

/// The first column's name, else with `_2`, `_3` … A key with a functional part is called `functional_index`.
fn free_name(parts: &[KeyPart], keys: &[Key]) -> String {
    let functional = parts.iter().any(|part| matches!(part.source, KeyPartSource::Expression(_)));
    let first = parts.first().filter(|_| !functional);
    let base = match first.map(|part| &part.source) {
        Some(KeyPartSource::Column(name) | KeyPartSource::Period(name)) => name.as_str(),
        _ => "functional_index",
    };
    let taken = |name: &str| same_name(name, "PRIMARY") || keys.iter().any(|key| same_name(&key.name, name));
    if !taken(base) {
        return base.to_owned();
    }
    let numbered = (2_u32..).map(|number| format!("{base}_{number}")).find(|name| !taken(name));
    numbered.unwrap_or_else(|| base.to_owned())
}

/// A part with the column's own spelling, and without a prefix that covers the whole column.
fn settled(part: KeyPart, kind: KeyKind, context: &KeyContext<'_>) -> Result<KeyPart, CatalogueError> {
    let KeyPartSource::Column(name) = &part.source else { return Ok(part) };
    let column = context
        .columns
        .iter()
        .find(|column| same_name(&column.name, name))
        .ok_or_else(|| CatalogueError::UnknownColumn { table: context.table.clone(), column: name.clone() })?;
    let whole = column.column_type.length();
    let mut prefix = part.prefix.filter(|prefix| whole.is_none_or(|whole| *prefix < whole));
    match kind {
        KeyKind::FullText | KeyKind::Spatial | KeyKind::Vector => prefix = None,
        // a key that is not unique is just cut short
        KeyKind::Plain if context.settings.is_mariadb() => {
            let bytes = context.longest_part();
            if part_bytes(&column.column_type, prefix) > bytes {
                let character =
                    column.column_type.collation().map_or(1, super::charset::Collation::bytes_per_character);
                prefix = Some(bytes / u64::from(character));
            }
        }
        _ => {}
    }
    let source = KeyPartSource::Column(column.name.clone());
    Ok(KeyPart { source, prefix, descending: part.descending })
}

impl KeyContext<'_> {
    /// In a table that keeps its history and declares its period, unique keys end with the end of the row's time.
    fn with_row_end(&self, kind: KeyKind, mut parts: Vec<KeyPart>) -> Vec<KeyPart> {
        let is_period =
            |column: &&Column| matches!(column.generated, Some(GeneratedKind::RowStart | GeneratedKind::RowEnd));
        let period: Vec<&Column> = self.columns.iter().filter(is_period).collect();
        let within = parts.iter().any(|part| match &part.source {
            KeyPartSource::Column(name) => period.iter().any(|column| same_name(&column.name, name)),
            _ => false,
        });
        let unique = matches!(kind, KeyKind::Primary | KeyKind::Unique);
        let row_end = period.iter().find(|column| column.generated == Some(GeneratedKind::RowEnd));
        if let (true, true, false, Some(row_end)) = (self.system_versioned, unique, within, row_end) {
            parts.push(whole(&row_end.name));
        }
        parts
    }

    /// How many bytes of a column the engine takes into a key.
    fn longest_part(&self) -> u64 {
        match self.engine {
            Some("MYISAM" | "MRG_MYISAM") => 1000,
            Some("ARIA") => 2300,
            _ => 3072,
        }
    }
}

/// Whether MariaDB keeps a unique key as a hash in a hidden column.
fn is_hashed(kind: KeyKind, parts: &[KeyPart], hash: bool, context: &KeyContext<'_>) -> bool {
    if kind != KeyKind::Unique || !context.settings.is_mariadb() || matches!(context.engine, Some("MEMORY" | "HEAP")) {
        return false;
    }
    let type_of = |name: &str| {
        context.columns.iter().find(|column| same_name(&column.name, name)).map(|column| &column.column_type)
    };
    let bytes = parts.iter().filter_map(|part| match &part.source {
        KeyPartSource::Column(name) => type_of(name).map(|column_type| part_bytes(column_type, part.prefix)),
        _ => None,
    });
    let (mut total, mut longest) = (0_u64, 0_u64);
    for part in bytes {
        total = total.saturating_add(part);
        longest = longest.max(part);
    }
    hash || longest > context.longest_part() || total > context.longest_part()
}

/// How many bytes a column takes in a key; endless for a TEXT or BLOB without prefix.
fn part_bytes(column_type: &ColumnType, prefix: Option<u64>) -> u64 {
    let character = u64::from(column_type.collation().map_or(1, super::charset::Collation::bytes_per_character));
    if let Some(prefix) = prefix {
        return prefix.saturating_mul(character);
    }
    match column_type {
        ColumnType::Int { width, .. } => match width {
            IntWidth::Tiny => 1,
            IntWidth::Small => 2,
            IntWidth::Medium => 3,
            IntWidth::Normal => 4,
            IntWidth::Big => 8,
        },
        ColumnType::Char { length, .. } | ColumnType::VarChar { length, .. } => length.saturating_mul(character),
        ColumnType::Binary { length } | ColumnType::VarBinary { length } => *length,
        ColumnType::Uuid | ColumnType::Inet6 => 16,
        ColumnType::Decimal { precision, .. } => u64::from(*precision).div_ceil(9) * 4 + 4,
        ColumnType::Text { .. } | ColumnType::Blob { .. } | ColumnType::Json | ColumnType::Geometry { .. } => u64::MAX,
        _ => 8,
    }
}
