//! The messages of a session, and what of them a model is shown.

use std::cell::RefCell;
use std::collections::HashSet;
use std::rc::Rc;

use crate::message::{Assistant, Block, Message, StopReason};
use crate::prompt::estimate::CharCounts;
use crate::provider::completions::Encoder;

/// An append-only list of messages. Sharing it and a length is a snapshot.
#[derive(Default)]
pub struct History(RefCell<Vec<Rc<Message>>>);

impl History {
    /// Appends a message.
    pub fn push(&self, message: Message) -> Rc<Message> {
        let message = Rc::new(message);
        self.0.borrow_mut().push(message.clone());
        message
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.borrow().len()
    }

    /// True for a new session.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The messages from `start` up to `end`.
    pub fn range(&self, start: usize, end: usize) -> Vec<Rc<Message>> {
        let all = self.0.borrow();
        all.get(start..end.min(all.len())).map(<[_]>::to_vec).unwrap_or_default()
    }

    /// The newest message for which `test` holds.
    pub fn last(&self, test: impl Fn(&Message) -> bool) -> Option<Rc<Message>> {
        self.0.borrow().iter().rev().find(|m| test(m)).cloned()
    }

    /// True when the model has something to answer: what it is shown does not end with a whole answer.
    pub fn is_unfinished(&self) -> bool {
        let all = self.0.borrow();
        for message in all.iter().rev() {
            match &**message {
                Message::Assistant(a) if matches!(a.stop_reason, StopReason::Error | StopReason::Aborted) => {}
                Message::Assistant(a) => {
                    let calls = a.content.iter().any(|b| matches!(b, Block::ToolCall { .. }));
                    return calls || a.stop_reason == StopReason::Pause;
                }
                Message::ToolResult { .. } => {}
                Message::User { .. } | Message::Operator { .. } => return true,
            }
        }
        false
    }

    /// The calls of the newest assistant message that have no result yet. Those of a failed one need none: it is never
    /// sent, and nothing of it runs.
    pub fn open_calls(&self) -> Vec<(String, String)> {
        let all = self.0.borrow();
        let Some(at) = all.iter().rposition(|m| matches!(**m, Message::Assistant(_))) else { return Vec::new() };
        if matches!(&*all[at], Message::Assistant(a) if a.stop_reason == StopReason::Error) {
            return Vec::new();
        }
        let answered: HashSet<&str> = all[at..]
            .iter()
            .filter_map(|m| match &**m {
                Message::ToolResult { tool_call_id, .. } => Some(tool_call_id.as_str()),
                _ => None,
            })
            .collect();
        all[at]
            .content()
            .iter()
            .filter_map(|b| match b {
                Block::ToolCall { id, name, .. } if !answered.contains(id.as_str()) => Some((id.clone(), name.clone())),
                _ => None,
            })
            .collect()
    }
}

/// Decides message by message what is shown: replies that ended in an error or were aborted are left out together
/// with the results of their calls.
#[derive(Default)]
pub struct Filter {
    hidden_calls: HashSet<String>,
}

impl Filter {
    /// True when the message is shown to a model.
    pub fn shows(&mut self, message: &Message) -> bool {
        match message {
            Message::Assistant(Assistant { stop_reason: StopReason::Error | StopReason::Aborted, content, .. }) => {
                self.hidden_calls.extend(content.iter().filter_map(|b| match b {
                    Block::ToolCall { id, .. } => Some(id.clone()),
                    _ => None,
                }));
                false
            }
            Message::Assistant(a) => {
                // An id that a failed reply used may come again: from here on it is the new call's.
                for b in &a.content {
                    if let Block::ToolCall { id, .. } = b {
                        self.hidden_calls.remove(id);
                    }
                }
                true
            }
            Message::ToolResult { tool_call_id, .. } => !self.hidden_calls.contains(tool_call_id),
            _ => true,
        }
    }
}

/// The messages shown of the first `len` of a history.
pub fn shown(history: &History, len: usize) -> Vec<Rc<Message>> {
    let mut filter = Filter::default();
    history.range(0, len).into_iter().filter(|m| filter.shows(m)).collect()
}

/// What a model is shown, kept up to date message by message: each is looked at once.
#[derive(Default)]
pub struct Projection {
    seen: usize,
    filter: Filter,
    /// Character counts of all shown texts.
    pub counts: CharCounts,
    /// The messages in the form of the chat completions wire.
    pub encoder: Option<Encoder>,
}

impl Projection {
    /// Takes in what the history has gained.
    pub fn update(&mut self, history: &History) {
        for message in history.range(self.seen, history.len()) {
            self.seen += 1;
            if !self.filter.shows(&message) {
                continue;
            }
            for block in message.content() {
                if let Block::Text { text, .. } | Block::Context { text, .. } = block {
                    self.counts.join(CharCounts::of(text));
                }
            }
            if let Some(encoder) = &mut self.encoder {
                encoder.push(&message);
            }
        }
    }

    /// Starts an encoder that has seen all so far, unless there is one.
    pub fn encode_with(&mut self, history: &History, fresh: impl FnOnce() -> Encoder) -> &mut Encoder {
        let seen = self.seen;
        self.encoder.get_or_insert_with(|| {
            let mut encoder = fresh();
            shown(history, seen).iter().for_each(|m| encoder.push(m));
            encoder
        })
    }
}
