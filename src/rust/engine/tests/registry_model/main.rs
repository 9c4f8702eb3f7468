//! The registry against a naive one: both are driven by the same random steps, and their answers must be equal after
//! each.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used)]

mod reference;

use std::rc::Rc;

use gptr_engine::engine::Engine;
use gptr_engine::error::Error;
use gptr_engine::extension::{self, Declared};
use gptr_engine::listing;
use gptr_engine::provider::http;
use gptr_engine::registry::filter::{Filter, Scope};
use gptr_engine::registry::placeholder::Promise;
use gptr_engine::registry::store::{Found, Origin, Record, Snapshot};
use gptr_engine::value::{HostData, HostValue};
use proptest::collection::vec;
use proptest::prelude::*;
use reference::{From, Load, Rec, Reference};

const KINDS: [&str; 6] = ["command", "hook", "policy", "reviewer", "service", "tool"];
/// Names of events, so that hooks may have them too.
const KEYS: [&str; 3] = ["input", "turn_end", "agent_end"];
const SESSIONS: [Option<&str>; 3] = [None, Some("s1"), Some("s2")];
const SOURCES: [(&str, u8); 7] = [
    ("user", 3),
    ("project", 1),
    ("plugin:a", 5),
    ("plugin:b", 5),
    ("builtin:core", 6),
    ("builtin:permissions", 6),
    ("session", 0),
];
const FILTERS: [&str; 16] = [
    "-command:input",
    "+command:input",
    "-policy:input",
    "+policy:input",
    "-hook:turn_end",
    "+hook:turn_end",
    "-plugin:a",
    "+plugin:a",
    "-builtin:core",
    "+builtin:core",
    "-reviewer:input",
    "-tool:agent_end",
    "-plugin:b",
    "-builtin:permissions",
    "-policy:critical_guard",
    "-service:input",
];

/// A registration: which kind, key and order.
#[derive(Debug, Clone)]
struct Reg {
    kind: usize,
    key: usize,
    order: Option<i32>,
}

#[derive(Debug, Clone)]
enum Step {
    Register { reg: Reg, source: usize, session: usize },
    DefineKind { source: usize, session: usize },
    Remove { which: usize },
    RemoveSource { source: usize },
    Filter { scope: usize, filters: Vec<usize> },
    EndSession { session: usize },
    Reload,
    Load { source: usize, session: usize, regs: Vec<Reg>, defines: bool, fails: bool },
    Declare { source: usize, session: usize, promised: Vec<(usize, usize)> },
    Activate { which: usize, regs: Vec<Reg>, defines: bool, fails: bool },
    Late { which: usize, reg: Reg },
    BeginRun { run: usize, session: usize },
    EndRun { run: usize },
}

fn reg() -> impl Strategy<Value = Reg> {
    let order = prop_oneof![2 => Just(None), 1 => (0..3i32).prop_map(|o| Some(o * 250))];
    (0..KINDS.len(), 0..KEYS.len(), order).prop_map(|(kind, key, order)| Reg { kind, key, order })
}

/// A random step. Half of the sequences are mostly about what is registered, half about loads of extensions.
fn step(plain: u32, loads: u32) -> impl Strategy<Value = Step> {
    let from = || (0..SOURCES.len(), 0..SESSIONS.len());
    let filters = vec(0..FILTERS.len(), 0..4);
    let regs = || vec(reg(), 0..4);
    let promised = vec((0..KINDS.len(), 0..KEYS.len()), 0..4);
    prop_oneof![
        8 * plain => (reg(), from()).prop_map(|(reg, (source, session))| Step::Register { reg, source, session }),
        plain => from().prop_map(|(source, session)| Step::DefineKind { source, session }),
        4 * plain => any::<usize>().prop_map(|which| Step::Remove { which }),
        1 => (0..SOURCES.len()).prop_map(|source| Step::RemoveSource { source }),
        4 * plain => (0..3usize, filters).prop_map(|(scope, filters)| Step::Filter { scope, filters }),
        1 => (1..SESSIONS.len()).prop_map(|session| Step::EndSession { session }),
        loads => Just(Step::Reload),
        2 * loads => (from(), regs(), any::<bool>(), prop::bool::weighted(0.2))
            .prop_map(|((source, session), regs, defines, fails)| Step::Load { source, session, regs, defines, fails }),
        3 * loads => (from(), promised)
            .prop_map(|((source, session), promised)| Step::Declare { source, session, promised }),
        3 * loads => (any::<usize>(), regs(), any::<bool>(), prop::bool::weighted(0.3))
            .prop_map(|(which, regs, defines, fails)| Step::Activate { which, regs, defines, fails }),
        loads => (any::<usize>(), reg()).prop_map(|(which, reg)| Step::Late { which, reg }),
        2 * plain => (0..2usize, 0..SESSIONS.len()).prop_map(|(run, session)| Step::BeginRun { run, session }),
        2 * plain => (0..2usize).prop_map(|run| Step::EndRun { run }),
    ]
}

