//! A conversation: its state, its messages, and what a model is shown of them.

pub(crate) mod history;
pub mod outputs;
pub(crate) mod view;

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, VecDeque};
use std::path::PathBuf;
use std::rc::{Rc, Weak};
use std::time::Instant;

use crate::error::Error;
use crate::gate::grant::Grants;
use crate::gate::mode::Mode;
use crate::message::Block;
use crate::prompt::block::BlockMemory;
use crate::prompt::estimate::{CharCounts, Class};
use crate::prompt::preset::Preset;
use crate::prompt::render::{SectionInfo, SystemOption};
use crate::run::budget::{Budget, Spent};
use crate::run::lane::Lane;
use crate::session::history::{History, Projection};
use crate::session::outputs::{Outputs, Receipt};
use crate::task::Signal;
use crate::value::Value;

/// Tokens that the result of code has in any case.
const LEAST_ROOM: u64 = 200;

/// How a session stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// Nothing to do, or input queued and not started.
    Idle,
    /// A run is under way.
    Running,
    /// A run waits for the person.
    Waiting,
    /// Something needed approval and nobody could give it.
    Blocked,
    /// A budget was used up.
    Budget,
    /// The limit of model requests was reached.
    MaxTurns,
    /// A model request failed for good.
    Error,
    /// Stopped by the person or a handler.
    Aborted,
}

impl Status {
    /// The word that users see.
    pub fn as_str(self) -> &'static str {
        match self {
            Status::Idle => "idle",
            Status::Running => "running",
            Status::Waiting => "waiting",
            Status::Blocked => "blocked",
            Status::Budget => "budget",
            Status::MaxTurns => "max_turns",
            Status::Error => "error",
            Status::Aborted => "aborted",
        }
    }
}

/// What the host says of itself and the user's options, read once a call.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// A person can be asked.
    pub person: bool,
    /// Model requests of one run, at most.
    pub max_turns: u64,
    /// Attempts of one request, at most.
    pub max_attempts: u32,
    /// Seconds that a host may ask to wait before a retry.
    pub max_retry_delay: f64,
    /// Seconds for connecting, for the first byte, and of silence in a stream.
    pub timeouts: [f64; 3],
    /// Seconds for a hook, policy or matcher.
    pub hook_timeout: f64,
    /// With nobody to ask: deny and go on instead of stopping the run.
    pub deny_when_alone: bool,
    /// Level 4 needs a person.
    pub critical_guard: bool,
    /// Built-in policies are silent.
    pub unsafe_no_permissions: bool,
    /// What a call and all that is nested in it may use.
    pub budget: Budget,
    /// Model requests in flight to one origin, at most; `None` for no bound.
    pub max_active: Option<usize>,
    /// Tokens of a tool result shown to the model.
    pub output_tokens: u64,
    /// Full texts of cut results that are kept.
    pub out_keep: usize,
    /// Where large ones of them lie; `None`: in memory.
    pub spill_folder: Option<PathBuf>,
    /// Tokens of a conversation that call for a summary.
    pub compact_at: u64,
    /// Sessions that a session may be nested in.
    pub max_depth: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            person: false,
            max_turns: 50,
            max_attempts: 4,
            max_retry_delay: 60.0,
            timeouts: [20.0, 120.0, 90.0],
            hook_timeout: 10.0,
            deny_when_alone: false,
            critical_guard: true,
            unsafe_no_permissions: false,
            budget: Budget::default(),
            max_active: Some(8),
            output_tokens: 4000,
            out_keep: 20,
            spill_folder: None,
            compact_at: 200_000,
            max_depth: 1,
        }
    }
}

impl Settings {
    /// Other settings, with what guards a session as it is here: it holds for a whole run and all that is nested in it.
    pub fn guarding(&self, other: Settings) -> Settings {
        Settings {
            person: self.person,
            deny_when_alone: self.deny_when_alone,
            critical_guard: self.critical_guard,
            unsafe_no_permissions: self.unsafe_no_permissions,
            max_depth: self.max_depth,
            ..other
        }
    }

