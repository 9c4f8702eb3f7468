//! Which fields of a payload a handler may patch, and with what.

use crate::message::Block;
use crate::reply::object;
use crate::value::{HostValue, Map, Value, json};

type Check = fn(&Value, &HostValue) -> Result<Value, String>;

/// Event, field, and the check that makes the new value from the current one and the handler's.
const FIELDS: &[(&str, &str, Check)] = &[
    ("tool_result", "content", content),
    ("tool_result", "details", details),
    ("tool_result", "is_error", flag),
    ("request_params", "params", merge),
    ("request_headers", "headers", headers),
    ("request_body", "body", merge),
];

/// The new value of a field.
///
/// # Errors
/// Why it can't be patched so.
pub fn field(event: &str, name: &str, current: &Value, value: &HostValue) -> Result<Value, String> {
    let Some((_, _, check)) = FIELDS.iter().find(|(e, f, _)| *e == event && *f == name) else {
        return Err(format!("`{name}` can't be patched"));
    };
    check(current, value).map_err(|problem| format!("`{name}` {problem}"))
}

/// Content blocks from their JSON form; `None` unless all are text or image blocks.
pub fn blocks(content: &Value) -> Option<Vec<Block>> {
    content.as_array()?.iter().map(block).collect()
}

fn block(json: &Value) -> Option<Block> {
    let string = |name: &str| json.get(name).and_then(Value::as_str).map(str::to_owned);
    let pixels = |name: &str| json.get(name).and_then(Value::as_u64).and_then(|n| u32::try_from(n).ok());
    match json.get("type")?.as_str()? {
        "text" => Some(Block::Text { text: string("text")?, signature: string("signature") }),
        "image" => Some(Block::Image {
            mime: string("mime")?,
            data: string("data")?,
            source: string("source").unwrap_or_default(),
            width: pixels("width"),
            height: pixels("height"),
        }),
        _ => None,
    }
}

fn content(_: &Value, value: &HostValue) -> Result<Value, String> {
    let problem = || "must be a list of text and image blocks".to_owned();
    if !value.is_plain_list() || value.names.is_some() {
        return Err(problem());
    }
    let blocks = blocks(&value.to_json().map_err(|e| e.to_string())?).ok_or_else(problem)?;
    Ok(Value::Array(blocks.iter().map(Block::to_json).collect()))
}

fn details(_: &Value, value: &HostValue) -> Result<Value, String> {
    if value.is_null() { Ok(Value::Null) } else { object(value).map(Value::Object) }
}

fn flag(_: &Value, value: &HostValue) -> Result<Value, String> {
    value.as_flag().map(Value::Bool).ok_or_else(|| "must be TRUE or FALSE".to_owned())
}

fn merge(current: &Value, value: &HostValue) -> Result<Value, String> {
    let mut merged = current.as_object().cloned().unwrap_or_default();
    merged.extend(object(value)?);
    Ok(Value::Object(merged))
}

/// Sets headers, or removes those that are NULL; names are compared ignoring case.
fn headers(current: &Value, value: &HostValue) -> Result<Value, String> {
    let named_strings = value.as_strings().is_some() && value.uniquely_named();
    let new = match value.to_json() {
        Ok(Value::Object(new)) if named_strings => new,
        _ => object(value)?,
    };
    let mut merged: Map<String, Value> = current.as_object().cloned().unwrap_or_default();
    for (name, header) in new {
        merged.retain(|old, _| !old.eq_ignore_ascii_case(&name));
        match header {
            Value::Null => {}
            Value::String(text) if !text.contains(['\r', '\n', '\0']) => {
                merged.insert(name, json!(text));
            }
            _ => return Err(format!("has a `{name}` that is no single string without line breaks")),
        }
    }
    Ok(Value::Object(merged))
}
