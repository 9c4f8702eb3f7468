//! The records of one kind, as persistent maps: copying a table costs O(1), everything else O(log n).

use std::rc::Rc;

use imbl::OrdMap;

use super::admission::wire_name;
use super::kind::{Kind, Resolve};
use super::record::Record;

/// The place of a record in a listing: order, then precedence.
pub(super) type SortKey = (i64, u8, u64);

/// The tables of all kinds.
pub(super) type Tables = OrdMap<String, Table>;

/// The records that share a key, by precedence. Most keys have one, and a map for it would cost a page of memory.
#[derive(Clone)]
pub(super) enum Same {
    One(Rc<Record>),
    Many(OrdMap<(u8, u64), Rc<Record>>),
}

impl Same {
    /// The records, the strongest first.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Rc<Record>> {
        let (one, many) = match self {
            Same::One(record) => (Some(record), None),
            Same::Many(map) => (None, Some(map.values())),
        };
        one.into_iter().chain(many.into_iter().flatten())
    }

    /// The first of this rank that is no placeholder.
    fn first_of_rank(&self, rank: u8) -> Option<&Rc<Record>> {
        match self {
            Same::One(record) => Some(record).filter(|r| r.rank == rank && !r.lazy),
            Same::Many(map) => map.range((rank, 0)..=(rank, u64::MAX)).map(|(_, r)| r).find(|r| !r.lazy),
        }
    }

    fn with(self, record: Rc<Record>) -> Self {
        let mut map = match self {
            Same::One(first) => OrdMap::unit(first.precedence(), first),
            Same::Many(map) => map,
        };
        map.insert(record.precedence(), record);
        Same::Many(map)
    }

    fn without(self, record: &Record) -> Option<Self> {
        let mut map = match self {
            Same::One(_) => return None,
            Same::Many(map) => map,
        };
        map.remove(&record.precedence());
        (!map.is_empty()).then_some(Same::Many(map))
    }
}

type ByText = OrdMap<String, Same>;

/// The records of a kind.
#[derive(Clone, Default)]
pub(super) struct Table {
    /// By key.
    pub(super) by_key: ByText,
    /// By what else they are looked up by: hooks by event, tools with a namespace by their name on the wire.
    pub(super) by_alias: ByText,
    /// In the order of a listing, for kinds of which all records count.
    pub(super) ordered: OrdMap<SortKey, Rc<Record>>,
    /// In the order of registration.
    pub(super) by_seq: OrdMap<u64, Rc<Record>>,
}

impl Table {
    /// Adds a record.
    pub(super) fn insert(&mut self, record: Rc<Record>, kind: &Kind) {
        add(&mut self.by_key, &record.key, &record);
        if let Some(alias) = alias(&record) {
            add(&mut self.by_alias, &alias, &record);
        }
        if kind.resolve == Resolve::All {
            self.ordered.insert(sort_key(&record, kind), record.clone());
        }
        self.by_seq.insert(record.seq, record);
    }

    /// Removes a record.
    pub(super) fn remove(&mut self, record: &Record, kind: &Kind) {
        self.by_seq.remove(&record.seq);
        if kind.resolve == Resolve::All {
            self.ordered.remove(&sort_key(record, kind));
        }
        if let Some(alias) = alias(record) {
            take(&mut self.by_alias, &alias, record);
        }
        take(&mut self.by_key, &record.key, record);
    }

    /// The earlier active record that a new one of this key and rank ties with.
    pub(super) fn tie(&self, key: &str, rank: u8) -> Option<Rc<Record>> {
        self.by_key.get(key)?.first_of_rank(rank).cloned()
    }
}

/// The place of a record among all of its kind.
pub(super) fn sort_key(record: &Record, kind: &Kind) -> SortKey {
    (record.order(kind), record.rank, record.seq)
}

fn add(map: &mut ByText, text: &str, record: &Rc<Record>) {
    let same = match map.remove(text) {
        Some(same) => same.with(record.clone()),
        None => Same::One(record.clone()),
    };
    map.insert(text.to_owned(), same);
}

fn take(map: &mut ByText, text: &str, record: &Record) {
    if let Some(left) = map.remove(text).and_then(|same| same.without(record)) {
        map.insert(text.to_owned(), left);
    }
}

fn alias(record: &Record) -> Option<String> {
    match record.kind.as_str() {
        "hook" if record.lazy => Some(record.key.clone()),
        "hook" => record.text("event").or(record.text("name")).map(str::to_owned),
        "tool" if !record.lazy && record.text("exposure") != Some("hidden") => {
            record.text("namespace").map(|ns| wire_name(Some(ns), record.local_name()))
        }
        _ => None,
    }
}
