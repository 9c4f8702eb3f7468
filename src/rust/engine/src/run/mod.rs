//! A run: requests, tool calls, boundaries, until the model is done or something ends it.

pub mod check;
pub mod freeze;
pub mod member;
pub mod models;
pub mod permission;
pub mod request;
pub mod scene;
pub mod tool;
pub mod tool_result;

use std::cell::RefCell;
use std::rc::Rc;

use crate::clock;
use crate::engine::Engine;
use crate::error::Error;
use crate::hook::Answer;
use crate::message::{Block, Message, StopReason};
use crate::model::ModelRecord;
use crate::registry::store::Record;
use crate::session::{Frozen, Input, Running, Session, Status, Urgency};
use crate::task::{Host, Task};
use crate::value::{Value, json};
use request::Ended;
use scene::Scene;
use tool::{CallInput, CallRequest};

/// How a run settled.
struct Settled {
    status: Status,
    reason: Option<String>,
    error: Option<Error>,
}

impl Settled {
    fn idle() -> Self {
        Settled { status: Status::Idle, reason: None, error: None }
    }

    fn failed(error: Error) -> Self {
        Settled { status: Status::Error, reason: Some(error.to_string()), error: Some(error) }
    }
}

/// What comes after a model turn.
enum Next {
    Request,
    Settle(Settled),
}

/// A task that runs a session until it settles. Its value is `{status, condition}`; a condition is data, since the
/// session exists and can go on.
pub fn task(engine: &Rc<Engine>, session: &Rc<Session>) -> Task {
    let (engine, session) = (engine.clone(), session.clone());
    let bell = engine.bell.clone();
    Task::new(&bell, move |host| run(engine, session, host))
}

async fn run(engine: Rc<Engine>, session: Rc<Session>, host: Host) -> Result<Value, Error> {
    if session.is_running() {
        return Err(Error::Busy { session: session.id.clone() });
    }
    let running = Running {
        id: clock::fresh_id("u", 8),
        signal: host.signal().clone(),
        turn: session.state.borrow().turns,
        nested: Rc::default(),
        approved: Rc::default(),
    };
    *session.running.borrow_mut() = Some(running.clone());
    session.state.borrow_mut().status = Status::Running;
    engine.registry.begin_run(&running.id, Some(&session.id));
    let guard = Guard { engine: engine.clone(), session: session.clone(), run: running.id.clone() };
    let scene = Scene { engine, session, host, run: running };
    let usage_before = scene.session.state.borrow().usage.len();
    let settled = match scene.start().await {
        Ok(first) => scene.turns(first).await,
        Err(error) => Settled::failed(error),
    };
    let status = settled.status.as_str();
    {
        let mut state = scene.session.state.borrow_mut();
        state.status = settled.status;
        state.reason = settled.reason.clone();
    }
    scene
        .notify("agent_end", || {
            let state = scene.session.state.borrow();
            let usage: Vec<&Value> = state.usage.iter().skip(usage_before).map(|r| &r.0).collect();
            json!({"status": status, "reason": settled.reason, "usage": usage, "doc": Value::Null, "turns": state.turns})
        })
        .await;
    drop(guard);
    let condition = settled.error.map(|e| e.condition());
    let condition = condition.map(|c| json!({"classes": c.classes, "message": c.message, "fields": c.fields}));
    Ok(json!({"status": status, "condition": condition}))
}

/// Frees the session however the run is left, and closes calls that have no result.
struct Guard {
    engine: Rc<Engine>,
    session: Rc<Session>,
    run: String,
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.engine.registry.end_run(&self.run);
        close_open_calls(&self.session, "the run ended");
        *self.session.running.borrow_mut() = None;
        let mut state = self.session.state.borrow_mut();
        if matches!(state.status, Status::Running | Status::Waiting) {
            state.status = Status::Aborted;
        }
    }
}

fn close_open_calls(session: &Session, reason: &str) {
    for (id, name) in session.history.open_calls() {
        session.history.push(not_executed(id, name, reason));
    }
}

fn not_executed(id: String, name: String, reason: &str) -> Message {
    Message::ToolResult {
        tool_call_id: id,
        tool_name: name,
        content: vec![Block::text(format!("Not executed: {reason}."))],
        is_error: true,
        details: Default::default(),
        gloss: None,
        timestamp: clock::now_ms(),
    }
}

/// Whom a run asks.
struct Target {
    provider: Rc<Record>,
    model: ModelRecord,
    frozen: Frozen,
}