    /// Reads settings from an object; what is missing or of another type keeps its default.
    pub fn from_json(v: &Value) -> Self {
        let mut s = Settings::default();
        let number = |name: &str| v.get(name).and_then(Value::as_f64).filter(|x| *x >= 0.0);
        let flag = |name: &str| v.get(name).and_then(Value::as_bool);
        s.person = flag("person").unwrap_or(s.person);
        s.critical_guard = flag("critical_guard").unwrap_or(s.critical_guard);
        s.unsafe_no_permissions = flag("unsafe_no_permissions").unwrap_or(s.unsafe_no_permissions);
        s.deny_when_alone = flag("deny_when_alone").unwrap_or(s.deny_when_alone);
        s.max_turns = number("max_turns").map_or(s.max_turns, |x| x as u64).max(1);
        s.max_attempts = number("max_attempts").map_or(s.max_attempts, |x| x as u32).max(1);
        s.max_retry_delay = number("max_retry_delay").unwrap_or(s.max_retry_delay);
        s.hook_timeout = number("hook_timeout").unwrap_or(s.hook_timeout);
        s.output_tokens = number("output_tokens").map_or(s.output_tokens, |x| x as u64).max(1);
        s.budget = v.get("budget").map_or(s.budget, Budget::from_json);
        s.out_keep = number("out_keep").map_or(s.out_keep, |x| x as usize).max(1);
        s.compact_at = number("compact_at").map_or(s.compact_at, |x| x as u64).max(1);
        s.spill_folder = v.get("spill_folder").and_then(Value::as_str).map(PathBuf::from);
        // No number stands for no bound: JSON has no infinity.
        if let Some(limit) = v.get("max_active") {
            s.max_active = limit.as_f64().map(|x| x.max(1.0) as usize);
        }
        s.max_depth = number("max_depth").map_or(s.max_depth, |x| x as u32).min(2);
        for (i, name) in ["connect_timeout", "first_byte_timeout", "idle_timeout"].iter().enumerate() {
            s.timeouts[i] = number(name).unwrap_or(s.timeouts[i]);
        }
        s
    }
}

/// Which model answers: a provider record's key and a model of it.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelChoice {
    /// The provider's id.
    pub provider: String,
    /// The model's id within the provider.
    pub id: String,
    /// The thinking level asked for.
    pub thinking: Option<String>,
}

impl ModelChoice {
    /// `<provider>/<id>`.
    pub fn reference(&self) -> String {
        format!("{}/{}", self.provider, self.id)
    }
}

/// Something to say to the session.
#[derive(Debug, Clone, PartialEq)]
pub struct Input {
    /// The prompt.
    pub text: String,
    /// Context blocks before it: rendered facts of attached objects, in order.
    pub attached: Vec<Attached>,
    /// `prompt`, `pipe`, `steer`, `follow_up`, `parent`, [`Input::EXTENSION`] ...
    pub source: String,
}

impl Input {
    /// The source of what an extension says.
    pub const EXTENSION: &str = "extension";
}

/// An object given with a prompt.
#[derive(Debug, Clone, PartialEq)]
pub struct Attached {
    /// Its label.
    pub name: String,
    /// Its description.
    pub text: String,
}

/// When queued input is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Urgency {
    /// Before the next model request.
    Steer,
    /// When the run would end.
    FollowUp,
}

/// The system prompt and tools of a session: made once, never changed.
#[derive(Debug, Clone, PartialEq)]
pub struct Frozen {
    /// The stable tier.
    pub t0: Rc<str>,
    /// The tier that changes from session to session.
    pub t1: Rc<str>,
    /// Declared tools, in array order.
    pub tools: Rc<[DeclaredTool]>,
    /// The tool array of every wire's common form: name, description, input_schema.
    pub tools_json: Rc<str>,
    /// The sections of both tiers, with their sizes.
    pub sections: Rc<[SectionInfo]>,
}

/// A tool as it is declared to the model.
#[derive(Debug, Clone, PartialEq)]
pub struct DeclaredTool {
    /// The name on the wire.
    pub name: String,
    /// The key in the registry.
    pub key: String,
    /// The id of its record.
    pub record: String,
    /// The description.
    pub description: String,
    /// The input schema.
    pub schema: Value,
}

/// One model request's usage, as `$usage` shows it.
#[derive(Debug, Clone, PartialEq)]
pub struct UsageRow(pub Value);

