//! Mends how utoipa writes an inlined type with words of its own.
//!
//! It writes `allOf: [the type, {type: object, description, default}]`, which no value can satisfy when the type is a
//! string. What is meant is the type, with these words in place of its own.

use serde_json::{Map, Value, json};

/// Mends every place of a document.
pub fn merge_inlined(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.values_mut().for_each(merge_inlined);
            if let Some(merged) = merged(fields) {
                *fields = merged;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(merge_inlined),
        _ => {}
    }
}

fn merged(fields: &Map<String, Value>) -> Option<Map<String, Value>> {
    let Some([Value::Object(inlined), Value::Object(words)]) = fields.get("allOf")?.as_array().map(Vec::as_slice)
    else {
        return None;
    };
    let only_words = words.get("type") == Some(&json!("object")) && !words.contains_key("properties");
    if fields.len() > 1 || inlined.contains_key("$ref") || !only_words {
        return None;
    }
    let mut merged = inlined.clone();
    merged.extend(words.iter().filter(|(name, _)| *name != "type").map(|(name, value)| (name.clone(), value.clone())));
    Some(merged)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_the_place_win_over_those_of_the_type() {
        let mut value = json!({"properties": {"mode": {"allOf": [
            {"type": "string", "description": "the type", "enum": ["a", "b"]},
            {"type": "object", "description": "the field", "default": "a"},
        ]}}});
        merge_inlined(&mut value);
        assert_eq!(
            value,
            json!({"properties": {"mode": {"type": "string", "description": "the field", "enum": ["a", "b"], "default": "a"}}})
        );
    }

    #[test]
    fn other_combinations_stay() {
        let before = json!({"allOf": [{"$ref": "#/x"}, {"type": "object", "description": "d"}]});
        let mut value = before.clone();
        merge_inlined(&mut value);
        assert_eq!(value, before);
    }
}
