#![allow(clippy::unwrap_used)]

use super::*;
use crate::registry::filter::{Filter, Scope};
use crate::registry::origin::{Origin, Place};
use crate::registry::record::NewRecord;

fn registry() -> Registry {
    Registry::new(|| 12.5, str::to_owned)
}

fn add(reg: &Registry, kind: &str, key: &str, origin: Origin) -> Rc<Record> {
    let spec = HostValue::named([("kind", kind.into()), ("name", key.into())]);
    let new =
        NewRecord { kind: kind.into(), key: key.into(), spec, schema: None, origin, attachment: None, lazy: false };
    reg.add(new).unwrap()
}

fn set(reg: &Registry, filter: &str) {
    reg.set_filters(Scope::Session, vec![Filter::parse(filter).unwrap()]);
}

fn texts(columns: &HostValue, name: &str) -> Vec<String> {
    columns.field(name).unwrap().as_strings().unwrap().into_iter().map(str::to_owned).collect()
}

#[test]
fn case_46_kinds_in_byte_order_and_no_session_records() {
    let reg = registry();
    let mut spec = HostValue::named([("kind", "tool".into()), ("name", "t".into()), ("description", "d".into())]);
    spec.set("exposure", "direct".into());
    let new = NewRecord {
        kind: "tool".into(),
        key: "t".into(),
        spec,
        schema: None,
        origin: Origin::user(),
        attachment: None,
        lazy: false,
    };
    reg.add(new).unwrap();
    add(&reg, "service", "s", Origin::plugin("p"));
    add(&reg, "command", "c", Origin::session("s1", "session:1"));
    let columns = records(&reg, None).unwrap();
    assert_eq!(texts(&columns, "kind"), ["service", "tool"]);
    assert_eq!(columns.field("experimental").unwrap().data, HostData::Logical(vec![Some(true), Some(false)]));
    let HostData::Double(tokens) = &columns.field("tokens").unwrap().data else { panic!() };
    assert!(tokens[0] == Some(0.0) && tokens[1] > Some(0.0));
}

#[test]
fn case_47_an_unknown_kind_is_an_error_and_the_order_asked_is_kept() {
    let reg = registry();
    assert!(matches!(records(&reg, Some(&["widget".to_owned()])), Err(Error::UnknownKind { .. })));
    add(&reg, "command", "c", Origin::user());
    add(&reg, "tool", "t", Origin::user());
    let asked = ["tool".to_owned(), "command".to_owned()];
    assert_eq!(texts(&records(&reg, Some(&asked)).unwrap(), "kind"), asked);
}

#[test]
fn case_38_and_52_states_of_a_listing() {
    let reg = registry();
    add(&reg, "tool", "read", Origin::builtin("tools"));
    add(&reg, "tool", "edit", Origin::builtin("tools"));
    add(&reg, "tool", "read", Origin::user());
    add(&reg, "hook", "input", Origin::user());
    add(&reg, "hook", "input", Origin::plugin("p"));
    let states = |reg: &Registry| texts(&records(reg, None).unwrap(), "state");
    assert_eq!(states(&reg), ["active", "active", "overridden", "active", "active"]);
    set(&reg, "-tool:read");
    assert_eq!(states(&reg), ["active", "active", "disabled", "active", "disabled"]);
    set(&reg, "-plugin:p");
    assert_eq!(states(&reg), ["active", "disabled", "overridden", "active", "active"]);
}

#[test]
fn why_says_what_wins_and_what_hides_what() {
    let reg = registry();
    let placed = Origin { place: Some(Place { file: "one.R".into(), line: Some(7) }), ..Origin::plugin("p") };
    add(&reg, "tool", "add", placed);
    add(&reg, "tool", "add", Origin::user());
    add(&reg, "tool", "add", Origin::user());
    add(&reg, "tool", "demo/add", Origin::plugin("demo"));
    add(&reg, "tool", "added", Origin::plugin("demo"));
    add(&reg, "command", "add", Origin::user());
    add(&reg, "policy", "add", Origin::session("s1", "session:1"));
    let columns = why(&reg, "add", None);
    assert_eq!(texts(&columns, "kind"), ["command", "tool", "tool", "tool", "tool"]);
    assert_eq!(texts(&columns, "name"), ["add", "add", "demo/add", "add", "add"]);
    assert_eq!(texts(&columns, "source"), ["user", "user", "plugin:demo", "user", "plugin:p"]);
    let reasons = [
        "nothing else of this name counts",
        "registered before user at the same rank",
        "nothing else of this name counts",
        "user registered it first at the same rank 3",
        "user (rank 3) comes before rank 5",
    ];
    assert_eq!(texts(&columns, "reason"), reasons);
    assert_eq!(texts(&columns, "shadows"), ["", "user;plugin:p", "", "", ""]);
    let files = &columns.field("file").unwrap().data;
    let lines = &columns.field("line").unwrap().data;
    assert_eq!(*files, HostData::Character(vec![None, None, None, None, Some("one.R".into())]));
    assert_eq!(*lines, HostData::Integer(vec![None, None, None, None, Some(7)]));
    assert_eq!(columns.field("loaded").unwrap().data, HostData::Double(vec![Some(12.5); 5]));
    assert_eq!(texts(&why(&reg, "add", Some("s1")), "kind")[1], "policy");
    assert!(why(&reg, "nope", None).field("kind").unwrap().is_empty());
}

#[test]
fn why_names_the_filter_that_turns_a_record_off() {
    let reg = registry();
    add(&reg, "hook", "input", Origin::plugin("p"));
    add(&reg, "hook", "input", Origin::user());
    set(&reg, "-plugin:p");
    let columns = why(&reg, "input", None);
    assert_eq!(texts(&columns, "source"), ["user", "plugin:p"]);
    assert_eq!(
        texts(&columns, "reason"),
        ["every record of this kind counts", "turned off by -plugin:p (session filters)"]
    );
}
