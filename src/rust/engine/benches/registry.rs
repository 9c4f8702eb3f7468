//! What the registry costs: registering, looking up, listing, snapshots. `cargo bench -p gptr-engine --bench registry`.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used)]

use std::hint::black_box;
use std::rc::Rc;
use std::time::{Duration, Instant};

use criterion::{BatchSize, BenchmarkId, Criterion, criterion_group, criterion_main};
use gptr_engine::engine::Engine;
use gptr_engine::listing;
use gptr_engine::provider::http;
use gptr_engine::registry::filter::{Filter, Scope};
use gptr_engine::registry::store::Origin;
use gptr_engine::value::HostValue;

/// The cost of one operation must not grow with what is there.
const SIZES: [usize; 2] = [100, 10_000];

fn engine() -> Rc<Engine> {
    Engine::new(|| (), http::Settings::default())
}

fn command(name: &str) -> HostValue {
    let handler = HostValue::function([("args", true), ("ctx", true)]);
    HostValue::named([("kind", "command".into()), ("name", name.into()), ("handler", handler)])
}

fn tool(name: &str) -> HostValue {
    HostValue::named([
        ("kind", "tool".into()),
        ("name", name.into()),
        ("description", "Adds two numbers and says what came of it.".into()),
        ("exposure", "r".into()),
        ("namespace", "bench".into()),
        ("fun", HostValue::function([("a", true), ("b", false)])),
    ])
}

fn hook() -> HostValue {
    let handler = HostValue::function([("event", true), ("ctx", true)]);
    HostValue::named([
        ("kind", "hook".into()),
        ("name", "input".into()),
        ("event", "input".into()),
        ("handler", handler),
    ])
}

fn add(engine: &Engine, spec: &HostValue) -> String {
    engine.register(&engine.registry, spec, Origin::user(), None).unwrap().record.id.clone()
}

fn filled(size: usize, spec: impl Fn(&str) -> HostValue) -> Rc<Engine> {
    let engine = engine();
    for i in 0..size {
        add(&engine, &spec(&format!("n{i}")));
    }
    engine
}

type Spec = fn(&str) -> HostValue;

fn registering(c: &mut Criterion) {
    let kinds: [(&str, Spec); 3] = [("command", command), ("tool", tool), ("hook", |_| hook())];
    for (name, spec) in kinds {
        let mut group = c.benchmark_group(format!("register and remove a {name}"));
        for size in SIZES {
            let engine = filled(size, spec);
            let new = spec("new");
            group.bench_function(BenchmarkId::from_parameter(size), |b| {
                b.iter(|| {
                    let id = add(&engine, &new);
                    assert!(engine.registry.remove(&id));
                });
                engine.registry.released();
            });
        }
    }
}

/// All records, from an empty registry on; per record.
fn bulk(c: &mut Criterion) {
    let mut group = c.benchmark_group("register all, per record");
    group.sample_size(10);
    for size in SIZES {
        let specs: Vec<HostValue> = (0..size).map(|i| command(&format!("n{i}"))).collect();
        group.bench_function(BenchmarkId::from_parameter(size), |b| {
            b.iter_custom(|rounds| {
                let mut spent = Duration::ZERO;
                for _ in 0..rounds {
                    let engine = engine();
                    let begun = Instant::now();
                    for spec in &specs {
                        add(&engine, spec);
                    }
                    spent += begun.elapsed();
                }
                spent / u32::try_from(size).unwrap()
            });
        });
    }
}

fn looking_up(c: &mut Criterion) {
    let mut group = c.benchmark_group("winner");
    for size in SIZES {
        let engine = filled(size, command);
        let snapshot = engine.registry.snapshot(None);
        let key = format!("n{}", size / 2);
        group.bench_function(BenchmarkId::from_parameter(size), |b| {
            b.iter(|| snapshot.winner("command", black_box(&key)));
        });
    }
    group.finish();
    let mut group = c.benchmark_group("snapshot");
    for size in SIZES {
        let engine = filled(size, command);
        add(&engine, &hook());
        group.bench_function(BenchmarkId::from_parameter(size), |b| b.iter(|| engine.registry.snapshot(Some("s1"))));
    }
    group.finish();
    let mut group = c.benchmark_group("winner, with a filter");
    for size in SIZES {
        let engine = filled(size, command);
        engine.registry.set_filters(Scope::User, vec![Filter::parse("-plugin:other").unwrap()]);
        let snapshot = engine.registry.snapshot(None);
        let key = format!("n{}", size / 2);
        group.bench_function(BenchmarkId::from_parameter(size), |b| {
            b.iter(|| snapshot.winner("command", black_box(&key)));
        });
    }
}

fn listing(c: &mut Criterion) {
    let mut group = c.benchmark_group("list");
    group.sample_size(20);
    for size in SIZES {
        let engine = filled(size, tool);
        group.bench_function(BenchmarkId::new("again", size), |b| b.iter(|| listing::records(&engine.registry, None)));
        // Estimates are taken once a record: this is what the first listing costs.
        group.bench_function(BenchmarkId::new("first", size), |b| {
            b.iter_batched(|| filled(size, tool), |e| listing::records(&e.registry, None), BatchSize::PerIteration);
        });
    }
}

/// Leaving must cost what leaves, not what is there.
fn leaving(c: &mut Criterion) {
    let mut group = c.benchmark_group("a session with 10 records comes and goes");
    for size in SIZES {
        let engine = filled(size, command);
        let specs: Vec<HostValue> = (0..10).map(|i| command(&format!("n{i}"))).collect();
        group.bench_function(BenchmarkId::from_parameter(size), |b| {
            b.iter(|| {
                for spec in &specs {
                    engine.register(&engine.registry, spec, Origin::session("s1", "session:1"), None).unwrap();
                }
                engine.registry.remove_session("s1");
            });
            engine.registry.released();
        });
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default().without_plots().warm_up_time(Duration::from_millis(500)).measurement_time(Duration::from_secs(2));
    targets = registering, bulk, looking_up, listing, leaving
}
criterion_main!(benches);
