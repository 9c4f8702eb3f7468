//! Records and how they are found: precedence, ties, order, snapshots.
//!
//! The tables are persistent maps, so that a [`Snapshot`] costs O(1) and keeps a dispatch on what was registered when
//! it began. A look-up is O(log n), registering and removing too.

use std::any::Any;
use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};
use std::rc::Rc;

use imbl::{OrdMap, Vector};

use super::kind::{Kind, Resolve, builtin_kinds};
use crate::error::Error;
use crate::hook::Matcher;
use crate::schema::Schema;
use crate::value::HostValue;

/// How many diagnostics are kept.
const DIAGNOSTICS: usize = 1000;

/// The place of a record whose kind has an order field and whose spec gives none.
const DEFAULT_ORDER: i64 = 500;

/// A registered spec.
pub struct Record {
    /// `r<seq>`.
    pub id: String,
    /// The sequence of registration, from 1.
    pub seq: u64,
    /// The kind.
    pub kind: String,
    /// What it is found by: the name, with the namespace of a tool in front.
    pub key: String,
    /// The validated spec; functions are their signatures, the host keeps the closures.
    pub spec: HostValue,
    /// Precedence; the lowest wins.
    pub rank: u8,
    /// `session`, `project`, `user`, `plugin:<name>` or `builtin:<name>`.
    pub source: String,
    /// The extension's own name, for reports.
    pub extension: String,
    /// The session that alone sees it.
    pub session: Option<String>,
    /// The registry's generation at registration.
    pub generation: u64,
    /// The load of an extension that made it.
    pub load: Option<u64>,
    /// A tool's compiled schema.
    pub schema: Option<Schema>,
    /// A hook's matcher.
    pub matcher: Matcher,
    /// What the host gave along that is no spec field, e.g. the state of a fake provider.
    pub attachment: Option<Rc<dyn Any>>,
    /// Where it was registered: file and line, when known.
    pub place: Option<(String, u32)>,
    /// Seconds since 1970 at registration.
    pub time: f64,
    released: Rc<Released>,
}

/// Ids of records that nothing refers to any more: the host may forget their closures.
#[derive(Debug, Default)]
pub struct Released(RefCell<Vec<String>>);

impl Released {
    /// Takes what was released since the last call.
    pub fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.borrow_mut())
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        self.released.0.borrow_mut().push(std::mem::take(&mut self.id));
    }
}

impl Record {
    /// A string field of the spec.
    pub fn text(&self, field: &str) -> Option<&str> {
        self.spec.field(field)?.as_str()
    }

    /// True when the field holds a function.
    pub fn has_function(&self, field: &str) -> bool {
        self.spec.field(field).is_some_and(HostValue::is_function)
    }

    /// A number field of the spec.
    pub fn number(&self, field: &str) -> Option<f64> {
        self.spec.field(field)?.as_number()
    }

    fn order(&self, kind: &Kind) -> i64 {
        let Some(field) = &kind.order_field else { return 0 };
        self.number(field).map_or(DEFAULT_ORDER, |x| x as i64)
    }
}

/// What a new record is made of.
pub struct NewRecord {
    /// The kind.
    pub kind: String,
    /// Its key.
    pub key: String,
    /// The validated spec.
    pub spec: HostValue,
    /// A tool's compiled schema.
    pub schema: Option<Schema>,
    /// Where it comes from.
    pub origin: Origin,
    /// See [`Record::attachment`].
    pub attachment: Option<Rc<dyn Any>>,
}

fn matcher_of(new: &NewRecord) -> Result<Matcher, Error> {
    let Some(matcher) = new.spec.field("matcher") else { return Ok(Matcher::Always) };
    if matcher.is_function() {
        return Ok(Matcher::Function);
    }
    let name = new.spec.field("name").and_then(HostValue::as_str).unwrap_or_default();
    matcher.as_str().map_or(Ok(Matcher::Always), Matcher::glob).map_err(|p| Error::spec(&new.kind, name, "matcher", p))
}

