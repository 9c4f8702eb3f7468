//! The answers of an event's handlers, folded into one outcome.
//!
//! A dispatch makes a [`Fold`], calls the handlers in order (each with [`Fold::payload`] as it stands), feeds every
//! reply to [`Fold::answer`] until it says [`Flow::Stop`], and takes the outcome.

use super::catalogue::{Event, Semantics, dispatch_of};
use super::{Diagnostic, collect, patch};
use crate::error::Error;
use crate::meaning::Meaning;
use crate::reply::{Failed, HostReply, decision, list_answer, object, optional_string};
use crate::value::{HostData, HostValue, Map, Value, json};

/// Characters of text that the handlers of one event may add to a prompt.
pub const TEXT_CAP: usize = 10_000;

/// Whether the next handler is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    /// The next handler is called.
    Continue,
    /// The outcome is fixed.
    Stop,
}

/// What a matcher function's reply means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Matched {
    /// The handler is called.
    Yes,
    /// The handler is skipped.
    No,
    /// The matcher failed, and with it the dispatch: the outcome is fixed.
    Stop,
}

/// What the handlers amounted to.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// Nothing: `notify`, or a first decision that nobody took.
    None,
    /// `collect`: the merged fields.
    Collected(Map<String, Value>),
    /// `transform`: `action` is "continue", "transform" or "handled".
    Text {
        /// What became of the text.
        action: &'static str,
        /// The text as it stands.
        text: String,
    },
    /// `decision`: `decision` is "allow", "block" or "modify".
    Decision {
        /// The decision.
        decision: &'static str,
        /// Why, when it was blocked.
        reason: Option<String>,
        /// The input as it stands.
        input: Value,
    },
    /// `first_decision`: the answer that won.
    First(Map<String, Value>),
    /// `patch`: the payload as patched.
    Patched(Value),
    /// `patch` of an event that fails closed: what was to be sent must not be.
    Refused(String),
    /// `block_patch`.
    Lines {
        /// True when nothing may be written.
        block: bool,
        /// Why.
        reason: Option<String>,
        /// The lines as they stand.
        lines: Value,
    },
}

/// The outcome of a dispatch.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// What the handlers amounted to.
    pub answer: Answer,
    /// Their faults, in order.
    pub diagnostics: Vec<Diagnostic>,
    /// True when the person interrupted a handler: the run is aborted.
    pub abort: bool,
}

/// A dispatch in progress.
#[derive(Debug, Clone)]
pub struct Fold {
    event: &'static Event,
    name: String,
    payload: Value,
    collected: collect::Collected,
    first: Option<Map<String, Value>>,
    changed: bool,
    handled: bool,
    refused: Option<String>,
    diagnostics: Vec<Diagnostic>,
    abort: bool,
}

impl Fold {
    /// Begins a dispatch of an event or channel.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] (`event`) for a name that is neither.
    pub fn new(name: &str, payload: Value) -> Result<Self, Error> {
        let Some(event) = dispatch_of(name) else {
            let hint = super::catalogue::hint(name);
            return Err(Error::argument_message("event", format!("'{name}' is not a gptr event ({hint}).")));
        };
        Ok(Fold {
            event,
            name: name.to_owned(),
            payload,
            collected: collect::Collected::default(),
            first: None,
            changed: false,
            handled: false,
            refused: None,
            diagnostics: Vec::new(),
            abort: false,
        })
    }

    /// The payload as the next handler sees it.
    pub fn payload(&self) -> &Value {
        &self.payload
    }

    /// Takes a handler's reply. `owner` is the source of its hook.
    pub fn answer(&mut self, owner: &str, reply: &HostReply) -> Flow {
        let value = match reply.result() {
            Ok(value) => value,
            Err(failed) => return self.fail(owner, &failed),
        };
        if self.event.semantics == Semantics::Notify {
            return Flow::Continue;
        }
        let list = match list_answer(value) {
            Ok(None) => return Flow::Continue,
            Ok(Some(list)) => list,
            Err(problem) => return self.malformed(owner, &problem),
        };
        match self.event.semantics {
            Semantics::Notify => Flow::Continue,
            Semantics::Collect => self.collect(owner, list),
            Semantics::Transform => self.transform(owner, list),
            Semantics::Decision => self.decide(owner, list),
            Semantics::FirstDecision => self.first(owner, list),
            Semantics::Patch => self.patch(owner, list),
            Semantics::BlockPatch => self.lines(owner, list),
        }
    }

