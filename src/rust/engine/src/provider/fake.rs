//! The fake provider: scripted replies that take the way of real ones.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use crate::message::{Block, Failure, FailureClass, Reply, StopReason, StreamEvent, Usage};
use crate::prompt::estimate::{CharCounts, Class, estimate};
use crate::provider::assembly::block_of_call;
use crate::provider::failure;
use crate::session::history::{History, shown};
use crate::value::{HostValue, Map, Value, json};

/// Characters of a text delta, unless the reply says otherwise.
const CHUNK: usize = 16;

/// The state behind one fake provider: its script and what it was asked.
pub struct Fake {
    script: Script,
    log: RefCell<Vec<Asked>>,
}

/// Where replies come from.
pub enum Script {
    /// The i-th request gets the i-th reply, the last one repeats.
    Replies(Vec<HostValue>),
    /// A function of the host's is asked.
    Function,
}

/// One request as it was asked. The messages are a history and a length, built when someone looks.
struct Asked {
    model: String,
    t0: Rc<str>,
    t1: Rc<str>,
    tools: Rc<[String]>,
    history: Rc<History>,
    len: usize,
    params: Value,
}

/// What the run loop asks.
pub struct Question {
    /// `<provider>/<id>`.
    pub model: String,
    /// The stable tier of the system prompt.
    pub t0: Rc<str>,
    /// The other tier.
    pub t1: Rc<str>,
    /// Names of the declared tools.
    pub tools: Rc<[String]>,
    /// The conversation.
    pub history: Rc<History>,
    /// Request parameters.
    pub params: Value,
    /// Characters of system prompt and messages as one text.
    pub counts: CharCounts,
}

impl Fake {
    /// A fake with this script.
    pub fn new(script: Script) -> Self {
        Fake { script, log: RefCell::default() }
    }

    /// How many requests were logged.
    pub fn count(&self) -> usize {
        self.log.borrow().len()
    }

    /// Request `n` (from 1) as the log shows it.
    pub fn request(&self, n: usize) -> Option<Value> {
        let log = self.log.borrow();
        let asked = log.get(n.checked_sub(1)?)?;
        let messages: Vec<Value> = shown(&asked.history, asked.len).iter().map(|m| m.to_json()).collect();
        let user = messages.iter().rev().find(|m| m["role"] == "user");
        let last_user = user.and_then(|m| m["content"].as_array()).map_or(Value::Null, |content| {
            let texts: Vec<&str> =
                content.iter().filter(|b| b["type"] == "text").filter_map(|b| b["text"].as_str()).collect();
            json!(texts.join("\n"))
        });
        let trailing = messages.iter().rev().take_while(|m| m["role"] == "tool_result").count();
        let last_results = messages[messages.len() - trailing..].to_vec();
        Some(json!({
            "n": n, "model": asked.model, "system": {"t0": &*asked.t0, "t1": &*asked.t1},
            "tools": &*asked.tools, "messages": messages, "last_user": last_user,
            "last_results": last_results, "params": asked.params
        }))
    }

    /// Logs a request. Returns the scripted reply, or `None` when the host's function must be asked.
    pub fn ask(&self, q: &Question) -> Option<HostValue> {
        let mut log = self.log.borrow_mut();
        log.push(Asked {
            model: q.model.clone(),
            t0: q.t0.clone(),
            t1: q.t1.clone(),
            tools: q.tools.clone(),
            history: q.history.clone(),
            len: q.history.len(),
            params: q.params.clone(),
        });
        match &self.script {
            Script::Function => None,
            Script::Replies(replies) => {
                let at = log.len().min(replies.len());
                Some(at.checked_sub(1).and_then(|i| replies.get(i)).cloned().unwrap_or_else(|| {
                    HostValue::named([("error", HostValue::from("fake provider: the script is empty"))])
                }))
            }
        }
    }
}