/// Where a record comes from.
#[derive(Debug, Clone, PartialEq)]
pub struct Origin {
    /// Precedence.
    pub rank: u8,
    /// The source string.
    pub source: String,
    /// The extension's own name.
    pub extension: String,
    /// The session that alone sees the record.
    pub session: Option<String>,
    /// The load of an extension.
    pub load: Option<u64>,
    /// File and line.
    pub place: Option<(String, u32)>,
}

impl Origin {
    /// The person at the console.
    pub fn user() -> Self {
        Origin { rank: 3, source: "user".into(), extension: "user".into(), session: None, load: None, place: None }
    }

    /// A built-in of this name.
    pub fn builtin(name: &str) -> Self {
        let source = format!("builtin:{name}");
        Origin { rank: 6, source: source.clone(), extension: source, session: None, load: None, place: None }
    }

    /// An argument of a call: this session only.
    pub fn session(id: &str, extension: &str) -> Self {
        Origin {
            rank: 0,
            source: "session".into(),
            extension: extension.into(),
            session: Some(id.into()),
            load: None,
            place: None,
        }
    }
}

/// Something worth knowing that stopped nothing.
#[derive(Debug, Clone, PartialEq)]
pub struct Diagnostic {
    /// Seconds since 1970.
    pub time: f64,
    /// Who it is about.
    pub source: String,
    /// In which event or step.
    pub event: String,
    /// What kind of trouble.
    pub class: String,
    /// What happened.
    pub message: String,
}

type SortKey = (i64, u8, u64);

#[derive(Clone, Default)]
struct Table {
    by_key: OrdMap<String, Vector<Rc<Record>>>,
    ordered: OrdMap<SortKey, Rc<Record>>,
    by_seq: OrdMap<u64, Rc<Record>>,
}

impl Table {
    fn insert(&mut self, record: Rc<Record>, kind: &Kind) {
        let mut same = self.by_key.get(&record.key).cloned().unwrap_or_default();
        let at = same.iter().position(|r| (r.rank, r.seq) > (record.rank, record.seq)).unwrap_or(same.len());
        same.insert(at, record.clone());
        self.by_key.insert(record.key.clone(), same);
        self.ordered.insert((record.order(kind), record.rank, record.seq), record.clone());
        self.by_seq.insert(record.seq, record);
    }

    fn remove(&mut self, seq: u64, kind: &Kind) -> Option<Rc<Record>> {
        let record = self.by_seq.remove(&seq)?;
        self.ordered.remove(&(record.order(kind), record.rank, seq));
        let mut same = self.by_key.remove(&record.key).unwrap_or_default();
        same.retain(|r| r.seq != seq);
        if !same.is_empty() {
            self.by_key.insert(record.key.clone(), same);
        }
        Some(record)
    }
}

type Tables = OrdMap<String, Table>;

/// What was registered at one moment, as one session sees it.
#[derive(Clone, Default)]
pub struct Snapshot {
    process: Tables,
    session: Option<Tables>,
    kinds: OrdMap<String, Rc<Kind>>,
}

impl Snapshot {
    /// The record that wins for this kind and key.
    pub fn winner(&self, kind: &str, key: &str) -> Option<Rc<Record>> {
        let best = |tables: &Tables| tables.get(kind)?.by_key.get(key)?.front().cloned();
        let own = self.session.as_ref().and_then(best);
        let process = best(&self.process);
        match (own, process) {
            (Some(a), Some(b)) => Some(if (a.rank, a.seq) < (b.rank, b.seq) { a } else { b }),
            (a, b) => a.or(b),
        }
    }

    /// All records of an additive kind with this key (hooks of an event), in order.
    pub fn all_of(&self, kind: &str, key: &str) -> Vec<Rc<Record>> {
        let mut out: Vec<Rc<Record>> = Vec::new();
        for tables in self.session.iter().chain([&self.process]) {
            if let Some(same) = tables.get(kind).and_then(|t| t.by_key.get(key)) {
                out.extend(same.iter().cloned());
            }
        }
        out.sort_by_key(|r| (r.rank, r.seq));
        out
    }

