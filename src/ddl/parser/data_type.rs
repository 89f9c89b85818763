//! Column types of both families with all their synonyms.

use super::cursor::{Parser, Result};
use crate::ddl::token::TokenKind;
use crate::ddl::tree::{CharsetChoice, DataType, Ident, TypeName};

/// What may stand in the parentheses after a type's name.
enum Arguments {
    None,
    /// `(n)`
    Length,
    /// `(n)` or `(n, m)`
    LengthAndScale,
    /// `('a', 'b')`
    Members,
}

/// Types of one word.
const WORDS: &[(&str, TypeName)] = &[
    ("BIT", TypeName::Bit),
    ("BOOL", TypeName::Bool),
    ("BOOLEAN", TypeName::Bool),
    ("TINYINT", TypeName::TinyInt),
    ("INT1", TypeName::TinyInt),
    ("SMALLINT", TypeName::SmallInt),
    ("INT2", TypeName::SmallInt),
    ("MEDIUMINT", TypeName::MediumInt),
    ("MIDDLEINT", TypeName::MediumInt),
    ("INT3", TypeName::MediumInt),
    ("INT", TypeName::Int),
    ("INTEGER", TypeName::Int),
    ("INT4", TypeName::Int),
    ("BIGINT", TypeName::BigInt),
    ("INT8", TypeName::BigInt),
    ("SERIAL", TypeName::Serial),
    ("DECIMAL", TypeName::Decimal),
    ("DEC", TypeName::Decimal),
    ("NUMERIC", TypeName::Decimal),
    ("FIXED", TypeName::Decimal),
    ("NUMBER", TypeName::Decimal),
    ("FLOAT", TypeName::Float),
    ("FLOAT4", TypeName::Float),
    ("FLOAT8", TypeName::Double),
    ("DATE", TypeName::Date),
    ("TIME", TypeName::Time),
    ("DATETIME", TypeName::DateTime),
    ("TIMESTAMP", TypeName::Timestamp),
    ("YEAR", TypeName::Year),
    ("VARCHAR", TypeName::VarChar),
    ("VARCHAR2", TypeName::VarChar),
    ("VARCHARACTER", TypeName::VarChar),
    ("BINARY", TypeName::Binary),
    ("VARBINARY", TypeName::VarBinary),
    ("RAW", TypeName::VarBinary),
    ("TINYTEXT", TypeName::TinyText),
    ("TEXT", TypeName::Text),
    ("MEDIUMTEXT", TypeName::MediumText),
    ("LONGTEXT", TypeName::LongText),
    ("CLOB", TypeName::LongText),
    ("TINYBLOB", TypeName::TinyBlob),
    ("BLOB", TypeName::Blob),
    ("MEDIUMBLOB", TypeName::MediumBlob),
    ("LONGBLOB", TypeName::LongBlob),
    ("ENUM", TypeName::Enum),
    ("SET", TypeName::Set),
    ("JSON", TypeName::Json),
    ("GEOMETRY", TypeName::Geometry),
    ("POINT", TypeName::Point),
    ("LINESTRING", TypeName::LineString),
    ("POLYGON", TypeName::Polygon),
    ("MULTIPOINT", TypeName::MultiPoint),
    ("MULTILINESTRING", TypeName::MultiLineString),
    ("MULTIPOLYGON", TypeName::MultiPolygon),
    ("GEOMETRYCOLLECTION", TypeName::GeometryCollection),
    ("GEOMCOLLECTION", TypeName::GeometryCollection),
    ("UUID", TypeName::Uuid),
    ("INET4", TypeName::Inet4),
    ("INET6", TypeName::Inet6),
    ("VECTOR", TypeName::Vector),
];

