//! Chunks (or one whole document) to stream events.

use crate::message::{Block, Failure, FailureClass, StopReason, StreamEvent};
use crate::provider::assembly::Assembly;
use crate::provider::compat::Compat;
use crate::provider::normalise::Normaliser;
use crate::provider::sse::SseEvent;
use crate::provider::{failure, json_repair};
use crate::value::{Value, json};

use super::fragments::Fragments;
use super::think::{Piece, ThinkTags};
use super::usage;
use super::wire_message::REASONING_KEYS;

const API: &str = "openai-completions";

/// What the reader has to know of its request.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The provider's id.
    pub provider: String,
    /// The model's id within the provider.
    pub model: String,
    /// This program's id of the request: ids of calls are made from it where the host sends none.
    pub request_id: String,
    /// Names of the offered tools.
    pub tools: Vec<String>,
    /// How the host differs.
    pub compat: Compat,
}

/// What a finish reason means.
#[derive(Clone, Copy)]
enum Finish {
    Stop,
    Length,
    Calls,
    Refusal,
    Failure(FailureClass),
}

const FINISH_REASONS: &[(&str, Finish)] = &[
    ("stop", Finish::Stop),
    ("end", Finish::Stop),
    ("eos", Finish::Stop),
    ("length", Finish::Length),
    ("max_tokens", Finish::Length),
    ("tool_calls", Finish::Calls),
    ("function_call", Finish::Calls),
    ("content_filter", Finish::Refusal),
    ("network_error", Finish::Failure(FailureClass::Network)),
    ("model_context_window_exceeded", Finish::Failure(FailureClass::ContextOverflow)),
];

/// Reads one reply.
pub struct Reader {
    options: Options,
    assembly: Assembly,
    fragments: Fragments,
    think: Option<ThinkTags>,
    finish: Option<String>,
    refusal: String,
    details: Vec<Value>,
    /// The reply is one document: it is whole without a finish reason.
    document: bool,
}

impl Reader {
    /// A reader for the reply to one request.
    pub fn new(options: Options) -> Self {
        Reader {
            fragments: Fragments::new(options.tools.clone(), options.request_id.clone()),
            think: options.compat.think_tags.then(ThinkTags::default),
            options,
            assembly: Assembly::default(),
            finish: None,
            refusal: String::new(),
            details: Vec::new(),
            document: false,
        }
    }

    fn chunk(&mut self, chunk: &Value, out: &mut Vec<StreamEvent>) {
        let text = |name: &str| chunk.get(name).and_then(Value::as_str);
        let choice = first_choice(chunk);
        if let Some(error) = error_in(chunk, choice) {
            return self.end_with(failure::from_stream(error), out);
        }
        self.assembly.start(text("id"), text("model"), out);
        if let Some(found) = usage::usage_in(chunk, choice) {
            self.assembly.usage(usage::read(found));
        }
        let Some(choice) = choice else { return };
        let whole = choice.get("message").filter(|m| m.is_object());
        self.document = self.document || whole.is_some();
        if let Some(delta) = whole.or_else(|| choice.get("delta")) {
            self.delta(delta, whole.is_some(), out);
        }
        let finish = choice.get("finish_reason").and_then(Value::as_str).filter(|f| !f.is_empty());
        if let (None, Some(finish)) = (&self.finish, finish) {
            self.finish = Some(finish.to_owned());
        }
    }

    fn delta(&mut self, delta: &Value, whole: bool, out: &mut Vec<StreamEvent>) {
        self.reasoning(delta, out);
        match delta.get("content") {
            Some(Value::String(text)) => self.text(text, out),
            Some(Value::Array(parts)) => parts.iter().for_each(|p| self.part(p, out)),
            _ => {}
        }
        if let Some(refusal) = delta.get("refusal").and_then(Value::as_str) {
            self.refusal.push_str(refusal);
        }
        let calls = delta.get("tool_calls").and_then(Value::as_array);
        for call in calls.into_iter().flatten().chain(delta.get("function_call")) {
            self.fragments.push(call, whole, &mut self.assembly, out);
        }
    }