    /// The records of a kind: one winner a key, by key, for a `first` kind; all by order, rank and registration else.
    pub fn list(&self, kind: &str) -> Vec<Rc<Record>> {
        let Some(k) = self.kinds.get(kind) else { return Vec::new() };
        match k.resolve {
            Resolve::First => self.keys(kind).into_iter().filter_map(|key| self.winner(kind, &key)).collect(),
            Resolve::All => {
                let mut out: Vec<(SortKey, Rc<Record>)> = Vec::new();
                for tables in self.session.iter().chain([&self.process]) {
                    if let Some(table) = tables.get(kind) {
                        out.extend(table.ordered.iter().map(|(k, r)| (*k, r.clone())));
                    }
                }
                out.sort_by_key(|(k, _)| *k);
                out.into_iter().map(|(_, r)| r).collect()
            }
        }
    }

    /// The keys of a kind in byte order, without repeats.
    pub fn keys(&self, kind: &str) -> Vec<String> {
        let mut keys: Vec<String> = Vec::new();
        for tables in self.session.iter().chain([&self.process]) {
            if let Some(table) = tables.get(kind) {
                keys.extend(table.by_key.keys().cloned());
            }
        }
        keys.sort();
        keys.dedup();
        keys
    }

    /// The kind of this name.
    pub fn kind(&self, name: &str) -> Option<&Rc<Kind>> {
        self.kinds.get(name)
    }
}

struct Inner {
    process: Tables,
    sessions: HashMap<String, Tables>,
    kinds: OrdMap<String, Rc<Kind>>,
    places: HashMap<String, (String, Option<String>, u64)>,
    next: u64,
    generation: u64,
    version: u64,
    diagnostics: VecDeque<Diagnostic>,
}

/// The registry. All methods take `&self`; none calls out, so no borrow outlives a method.
pub struct Registry {
    inner: RefCell<Inner>,
    released: Rc<Released>,
    now: fn() -> f64,
}

