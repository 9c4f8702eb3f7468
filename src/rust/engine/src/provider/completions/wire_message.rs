//! One message as this wire has it.

use std::borrow::Cow;

use sha2::{Digest, Sha256};

use crate::message::{Block, text_of};
use crate::value::{Map, Value, json};

use super::encoder::Target;

/// Ids of calls may have this many characters.
const ID_LIMIT: usize = 40;
/// Names of functions may have this many.
const NAME_LIMIT: usize = 64;
/// Stands for an image that the model can't take.
const NO_IMAGE: &str = "[image omitted: the model takes no images]";
/// Stands for a result without text: an empty one is refused by some hosts.
const NO_TEXT: &str = "(no output)";
/// The keys under which hosts send reasoning, and want it back.
pub(super) const REASONING_KEYS: [&str; 3] = ["reasoning_content", "reasoning", "reasoning_text"];

/// The content of a user message: a string when it is text alone, else an array of parts; `None` for nothing.
pub(super) fn user_content(blocks: &[Block], images: bool) -> Option<Value> {
    let parts: Vec<Value> = blocks.iter().filter_map(|b| part(b, images)).collect();
    let texts: Vec<&str> = parts.iter().filter_map(|p| p.get("text")?.as_str()).collect();
    match (parts.len(), texts.len()) {
        (0, _) => None,
        (all, text) if all == text => Some(Value::String(texts.join("\n\n"))),
        _ => Some(Value::Array(parts)),
    }
}

fn part(block: &Block, images: bool) -> Option<Value> {
    match block {
        Block::Text { text, .. } | Block::Context { text, .. } if text.trim().is_empty() => None,
        Block::Text { text, .. } | Block::Context { text, .. } => Some(json!({"type": "text", "text": text})),
        Block::Image { .. } if !images => Some(json!({"type": "text", "text": NO_IMAGE})),
        Block::Image { mime, data, .. } => Some(image_part(mime, data)),
        _ => None,
    }
}

fn image_part(mime: &str, data: &str) -> Value {
    json!({"type": "image_url", "image_url": {"url": format!("data:{mime};base64,{data}")}})
}

/// The text of a tool result, and its images, which this wire has no place for in a result.
pub(super) fn result_parts(content: &[Block], images: bool) -> (String, Vec<Value>) {
    let pictures: Vec<Value> = content
        .iter()
        .filter_map(|b| match b {
            Block::Image { mime, data, .. } => Some(image_part(mime, data)),
            _ => None,
        })
        .collect();
    let mut text = text_of(content);
    if !pictures.is_empty() && !images {
        text = if text.is_empty() { NO_IMAGE.to_owned() } else { format!("{text}\n{NO_IMAGE}") };
    }
    if text.trim().is_empty() {
        text = if pictures.is_empty() { NO_TEXT.to_owned() } else { "(see the image below)".to_owned() };
    }
    (text, if images { pictures } else { Vec::new() })
}

/// An assistant message; `None` when it has neither text nor calls.
pub(super) fn assistant(content: &[Block], target: &Target) -> Option<Value> {
    let calls: Vec<Value> = content.iter().filter_map(|b| call(b, target)).collect();
    let text = assistant_text(content, target);
    if text.is_empty() && calls.is_empty() {
        return None;
    }
    let mut message = Map::new();
    message.insert("role".into(), json!("assistant"));
    let blank = if target.compat.requires_string_content { json!("") } else { Value::Null };
    message.insert("content".into(), if text.is_empty() { blank } else { Value::String(text) });
    message.extend(reasoning(content, target, !calls.is_empty()));
    if !calls.is_empty() {
        message.insert("tool_calls".into(), Value::Array(calls));
    }
    Some(Value::Object(message))
}

fn assistant_text(content: &[Block], target: &Target) -> String {
    let as_text = target.compat.requires_thinking_as_text;
    let texts: Vec<&str> = content
        .iter()
        .filter_map(|b| match b {
            Block::Text { text, .. } => Some(text.as_str()),
            Block::Thinking { thinking, redacted: false, .. } if as_text => Some(thinking.as_str()),
            _ => None,
        })
        .filter(|t| !t.trim().is_empty())
        .collect();
    texts.join("\n")
}