/// One act of a scripted reply.
#[derive(Debug, Clone, PartialEq)]
pub enum Act {
    /// Wait this many seconds.
    Pause(f64),
    /// Emit an event.
    Emit(StreamEvent),
    /// Wait for the abort.
    Hang,
}

/// The acts of a reply to request `n` (of the provider named `provider`).
pub fn acts(reply: &HostValue, n: usize, provider: &str, counts: CharCounts) -> VecDeque<Act> {
    let start = StreamEvent::Start { response_id: Some(format!("{provider}-{n}")), response_model: None };
    let spec = match Scripted::read(reply, n) {
        Ok(spec) => spec,
        Err(message) => return failed(start, message),
    };
    let mut play = Play { out: VecDeque::new(), reply: Reply::default(), spec: &spec };
    play.reply.response_id = Some(format!("{provider}-{n}"));
    play.pause(spec.delay);
    play.emit(start);
    play.run(counts);
    play.out
}

/// The acts of a reply that could not be had.
pub fn failed_script(provider: &str, n: usize, message: &str) -> VecDeque<Act> {
    let start = StreamEvent::Start { response_id: Some(format!("{provider}-{n}")), response_model: None };
    failed(start, format!("fake provider script failed: {message}"))
}

fn failed(start: StreamEvent, message: String) -> VecDeque<Act> {
    let failure = Failure { class: FailureClass::Overloaded, message, status: Some(500), ..Failure::default() };
    let reply = Box::new(Reply { stop_reason: StopReason::Error, ..Reply::default() });
    [Act::Emit(start), Act::Emit(StreamEvent::Error { reply, failure })].into()
}

#[derive(Debug, Default)]
struct Scripted {
    text: Option<String>,
    thinking: Option<String>,
    signature: Option<String>,
    calls: Vec<ScriptedCall>,
    stop: Option<StopReason>,
    error: Option<Failure>,
    after: usize,
    hang: bool,
    delay: f64,
    gap: f64,
    chunk: usize,
    usage: Option<Usage>,
}

#[derive(Debug)]
struct ScriptedCall {
    id: String,
    name: String,
    json: String,
}

impl Scripted {
    fn read(reply: &HostValue, n: usize) -> Result<Self, String> {
        let mut s = Scripted { chunk: CHUNK, ..Scripted::default() };
        if let Some(text) = reply.as_str() {
            s.text = Some(text.to_owned());
            return Ok(s);
        }
        if !reply.is_plain_list() {
            return Err("fake provider: a reply must be a string or a list".into());
        }
        let text = |name: &str| reply.field(name).and_then(HostValue::as_str).map(str::to_owned);
        let number = |name: &str| reply.field(name).and_then(HostValue::as_number);
        let flag = |name: &str| reply.field(name).and_then(HostValue::as_flag).unwrap_or(false);
        s.text = text("text");
        s.thinking = text("thinking");
        s.signature = text("signature");
        s.delay = number("delay").unwrap_or(0.0).max(0.0);
        s.gap = number("gap").unwrap_or(0.0).max(0.0);
        s.chunk = number("chunk").map_or(CHUNK, |x| x as usize).max(1);
        s.after = number("after").map_or(0, |x| x as usize);
        s.hang = flag("hang");
        if let Some(value) = reply.field("json") {
            s.text = Some(value.to_json().map_err(|e| format!("fake provider: json: {e}"))?.to_string());
        }
        if let Some(stop) = text("stop") {
            s.stop =
                Some(StopReason::parse(&stop).ok_or_else(|| format!("fake provider: unknown stop reason '{stop}'"))?);
        }
        s.calls = calls(reply, n)?;
        s.error = scripted_error(reply);
        s.usage = reply.field("usage").map(usage);
        Ok(s)
    }
}

