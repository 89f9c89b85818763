//! The documents: equal to the files in `openapi/`, and fit for generators.

use std::collections::BTreeMap;

use serde_json::Value;

fn documents() -> ferrymaster::api::Documents {
    ferrymaster::api::documents().expect("the documents can be written")
}

fn operations(document: &Value) -> Vec<(String, &Value)> {
    let paths = document["paths"].as_object().expect("paths");
    paths
        .iter()
        .flat_map(|(path, methods)| {
            let methods = methods.as_object().expect("methods");
            methods.iter().map(move |(method, operation)| (format!("{method} {path}"), operation))
        })
        .collect()
}

#[test]
fn the_files_are_what_the_code_says() {
    let documents = documents();
    for (file, text) in [("openapi.json", &documents.openapi_31), ("dm.json", &documents.dm_30)] {
        let path = format!("{}/openapi/{file}", env!("CARGO_MANIFEST_DIR"));
        let kept = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(&kept == text, "openapi/{file} is not what the code says: run `ferrymaster openapi --dir openapi`");
    }
}

#[test]
fn every_operation_has_a_name_a_tag_a_summary_and_one_success() {
    let document: Value = serde_json::from_str(&documents().openapi_31).unwrap();
    let mut ids = BTreeMap::new();
    for (operation, value) in operations(&document) {
        let id = value["operationId"].as_str().unwrap_or_else(|| panic!("{operation} has no operationId"));
        assert!(ids.insert(id.to_owned(), operation.clone()).is_none(), "{id} is used twice");
        assert_eq!(value["tags"].as_array().map(Vec::len), Some(1), "{operation}");
        assert!(value["summary"].is_string(), "{operation} has no summary");
        let responses = value["responses"].as_object().unwrap();
        let successes = responses.keys().filter(|status| status.starts_with('2')).count();
        assert_eq!(successes, 1, "{operation}");
        for (status, response) in responses {
            let described = response["description"].as_str().is_some_and(|text| !text.is_empty());
            assert!(described, "{operation} {status} has no description");
            if !status.starts_with('2') {
                let schema = &response["content"]["application/json"]["schema"]["$ref"];
                assert_eq!(schema, "#/components/schemas/ErrorWithMessage", "{operation} {status}");
            }
        }
        for parameter in value["parameters"].as_array().into_iter().flatten() {
            assert!(parameter["description"].is_string(), "{operation}: {} has no description", parameter["name"]);
        }
    }
}

#[test]
fn every_schema_and_field_is_described_and_every_reference_leads_somewhere() {
    let document: Value = serde_json::from_str(&documents().openapi_31).unwrap();
    let schemas = document["components"]["schemas"].as_object().unwrap();
    for (name, schema) in schemas {
        assert!(schema["description"].is_string(), "{name} has no description");
        for (field, property) in schema["properties"].as_object().into_iter().flatten() {
            // Of a nullable reference the words stand beside the reference.
            let described = property["description"].is_string() || property["oneOf"][0]["description"].is_string();
            assert!(described, "{name}.{field} has no description");
        }
    }
    let mut references = Vec::new();
    collect_references(&document, &mut references);
    for reference in references {
        let name = reference.strip_prefix("#/components/schemas/").expect("a schema");
        assert!(schemas.contains_key(name), "{reference} leads nowhere");
    }
}

fn collect_references(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            if let Some(reference) = fields.get("$ref").and_then(Value::as_str) {
                found.push(reference.to_owned());
            }
            fields.values().for_each(|value| collect_references(value, found));
        }
        Value::Array(items) => items.iter().for_each(|value| collect_references(value, found)),
        _ => {}
    }
}

/// utoipa lets the second of two types of one name win in silence.
#[test]
fn no_two_wire_types_have_the_same_name() {
    let mut names = BTreeMap::new();
    let wire = format!("{}/src/model/wire", env!("CARGO_MANIFEST_DIR"));
    for entry in std::fs::read_dir(wire).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        for line in text.lines() {
            let name = line.strip_prefix("pub struct ").or_else(|| line.strip_prefix("pub enum "));
            let Some(name) = name.and_then(|rest| rest.split([' ', '(', '<', '{']).next()) else { continue };
            let earlier = names.insert(name.to_owned(), path.clone());
            assert!(earlier.is_none(), "{name} stands in {path:?} and in {earlier:?}");
        }
    }
}

#[test]
fn the_30_document_has_no_word_of_31() {
    fn check(value: &Value, path: &str) {
        match value {
            Value::Object(fields) => {
                for (name, value) in fields {
                    let here = format!("{path}/{name}");
                    if name == "type" && !path.ends_with("/properties") {
                        assert!(value.is_string(), "{here}");
                    }
                    let is_property = path.ends_with("/properties");
                    assert!(is_property || !["const", "examples", "propertyNames"].contains(&name.as_str()), "{here}");
                    check(value, &here);
                }
                assert!(!fields.contains_key("$ref") || fields.len() == 1, "{path}: words beside a reference");
            }
            Value::Array(items) => items.iter().for_each(|value| check(value, path)),
            _ => {}
        }
    }
    let document: Value = serde_json::from_str(&documents().dm_30).unwrap();
    assert_eq!(document["openapi"], "3.0.3");
    check(&document["components"], "components");
    check(&document["paths"], "paths");
}
