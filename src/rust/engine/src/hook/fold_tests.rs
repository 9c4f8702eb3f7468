#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;

impl Answer {
    /// The answer in the short form of these tests.
    fn to_json(&self) -> Value {
        match self {
            Answer::None => Value::Null,
            Answer::Collected(m) | Answer::First(m) => Value::Object(m.clone()),
            Answer::Text { action, text } => json!({"action": action, "text": text}),
            Answer::Decision { decision, reason, input } => {
                json!({"decision": decision, "reason": reason, "input": input})
            }
            Answer::Patched(payload) => payload.clone(),
            Answer::Refused(reason) => json!({"refused": reason}),
            Answer::Lines { block, reason, lines } => json!({"block": block, "reason": reason, "lines": lines}),
        }
    }
}

fn list(fields: &[(&str, HostValue)]) -> HostReply {
    HostReply::Value(HostValue::named(fields.iter().cloned()))
}

fn strings(pairs: &[(&str, &str)]) -> HostValue {
    HostValue::named(pairs.iter().map(|(n, v)| (*n, HostValue::from(*v))))
}

/// Dispatches to handlers `(owner, reply)` until one stops.
fn dispatch(event: &str, payload: Value, replies: &[(&str, HostReply)]) -> (Outcome, usize) {
    let mut fold = Fold::new(event, payload).unwrap();
    let mut called = 0;
    for (owner, reply) in replies {
        called += 1;
        if fold.answer(owner, reply) == Flow::Stop {
            break;
        }
    }
    (fold.finish(), called)
}

fn call() -> Value {
    json!({"tool_name": "r", "tool_call_id": "c1", "input": {"code": "1"}})
}

fn classes(outcome: &Outcome) -> Vec<&str> {
    outcome.diagnostics.iter().map(|d| d.class.as_str()).collect()
}

#[test]
fn an_unknown_event_is_refused_with_a_hint() {
    let error = Fold::new("PreToolUse", json!({})).unwrap_err();
    assert!(error.to_string().contains("did you mean 'tool_call'?"), "{error}");
    assert!(Fold::new("demo:done", json!({})).is_ok());
}

#[test]
fn case_85_dispatch_without_handlers() {
    let of = |event: &str, payload: Value| dispatch(event, payload, &[]).0.answer.to_json();
    assert_eq!(of("agent_start", json!({})), Value::Null);
    assert_eq!(of("session_start", json!({})), json!({}));
    assert_eq!(of("input", json!({"text": "hi"})), json!({"action": "continue", "text": "hi"}));
    assert_eq!(of("tool_call", call()), json!({"decision": "allow", "reason": null, "input": {"code": "1"}}));
    assert_eq!(of("permission_request", json!({})), Value::Null);
    assert_eq!(of("tool_result", json!({"is_error": true})), json!({"is_error": true}));
    assert_eq!(of("document_write", json!({"lines": ["a"]})), json!({"block": false, "reason": null, "lines": ["a"]}));
}

#[test]
fn case_86_a_throwing_observer_is_reported_and_the_others_run() {
    let replies = [("session", HostReply::null()), ("user", HostReply::error("boom")), ("plugin:a", HostReply::null())];
    let (outcome, called) = dispatch("turn_end", json!({}), &replies);
    assert_eq!(called, 3);
    assert_eq!(outcome.answer, Answer::None);
    let d = &outcome.diagnostics[0];
    assert_eq!(
        (d.source.as_str(), d.event.as_str(), d.class.as_str(), d.message.as_str()),
        ("user", "turn_end", "simpleError", "boom")
    );
}

#[test]
fn case_87_sections_merge_earlier_first_and_blocks_share_a_cap() {
    let block = |name: &str, n: usize| strings(&[("name", name), ("text", &"x".repeat(n))]);
    let a = list(&[("sections", strings(&[("house", "A")])), ("blocks", HostValue::list([block("a", 9000)]))]);
    let b = list(&[
        ("sections", strings(&[("house", "B"), ("extra", "E")])),
        ("blocks", HostValue::list([block("b", 2000), block("c", 5)])),
    ]);
    let (outcome, _) = dispatch("session_start", json!({}), &[("one", a), ("two", b)]);
    let merged = outcome.answer.to_json();
    assert_eq!(merged["sections"], json!({"house": "A", "extra": "E"}));
    let texts: Vec<usize> =
        merged["blocks"].as_array().unwrap().iter().map(|b| b["text"].as_str().unwrap().len()).collect();
    assert_eq!(texts, [9000, 1000]);
    assert_eq!(classes(&outcome), ["context_cap"]);
    assert_eq!(outcome.diagnostics[0].source, "two");
}