/// Code of the model that was let run.
#[derive(Debug, Clone, PartialEq)]
pub struct SeenCode {
    /// Its level.
    pub level: u8,
    /// The members that it was seen to call.
    pub members: Vec<(String, u8)>,
    /// A hook or the person approved it: the question is not asked again for those members.
    pub approved: bool,
}

/// What a run shares with the calls nested in it.
#[derive(Clone)]
pub struct Running {
    /// The run's id.
    pub id: String,
    /// Stops the run.
    pub signal: Signal,
    /// Nested calls so far, a tool call.
    pub nested: Rc<RefCell<HashMap<String, u64>>>,
    /// What it used, with all that is nested in it.
    pub spent: Rc<Spent>,
    /// What is known of code that runs, by tool call of `r`.
    pub code: Rc<RefCell<HashMap<String, SeenCode>>>,
    /// Calls nested in a tool call, as its details will tell of them.
    pub noted: Rc<RefCell<HashMap<String, Vec<Value>>>>,
    /// What a person approved by name.
    pub grants: Rc<Grants>,
    /// The calls whose bodies run, and since when.
    pub executing: Rc<RefCell<HashMap<String, Instant>>>,
    /// A call nested in code could be approved by nobody: the run ends with this.
    pub stop: Rc<RefCell<Option<Error>>>,
}

impl Running {
    /// A run that begins.
    pub fn new(id: String, signal: Signal) -> Self {
        Running {
            id,
            signal,
            nested: Rc::default(),
            spent: Rc::default(),
            code: Rc::default(),
            noted: Rc::default(),
            grants: Rc::default(),
            executing: Rc::default(),
            stop: Rc::default(),
        }
    }
}

/// A conversation.
pub struct Session {
    /// `s` and 10 hex digits.
    pub id: String,
    /// `chat` or `child`.
    pub kind: &'static str,
    /// `main`, or `nested` for a child.
    pub agent: &'static str,
    /// The session that this one is nested in.
    pub parent: Option<Weak<Session>>,
    /// How deep it is nested; 0 at the top.
    pub depth: u32,
    /// What may change.
    pub state: RefCell<State>,
    /// All messages.
    pub history: Rc<History>,
    /// What the model is shown of them.
    pub projection: RefCell<Projection>,
    /// The run under way.
    pub running: RefCell<Option<Running>>,
    /// Full texts of cut results, newest last.
    pub outputs: RefCell<Outputs>,
    /// A model request is under way.
    pub in_flight: Cell<bool>,
    /// Set when the host's object is gone.
    pub closed: Cell<bool>,
    /// Events of handlers under way, one within the other.
    pub telling: Rc<Cell<u32>>,
}

/// The changing part of a [`Session`].
pub struct State {
    /// How it stands.
    pub status: Status,
    /// Why the last run did not end normally.
    pub reason: Option<String>,
    /// The bound on requests in flight.
    pub lane: Lane,
    /// The permission mode.
    pub mode: Mode,
    /// The model.
    pub model: ModelChoice,
    /// Options of the last call.
    pub settings: Settings,
    /// The preset.
    pub preset: Preset,
    /// Prompt turns so far.
    pub turns: usize,
    /// The frozen prompt, from the first run on.
    pub frozen: Option<Frozen>,
    /// Input that waits.
    pub queue: VecDeque<(Urgency, Input)>,
    /// Rows of usage.
    pub usage: Vec<UsageRow>,
    /// The context blocks sent so far, so that an unchanged one is not sent again.
    pub blocks: BlockMemory,
    /// What replaces sections of the system prompt.
    pub system: Option<SystemOption>,
    /// Names of policies that must be there; without one only read-only calls run.
    pub required_policies: Vec<String>,
    /// Facts of the host for the environment block, until the first message took them.
    pub facts: Value,
    /// Blocks of `session_start` handlers, for the first message.
    pub start_blocks: Vec<Block>,
    /// Model requests so far.
    pub requests: u64,
    /// Words of the program to the model, said before the next request: kind and text.
    pub notes: Vec<(String, String)>,
    /// Why the model was changed, until the change is told of.
    pub model_reason: Option<String>,
    /// What extensions noted: `{type, data, timestamp}`.
    pub entries: Vec<Value>,
}

