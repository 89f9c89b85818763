//! Bodies of requests, as a client of DM writes them.

use serde_json::{Value, json};

use crate::servers::mariadb_target;

/// Asks for a source, as root of a server on this machine.
pub fn source(name: &str, port: u16) -> Value {
    json!({"source": {"source_name": name, "host": "127.0.0.1", "port": port, "user": "root", "password": "",
        "enable_gtid": false, "enable": true, "case_sensitive": true}})
}

/// Asks for a task of mode `all` that copies the database from each of the sources to the MariaDB target.
pub fn task(name: &str, sources: &[&str], database: &str) -> Value {
    let rules: Vec<Value> = sources
        .iter()
        .map(|source| json!({"source": {"source_name": source, "schema": database, "table": "*"}}))
        .collect();
    let sources: Vec<Value> = sources.iter().map(|source| json!({"source_name": source})).collect();
    json!({"task": {
        "name": name, "task_mode": "all", "on_duplicate": "error", "enhance_online_schema_change": true,
        "meta_schema": format!("{database}_meta"),
        "target_config": {"host": "127.0.0.1", "port": mariadb_target().port(), "user": "root", "password": ""},
        "table_migrate_rule": rules,
        "source_config": {"source_conf": sources},
    }})
}

/// The same body with another value at this place.
pub fn with(mut body: Value, place: &str, value: Value) -> Value {
    let (parent, field) = place.rsplit_once('/').expect("a place begins with a slash");
    let parent = body.pointer_mut(parent).unwrap_or_else(|| panic!("nothing is at {place}"));
    match parent {
        Value::Array(items) => items[field.parse::<usize>().expect("a number")] = value,
        other => other[field] = value,
    }
    body
}
