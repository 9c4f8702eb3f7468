//! A host in pure Rust: it drives tasks as R would, keeps a stack of frames, and lets handlers do what users' closures
//! do.

use std::any::Any;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::{Arc, Barrier};
use std::time::Duration;

use gptr_engine::conversation;
use gptr_engine::engine::Engine;
use gptr_engine::error::Error;
use gptr_engine::extension;
use gptr_engine::provider::fake::{Fake, Script as FakeScript};
use gptr_engine::provider::http;
use gptr_engine::registry::store::Origin;
use gptr_engine::reply::HostReply;
use gptr_engine::run::{self, member};
use gptr_engine::session::Session;
use gptr_engine::task::{Call, CallStyle, Step, Task};
use gptr_engine::tool::{Native, Natives, Output, cancelled};
use gptr_engine::value::{HostValue, Value, json};

use super::spec::{Entry, data_frame, host, missing_string, provider};
use super::table::{Act, Answer, Outcome, Script, Table};

/// A wait that takes longer is a task that hangs.
const PATIENCE: Duration = Duration::from_secs(30);

/// The closure of watching hooks.
const WATCH: &str = "watch_";
/// The closure that answers questions.
const PERSON: &str = "person";

/// Something that happened.
#[derive(Debug, Clone, PartialEq)]
pub struct Happening {
    /// `> closure`, an event, `? ask`, `call ...`, `released ...`.
    pub head: String,
    /// Its data.
    pub fields: Value,
}

/// How a task was left.
#[derive(Debug)]
pub enum Left {
    /// It ended; `true` when the person interrupted something in it.
    Done(Result<Value, Error>, bool),
    /// The host jumped out of its loop.
    Jumped,
}

struct Frame {
    session: Option<String>,
    call: Option<String>,
    model_code: bool,
}

/// What the code of a lazy extension does.
#[derive(Debug, Clone)]
pub struct Factory {
    /// The records that it registers, as lines of a table.
    pub lines: Vec<String>,
    /// How it ends.
    pub end: FactoryEnd,
}

/// How the code of a lazy extension ends.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum FactoryEnd {
    /// It returns.
    Well,
    /// It fails, and the host rolls back.
    Fails,
    /// It fails, and the host forgets to roll back.
    FailsHalfWay,
    /// The host does nothing.
    Ignored,
    /// The person interrupts it.
    Interrupted,
}

/// An engine, a session and a host.
pub struct World {
    /// The engine.
    pub engine: Rc<Engine>,
    /// The session.
    pub session: Rc<Session>,
    /// The fakes, in the order of the scripts.
    pub fakes: Vec<Rc<Fake>>,
    /// What happened so far.
    pub trace: Vec<Happening>,
    /// Children, kept alive.
    pub children: Vec<Rc<Session>>,
    /// The host jumps out of its loop before this step.
    pub jump_at: Option<usize>,
    /// The host drops its task before this step.
    pub drop_at: Option<usize>,
    /// Requests that may have no message, since the task that made them is gone.
    pub lost_requests: usize,
    /// Ctrl-C before this step.
    pub cancel_at: Option<usize>,
    /// Ctrl-C at each wait.
    pub cancel_on_wait: bool,
    /// Steps so far.
    pub steps: usize,
    /// The code of lazy extensions, by load.
    pub factories: HashMap<u64, Factory>,
    records: HashMap<String, Entry>,
    gone: Vec<String>,
    answers: HashMap<String, Vec<Answer>>,
    calls: HashMap<String, usize>,
    frames: Vec<Frame>,
}

