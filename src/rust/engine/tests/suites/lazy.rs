//! Extensions whose code runs when it is needed.

use gptr_engine::extension::{self, Declared};
use gptr_engine::listing;
use gptr_engine::registry::filter::{Filter, Scope};
use gptr_engine::registry::placeholder::promises;
use gptr_engine::registry::store::{Found, Origin, Service};
use gptr_engine::run::member::{self, Resolved};
use gptr_engine::value::{HostValue, Value, json};

use crate::harness::host::{Factory, FactoryEnd, Left, World};
use crate::harness::spec::host;
use crate::harness::{end_line, world};

const SEARCH: &str = r#"tool search =search {"namespace": "trials", "exposure": "deferred", "fun": "=fun()"}"#;

/// Declares a lazy extension of the plugin `trials`.
fn declare(world: &mut World, provides: Value, lines: &[&str], end: FactoryEnd) -> u64 {
    let declarations =
        json!({"trials/search": {"signature": "search(query: string)", "description": "Find trials. Slowly."}});
    let promised = promises(&host(&provides)).unwrap();
    let declared = extension::declare(&world.engine, Origin::plugin("trials"), promised, host(&declarations)).unwrap();
    let Declared { load, .. } = declared;
    let lines = lines.iter().map(|l| (*l).to_owned()).collect();
    world.factories.insert(load, Factory { lines, end });
    load
}

fn column(world: &World, name: &str) -> Vec<String> {
    let columns = listing::records(&world.engine.registry, None).unwrap();
    columns.field(name).unwrap().as_strings().unwrap().into_iter().map(str::to_owned).collect()
}

fn lazy_rows(world: &World) -> usize {
    column(world, "state").iter().filter(|s| *s == "lazy").count()
}

fn activations(world: &World) -> usize {
    world.trace.iter().filter(|h| h.head.starts_with("activate")).count()
}

fn log(world: &World) -> Vec<String> {
    world.engine.registry.diagnostics().iter().map(|d| format!("{} {} {}", d.source, d.event, d.class)).collect()
}

fn say(world: &mut World, prompt: &str) -> String {
    match world.say(Some(prompt)) {
        Left::Done(outcome, _) => end_line(outcome),
        Left::Jumped => "jumped".into(),
    }
}

fn all_three() -> Value {
    json!({"tool": ["trials/search"], "command": ["panel"], "hook": ["turn_end"]})
}

