//! What one session sees of the registry at one moment.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use imbl::OrdMap;

use super::filter::Effective;
use super::kind::{Kind, Resolve};
use super::record::Record;
use super::table::{Same, SortKey, Table, Tables};

/// What was registered at one moment, as one session sees it. Records that a filter turns off are not seen.
#[derive(Clone, Default)]
pub struct Snapshot {
    pub(super) process: Tables,
    pub(super) session: Option<Tables>,
    pub(super) kinds: OrdMap<String, Rc<Kind>>,
    /// None while there are no filters.
    pub(super) filter: Option<Rc<Effective>>,
}

/// The outcome of a look-up.
#[derive(Clone)]
pub enum Found {
    /// Nothing of that name.
    Absent,
    /// The record that wins.
    Record(Rc<Record>),
    /// A placeholder wins: this load has to be activated, then one looks again.
    Lazy(u64),
}

impl Found {
    /// What a record, or none, means for a look-up.
    pub fn of(record: Option<Rc<Record>>) -> Self {
        match record {
            None => Found::Absent,
            Some(r) if r.lazy => r.load.map_or(Found::Absent, Found::Lazy),
            Some(r) => Found::Record(r),
        }
    }

    /// The load to activate.
    pub fn pending(&self) -> Vec<u64> {
        if let Found::Lazy(load) = self { vec![*load] } else { Vec::new() }
    }
}

impl Snapshot {
    /// True when a filter turns the record off.
    pub fn is_disabled(&self, record: &Record) -> bool {
        self.filter.as_ref().is_some_and(|f| f.disables(record))
    }

    /// The filters.
    pub fn filter(&self) -> Option<&Effective> {
        self.filter.as_deref()
    }

    /// The record that wins for this kind and key; it may be a placeholder.
    pub fn winner(&self, kind: &str, key: &str) -> Option<Rc<Record>> {
        self.strongest(kind, |table| table.by_key.get(key))
    }

    /// The tool with a namespace that has this name on the wire.
    pub fn tool_on_wire(&self, wire: &str) -> Option<Rc<Record>> {
        self.strongest("tool", |table| table.by_alias.get(wire))
    }

    /// The record that wins, or the load that has to be activated first.
    pub fn find(&self, kind: &str, key: &str) -> Found {
        Found::of(self.winner(kind, key))
    }

    fn strongest<'t>(&'t self, kind: &str, same: impl Fn(&'t Table) -> Option<&'t Same>) -> Option<Rc<Record>> {
        let best = |tables: &'t Tables| same(tables.get(kind)?)?.iter().find(|r| !self.is_disabled(r));
        let own = self.session.as_ref().and_then(best);
        let process = best(&self.process);
        match (own, process) {
            (Some(a), Some(b)) => Some(if a.precedence() < b.precedence() { a } else { b }),
            (a, b) => a.or(b),
        }
        .cloned()
    }

    /// The tools with this name on the wire, turned off or not.
    pub(super) fn all_on_wire<'a>(&'a self, wire: &'a str) -> impl Iterator<Item = &'a Rc<Record>> {
        self.tables("tool").filter_map(move |t| t.by_alias.get(wire)).flat_map(Same::iter)
    }

