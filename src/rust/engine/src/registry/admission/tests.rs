#![allow(clippy::unwrap_used)]

use crate::engine::Engine;
use crate::error::Error;
use crate::provider::http;
use crate::registry::store::Origin;
use crate::value::{HostValue, Value, json};

/// Registers a spec; the refused field and the problem.
fn register(engine: &Engine, spec: Value, origin: Origin) -> Result<String, (String, String)> {
    let mut host = HostValue::named::<String>([]);
    for (name, value) in spec.as_object().unwrap() {
        let value = match value.as_str().and_then(|s| s.strip_prefix('=')) {
            Some(formals) => HostValue::function(formals.split(',').filter(|f| !f.is_empty()).map(|f| (f, true))),
            None => HostValue::from(value.as_str().unwrap()),
        };
        host.set(name, value);
    }
    match engine.register(&engine.registry, &host, origin, None) {
        Ok(added) => Ok(added.record.key.clone()),
        Err(Error::InvalidSpec { field, problem, .. }) => Err((field, problem)),
        Err(other) => panic!("{other}"),
    }
}

fn engine() -> std::rc::Rc<Engine> {
    Engine::new(|| (), http::Settings::default())
}

fn tool(name: &str, namespace: Option<&str>, exposure: &str) -> Value {
    let mut spec = json!({"kind": "tool", "name": name, "description": "d", "exposure": exposure});
    spec["execute"] = json!("=input,ctx");
    if exposure == "r" {
        spec["fun"] = json!("=");
    }
    if let Some(ns) = namespace {
        spec["namespace"] = json!(ns);
    }
    spec
}

fn refused(outcome: Result<String, (String, String)>) -> String {
    outcome.map_or_else(|(field, _)| field, |key| format!("accepted as {key}"))
}

#[test]
fn case_42_operator_blocks_come_from_the_user_or_weaker() {
    let engine = engine();
    let block = json!({"kind": "context_block", "name": "b", "provide": "=ctx,budget", "authority": "operator"});
    for (origin, rank) in [(Origin::process("project", 1), "1"), (Origin::session("s1", "session:1"), "0")] {
        let (field, problem) = register(&engine, block.clone(), origin).unwrap_err();
        assert!(field == "authority" && problem.contains(rank), "{problem}");
    }
    for origin in [Origin::user(), Origin::plugin("p"), Origin::builtin("core")] {
        assert_eq!(register(&engine, block.clone(), origin), Ok("b".into()));
    }
}

#[test]
fn case_43_namespaces_of_plugins() {
    let engine = engine();
    let of_plugin = |spec: Value| register(&engine, spec, Origin::plugin("trials"));
    assert_eq!(refused(of_plugin(tool("search", None, "r"))), "namespace");
    assert_eq!(of_plugin(tool("later", None, "deferred")), Ok("later".into()));
    assert_eq!(refused(of_plugin(tool("search", Some("mcp"), "r"))), "namespace");
    register(&engine, tool("member", None, "r"), Origin::user()).unwrap();
    let (field, problem) = of_plugin(tool("search", Some("member"), "r")).unwrap_err();
    assert!(field == "namespace" && problem.contains("existing peter$ member"), "{problem}");
    assert_eq!(of_plugin(tool("search", Some("trials"), "r")), Ok("trials/search".into()));
}

#[test]
fn h26_names_that_join_to_one_on_the_wire_are_refused_both_ways() {
    let pairs = [
        (tool("c", Some("a.b"), "direct"), tool("c", Some("a_b"), "direct")),
        (tool("b_c", Some("a"), "direct"), tool("a__b_c", None, "direct")),
        (tool("b", Some("a"), "deferred"), tool("a__b", None, "direct")),
        (tool("b", Some("a"), "direct"), tool("a__b", None, "deferred")),
    ];
    for (one, other) in pairs {
        for (first, second) in [(&one, &other), (&other, &one)] {
            let engine = engine();
            register(&engine, first.clone(), Origin::user()).unwrap();
            assert_eq!(refused(register(&engine, second.clone(), Origin::user())), "name", "{first} then {second}");
            // The same key again is a matter of precedence.
            assert!(register(&engine, first.clone(), Origin::plugin("p")).is_ok());
        }
    }
}

#[test]
fn names_that_never_reach_the_wire_do_not_clash() {
    let engine = engine();
    let not_direct = [
        tool("c", Some("a.b"), "deferred"),
        tool("c", Some("a_b"), "deferred"),
        tool("hid", Some("x"), "hidden"),
        tool("x__hid", None, "direct"),
    ];
    for spec in not_direct {
        assert!(register(&engine, spec.clone(), Origin::user()).is_ok(), "{spec}");
    }
}

#[test]
fn a_name_on_the_wire_has_at_most_64_characters() {
    let engine = engine();
    let namespace = "n".repeat(31);
    let fits = register(&engine, tool(&"t".repeat(31), Some(&namespace), "direct"), Origin::user());
    assert!(fits.is_ok());
    let long = tool(&"t".repeat(32), Some(&namespace), "direct");
    assert!(register(&engine, long, Origin::user()).is_err());
    assert!(register(&engine, tool(&"t".repeat(64), Some(&namespace), "deferred"), Origin::user()).is_ok());
}

#[test]
fn h74_kinds_are_apart() {
    let engine = engine();
    register(&engine, tool("x", None, "direct"), Origin::user()).unwrap();
    let command = json!({"kind": "command", "name": "x", "handler": "=args,ctx"});
    let policy = json!({"kind": "policy", "name": "x", "check": "=call,ctx"});
    for spec in [command, policy] {
        assert_eq!(register(&engine, spec, Origin::plugin("p")), Ok("x".into()));
    }
    assert!(engine.registry.diagnostics().is_empty());
}
