//! What a session shows of itself: the values behind its accessors.

use super::{Session, UsageRow};
use crate::error::Error;
use crate::message::{Block, Message, StopReason};
use crate::prompt::estimate::{Class, estimate};
use crate::value::{Value, json};

/// Characters of a preview.
const PREVIEW: usize = 60;

impl Session {
    /// The value of an accessor.
    ///
    /// # Errors
    /// `UnknownMember` for a name that is none.
    pub fn field(&self, name: &str) -> Result<Value, Error> {
        let state = self.state.borrow();
        Ok(match name {
            "text" => json!(self.text()),
            "status" => json!(state.status.as_str()),
            "reason" => json!(state.reason),
            "turns" => json!(state.turns),
            "queued" => json!(state.queue.len()),
            "model" => json!(state.model.reference()),
            "mode" => json!(state.mode.as_str()),
            "kind" => json!(self.kind),
            "usage" => Value::Array(state.usage.iter().map(|UsageRow(row)| row.clone()).collect()),
            "cost" => json!(cost(&state.usage)),
            "messages" => Value::Array(self.history.range(0, usize::MAX).iter().map(|m| m.to_json()).collect()),
            "history" => self.rows(),
            "entries" => Value::Array(state.entries.clone()),
            _ => {
                let message = format!("A session has no field '{name}'.");
                return Err(Error::UnknownMember { name: name.to_owned(), available: Vec::new(), message });
            }
        })
    }

    /// The last answer: a whole reply without calls.
    pub fn text(&self) -> Option<String> {
        let is_answer = |m: &Message| match m {
            Message::Assistant(a) => {
                !matches!(a.stop_reason, StopReason::Error | StopReason::Aborted)
                    && !a.content.iter().any(|b| matches!(b, Block::ToolCall { .. }))
            }
            _ => false,
        };
        self.history.last(is_answer).map(|m| m.text())
    }

    fn rows(&self) -> Value {
        let mut turn = 0;
        let messages = self.history.range(0, usize::MAX);
        let rows = messages.iter().map(|m| {
            if matches!(**m, Message::User { .. }) {
                turn += 1;
            }
            let text = m.text();
            let line = text.lines().next().unwrap_or_default();
            let preview: String = line.chars().take(PREVIEW).collect();
            let tools: Vec<&str> = m
                .content()
                .iter()
                .filter_map(|b| match b {
                    Block::ToolCall { name, .. } => Some(name.as_str()),
                    _ => None,
                })
                .collect();
            let tokens = match &**m {
                Message::Assistant(a) => a.usage.total(),
                _ => Some(estimate(&text, Class::Prose)),
            };
            json!({"turn": turn, "role": m.role(), "preview": preview, "tools": tools.join(", "), "tokens": tokens})
        });
        Value::Array(rows.collect())
    }
}

/// The cost in USD; unknown when any part is.
fn cost(rows: &[UsageRow]) -> Option<f64> {
    rows.iter().map(|UsageRow(row)| row["cost"].as_f64()).sum()
}