/// Both registries.
struct Pair {
    engine: Rc<Engine>,
    plain: Reference,
    open: [bool; 2],
}

fn spec(reg: &Reg) -> HostValue {
    let (kind, key) = (KINDS[reg.kind], KEYS[reg.key]);
    let function = |formals: &[&str]| HostValue::function(formals.iter().map(|f| (*f, true)));
    let mut spec = HostValue::named([("kind", kind.into()), ("name", key.into())]);
    match kind {
        "command" => spec.set("handler", function(&["args", "ctx"])),
        "service" => spec.set("fun", function(&[])),
        "policy" => {
            spec.set("check", function(&["call", "ctx"]));
            if let Some(order) = reg.order {
                spec.set("order", order.into());
            }
        }
        "hook" => {
            spec.set("event", key.into());
            spec.set("handler", function(&["event", "ctx"]));
        }
        "tool" => {
            spec.set("description", "a tool".into());
            spec.set("exposure", "deferred".into());
            spec.set("execute", function(&["input", "ctx"]));
        }
        _ => {}
    }
    spec
}

fn kind_spec() -> HostValue {
    HostValue::named([
        ("kind", "kind".into()),
        ("name", "reviewer".into()),
        ("validate", HostValue::function([("spec", true)])),
    ])
}

fn from(source: usize, session: usize) -> From {
    let (source, rank) = SOURCES[source];
    // A record of a session is one of a session; others may be too, like a plugin that a call enabled.
    let session = if source == "session" { SESSIONS[session.max(1)] } else { SESSIONS[session] };
    From { source: source.to_owned(), rank, session: session.map(str::to_owned), load: None }
}

fn origin(from: &From) -> Origin {
    Origin { session: from.session.clone(), ..Origin::process(&from.source, from.rank) }
}

impl Pair {
    fn new() -> Self {
        let engine = Engine::new(|| (), http::Settings::default());
        Pair { engine, plain: Reference::new(), open: [false; 2] }
    }

