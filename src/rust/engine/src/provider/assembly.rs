//! Builds a reply from what a wire delivers, and the events that go with it. Shared by all wires.

use crate::message::{Block, Failure, FailureClass, Reply, StopReason, StreamEvent, Usage};
use crate::value::Value;

use super::json_repair;

/// The kind of the block that takes deltas at present.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Open {
    Text,
    Thinking,
}

/// A tool call on its way.
#[derive(Debug, Clone, Default)]
pub struct Call {
    /// Its position among the blocks, from 0.
    at: usize,
    /// Its id, once known.
    pub id: Option<String>,
    /// Its name, once known.
    pub name: Option<String>,
    /// The JSON text so far.
    pub raw: String,
    announced: bool,
}

/// A reply that is being built.
#[derive(Debug, Default)]
pub struct Assembly {
    reply: Reply,
    started: bool,
    open: Option<(Open, usize)>,
    calls: Vec<Call>,
}

impl Assembly {
    /// The host began to answer. Later calls only add an id or model that was missing.
    pub fn start(&mut self, id: Option<&str>, model: Option<&str>, out: &mut Vec<StreamEvent>) {
        let known = |slot: &mut Option<String>, text: Option<&str>| {
            if let (None, Some(text)) = (&slot, text.filter(|t| !t.is_empty())) {
                *slot = Some(text.to_owned());
            }
        };
        known(&mut self.reply.response_id, id);
        known(&mut self.reply.response_model, model);
        if !std::mem::replace(&mut self.started, true) {
            out.push(StreamEvent::Start {
                response_id: self.reply.response_id.clone(),
                response_model: self.reply.response_model.clone(),
            });
        }
    }

    /// Sets the token counts.
    pub fn usage(&mut self, usage: Usage) {
        self.reply.usage = usage;
    }

    /// True when a block has begun.
    pub fn has_content(&self) -> bool {
        !self.reply.content.is_empty()
    }

    /// More text.
    pub fn text(&mut self, delta: &str, out: &mut Vec<StreamEvent>) {
        if delta.is_empty() {
            return;
        }
        let at = self.opened(Open::Text, || Block::text(""), out);
        if let Some(Block::Text { text, .. }) = self.reply.content.get_mut(at) {
            text.push_str(delta);
        }
        out.push(StreamEvent::TextDelta { index: at + 1, text: delta.to_owned() });
    }

    /// More reasoning; `origin` is kept with a block that this begins.
    pub fn thinking(&mut self, delta: &str, origin: impl FnOnce() -> Value, out: &mut Vec<StreamEvent>) {
        if delta.is_empty() {
            return;
        }
        let block = || Block::Thinking {
            thinking: String::new(),
            signature: None,
            redacted: false,
            data: None,
            origin: Some(origin()),
        };
        let at = self.opened(Open::Thinking, block, out);
        if let Some(Block::Thinking { thinking, .. }) = self.reply.content.get_mut(at) {
            thinking.push_str(delta);
        }
        out.push(StreamEvent::ThinkingDelta { index: at + 1, text: delta.to_owned() });
    }

    /// A block that has no deltas.
    pub fn whole(&mut self, block: Block, out: &mut Vec<StreamEvent>) {
        self.close(out);
        self.reply.content.push(block);
    }

    fn opened(&mut self, kind: Open, block: impl FnOnce() -> Block, out: &mut Vec<StreamEvent>) -> usize {
        if let Some((open, at)) = self.open
            && open == kind
        {
            return at;
        }
        self.close(out);
        let at = self.reply.content.len();
        self.reply.content.push(block());
        self.open = Some((kind, at));
        out.push(match kind {
            Open::Text => StreamEvent::TextStart { index: at + 1 },
            Open::Thinking => StreamEvent::ThinkingStart { index: at + 1 },
        });
        at
    }

    /// Ends the block that takes deltas.
    pub fn close(&mut self, out: &mut Vec<StreamEvent>) {
        match self.open.take() {
            Some((Open::Text, at)) => out.push(StreamEvent::TextEnd { index: at + 1 }),
            Some((Open::Thinking, at)) => out.push(StreamEvent::ThinkingEnd { index: at + 1 }),
            None => {}
        }
    }

    /// Begins a call and returns its number. Nothing is emitted before [`announce`](Self::announce).
    pub fn begin_call(&mut self, out: &mut Vec<StreamEvent>) -> usize {
        self.close(out);
        let at = self.reply.content.len();
        // Holds the place; the block is written when the call ends.
        self.reply.content.push(block_of_call("", "", ""));
        self.calls.push(Call { at, ..Call::default() });
        self.calls.len() - 1
    }

    /// The calls so far.
    pub fn calls(&self) -> &[Call] {
        &self.calls
    }

    /// One call, to set what is known of it.
    pub fn call_mut(&mut self, number: usize) -> Option<&mut Call> {
        self.calls.get_mut(number)
    }

    /// An id for a call that no other call of this reply has.
    pub fn unique_id(&self, number: usize, wish: &str) -> String {
        let taken = |id: &str| self.calls.iter().enumerate().any(|(i, c)| i != number && c.id.as_deref() == Some(id));
        let mut id = wish.to_owned();
        let mut n = 2;
        while taken(&id) {
            id = format!("{wish}_{n}");
            n += 1;
        }
        id
    }

