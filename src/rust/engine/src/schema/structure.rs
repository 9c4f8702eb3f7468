//! Problems of a schema's structure that a person can repair, in plain words.

use crate::value::{Map, Value};

/// The type names of JSON Schema.
pub(super) const TYPES: [&str; 7] = ["object", "array", "string", "number", "integer", "boolean", "null"];

/// The types that a schema's own `type` lists.
pub(super) fn types(schema: &Value) -> Vec<&str> {
    match schema.get("type") {
        Some(Value::String(one)) => vec![one],
        Some(Value::Array(several)) => several.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

/// What is wrong with the structure of a schema; empty when nothing is. Problems inside it begin with its path:
/// `tags[]: type 'text' is not known`.
pub fn structural_problems(schema: &Value) -> Vec<String> {
    let mut out = Vec::new();
    collect(schema, "", &mut out);
    out
}

fn collect(schema: &Value, path: &str, out: &mut Vec<String>) {
    let mut say = |problem: String| out.push(if path.is_empty() { problem } else { format!("{path}: {problem}") });
    let map = match schema {
        Value::Object(map) => map,
        Value::Array(items) if items.is_empty() => return,
        Value::Bool(_) if !path.is_empty() => return,
        _ => return say("the schema is not an object".to_owned()),
    };
    own_problems(map, &mut say);
    let join = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
    for (name, inner) in map.get("properties").and_then(Value::as_object).into_iter().flatten() {
        collect(inner, &join(name), out);
    }
    if let Some(items) = map.get("items").filter(|items| !items.is_array()) {
        collect(items, &format!("{path}[]"), out);
    }
}

fn own_problems(map: &Map<String, Value>, say: &mut impl FnMut(String)) {
    let named: Vec<&Value> = match map.get("type") {
        Some(Value::Array(several)) => several.iter().collect(),
        Some(one) => vec![one],
        None => Vec::new(),
    };
    for name in named {
        match name.as_str() {
            Some(known) if TYPES.contains(&known) => {}
            Some(other) => say(format!("type '{other}' is not known")),
            None => say("type is not a string".to_owned()),
        }
    }
    let properties = map.get("properties");
    if properties.is_some_and(|p| !p.is_object()) {
        say("properties is not an object".to_owned());
    }
    if let Some(required) = map.get("required") {
        required_problems(required, properties.and_then(Value::as_object), say);
    }
    if map.get("enum").and_then(Value::as_array).is_some_and(Vec::is_empty) {
        say("enum is empty".to_owned());
    }
}

fn required_problems(required: &Value, properties: Option<&Map<String, Value>>, say: &mut impl FnMut(String)) {
    let names: Option<Vec<&str>> = required.as_array().and_then(|r| r.iter().map(Value::as_str).collect());
    let Some(names) = names else { return say("required is not an array of strings".to_owned()) };
    let Some(properties) = properties else { return };
    for name in names.iter().filter(|n| !properties.contains_key(**n)) {
        say(format!("required property '{name}' is not in properties"));
    }
}
