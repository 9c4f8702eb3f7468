//! Loads of extensions: all or nothing.

use std::rc::Rc;

use gptr_engine::engine::Engine;
use gptr_engine::extension::{self, Staged};
use gptr_engine::provider::http;
use gptr_engine::registry::store::Origin;
use gptr_engine::value::{HostValue, json};

use crate::harness::host::Left;
use crate::harness::spec::{Entry, host};
use crate::harness::{end_line, world};

fn engine() -> Rc<Engine> {
    Engine::new(|| (), http::Settings::default())
}

fn plugin(name: &str) -> Origin {
    let source = format!("plugin:{name}");
    Origin { rank: 5, source: source.clone(), extension: source, ..Origin::user() }
}

fn spec(line: &str) -> HostValue {
    Entry::parse(line).unwrap().spec()
}

/// Registers a spec for a load and returns its token.
fn stage(engine: &Engine, load: u64, line: &str) -> String {
    match extension::register(engine, load, &spec(line), None, None).unwrap() {
        Staged::Later { token, .. } => token,
        Staged::Now(_) => panic!("{line} was registered at once"),
    }
}

fn sees(engine: &Engine, kind: &str, key: &str) -> bool {
    let snapshot = engine.registry.snapshot(None);
    snapshot.winner(kind, key).is_some()
}

fn class(error: &gptr_engine::error::Error) -> String {
    error.condition().classes.first().cloned().unwrap_or_default()
}

#[test]
fn nothing_is_seen_before_the_commit_and_all_after_it() {
    let engine = engine();
    let load = extension::begin(&engine, plugin("demo"), false);
    let first = stage(&engine, load, "tool a =f {\"namespace\": \"demo\"}");
    let hook = stage(&engine, load, "hook tool_call =g");
    let gone = stage(&engine, load, "policy p =h");
    extension::unregister(&engine, load, Some(&gone), None).unwrap();
    assert!(!sees(&engine, "tool", "demo/a") && !sees(&engine, "hook", "tool_call"));
    let rows = extension::commit(&engine, load).unwrap();
    let tokens: Vec<&str> = rows.as_array().unwrap().iter().filter_map(|r| r["token"].as_str()).collect();
    assert_eq!(tokens, [first, hook]);
    assert!(sees(&engine, "tool", "demo/a") && sees(&engine, "hook", "tool_call") && !sees(&engine, "policy", "p"));
    let now = extension::register(&engine, load, &spec("policy late =h"), None, None).unwrap();
    assert!(matches!(now, Staged::Now(_)) && sees(&engine, "policy", "late"));
}

#[test]
fn a_load_that_is_rolled_back_leaves_nothing() {
    let engine = engine();
    let load = extension::begin(&engine, plugin("demo"), false);
    stage(&engine, load, "tool a =f {\"namespace\": \"demo\"}");
    let committed = extension::commit(&engine, load).unwrap();
    let id = committed[0]["id"].as_str().unwrap().to_owned();
    assert!(matches!(extension::register(&engine, load, &spec("policy late =h"), None, None), Ok(Staged::Now(_))));
    extension::rollback(&engine, load);
    assert!(!sees(&engine, "tool", "demo/a") && !sees(&engine, "policy", "late"));
    assert!(engine.registry.released().contains(&id));
    let stale = extension::register(&engine, load, &spec("policy p =h"), None, None).err().unwrap();
    assert_eq!(class(&stale), "stale_api");
    assert_eq!(class(&extension::require(&engine, load, &"1.0".into()).unwrap_err()), "stale_api");
}

#[test]
fn a_spec_that_is_not_admitted_takes_the_whole_load_with_it() {
    let engine = engine();
    engine
        .register(
            &engine.registry,
            &spec("tool clash =f {\"exposure\": \"r\", \"fun\": \"=f()\"}"),
            Origin::user(),
            None,
        )
        .unwrap();
    let before = engine.registry.records().len();
    let load = extension::begin(&engine, plugin("demo"), false);
    stage(&engine, load, "tool a =f {\"namespace\": \"demo\"}");
    stage(&engine, load, "hook tool_call =g");
    // Admission looks at what is registered: it can only refuse at the commit.
    stage(&engine, load, "tool b =f {\"namespace\": \"clash\"}");
    assert_eq!(class(&extension::commit(&engine, load).unwrap_err()), "invalid_spec");
    assert_eq!(engine.registry.records().len(), before);
    assert_eq!(engine.registry.released().len(), 2);
    assert_eq!(class(&extension::current(&engine, load).unwrap_err()), "stale_api");
}

#[test]
fn a_spec_that_is_invalid_fails_at_once_and_the_factory_may_go_on() {
    let engine = engine();
    let load = extension::begin(&engine, plugin("demo"), false);
    let bad = host(&json!({"kind": "tool", "name": "x"}));
    assert!(extension::register(&engine, load, &bad, None, None).is_err());
    stage(&engine, load, "policy p =h");
    extension::commit(&engine, load).unwrap();
    assert!(sees(&engine, "policy", "p"));
}

#[test]
fn a_reload_makes_the_api_objects_of_loaded_extensions_stale_and_not_their_records() {
    let engine = engine();
    let load = extension::begin(&engine, plugin("demo"), false);
    stage(&engine, load, "policy p =h");
    extension::commit(&engine, load).unwrap();
    engine.registry.next_generation();
    assert_eq!(class(&extension::current(&engine, load).unwrap_err()), "stale_api");
    assert!(sees(&engine, "policy", "p"));
}

#[test]
fn a_factory_that_reloads_fails_and_leaves_nothing() {
    let engine = engine();
    let load = extension::begin(&engine, plugin("demo"), false);
    stage(&engine, load, "policy p =h");
    engine.registry.next_generation();
    assert_eq!(class(&extension::commit(&engine, load).unwrap_err()), "stale_api");
    assert!(!sees(&engine, "policy", "p"));
}

#[test]
fn a_scratch_load_never_shows_in_the_live_registry() {
    let engine = engine();
    let load = extension::begin(&engine, plugin("demo"), true);
    stage(&engine, load, "tool a =f {\"namespace\": \"demo\"}");
    extension::commit(&engine, load).unwrap();
    assert!(!sees(&engine, "tool", "demo/a"));
    let scratch = engine.load_registry(load).unwrap();
    assert!(scratch.snapshot(None).winner("tool", "demo/a").is_some());
}

#[test]
fn what_an_extension_of_a_session_registers_ends_with_it() {
    let mut world = world("script\n  \"done\"\n");
    let load = extension::begin(&world.engine, Origin::session(&world.session.id, "session:1"), false);
    assert!(matches!(
        extension::register(&world.engine, load, &spec("hook turn_end =h"), None, None),
        Ok(Staged::Later { .. })
    ));
    extension::commit(&world.engine, load).unwrap();
    let Left::Done(outcome, _) = world.say(Some("go")) else { panic!("no end") };
    assert_eq!(end_line(outcome), "idle");
    world.engine.close(&world.session);
    assert!(world.engine.registry.snapshot(Some(&world.session.id)).hooks("turn_end").is_empty());
    let late = extension::register(&world.engine, load, &spec("policy p =h"), None, None);
    assert!(late.is_err(), "the session is gone");
    assert_eq!(world.engine.registry.records().iter().filter(|r| r.session.is_some()).count(), 0);
}
