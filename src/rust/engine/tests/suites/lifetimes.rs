//! Records of sessions, and who may still use them.

use gptr_engine::conversation;
use gptr_engine::registry::store::Origin;
use gptr_engine::run;
use gptr_engine::task::Step;
use gptr_engine::value::json;

use crate::harness::host::Left;
use crate::harness::spec::{Entry, host};
use crate::harness::{end_line, world};

const OWN: &str = r#"
script
  {"tool": "t"}
  "done"
register
  session tool t =body
  session hook tool_call =guard
  tool shared =shared
on body: text ran
"#;

#[test]
fn a_dropped_session_releases_what_only_it_saw() {
    let world = world(OWN);
    let engine = world.engine.clone();
    engine.registry.released();
    let id = world.session.id.clone();
    let own: Vec<String> =
        engine.registry.records().iter().filter(|r| r.session.is_some()).map(|r| r.id.clone()).collect();
    engine.retire(world.session.clone());
    assert_eq!(engine.registry.released(), Vec::<String>::new(), "a finalizer only queues");
    engine.settle_retired();
    let mut released = engine.registry.released();
    released.sort();
    assert_eq!(released, own);
    assert!(engine.session(&id).is_none());
    assert!(engine.registry.snapshot(Some(&id)).winner("tool", "t").is_none());
    assert!(engine.registry.snapshot(Some(&id)).winner("tool", "shared").is_some());
}

#[test]
fn a_session_sees_its_own_records_and_no_other_does() {
    let mut world = world(OWN);
    let Left::Done(outcome, _) = world.say(Some("go")) else { panic!("no end") };
    assert_eq!(end_line(outcome), "idle");
    assert!(world.trace.iter().any(|h| h.head == "> body") && world.trace.iter().any(|h| h.head == "> guard"));
    let other = conversation::create(&world.engine, &host(&json!({"mode": "auto"}))).unwrap();
    conversation::choose(&world.engine, &other, &host(&json!({}))).unwrap();
    conversation::prompt(&other, &host(&json!({"text": "go"}))).unwrap();
    world.trace.clear();
    let mut task = run::task(&world.engine, &other);
    assert!(matches!(world.drive(&mut task), Left::Done(Ok(_), _)));
    assert!(world.trace.is_empty(), "{:?}", world.trace);
}

#[test]
fn a_session_that_is_closed_while_it_runs_keeps_what_the_running_call_needs() {
    let mut world = world(OWN);
    conversation::prompt(&world.session, &host(&json!({"text": "go"}))).unwrap();
    let mut task = run::task(&world.engine, &world.session);
    let step = loop {
        match task.next() {
            Step::Call { id, call } if call.handler.field == "handler" => break (id, call),
            Step::Show { .. } => {}
            other => panic!("{other:?}"),
        }
    };
    world.engine.close(&world.session);
    assert!(!world.engine.registry.released().contains(&step.1.handler.record), "its handler is being called");
    task.reply(step.0, gptr_engine::reply::HostReply::null());
    let Left::Done(outcome, _) = world.drive(&mut task) else { panic!("no end") };
    assert_eq!(end_line(outcome), "idle");
    drop(task);
    let released = world.engine.registry.released();
    let again = world.session.history.range(0, usize::MAX);
    assert!(!again.is_empty() && world.engine.registry.snapshot(Some(&world.session.id)).winner("tool", "t").is_none());
    assert!(world.trace.iter().filter(|h| h.head.starts_with("released")).count() + released.len() >= 2);
}

#[test]
fn a_record_whose_fields_are_refused_leaves_nothing_behind() {
    let mut world = world(OWN);
    let before = world.engine.registry.records().len();
    for line in [
        "tool bad-name! =x",
        "hook tool_cal =x",
        "tool x =x {\"namespace\": \"read\"}",
        "policy p =x {\"order\": \"last\"}",
    ] {
        assert!(world.add(&Entry::parse(line).unwrap(), None).is_err(), "{line}");
    }
    assert_eq!(world.engine.registry.records().len(), before);
    assert!(world.engine.registry.released().is_empty());
}

#[test]
fn records_of_a_session_win_over_all_others() {
    let mut world = world(OWN);
    let spec = Entry::parse("tool t =other").unwrap().spec();
    world.engine.register(&world.engine.registry, &spec, Origin::user(), None).unwrap();
    assert!(matches!(world.say(Some("go")), Left::Done(Ok(_), _)));
    assert!(world.trace.iter().any(|h| h.head == "> body"));
}
