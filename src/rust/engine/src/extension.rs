//! Loading an extension: what its factory registers is staged, and committed as one when it returned. A lazy extension
//! leaves placeholders until somebody needs it.

pub mod manifest;

use std::any::Any;
use std::rc::Rc;

use crate::engine::{API_VERSION, Engine, Registered};
use crate::error::Error;
use crate::registry::kind::{Kind, Validator};
use crate::registry::origin::Place;
use crate::registry::placeholder::{Promise, placeholder};
use crate::registry::requirement;
use crate::registry::store::{Origin, Registry, already_defined};
use crate::registry::validate::Generate;
use crate::value::{HostValue, Value, json};

/// A load of an extension.
pub struct Load {
    origin: Origin,
    registry: Rc<Registry>,
    state: State,
    generation: u64,
    staged: Vec<Waiting>,
    tokens: u64,
    promised: Vec<Promise>,
    /// What a catalogue says of the promised names; an extension that has it is lazy.
    declarations: Option<HostValue>,
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    /// Only its placeholders are there.
    Declared,
    /// The factory runs.
    Staging,
    /// It returned and all was committed.
    Loaded,
    /// It failed, or was unloaded.
    Gone,
}

struct Waiting {
    token: String,
    spec: HostValue,
    attachment: Option<Rc<dyn Any>>,
    /// Where it was registered, when that is known better than for the whole load.
    place: Option<Place>,
    /// The kind that it defines.
    kind: Option<Rc<Kind>>,
}

/// What became of a registration.
pub enum Staged {
    /// It waits for the commit.
    Later {
        /// Names it until then.
        token: String,
        /// What the host must change in its copy of the spec.
        patch: Vec<(String, HostValue)>,
        /// The function that the host must make.
        generate: Option<Generate>,
        /// False when nothing reads records of its kind yet.
        consumed: bool,
    },
    /// It is registered: the factory had returned before.
    Now(Registered),
}

/// A lazy extension whose placeholders are registered.
#[derive(Debug, PartialEq)]
pub struct Declared {
    /// The number of its load.
    pub load: u64,
    /// How many placeholders there are: promises of kinds that nobody has defined yet have none.
    pub placeholders: usize,
}

/// The outcome of a reload.
#[derive(Debug, PartialEq)]
pub struct Reloaded {
    /// The new generation.
    pub generation: u64,
    /// Loads that are lazy again, with their new numbers.
    pub moved: Vec<(u64, u64)>,
}

impl Load {
    fn new(origin: Origin, registry: Rc<Registry>, state: State) -> Self {
        let generation = registry.generation();
        Load {
            origin,
            registry,
            state,
            generation,
            staged: Vec::new(),
            tokens: 0,
            promised: Vec::new(),
            declarations: None,
        }
    }

    /// The session that the load belongs to.
    pub fn session(&self) -> Option<&str> {
        self.origin.session.as_deref()
    }

    /// The registry that the load writes to.
    pub fn registry(&self) -> Rc<Registry> {
        self.registry.clone()
    }

    /// A kind that the factory has registered so far.
    pub fn staged_kind(&self, name: &str) -> Option<Rc<Kind>> {
        self.staged.iter().filter_map(|w| w.kind.clone()).find(|k| k.name == name)
    }

    /// The names of the kinds that the factory has registered so far.
    pub fn staged_kinds(&self) -> Vec<String> {
        self.staged.iter().filter_map(|w| w.kind.as_ref().map(|k| k.name.clone())).collect()
    }

    /// Its API object is stale from now on.
    pub fn end(&mut self) {
        self.state = State::Gone;
        self.staged.clear();
        self.promised.clear();
        self.declarations = None;
    }
}

fn unknown() -> Error {
    Error::internal("an unknown load")
}