    /// Shows a call, whose id and name are as they will stay, with the text that had arrived before. Once only.
    pub fn announce(&mut self, number: usize, out: &mut Vec<StreamEvent>) {
        let Some(call) = self.calls.get_mut(number).filter(|c| !c.announced) else { return };
        call.announced = true;
        let index = call.at + 1;
        let text = |x: &Option<String>| x.clone().unwrap_or_default();
        out.push(StreamEvent::ToolCallStart { index, id: text(&call.id), name: text(&call.name) });
        if !call.raw.is_empty() {
            out.push(StreamEvent::ToolCallDelta { index, json: call.raw.clone() });
        }
    }

    /// True when a call was shown.
    pub fn announced(&self, number: usize) -> bool {
        self.calls.get(number).is_some_and(|c| c.announced)
    }

    /// More of a call's JSON text.
    pub fn arguments(&mut self, number: usize, delta: &str, out: &mut Vec<StreamEvent>) {
        let Some(call) = self.calls.get_mut(number).filter(|_| !delta.is_empty()) else { return };
        call.raw.push_str(delta);
        if call.announced {
            out.push(StreamEvent::ToolCallDelta { index: call.at + 1, json: delta.to_owned() });
        }
    }

    /// The reply is whole.
    pub fn done(&mut self, stop: StopReason, raw: Option<String>, out: &mut Vec<StreamEvent>) {
        self.close(out);
        for number in 0..self.calls.len() {
            self.announce(number, out);
        }
        out.extend(self.calls.iter().map(|c| StreamEvent::ToolCallEnd { index: c.at + 1 }));
        out.push(StreamEvent::Done { reply: Box::new(self.take(stop, raw)) });
    }

    /// The reply failed; what had arrived stays in it. Open blocks get no end event.
    pub fn failed(&mut self, failure: Failure, raw: Option<String>, out: &mut Vec<StreamEvent>) {
        let stop = match failure.class {
            FailureClass::Aborted => StopReason::Aborted,
            _ => StopReason::Error,
        };
        out.push(StreamEvent::Error { reply: Box::new(self.take(stop, raw)), failure });
    }

    fn take(&mut self, stop: StopReason, raw: Option<String>) -> Reply {
        let mut reply = std::mem::take(&mut self.reply);
        for call in self.calls.drain(..) {
            if let Some(place) = reply.content.get_mut(call.at) {
                *place = block_of_call(
                    call.id.as_deref().unwrap_or_default(),
                    call.name.as_deref().unwrap_or_default(),
                    &call.raw,
                );
            }
        }
        self.open = None;
        reply.stop_reason = stop;
        reply.raw_stop_reason = raw;
        reply
    }
}

/// The block of a call: arguments that can't be read whole are what can be read of them, with the raw text beside.
pub fn block_of_call(id: &str, name: &str, raw: &str) -> Block {
    let arguments = json_repair::parse(raw).unwrap_or_else(|_| json_repair::partial(raw));
    let encoded = arguments.to_string();
    let differs = !raw.trim().is_empty() && raw != encoded;
    Block::ToolCall {
        id: id.to_owned(),
        name: name.to_owned(),
        raw_arguments: differs.then(|| raw.to_owned()),
        arguments,
        thought_signature: None,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;
    use crate::value::json;

    #[test]
    fn blocks_open_and_close_as_their_kind_changes() {
        let mut a = Assembly::default();
        let mut out = Vec::new();
        a.start(Some("r"), None, &mut out);
        a.thinking("hm", || json!({}), &mut out);
        a.text("x", &mut out);
        a.text("y", &mut out);
        a.done(StopReason::Stop, None, &mut out);
        let text = |t: &str| StreamEvent::TextDelta { index: 2, text: t.into() };
        assert_eq!(
            out[1..7],
            [
                StreamEvent::ThinkingStart { index: 1 },
                StreamEvent::ThinkingDelta { index: 1, text: "hm".into() },
                StreamEvent::ThinkingEnd { index: 1 },
                StreamEvent::TextStart { index: 2 },
                text("x"),
                text("y"),
            ]
        );
        assert_eq!(out[7], StreamEvent::TextEnd { index: 2 });
    }

    #[test]
    fn raw_arguments_are_kept_only_when_they_differ() {
        let block = |raw: &str| match block_of_call("k", "f", raw) {
            Block::ToolCall { arguments, raw_arguments, .. } => (arguments, raw_arguments),
            _ => unreachable!(),
        };
        assert_eq!(block(r#"{"a":1}"#), (json!({"a": 1}), None));
        assert_eq!(block(r#"{"a": 1}"#), (json!({"a": 1}), Some(r#"{"a": 1}"#.into())));
        assert_eq!(block(" "), (json!({}), None));
        assert_eq!(block(r#"{"a":"b"#), (json!({"a": "b"}), Some(r#"{"a":"b"#.into())));
    }

    #[test]
    fn a_failure_keeps_what_had_arrived_and_ends_no_block() {
        let mut a = Assembly::default();
        let mut out = Vec::new();
        a.text("half", &mut out);
        let n = a.begin_call(&mut out);
        a.arguments(n, "{\"a\":", &mut out);
        out.clear();
        a.failed(Failure { class: FailureClass::Aborted, ..Failure::default() }, None, &mut out);
        let [StreamEvent::Error { reply, .. }] = out.as_slice() else { panic!() };
        assert_eq!(reply.stop_reason, StopReason::Aborted);
        assert_eq!(reply.content.len(), 2);
    }
}
