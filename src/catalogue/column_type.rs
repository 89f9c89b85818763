//! A column's type after all synonyms, defaults and implicit changes, and how a definition becomes one.

use serde::{Deserialize, Serialize};

use super::charset::Collation;
use super::error::CatalogueError;
use super::settings::Settings;
use crate::ddl::{DataType, TypeName};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum ColumnType {
    Int {
        width: IntWidth,
        unsigned: bool,
    },
    Decimal {
        precision: u32,
        scale: u32,
        unsigned: bool,
    },
    Float {
        unsigned: bool,
    },
    Double {
        unsigned: bool,
    },
    Bit {
        length: u32,
    },
    Date,
    Time {
        fraction: u32,
    },
    DateTime {
        fraction: u32,
    },
    Timestamp {
        fraction: u32,
    },
    Year,
    /// Length in characters.
    Char {
        length: u64,
        collation: Collation,
    },
    /// Length in characters.
    VarChar {
        length: u64,
        collation: Collation,
    },
    Text {
        size: BlobSize,
        collation: Collation,
    },
    Binary {
        length: u64,
    },
    VarBinary {
        length: u64,
    },
    Blob {
        size: BlobSize,
    },
    Enum {
        members: Vec<String>,
        collation: Collation,
    },
    Set {
        members: Vec<String>,
        collation: Collation,
    },
    /// MySQL's JSON; MariaDB's is a LONGTEXT.
    Json,
    Geometry {
        kind: GeometryKind,
        srid: Option<u32>,
    },
    Uuid,
    Inet4,
    Inet6,
    Vector {
        dimensions: u64,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum IntWidth {
    Tiny,
    Small,
    Medium,
    Normal,
    Big,
}

/// TINYTEXT to LONGTEXT, TINYBLOB to LONGBLOB.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum BlobSize {
    Tiny,
    Normal,
    Medium,
    Long,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum GeometryKind {
    Geometry,
    Point,
    LineString,
    Polygon,
    MultiPoint,
    MultiLineString,
    MultiPolygon,
    Collection,
}

/// The longest VARCHAR, in bytes.
const LONGEST_VARCHAR: u64 = 65_535;

impl BlobSize {
    /// The smallest that holds so many bytes.
    pub fn holding(bytes: u64) -> Self {
        match bytes {
            0..256 => Self::Tiny,
            256..65_536 => Self::Normal,
            65_536..16_777_216 => Self::Medium,
            _ => Self::Long,
        }
    }

    /// The most bytes that fit.
    pub fn bytes(self) -> u64 {
        match self {
            Self::Tiny => 255,
            Self::Normal => 65_535,
            Self::Medium => 16_777_215,
            Self::Long => 4_294_967_295,
        }
    }
}

impl ColumnType {
    /// The type of a column of a table with the given default collation.
    pub fn resolve(
        column: &str,
        written: &DataType,
        table: &Collation,
        settings: &Settings,
    ) -> Result<Self, CatalogueError> {
        use TypeName as T;
        let unsigned = written.unsigned || written.zerofill;
        let int = |width| Self::Int { width, unsigned };
        let geometry = |kind| Self::Geometry { kind, srid: written.srid };
        let fraction = small(written.length);
        let length = |default: Option<u64>| {
            written.length.or(default).ok_or_else(|| CatalogueError::InvalidLength { column: column.to_owned() })
        };
        Ok(match written.name {
            T::Bool => Self::Int { width: IntWidth::Tiny, unsigned: false },
            T::Serial => Self::Int { width: IntWidth::Big, unsigned: true },
            T::TinyInt => int(IntWidth::Tiny),
            T::SmallInt => int(IntWidth::Small),
            T::MediumInt => int(IntWidth::Medium),
            T::Int => int(IntWidth::Normal),
            T::BigInt => int(IntWidth::Big),
            T::Decimal => {
                let precision = small(written.length.filter(|precision| *precision > 0).or(Some(10)));
                Self::Decimal { precision, scale: written.scale.unwrap_or(0), unsigned }
            }
            // FLOAT(p) is a precision in bits; FLOAT(m, d) is always single
            T::Float if written.scale.is_none() && written.length.is_some_and(|bits| bits > 24) => {
                Self::Double { unsigned }
            }
            T::Float => Self::Float { unsigned },
            T::Double => Self::Double { unsigned },
            T::Bit => Self::Bit { length: small(written.length.or(Some(1))) },
            T::Date => Self::Date,
            T::Time => Self::Time { fraction },
            T::DateTime => Self::DateTime { fraction },
            T::Timestamp => Self::Timestamp { fraction },
            T::Year => Self::Year,
            T::Char => text(length(Some(1))?, written, table, settings, false)?,
            T::VarChar => text(length(None)?, written, table, settings, true)?,
            T::TinyText => blob(BlobSize::Tiny, written, table, settings)?,
            T::Text => {
                let collation = collation(written, table, settings)?;
                let bytes =
                    written.length.map(|length| length.saturating_mul(u64::from(collation.bytes_per_character())));
                let size = said_size(bytes, settings);
                blob(size, written, table, settings)?
            }
            T::MediumText => blob(BlobSize::Medium, written, table, settings)?,
            T::LongText => blob(BlobSize::Long, written, table, settings)?,
            T::Binary => Self::Binary { length: length(Some(1))? },
            T::VarBinary => {
                let length = length(None)?;
                if length > LONGEST_VARCHAR {
                    Self::Blob { size: BlobSize::holding(length) }
                } else {
                    Self::VarBinary { length }
                }
            }
            T::TinyBlob => Self::Blob { size: BlobSize::Tiny },
            T::Blob => Self::Blob { size: said_size(written.length, settings) },
            T::MediumBlob => Self::Blob { size: BlobSize::Medium },
            T::LongBlob => Self::Blob { size: BlobSize::Long },
            T::Enum => Self::Enum { members: members(written), collation: collation(written, table, settings)? },
            T::Set => Self::Set { members: members(written), collation: collation(written, table, settings)? },
            T::Json if settings.is_mariadb() => {
                Self::Text { size: BlobSize::Long, collation: Collation::new("utf8mb4_bin") }
            }
            T::Json => Self::Json,
            T::Geometry => geometry(GeometryKind::Geometry),
            T::Point => geometry(GeometryKind::Point),
            T::LineString => geometry(GeometryKind::LineString),
            T::Polygon => geometry(GeometryKind::Polygon),
            T::MultiPoint => geometry(GeometryKind::MultiPoint),
            T::MultiLineString => geometry(GeometryKind::MultiLineString),
            T::MultiPolygon => geometry(GeometryKind::MultiPolygon),
            T::GeometryCollection => geometry(GeometryKind::Collection),
            T::Uuid => Self::Uuid,
            T::Inet4 => Self::Inet4,
            T::Inet6 => Self::Inet6,
            T::Vector => Self::Vector { dimensions: length(Some(2048))? },
        })
    }

    pub fn collation(&self) -> Option<&Collation> {
        match self {
            Self::Char { collation, .. }
            | Self::VarChar { collation, .. }
            | Self::Text { collation, .. }
            | Self::Enum { collation, .. }
            | Self::Set { collation, .. } => Some(collation),
            _ => None,
        }
    }

    /// What `CONVERT TO CHARACTER SET` makes of it. Texts grow so that every character still fits.
    pub fn converted(&self, to: &Collation) -> Self {
        match self {
            Self::Char { length, .. } => sized_text(*length, to.clone(), false),
            Self::VarChar { length, .. } => sized_text(*length, to.clone(), true),
            Self::Text { size, collation } => {
                let characters = size.bytes() / u64::from(collation.bytes_per_character());
                let size = match size {
                    BlobSize::Long => BlobSize::Long,
                    _ => BlobSize::holding(characters * u64::from(to.bytes_per_character())),
                };
                sized_blob(size, to.clone())
            }
            Self::Enum { members, .. } => Self::Enum { members: members.clone(), collation: to.clone() },
            Self::Set { members, .. } => Self::Set { members: members.clone(), collation: to.clone() },
            other => other.clone(),
        }
    }

    /// The longest value in characters, or in bytes for binary strings; none: not a string of bounded length.
    pub fn length(&self) -> Option<u64> {
        match self {
            Self::Char { length, .. }
            | Self::VarChar { length, .. }
            | Self::Binary { length }
            | Self::VarBinary { length } => Some(*length),
            _ => None,
        }
    }

    /// A TEXT or BLOB, of which a key needs a prefix.
    pub fn is_blob(&self) -> bool {
        matches!(self, Self::Text { .. } | Self::Blob { .. } | Self::Json | Self::Geometry { .. })
    }
}

/// A length that the servers keep small; what is beyond them is cut to the largest.
fn small(length: Option<u64>) -> u32 {
    length.map_or(0, |length| u32::try_from(length).unwrap_or(u32::MAX))
}

/// The size of TEXT(n) or BLOB(n). A length of 0 is none to MariaDB.
fn said_size(bytes: Option<u64>, settings: &Settings) -> BlobSize {
    let said = bytes.filter(|bytes| *bytes > 0 || !settings.is_mariadb());
    said.map_or(BlobSize::Normal, BlobSize::holding)
}

/// The servers strip blanks from the ends of members.
fn members(written: &DataType) -> Vec<String> {
    written.members.iter().map(|member| member.trim_end_matches(' ').to_owned()).collect()
}

/// The collation of a text column.
fn collation(written: &DataType, table: &Collation, settings: &Settings) -> Result<Collation, CatalogueError> {
    let inherited = if written.national { settings.default_collation("utf8mb3")? } else { table.clone() };
    let chosen = settings.choose(&written.charset, &inherited)?;
    let explicit = written.charset.collation.is_some();
    Ok(if written.binary && !explicit { chosen.by_code_point() } else { chosen })
}

fn text(
    length: u64,
    written: &DataType,
    table: &Collation,
    settings: &Settings,
    varying: bool,
) -> Result<ColumnType, CatalogueError> {
    Ok(sized_text(length, collation(written, table, settings)?, varying))
}

/// The character set `binary` makes binary strings of texts, and a VARCHAR that is too long becomes a TEXT.
fn sized_text(length: u64, collation: Collation, varying: bool) -> ColumnType {
    let bytes = length.saturating_mul(u64::from(collation.bytes_per_character()));
    match (collation.is_binary(), varying) {
        (_, true) if bytes > LONGEST_VARCHAR => sized_blob(BlobSize::holding(bytes), collation),
        (true, true) => ColumnType::VarBinary { length },
        (true, false) => ColumnType::Binary { length },
        (false, true) => ColumnType::VarChar { length, collation },
        (false, false) => ColumnType::Char { length, collation },
    }
}

fn blob(
    size: BlobSize,
    written: &DataType,
    table: &Collation,
    settings: &Settings,
) -> Result<ColumnType, CatalogueError> {
    Ok(sized_blob(size, collation(written, table, settings)?))
}

fn sized_blob(size: BlobSize, collation: Collation) -> ColumnType {
    if collation.is_binary() { ColumnType::Blob { size } } else { ColumnType::Text { size, collation } }
}