/// False, and reported, when a filter turns the source off: its factory must not run.
pub fn is_admitted(engine: &Engine, origin: &Origin) -> bool {
    if !engine.registry.is_source_disabled(&origin.source) {
        return true;
    }
    let message = format!("{} is turned off by a filter and was not loaded", origin.extension);
    engine.registry.diagnose(&origin.extension, "load", "filtered", &message);
    false
}

/// Begins a load and returns its number. In a scratch registry nothing leaks into the live one.
pub fn begin(engine: &Engine, origin: Origin, scratch: bool) -> u64 {
    let registry = if scratch { engine.registry.scratch() } else { engine.registry.clone() };
    insert(engine, Load::new(origin, registry, State::Staging))
}

fn insert(engine: &Engine, mut load: Load) -> u64 {
    let number = engine.next_load();
    load.origin.load = Some(number);
    engine.loads.borrow_mut().insert(number, load);
    number
}

/// Notes what a manifest promises of a load that runs eagerly: what is missing at the commit is reported.
///
/// # Errors
/// `StaleApi`.
pub fn promise(engine: &Engine, number: u64, promised: Vec<Promise>) -> Result<(), Error> {
    current(engine, number)?;
    if let Some(load) = engine.loads.borrow_mut().get_mut(&number) {
        load.promised = promised;
    }
    Ok(())
}

/// Registers placeholders for what an extension promises. Its factory runs when [`activate`] is called.
///
/// # Errors
/// `Internal` when a placeholder can't be stored; then none is.
pub fn declare(
    engine: &Engine,
    origin: Origin,
    promised: Vec<Promise>,
    declarations: HostValue,
) -> Result<Declared, Error> {
    let mut load = Load::new(origin, engine.registry.clone(), State::Declared);
    load.promised = promised;
    load.declarations = Some(declarations);
    let number = insert(engine, load);
    let placeholders = place(engine, number)?;
    Ok(Declared { load: number, placeholders })
}

fn place(engine: &Engine, number: u64) -> Result<usize, Error> {
    let placeholders: Vec<_> = {
        let loads = engine.loads.borrow();
        let load = loads.get(&number).ok_or_else(unknown)?;
        let null = HostValue::null();
        let declarations = load.declarations.as_ref().unwrap_or(&null);
        let known = load.promised.iter().filter(|p| load.registry.kind(&p.kind).is_ok());
        known.map(|p| placeholder(p, declarations, load.origin.clone())).collect()
    };
    let count = placeholders.len();
    for new in placeholders {
        if let Err(error) = engine.registry.add(new) {
            rollback(engine, number);
            return Err(error);
        }
    }
    Ok(count)
}

/// Begins the activation of a declared load: its factory is to be run. False when there is nothing to do, because it
/// runs, has run, or is gone.
pub fn activate(engine: &Engine, number: u64) -> bool {
    let mut loads = engine.loads.borrow_mut();
    let Some(load) = loads.get_mut(&number).filter(|l| l.state == State::Declared) else { return false };
    load.state = State::Staging;
    load.generation = engine.registry.generation();
    true
}

/// True when only the placeholders of a load are there.
pub fn is_declared(engine: &Engine, number: u64) -> bool {
    in_state(engine, number, State::Declared)
}

fn in_state(engine: &Engine, number: u64, state: State) -> bool {
    engine.loads.borrow().get(&number).is_some_and(|l| l.state == state)
}

/// Ends a load that the host was asked to activate and left half-way: nothing of it stays, and that is reported.
pub fn settle(engine: &Engine, number: u64, problem: Option<&str>) {
    let left = {
        let loads = engine.loads.borrow();
        let half = loads.get(&number).filter(|l| matches!(l.state, State::Declared | State::Staging));
        half.map(|l| l.origin.extension.clone())
    };
    if let Some(extension) = left {
        rollback(engine, number);
        engine.registry.diagnose(&extension, "load", "error", problem.unwrap_or("the extension was not activated"));
    }
}