#[test]
fn case_68_the_first_use_of_a_tool_runs_the_code_once() {
    let mut world = world("script\n  {\"tool\": \"trials/search\"}\n  {\"tool\": \"trials/search\"}\n  \"done\"\n");
    declare(&mut world, all_three(), &[SEARCH, r#"command panel {"handler": "=panel(args, ctx)"}"#], FactoryEnd::Well);
    let before = listing::records(&world.engine.registry, Some(&["tool".to_owned()])).unwrap();
    assert!(before.field("tokens").unwrap().as_number().unwrap() > 0.0);
    assert_eq!(lazy_rows(&world), 3);
    // Neither a listing of tools nor one of names runs anything.
    let snapshot = world.engine.registry.snapshot(None);
    assert!(snapshot.pending("tool").is_empty() && snapshot.list("tool")[0].lazy);
    assert_eq!(snapshot.names("command"), ["panel"]);
    assert_eq!(activations(&world), 0);
    assert_eq!(say(&mut world, "go"), "idle");
    assert_eq!((activations(&world), lazy_rows(&world)), (1, 0));
    assert_eq!(world.trace.iter().filter(|h| h.head == "> search").count(), 2);
    assert_eq!(log(&world), ["plugin:trials activate missing_provided"]);
}

#[test]
fn case_69_listing_a_kind_asks_for_what_is_promised_of_it() {
    let mut world = world("script\n  \"done\"\n");
    let load = declare(&mut world, json!({"model": ["corp/large"], "tool": ["trials/search"]}), &[], FactoryEnd::Well);
    let snapshot = world.engine.registry.snapshot(None);
    assert_eq!((snapshot.pending("model"), snapshot.pending("tool")), (vec![load], vec![]));
    assert!(snapshot.list("model").is_empty());
    assert!(matches!(snapshot.find("model", "corp/large"), Found::Lazy(l) if l == load));
    // Promised sections are there when the prompt is frozen.
    let section = "prompt_section house {\"text\": \"House rules.\"}";
    declare(&mut world, json!({"prompt_section": ["house"]}), &[section], FactoryEnd::Well);
    assert_eq!(say(&mut world, "go"), "idle");
    assert_eq!(activations(&world), 1);
    let frozen = world.session.state.borrow().frozen.clone().unwrap();
    assert!(format!("{}{}", frozen.t0, frozen.t1).contains("House rules."));
}

#[test]
fn case_70_the_first_dispatch_runs_the_code_and_the_handler() {
    let mut world = world("script\n  \"done\"\n");
    declare(&mut world, json!({"hook": ["turn_end"]}), &["hook turn_end =watching"], FactoryEnd::Well);
    assert_eq!(say(&mut world, "go"), "idle");
    assert_eq!(activations(&world), 1);
    assert_eq!(world.trace.iter().filter(|h| h.head == "> watching").count(), 1);
}

#[test]
fn a_policy_that_was_only_promised_decides_the_first_call() {
    let text = "script\n  {\"tool\": \"add\"}\n  \"done\"\nregister\n  tool add =body\n\
                on no: value {\"decision\": \"deny\"}\n";
    let mut world = world(text);
    declare(&mut world, json!({"policy": ["no"]}), &["policy no =no"], FactoryEnd::Well);
    assert_eq!(say(&mut world, "go"), "idle");
    assert!(world.trace.iter().any(|h| h.head == "> no"));
    assert!(!world.trace.iter().any(|h| h.head == "> body"), "{:?}", world.trace);
}

#[test]
fn case_71_what_fails_is_absent_and_reported_once() {
    for (end, reported) in [
        (FactoryEnd::Fails, vec![]),
        (FactoryEnd::FailsHalfWay, vec!["plugin:trials load error".to_owned()]),
        (FactoryEnd::Ignored, vec!["plugin:trials load error".to_owned()]),
    ] {
        let mut world = world("script\n  {\"tool\": \"trials/search\"}\n  {\"tool\": \"trials/search\"}\n  \"done\"\n");
        let load = declare(&mut world, all_three(), &[SEARCH], end);
        assert_eq!(say(&mut world, "go"), "idle");
        assert_eq!((activations(&world), lazy_rows(&world)), (1, 0), "{end:?}");
        assert_eq!(column(&world, "kind").iter().filter(|k| *k == "tool" || *k == "command").count(), 0);
        assert_eq!(log(&world), reported, "{end:?}");
        assert!(!extension::activate(&world.engine, load));
        let texts: String =
            world.session.history.range(0, usize::MAX).iter().map(|m| m.to_json().to_string()).collect();
        assert_eq!(texts.matches("Tool trials/search not found").count(), 2);
    }
}

#[test]
fn case_79_an_interrupt_of_the_code_ends_the_run() {
    let mut world = world("script\n  {\"tool\": \"trials/search\"}\n  \"done\"\n");
    declare(&mut world, json!({"tool": ["trials/search"]}), &[SEARCH], FactoryEnd::Interrupted);
    assert!(say(&mut world, "go").starts_with("aborted"));
    assert_eq!(lazy_rows(&world), 0);
    world.calm("later");
    assert_eq!(say(&mut world, "again"), "idle");
}

#[test]
fn code_that_needs_its_own_promise_does_not_wait_for_itself() {
    let mut world = world("script\n  \"done\"\n");
    let load = declare(&mut world, json!({"tool": ["trials/search"]}), &[SEARCH], FactoryEnd::Well);
    assert!(extension::activate(&world.engine, load));
    // The look-up of the factory's own code finds the placeholder, and nothing to activate.
    assert!(matches!(world.engine.registry.snapshot(None).find("tool", "trials/search"), Found::Lazy(l) if l == load));
    assert!(!extension::activate(&world.engine, load) && !extension::is_declared(&world.engine, load));
}

#[test]
fn case_73_a_reload_makes_activated_code_lazy_again() {
    let mut world =
        world("script\n  {\"tool\": \"trials/search\"}\n  \"done\"\n  {\"tool\": \"trials/search\"}\n  \"done\"\n");
    let load = declare(&mut world, json!({"tool": ["trials/search"]}), &[SEARCH], FactoryEnd::Well);
    let eager = extension::begin(&world.engine, Origin::plugin("keeper"), false);
    extension::commit(&world.engine, eager).unwrap();
    say(&mut world, "go");
    let reloaded = extension::reload(&world.engine).unwrap();
    assert_eq!(reloaded.generation, 2);
    let [(from, to)] = reloaded.moved[..] else { panic!("{reloaded:?}") };
    assert_eq!((from, lazy_rows(&world)), (load, 1));
    for stale in [load, eager] {
        let error = extension::current(&world.engine, stale).unwrap_err().condition();
        assert_eq!(error.classes, ["stale_api"]);
    }
    world.factories.insert(to, world.factories[&load].clone());
    assert_eq!(say(&mut world, "again"), "idle");
    assert_eq!((activations(&world), lazy_rows(&world)), (2, 0));
    assert!(extension::current(&world.engine, to).is_ok() && extension::current(&world.engine, load).is_err());
}

#[test]
fn case_72_an_eager_load_reports_what_it_promised_and_does_not_bring() {
    let world = world("script\n  \"done\"\n");
    let load = extension::begin(&world.engine, Origin::plugin("demo"), false);
    extension::promise(&world.engine, load, promises(&host(&json!({"command": ["panel"]}))).unwrap()).unwrap();
    extension::commit(&world.engine, load).unwrap();
    assert_eq!(log(&world), ["plugin:demo activate missing_provided"]);
}

#[test]
fn case_77_a_source_that_is_turned_off_is_not_loaded() {
    let world = world("script\n  \"done\"\n");
    let origin = Origin::plugin("blocked");
    assert!(extension::is_admitted(&world.engine, &origin));
    world.engine.registry.set_filters(Scope::User, vec![Filter::parse("-plugin:blocked").unwrap()]);
    assert!(!extension::is_admitted(&world.engine, &origin));
    assert_eq!(log(&world), ["plugin:blocked load filtered"]);
}

#[test]
fn a_promised_service_is_asked_for() {
    let mut world = world("script\n  \"done\"\n");
    let load = declare(&mut world, json!({"service": ["eval"]}), &[], FactoryEnd::Well);
    assert!(matches!(world.engine.registry.service(None, "eval"), Ok(Service::Lazy(l)) if l == load));
}

#[test]
fn promises_of_kinds_to_come_have_no_placeholders() {
    let world = world("script\n  \"done\"\n");
    let promised = promises(&host(&json!({"reviewer": ["stats"], "command": ["c"]}))).unwrap();
    let declared = extension::declare(&world.engine, Origin::plugin("p"), promised, HostValue::null()).unwrap();
    assert_eq!((declared.placeholders, lazy_rows(&world)), (1, 1));
}

#[test]
fn case_119_a_declared_member_is_shown_and_found_while_its_code_waits() {
    let mut world = world("script\n  \"done\"\n");
    let load = declare(&mut world, json!({"tool": ["trials/search"]}), &[SEARCH], FactoryEnd::Well);
    let snapshot = world.engine.registry.snapshot(None);
    assert_eq!(member::names(&world.engine, &snapshot, None), ["trials"]);
    assert_eq!(member::names(&world.engine, &snapshot, Some("trials")), ["search"]);
    let hits = member::find(&world.engine, &snapshot, vec![], "trials", 8);
    assert_eq!(hits[0]["name"], json!("trials/search"));
    assert_eq!(hits[0]["signature"], json!("peter$trials$search(query: string)  # Find trials."));
    let path = ["trials".to_owned(), "search".to_owned()];
    assert!(matches!(member::resolve(&world.engine, &snapshot, &path), Ok(Resolved::Lazy(l)) if l == load));
    assert_eq!(say(&mut world, "go"), "idle");
    let frozen = world.session.state.borrow().frozen.clone().unwrap();
    assert!(frozen.t1.contains("peter$trials$search(query: string)  # Find trials."), "{}", frozen.t1);
    assert_eq!((activations(&world), lazy_rows(&world)), (0, 1));
}