impl World {
    /// Everything that the head of a table asks for.
    pub fn new(table: &Table) -> Result<Self, String> {
        let engine = Engine::new(|| (), http::Settings::default());
        add_natives(&engine.natives);
        let session = conversation::create(&engine, &host(&table.args)).map_err(|e| e.to_string())?;
        let mut world = World {
            engine,
            session,
            fakes: Vec::new(),
            trace: Vec::new(),
            children: Vec::new(),
            jump_at: None,
            drop_at: None,
            lost_requests: 0,
            cancel_at: None,
            cancel_on_wait: false,
            steps: 0,
            factories: HashMap::new(),
            records: HashMap::new(),
            gone: Vec::new(),
            answers: HashMap::new(),
            calls: HashMap::new(),
            frames: Vec::new(),
        };
        for (name, answer) in &table.answers {
            world.answers.entry(name.clone()).or_default().push(answer.clone());
        }
        for name in ["mode", "critical_guard"] {
            let order = if name == "mode" { 100 } else { 300 };
            let entry = Entry::parse(&format!("builtin policy {name} =native {{\"order\": {order}}}"))?;
            world.add(&entry, Some("permissions")).map_err(|e| e.to_string())?;
        }
        for event in &table.watched {
            let entry = Entry::parse(&format!("hook {event} ={WATCH}"))?;
            world.add(&entry, None).map_err(|e| e.to_string())?;
        }
        for (name, script) in &table.scripts {
            world.fake(name, script)?;
        }
        let (own, shared): (Vec<&Entry>, Vec<&Entry>) = table.records.iter().partition(|e| e.origin == "session");
        for entry in shared {
            world.add(entry, None).map_err(|e| format!("{}: {e}", entry.name))?;
        }
        world.session = conversation::create(&world.engine, &host(&table.args)).map_err(|e| e.to_string())?;
        for entry in own {
            world.add(entry, None).map_err(|e| format!("{}: {e}", entry.name))?;
        }
        world.choose(&table.args)?;
        world.trace.clear();
        Ok(world)
    }

    /// From now on closures do nothing, the script says `reply`, and nothing is guarded.
    pub fn calm(&mut self, reply: &str) {
        self.answers.clear();
        self.jump_at = None;
        self.cancel_on_wait = false;
        let answer = Answer { acts: Vec::new(), outcome: Outcome::Value(json!(reply)) };
        self.answers.insert("script".into(), vec![answer]);
        let _ = self.choose(&json!({"mode": "auto"}));
    }

    fn fake(&mut self, name: &str, script: &Script) -> Result<(), String> {
        let (state, closure) = match script {
            Script::Replies(replies) => (FakeScript::Replies(replies.iter().map(host).collect()), None),
            Script::Closure(closure) => (FakeScript::Function, Some(closure.clone())),
        };
        let fake = Rc::new(Fake::new(state));
        self.fakes.push(fake.clone());
        let spec = provider(name, closure.is_some());
        let attachment: Rc<dyn Any> = fake;
        let added = self.engine.register(&self.engine.registry, &spec, Origin::user(), Some(attachment));
        let added = added.map_err(|e| e.to_string())?;
        let fields = json!({"script": closure.map(|c| format!("={c}"))});
        let entry =
            Entry { origin: "user".into(), kind: "provider".into(), name: name.into(), label: name.into(), fields };
        self.records.insert(added.record.id.clone(), entry);
        Ok(())
    }

    fn choose(&self, args: &Value) -> Result<(), String> {
        conversation::choose(&self.engine, &self.session, &host(args)).map_err(|e| e.to_string())
    }

    /// Registers a record.
    pub fn add(&mut self, entry: &Entry, builtin: Option<&str>) -> Result<String, Error> {
        let origin = match entry.origin.as_str() {
            "session" => Origin::session(&self.session.id, "session:1"),
            "builtin" => Origin::builtin(builtin.unwrap_or("tools")),
            "user" => Origin::user(),
            plugin => Origin { rank: 5, source: plugin.into(), extension: plugin.into(), ..Origin::user() },
        };
        let added = self.engine.register(&self.engine.registry, &entry.spec(), origin, None)?;
        self.records.insert(added.record.id.clone(), entry.clone());
        Ok(added.record.id.clone())
    }

    /// Queues a prompt and runs the session.
    pub fn say(&mut self, prompt: Option<&str>) -> Left {
        if let Some(text) = prompt {
            let said = host(&json!({"text": text, "source": "prompt"}));
            if let Err(error) = conversation::prompt(&self.session, &said) {
                return Left::Done(Err(error), false);
            }
        }
        let mut task = run::task(&self.engine, &self.session);
        self.drive(&mut task)
    }

