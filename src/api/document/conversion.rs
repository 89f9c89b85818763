//! OpenAPI 3.1 to 3.0.3. Only schemas differ in what we use: 3.1 has JSON Schema's own words for null, bounds and
//! examples, and allows words beside a `$ref`.

use serde_json::{Map, Value, json};

type Object = Map<String, Value>;

/// The same document in the words of 3.0.3.
pub fn to_openapi_30(mut document: Value) -> Value {
    if let Value::Object(root) = &mut document {
        root.insert("openapi".to_owned(), json!("3.0.3"));
        root.remove("webhooks");
        root.remove("jsonSchemaDialect");
        if let Some(Value::Object(license)) = root.get_mut("info").and_then(|info| info.get_mut("license")) {
            license.remove("identifier");
        }
    }
    walk(&mut document);
    document
}

/// Looks for schemas outside of schemas.
fn walk(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields.iter_mut() {
                match (name.as_str(), value) {
                    ("schema", schema) => convert(schema),
                    ("schemas", Value::Object(schemas)) => schemas.values_mut().for_each(convert),
                    // Free JSON: nothing in it is a schema, whatever it is called.
                    ("example" | "examples", _) => {}
                    (_, other) => walk(other),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(walk),
        _ => {}
    }
}

/// Converts one schema and the schemas in it.
fn convert(schema: &mut Value) {
    let Value::Object(fields) = schema else { return };
    for (name, value) in fields.iter_mut() {
        match (name.as_str(), value) {
            ("properties" | "patternProperties", Value::Object(properties)) => {
                properties.values_mut().for_each(convert);
            }
            ("items" | "additionalProperties" | "not", schema) => convert(schema),
            ("allOf" | "anyOf" | "oneOf", Value::Array(schemas)) => schemas.iter_mut().for_each(convert),
            _ => {}
        }
    }
    convert_null(fields);
    convert_bound(fields, "minimum", "exclusiveMinimum");
    convert_bound(fields, "maximum", "exclusiveMaximum");
    convert_examples(fields);
    if let Some(value) = fields.remove("const") {
        fields.insert("enum".to_owned(), Value::Array(vec![value]));
    }
    fields.remove("propertyNames");
    wrap_reference(fields);
}

fn convert_null(fields: &mut Object) {
    if let Some(Value::Array(types)) = fields.get("type") {
        let mut rest: Vec<Value> = types.iter().filter(|t| *t != "null").cloned().collect();
        let nullable = rest.len() < types.len();
        if rest.len() == 1 {
            fields.insert("type".to_owned(), rest.remove(0));
        } else {
            fields.remove("type");
        }
        if nullable {
            fields.insert("nullable".to_owned(), json!(true));
        }
    }
    for word in ["oneOf", "anyOf"] {
        let Some(Value::Array(choices)) = fields.get(word) else { continue };
        let mut rest: Vec<Value> =
            choices.iter().filter(|choice| choice.get("type") != Some(&json!("null"))).cloned().collect();
        if rest.len() < choices.len() {
            let word_after = if rest.len() == 1 { "allOf" } else { word };
            fields.remove(word);
            if let [Value::Object(only)] = rest.as_mut_slice()
                && let Some(description) = only.remove("description")
            {
                fields.insert("description".to_owned(), description);
                unwrap_reference(only);
            }
            fields.insert(word_after.to_owned(), Value::Array(rest));
            fields.insert("nullable".to_owned(), json!(true));
        }
    }
}

/// `exclusiveMinimum: 3` becomes `minimum: 3, exclusiveMinimum: true`.
fn convert_bound(fields: &mut Object, bound: &str, exclusive: &str) {
    if fields.get(exclusive).is_some_and(Value::is_number)
        && let Some(limit) = fields.remove(exclusive)
    {
        fields.insert(bound.to_owned(), limit);
        fields.insert(exclusive.to_owned(), json!(true));
    }
}

fn convert_examples(fields: &mut Object) {
    if let Some(Value::Array(mut examples)) = fields.remove("examples")
        && !examples.is_empty()
        && !fields.contains_key("example")
    {
        fields.insert("example".to_owned(), examples.swap_remove(0));
    }
}

/// A reference that has lost the words beside it needs no wrapping any more.
fn unwrap_reference(fields: &mut Object) {
    if let Some(Value::Array(wrapped)) = fields.get("allOf")
        && let [only] = wrapped.as_slice()
        && let Some(reference) = only.get("$ref").cloned()
    {
        fields.remove("allOf");
        fields.insert("$ref".to_owned(), reference);
    }
}

/// In 3.0 words beside a `$ref` are ignored.
fn wrap_reference(fields: &mut Object) {
    if fields.len() > 1
        && let Some(reference) = fields.remove("$ref")
    {
        fields.insert("allOf".to_owned(), json!([{ "$ref": reference }]));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn converted(schema: Value) -> Value {
        to_openapi_30(json!({"components": {"schemas": {"S": schema}}}))["components"]["schemas"]["S"].clone()
    }

    #[test]
    fn each_word_of_31_gets_its_word_in_30() {
        for (before, after) in [
            (json!({"type": ["string", "null"]}), json!({"type": "string", "nullable": true})),
            (
                json!({"oneOf": [{"type": "null"}, {"$ref": "#/x"}]}),
                json!({"allOf": [{"$ref": "#/x"}], "nullable": true}),
            ),
            (
                json!({"type": "integer", "exclusiveMinimum": 3}),
                json!({"type": "integer", "minimum": 3, "exclusiveMinimum": true}),
            ),
            (
                json!({"oneOf": [{"$ref": "#/x", "description": "d"}, {"type": "null"}]}),
                json!({"description": "d", "allOf": [{"$ref": "#/x"}], "nullable": true}),
            ),
            (json!({"const": "a"}), json!({"enum": ["a"]})),
            (json!({"type": "string", "examples": ["a", "b"]}), json!({"type": "string", "example": "a"})),
            (json!({"type": "object", "propertyNames": {"type": "string"}}), json!({"type": "object"})),
            (json!({"$ref": "#/x", "description": "d"}), json!({"allOf": [{"$ref": "#/x"}], "description": "d"})),
            (json!({"$ref": "#/x"}), json!({"$ref": "#/x"})),
        ] {
            assert_eq!(converted(before.clone()), after, "{before}");
        }
    }

    #[test]
    fn schemas_are_found_at_any_depth_and_properties_may_have_any_name() {
        let schema =
            json!({"properties": {"const": {"type": ["integer", "null"]}, "examples": {"items": {"const": 1}}}});
        assert_eq!(
            converted(schema),
            json!({"properties": {"const": {"type": "integer", "nullable": true}, "examples": {"items": {"enum": [1]}}}})
        );
        let document = json!({"paths": {"/a": {"get": {"parameters": [{"schema": {"type": ["boolean", "null"]}}]}}}});
        assert_eq!(
            to_openapi_30(document)["paths"]["/a"]["get"]["parameters"][0]["schema"],
            json!({"type": "boolean", "nullable": true})
        );
    }
}