    fn take(&mut self, step: &Step) {
        match step {
            Step::Register { reg, source, session } => self.register(reg, &from(*source, *session)),
            Step::DefineKind { source, session } => {
                let from = from(*source, *session);
                let added = self.engine.register(&self.engine.registry, &kind_spec(), origin(&from), None);
                assert_eq!(added.is_err(), self.plain.knows("reviewer"));
                if added.is_ok() {
                    self.plain.add("kind", "reviewer", None, &from, false);
                }
            }
            Step::Remove { which } => {
                // Ids of records that are gone, or to come, are asked for too.
                let seq = (*which as u64) % (self.plain.next + 2);
                let there = self.plain.remove(|r| r.seq == seq) > 0;
                assert_eq!(self.engine.registry.remove(&format!("r{seq}")), there);
            }
            Step::RemoveSource { source } => self.unload(SOURCES[*source].0),
            Step::Filter { scope, filters } => self.filter(*scope, filters),
            Step::EndSession { session } => self.end_session(SESSIONS[*session].unwrap()),
            Step::Reload => self.reload(),
            Step::Load { source, session, regs, defines, fails } => {
                let from = from(*source, *session);
                let number = extension::begin(&self.engine, origin(&from), false);
                self.note(number, from, Vec::new(), false);
                self.run_factory(number, regs, *defines, *fails);
            }
            Step::Declare { source, session, promised } => self.declare(&from(*source, *session), promised),
            Step::Activate { which, regs, defines, fails } => {
                let waiting = |l: &&Load| l.lazy && !l.loaded && !l.gone;
                let loads: Vec<u64> = self.plain.loads.iter().filter(waiting).map(|l| l.number).collect();
                let Some(number) = loads.get(which % loads.len().max(1)).copied() else { return };
                assert!(extension::activate(&self.engine, number));
                assert!(!extension::activate(&self.engine, number));
                self.load(number).generation = self.plain.generation;
                self.run_factory(number, regs, *defines, *fails);
            }
            Step::Late { which, reg } => self.register_late(*which, reg),
            Step::BeginRun { run, session } if !self.open[*run] => {
                self.open[*run] = true;
                self.plain.begin(&run.to_string(), SESSIONS[*session]);
                self.engine.registry.begin_run(&run.to_string(), SESSIONS[*session]);
            }
            Step::BeginRun { .. } => {}
            Step::EndRun { run } => {
                self.open[*run] = false;
                self.plain.end(&run.to_string());
                self.engine.registry.end_run(&run.to_string());
            }
        }
    }

    fn register(&mut self, reg: &Reg, from: &From) {
        let kind = KINDS[reg.kind];
        let added = self.engine.register(&self.engine.registry, &spec(reg), origin(from), None);
        match added {
            Ok(added) => {
                let seq = self.plain.add(kind, KEYS[reg.key], reg.order, from, false);
                assert_eq!(added.record.seq, seq);
            }
            Err(error) => assert!(!self.plain.knows(kind), "{error}"),
        }
    }

    fn unload(&mut self, source: &str) {
        let count = self.plain.remove(|r| r.source == source);
        for load in self.plain.loads.iter_mut().filter(|l| l.from.source == source) {
            load.gone = true;
        }
        assert_eq!(extension::unload(&self.engine, source), count);
    }

    fn filter(&mut self, scope: usize, filters: &[usize]) {
        let texts: Vec<&str> = filters.iter().map(|f| FILTERS[*f]).collect();
        let plain = texts.iter().map(|t| (t.starts_with('+'), t[1..].to_owned())).collect();
        let refused = self.plain.filter(scope, &plain);
        let wanted = texts.iter().map(|t| Filter::parse(t).unwrap()).collect();
        let change = self.engine.registry.set_filters(Scope::ALL[scope], wanted);
        let sorted = |mut all: Vec<String>| {
            all.sort();
            all.dedup();
            all
        };
        assert_eq!(sorted(change.refused), refused);
        assert_eq!(sorted(change.effective), sorted(self.plain.filter_keys()));
    }

    fn end_session(&mut self, session: &str) {
        self.plain.remove(|r| r.session.as_deref() == Some(session));
        self.engine.registry.remove_session(session);
        let loads = self.plain.loads.iter_mut().filter(|l| l.from.session.as_deref() == Some(session));
        for load in loads {
            load.gone = true;
            extension::rollback(&self.engine, load.number);
        }
    }

    fn reload(&mut self) {
        self.plain.generation += 1;
        let again: Vec<Load> = self.plain.loads.iter().filter(|l| l.lazy && l.loaded && !l.gone).cloned().collect();
        let reloaded = extension::reload(&self.engine).unwrap();
        assert_eq!(reloaded.generation, self.plain.generation);
        let old: Vec<u64> = again.iter().map(|l| l.number).collect();
        assert_eq!(reloaded.moved.iter().map(|m| m.0).collect::<Vec<_>>(), old);
        for (load, (_, number)) in again.into_iter().zip(reloaded.moved) {
            self.load(load.number).gone = true;
            self.plain.remove(|r| r.load == Some(load.number));
            self.note(number, load.from, load.promised, true);
            let load = self.load(number).clone();
            self.plain.place(&load);
        }
    }

