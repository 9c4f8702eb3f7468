//! A registry as one would write it in an afternoon: a plain list, filtered and sorted at each question.

/// A record.
#[derive(Debug, Clone)]
pub struct Rec {
    pub seq: u64,
    pub kind: String,
    pub key: String,
    pub rank: u8,
    pub source: String,
    pub session: Option<String>,
    pub order: Option<i32>,
    pub load: Option<u64>,
    pub lazy: bool,
}

/// What a record is registered with.
#[derive(Debug, Clone)]
pub struct From {
    pub source: String,
    pub rank: u8,
    pub session: Option<String>,
    pub load: Option<u64>,
}

/// A load of an extension.
#[derive(Debug, Clone)]
pub struct Load {
    pub number: u64,
    pub from: From,
    pub promised: Vec<(String, String)>,
    pub lazy: bool,
    pub loaded: bool,
    pub gone: bool,
    pub generation: u64,
}

/// A run and what was enabled when it began.
#[derive(Debug, Clone)]
struct Run {
    name: String,
    guarded: Vec<u64>,
}

/// Filters, as `(lifts, key)`.
type Filters = Vec<(bool, String)>;

/// The registry.
#[derive(Debug, Default)]
pub struct Reference {
    pub records: Vec<Rec>,
    pub loads: Vec<Load>,
    pub next: u64,
    pub generation: u64,
    lists: [Filters; 3],
    runs: Vec<Run>,
}

const ADDITIVE: [&str; 2] = ["policy", "hook"];
const IMMUNE: [&str; 3] = ["builtin:permissions", "builtin:plan", "builtin:secrets"];
const KEPT: [&str; 2] = ["policy:critical_guard", "policy:secret_guard"];

fn is_additive(kind: &str) -> bool {
    ADDITIVE.contains(&kind)
}

impl Reference {
    pub fn new() -> Self {
        Reference { generation: 1, ..Reference::default() }
    }

    pub fn knows(&self, kind: &str) -> bool {
        kind != "reviewer" || self.records.iter().any(|r| r.kind == "kind" && r.key == "reviewer" && !r.lazy)
    }

    pub fn add(&mut self, kind: &str, key: &str, order: Option<i32>, from: &From, lazy: bool) -> u64 {
        self.next += 1;
        self.records.push(Rec {
            seq: self.next,
            kind: kind.to_owned(),
            key: key.to_owned(),
            rank: from.rank,
            source: from.source.clone(),
            session: from.session.clone(),
            order,
            load: from.load,
            lazy,
        });
        self.next
    }

    /// Removes records, and with a kind all that are of it; how many there were.
    pub fn remove(&mut self, test: impl Fn(&Rec) -> bool) -> usize {
        let before = self.records.len();
        self.records.retain(|r| !test(r));
        if !self.knows("reviewer") {
            self.records.retain(|r| r.kind != "reviewer");
        }
        before - self.records.len()
    }

    pub fn place(&mut self, load: &Load) {
        for (kind, key) in &load.promised {
            if self.knows(kind) {
                self.add(kind, key, None, &load.from, true);
            }
        }
    }

    // ---- filters ---------------------------------------------------------------------------------------------------

    fn effective(lists: &[Filters; 3]) -> Vec<(String, usize)> {
        let mut on: Vec<(String, usize)> = Vec::new();
        for (scope, list) in lists.iter().enumerate() {
            for (lifts, key) in list {
                if *lifts {
                    on.retain(|(k, _)| k != key);
                } else if let Some(entry) = on.iter_mut().find(|(k, _)| k == key) {
                    if entry.1 == 1 {
                        entry.1 = scope;
                    }
                } else {
                    on.push((key.clone(), scope));
                }
            }
        }
        on
    }

    fn is_hit(effective: &[(String, usize)], r: &Rec) -> bool {
        if IMMUNE.contains(&r.source.as_str()) {
            return false;
        }
        let own = format!("{}:{}", r.kind, r.key);
        let decides = is_additive(&r.kind) && (r.source == "user" || r.source.starts_with("builtin:"));
        effective.iter().any(|(key, scope)| (*key == own || *key == r.source) && !(decides && *scope == 1))
    }

    fn is_disabled(&self, r: &Rec) -> bool {
        Self::is_hit(&Self::effective(&self.lists), r)
    }

    /// The records of a kind that a session may see; `enabled`: and that no filter turns off.
    fn visible(&self, session: Option<&str>, kind: &str, enabled: bool) -> Vec<&Rec> {
        let effective = Self::effective(&self.lists);
        let sees = |r: &&Rec| r.kind == kind && (r.session.is_none() || r.session.as_deref() == session);
        self.records.iter().filter(sees).filter(|r| !enabled || !Self::is_hit(&effective, r)).collect()
    }

    pub fn filter_keys(&self) -> Vec<String> {
        Self::effective(&self.lists).into_iter().map(|(key, _)| key).collect()
    }

