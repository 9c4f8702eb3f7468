//! What a record costs in a request, as an estimate.

use crate::prompt::estimate::{Class, estimate};
use crate::schema::{Schema, signature};
use crate::value::{HostValue, Value, json};

/// Tokens of a spec's declaration; 0 for kinds that are not shown to a model.
pub fn declaration(kind: &str, spec: &HostValue, schema: Option<&Schema>) -> u64 {
    let text = |field: &str| spec.field(field).and_then(HostValue::as_str);
    let budget = || spec.field("budget").and_then(HostValue::as_number).map_or(0, |x| x as u64);
    match kind {
        "tool" => tool(spec, schema),
        "prompt_section" => text("text").map_or_else(budget, |t| estimate(t, Class::Prose)),
        "context_block" => budget(),
        "guidance" => text("text").map_or(0, |t| estimate(t, Class::Prose)),
        "skill" => spec.field("tokens").and_then(HostValue::as_number).map_or_else(
            || {
                estimate(
                    &format!("{} {}", text("name").unwrap_or_default(), text("description").unwrap_or_default()),
                    Class::Prose,
                )
            },
            |x| x as u64,
        ),
        _ => 0,
    }
}

/// Tokens of a placeholder: what its extension declared of it.
pub fn declared(spec: &HostValue) -> u64 {
    let Some(declaration) = spec.field("declaration") else { return 0 };
    let words: Vec<&str> = ["signature", "description"].iter().filter_map(|f| declaration.field(f)?.as_str()).collect();
    if words.is_empty() { 0 } else { estimate(&words.join(" "), Class::Code) }
}

fn tool(spec: &HostValue, schema: Option<&Schema>) -> u64 {
    let text = |field: &str| spec.field(field).and_then(HostValue::as_str);
    let name = text("name").unwrap_or_default();
    let schema = schema.map_or(Value::Null, |s| s.json().clone());
    match text("exposure").unwrap_or("direct") {
        "direct" => {
            let json = json!({"name": name, "description": text("description"), "input_schema": schema});
            estimate(&json.to_string(), Class::Json)
        }
        "r" => {
            let prefix = text("namespace").map_or("peter$".to_owned(), |ns| format!("peter${ns}$"));
            let line =
                text("signature").map_or_else(|| signature(&prefix, name, &schema, text("description")), str::to_owned);
            estimate(&line, Class::Code)
        }
        _ => 0,
    }
}
