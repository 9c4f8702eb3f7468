//! A run: requests, tool calls, boundaries, until the model is done or something ends it.

pub mod budget;
pub mod check;
pub mod event;
pub(crate) mod freeze;
pub mod lane;
pub mod member;
pub mod models;
pub mod native;
pub mod partial;
pub mod permission;
pub(crate) mod request;
pub(crate) mod scene;
pub(crate) mod tool;
pub(crate) mod tool_result;

pub use tool_result::within as text_within_budget;

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
use tool::{CallInput, CallRequest, Finished};

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

    fn blocked(error: Error) -> Self {
        Settled { status: Status::Blocked, reason: Some(error.to_string()), error: Some(error) }
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

/// A task that tells the session's listeners what waits in its queue.
pub fn queue_told(engine: &Rc<Engine>, session: &Rc<Session>) -> Task {
    let (engine, session) = (engine.clone(), session.clone());
    let bell = engine.bell.clone();
    Task::new(&bell, move |host| async move {
        let run = session.running.borrow().clone();
        let run = run.unwrap_or_else(|| Running::new(String::new(), host.signal().clone()));
        let scene = Scene { engine, session, host, run };
        scene.queue_update().await;
        Ok(Value::Null)
    })
}

async fn run(engine: Rc<Engine>, session: Rc<Session>, host: Host) -> Result<Value, Error> {
    if session.is_running() {
        return Err(Error::Busy { session: session.id.clone() });
    }
    let running = Running::new(clock::fresh_id("u", 8), host.signal().clone());
    *session.running.borrow_mut() = Some(running.clone());
    session.state.borrow_mut().status = Status::Running;
    engine.registry.begin_run(&running.id, Some(&session.id));
    let guard = Guard { engine: engine.clone(), session: session.clone(), run: running.id.clone() };
    let scene = Scene { engine, session, host, run: running };
    let usage_before = scene.session.state.borrow().usage.len();
    let usage = || {
        let state = scene.session.state.borrow();
        Value::Array(state.usage.iter().skip(usage_before).map(|r| r.0.clone()).collect())
    };
    let parent = scene.parent();
    scene.tell_parent(parent.as_ref(), "subagent_start", json!({})).await;
    let opened = scene.start().await;
    let began = matches!(opened, Ok(Some(_)));
    let settled = match opened {
        Ok(Some((target, input))) => {
            scene.open(input).await;
            scene.turns(target).await
        }
        Ok(None) => scene.aborted().await,
        Err(error) => Settled::failed(error),
    };
    let status = settled.status.as_str();
    {
        let mut state = scene.session.state.borrow_mut();
        state.status = settled.status;
        state.reason = settled.reason.clone();
    }
    if began {
        let turns = || scene.session.state.borrow().turns;
        let end =
            || json!({"status": status, "reason": settled.reason, "usage": usage(), "doc": null, "turns": turns()});
        scene.notify("agent_end", end).await;
    }
    drop(guard);
    scene.tell_parent(parent.as_ref(), "subagent_end", json!({"status": status, "usage": usage()})).await;
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
        close_open_calls(&self.session);
        self.session.in_flight.set(false);
        *self.session.running.borrow_mut() = None;
        let mut state = self.session.state.borrow_mut();
        if matches!(state.status, Status::Running | Status::Waiting) {
            state.status = Status::Aborted;
        }
    }
}

fn close_open_calls(session: &Session) {
    let executing = session.running.borrow().as_ref().map(|r| r.executing.take()).unwrap_or_default();
    for (id, name) in session.history.open_calls() {
        let message = match executing.get(&id) {
            Some(since) => failed_call(id, name, tool::interrupted(since.elapsed().as_secs_f64())),
            None => not_executed(id, name, "the run ended"),
        };
        session.history.push(message);
    }
}

fn not_executed(id: String, name: String, reason: &str) -> Message {
    failed_call(id, name, format!("Not executed: {reason}."))
}

