//! The registry's state, and every change of it.
//!
//! The tables are persistent maps, so that a [`Snapshot`] costs O(1) and keeps a dispatch on what was registered when
//! it began. A look-up is O(log n), registering and removing too.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

use imbl::{OrdMap, OrdSet};

mod inner;

pub use super::diagnostic::Diagnostic;
pub use super::origin::Origin;
pub use super::record::{NewRecord, Record, Released};
pub use super::snapshot::{Found, Snapshot};

use super::builtin::{Builtins, Declaration};
use super::diagnostic::Log;
use super::filter::{Change, Effective, Filter, Filters, Scope};
use super::kind::{Kind, Resolve, Validator, builtin_kinds};
use super::record::Entry;
use super::service::Services;
use super::table::Tables;
use crate::error::Error;

/// Kinds of which a filter can't turn off a record that a run began with.
const DECIDING: [&str; 2] = ["policy", "hook"];

/// A run under way: what was enabled when it began stays so.
struct Guard {
    run: String,
    session: Option<String>,
    /// Records up to this one were there.
    last: u64,
    filter: Option<Rc<Effective>>,
}

struct Inner {
    process: Tables,
    sessions: HashMap<String, Tables>,
    kinds: OrdMap<String, Rc<Kind>>,
    by_seq: HashMap<u64, Rc<Record>>,
    by_source: OrdSet<(String, u64)>,
    by_load: BTreeSet<(u64, u64)>,
    next: u64,
    generation: u64,
    version: u64,
    /// Records of sessions that came or went.
    of_sessions: u64,
    filters: Filters,
    filter: Option<Rc<Effective>>,
    guards: Vec<Guard>,
    builtins: Builtins,
    services: Services,
    log: Log,
}

/// The registry. All methods take `&self`; none calls out, so no borrow outlives a method.
pub struct Registry {
    inner: RefCell<Inner>,
    released: Rc<Released>,
    now: fn() -> f64,
    scrub: Rc<dyn Fn(&str) -> String>,
}

impl Registry {
    /// An empty registry with the built-in kinds. `now` gives seconds since 1970, `scrub` takes secrets out of the text
    /// of a diagnostic.
    pub fn new(now: fn() -> f64, scrub: impl Fn(&str) -> String + 'static) -> Self {
        let inner = Inner {
            process: Tables::new(),
            sessions: HashMap::new(),
            kinds: builtin_kinds().into_iter().map(|k| (k.name.clone(), Rc::new(k))).collect(),
            by_seq: HashMap::new(),
            by_source: OrdSet::new(),
            by_load: BTreeSet::new(),
            next: 0,
            generation: 1,
            version: 0,
            of_sessions: 0,
            filters: Filters::default(),
            filter: None,
            guards: Vec::new(),
            builtins: Builtins::default(),
            services: Services::default(),
            log: Log::default(),
        };
        Registry { inner: RefCell::new(inner), released: Rc::default(), now, scrub: Rc::new(scrub) }
    }

    /// A registry that starts with what every session sees now, placeholders left out. What happens in it never shows
    /// here, and it removes only what was registered in it. Costs what the placeholders cost.
    pub fn scratch(&self) -> Rc<Registry> {
        let inner = self.inner.borrow();
        let mut copy = Inner {
            process: inner.process.clone(),
            sessions: HashMap::new(),
            kinds: inner.kinds.clone(),
            by_seq: HashMap::new(),
            by_source: inner.by_source.clone(),
            by_load: BTreeSet::new(),
            next: inner.next,
            generation: inner.generation,
            version: 0,
            of_sessions: 0,
            filters: inner.filters.clone(),
            filter: inner.filter.clone(),
            guards: Vec::new(),
            builtins: inner.builtins.clone(),
            services: inner.services.clone(),
            log: Log::default(),
        };
        for (_, seq) in &inner.by_load {
            if let Some(record) = inner.by_seq.get(seq).filter(|r| r.lazy && r.session.is_none()) {
                copy.take_out(record);
            }
        }
        Rc::new(Registry {
            inner: RefCell::new(copy),
            released: Rc::default(),
            now: self.now,
            scrub: self.scrub.clone(),
        })
    }