    /// Drives a task to its end.
    pub fn drive(&mut self, task: &mut Task) -> Left {
        let mut interrupted = false;
        loop {
            if self.jump_at == Some(self.steps) {
                task.abandon();
                self.note_released();
                return Left::Jumped;
            }
            if self.drop_at == Some(self.steps) {
                return Left::Jumped;
            }
            if self.cancel_at == Some(self.steps) {
                interrupted = true;
                task.cancel("user");
            }
            self.steps += 1;
            let step = task.next();
            self.note_released();
            match step {
                Step::Call { id, call } => {
                    let Some(reply) = self.answer(&call) else {
                        if self.drop_at.is_none() {
                            task.abandon();
                        }
                        return Left::Jumped;
                    };
                    interrupted |= reply == HostReply::Interrupt;
                    task.reply(id, reply);
                }
                Step::Ask { id, question } => {
                    self.happened("? ask", question);
                    let answer = self.next_answer(PERSON);
                    task.reply(id, plain_reply(&answer.outcome));
                }
                Step::Show { .. } => {}
                Step::Wait => {
                    if self.cancel_on_wait {
                        interrupted = true;
                        task.cancel("user");
                    } else {
                        assert!(task.wait(PATIENCE), "the task hangs after {:?}", self.trace.last());
                    }
                }
                Step::Done(outcome) => return Left::Done(outcome, interrupted),
            }
        }
    }

    /// Calls the closure that a step names; `None` when the host jumps out of its loop meanwhile.
    fn answer(&mut self, call: &Call) -> Option<HostReply> {
        assert!(!self.gone.contains(&call.handler.record), "a released handler is called: {call:?}");
        if call.handler.record == Call::HOST && call.handler.field == "activate" {
            return Some(self.activate(call.args[0].as_u64().unwrap_or_default()));
        }
        if call.handler.record == Call::HOST && call.handler.field == "site" {
            let site = json!({"cwd": std::env::temp_dir().to_string_lossy()});
            return Some(HostReply::Value(host(&site)));
        }
        let entry = self.records.get(&call.handler.record);
        let Some(closure) = entry.and_then(|e| e.closure(&call.handler.field)).map(str::to_owned) else {
            return Some(HostReply::error(format!("no closure for {:?}", call.handler)));
        };
        let argument = call.args.first().cloned().unwrap_or_default();
        if closure == WATCH {
            let head = argument["type"].as_str().unwrap_or_default().to_owned();
            self.happened(&head, argument);
            return Some(HostReply::null());
        }
        let mut fields = if argument.is_object() { argument.clone() } else { json!({"value": argument}) };
        fields["@session"] = json!(call.caller.session);
        fields["@call"] = json!(call.caller.call);
        fields["@code"] = json!(call.caller.from_model_code);
        fields["@owner"] = json!(call.caller.owner);
        fields["@role"] = json!(call.role.as_str());
        self.happened(&format!("> {closure}"), fields);
        let answer = self.next_answer(&closure);
        self.frames.push(Frame {
            session: call.caller.session.clone(),
            call: call.caller.call.clone(),
            model_code: call.caller.from_model_code,
        });
        let mut interrupted = false;
        for act in &answer.acts {
            match self.act(act) {
                Some(cut) => interrupted |= cut,
                None => {
                    self.frames.pop();
                    return None;
                }
            }
        }
        self.frames.pop();
        Some(if interrupted { HostReply::Interrupt } else { reply_of(&answer.outcome, call) })
    }

    /// Runs the code of a lazy extension as a host does.
    pub fn activate(&mut self, load: u64) -> HostReply {
        self.happened(&format!("activate {load}"), Value::Null);
        let Some(factory) = self.factories.get(&load).cloned() else { return HostReply::error("no factory") };
        if factory.end == FactoryEnd::Ignored || !extension::activate(&self.engine, load) {
            return HostReply::Value(false.into());
        }
        let entries: Vec<Entry> = factory.lines.iter().map(|l| Entry::parse(l).expect("a record")).collect();
        for entry in &entries {
            extension::register(&self.engine, load, &entry.spec(), None, None).expect("a spec that is taken");
        }
        match factory.end {
            FactoryEnd::Well => {
                let rows = extension::commit(&self.engine, load).expect("a load that commits");
                for (row, entry) in rows.as_array().into_iter().flatten().zip(entries) {
                    self.records.insert(row["id"].as_str().unwrap_or_default().to_owned(), entry);
                }
                HostReply::Value(true.into())
            }
            FactoryEnd::FailsHalfWay => HostReply::error("half-way"),
            FactoryEnd::Interrupted => {
                extension::rollback(&self.engine, load);
                HostReply::Interrupt
            }
            _ => {
                extension::rollback(&self.engine, load);
                HostReply::Value(false.into())
            }
        }
    }