    /// Hosts send reasoning under one of several keys, and sometimes the same text under two: the first counts.
    fn reasoning(&mut self, delta: &Value, out: &mut Vec<StreamEvent>) {
        let details = delta.get("reasoning_details").and_then(Value::as_array);
        let named = REASONING_KEYS.iter().find_map(|k| Some((*k, delta.get(k)?.as_str().filter(|t| !t.is_empty())?)));
        match (named, details) {
            (Some((key, text)), _) => self.think_aloud(key, text, out),
            (None, Some(details)) => {
                let texts = details.iter().filter_map(|d| d.get("text").or_else(|| d.get("summary"))?.as_str());
                texts.for_each(|t| self.think_aloud("reasoning_details", t, out));
            }
            (None, None) => {}
        }
        details.into_iter().flatten().for_each(|d| keep_detail(&mut self.details, d));
    }

    fn think_aloud(&mut self, field: &str, text: &str, out: &mut Vec<StreamEvent>) {
        let Options { provider, model, .. } = &self.options;
        let origin = || json!({"api": API, "provider": provider, "model": model, "field": field});
        self.assembly.thinking(text, origin, out);
    }

    /// A part of a content array: text, or reasoning as text or as parts of its own.
    fn part(&mut self, part: &Value, out: &mut Vec<StreamEvent>) {
        if let Some(text) = part.get("text").and_then(Value::as_str) {
            self.text(text, out);
        }
        match part.get("thinking") {
            Some(Value::String(text)) => self.think_aloud("content", text, out),
            Some(Value::Array(parts)) => {
                let texts = parts.iter().filter_map(|p| p.get("text")?.as_str());
                texts.for_each(|t| self.think_aloud("content", t, out));
            }
            _ => {}
        }
    }

    fn text(&mut self, delta: &str, out: &mut Vec<StreamEvent>) {
        let Some(mut tags) = self.think.take() else { return self.assembly.text(delta, out) };
        tags.push(delta, |piece| self.piece(piece, out));
        self.think = Some(tags);
    }

    fn piece(&mut self, piece: Piece<'_>, out: &mut Vec<StreamEvent>) {
        match piece {
            Piece::Text(text) => self.assembly.text(text, out),
            Piece::Thinking(text) => self.think_aloud("content", text, out),
        }
    }

    /// The reply ended in good order, or it had said why it ends before the connection broke.
    fn conclude(&mut self, out: &mut Vec<StreamEvent>) {
        self.settle(out);
        let raw = self.finish.take();
        let calls = !self.fragments.is_empty();
        let known = raw.as_deref().map(|r| FINISH_REASONS.iter().find(|(name, _)| *name == r).map(|(_, f)| *f));
        let finish = match known {
            Some(Some(finish)) => finish,
            Some(None) => Finish::Failure(FailureClass::Provider),
            None if self.document || !self.options.compat.supports_finish_reason => Finish::Stop,
            None => return self.assembly.failed(no_finish(), None, out),
        };
        let (stop, raw) = match finish {
            Finish::Failure(class) => return self.finish_failed(class, raw, out),
            Finish::Length => (StopReason::Length, None),
            Finish::Refusal => (StopReason::Refusal, raw),
            _ if calls => (StopReason::ToolUse, None),
            _ if !self.refusal.is_empty() => (StopReason::Refusal, raw),
            Finish::Calls if self.assembly.has_content() => (StopReason::Stop, raw),
            Finish::Calls => return self.finish_failed(FailureClass::Provider, raw, out),
            Finish::Stop => (StopReason::Stop, None),
        };
        self.assembly.done(stop, raw, out);
    }

    fn finish_failed(&mut self, class: FailureClass, raw: Option<String>, out: &mut Vec<StreamEvent>) {
        let message = format!("the reply ended with the reason '{}'", raw.as_deref().unwrap_or_default());
        let failure = Failure { class, message, error_type: raw.clone(), ..Failure::default() };
        self.assembly.failed(failure, raw, out);
    }

    fn end_with(&mut self, failure: Failure, out: &mut Vec<StreamEvent>) {
        self.flush_tags(out);
        let raw = self.finish.take();
        self.assembly.failed(failure, raw, out);
    }