/// Reasoning goes back to the model that made it, under the key it came with.
fn reasoning(content: &[Block], target: &Target, has_calls: bool) -> Map<String, Value> {
    let mut out: Map<String, Value> = Map::new();
    let own = |provider: &Value, model: &Value| provider == target.provider.as_str() && model == target.model.as_str();
    for block in content {
        match block {
            Block::Thinking { thinking, origin: Some(origin), .. }
                if !target.compat.requires_thinking_as_text && own(&origin["provider"], &origin["model"]) =>
            {
                let Some(key) = REASONING_KEYS.iter().find(|k| origin["field"] == **k) else { continue };
                let entry = out.entry((*key).to_owned()).or_insert_with(|| json!(""));
                *entry = json!(format!("{}{thinking}", entry.as_str().unwrap_or_default()));
            }
            Block::Opaque { provider, model, json, .. } if own(&json!(provider), &json!(model)) => {
                if let Some(details) = json.get("reasoning_details") {
                    out.insert("reasoning_details".into(), details.clone());
                }
            }
            _ => {}
        }
    }
    if has_calls && target.compat.requires_reasoning_content && !out.contains_key("reasoning_content") {
        out.insert("reasoning_content".into(), json!(""));
    }
    out
}

fn call(block: &Block, target: &Target) -> Option<Value> {
    let Block::ToolCall { id, name, arguments, raw_arguments, .. } = block else { return None };
    // The text as it came keeps a prompt cache valid; one that is no JSON is refused by hosts that read it.
    let raw = raw_arguments.as_ref().filter(|raw| serde_json::from_str::<Value>(raw).is_ok());
    let arguments = raw.cloned().unwrap_or_else(|| arguments.to_string());
    let id = wire_id(id, &target.compat.tool_id);
    Some(json!({"id": id, "type": "function", "function": {"name": wire_name(name), "arguments": arguments}}))
}

/// The id of a call by the host's rule; the same for a call and its result. Two ids stay two.
pub(super) fn wire_id<'a>(id: &'a str, rule: &str) -> Cow<'a, str> {
    let plain = |c: u8| c.is_ascii_alphanumeric() || matches!(c, b'_' | b'-');
    let digest = || Sha256::digest(id.as_bytes());
    if rule == "alnum9" {
        if id.len() == 9 && id.bytes().all(|c| c.is_ascii_alphanumeric()) {
            return Cow::Borrowed(id);
        }
        return Cow::Owned(
            digest().iter().take(9).map(|b| ALNUM[usize::from(*b) % ALNUM.len()]).map(char::from).collect(),
        );
    }
    if (1..=ID_LIMIT).contains(&id.len()) && id.bytes().all(plain) {
        return Cow::Borrowed(id);
    }
    let hex: String = digest().iter().take(16).map(|b| format!("{b:02x}")).collect();
    Cow::Owned(format!("call_{hex}"))
}