    fn next_answer(&mut self, closure: &str) -> Answer {
        let count = self.calls.entry(closure.to_owned()).or_default();
        let at = *count;
        *count += 1;
        let nothing = Answer { acts: Vec::new(), outcome: Outcome::Value(Value::Null) };
        let Some(answers) = self.answers.get(closure) else { return nothing };
        answers.get(at.min(answers.len().saturating_sub(1))).cloned().unwrap_or(nothing)
    }

    /// Does an act of a handler; `true` when the person interrupted what it started.
    pub fn act(&mut self, act: &Act) -> Option<bool> {
        match act {
            Act::Call(key, input) => return self.call_member(key, input),
            Act::Register(entry) => {
                let head = match self.add(entry, None) {
                    Ok(_) => return Some(false),
                    Err(error) => format!("register -> {}", error.condition().classes.join(",")),
                };
                self.happened(&head, Value::Null);
            }
            Act::Remove(label) => {
                let id = self.records.iter().filter(|(id, e)| e.label == *label && !self.gone.contains(id));
                let id = id.map(|(id, _)| id.clone()).max();
                let removed = id.is_some_and(|id| self.engine.registry.remove(&id));
                if !removed {
                    self.happened(&format!("remove {label} -> nothing"), Value::Null);
                }
            }
            Act::Steer(urgency, text) => {
                if let Err(error) = conversation::steer(&self.here(), text, urgency) {
                    self.happened(&format!("steer -> {error}"), Value::Null);
                }
            }
            Act::Abort(reason) => abort(&self.here(), reason),
            Act::AbortOutermost(reason) => abort(&self.session, reason),
            Act::Child(args, prompt) => return self.child(args, prompt),
            Act::Run => {
                let mut task = run::task(&self.engine, &self.here());
                match self.drive(&mut task) {
                    Left::Jumped => return None,
                    Left::Done(outcome, _) => {
                        let class = outcome.map_or_else(|e| e.condition().classes.join(","), |v| v.to_string());
                        self.happened(&format!("run -> {class}"), Value::Null);
                    }
                }
            }
            Act::Choose(args) => {
                if let Err(problem) = self.choose(args) {
                    self.happened(&format!("choose -> {problem}"), Value::Null);
                }
            }
        }
        Some(false)
    }

    /// The session whose code runs.
    fn here(&self) -> Rc<Session> {
        let id = self.frames.last().and_then(|f| f.session.clone());
        id.and_then(|id| self.engine.session(&id)).unwrap_or_else(|| self.session.clone())
    }

    fn call_member(&mut self, key: &str, input: &Value) -> Option<bool> {
        let session = self.here();
        let path: Vec<String> = key.split('/').map(str::to_owned).collect();
        let found = member::resolve(&self.engine, &self.engine.registry.snapshot(Some(&session.id)), &path);
        let made = found.and_then(|found| {
            let frame = self.frames.last();
            let call = member::MemberCall {
                key: if let member::Resolved::Member(r) = found { r.key.clone() } else { key.to_owned() },
                input: host(input),
                args: "m1".into(),
                outer: frame.and_then(|f| f.call.clone()),
                from_model_code: frame.is_some_and(|f| f.model_code),
            };
            member::call(&self.engine, &session, call)
        });
        let left = match made {
            Ok(mut task) => self.drive(&mut task),
            Err(error) => Left::Done(Err(error), false),
        };
        let Left::Done(outcome, interrupted) = left else { return None };
        let head = match &outcome {
            Ok(value) => format!("call {key} -> ok {}", value["text"].as_str().unwrap_or_default()),
            Err(error) => {
                let condition = error.condition();
                let status = condition.fields.get("status").and_then(Value::as_str).map(str::to_owned);
                format!("call {key} -> {} {error}", status.unwrap_or_else(|| condition.classes.join(",")))
            }
        };
        self.happened(&head, Value::Null);
        Some(interrupted)
    }