#[test]
fn collected_scalars_concatenate_and_a_change_of_type_is_reported() {
    let a = list(&[("skill_paths", "a".into()), ("x", strings(&[("k", "1")]))]);
    let b = list(&[("skill_paths", HostValue::strings(["b", "c"])), ("x", "no".into())]);
    let (outcome, _) = dispatch("resources_discover", json!({}), &[("a", a), ("b", b)]);
    assert_eq!(outcome.answer.to_json(), json!({"skill_paths": ["a", "b", "c"], "x": {"k": "1"}}));
    assert_eq!(classes(&outcome), ["malformed_answer"]);
}

#[test]
fn case_88_input_flows_on_and_handled_stops() {
    let mut fold = Fold::new("input", json!({"text": "hi"})).unwrap();
    fold.answer("a", &list(&[("action", "transform".into()), ("text", "HI".into())]));
    assert_eq!(fold.payload()["text"], "HI");
    fold.answer("b", &list(&[("action", "transform".into()), ("text", "HI !".into())]));
    assert_eq!(fold.finish().answer.to_json(), json!({"action": "transform", "text": "HI !"}));

    let handled = list(&[("action", "handled".into())]);
    let (outcome, called) =
        dispatch("input", json!({"text": "hi"}), &[("a", handled), ("b", HostReply::error("not run"))]);
    assert_eq!((outcome.answer.to_json(), called), (json!({"action": "handled", "text": "hi"}), 1));
}

#[test]
fn changed_input_is_joined_and_cut_and_bad_answers_are_reported() {
    let long = list(&[("action", "transform".into()), ("text", "\u{e9}".repeat(TEXT_CAP + 1).into())]);
    let (outcome, _) = dispatch("input", json!({"text": "hi"}), &[("a", long)]);
    let Answer::Text { text, .. } = &outcome.answer else { panic!("no text") };
    assert_eq!(text.chars().count(), TEXT_CAP);
    assert_eq!(classes(&outcome), ["context_cap"]);

    let joined = list(&[("action", "transform".into()), ("text", HostValue::strings(["a", "b"]))]);
    let na = list(&[("action", "transform".into()), ("text", HostData::Character(vec![None]).into())]);
    let wrong = list(&[("action", "Transform".into()), ("text", "x".into())]);
    let (outcome, _) = dispatch(
        "input",
        json!({"text": "hi"}),
        &[("a", joined), ("b", na), ("c", wrong), ("d", "x".to_owned().into())],
    );
    assert_eq!(outcome.answer.to_json()["text"], "a\nb");
    assert_eq!(classes(&outcome), ["malformed_answer", "malformed_answer"]);
}

impl From<String> for HostReply {
    fn from(s: String) -> Self {
        HostReply::Value(s.into())
    }
}

#[test]
fn case_89_tool_call_modify_then_a_throwing_hook_blocks() {
    let modify = list(&[("decision", "modify".into()), ("input", strings(&[("code", "2")]))]);
    let (outcome, _) =
        dispatch("tool_call", call(), &[("plugin:a", modify), ("plugin:bad", HostReply::error("hook bug"))]);
    let Answer::Decision { decision, reason, input } = &outcome.answer else { panic!("no decision") };
    assert_eq!(*decision, "block");
    assert!(reason.as_ref().unwrap().contains("plugin:bad failed: hook bug"));
    assert_eq!(*input, json!({"code": "2"}));
}

