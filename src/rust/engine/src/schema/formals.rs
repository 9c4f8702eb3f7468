//! Between a function's formals and a schema's properties.

use crate::value::{Map, Signature, Value, json};

/// A schema for a function without one: each formal but `...` is a string, those without default are required.
pub fn from_formals(signature: &Signature) -> Value {
    let formals = || signature.formals.iter().filter(|f| f.name != "...");
    let properties: Map<String, Value> = formals().map(|f| (f.name.clone(), json!({"type": "string"}))).collect();
    let required: Vec<&str> = formals().filter(|f| f.required).map(|f| f.name.as_str()).collect();
    let mut schema = json!({"type": "object", "properties": properties});
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema
}

/// The formals of a function for a schema, each with whether it is required: the required ones first, in the order
/// of `required`, then the others as declared.
pub fn formals_of(schema: &Value) -> Vec<(String, bool)> {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return Vec::new() };
    let mut out: Vec<(String, bool)> = Vec::new();
    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    for name in required.filter(|n| properties.contains_key(*n)) {
        if !out.iter().any(|(n, _)| n == name) {
            out.push((name.to_owned(), true));
        }
    }
    let others: Vec<&String> = properties.keys().filter(|n| !out.iter().any(|(have, _)| have == *n)).collect();
    out.extend(others.into_iter().map(|n| (n.clone(), false)));
    out
}