    /// Sets a scope; returns what is refused, sorted.
    pub fn filter(&mut self, scope: usize, wanted: &Filters) -> Vec<String> {
        let is_kept = |key: &String| IMMUNE.contains(&key.as_str()) || KEPT.contains(&key.as_str());
        let mut refused: Vec<String> =
            wanted.iter().filter(|(lifts, key)| !lifts && is_kept(key)).map(|(_, key)| format!("-{key}")).collect();
        let mut list: Filters = wanted.iter().filter(|(lifts, key)| *lifts || !is_kept(key)).cloned().collect();
        let old = self.lists[scope].clone();
        let guarded: Vec<Rec> = self.guarded();
        // A filter is refused when it, on top of all others, turns off what a run began with.
        for key in list.iter().filter(|f| !f.0).map(|f| f.1.clone()).collect::<Vec<_>>() {
            if self.breaks(scope, &list, &guarded, &key) {
                list.retain(|(lifts, k)| *lifts || *k != key);
                refused.push(format!("-{key}"));
            }
        }
        // What lifted a filter stays when its absence does so.
        for key in old.iter().filter(|f| f.0).map(|f| f.1.clone()) {
            if self.breaks(scope, &list, &guarded, &key) && !list.contains(&(true, key.clone())) {
                list.push((true, key.clone()));
                refused.push(format!("+{key}"));
            }
        }
        self.lists[scope] = list;
        refused.sort();
        refused.dedup();
        refused
    }

    fn breaks(&self, scope: usize, list: &Filters, guarded: &[Rec], key: &str) -> bool {
        let mut lists = self.lists.clone();
        lists[scope] = list.clone();
        let alone: Vec<(String, usize)> = Self::effective(&lists).into_iter().filter(|(k, _)| k == key).collect();
        guarded.iter().any(|r| Self::is_hit(&alone, r))
    }

    fn guarded(&self) -> Vec<Rec> {
        let is_guarded = |seq: u64| self.runs.iter().any(|run| run.guarded.contains(&seq));
        self.records.iter().filter(|r| is_guarded(r.seq)).cloned().collect()
    }

    pub fn begin(&mut self, name: &str, session: Option<&str>) {
        let sees = |r: &&Rec| r.session.is_none() || r.session.as_deref() == session;
        let guarded = self.records.iter().filter(sees).filter(|r| is_additive(&r.kind) && !self.is_disabled(r));
        let guarded = guarded.map(|r| r.seq).collect();
        self.runs.push(Run { name: name.to_owned(), guarded });
    }

    pub fn end(&mut self, name: &str) {
        self.runs.retain(|run| run.name != name);
    }

    // ---- questions -------------------------------------------------------------------------------------------------

    fn seen(&self, session: Option<&str>, kind: &str) -> Vec<&Rec> {
        let mut out = self.visible(session, kind, true);
        out.sort_by_key(|r| (r.rank, r.seq));
        out
    }

    pub fn winner(&self, session: Option<&str>, kind: &str, key: &str) -> Option<&Rec> {
        self.seen(session, kind).into_iter().find(|r| r.key == key)
    }

    /// Listed records, placeholders too.
    pub fn listed(&self, session: Option<&str>, kind: &str) -> Vec<&Rec> {
        if !self.knows(kind) {
            return Vec::new();
        }
        let mut all = self.seen(session, kind);
        if is_additive(kind) {
            if kind == "policy" {
                all.sort_by_key(|r| r.order.unwrap_or(500));
            }
            return all;
        }
        let mut keys: Vec<&str> = all.iter().map(|r| r.key.as_str()).collect();
        keys.sort_unstable();
        keys.dedup();
        keys.into_iter().filter_map(|key| all.iter().find(|r| r.key == key).copied()).collect()
    }

    pub fn names(&self, session: Option<&str>, kind: &str) -> Vec<&str> {
        let mut all = self.seen(session, kind);
        all.sort_by_key(|r| r.seq);
        let mut out: Vec<&str> = Vec::new();
        for r in all {
            if !out.contains(&r.key.as_str()) {
                out.push(&r.key);
            }
        }
        out
    }

    pub fn hooks(&self, session: Option<&str>, event: &str) -> Vec<&Rec> {
        self.seen(session, "hook").into_iter().filter(|r| r.key == event).collect()
    }

    pub fn state(&self, r: &Rec) -> &'static str {
        if r.lazy {
            return "lazy";
        }
        if self.is_disabled(r) {
            return "disabled";
        }
        let wins = self.winner(r.session.as_deref(), &r.kind, &r.key).is_some_and(|w| w.seq == r.seq);
        if is_additive(&r.kind) || wins { "active" } else { "overridden" }
    }

    /// `(record, wins)` for each record of a name, as `gptr_why()` lists them within a kind.
    pub fn why(&self, session: Option<&str>, kind: &str, name: &str) -> Vec<(&Rec, bool)> {
        let mut all = self.visible(session, kind, false);
        all.retain(|r| r.key == name);
        let effective = Self::effective(&self.lists);
        let place = |r: &Rec| if kind == "policy" && !r.lazy { r.order.unwrap_or(500) } else { 0 };
        all.sort_by_key(|r| {
            let is_off = Self::is_hit(&effective, r);
            let unlisted = is_additive(kind) && (r.lazy || is_off);
            (is_off, unlisted, if unlisted { 0 } else { place(r) }, r.rank, r.seq)
        });
        let winner = self.winner(session, kind, name).map(|w| w.seq);
        let wins = |r: &Rec| !Self::is_hit(&effective, r) && (is_additive(kind) || winner == Some(r.seq));
        let mut out: Vec<(&Rec, bool)> = all.into_iter().map(|r| (r, wins(r))).collect();
        out.sort_by_key(|(_, wins)| !wins);
        out
    }
}