#[test]
fn case_89_malformed_answers_of_tool_call_block() {
    let na: HostValue = HostData::Character(vec![None]).into();
    let mut frame = HostValue::named([("decision", "allow".into())]);
    frame.class = vec!["data.frame".into()];
    let bad = [
        list(&[("decision", "deny".into())]),
        list(&[("decision", "modify".into()), ("input", "x".into())]),
        list(&[("decision", "modify".into())]),
        list(&[("decision", "modify".into()), ("input", HostValue::list([1.into()]))]),
        list(&[("decision", na)]),
        list(&[("decision", HostValue::strings(["allow", "allow"]))]),
        list(&[("dec", "block".into())]),
        list(&[("reason", "no".into())]),
        list(&[("decision", "allow".into()), ("decision", "block".into())]),
        list(&[("decision", "block".into()), ("reason", 1.into())]),
        HostReply::Value(frame),
        HostReply::Value(HostValue::list(["block".into()])),
    ];
    for reply in bad {
        let (outcome, _) = dispatch("tool_call", call(), &[("h", reply.clone())]);
        assert_eq!(outcome.answer.to_json()["decision"], "block", "{reply:?}");
        assert_eq!(classes(&outcome), ["malformed_decision"], "{reply:?}");
    }
    for none in [
        HostReply::null(),
        "block".to_owned().into(),
        HostReply::Value(1.into()),
        HostReply::Value(HostValue::list([])),
    ] {
        let (outcome, _) = dispatch("tool_call", call(), &[("h", none)]);
        assert_eq!(outcome.answer.to_json()["decision"], "allow");
        assert!(outcome.diagnostics.is_empty());
    }
}

#[test]
fn h19_h20_rewrites_chain_in_order_and_no_opinion_keeps_them() {
    let code = |c: &str| list(&[("decision", "modify".into()), ("input", strings(&[("code", c)]))]);
    let mut fold = Fold::new("tool_call", call()).unwrap();
    fold.answer("a", &code("A"));
    assert_eq!(fold.payload()["input"]["code"], "A");
    fold.answer("b", &code("B"));
    fold.answer("c", &HostReply::null());
    assert_eq!(fold.finish().answer.to_json(), json!({"decision": "modify", "reason": null, "input": {"code": "B"}}));
}

#[test]
fn h10_a_block_without_a_reason_names_its_owner_and_stops() {
    let block = list(&[("decision", "block".into())]);
    let (outcome, called) = dispatch("tool_call", call(), &[("plugin:a", block), ("b", HostReply::null())]);
    assert_eq!((outcome.answer.to_json()["reason"].as_str(), called), (Some("blocked by plugin:a"), 1));
}

#[test]
fn h13_h14_h73_every_exit_of_a_decision_handler_denies_and_only_an_interrupt_aborts() {
    for (reply, word, abort) in [
        (HostReply::Timeout, "timed out", false),
        (HostReply::Abort, "aborted", false),
        (HostReply::Interrupt, "interrupted", true),
    ] {
        for event in ["tool_call", "permission_request", "document_write"] {
            let (outcome, _) = dispatch(event, call(), &[("plugin:slow", reply.clone())]);
            let text = outcome.answer.to_json()["reason"].as_str().unwrap().to_owned();
            assert!(text.contains(word) && text.contains("plugin:slow"), "{text}");
            assert_eq!(outcome.abort, abort);
            assert_eq!(outcome.diagnostics.len(), 1);
        }
    }
    let (outcome, called) = dispatch("turn_end", json!({}), &[("a", HostReply::Interrupt), ("b", HostReply::null())]);
    assert!(outcome.abort && called == 2);
}

#[test]
fn case_90_permission_request_takes_the_first_decision() {
    let d = |d: &str| list(&[("decision", d.into())]);
    let of = |replies: &[(&str, HostReply)]| dispatch("permission_request", json!({}), replies).0;
    let thrown = of(&[("plugin:p", HostReply::error("bug"))]);
    assert_eq!(thrown.answer.to_json(), json!({"decision": "deny", "reason": "plugin:p failed: bug"}));
    let allowed = of(&[("a", HostReply::null()), ("b", d("allow")), ("c", d("deny"))]);
    assert_eq!(allowed.answer.to_json(), json!({"decision": "allow"}));
    assert_eq!(of(&[("a", "yes".to_owned().into())]).answer, Answer::None);
    let odd = of(&[("a", d("yes")), ("b", d("allow"))]);
    assert_eq!(odd.answer.to_json()["decision"], "deny");
    assert_eq!(classes(&odd), ["malformed_decision"]);
    assert_eq!(of(&[("a", d("deny"))]).answer.to_json()["reason"], "denied by a");
}

#[test]
fn case_91_session_before_fork_skips_a_throwing_handler() {
    let cancel = list(&[("cancel", true.into()), ("reason", "busy".into())]);
    let (outcome, _) = dispatch("session_before_fork", json!({}), &[("a", HostReply::error("x")), ("b", cancel)]);
    assert_eq!(outcome.answer.to_json(), json!({"cancel": true, "reason": "busy"}));
    assert_eq!(outcome.diagnostics.len(), 1);
}