fn calls(reply: &HostValue, n: usize) -> Result<Vec<ScriptedCall>, String> {
    let one = |spec: &HostValue, name: &str, k: usize| -> Result<ScriptedCall, String> {
        let name = spec.field(name).and_then(HostValue::as_str).ok_or("fake provider: a call needs a name")?;
        let id = spec.field("id").and_then(HostValue::as_str).map_or_else(|| format!("fake_{n}_{k}"), str::to_owned);
        Ok(ScriptedCall { id, name: name.to_owned(), json: input_json(spec.field("input"))? })
    };
    if reply.field("tool").is_some() {
        return Ok(vec![one(reply, "tool", 1)?]);
    }
    let tools = reply.field("tools").and_then(HostValue::items).unwrap_or_default();
    let mut calls: Vec<ScriptedCall> =
        tools.iter().enumerate().map(|(i, t)| one(t, "name", i + 1)).collect::<Result<_, _>>()?;
    distinguish(&mut calls);
    Ok(calls)
}

/// Calls of one reply with the same id get ids of their own: `_2`, `_3` added.
fn distinguish(calls: &mut [ScriptedCall]) {
    for i in 0..calls.len() {
        let (before, rest) = calls.split_at_mut(i);
        let Some(call) = rest.first_mut() else { return };
        let wish = call.id.clone();
        let mut n = 2;
        while before.iter().any(|c| c.id == call.id) {
            call.id = format!("{wish}_{n}");
            n += 1;
        }
    }
}

fn input_json(input: Option<&HostValue>) -> Result<String, String> {
    let Some(input) = input else { return Ok("{}".into()) };
    if let Some(verbatim) = input.as_str() {
        return Ok(verbatim.to_owned());
    }
    if input.is_empty() {
        return Ok("{}".into());
    }
    input.to_json().map(|v| v.to_string()).map_err(|e| format!("fake provider: input: {e}"))
}

fn scripted_error(reply: &HostValue) -> Option<Failure> {
    let status = reply.field("status").and_then(HostValue::as_number).map_or(500, |x| x as u16);
    if reply.field("overflow").and_then(HostValue::as_flag) == Some(true) {
        return Some(Failure {
            class: FailureClass::ContextOverflow,
            message: "prompt is too long: 201000 tokens > 200000 maximum".into(),
            status: Some(400),
            tokens: Some(201_000),
            ..Failure::default()
        });
    }
    let message = reply.field("error")?.as_str()?.to_owned();
    let retry_after = reply.field("retry_after").and_then(HostValue::as_number);
    // A text that begins with a known error code counts as that code.
    let code = message.split([':', ' ']).next().unwrap_or_default().to_owned();
    let class = failure::class_of(Some(status), &[code], "");
    Some(Failure { class, message, status: Some(status), retry_after, ..Failure::default() })
}

fn usage(v: &HostValue) -> Usage {
    let count = |name: &str| v.field(name).and_then(HostValue::as_number).map(|x| x as u64);
    Usage {
        input: count("input"),
        output: count("output"),
        cache_read: count("cache_read"),
        cache_write_5m: count("cache_write_5m"),
        cache_write_1h: count("cache_write_1h"),
        reasoning: count("reasoning"),
        cost: Some(0.0),
        estimated: false,
    }
}

struct Play<'a> {
    out: VecDeque<Act>,
    reply: Reply,
    spec: &'a Scripted,
}

