//! Loading an extension: what its factory registers is staged, and committed as one when it returned.

pub mod manifest;

use std::any::Any;
use std::rc::Rc;

use crate::engine::{API_VERSION, Engine, Registered};
use crate::error::Error;
use crate::registry::requirement;
use crate::registry::store::{Origin, Registry};
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
}

#[derive(PartialEq)]
enum State {
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
    },
    /// It is registered: the factory had returned before.
    Now(Registered),
}

/// Begins a load and returns its number. In a scratch registry nothing leaks into the live one.
pub fn begin(engine: &Engine, mut origin: Origin, scratch: bool) -> u64 {
    let number = engine.next_load();
    let registry = if scratch { engine.registry.scratch() } else { engine.registry.clone() };
    origin.load = Some(number);
    let generation = engine.registry.generation();
    let load = Load { origin, registry, state: State::Staging, generation, staged: Vec::new(), tokens: 0 };
    engine.loads.borrow_mut().insert(number, load);
    number
}

/// Registers a spec for a load.
///
/// # Errors
/// `StaleApi`, and what validation and admission refuse.
pub fn register(engine: &Engine, number: u64, spec: &HostValue, attachment: Option<Rc<dyn Any>>) -> Result<Staged, Error> {
    current(engine, number)?;
    let (registry, origin, staging) = {
        let loads = engine.loads.borrow();
        let Some(load) = loads.get(&number) else { return Err(Error::internal("an unknown load")) };
        (load.registry.clone(), load.origin.clone(), load.state == State::Staging)
    };
    if !staging {
        return engine.register(&registry, spec, origin, attachment).map(Staged::Now);
    }
    let valid = engine.validate(&registry, spec)?;
    let mut loads = engine.loads.borrow_mut();
    let Some(load) = loads.get_mut(&number) else { return Err(Error::internal("an unknown load")) };
    load.tokens += 1;
    let token = format!("t{}", load.tokens);
    load.staged.push(Waiting { token: token.clone(), spec: valid.spec, attachment });
    Ok(Staged::Later { token, patch: valid.patch, generate: valid.generate })
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

/// Commits: kinds first, then the rest in the order of registration. Returns a row (`token`, `id`) each.
///
/// # Errors
/// What admission refuses; then nothing of the load is left.
pub fn commit(engine: &Engine, number: u64) -> Result<Value, Error> {
    current(engine, number)?;
    let (registry, origin, mut staged) = {
        let mut loads = engine.loads.borrow_mut();
        let Some(load) = loads.get_mut(&number) else { return Err(Error::internal("an unknown load")) };
        (load.registry.clone(), load.origin.clone(), std::mem::take(&mut load.staged))
    };
    staged.sort_by_key(|w| w.spec.field("kind").and_then(HostValue::as_str) != Some("kind"));
    let mut rows = Vec::new();
    for waiting in staged {
        match engine.register(&registry, &waiting.spec, origin.clone(), waiting.attachment) {
            Ok(added) => rows.push(json!({"token": waiting.token, "id": added.record.id})),
            Err(error) => {
                rollback(engine, number);
                return Err(error);
            }
        }
    }
    if let Some(load) = engine.loads.borrow_mut().get_mut(&number) {
        load.state = State::Loaded;
    }
    Ok(Value::Array(rows))
}

/// Undoes a load: its records go, its API object is stale.
pub fn rollback(engine: &Engine, number: u64) {
    let registry = {
        let mut loads = engine.loads.borrow_mut();
        let Some(load) = loads.get_mut(&number) else { return };
        load.state = State::Gone;
        load.staged.clear();
        load.registry.clone()
    };
    registry.remove_where(|r| r.load == Some(number));
}

/// Fails when the API object of a load is stale.
///
/// # Errors
/// `StaleApi`.
pub fn current(engine: &Engine, number: u64) -> Result<(), Error> {
    let loads = engine.loads.borrow();
    let Some(load) = loads.get(&number) else { return Err(Error::internal("an unknown load")) };
    let moved_on = load.state == State::Loaded && load.generation != engine.registry.generation();
    if load.state == State::Gone || moved_on {
        return Err(Error::StaleApi { plugin: load.origin.extension.clone(), generation: load.generation });
    }
    Ok(())
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
    if requirement::satisfies(range, API_VERSION) == Ok(true) {
        return Ok(());
    }
    let plugin = engine.loads.borrow().get(&number).map_or_else(String::new, |l| l.origin.extension.clone());
    Err(Error::ApiVersion { plugin, required: range.to_owned(), available: API_VERSION.to_owned() })
}

impl Load {
    /// The session that the load belongs to.
    pub fn session(&self) -> Option<&str> {
        self.origin.session.as_deref()
    }

    /// The registry that the load writes to.
    pub fn registry(&self) -> Rc<Registry> {
        self.registry.clone()
    }
}