/// Registers a spec for a load. Whom [`Engine::asks`] names has agreed. `place` is where it was registered.
///
/// # Errors
/// `StaleApi`, and what validation and admission refuse.
pub fn register(
    engine: &Engine,
    number: u64,
    spec: &HostValue,
    attachment: Option<Rc<dyn Any>>,
    place: Option<Place>,
) -> Result<Staged, Error> {
    current(engine, number)?;
    let (registry, mut origin) = {
        let loads = engine.loads.borrow();
        let load = loads.get(&number).ok_or_else(unknown)?;
        (load.registry.clone(), load.origin.clone())
    };
    origin.place = place.or(origin.place);
    if !in_state(engine, number, State::Staging) {
        return engine.register(&registry, spec, origin, attachment).map(Staged::Now);
    }
    let valid = engine.validate(&registry, Some(number), spec)?;
    let kind = engine.kind(
        &registry,
        Some(number),
        valid.spec.field("kind").and_then(HostValue::as_str).unwrap_or_default(),
    )?;
    let defines = kind.name == "kind";
    if defines && let Ok(defined) = engine.kind(&registry, Some(number), &valid.name) {
        return Err(already_defined(&defined));
    }
    let mut loads = engine.loads.borrow_mut();
    let load = loads.get_mut(&number).ok_or_else(unknown)?;
    load.tokens += 1;
    let token = format!("t{}", load.tokens);
    let validator = Validator { record: None, home: origin.session, token: Some(token.clone()) };
    let defined = defines.then(|| Rc::new(Kind::defined_by(&valid.spec, &origin.source, validator)));
    load.staged.push(Waiting {
        token: token.clone(),
        spec: valid.spec,
        attachment,
        place: origin.place,
        kind: defined,
    });
    Ok(Staged::Later { token, patch: valid.patch, generate: valid.generate, consumed: kind.consumed })
}

/// Takes a registration back.
///
/// # Errors
/// `StaleApi`.
pub fn unregister(engine: &Engine, number: u64, token: Option<&str>, id: Option<&str>) -> Result<(), Error> {
    current(engine, number)?;
    let mut loads = engine.loads.borrow_mut();
    let Some(load) = loads.get_mut(&number) else { return Ok(()) };
    if let Some(id) = id {
        load.registry.remove(id);
    } else if let Some(token) = token {
        load.staged.retain(|w| w.token != token);
    }
    Ok(())
}

/// Commits: placeholders go, kinds come first, then the rest in the order of registration. Returns a row (`token`, `id`)
/// each. What was promised and is missing is reported.
///
/// # Errors
/// What admission refuses, and `StaleApi` when the factory reloaded; then nothing of the load is left.
pub fn commit(engine: &Engine, number: u64) -> Result<Value, Error> {
    let outcome = current(engine, number).and_then(|()| commit_staged(engine, number));
    if outcome.is_err() {
        rollback(engine, number);
    }
    outcome
}

fn commit_staged(engine: &Engine, number: u64) -> Result<Value, Error> {
    let (registry, origin, mut staged) = {
        let mut loads = engine.loads.borrow_mut();
        let load = loads.get_mut(&number).ok_or_else(unknown)?;
        (load.registry.clone(), load.origin.clone(), std::mem::take(&mut load.staged))
    };
    registry.remove_load(number, Some(true));
    staged.sort_by_key(|w| w.kind.is_none());
    let mut rows = Vec::new();
    for waiting in staged {
        let origin = Origin { place: waiting.place, ..origin.clone() };
        let added = engine.register(&registry, &waiting.spec, origin, waiting.attachment)?;
        rows.push(json!({"token": waiting.token, "id": added.record.id}));
    }
    if let Some(load) = engine.loads.borrow_mut().get_mut(&number) {
        load.state = State::Loaded;
    }
    report_missing(engine, number, &registry);
    Ok(Value::Array(rows))
}