impl Registry {
    /// An empty registry with the built-in kinds. `now` gives seconds since 1970.
    pub fn new(now: fn() -> f64) -> Self {
        let kinds = builtin_kinds().into_iter().map(|k| (k.name.clone(), Rc::new(k))).collect();
        let inner = Inner {
            process: Tables::new(),
            sessions: HashMap::new(),
            kinds,
            places: HashMap::new(),
            next: 0,
            generation: 1,
            version: 0,
            diagnostics: VecDeque::new(),
        };
        Registry { inner: RefCell::new(inner), released: Rc::default(), now }
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
        }
    }

    /// Stores a record; a tie with an earlier one of the same kind, key, rank and session is reported.
    ///
    /// # Errors
    /// [`Error::UnknownKind`].
    pub fn add(&self, new: NewRecord) -> Result<Rc<Record>, Error> {
        let kind = self.kind(&new.kind)?;
        let matcher = matcher_of(&new)?;
        let mut inner = self.inner.borrow_mut();
        inner.next += 1;
        inner.version += 1;
        let seq = inner.next;
        let NewRecord { kind: kind_name, key, spec, schema, origin, attachment } = new;
        let record = Rc::new(Record {
            id: format!("r{seq}"),
            seq,
            kind: kind_name,
            key,
            spec,
            rank: origin.rank,
            source: origin.source,
            extension: origin.extension,
            session: origin.session,
            generation: inner.generation,
            load: origin.load,
            schema,
            matcher,
            attachment,
            place: origin.place,
            time: (self.now)(),
            released: self.released.clone(),
        });
        inner.places.insert(record.id.clone(), (record.kind.clone(), record.session.clone(), seq));
        let tables = match &record.session {
            Some(s) => inner.sessions.entry(s.clone()).or_default(),
            None => &mut inner.process,
        };
        let mut table = tables.get(&record.kind).cloned().unwrap_or_default();
        let earlier = table.by_key.get(&record.key).and_then(|same| same.iter().find(|r| r.rank == record.rank)).cloned();
        table.insert(record.clone(), &kind);
        tables.insert(record.kind.clone(), table);
        drop(inner);
        if let (Resolve::First, Some(first)) = (kind.resolve, earlier) {
            let message = format!(
                "{} '{}' from {} is already registered by {}: the first stays in use.",
                record.kind, record.key, record.extension, first.extension
            );
            self.diagnose(&record.source, "register", "collision", &message);
        }
        Ok(record)
    }

    /// Removes a record by id; false when it is gone already.
    pub fn remove(&self, id: &str) -> bool {
        let removed = {
            let mut inner = self.inner.borrow_mut();
            let Some((kind_name, session, seq)) = inner.places.remove(id) else { return false };
            let Some(kind) = inner.kinds.get(&kind_name).cloned() else { return false };
            inner.version += 1;
            let tables = match &session {
                Some(s) => inner.sessions.get_mut(s),
                None => Some(&mut inner.process),
            };
            tables.and_then(|tables| {
                let mut table = tables.get(&kind_name)?.clone();
                let record = table.remove(seq, &kind);
                tables.insert(kind_name, table);
                record
            })
        };
        removed.is_some()
    }

    /// Removes all that belongs to a session.
    pub fn remove_session(&self, session: &str) {
        let gone = {
            let mut inner = self.inner.borrow_mut();
            inner.places.retain(|_, (_, s, _)| s.as_deref() != Some(session));
            inner.sessions.remove(session)
        };
        drop(gone);
    }

    /// Removes all records for which `test` holds; returns how many there were.
    pub fn remove_where(&self, test: impl Fn(&Record) -> bool) -> usize {
        let ids: Vec<String> = self.records().iter().filter(|r| test(r)).map(|r| r.id.clone()).collect();
        ids.iter().filter(|id| self.remove(id)).count()
    }

    /// All records of all sessions, in registration order.
    pub fn records(&self) -> Vec<Rc<Record>> {
        let inner = self.inner.borrow();
        let mut out: Vec<Rc<Record>> = Vec::new();
        for tables in inner.sessions.values().chain([&inner.process]) {
            for table in tables.values() {
                out.extend(table.by_seq.values().cloned());
            }
        }
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
        let inner = self.inner.borrow();
        let (kind, session, seq) = inner.places.get(id)?;
        let tables = match session {
            Some(s) => inner.sessions.get(s)?,
            None => &inner.process,
        };
        tables.get(kind)?.by_seq.get(seq).cloned()
    }

    /// Changes whenever a listing may have changed.
    pub fn version(&self) -> u64 {
        self.inner.borrow().version
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

    /// Writes a diagnostic.
    pub fn diagnose(&self, source: &str, event: &str, class: &str, message: &str) {
        let row = Diagnostic {
            time: (self.now)(),
            source: source.into(),
            event: event.into(),
            class: class.into(),
            message: message.into(),
        };
        let mut inner = self.inner.borrow_mut();
        if inner.diagnostics.len() == DIAGNOSTICS {
            inner.diagnostics.pop_front();
        }
        inner.diagnostics.push_back(row);
    }

    /// The diagnostics, oldest first.
    pub fn diagnostics(&self) -> Vec<Diagnostic> {
        self.inner.borrow().diagnostics.iter().cloned().collect()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn add(reg: &Registry, kind: &str, key: &str, origin: Origin) -> Rc<Record> {
        let spec = HostValue::named([("kind", kind.into()), ("name", key.into())]);
        reg.add(NewRecord { kind: kind.into(), key: key.into(), spec, schema: None, origin, attachment: None }).unwrap()
    }

    fn plugin(name: &str) -> Origin {
        let source = format!("plugin:{name}");
        Origin { rank: 5, source: source.clone(), extension: source, session: None, load: None, place: None }
    }

    fn winner(reg: &Registry, session: Option<&str>, key: &str) -> Option<String> {
        reg.snapshot(session).winner("command", key).map(|r| r.source.clone())
    }

    #[test]
    fn case_36_the_lowest_rank_wins_and_sessions_are_apart() {
        let reg = Registry::new(|| 0.0);
        let project = Origin { rank: 1, source: "project".into(), ..Origin::user() };
        for (origin, expected) in [
            (Origin::builtin("x"), "builtin:x"),
            (plugin("p"), "plugin:p"),
            (Origin::user(), "user"),
            (project, "project"),
        ] {
            add(&reg, "command", "c", origin);
            assert_eq!(winner(&reg, None, "c").as_deref(), Some(expected));
        }
        add(&reg, "command", "c", Origin::session("s1", "session:1"));
        assert_eq!(winner(&reg, Some("s1"), "c").as_deref(), Some("session"));
        assert_eq!(winner(&reg, Some("s2"), "c").as_deref(), Some("project"));
        assert_eq!(winner(&reg, None, "nope"), None);
    }

    #[test]
    fn case_37_a_tie_keeps_the_first_and_is_reported() {
        let reg = Registry::new(|| 0.0);
        let a = add(&reg, "command", "c", plugin("a"));
        add(&reg, "command", "c", plugin("b"));
        assert_eq!(winner(&reg, None, "c").as_deref(), Some("plugin:a"));
        let log = reg.diagnostics();
        assert_eq!((log[0].class.as_str(), log[0].source.as_str(), log.len()), ("collision", "plugin:b", 1));
        assert!(reg.remove(&a.id));
        assert_eq!(winner(&reg, None, "c").as_deref(), Some("plugin:b"));
    }

    #[test]
    fn case_40_removing_twice_is_true_then_false() {
        let reg = Registry::new(|| 0.0);
        let r = add(&reg, "command", "c", Origin::user());
        assert!(reg.remove(&r.id));
        assert!(!reg.remove(&r.id));
    }

    #[test]
    fn case_49_the_last_thousand_diagnostics_are_kept() {
        let reg = Registry::new(|| 0.0);
        (0..1005).for_each(|i| reg.diagnose("s", "e", "c", &i.to_string()));
        let log = reg.diagnostics();
        assert_eq!((log.len(), log[0].message.as_str()), (1000, "5"));
    }

    #[test]
    fn a_snapshot_keeps_what_was_there_and_its_records_alive() {
        let reg = Registry::new(|| 0.0);
        let id = add(&reg, "hook", "input", Origin::user()).id.clone();
        let before = reg.snapshot(None);
        assert!(reg.remove(&id));
        assert_eq!(before.all_of("hook", "input").len(), 1);
        assert!(reg.released().is_empty());
        drop(before);
        assert_eq!(reg.released(), [id]);
    }

    #[test]
    fn additive_kinds_are_listed_by_order_rank_and_registration() {
        let reg = Registry::new(|| 0.0);
        let policy = |name: &str, order: Option<i32>, origin: Origin| {
            let mut spec = HostValue::named([("kind", "policy".into()), ("name", name.into())]);
            if let Some(o) = order {
                spec.set("order", o.into());
            }
            reg.add(NewRecord { kind: "policy".into(), key: name.into(), spec, schema: None, origin, attachment: None }).unwrap();
        };
        policy("late", Some(900), Origin::builtin("x"));
        policy("early", Some(100), Origin::user());
        policy("middle", None, plugin("p"));
        let names: Vec<String> = reg.snapshot(None).list("policy").iter().map(|r| r.key.clone()).collect();
        assert_eq!(names, ["early", "middle", "late"]);
    }

    #[test]
    fn a_session_leaves_with_all_its_records() {
        let reg = Registry::new(|| 0.0);
        let id = add(&reg, "command", "c", Origin::session("s1", "session:1")).id.clone();
        reg.remove_session("s1");
        assert_eq!(winner(&reg, Some("s1"), "c"), None);
        assert!(!reg.remove(&id));
        assert_eq!(reg.released(), [id]);
    }
}