impl Session {
    /// A new session.
    pub fn new(
        id: String,
        parent: Option<&Rc<Session>>,
        model: ModelChoice,
        mode: Mode,
        settings: Settings,
        preset: Preset,
    ) -> Self {
        let state = State {
            status: Status::Idle,
            reason: None,
            lane: Lane::default(),
            mode,
            model,
            settings,
            preset,
            turns: 0,
            frozen: None,
            queue: VecDeque::new(),
            usage: Vec::new(),
            blocks: BlockMemory::default(),
            system: None,
            required_policies: Vec::new(),
            facts: Value::Null,
            start_blocks: Vec::new(),
            requests: 0,
            notes: Vec::new(),
            model_reason: None,
            entries: Vec::new(),
        };
        Session {
            id,
            kind: if parent.is_some() { "child" } else { "chat" },
            agent: if parent.is_some() { "nested" } else { "main" },
            parent: parent.map(Rc::downgrade),
            depth: parent.map_or(0, |p| p.depth + 1),
            state: RefCell::new(state),
            history: Rc::default(),
            projection: RefCell::default(),
            running: RefCell::new(None),
            outputs: RefCell::default(),
            in_flight: Cell::new(false),
            closed: Cell::new(false),
            telling: Rc::default(),
        }
    }

    /// True while a run is under way.
    pub fn is_running(&self) -> bool {
        self.running.borrow().is_some()
    }

    /// The sessions that this one is nested in, innermost first.
    pub fn ancestors(&self) -> impl Iterator<Item = Rc<Session>> + use<> {
        let above = |s: Option<&Weak<Session>>| s.and_then(Weak::upgrade);
        std::iter::successors(above(self.parent.as_ref()), move |s| above(s.parent.as_ref()))
    }

    /// Adds a row of usage, here and to all sessions that this one is nested in.
    pub fn note_usage(&self, row: &Value) {
        self.state.borrow_mut().usage.push(UsageRow(row.clone()));
        if let Some(parent) = self.parent.as_ref().and_then(Weak::upgrade) {
            parent.note_usage(row);
        }
    }

    /// Queues input.
    pub fn enqueue(&self, urgency: Urgency, input: Input) {
        self.state.borrow_mut().queue.push_back((urgency, input));
    }

    /// Takes the first queued input of this urgency; with `None` the first steer, else the first follow-up.
    pub fn dequeue(&self, urgency: Option<Urgency>) -> Option<Input> {
        let mut state = self.state.borrow_mut();
        let find = |u: Urgency, q: &VecDeque<(Urgency, Input)>| q.iter().position(|(have, _)| *have == u);
        let at = match urgency {
            Some(u) => find(u, &state.queue),
            None => find(Urgency::Steer, &state.queue).or_else(|| find(Urgency::FollowUp, &state.queue)),
        }?;
        state.queue.remove(at).map(|(_, input)| input)
    }

    /// True when input of this urgency waits.
    pub fn is_queued(&self, urgency: Urgency) -> bool {
        self.state.borrow().queue.iter().any(|(have, _)| *have == urgency)
    }

    /// Keeps the full text of a cut result.
    pub fn keep_output(&self, text: String) -> Receipt {
        let state = self.state.borrow();
        let settings = &state.settings;
        self.outputs.borrow_mut().keep(text, settings.out_keep, settings.spill_folder.as_deref())
    }

    /// The full text kept under this id.
    pub fn output(&self, id: &str) -> Option<String> {
        self.outputs.borrow().get(id)
    }

    /// Tokens that the result of a tool may take: `own` is the tool's word. Of code it is half of that once the
    /// conversation is above half of its threshold, and never below a floor.
    pub fn output_room(&self, own: Option<f64>, is_code: bool) -> u64 {
        let state = self.state.borrow();
        let room = own.map_or(state.settings.output_tokens, |x| x as u64);
        if !is_code {
            return room;
        }
        let mut counts = self.projection.borrow().counts;
        for text in state.frozen.iter().flat_map(|f| [&f.t0, &f.t1]) {
            counts.join(CharCounts::of(text));
        }
        let crowded = counts.tokens(Class::Prose) > state.settings.compact_at / 2;
        (if crowded { room / 2 } else { room }).max(LEAST_ROOM)
    }
}
