//! A schema as one line that people and models read.

use super::index::Index;
use super::structure;
use crate::value::{Map, Value};

/// `<prefix><name>(a: string, b?: number|null, c?: any)`, followed by `  # <first sentence>` when there is a
/// description: the argument, else the schema's own. Properties stand as declared; enum values are JSON.
pub fn signature(prefix: &str, name: &str, schema: &Value, description: Option<&str>) -> String {
    let required: Vec<&str> =
        schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
    let index = Index::new(schema);
    let properties = schema.get("properties").and_then(Value::as_object).into_iter().flat_map(Map::iter);
    let arguments: Vec<String> = properties
        .map(|(p, inner)| {
            let mark = if required.contains(&p.as_str()) { "" } else { "?" };
            format!("{p}{mark}: {}", type_text(&index, inner))
        })
        .collect();
    let line = format!("{prefix}{name}({})", arguments.join(", "));
    let description = description.or_else(|| schema.get("description").and_then(Value::as_str)).map(first_sentence);
    match description.filter(|d| !d.is_empty()) {
        Some(sentence) => format!("{line}  # {sentence}"),
        None => line,
    }
}

fn type_text<'a>(index: &Index<'a>, schema: &'a Value) -> String {
    let mut words: Vec<String> = Vec::new();
    let mut say = |word: String| {
        if !words.contains(&word) {
            words.push(word);
        }
    };
    for part in index.reach(&[schema]) {
        match (part.get("enum").and_then(Value::as_array), part.get("const")) {
            (Some(options), _) => options.iter().for_each(|o| say(o.to_string())),
            (None, Some(only)) => say(only.to_string()),
            (None, None) => structure::types(part).into_iter().for_each(|t| say(t.to_owned())),
        }
    }
    if words.is_empty() { "any".to_owned() } else { words.join("|") }
}

/// The first line of a text, up to the first `.`, `!` or `?` that a space or the end follows.
pub fn first_sentence(text: &str) -> &str {
    let line = text.trim_start().lines().next().unwrap_or_default().trim_end();
    let ends = |(at, c): (usize, char)| {
        let rest = line.get(at + c.len_utf8()..).unwrap_or_default();
        (matches!(c, '.' | '!' | '?') && (rest.is_empty() || rest.starts_with(' '))).then_some(at + c.len_utf8())
    };
    let end = line.char_indices().find_map(ends).unwrap_or(line.len());
    line.get(..end).unwrap_or(line)
}
