//! The engine: one registry, its sessions, and what they share.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::time::Duration;

use crate::clock;
use crate::error::Error;
use crate::extension::Load;
use crate::hook::catalogue;
use crate::io::Runtime;
use crate::payload;
use crate::provider::http;
use crate::redact::Redactor;
use crate::registry::admission;
use crate::registry::kind::{Kind, Validator};
use crate::registry::store::{NewRecord, Origin, Record, Registry};
use crate::registry::validate::{self, Events, Generate, Validated};
use crate::run::lane::Lanes;
use crate::session::Session;
use crate::task::Bell;
use crate::tool::Natives;
use crate::value::{HostValue, Value};

/// The version of the extension API.
pub const API_VERSION: &str = "1.0";

/// Everything that lives as long as the process.
pub struct Engine {
    /// The records.
    pub registry: Rc<Registry>,
    /// Wakes the host when I/O moved on.
    pub bell: Arc<Bell>,
    /// The I/O threads, started at first use.
    pub runtime: Runtime,
    /// The HTTP client.
    pub client: http::Client,
    /// Bounds on requests in flight.
    pub lanes: Lanes,
    /// Secrets in, markers out.
    pub redactor: Rc<RefCell<Redactor>>,
    /// Bodies of tools that are functions of the engine.
    pub natives: Natives,
    /// Loads of extensions.
    pub loads: RefCell<HashMap<u64, Load>>,
    sessions: RefCell<HashMap<String, Weak<Session>>>,
    ledger: RefCell<Vec<Value>>,
    retired: RefCell<Vec<Rc<Session>>>,
    next_load: Cell<u64>,
    refused_namespaces: RefCell<HashSet<String>>,
}

/// The event catalogue, as the registry needs it.
pub struct Catalogue;

impl Events for Catalogue {
    fn known(&self, name: &str) -> bool {
        catalogue::is_event(name) || catalogue::is_channel(name)
    }

    fn hint(&self, name: &str) -> Option<String> {
        Some(catalogue::hint(name)).filter(|h| !h.is_empty())
    }
}

/// What registering gave.
pub struct Registered {
    /// The record.
    pub record: Rc<Record>,
    /// What the host must change in its copy of the spec.
    pub patch: Vec<(String, HostValue)>,
    /// The function that the host must make for it.
    pub generate: Option<Generate>,
    /// False when nothing reads records of this kind yet.
    pub consumed: bool,
}

fn kind_of(spec: &HostValue) -> &str {
    spec.field("kind").and_then(HostValue::as_str).unwrap_or_default()
}

impl Engine {
    /// A new engine. `on_thread_start` runs first on each I/O thread.
    pub fn new(on_thread_start: fn(), http: http::Settings) -> Rc<Self> {
        let runtime = Runtime::new(on_thread_start);
        let redactor: Rc<RefCell<Redactor>> = Rc::default();
        let scrubber = redactor.clone();
        let registry = Registry::new(clock::now, move |text| scrubber.borrow().redact(text).into_owned());
        Rc::new(Engine {
            registry: Rc::new(registry),
            bell: Arc::default(),
            client: http::Client::new(runtime.clone(), http),
            runtime,
            lanes: Lanes::default(),
            redactor,
            natives: Natives::builtin(),
            loads: RefCell::default(),
            sessions: RefCell::default(),
            ledger: RefCell::default(),
            retired: RefCell::default(),
            next_load: Cell::new(0),
            refused_namespaces: RefCell::default(),
        })
    }

    /// The kind of this name, also one that the load `load` has staged.
    ///
    /// # Errors
    /// `unknown_kind`.
    pub fn kind(&self, registry: &Registry, load: Option<u64>, name: &str) -> Result<Rc<Kind>, Error> {
        let staged = load.and_then(|l| self.loads.borrow().get(&l)?.staged_kind(name));
        staged.map_or_else(|| registry.kind(name), Ok)
    }

    /// Validates a spec against its kind, all but what the kind's own validator says.
    ///
    /// # Errors
    /// `invalid_spec`, `unknown_kind`, `invalid_argument`.
    pub fn validate(&self, registry: &Registry, load: Option<u64>, spec: &HostValue) -> Result<Validated, Error> {
        let kind = self.kind(registry, load, kind_of(spec))?;
        validate::validate(&kind, spec, &Catalogue)
    }

    /// The validator of the host's that has to agree before this spec is registered.
    ///
    /// # Errors
    /// `unknown_kind`.
    pub fn asks(&self, registry: &Registry, load: Option<u64>, spec: &HostValue) -> Result<Option<Validator>, Error> {
        Ok(self.kind(registry, load, kind_of(spec))?.validator.clone())
    }

    /// Validates a spec and stores it. Whom [`Engine::asks`] names has agreed.
    ///
    /// # Errors
    /// Those of [`Engine::validate`], and what the registry does not admit.
    pub fn register(
        &self,
        registry: &Registry,
        spec: &HostValue,
        origin: Origin,
        attachment: Option<Rc<dyn Any>>,
    ) -> Result<Registered, Error> {
        let kind = registry.kind(kind_of(spec))?;
        let valid = validate::validate(&kind, spec, &Catalogue)?;
        admission::admit(&registry.snapshot(origin.session.as_deref()), &kind.name, &valid, &origin)?;
        let Validated { key, spec, patch, schema, generate, .. } = valid;
        let new = NewRecord { kind: kind.name.clone(), key, spec, schema, origin, attachment, lazy: false };
        let record = registry.add(new)?;
        Ok(Registered { record, patch, generate, consumed: kind.consumed })
    }