    /// The names of the kinds, in byte order.
    pub fn kind_names(&self) -> Vec<String> {
        self.inner.borrow().kinds.keys().cloned().collect()
    }

    /// The kind of this name.
    ///
    /// # Errors
    /// [`Error::UnknownKind`].
    pub fn kind(&self, name: &str) -> Result<Rc<Kind>, Error> {
        self.inner.borrow().kinds.get(name).cloned().ok_or_else(|| Error::UnknownKind { kind: name.to_owned() })
    }

    /// What one session (or, without one, the process) sees now. O(1).
    pub fn snapshot(&self, session: Option<&str>) -> Snapshot {
        let inner = self.inner.borrow();
        Snapshot {
            process: inner.process.clone(),
            session: session.and_then(|s| inner.sessions.get(s).cloned()),
            kinds: inner.kinds.clone(),
            filter: inner.filter.clone(),
        }
    }

    /// Stores a record; a tie with an earlier one of the same kind, key, rank and session is reported. A record of kind
    /// `kind` defines its kind.
    ///
    /// # Errors
    /// `UnknownKind`; `InvalidSpec` for a kind that is defined already, and for a hook's matcher that can't be read.
    pub fn add(&self, new: NewRecord) -> Result<Rc<Record>, Error> {
        let kind = self.kind(&new.kind)?;
        if new.kind == "kind" && !new.lazy {
            self.undefined(&new.key)?;
        }
        let time = (self.now)();
        let mut inner = self.inner.borrow_mut();
        let entry = Entry { seq: inner.next + 1, generation: inner.generation, time, released: self.released.clone() };
        let record = Rc::new(Record::new(new, entry)?);
        let tie = inner.insert(&record, &kind);
        drop(inner);
        if let (Resolve::First, false, Some(first)) = (kind.resolve, record.lazy, tie) {
            let message = format!(
                "{} '{}' from {} is already registered by {}: the first stays in use.",
                record.kind, record.key, record.extension, first.extension
            );
            self.diagnose(&record.source, "register", "collision", &message);
        }
        Ok(record)
    }

    /// Fails when a kind of this name is defined.
    ///
    /// # Errors
    /// `InvalidSpec` that says by whom.
    pub fn undefined(&self, kind: &str) -> Result<(), Error> {
        match self.kind(kind) {
            Ok(kind) => Err(already_defined(&kind)),
            Err(_) => Ok(()),
        }
    }

    /// Removes a record by id; false when it is gone already, or was never in this registry.
    pub fn remove(&self, id: &str) -> bool {
        let Some(seq) = seq_of(id) else { return false };
        let gone = self.inner.borrow_mut().remove(seq);
        !gone.is_empty()
    }

    /// Removes all that belongs to a session.
    pub fn remove_session(&self, session: &str) {
        let gone = {
            let mut inner = self.inner.borrow_mut();
            let tables = inner.sessions.get(session).cloned().unwrap_or_default();
            let seqs: Vec<u64> = tables.values().flat_map(|t| t.by_seq.keys().copied()).collect();
            drop(tables);
            let gone = inner.remove_all(seqs);
            inner.sessions.remove(session);
            gone
        };
        drop(gone);
    }

    /// Removes all records of a source; returns how many there were.
    pub fn remove_source(&self, source: &str) -> usize {
        let mut inner = self.inner.borrow_mut();
        let seqs = inner.seqs_of_source(source);
        let gone = inner.remove_all(seqs);
        drop(inner);
        gone.len()
    }

    /// Removes the records of a load, placeholders or not; `lazy` says which, `None` means both.
    pub fn remove_load(&self, load: u64, lazy: Option<bool>) -> usize {
        let seqs: Vec<u64> =
            self.records_of_load(load).iter().filter(|r| lazy.is_none_or(|l| l == r.lazy)).map(|r| r.seq).collect();
        let gone = self.inner.borrow_mut().remove_all(seqs);
        gone.len()
    }

