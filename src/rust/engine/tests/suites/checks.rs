//! Conformance checks against a host of a few lines.

use gptr_engine::engine::Engine;
use gptr_engine::provider::http;
use gptr_engine::reply::HostReply;
use gptr_engine::run::check::{self, Request};
use gptr_engine::task::{Call, Step};
use gptr_engine::value::{HostValue, Value, json};

use crate::harness::spec::host;

/// The rows of a check as (check, ok, message); `answer` is the host.
fn rows(fields: Value, tokens: Option<u64>, mut answer: impl FnMut(&Call) -> HostReply) -> Vec<(String, bool, String)> {
    let engine = Engine::new(|| (), http::Settings::default());
    let mut spec = host(&fields);
    for (name, formals) in [("start", 2), ("cancel", 1), ("stream", 3), ("fun", 0)] {
        if spec.field(name).is_some() {
            spec.set(name, HostValue::function((0..formals).map(|i| (format!("a{i}"), true))));
        }
    }
    spec.class = vec!["gptr_spec".into()];
    let request = Request { registry: engine.registry.scratch(), load: None, spec, record: "r0".into(), tokens };
    let mut task = check::task(&engine, request);
    loop {
        match task.next() {
            Step::Call { id, call } => task.reply(id, answer(&call)),
            Step::Done(outcome) => {
                let text = |row: &Value, name: &str| row[name].as_str().unwrap_or_default().to_owned();
                let list = outcome.unwrap().as_array().cloned().unwrap_or_default();
                return list.iter().map(|r| (text(r, "check"), r["ok"] == json!(true), text(r, "message"))).collect();
            }
            other => panic!("{other:?}"),
        }
    }
}

fn value(v: Value) -> HostReply {
    HostReply::Value(host(&v))
}

fn processes(ids: &[&str]) -> HostReply {
    value(json!({"processes": ids}))
}

fn outcome(rows: &[(String, bool, String)]) -> Vec<(&str, bool)> {
    rows.iter().skip(2).map(|(check, ok, _)| (check.as_str(), *ok)).collect()
}

fn backend() -> Value {
    json!({"kind": "backend", "name": "b", "start": true, "cancel": true})
}

#[test]
fn a_backend_is_given_time_to_end_its_processes() {
    let mut looks = 0;
    let rows = rows(backend(), None, |call| match call.handler.field.as_str() {
        "child_processes" => {
            looks += 1;
            if (2..5).contains(&looks) { processes(&["7:1", "8:2"]) } else { processes(&["7:1"]) }
        }
        _ => HostReply::null(),
    });
    assert_eq!(outcome(&rows), [("backend.start", true), ("backend.cancel", true), ("backend.processes", true)]);
    assert_eq!(looks, 5);
}

#[test]
fn without_sight_of_processes_a_backend_is_not_started() {
    let rows = rows(backend(), None, |call| {
        assert_eq!(call.handler.field, "child_processes");
        HostReply::null()
    });
    assert_eq!(outcome(&rows), [("backend.processes", false)]);
}

#[test]
fn a_backend_that_does_not_start_is_not_cancelled() {
    let rows = rows(backend(), None, |call| match call.handler.field.as_str() {
        "backend_start" => HostReply::Timeout,
        "child_processes" => processes(&[]),
        other => panic!("{other}"),
    });
    assert_eq!(outcome(&rows), [("backend.start", false), ("backend.processes", true)]);
    assert_eq!(rows[2].2, "timed out");
}

#[test]
fn an_adapter_without_the_service_for_it_has_no_rows_of_its_own() {
    let adapter = json!({"kind": "adapter", "name": "a", "api": "a", "transport": "inprocess", "stream": true});
    let rows = rows(adapter, None, |call| panic!("{call:?}"));
    assert_eq!(outcome(&rows), []);
}

#[test]
fn examples_are_measured_against_the_tools_budget_or_the_given_one() {
    let tool = |extra: Value| {
        let mut tool =
            json!({"kind": "tool", "name": "t", "description": "d", "fun": true, "exposure": "r", "examples": [{}]});
        tool.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        rows(tool, Some(10), |call| match call.handler.field.as_str() {
            "check_example" => value(json!("a line that is longer than ten tokens, surely")),
            _ => HostReply::null(),
        })
    };
    let last = |rows: Vec<(String, bool, String)>| rows.last().cloned().unwrap();
    let (check, ok, message) = last(tool(json!({})));
    assert_eq!((check.as_str(), ok), ("tokens.example.1", false));
    assert!(message.ends_with("budget 10"), "{message}");
    assert!(last(tool(json!({"output_tokens": 100}))).1);
}