    /// All records of a kind and key, turned off or not.
    pub(crate) fn all_of_key<'a>(&'a self, kind: &'a str, key: &'a str) -> impl Iterator<Item = &'a Rc<Record>> {
        self.tables(kind).filter_map(move |t| t.by_key.get(key)).flat_map(Same::iter)
    }

    fn tables<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = &'a Table> {
        self.session.iter().chain([&self.process]).filter_map(move |tables| tables.get(kind))
    }

    /// The hooks of an event in the order of a dispatch, without placeholders.
    pub fn hooks(&self, event: &str) -> Vec<Rc<Record>> {
        let mut out = self.of_event(event);
        out.retain(|r| !r.lazy);
        out
    }

    /// The loads to activate before an event is dispatched.
    pub fn pending_hooks(&self, event: &str) -> Vec<u64> {
        loads(self.of_event(event).iter())
    }

    fn of_event(&self, event: &str) -> Vec<Rc<Record>> {
        let all = self.tables("hook").filter_map(|t| t.by_alias.get(event)).flat_map(Same::iter);
        let mut out: Vec<Rc<Record>> = all.filter(|r| !self.is_disabled(r)).cloned().collect();
        out.sort_by_key(|r| r.precedence());
        out
    }

    /// The records of a kind: one winner a key, by key, for a `first` kind; all by order, rank and registration else.
    /// Placeholders are listed for tools only.
    pub fn list(&self, kind: &str) -> Vec<Rc<Record>> {
        let mut out = self.seen(kind);
        if kind != "tool" {
            out.retain(|r| !r.lazy);
        }
        out
    }

    /// The loads to activate before a kind is listed; none for tools.
    pub fn pending(&self, kind: &str) -> Vec<u64> {
        if kind == "tool" { Vec::new() } else { loads(self.seen(kind).iter()) }
    }

    fn seen(&self, kind: &str) -> Vec<Rc<Record>> {
        match self.kinds.get(kind).map(|k| k.resolve) {
            None => Vec::new(),
            Some(Resolve::First) => self.winners(kind),
            Some(Resolve::All) => self.in_order(kind),
        }
    }

    fn winners(&self, kind: &str) -> Vec<Rc<Record>> {
        let enabled = |same: &Same| same.iter().find(|r| !self.is_disabled(r)).cloned();
        let process = self.process.get(kind).into_iter().flat_map(|t| t.by_key.values().filter_map(enabled));
        let Some(own) = self.session.as_ref().and_then(|tables| tables.get(kind)) else { return process.collect() };
        let mut by_key: BTreeMap<String, Rc<Record>> = process.map(|r| (r.key.clone(), r)).collect();
        for record in own.by_key.values().filter_map(enabled) {
            let weaker = by_key.get(&record.key).is_none_or(|other| record.precedence() < other.precedence());
            if weaker {
                by_key.insert(record.key.clone(), record);
            }
        }
        by_key.into_values().collect()
    }

    fn in_order(&self, kind: &str) -> Vec<Rc<Record>> {
        let mut out: Vec<(SortKey, Rc<Record>)> =
            self.tables(kind).flat_map(|t| t.ordered.iter().map(|(k, r)| (*k, r.clone()))).collect();
        out.retain(|(_, r)| !self.is_disabled(r));
        out.sort_by_key(|(k, _)| *k);
        out.into_iter().map(|(_, r)| r).collect()
    }

    /// The keys of a kind in the order of registration, without repeats; also those of placeholders.
    pub fn names(&self, kind: &str) -> Vec<String> {
        let mut records: Vec<&Rc<Record>> = self.tables(kind).flat_map(|t| t.by_seq.values()).collect();
        records.retain(|r| !self.is_disabled(r));
        records.sort_by_key(|r| r.seq);
        let mut seen = BTreeSet::new();
        records.into_iter().filter(|r| seen.insert(r.key.as_str())).map(|r| r.key.clone()).collect()
    }

    /// All records of a kind in the order of registration, turned off or not.
    pub fn every(&self, kind: &str) -> Vec<Rc<Record>> {
        let mut out: Vec<Rc<Record>> = self.tables(kind).flat_map(|t| t.by_seq.values().cloned()).collect();
        out.sort_by_key(|r| r.seq);
        out
    }

    /// The kind of this name.
    pub fn kind(&self, name: &str) -> Option<&Rc<Kind>> {
        self.kinds.get(name)
    }

    /// The kinds, by name in byte order.
    pub fn kinds(&self) -> impl Iterator<Item = &Rc<Kind>> {
        self.kinds.values()
    }
}

/// The loads of placeholders, each once, in the order met.
fn loads<'a>(records: impl Iterator<Item = &'a Rc<Record>>) -> Vec<u64> {
    let mut out = Vec::new();
    for load in records.filter(|r| r.lazy).filter_map(|r| r.load) {
        if !out.contains(&load) {
            out.push(load);
        }
    }
    out
}
