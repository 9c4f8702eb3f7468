//! What had arrived of a reply that did not come to its end.

use std::collections::BTreeMap;

use crate::message::{Block, Reply, StopReason, StreamEvent};
use crate::provider::assembly::block_of_call;
use crate::provider::json_repair;

/// The blocks of a stream that did not come to its end, by their index.
#[derive(Default)]
pub struct Partial {
    blocks: BTreeMap<usize, Begun>,
    response_id: Option<String>,
}

enum Begun {
    Text(String),
    Thinking(String),
    Call { id: String, name: String, json: String, ended: bool },
}

impl Partial {
    /// Takes an event in.
    pub fn take(&mut self, event: &StreamEvent) {
        match event {
            StreamEvent::Start { response_id, .. } => self.response_id.clone_from(response_id),
            StreamEvent::TextStart { index } => {
                self.blocks.insert(*index, Begun::Text(String::new()));
            }
            StreamEvent::ThinkingStart { index } => {
                self.blocks.insert(*index, Begun::Thinking(String::new()));
            }
            StreamEvent::ToolCallStart { index, id, name } => {
                let call = Begun::Call { id: id.clone(), name: name.clone(), json: String::new(), ended: false };
                self.blocks.insert(*index, call);
            }
            StreamEvent::TextDelta { index, text: delta }
            | StreamEvent::ThinkingDelta { index, text: delta }
            | StreamEvent::ToolCallDelta { index, json: delta } => {
                if let Some(Begun::Text(text) | Begun::Thinking(text) | Begun::Call { json: text, .. }) =
                    self.blocks.get_mut(index)
                {
                    text.push_str(delta);
                }
            }
            StreamEvent::ToolCallEnd { index } => {
                if let Some(Begun::Call { ended, .. }) = self.blocks.get_mut(index) {
                    *ended = true;
                }
            }
            _ => {}
        }
    }

    /// Text as far as it came, and the calls that are whole.
    pub fn reply(self) -> Reply {
        let content = self.blocks.into_values().filter_map(Begun::block).collect();
        Reply { content, stop_reason: StopReason::Aborted, response_id: self.response_id, ..Reply::default() }
    }
}

impl Begun {
    fn block(self) -> Option<Block> {
        match self {
            Begun::Text(text) => Some(Block::text(text)),
            Begun::Thinking(thinking) => {
                Some(Block::Thinking { thinking, signature: None, redacted: false, data: None, origin: None })
            }
            Begun::Call { id, name, json, ended } => {
                let whole = ended || (!json.is_empty() && json_repair::parse(&json).is_ok());
                whole.then(|| block_of_call(&id, &name, &json))
            }
        }
    }
}

/// Block, kind and text of a delta.
pub fn delta_of(event: &StreamEvent) -> Option<(usize, &'static str, &str)> {
    match event {
        StreamEvent::TextDelta { index, text } => Some((*index, "text", text)),
        StreamEvent::ThinkingDelta { index, text } => Some((*index, "thinking", text)),
        StreamEvent::ToolCallDelta { index, json } => Some((*index, "toolcall", json)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_count_when_they_are_whole_and_texts_as_far_as_they_came() {
        let call = |index: usize| StreamEvent::ToolCallStart { index, id: format!("c{index}"), name: "t".into() };
        let json = |index: usize, json: &str| StreamEvent::ToolCallDelta { index, json: json.into() };
        let events = [
            StreamEvent::TextStart { index: 1 },
            StreamEvent::TextDelta { index: 1, text: "so f".into() },
            call(2),
            call(3),
            call(4),
            json(2, "{\"x\":1}"),
            json(3, "{\"x\":"),
            StreamEvent::ToolCallEnd { index: 4 },
        ];
        let mut partial = Partial::default();
        events.iter().for_each(|e| partial.take(e));
        let reply = partial.reply();
        let ids: Vec<&str> = reply
            .content
            .iter()
            .filter_map(|b| match b {
                Block::ToolCall { id, .. } => Some(id.as_str()),
                _ => None,
            })
            .collect();
        assert_eq!((reply.content.first(), ids), (Some(&Block::text("so f")), vec!["c2", "c4"]));
    }
}