impl Scene {
    /// Freezes the prompt when need be and puts the input into the history.
    async fn start(&self) -> Result<Target, Error> {
        let choice = self.session.state.borrow().model.clone();
        let (provider, model) = models::lookup(&self.snapshot(), &choice)?;
        let frozen = self.session.state.borrow().frozen.clone();
        let frozen = match frozen {
            Some(frozen) => frozen,
            None => self.first_time().await,
        };
        let Some(input) = self.session.dequeue(None) else {
            if self.session.history.is_empty() {
                return Err(Error::argument_message("prompt", "There is nothing to run: the session has no input."));
            }
            self.notify("agent_start", || json!({})).await;
            self.notify("turn_start", || json!({})).await;
            return Ok(Target { provider, model, frozen });
        };
        self.notify("agent_start", || json!({})).await;
        self.notify("turn_start", || json!({})).await;
        self.say(input).await;
        Ok(Target { provider, model, frozen })
    }

    async fn first_time(&self) -> Frozen {
        let reason = if self.session.parent.is_some() { "child" } else { "new" };
        let mut sections = Vec::new();
        if let Some(Answer::Collected(fields)) = self.answer("session_start", || json!({"reason": reason})).await {
            let given = fields.get("sections").and_then(Value::as_object);
            sections = given
                .into_iter()
                .flatten()
                .filter_map(|(name, text)| Some((name.clone(), text.as_str()?.to_owned())))
                .collect();
            self.session.state.borrow_mut().start_blocks = start_blocks(fields.get("blocks"));
        }
        let (frozen, _) = self.freeze(sections).await;
        self.session.state.borrow_mut().frozen = Some(frozen.clone());
        frozen
    }

    /// Puts a prompt with its context blocks into the history.
    async fn say(&self, input: Input) {
        let first = self.session.history.is_empty();
        let candidates = self.candidates(&input.attached).await;
        let mut content = self.session.state.borrow_mut().blocks.choose(first, candidates);
        content.append(&mut self.session.state.borrow_mut().start_blocks);
        let text = self.engine.redactor.borrow().redact(&input.text).into_owned();
        content.push(Block::text(text));
        self.session.state.borrow_mut().turns += 1;
        let message = Message::User { content, source: input.source, timestamp: clock::now_ms() };
        self.announce(message).await;
    }

    async fn announce(&self, message: Message) {
        let role = message.role();
        self.notify("message_start", || json!({"role": role})).await;
        let message = self.session.history.push(message);
        self.notify("message_end", || json!({"role": role, "message": message.to_json()})).await;
    }

    async fn turns(&self, target: Target) -> Settled {
        let mut requests = 0;
        loop {
            let limit = self.session.state.borrow().settings.max_turns;
            if requests >= limit {
                let error = Error::MaxTurns { max_turns: limit, session: self.session.id.clone() };
                return Settled { status: Status::MaxTurns, reason: Some(error.to_string()), error: Some(error) };
            }
            requests += 1;
            let message = match self.request(&target.provider, &target.model, &target.frozen).await {
                Ended::Reply(message) => message,
                Ended::Aborted => return self.aborted().await,
                Ended::Failed(error) => {
                    let last = self.session.history.last(|m| matches!(m, Message::Assistant(_)));
                    self.end_turn(last.as_deref(), &[]).await;
                    return Settled::failed(error);
                }
            };
            match self.after_reply(&message).await {
                Next::Request => self.notify("turn_start", || json!({})).await,
                Next::Settle(settled) => return settled,
            }
            if let Some(steer) = self.session.dequeue(Some(Urgency::Steer)) {
                self.steer(steer).await;
            }
        }
    }

    /// Calls, the end of the turn, and what is queued.
    async fn after_reply(&self, message: &Rc<Message>) -> Next {
        let Message::Assistant(reply) = &**message else { return Next::Settle(Settled::idle()) };
        let calls = calls_of(&reply.content);
        let results_from = self.session.history.len();
        let mut all_terminate = !calls.is_empty();
        if matches!(reply.stop_reason, StopReason::Length | StopReason::Refusal) {
            for call in &calls {
                let why = "the reply was cut off before the call was complete";
                self.announce(not_executed(call.id.clone(), call.name.clone(), why)).await;
            }
            all_terminate = false;
        } else {
            for (i, call) in calls.iter().enumerate() {
                let finished = self.make(call).await;
                all_terminate &= finished.result.terminate;
                if let Some(error) = finished.stop {
                    return self.blocked(&calls[i + 1..], message, results_from, error).await;
                }
                if self.run.signal.is_raised() {
                    return Next::Settle(self.aborted().await);
                }
            }
        }
        let results = self.session.history.range(results_from, usize::MAX);
        self.end_turn(Some(message), &results).await;
        if all_terminate {
            return Next::Settle(Settled::idle());
        }
        self.boundary(calls.is_empty()).await
    }