    /// The features of the API: kinds (also those that a load has staged), events, services.
    pub fn features(&self, load: Option<u64>) -> Vec<String> {
        let mut kinds = self.registry.kind_names();
        if let Some(load) = load.and_then(|l| self.loads.borrow().get(&l).map(Load::staged_kinds)) {
            kinds.extend(load);
            kinds.sort();
            kinds.dedup();
        }
        let kinds = kinds.into_iter().map(|k| format!("kind.{k}"));
        let events = catalogue::EVENTS.iter().map(|e| format!("event.{}", e.name));
        let services = ["lazy_activation", "declarations", "ctx.decide", "ctx.secret", "route", "services"];
        kinds.chain(events).chain(services.map(str::to_owned)).collect()
    }

    /// Makes a session known to the engine.
    pub fn adopt(&self, session: &Rc<Session>) {
        self.settle_retired();
        let mut sessions = self.sessions.borrow_mut();
        // Swept only when it would grow, so that many live sessions do not make each new one dearer.
        if sessions.len() == sessions.capacity() {
            sessions.retain(|_, s| s.strong_count() > 0);
        }
        sessions.insert(session.id.clone(), Rc::downgrade(session));
    }

    /// The session of this id.
    pub fn session(&self, id: &str) -> Option<Rc<Session>> {
        self.sessions.borrow().get(id)?.upgrade()
    }

    /// Keeps a row of usage, a model request of the process.
    pub fn note_usage(&self, row: &Value) {
        self.ledger.borrow_mut().push(row.clone());
    }

    /// The rows of usage of all sessions, also of those that are gone.
    pub fn usage(&self) -> Value {
        Value::Array(self.ledger.borrow().clone())
    }

    /// Forgets a session and all records that only it saw.
    pub fn close(&self, session: &Session) {
        session.closed.set(true);
        self.sessions.borrow_mut().remove(&session.id);
        self.registry.remove_session(&session.id);
        for load in self.loads.borrow_mut().values_mut().filter(|l| l.session() == Some(&session.id)) {
            load.end();
        }
    }

    /// Takes a session that the host let go of. A finalizer may run at any time, so it only queues: the session leaves
    /// when the next one is adopted.
    pub fn retire(&self, session: Rc<Session>) {
        if let Ok(mut retired) = self.retired.try_borrow_mut() {
            retired.push(session);
        }
    }

    /// Lets go of retired sessions and of all records that only they saw.
    pub fn settle_retired(&self) {
        let retired = std::mem::take(&mut *self.retired.borrow_mut());
        for session in retired {
            self.close(&session);
        }
    }

    /// The sessions that are alive.
    pub fn live_sessions(&self) -> Vec<Rc<Session>> {
        self.sessions.borrow().values().filter_map(Weak::upgrade).collect()
    }

    /// The registry that a load writes to.
    ///
    /// # Errors
    /// `Internal` for an unknown load.
    pub fn load_registry(&self, load: u64) -> Result<Rc<Registry>, Error> {
        self.loads.borrow().get(&load).map(Load::registry).ok_or_else(|| Error::internal("an unknown load"))
    }

    /// A number for the next load of an extension.
    pub fn next_load(&self) -> u64 {
        self.next_load.set(self.next_load.get() + 1);
        self.next_load.get()
    }

    /// Secrets in the strings of a value become markers.
    pub fn redact(&self, value: &mut Value) {
        payload::redact(&self.redactor.borrow(), value);
    }

    /// Says once that this namespace is not offered.
    pub fn refuse_namespace(&self, namespace: &str) {
        if self.refused_namespaces.borrow_mut().insert(namespace.to_owned()) {
            let message = format!("peter${namespace} is a member, so that no namespace of this name is offered");
            self.registry.diagnose("builtin:tools", "member_refused", "invalid_spec", &message);
        }
    }

    /// Those of these environment variables that hold secrets: a provider in `session` takes its key from them, or their
    /// value has a registered secret in it, or looks like a key.
    pub fn secret_variables<'v>(
        &self,
        session: Option<&str>,
        variables: impl Iterator<Item = (&'v str, &'v str)>,
    ) -> Vec<&'v str> {
        let providers = self.registry.snapshot(session).list("provider");
        let named = |p: &Rc<Record>| p.spec.field("auth").and_then(HostValue::as_strings).map(|n| n.join("\n"));
        let keys: Vec<String> = providers.iter().filter_map(named).collect();
        let is_key = |name: &str| keys.iter().any(|names| names.split('\n').any(|n| n == name));
        let redactor = self.redactor.borrow();
        variables
            .filter(|(name, value)| is_key(name) || redactor.redact(value) != *value)
            .map(|(name, _)| name)
            .collect()
    }

    /// Ends the I/O threads, waiting at most this long.
    pub fn shutdown(&self, limit: Duration) {
        self.runtime.shutdown(limit);
    }
}