    fn child(&mut self, args: &Value, prompt: &str) -> Option<bool> {
        let mut args = args.clone();
        args["parent"] = json!(self.here().id);
        let child = match conversation::create(&self.engine, &host(&args)) {
            Ok(child) => child,
            Err(error) => {
                let arg = error.condition().fields.get("arg").cloned().unwrap_or_default();
                self.happened(&format!("child -> {}", error.condition().classes.join(",")), json!({"arg": arg}));
                return Some(false);
            }
        };
        self.children.push(child.clone());
        let said = host(&json!({"text": prompt, "source": "parent"}));
        let ready =
            conversation::choose(&self.engine, &child, &host(&args)).and_then(|()| conversation::prompt(&child, &said));
        if let Err(error) = ready {
            self.happened(&format!("child -> {error}"), Value::Null);
            return Some(false);
        }
        let mut task = run::task(&self.engine, &child);
        let Left::Done(_, interrupted) = self.drive(&mut task) else { return None };
        let state = child.state.borrow();
        let fields =
            json!({"kind": child.kind, "agent": child.agent, "mode": state.mode.as_str(), "text": child.text()});
        let head = format!("child -> {}", state.status.as_str());
        drop(state);
        self.happened(&head, fields);
        Some(interrupted)
    }

    fn happened(&mut self, head: &str, fields: Value) {
        self.trace.push(Happening { head: head.trim_end().to_owned(), fields });
    }

    fn note_released(&mut self) {
        for id in self.engine.registry.released() {
            let label = self.records.get(&id).map_or(id.clone(), |e| e.label.clone());
            self.gone.push(id);
            self.happened(&format!("released {label}"), Value::Null);
        }
    }
}

/// Bodies of the engine's for tables: `echo`; `meet`, which ends when a second one of it runs too; `stuck`, which ends
/// when nobody waits for it any more.
fn add_natives(natives: &Natives) {
    let text = |input: &Value| Output::text(input["text"].as_str().unwrap_or("ran"));
    natives.add("echo", Native::blocking(move |input, _| Ok(text(input))));
    let together = Arc::new(Barrier::new(2));
    natives.add(
        "meet",
        Native::blocking(move |input, _| {
            together.wait();
            Ok(text(input))
        }),
    );
    natives.add(
        "stuck",
        Native::awaiting(|_, context| {
            Box::pin(async move {
                context.cancel.cancelled().await;
                Err(cancelled())
            })
        }),
    );
}

fn abort(session: &Session, reason: &str) {
    let running = session.running.borrow().clone();
    if let Some(running) = running {
        running.signal.abort(reason);
    }
}

fn plain_reply(outcome: &Outcome) -> HostReply {
    match outcome {
        Outcome::Value(value) | Outcome::Result(value) => HostReply::Value(host(value)),
        Outcome::Text(text) => HostReply::Value(text.as_str().into()),
        Outcome::Error(class, message) => {
            HostReply::Condition { class: vec![class.clone(), "error".into()], message: message.clone() }
        }
        Outcome::Interrupt => HostReply::Interrupt,
        Outcome::Jump => HostReply::Abort,
        Outcome::Timeout => HostReply::Timeout,
        Outcome::Echo => HostReply::null(),
        Outcome::Odd("frame") => HostReply::Value(data_frame()),
        Outcome::Odd(_) => HostReply::Value(HostValue::named([("decision", missing_string())])),
    }
}

/// Gives results of tools their form.
fn reply_of(outcome: &Outcome, call: &Call) -> HostReply {
    let member = matches!(call.style, CallStyle::HostArgs { .. });
    let is_tool = call.role.as_str() == "tool";
    let text = match outcome {
        Outcome::Text(text) => text.clone(),
        Outcome::Echo => call.args.first().map(Value::to_string).unwrap_or_default(),
        Outcome::Value(Value::Null) if is_tool => "nothing".to_owned(),
        Outcome::Result(fields) => {
            let mut value = fields.clone();
            let text = value["text"].as_str().unwrap_or_default().to_owned();
            if let Some(fields) = value.as_object_mut() {
                fields.remove("text");
            }
            value["content"] = json!([{"type": "text", "text": text}]);
            return HostReply::Value(host(&value));
        }
        other => return plain_reply(other),
    };
    match (is_tool, member) {
        (true, true) => HostReply::Value(host(&json!({"summary": text}))),
        (true, false) => HostReply::Value(host(&json!({"content": [{"type": "text", "text": text}]}))),
        _ => HostReply::Value(text.as_str().into()),
    }
}