    async fn make(&self, call: &ModelCall) -> tool::Finished {
        let input = match &call.raw {
            Some(text) => CallInput::Text(text.clone()),
            None => CallInput::Json(call.arguments.clone()),
        };
        let request = CallRequest { id: call.id.clone(), name: call.name.clone(), input, nested: None };
        let finished = self.perform(request).await;
        let gloss = finished.result.gloss.clone().unwrap_or_else(|| call.gloss());
        self.host.show(json!({"type": "tool", "gloss": gloss, "is_error": finished.result.is_error}));
        let message = self.session.history.last(|m| matches!(m, Message::ToolResult { .. }));
        self.notify("message_start", || json!({"role": "tool_result"})).await;
        self.notify("message_end", || json!({"role": "tool_result", "message": message.map(|m| m.to_json())})).await;
        finished
    }

    /// What follows a turn: steers first, then, when the model is done, one follow-up.
    async fn boundary(&self, done: bool) -> Next {
        if let Some(steer) = self.session.dequeue(Some(Urgency::Steer)) {
            self.queue_update().await;
            self.notify("turn_start", || json!({})).await;
            self.steer(steer).await;
            return Next::Request;
        }
        if !done {
            return Next::Request;
        }
        let Some(input) = self.session.dequeue(Some(Urgency::FollowUp)) else { return Next::Settle(Settled::idle()) };
        self.queue_update().await;
        self.notify("turn_start", || json!({})).await;
        self.say(input).await;
        Next::Request
    }

    async fn queue_update(&self) {
        self.notify("queue_update", || {
            let state = self.session.state.borrow();
            let of = |u: Urgency| -> Vec<&str> {
                state.queue.iter().filter(|(have, _)| *have == u).map(|(_, i)| i.text.as_str()).collect()
            };
            json!({"steer": of(Urgency::Steer), "follow_up": of(Urgency::FollowUp)})
        })
        .await;
    }

    /// A word of the person while the model works.
    async fn steer(&self, input: Input) {
        let text = self.engine.redactor.borrow().redact(&input.text).into_owned();
        let content = vec![Block::text(format!("The user sent this while you were working:\n\n{text}"))];
        let message = Message::Operator {
            kind: "steer_relay".into(),
            content,
            origin_text: Some(text),
            timestamp: clock::now_ms(),
        };
        self.announce(message).await;
    }

    async fn end_turn(&self, message: Option<&Message>, results: &[Rc<Message>]) {
        self.notify("turn_end", || {
            let results: Vec<Value> = results.iter().map(|m| m.to_json()).collect();
            json!({"message": message.map(Message::to_json), "results": results})
        })
        .await;
        self.host.show(json!({"type": "turn_end"}));
    }

    async fn blocked(&self, rest: &[ModelCall], message: &Rc<Message>, from: usize, error: Error) -> Next {
        for call in rest {
            let why = "an earlier call needs approval and nobody can give it";
            self.announce(not_executed(call.id.clone(), call.name.clone(), why)).await;
        }
        let results = self.session.history.range(from, usize::MAX);
        self.end_turn(Some(message), &results).await;
        Next::Settle(Settled { status: Status::Blocked, reason: Some(error.to_string()), error: Some(error) })
    }

    /// Closes what is open: every call has a result, and the session can go on.
    async fn aborted(&self) -> Settled {
        let reason = self.run.signal.reason().unwrap_or_default();
        for (id, name) in self.session.history.open_calls() {
            self.announce(not_executed(id, name, &format!("aborted ({reason})"))).await;
        }
        self.session.state.borrow_mut().queue.clear();
        Settled { status: Status::Aborted, reason: Some(reason), error: None }
    }
}

/// A call that the model made.
struct ModelCall {
    id: String,
    name: String,
    arguments: Value,
    raw: Option<String>,
}

impl ModelCall {
    /// The call in one line.
    fn gloss(&self) -> String {
        let text = match self.arguments.get("code").and_then(Value::as_str) {
            Some(code) => code.lines().next().unwrap_or_default().to_owned(),
            None => self.arguments.to_string(),
        };
        let line = format!("{} {text}", self.name);
        if line.chars().count() <= 80 { line } else { line.chars().take(77).chain("...".chars()).collect() }
    }
}

fn calls_of(content: &[Block]) -> Vec<ModelCall> {
    content
        .iter()
        .filter_map(|b| match b {
            Block::ToolCall { id, name, arguments, raw_arguments, .. } => Some(ModelCall {
                id: id.clone(),
                name: name.clone(),
                arguments: arguments.clone(),
                raw: raw_arguments.clone(),
            }),
            _ => None,
        })
        .collect()
}

fn start_blocks(given: Option<&Value>) -> Vec<Block> {
    let blocks = given.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    blocks
        .iter()
        .filter_map(|b| {
            let kind = b["name"].as_str()?;
            let text = crate::prompt::block::render(kind, &Default::default(), b["text"].as_str()?);
            Some(Block::Context { kind: kind.to_owned(), attrs: Default::default(), text, anchor: false })
        })
        .collect()
}

/// Approvals of a run: the level that was let through, a tool call.
pub type Approved = Rc<RefCell<std::collections::HashMap<String, u8>>>;