fn failed_call(id: String, name: String, text: String) -> Message {
    Message::ToolResult {
        tool_call_id: id,
        tool_name: name,
        content: vec![Block::text(text)],
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
    /// The run that this session was started from, while that goes on. Stopping it stops this one.
    fn parent(&self) -> Option<Scene> {
        let session = self.session.parent.as_ref()?.upgrade()?;
        let run = session.running.borrow().clone()?;
        run.signal.also_raises(&self.run.signal);
        Some(Scene { engine: self.engine.clone(), session, host: self.host.clone(), run })
    }

    async fn tell_parent(&self, parent: Option<&Scene>, event: &str, more: Value) {
        let Some(parent) = parent else { return };
        let payload = || {
            let model = self.session.state.borrow().model.reference();
            let mut payload =
                json!({"child": self.session.id, "agent": parent.session.agent, "backend": "inline", "model": model});
            if let (Value::Object(fields), Value::Object(more)) = (&mut payload, more) {
                fields.extend(more);
            }
            payload
        };
        parent.notify(event, payload).await;
    }

    /// What is run, and whom it asks: the prompt is frozen when need be, the first input is taken. `None` when the
    /// person stopped it.
    async fn start(&self) -> Result<Option<(Target, Option<Input>)>, Error> {
        let choice = self.session.state.borrow().model.clone();
        let snapshot = self.settled(|s| s.find("provider", &choice.provider).pending()).await;
        let (provider, model) = models::lookup(&snapshot, &choice)?;
        let frozen = self.session.state.borrow().frozen.clone();
        let frozen = match frozen {
            Some(frozen) => Some(frozen),
            None => self.first_time().await,
        };
        let Some(frozen) = frozen else { return Ok(None) };
        let input = self.session.dequeue(None);
        if input.is_none() && !self.session.history.is_unfinished() {
            return Err(Error::argument_message("prompt", "There is nothing to run: the session has no input."));
        }
        Ok(Some((Target { provider, model, frozen }, input)))
    }

    async fn open(&self, input: Option<Input>) {
        self.session.state.borrow_mut().turns += usize::from(input.is_some());
        self.notify("agent_start", || json!({})).await;
        self.notify("turn_start", || json!({})).await;
        if let Some(input) = input {
            self.say(input).await;
        }
    }

    /// Freezes the prompt, unless the person stopped it: half a prompt is never kept.
    async fn first_time(&self) -> Option<Frozen> {
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
        let frozen = self.freeze(sections).await;
        if self.run.signal.is_raised() {
            return None;
        }
        self.session.state.borrow_mut().frozen = Some(frozen.clone());
        Some(frozen)
    }

    /// Puts a prompt with its context blocks into the history.
    async fn say(&self, input: Input) {
        let first = self.session.history.is_empty();
        let candidates = self.candidates(&input.attached).await;
        let mut content = self.session.state.borrow_mut().blocks.choose(first, candidates);
        content.append(&mut self.session.state.borrow_mut().start_blocks);
        let text = self.engine.redactor.borrow().redact(&input.text).into_owned();
        content.push(Block::text(text));
        let message = Message::User { content, source: input.source, timestamp: clock::now_ms() };
        self.announce(message).await;
    }

    async fn announce(&self, message: Message) {
        let role = message.role();
        self.notify("message_start", || json!({"role": role})).await;
        let message = self.session.history.push(message);
        self.notify("message_end", || json!({"role": role, "message": message.to_json()})).await;
    }

    async fn turns(&self, mut target: Target) -> Settled {
        let limit = self.session.state.borrow().settings.max_turns;
        let mut left = limit;
        loop {
            if self.run.signal.is_raised() {
                return self.aborted().await;
            }
            if let Some(error) = self.run.stop.take() {
                self.end_turn(None, &[]).await;
                return Settled::blocked(error);
            }
            if let Err(error) = self.within_budget(&target).await {
                self.end_turn(None, &[]).await;
                return Settled { status: Status::Budget, reason: Some(error.to_string()), error: Some(error) };
            }
            left = left.saturating_sub(1);
            if let Err(error) = self.retarget(&mut target).await {
                self.end_turn(None, &[]).await;
                return Settled::failed(error);
            }
            self.say_notes().await;
            let message = match self.request(&target.provider, &target.model, &target.frozen).await {
                Ended::Reply(message) if !self.run.signal.is_raised() => message,
                Ended::Reply(_) | Ended::Aborted => return self.aborted().await,
                Ended::Failed(error) => {
                    let last = self.session.history.last(|m| matches!(m, Message::Assistant(_)));
                    self.end_turn(last.as_deref(), &[]).await;
                    return Settled::failed(error);
                }
            };
            match self.after_reply(&message).await {
                Next::Request if left == 0 => return self.at_limit(limit),
                Next::Request => {
                    self.host.rest(json!({"type": "turn_end"})).await;
                    self.next_turn().await;
                }
                Next::Settle(settled) => return settled,
            }
        }
    }

    /// Asks the model that a handler has chosen meanwhile.
    async fn retarget(&self, target: &mut Target) -> Result<(), Error> {
        let choice = self.session.state.borrow().model.clone();
        let from = target.model.reference();
        if from == choice.reference() {
            return Ok(());
        }
        let snapshot = self.settled(|s| s.find("provider", &choice.provider).pending()).await;
        (target.provider, target.model) = models::lookup(&snapshot, &choice)?;
        let to = choice.reference();
        let reason = self.session.state.borrow_mut().model_reason.take();
        self.notify("model_select", || json!({"from": from, "to": to, "reason": reason})).await;
        let note = ("model".to_owned(), format!("From here on the model is {to}."));
        self.session.state.borrow_mut().notes.push(note);
        Ok(())
    }

    /// Says what the program has to say to the model.
    async fn say_notes(&self) {
        let notes = std::mem::take(&mut self.session.state.borrow_mut().notes);
        for (kind, text) in notes {
            let content = vec![Block::text(self.engine.redactor.borrow().redact(&text).into_owned())];
            let timestamp = clock::now_ms();
            self.announce(Message::Operator { kind, content, origin_text: None, timestamp }).await;
        }
    }

    fn at_limit(&self, limit: u64) -> Settled {
        let error = Error::MaxTurns { max_turns: limit, session: self.session.id.clone() };
        Settled { status: Status::MaxTurns, reason: Some(error.to_string()), error: Some(error) }
    }

    /// Calls and the end of the turn.
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
            let mut rest = calls.as_slice();
            while !rest.is_empty() {
                let finished = self.make(self.neighbours(rest)).await;
                rest = &rest[finished.len()..];
                all_terminate &= finished.iter().all(|f| f.result.terminate);
                if self.run.signal.is_raised() {
                    return Next::Settle(self.aborted().await);
                }
                let stop = finished.into_iter().find_map(|f| f.stop);
                if let Some(error) = stop.or_else(|| self.run.stop.take()) {
                    return self.blocked(rest, message, results_from, error).await;
                }
            }
        }
        let results = self.session.history.range(results_from, usize::MAX);
        self.end_turn(Some(message), &results).await;
        if self.run.signal.is_raised() {
            return Next::Settle(self.aborted().await);
        }
        if let Some(error) = self.run.stop.take() {
            return Next::Settle(Settled::blocked(error));
        }
        let done = calls.is_empty() && reply.stop_reason != StopReason::Pause;
        let waits = self.session.is_queued(Urgency::Steer) || (done && self.session.is_queued(Urgency::FollowUp));
        if all_terminate || (done && !waits) { Next::Settle(Settled::idle()) } else { Next::Request }
    }

    /// The calls at the head that are made together: neighbours whose tools are native and concurrent, else one.
    fn neighbours<'a>(&self, calls: &'a [ModelCall]) -> &'a [ModelCall] {
        let snapshot = self.snapshot();
        let together = calls.iter().take_while(|call| self.is_concurrent(&snapshot, &call.name)).count();
        &calls[..together.clamp(1, calls.len())]
    }

    /// Makes calls. Each is admitted in order; the bodies of those that may then run at once; the results come in order.
    /// Fewer are made than were given when one of them stops the run.
    async fn make(&self, calls: &[ModelCall]) -> Vec<Finished> {
        let mut admitted = Vec::new();
        for call in calls {
            let call = self.admit(call.request()).await;
            let last = call.stops() || self.run.signal.is_raised();
            admitted.push(call);
            if last {
                break;
            }
        }
        if admitted.len() > 1 {
            admitted.iter_mut().for_each(|call| self.start_body(call));
        }
        let mut finished = Vec::new();
        for (call, admitted) in calls.iter().zip(admitted) {
            let done = self.conclude(admitted).await;
            let gloss = done.result.gloss.clone().unwrap_or_else(|| call.gloss());
            self.host.show(json!({"type": "tool", "gloss": gloss, "is_error": done.result.is_error}));
            let message = self.session.history.last(|m| matches!(m, Message::ToolResult { .. }));
            let message = message.map(|m| m.to_json());
            self.notify("message_start", || json!({"role": "tool_result"})).await;
            self.notify("message_end", || json!({"role": "tool_result", "message": message})).await;
            finished.push(done);
        }
        finished
    }

    /// The next turn, with one queued item: a steer first; a follow-up only when the model was done.
    async fn next_turn(&self) {
        let steer = self.session.dequeue(Some(Urgency::Steer));
        let follow_up = match (&steer, self.session.history.is_unfinished()) {
            (None, false) => self.session.dequeue(Some(Urgency::FollowUp)),
            _ => None,
        };
        if steer.is_some() || follow_up.is_some() {
            self.queue_update().await;
        }
        self.session.state.borrow_mut().turns += usize::from(follow_up.is_some());
        self.notify("turn_start", || json!({})).await;
        if let Some(steer) = steer {
            self.steer(steer).await;
        }
        if let Some(input) = follow_up {
            self.say(input).await;
        }
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

    /// A word of the person, or of an extension, while the model works.
    async fn steer(&self, input: Input) {
        let text = self.engine.redactor.borrow().redact(&input.text).into_owned();
        if input.source == Input::EXTENSION {
            let message =
                Message::User { content: vec![Block::text(text)], source: input.source, timestamp: clock::now_ms() };
            return self.announce(message).await;
        }
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
    }

    async fn blocked(&self, rest: &[ModelCall], message: &Rc<Message>, from: usize, error: Error) -> Next {
        for call in rest {
            let why = "an earlier call needs approval and nobody can give it";
            self.announce(not_executed(call.id.clone(), call.name.clone(), why)).await;
        }
        let results = self.session.history.range(from, usize::MAX);
        self.end_turn(Some(message), &results).await;
        if self.run.signal.is_raised() {
            return Next::Settle(self.aborted().await);
        }
        Next::Settle(Settled::blocked(error))
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
    fn request(&self) -> CallRequest {
        let input = match &self.raw {
            Some(text) => CallInput::Text(text.clone()),
            None => CallInput::Json(self.arguments.clone()),
        };
        CallRequest { id: self.id.clone(), name: self.name.clone(), input, nested: None }
    }

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
