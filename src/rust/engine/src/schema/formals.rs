//! Between a function's formals and a schema's properties.

use super::structure;
use crate::value::{Map, Signature, Value, json};

/// Types that R holds in an atomic vector.
const SCALARS: [&str; 4] = ["string", "number", "integer", "boolean"];

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

/// The top-level properties that are arrays of one scalar type: a plain R function gets them as atomic vectors.
pub fn scalar_arrays(schema: &Value) -> Vec<String> {
    let properties = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
    properties.filter(|(_, inner)| is_scalar_array(inner)).map(|(name, _)| name.clone()).collect()
}

fn is_scalar_array(schema: &Value) -> bool {
    let of_items = schema.get("items").map(structure::types).unwrap_or_default();
    structure::types(schema) == ["array"] && matches!(of_items.as_slice(), [one] if SCALARS.contains(one))
}
