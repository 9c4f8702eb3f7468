//! Messages to a request body. History stays serialised: a message is encoded once, when it is pushed.

use crate::message::{Block, Message};
use crate::provider::compat::Compat;
use crate::value::{Value, json};

use super::params::{Params, System};
use super::wire_message::{assistant, result_parts, user_content, wire_id};

/// The result that a call gets when the history has none.
const ORPHAN: &str = "No result: the call was interrupted or never executed.";
/// The text between a tool result and a user message, for hosts that demand one.
const BRIDGE: &str = "I have the results of the tools.";
const IMAGES_OF_RESULTS: &str = "Images from the tool results above:";

/// Whom the messages are for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Target {
    /// The provider's id.
    pub provider: String,
    /// The model's id within the provider.
    pub model: String,
    /// The model reasons.
    pub reasoning: bool,
    /// The model takes images.
    pub images: bool,
    /// How the host differs.
    pub compat: Compat,
}

/// The growing `messages` of a conversation with one model.
#[derive(Debug, Clone)]
pub struct Encoder {
    target: Target,
    log: Log,
    group: Option<Group>,
    has_calls: bool,
}

/// Messages as JSON, joined by commas.
#[derive(Debug, Clone, Default)]
struct Log {
    json: String,
    after_result: bool,
    bridge: bool,
}

/// The calls of the last assistant message until all have a result. All results come directly after their calls:
/// what else arrives meanwhile waits.
#[derive(Debug, Clone, Default)]
struct Group {
    /// Wire id, tool name, answered.
    calls: Vec<(String, String, bool)>,
    images: Vec<Value>,
    waiting: Vec<Value>,
}

impl Log {
    fn add(&mut self, message: &Value) {
        if !self.json.is_empty() {
            self.json.push(',');
        }
        self.json.push_str(&message.to_string());
        self.after_result = message["role"] == "tool";
    }

    fn add_user(&mut self, content: &Value) {
        if self.after_result && self.bridge {
            self.add(&json!({"role": "assistant", "content": BRIDGE}));
        }
        self.add(&json!({"role": "user", "content": content}));
    }

    fn add_result(&mut self, id: &str, name: &str, text: &str, with_name: bool) {
        let mut message = json!({"role": "tool", "tool_call_id": id, "content": text});
        if let Some(fields) = message.as_object_mut().filter(|_| with_name) {
            fields.insert("name".to_owned(), json!(name));
        }
        self.add(&message);
    }
}

impl Group {
    fn is_open(&self) -> bool {
        self.calls.iter().any(|(_, _, answered)| !answered)
    }

    /// Gives open calls a result, then lets follow what waited.
    fn close(self, log: &mut Log, with_name: bool) {
        for (id, name, _) in self.calls.iter().filter(|(_, _, answered)| !answered) {
            log.add_result(id, name, ORPHAN, with_name);
        }
        if !self.images.is_empty() {
            let mut parts = vec![json!({"type": "text", "text": IMAGES_OF_RESULTS})];
            parts.extend(self.images);
            log.add_user(&Value::Array(parts));
        }
        for content in &self.waiting {
            log.add_user(content);
        }
    }
}

impl Encoder {
    /// An empty conversation.
    pub fn new(target: Target) -> Self {
        let log = Log { bridge: target.compat.requires_assistant_after_tool_result, ..Log::default() };
        Encoder { target, log, group: None, has_calls: false }
    }

    /// Whom the messages are for.
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// Appends a message, in time proportional to it. Results without a call are dropped, calls without a result
    /// get an error result before the next message, operator messages wait until all results of a turn are in.
    /// Messages of the operator go as user messages, which every host takes anywhere.
    pub fn push(&mut self, message: &Message) {
        match message {
            Message::User { content, .. } => {
                self.settle();
                if let Some(content) = user_content(content, self.target.images) {
                    self.log.add_user(&content);
                }
            }
            Message::Operator { content, .. } => self.push_operator(content),
            Message::Assistant(a) => {
                self.settle();
                self.push_assistant(&a.content);
            }
            Message::ToolResult { tool_call_id, content, .. } => self.push_result(tool_call_id, content),
        }
    }

    fn push_operator(&mut self, content: &[Block]) {
        let Some(content) = user_content(content, self.target.images) else { return };
        match &mut self.group {
            Some(group) => group.waiting.push(content),
            None => self.log.add_user(&content),
        }
    }

    fn push_assistant(&mut self, content: &[Block]) {
        let Some(message) = assistant(content, &self.target) else { return };
        self.log.add(&message);
        let text = |v: &Value| v.as_str().unwrap_or_default().to_owned();
        let calls: Vec<_> = message["tool_calls"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|c| (text(&c["id"]), text(&c["function"]["name"]), false))
            .collect();
        if !calls.is_empty() {
            self.has_calls = true;
            self.group = Some(Group { calls, ..Group::default() });
        }
    }