    fn declare(&mut self, from: &From, promised: &[(usize, usize)]) {
        let mut names: Vec<(String, String)> = Vec::new();
        for (kind, key) in promised {
            let name = (KINDS[*kind].to_owned(), KEYS[*key].to_owned());
            if !names.contains(&name) {
                names.push(name);
            }
        }
        let promises = names.iter().map(|(kind, key)| Promise { kind: kind.clone(), key: key.clone() }).collect();
        let declared = extension::declare(&self.engine, origin(from), promises, HostValue::null()).unwrap();
        let Declared { load: number, placeholders } = declared;
        assert_eq!(placeholders, names.iter().filter(|(kind, _)| self.plain.knows(kind)).count());
        self.note(number, from.clone(), names, true);
        let load = self.load(number).clone();
        self.plain.place(&load);
    }

    fn note(&mut self, number: u64, from: From, promised: Vec<(String, String)>, lazy: bool) {
        let from = From { load: Some(number), ..from };
        let generation = self.plain.generation;
        self.plain.loads.push(Load { number, from, promised, lazy, loaded: false, gone: false, generation });
    }

    fn load(&mut self, number: u64) -> &mut Load {
        self.plain.loads.iter_mut().find(|l| l.number == number).unwrap()
    }

    /// A factory that registers all it can, and ends well or badly.
    fn run_factory(&mut self, number: u64, regs: &[Reg], defines: bool, fails: bool) {
        let mut staged: Vec<(&str, &str, Option<i32>)> = Vec::new();
        let defined = self.plain.knows("reviewer");
        if defines && extension::register(&self.engine, number, &kind_spec(), None, None).is_ok() {
            assert!(!defined);
            staged.push(("kind", "reviewer", None));
        }
        for reg in regs {
            let known = self.plain.knows(KINDS[reg.kind])
                || (KINDS[reg.kind] == "reviewer" && !staged.is_empty() && staged[0].0 == "kind");
            let taken = extension::register(&self.engine, number, &spec(reg), None, None);
            assert_eq!(taken.is_ok(), known);
            if known {
                staged.push((KINDS[reg.kind], KEYS[reg.key], reg.order));
            }
        }
        let from = self.load(number).from.clone();
        if fails {
            extension::rollback(&self.engine, number);
            self.load(number).gone = true;
            self.plain.remove(|r| r.load == Some(number));
            return;
        }
        // Placeholders of a kind that this very load promised and defines again are gone before.
        self.plain.remove(|r| r.load == Some(number));
        for (kind, key, order) in staged {
            self.plain.add(kind, key, order, &from, false);
        }
        self.load(number).loaded = true;
        extension::commit(&self.engine, number).unwrap();
    }

    /// A registration through an API object that was kept.
    fn register_late(&mut self, which: usize, reg: &Reg) {
        let loads: Vec<Load> = self.plain.loads.iter().filter(|l| l.loaded || l.gone).cloned().collect();
        let Some(load) = loads.get(which % loads.len().max(1)) else { return };
        let taken = extension::register(&self.engine, load.number, &spec(reg), None, None);
        if load.gone || load.generation != self.plain.generation {
            assert!(matches!(taken, Err(Error::StaleApi { .. })));
        } else if self.plain.knows(KINDS[reg.kind]) {
            assert!(taken.is_ok());
            self.plain.add(KINDS[reg.kind], KEYS[reg.key], reg.order, &load.from, false);
        } else {
            assert!(matches!(taken, Err(Error::UnknownKind { .. })));
        }
    }

    // ---- comparing -------------------------------------------------------------------------------------------------

    fn compare(&self) {
        for session in SESSIONS {
            let snapshot = self.engine.registry.snapshot(session);
            for kind in KINDS {
                self.compare_kind(&snapshot, session, kind);
            }
            for event in KEYS {
                let plain = self.plain.hooks(session, event);
                let active: Vec<u64> = plain.iter().filter(|r| !r.lazy).map(|r| r.seq).collect();
                assert_eq!(seqs(&snapshot.hooks(event)), active, "hooks of {event} for {session:?}");
                assert_eq!(snapshot.pending_hooks(event), loads(&plain));
            }
            for name in KEYS {
                self.compare_why(session, name);
            }
        }
        self.compare_listing();
        for load in &self.plain.loads {
            let is_current = load.loaded && !load.gone && load.generation == self.plain.generation;
            assert_eq!(extension::current(&self.engine, load.number).is_ok(), is_current, "{load:?}");
        }
    }

