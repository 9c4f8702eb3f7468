//! Merging the answers of a `collect` event.

use super::fold::TEXT_CAP;
use crate::value::{Map, Value, json};

/// The fields so far.
#[derive(Debug, Clone, Default)]
pub struct Collected {
    fields: Map<String, Value>,
    used: usize,
}

/// Something that could not be taken as it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// The class of its diagnostic.
    pub class: &'static str,
    /// What was done.
    pub message: String,
}

impl Collected {
    /// Merges one answer: fields that are objects key by key, where the earlier answer wins; all others are
    /// concatenated. The text of `blocks` is cut when all of it is longer than the cap.
    pub fn merge(&mut self, answer: Map<String, Value>) -> Vec<Note> {
        let mut notes = Vec::new();
        for (name, value) in answer {
            let value = if name == "blocks" { self.within_cap(value, &mut notes) } else { value };
            let old = self.fields.remove(&name);
            let merged = match (old, value) {
                (old, Value::Null) => old.unwrap_or(Value::Null),
                (None | Some(Value::Null), Value::Object(new)) => Value::Object(new),
                (Some(Value::Object(old)), Value::Object(new)) => Value::Object(keep_earlier(old, new)),
                (old @ Some(Value::Object(_)), _) | (old @ Some(Value::Array(_)), Value::Object(_)) => {
                    notes.push(Note {
                        class: "malformed_answer",
                        message: format!("`{name}` differs in type from an earlier answer"),
                    });
                    old.unwrap_or(Value::Null)
                }
                (old, new) => Value::Array(elements(old.unwrap_or(Value::Null)).chain(elements(new)).collect()),
            };
            self.fields.insert(name, merged);
        }
        notes
    }

    /// The merged fields.
    pub fn into_fields(self) -> Map<String, Value> {
        self.fields
    }

    fn within_cap(&mut self, blocks: Value, notes: &mut Vec<Note>) -> Value {
        let blocks = match blocks {
            one @ Value::Object(_) => vec![one],
            other => elements(other).collect(),
        };
        let mut kept = Vec::new();
        let mut cut = false;
        for mut block in blocks {
            let Some(text) = block_text(&block) else {
                notes.push(Note {
                    class: "malformed_answer",
                    message: "a block must be a list with a string `text`".into(),
                });
                continue;
            };
            let room = TEXT_CAP.saturating_sub(self.used);
            let part: String = text.chars().take(room).collect();
            cut |= part.len() < text.len();
            self.used += part.chars().count();
            if part.is_empty() && !text.is_empty() {
                continue;
            }
            if let Some(fields) = block.as_object_mut() {
                fields.insert("text".into(), json!(part));
            }
            kept.push(block);
        }
        if cut {
            notes.push(Note {
                class: "context_cap",
                message: format!("the blocks were cut to {TEXT_CAP} characters in all"),
            });
        }
        Value::Array(kept)
    }
}

fn elements(value: Value) -> impl Iterator<Item = Value> {
    match value {
        Value::Null => Vec::new(),
        Value::Array(items) => items,
        one => vec![one],
    }
    .into_iter()
}

fn keep_earlier(mut old: Map<String, Value>, new: Map<String, Value>) -> Map<String, Value> {
    for (key, value) in new {
        old.entry(key).or_insert(value);
    }
    old
}

fn block_text(block: &Value) -> Option<String> {
    match block.as_object()?.get("text")? {
        Value::String(text) => Some(text.clone()),
        Value::Array(lines) => lines.iter().map(Value::as_str).collect::<Option<Vec<_>>>().map(|l| l.join("\n")),
        _ => None,
    }
}