    /// Takes the reply of a matcher function: only TRUE matches, and a failure counts as the handler's.
    pub fn matched(&mut self, owner: &str, reply: &HostReply) -> Matched {
        match reply.result() {
            Ok(value) if value.as_flag() == Some(true) => Matched::Yes,
            Ok(_) => Matched::No,
            Err(failed) => match self.fail(owner, &failed) {
                Flow::Stop => Matched::Stop,
                Flow::Continue => Matched::No,
            },
        }
    }

    /// The outcome.
    pub fn finish(self) -> Outcome {
        let Fold { event, payload, collected, first, changed, handled, refused, diagnostics, abort, .. } = self;
        let field = |name: &str| payload.get(name).cloned().unwrap_or(Value::Null);
        let answer = match event.semantics {
            Semantics::Notify => Answer::None,
            Semantics::Collect => Answer::Collected(collected.into_fields()),
            Semantics::Transform => Answer::Text {
                action: if handled {
                    "handled"
                } else if changed {
                    "transform"
                } else {
                    "continue"
                },
                text: text_of(&payload).to_owned(),
            },
            Semantics::Decision => Answer::Decision {
                decision: if refused.is_some() {
                    "block"
                } else if changed {
                    "modify"
                } else {
                    "allow"
                },
                reason: refused,
                input: field("input"),
            },
            Semantics::FirstDecision => first.map_or(Answer::None, Answer::First),
            Semantics::Patch => refused.map_or(Answer::Patched(payload), Answer::Refused),
            Semantics::BlockPatch => Answer::Lines { block: refused.is_some(), reason: refused, lines: field("lines") },
        };
        Outcome { answer, diagnostics, abort }
    }

    fn report(&mut self, owner: &str, class: &str, message: impl Into<String>) {
        self.diagnostics.push(Diagnostic {
            source: owner.to_owned(),
            event: self.name.clone(),
            class: class.to_owned(),
            message: message.into(),
        });
    }

    fn fail(&mut self, owner: &str, failed: &Failed) -> Flow {
        let consequence = self.event.role().consequence(failed.exit);
        self.abort |= consequence.abort;
        self.report(owner, &failed.class, &failed.message);
        if consequence.meaning == Meaning::Skip {
            return Flow::Continue;
        }
        self.refuse(format!("{owner} failed: {}", failed.message))
    }

    /// An answer that can't be used: refuses where a failure does.
    fn malformed(&mut self, owner: &str, problem: &str) -> Flow {
        let closed = self.event.fail_closed;
        let decides = matches!(self.event.semantics, Semantics::Decision | Semantics::FirstDecision);
        self.report(owner, if closed && decides { "malformed_decision" } else { "malformed_answer" }, problem);
        if closed { self.refuse(format!("{owner} returned a malformed answer: {problem}")) } else { Flow::Continue }
    }

    fn refuse(&mut self, reason: String) -> Flow {
        if self.event.semantics == Semantics::FirstDecision {
            self.first = Some(Map::from_iter([("decision".into(), json!("deny")), ("reason".into(), json!(reason))]));
        }
        self.refused = Some(reason);
        Flow::Stop
    }

    fn set(&mut self, field: &str, value: Value) {
        if let Some(payload) = self.payload.as_object_mut() {
            payload.insert(field.to_owned(), value);
        }
    }

    fn collect(&mut self, owner: &str, list: &HostValue) -> Flow {
        let fields = match object(list) {
            Ok(fields) => fields,
            Err(problem) => return self.malformed(owner, &format!("the answer {problem}")),
        };
        for note in self.collected.merge(fields) {
            self.report(owner, note.class, note.message);
        }
        Flow::Continue
    }

    fn transform(&mut self, owner: &str, list: &HostValue) -> Flow {
        let text = list.field("text").map(|t| t.as_strings().map(|parts| parts.join("\n")));
        match (list.field("action").and_then(HostValue::as_str), text) {
            (Some("continue"), _) => Flow::Continue,
            (Some("transform"), Some(Some(text))) => {
                self.set_text(owner, text);
                self.changed = true;
                Flow::Continue
            }
            (Some("handled"), text) => {
                if let Some(text) = text.flatten() {
                    self.set_text(owner, text);
                }
                self.handled = true;
                Flow::Stop
            }
            (Some("transform"), _) => self.malformed(owner, "`text` must be a character vector without NA"),
            _ => self.malformed(owner, "`action` must be one of \"continue\", \"transform\", \"handled\""),
        }
    }