    fn flush_tags(&mut self, out: &mut Vec<StreamEvent>) {
        if let Some(mut tags) = self.think.take() {
            tags.finish(|piece| self.piece(piece, out));
        }
    }

    fn settle(&mut self, out: &mut Vec<StreamEvent>) {
        self.flush_tags(out);
        self.fragments.finish(&mut self.assembly, out);
        let details = std::mem::take(&mut self.details);
        if !details.is_empty() {
            self.opaque(json!({"reasoning_details": details}), out);
        }
        if !self.refusal.is_empty() {
            self.opaque(json!({"refusal": self.refusal}), out);
        }
    }

    fn opaque(&mut self, json: Value, out: &mut Vec<StreamEvent>) {
        let Options { provider, model, .. } = &self.options;
        let block = Block::Opaque { provider: provider.clone(), api: API.to_owned(), model: model.clone(), json };
        self.assembly.whole(block, out);
    }
}

impl Normaliser for Reader {
    fn push(&mut self, event: &SseEvent, out: &mut Vec<StreamEvent>) {
        let data = event.data.trim();
        if event.name.as_deref() == Some("error") {
            let error = json_repair::lenient(data).unwrap_or_else(|| Value::String(data.to_owned()));
            return self.end_with(failure::from_stream(&error), out);
        }
        match data {
            "" => {}
            "[DONE]" => self.conclude(out),
            _ => match json_repair::lenient(data) {
                Some(chunk) => self.chunk(&chunk, out),
                None => self.end_with(failure::network("the reply has a part that is not JSON"), out),
            },
        }
    }

    fn finish(&mut self, out: &mut Vec<StreamEvent>) {
        self.conclude(out);
    }

    fn fail(&mut self, failure: Failure, out: &mut Vec<StreamEvent>) {
        if self.finish.is_some() && failure.class != FailureClass::Aborted {
            return self.conclude(out);
        }
        self.end_with(failure, out);
    }
}

fn no_finish() -> Failure {
    failure::network("the reply ended without a finish reason: it may be cut off")
}

/// The choice with index 0; other ones are answers that nobody asked for.
fn first_choice(chunk: &Value) -> Option<&Value> {
    let choices = chunk.get("choices")?.as_array()?;
    choices.iter().find(|c| c.get("index").and_then(Value::as_u64).unwrap_or(0) == 0)
}

/// The error of a chunk, under any of its names.
fn error_in<'a>(chunk: &'a Value, choice: Option<&'a Value>) -> Option<&'a Value> {
    let says = |v: &&Value| match v {
        Value::Null | Value::Bool(false) => false,
        Value::String(s) => !s.is_empty(),
        _ => true,
    };
    if chunk.get("error").filter(says).is_some() {
        return Some(chunk);
    }
    if let Some(error) = choice.and_then(|c| c.get("error")).filter(says) {
        return Some(error);
    }
    let is_error = ["type", "object"].iter().any(|n| chunk.get(n).and_then(Value::as_str) == Some("error"));
    let bare =
        chunk.get("choices").is_none() && ["message", "detail"].iter().any(|n| chunk.get(n).filter(says).is_some());
    (is_error || bare).then_some(chunk)
}

/// Keeps a piece of `reasoning_details` for replay: consecutive pieces of one text are one entry.
fn keep_detail(details: &mut Vec<Value>, piece: &Value) {
    let same = |last: &Value, name: &str| last.get(name) == piece.get(name);
    let text_field = ["text", "summary"].into_iter().find(|f| piece.get(f).is_some_and(Value::is_string));
    if let (Some(last), Some(field)) = (details.last_mut(), text_field)
        && same(last, "type")
        && same(last, "index")
        && last.get(field).is_some_and(Value::is_string)
        && let (Some(entry), Some(new)) = (last.as_object_mut(), piece.as_object())
    {
        for (name, value) in new.iter().filter(|(_, v)| !v.is_null()) {
            match (entry.get_mut(name), value) {
                (Some(Value::String(text)), Value::String(more)) if name == field => text.push_str(more),
                (Some(slot), _) => *slot = value.clone(),
                (None, _) => {
                    entry.insert(name.clone(), value.clone());
                }
            }
        }
        return;
    }
    details.push(piece.clone());
}