#[test]
fn h68_a_result_is_patched_field_by_field_and_stays_an_error() {
    let payload =
        json!({"tool_name": "r", "content": [{"type": "text", "text": "old"}], "details": null, "is_error": true});
    let text = |t: &str| HostValue::list([strings(&[("type", "text"), ("text", t)])]);
    let mut fold = Fold::new("tool_result", payload).unwrap();
    fold.answer("a", &list(&[("content", text("new")), ("tool_name", "x".into())]));
    fold.answer("b", &list(&[("is_error", "no".into()), ("details", HostValue::named([("n", 1.into())]))]));
    fold.answer("c", &list(&[("content", "plain".into())]));
    let outcome = fold.finish();
    let patched = outcome.answer.to_json();
    assert_eq!(patched["content"][0]["text"], "new");
    assert_eq!(patched["details"], json!({"n": 1}));
    assert_eq!((&patched["is_error"], &patched["tool_name"]), (&json!(true), &json!("r")));
    assert_eq!(classes(&outcome), ["patch_ignored", "patch_ignored", "patch_ignored"]);
}

#[test]
fn request_params_merge_key_by_key() {
    let params = list(&[
        ("params", HostValue::named([("temperature", 0.5.into()), ("top_k", 3.into())])),
        ("model", "m2".into()),
    ]);
    let payload = json!({"model": "m", "params": {"temperature": 1, "max_tokens": 9}});
    let (outcome, _) = dispatch("request_params", payload, &[("a", params)]);
    assert_eq!(
        outcome.answer.to_json(),
        json!({"model": "m", "params": {"temperature": 0.5, "max_tokens": 9, "top_k": 3}})
    );
    assert_eq!(classes(&outcome), ["patch_ignored"]);
}

#[test]
fn a_failing_patch_of_a_request_refuses_it() {
    let payload = json!({"headers": {"X-A": "1", "x-b": "2"}});
    let set = list(&[("headers", HostValue::named([("x-a", "3".into()), ("X-B", HostValue::null())]))]);
    let (outcome, _) = dispatch("request_headers", payload.clone(), &[("a", set)]);
    assert_eq!(outcome.answer.to_json()["headers"], json!({"x-a": "3"}));
    let split = list(&[("headers", HostValue::named([("x-a", "3\r\nevil: 1".into())]))]);
    for bad in [split, HostReply::error("no key"), HostReply::Timeout] {
        let (outcome, _) = dispatch("request_headers", payload.clone(), &[("a", bad)]);
        assert!(matches!(outcome.answer, Answer::Refused(_)));
    }
}

#[test]
fn document_write_blocks_or_replaces_lines() {
    let payload = json!({"lines": ["a"]});
    let (outcome, _) = dispatch("document_write", payload.clone(), &[("a", list(&[("lines", "b".into())]))]);
    assert_eq!(outcome.answer.to_json(), json!({"block": false, "reason": null, "lines": ["b"]}));
    let na = list(&[("block", HostData::Logical(vec![None]).into())]);
    for bad in [na, list(&[("lines", 1.into())]), list(&[("block", true.into()), ("reason", 2.into())])] {
        let (outcome, _) = dispatch("document_write", payload.clone(), &[("a", bad)]);
        assert_eq!(outcome.answer.to_json()["block"], true);
        assert_eq!(classes(&outcome), ["malformed_answer"]);
    }
}

#[test]
fn a_matcher_function_has_to_say_true() {
    let mut fold = Fold::new("tool_call", call()).unwrap();
    assert_eq!(fold.matched("a", &HostReply::Value(true.into())), Matched::Yes);
    for no in [HostReply::null(), HostReply::Value(1.into()), HostReply::Value("TRUE".into())] {
        assert_eq!(fold.matched("a", &no), Matched::No);
    }
    assert_eq!(fold.matched("a", &HostReply::error("bad matcher")), Matched::Stop);
    assert_eq!(fold.finish().answer.to_json()["decision"], "block");
    let mut fold = Fold::new("tool_execution_start", call()).unwrap();
    assert_eq!(fold.matched("a", &HostReply::error("bad matcher")), Matched::No);
    assert_eq!(fold.finish().diagnostics.len(), 1);
}

#[test]
fn h77_messages_are_values_never_formats() {
    let (outcome, _) = dispatch("tool_call", call(), &[("p", HostReply::error("{unlink(\"x\")} %s"))]);
    assert_eq!(outcome.answer.to_json()["reason"], "p failed: {unlink(\"x\")} %s");
}