impl Play<'_> {
    fn emit(&mut self, event: StreamEvent) {
        self.out.push_back(Act::Emit(event));
    }

    fn pause(&mut self, seconds: f64) {
        if seconds > 0.0 {
            self.out.push_back(Act::Pause(seconds));
        }
    }

    fn run(&mut self, counts: CharCounts) {
        if self.spec.hang {
            self.out.push_back(Act::Hang);
            return;
        }
        if let Some(failure) = self.spec.error.clone() {
            return self.fail(failure);
        }
        self.thinking();
        if let Some(text) = self.spec.text.clone() {
            let pieces = pieces(&text, self.spec.chunk);
            self.text(&pieces, true);
        }
        let cut = self.spec.stop == Some(StopReason::Length);
        for call in &self.spec.calls {
            self.call(call, cut);
        }
        self.done(counts);
    }

    fn fail(&mut self, failure: Failure) {
        if self.spec.after > 0 {
            let mut parts = self.spec.text.as_deref().map(|t| pieces(t, self.spec.chunk)).unwrap_or_default();
            parts.truncate(self.spec.after);
            (parts.len()..self.spec.after).for_each(|i| parts.push(format!("partial {} ", i + 1)));
            self.text(&parts, false);
        }
        self.reply.stop_reason = StopReason::Error;
        let reply = Box::new(std::mem::take(&mut self.reply));
        self.emit(StreamEvent::Error { reply, failure });
    }

    fn thinking(&mut self) {
        let Some(thinking) = self.spec.thinking.clone() else { return };
        let index = self.reply.content.len() + 1;
        self.emit(StreamEvent::ThinkingStart { index });
        for text in pieces(&thinking, self.spec.chunk) {
            self.pause(self.spec.gap);
            self.emit(StreamEvent::ThinkingDelta { index, text });
        }
        let signature = self.spec.signature.clone();
        self.reply.content.push(Block::Thinking { thinking, signature, redacted: false, data: None, origin: None });
        self.emit(StreamEvent::ThinkingEnd { index });
    }

    fn text(&mut self, parts: &[String], whole: bool) {
        let index = self.reply.content.len() + 1;
        self.emit(StreamEvent::TextStart { index });
        for text in parts {
            self.pause(self.spec.gap);
            self.emit(StreamEvent::TextDelta { index, text: text.clone() });
        }
        self.reply.content.push(Block::text(parts.concat()));
        if whole {
            self.emit(StreamEvent::TextEnd { index });
        }
    }

    fn call(&mut self, call: &ScriptedCall, cut: bool) {
        let index = self.reply.content.len() + 1;
        let chars: Vec<char> = call.json.chars().collect();
        let (first, second) = chars.split_at(chars.len().div_ceil(2));
        let first: String = first.iter().collect();
        self.emit(StreamEvent::ToolCallStart { index, id: call.id.clone(), name: call.name.clone() });
        self.pause(self.spec.gap);
        self.emit(StreamEvent::ToolCallDelta { index, json: first.clone() });
        if !cut && !second.is_empty() {
            self.pause(self.spec.gap);
            self.emit(StreamEvent::ToolCallDelta { index, json: second.iter().collect() });
        }
        let raw = if cut { first } else { call.json.clone() };
        self.reply.content.push(block_of_call(&call.id, &call.name, &raw));
        self.emit(StreamEvent::ToolCallEnd { index });
    }

    fn done(&mut self, counts: CharCounts) {
        let default = if self.spec.calls.is_empty() { StopReason::Stop } else { StopReason::ToolUse };
        self.reply.stop_reason = self.spec.stop.unwrap_or(default);
        self.reply.usage = self.spec.usage.clone().unwrap_or_else(|| {
            let mut said: Vec<String> = self.spec.thinking.iter().chain(&self.spec.text).cloned().collect();
            said.extend(self.spec.calls.iter().map(|c| c.json.clone()));
            Usage {
                input: Some(counts.tokens(Class::Prose)),
                output: Some(estimate(&said.join("\n"), Class::Prose)),
                cache_read: Some(0),
                cache_write_5m: Some(0),
                cache_write_1h: Some(0),
                reasoning: Some(0),
                cost: Some(0.0),
                estimated: false,
            }
        });
        let reply = Box::new(std::mem::take(&mut self.reply));
        self.emit(StreamEvent::Done { reply });
    }
}

fn pieces(text: &str, chunk: usize) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    chars.chunks(chunk).map(|c| c.iter().collect()).collect()
}