fn arguments(name: TypeName) -> Arguments {
    use TypeName as T;
    match name {
        T::Decimal | T::Float | T::Double => Arguments::LengthAndScale,
        T::Enum | T::Set => Arguments::Members,
        T::Bool | T::Serial | T::Date | T::Json | T::Uuid | T::Inet4 | T::Inet6 => Arguments::None,
        T::TinyText | T::MediumText | T::LongText | T::TinyBlob | T::MediumBlob | T::LongBlob => Arguments::None,
        // MariaDB takes a length after geometry types, and ignores it
        _ => Arguments::Length,
    }
}

fn is_text(name: TypeName) -> bool {
    use TypeName as T;
    matches!(
        name,
        T::Char | T::VarChar | T::TinyText | T::Text | T::MediumText | T::LongText | T::Enum | T::Set | T::Json
    )
}

fn is_number(name: TypeName) -> bool {
    use TypeName as T;
    matches!(
        name,
        T::TinyInt | T::SmallInt | T::MediumInt | T::Int | T::BigInt | T::Decimal | T::Float | T::Double | T::Year
    )
}

impl Parser<'_> {
    pub fn data_type(&mut self) -> Result<DataType> {
        let start = self.here();
        let (name, national) = self.type_name()?;
        let mut data_type = DataType {
            name,
            length: None,
            scale: None,
            unsigned: false,
            zerofill: false,
            members: Vec::new(),
            charset: CharsetChoice::default(),
            binary: false,
            national,
            srid: None,
            span: self.since(start),
        };
        self.type_arguments(&mut data_type)?;
        self.type_attributes(&mut data_type)?;
        data_type.span = self.since(start);
        Ok(data_type)
    }

    /// The type's words; true if it is a NATIONAL one.
    fn type_name(&mut self) -> Result<(TypeName, bool)> {
        if self.eat("NATIONAL") {
            if self.eat_any(&["VARCHAR", "VARCHARACTER"]).is_some() {
                return Ok((TypeName::VarChar, true));
            }
            return self.character(true);
        }
        if self.eat("NVARCHAR") {
            return Ok((TypeName::VarChar, true));
        }
        if self.eat("NCHAR") {
            let varying = self.eat_any(&["VARYING", "VARCHAR", "VARCHARACTER"]).is_some();
            return Ok((if varying { TypeName::VarChar } else { TypeName::Char }, true));
        }
        if self.is_any_keyword(&["CHAR", "CHARACTER"]) {
            return self.character(false);
        }
        if self.eat("LONG") {
            if self.eat("VARBINARY") {
                return Ok((TypeName::MediumBlob, false));
            }
            let _: bool = self.eat_any(&["CHAR VARYING", "CHARACTER VARYING", "VARCHAR", "VARCHARACTER"]).is_some();
            return Ok((TypeName::MediumText, false));
        }
        if self.eat("DOUBLE") {
            self.eat("PRECISION");
            return Ok((TypeName::Double, false));
        }
        if self.eat("REAL") {
            return Ok((if self.context.real_as_float { TypeName::Float } else { TypeName::Double }, false));
        }
        let word = self.word_at(0).unwrap_or("");
        let Some((_, name)) = WORDS.iter().find(|(keyword, _)| word.eq_ignore_ascii_case(keyword)) else {
            return self.unexpected("a column type");
        };
        self.advance();
        // Oracle's DATE has a time
        let name = if *name == TypeName::Date && self.context.oracle { TypeName::DateTime } else { *name };
        Ok((name, false))
    }

    /// CHAR, CHARACTER, and either of them VARYING.
    fn character(&mut self, national: bool) -> Result<(TypeName, bool)> {
        if self.eat_any(&["CHAR", "CHARACTER"]).is_none() {
            return self.unexpected("a column type");
        }
        let varying = self.eat("VARYING");
        Ok((if varying { TypeName::VarChar } else { TypeName::Char }, national))
    }

    fn type_arguments(&mut self, data_type: &mut DataType) -> Result<()> {
        if !self.is_sign('(') {
            return Ok(());
        }
        match arguments(data_type.name) {
            Arguments::None => return self.unexpected("no parenthesis after this type"),
            Arguments::Members => {
                self.expect_sign('(')?;
                loop {
                    data_type.members.push(self.member()?);
                    if !self.eat_sign(',') {
                        break;
                    }
                }
            }
            Arguments::Length | Arguments::LengthAndScale => {
                self.expect_sign('(')?;
                // Oracle's `VARCHAR2(10 CHAR)`, `NUMBER(*, 2)`
                data_type.length = if self.eat_sign('*') { None } else { Some(self.number()?) };
                self.eat_any(&["CHAR", "BYTE"]);
                if matches!(arguments(data_type.name), Arguments::LengthAndScale) && self.eat_sign(',') {
                    let scale = self.number()?;
                    data_type.scale = u32::try_from(scale).ok();
                }
            }
        }
        self.expect_sign(')')
    }

    /// A member of ENUM or SET: a string, or a bit literal (as some dumps write them).
    fn member(&mut self) -> Result<String> {
        if let Some(word) = self.word_at(0)
            && word.starts_with('_')
            && matches!(self.peek_at(1).kind, TokenKind::Text(_) | TokenKind::Bits)
        {
            self.advance();
        }
        let token = self.peek();
        if token.kind != TokenKind::Bits {
            return self.text();
        }
        let written = token.span.of(self.text);
        let digits = written.get(1..).unwrap_or("").trim_matches(['x', 'X', '\'']);
        let hexadecimal = written.starts_with(['x', 'X']) || written.starts_with("0x");
        let bytes = hexadecimal.then(|| hex_bytes(digits)).flatten();
        match bytes.and_then(|bytes| String::from_utf8(bytes).ok()) {
            Some(member) => {
                self.advance();
                Ok(member)
            }
            None => self.unexpected("a member as readable text"),
        }
    }

    /// UNSIGNED, ZEROFILL, character sets and what else belongs to the type, in any order.
    fn type_attributes(&mut self, data_type: &mut DataType) -> Result<()> {
        loop {
            if is_number(data_type.name) && self.eat("UNSIGNED") {
                data_type.unsigned = true;
            } else if is_number(data_type.name) && self.eat("ZEROFILL") {
                data_type.zerofill = true;
                data_type.unsigned = true;
            } else if is_number(data_type.name) && self.eat("SIGNED") {
                // the default, said aloud
            } else if is_text(data_type.name) && self.charset_attribute(data_type)? {
                // noted there
            } else {
                return Ok(());
            }
        }
    }

    /// `CHARACTER SET x`, `BINARY`, `BYTE`, `ASCII`, `UNICODE`.
    fn charset_attribute(&mut self, data_type: &mut DataType) -> Result<bool> {
        if let Some(charset) = self.charset_clause()? {
            data_type.charset.charset = Some(charset.value.to_ascii_lowercase());
            self.note_column_charset(charset);
            return Ok(true);
        }
        let start = self.here();
        let word = match self.eat_any(&["BINARY", "BYTE", "ASCII", "UNICODE"]) {
            Some("BINARY") => {
                data_type.binary = true;
                return Ok(true);
            }
            Some("BYTE") => "binary",
            Some("ASCII") => "latin1",
            Some(_) => "ucs2",
            None => return Ok(false),
        };
        data_type.charset.charset = Some(word.to_owned());
        if word != "binary" {
            self.note_column_charset(Ident { value: word.to_owned(), span: self.since(start) });
        }
        Ok(true)
    }
}

fn hex_bytes(digits: &str) -> Option<Vec<u8>> {
    let digits = digits.as_bytes();
    let pairs = digits.chunks(2).map(|pair| {
        let pair = std::str::from_utf8(pair).ok()?;
        u8::from_str_radix(pair, 16).ok()
    });
    if digits.len().is_multiple_of(2) { pairs.collect() } else { None }
}
