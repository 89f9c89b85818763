//! A reader of JSON values that is stricter and milder than serde's own in one point each.
//!
//! Stricter: an object is wanted where a type has named fields (serde would take an array for one). Milder: fields
//! that are `null` are passed over, as if they were not there.

use serde::de::value::{MapDeserializer, SeqDeserializer};
use serde::de::{Deserializer, Error, IntoDeserializer, Unexpected, Visitor};
use serde::forward_to_deserialize_any;
use serde_json::{Error as JsonError, Value};

/// A JSON value to read from.
pub struct Reader(pub Value);

impl Reader {
    fn visit_fields<'de, V: Visitor<'de>>(
        fields: serde_json::Map<String, Value>,
        visitor: V,
    ) -> Result<V::Value, JsonError> {
        let present = fields.into_iter().filter(|(_, value)| !value.is_null());
        visitor.visit_map(MapDeserializer::new(present.map(|(name, value)| (name, Self(value)))))
    }

    fn unexpected(value: &Value) -> Unexpected<'_> {
        match value {
            Value::Null => Unexpected::Unit,
            Value::Bool(boolean) => Unexpected::Bool(*boolean),
            Value::Number(_) => Unexpected::Other("number"),
            Value::String(text) => Unexpected::Str(text),
            Value::Array(_) => Unexpected::Seq,
            Value::Object(_) => Unexpected::Map,
        }
    }
}

impl<'de> IntoDeserializer<'de, JsonError> for Reader {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Deserializer<'de> for Reader {
    type Error = JsonError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, JsonError> {
        match self.0 {
            Value::Object(fields) => Self::visit_fields(fields, visitor),
            Value::Array(items) => visitor.visit_seq(SeqDeserializer::new(items.into_iter().map(Self))),
            other => other.deserialize_any(visitor),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, JsonError> {
        match self.0 {
            Value::Object(fields) => Self::visit_fields(fields, visitor),
            other => Err(JsonError::invalid_type(Self::unexpected(&other), &visitor)),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, JsonError> {
        if self.0.is_null() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, JsonError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, JsonError> {
        self.0.deserialize_enum(name, variants, visitor)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct map identifier ignored_any
    }
}
