//! How the tables of the registry change together.

use super::*;

impl Inner {
    /// Puts a record where it is looked for; returns the earlier one that it ties with.
    pub(super) fn insert(&mut self, record: &Rc<Record>, kind: &Kind) -> Option<Rc<Record>> {
        self.next = record.seq;
        let tables = match &record.session {
            Some(s) => self.sessions.entry(s.clone()).or_default(),
            None => &mut self.process,
        };
        if !tables.contains_key(&record.kind) {
            tables.insert(record.kind.clone(), Default::default());
        }
        let table = tables.get_mut(&record.kind)?;
        let tie = table.tie(&record.key, record.rank);
        table.insert(record.clone(), kind);
        self.by_source.insert((record.source.clone(), record.seq));
        if let Some(load) = record.load {
            self.by_load.insert((load, record.seq));
        }
        self.by_seq.insert(record.seq, record.clone());
        self.count_change(record.session.is_some());
        if record.kind == "kind" && !record.lazy {
            self.define(record);
        }
        tie
    }

    pub(super) fn count_change(&mut self, of_session: bool) {
        *(if of_session { &mut self.of_sessions } else { &mut self.version }) += 1;
    }

    pub(super) fn define(&mut self, record: &Record) {
        let validator = Validator { record: Some(record.id.clone()), home: record.session.clone(), token: None };
        let kind = Kind::defined_by(&record.spec, &record.source, validator);
        self.kinds.insert(kind.name.clone(), Rc::new(kind));
        self.version += 1;
    }

    /// Removes a record, and with a kind all records of that kind. Returns what was removed, so that it is dropped after
    /// the borrow.
    pub(super) fn remove(&mut self, seq: u64) -> Vec<Rc<Record>> {
        let Some(record) = self.by_seq.remove(&seq) else { return Vec::new() };
        self.take_out(&record);
        self.count_change(record.session.is_some());
        let mut gone = vec![record.clone()];
        if self.owns_kind(&record) {
            gone.extend(self.undefine(&record.key));
        }
        gone
    }

    pub(super) fn remove_all(&mut self, seqs: Vec<u64>) -> Vec<Rc<Record>> {
        seqs.into_iter().flat_map(|seq| self.remove(seq)).collect()
    }

    pub(super) fn take_out(&mut self, record: &Record) {
        self.by_source.remove(&(record.source.clone(), record.seq));
        if let Some(load) = record.load {
            self.by_load.remove(&(load, record.seq));
        }
        let Some(kind) = self.kinds.get(&record.kind).cloned() else { return };
        let tables = match &record.session {
            Some(s) => self.sessions.get_mut(s),
            None => Some(&mut self.process),
        };
        if let Some(table) = tables.and_then(|tables| tables.get_mut(&record.kind)) {
            table.remove(record, &kind);
        }
    }

    pub(super) fn owns_kind(&self, record: &Record) -> bool {
        let validator = self.kinds.get(&record.key).and_then(|k| k.validator.as_ref());
        record.kind == "kind" && validator.and_then(|v| v.record.as_ref()) == Some(&record.id)
    }

    pub(super) fn undefine(&mut self, kind: &str) -> Vec<Rc<Record>> {
        let tables = self.sessions.values().chain([&self.process]);
        let seqs: Vec<u64> = tables.filter_map(|t| t.get(kind)).flat_map(|t| t.by_seq.keys().copied()).collect();
        let gone = self.remove_all(seqs);
        self.kinds.remove(kind);
        self.process.remove(kind);
        for tables in self.sessions.values_mut() {
            tables.remove(kind);
        }
        self.version += 1;
        gone
    }

    pub(super) fn seqs_of_source(&self, source: &str) -> Vec<u64> {
        let range = (source.to_owned(), 0)..=(source.to_owned(), u64::MAX);
        self.by_source.range(range).map(|(_, seq)| *seq).collect()
    }

    pub(super) fn refilter(&mut self) {
        let effective = self.filters.effective();
        let before = self.filter.take();
        self.filter = (!effective.is_empty()).then(|| Rc::new(effective));
        if self.filter != before {
            self.version += 1;
        }
    }

    pub(super) fn disables_source(&self, source: &str) -> bool {
        self.filter.as_ref().is_some_and(|f| f.disables_source(source))
    }

    pub(super) fn is_prefix(&self, prefix: &str) -> bool {
        matches!(prefix, "builtin" | "plugin") || self.kinds.contains_key(prefix)
    }

    pub(super) fn deciding<'a>(&'a self, session: Option<&'a str>) -> impl Iterator<Item = &'a Rc<Record>> {
        let own = session.and_then(|s| self.sessions.get(s));
        let tables = own.into_iter().chain([&self.process]);
        tables.flat_map(|t| DECIDING.iter().filter_map(|kind| t.get(*kind))).flat_map(|t| t.by_seq.values())
    }

    /// The policies and hooks that were enabled when a run under way began.
    pub(super) fn guarded(&self) -> Vec<Rc<Record>> {
        let mut out: Vec<Rc<Record>> = Vec::new();
        for guard in &self.guards {
            let was_enabled =
                |r: &&Rc<Record>| r.seq <= guard.last && !guard.filter.as_ref().is_some_and(|f| f.disables(r));
            out.extend(self.deciding(guard.session.as_deref()).filter(was_enabled).cloned());
        }
        out
    }

    /// The keys of a project's filters that would turn off what they can't.
    pub(super) fn limited(&self) -> Vec<String> {
        let Some(filter) = &self.filter else { return Vec::new() };
        let mut out: Vec<String> = Vec::new();
        for record in self.deciding(None) {
            for key in filter.limited(record).map(|aim| aim.key(record)) {
                if !out.contains(&key) {
                    out.push(key);
                }
            }
        }
        out
    }

    /// A built-in is there when one of its records counts, or when nothing is registered at all.
    pub(super) fn is_builtin_active(&self, name: &str) -> bool {
        if self.by_source.is_empty() {
            return true;
        }
        let source = format!("builtin:{name}");
        let range = (source.clone(), 0)..=(source.clone(), u64::MAX);
        if self.filter.is_none() {
            return self.by_source.range(range).next().is_some();
        }
        let filter = self.filter.as_deref();
        let counts = |r: &Rc<Record>| r.source == source && !filter.is_some_and(|f| f.disables(r));
        self.process.values().flat_map(|t| t.by_seq.values()).any(counts)
    }
}