fn report_missing(engine: &Engine, number: u64, registry: &Registry) {
    let (extension, promised) = {
        let loads = engine.loads.borrow();
        let Some(load) = loads.get(&number).filter(|l| !l.promised.is_empty()) else { return };
        (load.origin.extension.clone(), load.promised.clone())
    };
    let made = registry.records_of_load(number);
    let is_made = |p: &Promise| {
        made.iter()
            .any(|r| r.kind == p.kind && (r.key == p.key || (r.kind == "hook" && r.text("event") == Some(&p.key))))
    };
    for missing in promised.iter().filter(|p| !is_made(p)) {
        let message = format!("{extension} promised the {} '{}' and did not register it", missing.kind, missing.key);
        registry.diagnose(&extension, "activate", "missing_provided", &message);
    }
}

/// Undoes a load: its records go, its API object is stale.
pub fn rollback(engine: &Engine, number: u64) {
    let registry = {
        let mut loads = engine.loads.borrow_mut();
        let Some(load) = loads.get_mut(&number) else { return };
        load.end();
        load.registry.clone()
    };
    registry.remove_load(number, None);
}

/// Starts the next generation: all API objects are stale, and what was declared lazily and has been activated is only
/// declared again.
///
/// # Errors
/// As [`declare`].
pub fn reload(engine: &Engine) -> Result<Reloaded, Error> {
    let generation = engine.registry.next_generation();
    let mut activated: Vec<u64> = {
        let loads = engine.loads.borrow();
        let is_lazy = |l: &Load| l.state == State::Loaded && l.declarations.is_some();
        loads.iter().filter(|(_, l)| is_lazy(l)).map(|(number, _)| *number).collect()
    };
    activated.sort_unstable();
    let mut moved = Vec::new();
    for number in activated {
        let again = {
            let loads = engine.loads.borrow();
            let Some(load) = loads.get(&number) else { continue };
            (load.origin.clone(), load.promised.clone(), load.declarations.clone().unwrap_or_default())
        };
        rollback(engine, number);
        let declared = declare(engine, again.0, again.1, again.2)?;
        moved.push((number, declared.load));
    }
    Ok(Reloaded { generation, moved })
}

/// Removes all records of a source and makes its API objects stale; returns how many records there were.
pub fn unload(engine: &Engine, source: &str) -> usize {
    let count = engine.registry.remove_source(source);
    for load in engine.loads.borrow_mut().values_mut().filter(|l| l.origin.source == source) {
        load.end();
    }
    engine.registry.diagnose(source, "unload", "unloaded", &format!("{count} record(s) removed"));
    count
}

/// Fails when the API object of a load is stale.
///
/// # Errors
/// `StaleApi`.
pub fn current(engine: &Engine, number: u64) -> Result<(), Error> {
    let loads = engine.loads.borrow();
    let load = loads.get(&number).ok_or_else(unknown)?;
    let is_live =
        matches!(load.state, State::Staging | State::Loaded) && load.generation == engine.registry.generation();
    if is_live {
        return Ok(());
    }
    Err(Error::StaleApi { plugin: load.origin.extension.clone(), generation: load.generation })
}

/// True when the version of the API meets a requirement; one that can't be read is not met.
pub fn is_met(requires: &str) -> bool {
    requirement::satisfies(requires, API_VERSION) == Ok(true)
}

/// Fails when the version of the API is not in the range.
///
/// # Errors
/// `StaleApi`, `ApiVersion` (also for a range that can't be read).
pub fn require(engine: &Engine, number: u64, requires: &HostValue) -> Result<(), Error> {
    current(engine, number)?;
    let Some(range) = requires.as_str() else {
        return Err(Error::argument("requires", "a single string", &requires.describe()));
    };
    if is_met(range) {
        return Ok(());
    }
    let plugin = engine.loads.borrow().get(&number).map_or_else(String::new, |l| l.origin.extension.clone());
    Err(Error::ApiVersion { plugin, required: range.to_owned(), available: API_VERSION.to_owned() })
}