    fn push_result(&mut self, call_id: &str, content: &[Block]) {
        let Some(group) = &mut self.group else { return };
        let id = wire_id(call_id, &self.target.compat.tool_id);
        let Some(call) = group.calls.iter_mut().find(|(call, _, answered)| !answered && *call == id) else { return };
        call.2 = true;
        let (text, images) = result_parts(content, self.target.images);
        self.log.add_result(&call.0, &call.1, &text, self.target.compat.requires_tool_result_name);
        group.images.extend(images);
        if !group.is_open() {
            self.settle();
        }
    }

    fn settle(&mut self) {
        if let Some(group) = self.group.take() {
            group.close(&mut self.log, self.target.compat.requires_tool_result_name);
        }
    }

    /// The body of a request with all messages so far. `tools_json` is the array of declarations, `""` or `[]` for
    /// none. The messages are copied, not encoded again.
    pub fn body(&self, system: &System, tools_json: &str, params: &Params) -> String {
        let compat = &self.target.compat;
        let tools = Some(tools_json.trim()).filter(|t| !t.is_empty() && *t != "[]");
        let mut out = format!("{{\"model\":{},\"messages\":[", json!(self.target.model));
        let text = system.text();
        if !text.is_empty() {
            let developer = self.target.reasoning && compat.supports_developer_role;
            out.push_str(&json!({"role": if developer { "developer" } else { "system" }, "content": text}).to_string());
        }
        self.write_messages(&mut out, !text.is_empty());
        out.push(']');
        match tools {
            Some(tools) => out.push_str(&format!(",\"tools\":{tools}")),
            // Proxies to other wires refuse a history of calls without the field.
            None if self.has_calls => out.push_str(",\"tools\":[]"),
            None => {}
        }
        for (name, value) in params.fields(compat, self.target.reasoning, tools.is_some()) {
            out.push_str(&format!(",{}:{value}", json!(name)));
        }
        out.push('}');
        out
    }