    fn set_text(&mut self, owner: &str, text: String) {
        if text == text_of(&self.payload) {
            return;
        }
        let cut: String = text.chars().take(TEXT_CAP).collect();
        if cut.len() < text.len() {
            self.report(owner, "context_cap", format!("the text was cut to {TEXT_CAP} characters"));
        }
        self.set("text", json!(cut));
    }

    fn decide(&mut self, owner: &str, list: &HostValue) -> Flow {
        let read = decision(list).and_then(|d| Ok((d, optional_string(list, "reason")?)));
        match read {
            Ok((Some("allow"), _)) => Flow::Continue,
            Ok((Some("block"), reason)) => self.refuse(reason_or(reason, owner, "blocked")),
            Ok((Some("modify"), _)) => match list.field("input").map(object) {
                Some(Ok(input)) => {
                    self.set("input", Value::Object(input));
                    self.changed = true;
                    Flow::Continue
                }
                Some(Err(problem)) => self.malformed(owner, &format!("`input` {problem}")),
                None => self.malformed(owner, "a modify needs an `input`"),
            },
            Ok(_) => self.malformed(owner, "`decision` must be one of \"allow\", \"block\", \"modify\""),
            Err(problem) => self.malformed(owner, &problem),
        }
    }

    fn first(&mut self, owner: &str, list: &HostValue) -> Flow {
        let fields = match object(list) {
            Ok(fields) => fields,
            Err(problem) => return self.malformed(owner, &format!("the answer {problem}")),
        };
        if self.event.fail_closed {
            let read = decision(list).and_then(|d| Ok((d, optional_string(list, "reason")?)));
            match read {
                Ok((Some("allow" | "deny"), _)) => {}
                Ok(_) => return self.malformed(owner, "`decision` must be one of \"allow\", \"deny\""),
                Err(problem) => return self.malformed(owner, &problem),
            }
        }
        let mut fields = fields;
        if fields.get("decision") == Some(&json!("deny")) && self.event.fail_closed {
            let given = fields.get("reason").and_then(Value::as_str).map(str::to_owned);
            fields.insert("reason".into(), json!(reason_or(given, owner, "denied")));
        }
        self.first = Some(fields);
        Flow::Stop
    }

    fn patch(&mut self, owner: &str, list: &HostValue) -> Flow {
        let (Some(names), Some(items)) = (&list.names, list.items()) else { return Flow::Continue };
        for (name, item) in names.iter().zip(items) {
            let current = self.payload.get(name).unwrap_or(&Value::Null);
            match patch::field(self.event.name, name, current, item) {
                Ok(value) => self.set(name, value),
                Err(problem) if self.event.fail_closed => return self.malformed(owner, &problem),
                Err(problem) => self.report(owner, "patch_ignored", problem),
            }
        }
        Flow::Continue
    }

    fn lines(&mut self, owner: &str, list: &HostValue) -> Flow {
        let reason = match optional_string(list, "reason") {
            Ok(reason) => reason,
            Err(problem) => return self.malformed(owner, &problem),
        };
        match list.field("block").map(HostValue::as_flag) {
            Some(Some(true)) => return self.refuse(reason_or(reason, owner, "blocked")),
            Some(None) => return self.malformed(owner, "`block` must be TRUE or FALSE"),
            _ => {}
        }
        match list.field("lines").map(|l| (&l.data, l.as_strings())) {
            None => Flow::Continue,
            Some((HostData::Character(_), Some(lines))) => {
                let lines = json!(lines);
                self.set("lines", lines);
                Flow::Continue
            }
            Some(_) => self.malformed(owner, "`lines` must be a character vector without NA"),
        }
    }
}

fn text_of(payload: &Value) -> &str {
    payload.get("text").and_then(Value::as_str).unwrap_or_default()
}

fn reason_or(reason: Option<String>, owner: &str, verb: &str) -> String {
    reason.filter(|r| !r.trim().is_empty()).unwrap_or_else(|| format!("{verb} by {owner}"))
}

#[cfg(test)]
#[path = "fold_tests.rs"]
mod tests;