    /// The records of a load in the order of registration.
    pub fn records_of_load(&self, load: u64) -> Vec<Rc<Record>> {
        let inner = self.inner.borrow();
        let range = inner.by_load.range((load, 0)..=(load, u64::MAX));
        range.filter_map(|(_, seq)| inner.by_seq.get(seq).cloned()).collect()
    }

    /// All records of all sessions, in registration order.
    pub fn records(&self) -> Vec<Rc<Record>> {
        let mut out: Vec<Rc<Record>> = self.inner.borrow().by_seq.values().cloned().collect();
        out.sort_by_key(|r| r.seq);
        out
    }

    /// The process-level records of a kind in registration order.
    pub fn process_records(&self, kind: &str) -> Vec<Rc<Record>> {
        let inner = self.inner.borrow();
        inner.process.get(kind).map(|t| t.by_seq.values().cloned().collect()).unwrap_or_default()
    }

    /// The record of this id.
    pub fn record(&self, id: &str) -> Option<Rc<Record>> {
        self.inner.borrow().by_seq.get(&seq_of(id)?).cloned()
    }

    /// Changes whenever a listing may have changed.
    pub fn version(&self) -> u64 {
        self.inner.borrow().version
    }

    /// Changes whenever a look-up may find something else, in any session.
    pub fn stamp(&self) -> u64 {
        let inner = self.inner.borrow();
        inner.version + inner.of_sessions
    }

    /// The generation; API objects are bound to one.
    pub fn generation(&self) -> u64 {
        self.inner.borrow().generation
    }

    /// Starts the next generation and returns it.
    pub fn next_generation(&self) -> u64 {
        let mut inner = self.inner.borrow_mut();
        inner.generation += 1;
        inner.generation
    }

    /// Ids of records that nothing refers to any more.
    pub fn released(&self) -> Vec<String> {
        self.released.take()
    }

    /// Writes a diagnostic, without the secrets in its text.
    pub fn diagnose(&self, source: &str, event: &str, class: &str, message: &str) {
        let row = Diagnostic {
            time: (self.now)(),
            source: source.into(),
            event: event.into(),
            class: class.into(),
            message: (self.scrub)(message),
        };
        self.inner.borrow_mut().log.push(row);
    }

    /// The diagnostics, oldest first.
    pub fn diagnostics(&self) -> Vec<Diagnostic> {
        self.inner.borrow().log.rows()
    }
}

/// Filters and runs.
impl Registry {
    /// Replaces the filters of a scope.
    pub fn set_filters(&self, scope: Scope, wanted: Vec<Filter>) -> Change {
        let (change, notes) = {
            let mut inner = self.inner.borrow_mut();
            let unknown: Vec<String> =
                wanted.iter().filter(|f| !inner.is_prefix(f.prefix())).map(Filter::text).collect();
            let guarded = inner.guarded();
            let guarded: Vec<&Record> = guarded.iter().map(Rc::as_ref).collect();
            let change = inner.filters.set(scope, wanted, &guarded);
            inner.refilter();
            let limited = if scope == Scope::Project { inner.limited() } else { Vec::new() };
            let mut notes: Vec<(&str, String)> = Vec::new();
            let refused = change
                .refused
                .iter()
                .map(|f| ("filter_refused", format!("{f} is refused: what it aims at must stay on")));
            notes.extend(refused);
            let unknown = unknown.iter().filter(|f| !change.refused.contains(f));
            notes.extend(
                unknown.map(|f| ("filter_unknown_kind", format!("{f} aims at a kind that is not registered yet"))),
            );
            notes.extend(limited.into_iter().map(|key| {
                (
                    "filter_limited",
                    format!("-{key} of a project can't turn off policies and hooks of the user or of a built-in"),
                )
            }));
            (change, notes)
        };
        let source = format!("filters:{}", scope.as_str());
        for (class, message) in notes {
            self.diagnose(&source, "filter", class, &message);
        }
        change
    }

    /// The filters of a scope as they were taken.
    pub fn filters_of(&self, scope: Scope) -> Vec<String> {
        self.inner.borrow().filters.of(scope).iter().map(Filter::text).collect()
    }

    /// True when a filter turns off all records of a source.
    pub fn is_source_disabled(&self, source: &str) -> bool {
        self.inner.borrow().disables_source(source)
    }