    fn write_messages(&self, out: &mut String, mut comma: bool) {
        let mut tail = Log { json: String::new(), after_result: self.log.after_result, bridge: self.log.bridge };
        if let Some(group) = &self.group {
            group.clone().close(&mut tail, self.target.compat.requires_tool_result_name);
        }
        for part in [&self.log.json, &tail.json] {
            if part.is_empty() {
                continue;
            }
            if comma {
                out.push(',');
            }
            out.push_str(part);
            comma = true;
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;
    use crate::message::{Assistant, StopReason, Usage};
    use crate::value::Map;

    fn user(text: &str) -> Message {
        Message::User { content: vec![Block::text(text)], source: "prompt".into(), timestamp: 0.0 }
    }

    fn operator(text: &str) -> Message {
        Message::Operator { kind: "mode".into(), content: vec![Block::text(text)], origin_text: None, timestamp: 0.0 }
    }

    fn reply(content: Vec<Block>) -> Message {
        Message::Assistant(Assistant {
            content,
            api: "openai-completions".into(),
            provider: "p".into(),
            model: "m".into(),
            response_id: None,
            response_model: None,
            usage: Usage::default(),
            stop_reason: StopReason::ToolUse,
            error_message: None,
            raw_stop_reason: None,
            request_id: "q".into(),
            timestamp: 0.0,
        })
    }

    fn call(id: &str) -> Block {
        Block::ToolCall {
            id: id.into(),
            name: "f".into(),
            arguments: json!({}),
            raw_arguments: None,
            thought_signature: None,
        }
    }

    fn result(id: &str, content: Vec<Block>) -> Message {
        Message::ToolResult {
            tool_call_id: id.into(),
            tool_name: "f".into(),
            content,
            is_error: false,
            details: Map::new(),
            gloss: None,
            timestamp: 0.0,
        }
    }

    fn target() -> Target {
        Target { provider: "p".into(), model: "m".into(), images: true, ..Target::default() }
    }

    fn encoder(target: Target, messages: &[Message]) -> Encoder {
        let mut encoder = Encoder::new(target);
        messages.iter().for_each(|m| encoder.push(m));
        encoder
    }

    fn messages(encoder: &Encoder) -> Vec<Value> {
        let body = encoder.body(&System::default(), "", &Params::default());
        serde_json::from_str::<Value>(&body).unwrap()["messages"].as_array().unwrap().clone()
    }

    fn shape(encoder: &Encoder) -> Vec<String> {
        let text = |m: &Value| match &m["content"] {
            Value::String(s) => s.clone(),
            Value::Array(parts) => format!("{} parts", parts.len()),
            _ => "-".into(),
        };
        messages(encoder).iter().map(|m| format!("{}:{}", m["role"].as_str().unwrap(), text(m))).collect()
    }

    #[test]
    fn b44_a_call_without_a_result_gets_an_error_result_directly_after_it() {
        let e = encoder(target(), &[user("a"), reply(vec![call("k")]), user("b")]);
        assert_eq!(shape(&e), ["user:a", "assistant:-", &format!("tool:{ORPHAN}"), "user:b"]);
        assert_eq!(messages(&e)[2]["tool_call_id"], "k");
    }

    #[test]
    fn an_open_call_is_answered_in_the_body_without_being_settled() {
        let mut e = encoder(target(), &[user("a"), reply(vec![call("k")])]);
        assert_eq!(shape(&e).last().unwrap(), &format!("tool:{ORPHAN}"));
        e.push(&result("k", vec![Block::text("r")]));
        assert_eq!(shape(&e), ["user:a", "assistant:-", "tool:r"]);
    }

    #[test]
    fn operator_messages_wait_until_all_results_are_in() {
        let e = encoder(
            target(),
            &[
                reply(vec![call("k"), call("l")]),
                operator("o"),
                result("l", vec![Block::text("2")]),
                result("k", vec![Block::text("1")]),
                operator("p"),
            ],
        );
        assert_eq!(shape(&e), ["assistant:-", "tool:2", "tool:1", "user:o", "user:p"]);
    }

    #[test]
    fn images_of_results_follow_the_whole_group_in_one_message() {
        let image = || Block::Image {
            mime: "image/png".into(),
            data: "QUJD".into(),
            source: "plot".into(),
            width: None,
            height: None,
        };
        let e = encoder(
            target(),
            &[
                reply(vec![call("k"), call("l")]),
                result("k", vec![image()]),
                result("l", vec![Block::text("t"), image()]),
            ],
        );
        assert_eq!(shape(&e), ["assistant:-", "tool:(see the image below)", "tool:t", "user:3 parts"]);
    }

    #[test]
    fn results_without_a_call_are_dropped() {
        let e = encoder(
            target(),
            &[
                result("x", vec![]),
                reply(vec![call("k")]),
                result("y", vec![]),
                result("k", vec![Block::text("1")]),
                result("k", vec![]),
            ],
        );
        assert_eq!(shape(&e), ["assistant:-", "tool:1"]);
    }

    #[test]
    fn a_bridge_stands_between_a_result_and_a_user_message_where_the_host_wants_one() {
        let mut t = target();
        t.compat.requires_assistant_after_tool_result = true;
        t.compat.requires_tool_result_name = true;
        let e = encoder(t, &[reply(vec![call("k")]), result("k", vec![Block::text("1")]), user("u")]);
        assert_eq!(shape(&e), ["assistant:-", "tool:1", &format!("assistant:{BRIDGE}"), "user:u"]);
        assert_eq!(messages(&e)[1]["name"], "f");
    }

    #[test]
    fn a_long_id_is_the_same_in_call_and_result() {
        let id = "toolu_".repeat(10);
        let e = encoder(target(), &[reply(vec![call(&id)]), result(&id, vec![Block::text("1")])]);
        let m = messages(&e);
        assert_eq!(m[0]["tool_calls"][0]["id"], m[1]["tool_call_id"]);
        assert!(m[1]["tool_call_id"].as_str().unwrap().len() <= 40);
    }

    #[test]
    fn the_body_has_everything_once_and_is_the_same_each_time() {
        let mut t = target();
        t.reasoning = true;
        let e = encoder(t, &[user("hi")]);
        let system = System { t0: "A".into(), t1: "B".into() };
        let params = Params { max_tokens: Some(5), ..Params::default() };
        let body = e.body(&system, r#"[{"type":"function"}]"#, &params);
        assert_eq!(body, e.body(&system, r#"[{"type":"function"}]"#, &params));
        assert_eq!(
            body,
            concat!(
                r#"{"model":"m","messages":[{"role":"developer","content":"A\n\nB"},{"role":"user","content":"hi"}],"#,
                r#""tools":[{"type":"function"}],"stream":true,"stream_options":{"include_usage":true},"#,
                r#""store":false,"max_completion_tokens":5}"#
            )
        );
    }

    #[test]
    fn a_history_with_calls_always_has_the_tools_field() {
        let e = encoder(target(), &[reply(vec![call("k")])]);
        let body: Value = serde_json::from_str(&e.body(&System::default(), "", &Params::default())).unwrap();
        assert_eq!(body["tools"], json!([]));
    }

    #[test]
    fn an_earlier_body_is_a_prefix_of_a_later_one() {
        let mut e = encoder(target(), &[user("a"), reply(vec![Block::text("b")])]);
        let before = e.body(&System::default(), "", &Params::default());
        e.push(&user("c"));
        let after = e.body(&System::default(), "", &Params::default());
        let end = before.find("],\"stream\"").unwrap();
        assert!(after.starts_with(&before[..end]));
    }
}