    fn compare_kind(&self, snapshot: &Snapshot, session: Option<&str>, kind: &str) {
        let listed = self.plain.listed(session, kind);
        let shown: Vec<u64> = listed.iter().filter(|r| kind == "tool" || !r.lazy).map(|r| r.seq).collect();
        assert_eq!(seqs(&snapshot.list(kind)), shown, "list of {kind} for {session:?}");
        let pending = if kind == "tool" { Vec::new() } else { loads(&listed) };
        assert_eq!(snapshot.pending(kind), pending, "pending of {kind} for {session:?}");
        assert_eq!(snapshot.names(kind), self.plain.names(session, kind), "names of {kind} for {session:?}");
        for key in KEYS {
            let plain = self.plain.winner(session, kind, key);
            match (snapshot.find(kind, key), plain) {
                (Found::Absent, None) => {}
                (Found::Record(r), Some(p)) if !p.lazy => assert_eq!(r.seq, p.seq, "{kind} {key} for {session:?}"),
                (Found::Lazy(load), Some(p)) if p.lazy => assert_eq!(Some(load), p.load),
                (_, plain) => panic!("{kind} {key} for {session:?}: expected {plain:?}"),
            }
        }
    }

    fn compare_why(&self, session: Option<&str>, name: &str) {
        let columns = listing::why(&self.engine.registry, name, session);
        let mut expected: Vec<(&Rec, bool)> = Vec::new();
        for kind in KINDS {
            expected.extend(self.plain.why(session, kind, name));
        }
        let flags: Vec<bool> = match columns.field("wins").map(|c| &c.data) {
            Some(HostData::Logical(wins)) => wins.iter().flatten().copied().collect(),
            _ => Vec::new(),
        };
        let sources: Vec<&str> = expected.iter().map(|(r, _)| r.source.as_str()).collect();
        assert_eq!(columns.field("source").unwrap().as_strings().unwrap(), sources, "why {name} for {session:?}");
        assert_eq!(flags, expected.iter().map(|(_, wins)| *wins).collect::<Vec<_>>());
    }

    fn compare_listing(&self) {
        let columns = listing::records(&self.engine.registry, None).unwrap();
        let mut expected: Vec<&Rec> = self.plain.records.iter().filter(|r| r.session.is_none()).collect();
        expected.sort_by(|a, b| a.kind.cmp(&b.kind).then(a.seq.cmp(&b.seq)));
        let column = |name: &str| columns.field(name).unwrap().as_strings().unwrap();
        assert_eq!(column("kind"), expected.iter().map(|r| r.kind.as_str()).collect::<Vec<_>>());
        assert_eq!(column("source"), expected.iter().map(|r| r.source.as_str()).collect::<Vec<_>>());
        assert_eq!(column("state"), expected.iter().map(|r| self.plain.state(r)).collect::<Vec<_>>());
    }
}

fn seqs(records: &[Rc<Record>]) -> Vec<u64> {
    records.iter().map(|r| r.seq).collect()
}

fn loads(records: &[&Rec]) -> Vec<u64> {
    let mut out: Vec<u64> = Vec::new();
    for load in records.iter().filter(|r| r.lazy).filter_map(|r| r.load) {
        if !out.contains(&load) {
            out.push(load);
        }
    }
    out
}

fn play(steps: &[Step]) {
    let mut pair = Pair::new();
    for step in steps {
        pair.take(step);
        pair.compare();
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn records_filters_and_runs_answer_as_a_plain_list_does(steps in vec(step(3, 1), 1..=60)) {
        play(&steps);
    }

    #[test]
    fn loads_and_reloads_answer_as_a_plain_list_does(steps in vec(step(1, 3), 1..=60)) {
        play(&steps);
    }
}