    /// Until [`end_run`](Self::end_run), no change of filters turns off a policy or hook that is enabled now. O(1).
    pub fn begin_run(&self, run: &str, session: Option<&str>) {
        let mut inner = self.inner.borrow_mut();
        let guard = Guard {
            run: run.to_owned(),
            session: session.map(str::to_owned),
            last: inner.next,
            filter: inner.filter.clone(),
        };
        inner.guards.push(guard);
    }

    /// Ends a run.
    pub fn end_run(&self, run: &str) {
        self.inner.borrow_mut().guards.retain(|g| g.run != run);
    }
}

/// Built-ins and services.
impl Registry {
    /// Declares built-ins; returns all that are declared in the order of loading.
    pub fn declare_builtins(&self, declarations: Vec<Declaration>) -> Vec<String> {
        let (order, circle) = {
            let mut inner = self.inner.borrow_mut();
            let before = inner.builtins.order().1;
            for kept in declarations.iter().filter(|d| !d.replaceable) {
                inner.filters.keep_builtin(&kept.name);
            }
            inner.builtins.declare(declarations);
            inner.refilter();
            let (order, circle) = inner.builtins.order();
            (order, if circle == before { Vec::new() } else { circle })
        };
        if !circle.is_empty() {
            let message = format!("{} wait for each other: they load in the order of declaration", circle.join(", "));
            self.diagnose("builtins", "load", "cycle", &message);
        }
        order
    }

    /// The declared built-ins that no filter turns off and that were not tried yet.
    pub fn due_builtins(&self) -> Vec<String> {
        let inner = self.inner.borrow();
        inner.builtins.due(|name| !inner.disables_source(&format!("builtin:{name}")))
    }

    /// The next built-in that is due; it counts as tried from now on.
    pub fn next_builtin(&self) -> Option<String> {
        let mut inner = self.inner.borrow_mut();
        let filter = inner.filter.clone();
        inner.builtins.attempt(|name| !filter.as_ref().is_some_and(|f| f.disables_source(&format!("builtin:{name}"))))
    }

    /// Declares a bootstrap service; true, and reported, when there was one already.
    pub fn declare_service(&self, name: &str, builtin: Option<&str>) -> bool {
        let replaced = self.inner.borrow_mut().services.declare(name, builtin);
        if replaced {
            let source = builtin.map_or_else(|| "service".to_owned(), |b| format!("builtin:{b}"));
            self.diagnose(&source, "service_replaced", "service", &format!("the service '{name}' was set again"));
        }
        replaced
    }

    /// What answers for a service: a record, a load to activate, or the bootstrap service of a built-in.
    ///
    /// # Errors
    /// `NotAvailable`.
    pub fn service(&self, session: Option<&str>, name: &str) -> Result<Service, Error> {
        match self.snapshot(session).find("service", name) {
            Found::Record(record) => return Ok(Service::Record(record)),
            Found::Lazy(load) => return Ok(Service::Lazy(load)),
            Found::Absent => {}
        }
        let inner = self.inner.borrow();
        match inner.services.bootstrap(name) {
            Some(builtin) if builtin.is_none_or(|b| inner.is_builtin_active(b)) => {
                Ok(Service::Bootstrap(builtin.map(str::to_owned)))
            }
            _ => Err(Error::NotAvailable { member: name.to_owned(), provided_by: inner.services.provider(name) }),
        }
    }
}

/// What answers for a service.
pub enum Service {
    /// A `service` record.
    Record(Rc<Record>),
    /// A load has to be activated; then one asks again.
    Lazy(u64),
    /// The host's own function, of this built-in.
    Bootstrap(Option<String>),
}

/// The error for a kind that is there already.
pub fn already_defined(kind: &Kind) -> Error {
    Error::spec("kind", &kind.name, "name", format!("is already defined by {}", kind.source))
}

fn seq_of(id: &str) -> Option<u64> {
    let digits = id.strip_prefix('r')?;
    let seq: u64 = digits.parse().ok()?;
    // "r07" and "r+7" are no ids.
    (seq.to_string() == digits).then_some(seq)
}

#[cfg(test)]
mod tests;
