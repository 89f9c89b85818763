//! A column's definition as written; what a server makes of it is the catalogue's matter.

use super::{CharsetChoice, ForeignKeyDefinition, Ident, TableRef};
use crate::ddl::token::Span;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnDefinition {
    pub name: Ident,
    pub data_type: DataType,
    /// As the statement says with NULL or NOT NULL.
    pub nullable: Option<bool>,
    pub default: Option<DefaultValue>,
    pub on_update: Option<Span>,
    pub auto_increment: bool,
    /// `PRIMARY KEY` or `KEY` on the column itself.
    pub primary_key: bool,
    /// `UNIQUE` on the column itself.
    pub unique_key: bool,
    pub generated: Option<Generated>,
    pub invisible: bool,
    /// MariaDB's `COMPRESSED`: the value is stored, and logged, in a form of its own.
    pub compressed: bool,
    /// `WITHOUT SYSTEM VERSIONING`.
    pub without_system_versioning: bool,
    /// `WITH SYSTEM VERSIONING` on the column: the table gets versions even if it does not ask for them.
    pub with_system_versioning: bool,
    /// `REFERENCES` on the column itself: MariaDB makes a foreign key of it, MySQL only from 9.0 on.
    pub references: Option<Box<ForeignKeyDefinition>>,
    /// CHECK constraints on the column itself.
    pub checks: u32,
    pub span: Span,
}

/// The words of the type. Length and scale are as written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataType {
    pub name: TypeName,
    pub length: Option<u64>,
    pub scale: Option<u32>,
    pub unsigned: bool,
    pub zerofill: bool,
    /// Of ENUM and SET; blanks at the end as written.
    pub members: Vec<String>,
    /// Explicit character set and collation of the column.
    pub charset: CharsetChoice,
    /// The attribute BINARY of a text: the binary collation of its character set.
    pub binary: bool,
    /// `NATIONAL` or `N…`: the character set is utf8mb3.
    pub national: bool,
    pub srid: Option<u32>,
    pub span: Span,
}

/// Types after synonyms are resolved (`INT4` is `Int`, `NUMERIC` is `Decimal`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TypeName {
    Bit,
    /// `BOOL`: a TINYINT(1).
    Bool,
    TinyInt,
    SmallInt,
    MediumInt,
    Int,
    BigInt,
    /// BIGINT UNSIGNED NOT NULL AUTO_INCREMENT UNIQUE.
    Serial,
    Decimal,
    Float,
    Double,
    Date,
    Time,
    DateTime,
    Timestamp,
    Year,
    Char,
    VarChar,
    Binary,
    VarBinary,
    TinyText,
    Text,
    MediumText,
    LongText,
    TinyBlob,
    Blob,
    MediumBlob,
    LongBlob,
    Enum,
    Set,
    Json,
    Geometry,
    Point,
    LineString,
    Polygon,
    MultiPoint,
    MultiLineString,
    MultiPolygon,
    GeometryCollection,
    Uuid,
    Inet4,
    Inet6,
    Vector,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DefaultValue {
    pub kind: DefaultKind,
    pub span: Span,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DefaultKind {
    Null,
    /// A number, a string, a bit or date literal, TRUE, FALSE.
    Literal,
    /// `CURRENT_TIMESTAMP` and its synonyms.
    CurrentTimestamp,
    Expression(Expression),
}

/// An expression, kept as text. What it calls is listed, since some of it needs routing or gives other values
/// elsewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expression {
    pub span: Span,
    /// Names that stand before a parenthesis and functions written without one, in upper case.
    pub functions: Vec<String>,
    /// Sequences whose next or last value is taken.
    pub sequences: Vec<TableRef>,
    /// Reads `@x` or `@@x`.
    pub reads_variables: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Generated {
    Virtual(Expression),
    Stored(Expression),
    /// `GENERATED ALWAYS AS ROW START`.
    RowStart,
    /// `GENERATED ALWAYS AS ROW END`.
    RowEnd,
}