const ALNUM: &[u8] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// A name that a model made up may not be one that the host takes back.
fn wire_name(name: &str) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') { c } else { '_' };
    let name: String = name.chars().take(NAME_LIMIT).map(safe).collect();
    if name.is_empty() { "unknown".to_owned() } else { name }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    fn target() -> Target {
        Target { provider: "p".into(), model: "m".into(), ..Target::default() }
    }

    fn tool_call(raw: Option<&str>) -> Block {
        Block::ToolCall {
            id: "k".into(),
            name: "f".into(),
            arguments: json!({"a": 1}),
            raw_arguments: raw.map(str::to_owned),
            thought_signature: None,
        }
    }

    fn thought(provider: &str, field: &str) -> Block {
        let origin = json!({"api": "openai-completions", "provider": provider, "model": "m", "field": field});
        Block::Thinking { thinking: "hm".into(), signature: None, redacted: false, data: None, origin: Some(origin) }
    }

    #[test]
    fn b52_blank_texts_are_dropped_and_a_message_of_nothing_is_left_out() {
        let message = assistant(&[Block::text(""), tool_call(None)], &target()).unwrap();
        assert_eq!(message["content"], Value::Null);
        assert_eq!(assistant(&[Block::text("\n")], &target()), None);
        assert_eq!(user_content(&[Block::text(" ")], true), None);
    }

    #[test]
    fn b53_two_text_blocks_are_one_string() {
        let message = assistant(&[Block::text("a"), Block::text("b")], &target()).unwrap();
        assert_eq!(message, json!({"role": "assistant", "content": "a\nb"}));
    }

    #[test]
    fn b71_arguments_go_back_as_they_came() {
        let sent =
            |raw| assistant(&[tool_call(raw)], &target()).unwrap()["tool_calls"][0]["function"]["arguments"].clone();
        assert_eq!(sent(Some(r#"{"a" : 1}"#)), r#"{"a" : 1}"#);
        assert_eq!(sent(Some(r#"{"a": 76561198003753554123456}"#)), r#"{"a": 76561198003753554123456}"#);
        assert_eq!(sent(Some(r#"{"a":"#)), r#"{"a":1}"#);
        assert_eq!(sent(None), r#"{"a":1}"#);
    }

    #[test]
    fn content_of_calls_alone_is_null_or_an_empty_string() {
        let mut t = target();
        t.compat.requires_string_content = true;
        assert_eq!(assistant(&[tool_call(None)], &t).unwrap()["content"], "");
    }

    #[test]
    fn b58_reasoning_goes_back_under_its_key_to_the_same_model_only() {
        let with = |block| assistant(&[block, Block::text("x")], &target()).unwrap();
        assert_eq!(with(thought("p", "reasoning"))["reasoning"], "hm");
        assert_eq!(with(thought("other", "reasoning")), json!({"role": "assistant", "content": "x"}));
        assert_eq!(with(thought("p", "content")), json!({"role": "assistant", "content": "x"}));
        let mut t = target();
        t.compat.requires_thinking_as_text = true;
        assert_eq!(assistant(&[thought("other", "reasoning"), Block::text("x")], &t).unwrap()["content"], "hm\nx");
    }

    #[test]
    fn b59_details_go_back_verbatim_to_the_same_model() {
        let details = json!([{"type": "reasoning.encrypted", "data": "ZW5j"}]);
        let block = |model: &str| Block::Opaque {
            provider: "p".into(),
            api: "openai-completions".into(),
            model: model.into(),
            json: json!({"reasoning_details": details}),
        };
        let with = |b| assistant(&[b, Block::text("x")], &target()).unwrap();
        assert_eq!(with(block("m"))["reasoning_details"], details);
        assert!(with(block("n")).get("reasoning_details").is_none());
    }

    #[test]
    fn ids_follow_the_rule_of_the_host_and_stay_apart() {
        assert_eq!(wire_id("call_1", "default"), "call_1");
        for odd in ["x".repeat(41), "a|b".into(), String::new()] {
            let id = wire_id(&odd, "default").into_owned();
            assert!(id.len() <= ID_LIMIT && id.starts_with("call_"), "{id}");
        }
        let nine = wire_id("call_1", "alnum9");
        assert!(nine.len() == 9 && nine.bytes().all(|b| b.is_ascii_alphanumeric()));
        assert_ne!(nine, wire_id("call_2", "alnum9"));
        assert_eq!(wire_id("abcDEF123", "alnum9"), "abcDEF123");
    }

    #[test]
    fn images_are_parts_or_a_note() {
        let image = Block::Image {
            mime: "image/png".into(),
            data: "QUJD".into(),
            source: "file".into(),
            width: None,
            height: None,
        };
        let blocks = [Block::text("look"), image];
        let parts = user_content(&blocks, true).unwrap();
        assert_eq!(parts[1], json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,QUJD"}}));
        assert_eq!(user_content(&blocks, false).unwrap(), json!(format!("look\n\n{NO_IMAGE}")));
        assert_eq!(result_parts(&blocks, true).1.len(), 1);
        assert_eq!(result_parts(&[], true).0, NO_TEXT);
    }
}
