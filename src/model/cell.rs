//! How the cells of a column travel from the source to the target.

/// The form in which a cell's bytes are read from the source and written to the target. Text is used only where it
/// is exact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CellForm {
    /// Digits, dates, UUIDs: ASCII that both families print and read back exactly.
    Text,
    /// In the column's own character set, byte for byte.
    Characters { charset: String },
    /// Binary strings and bits.
    Bytes,
    /// ENUM and SET by their number: their text is ambiguous (the error value prints as an empty string, and members
    /// may look like numbers).
    Number,
    /// A JSON document as UTF-8 text.
    Json,
    /// The server's own form of a geometry: SRID and WKB.
    Geometry,
}

/// A column that is copied: a column of the source with a column of the same name in the target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CopiedColumn {
    pub name: String,
    pub form: CellForm,
    /// The character set of the target's column, when it has one.
    pub target_charset: Option<String>,
}