/// The record of a fake's one model.
pub fn model_fields(name: &str) -> Map<String, Value> {
    let fields = json!({"id": format!("{name}-1"), "context": 200_000, "max_output": 8192});
    match fields {
        Value::Object(m) => m,
        _ => Map::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::text_of;

    fn events(reply: HostValue) -> Vec<StreamEvent> {
        acts(&reply, 1, "fake", CharCounts::default())
            .into_iter()
            .filter_map(|a| match a {
                Act::Emit(e) => Some(e),
                _ => None,
            })
            .collect()
    }

    #[test]
    fn case_58_text_goes_out_in_chunks() {
        let all = events(HostValue::named([("text", "Hello there".into()), ("chunk", 6.into())]));
        let deltas: Vec<&str> = all
            .iter()
            .filter_map(|e| match e {
                StreamEvent::TextDelta { text, index: 1 } => Some(text.as_str()),
                _ => None,
            })
            .collect();
        assert_eq!(deltas, ["Hello ", "there"]);
        assert!(matches!(all.last(), Some(StreamEvent::Done { reply }) if reply.stop_reason == StopReason::Stop));
    }

    #[test]
    fn case_58_a_call_goes_out_in_two_halves() {
        let input = HostValue::named([("code", "x = 1".into())]);
        let all = events(HostValue::named([("tool", "r".into()), ("input", input)]));
        let halves: Vec<&str> = all
            .iter()
            .filter_map(|e| match e {
                StreamEvent::ToolCallDelta { json, .. } => Some(json.as_str()),
                _ => None,
            })
            .collect();
        assert_eq!(halves, ["{\"code\":", "\"x = 1\"}"]);
        assert!(
            matches!(&all[1], StreamEvent::ToolCallStart { id, name, index: 1 } if id == "fake_1_1" && name == "r")
        );
    }

    #[test]
    fn case_59_bad_scripts_are_errors_of_the_request() {
        for (reply, text) in [
            (HostValue::from(42), "fake provider: a reply must be a string or a list"),
            (HostValue::null(), "fake provider: a reply must be a string or a list"),
        ] {
            let all = events(reply);
            assert!(matches!(all.last(), Some(StreamEvent::Error { failure, .. }) if failure.message == text));
        }
        let empty = Fake::new(Script::Replies(vec![]));
        let q = Question {
            model: "fake/fake-1".into(),
            t0: "".into(),
            t1: "".into(),
            tools: [].into(),
            history: Rc::default(),
            params: Value::Null,
            counts: CharCounts::default(),
        };
        let reply = empty.ask(&q).unwrap_or_default();
        assert!(
            matches!(events(reply).last(), Some(StreamEvent::Error { failure, .. }) if failure.message == "fake provider: the script is empty")
        );
        assert_eq!(empty.count(), 1);
    }

    #[test]
    fn an_error_after_k_deltas_keeps_what_came() {
        let all = events(HostValue::named([("error", "boom".into()), ("after", 2.into())]));
        assert!(matches!(&all[2], StreamEvent::TextDelta { text, .. } if text == "partial 1 "));
        let Some(StreamEvent::Error { reply, failure }) = all.last() else { panic!("no error") };
        assert_eq!((text_of(&reply.content).as_str(), failure.status), ("partial 1 partial 2 ", Some(500)));
        assert!(!all.iter().any(|e| matches!(e, StreamEvent::TextEnd { .. })));
    }

    #[test]
    fn a_cut_call_keeps_only_its_first_half() {
        let input = HostValue::named([("code", "x = 1".into())]);
        let all = events(HostValue::named([("tool", "r".into()), ("input", input), ("stop", "length".into())]));
        let Some(StreamEvent::Done { reply }) = all.last() else { panic!("not done") };
        assert!(matches!(&reply.content[0], Block::ToolCall { raw_arguments: Some(raw), .. } if raw == "{\"code\":"));
    }
}
