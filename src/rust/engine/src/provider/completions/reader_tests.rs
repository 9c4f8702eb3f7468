//! Known faults of readers, each with the smallest stream that shows it.

use super::reader::{Options, Reader};
use crate::message::{Block, Failure, FailureClass, Reply, StopReason, StreamEvent, Usage};
use crate::provider::body::BodyReader;
use crate::provider::compat::Compat;
use crate::provider::normalise::{Normaliser, OneTerminal, is_terminal};
use crate::value::{Value, json};

/// A delta of the first choice.
fn d(delta: Value) -> String {
    format!("data: {}\n\n", json!({"choices": [{"index": 0, "delta": delta}]}))
}

/// A delta with one fragment of a call.
fn t(fragment: Value) -> String {
    d(json!({"tool_calls": [fragment]}))
}

/// A finish reason.
fn f(reason: &str) -> String {
    format!("data: {}\n\n", json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}))
}

fn options() -> Options {
    Options { provider: "p".into(), model: "m".into(), request_id: "q1".into(), ..Options::default() }
}

fn events_with(options: Options, bytes: &[u8], size: usize) -> Vec<StreamEvent> {
    let mut reader = OneTerminal::new(Box::new(Reader::new(options)));
    let mut body = BodyReader::default();
    let (mut events, mut out) = (Vec::new(), Vec::new());
    for chunk in bytes.chunks(size) {
        body.push(chunk, &mut events).unwrap();
        events.drain(..).for_each(|e| reader.push(&e, &mut out));
    }
    body.finish(&mut events).unwrap();
    events.drain(..).for_each(|e| reader.push(&e, &mut out));
    reader.finish(&mut out);
    out
}

fn events(parts: &[String]) -> Vec<StreamEvent> {
    events_with(options(), parts.concat().as_bytes(), usize::MAX)
}

fn end(events: Vec<StreamEvent>) -> (Reply, Option<Failure>) {
    assert_eq!(events.iter().filter(|e| is_terminal(e)).count(), 1);
    match events.into_iter().last() {
        Some(StreamEvent::Done { reply }) => (*reply, None),
        Some(StreamEvent::Error { reply, failure }) => (*reply, Some(failure)),
        other => panic!("{other:?} is no terminal event"),
    }
}

fn reply(parts: &[String]) -> Reply {
    let (reply, failure) = end(events(parts));
    assert_eq!(failure, None);
    reply
}

fn failure(parts: &[String]) -> (Reply, Failure) {
    let (reply, failure) = end(events(parts));
    (reply, failure.expect("a failure"))
}

fn text(reply: &Reply) -> String {
    crate::message::text_of(&reply.content)
}

/// Name, arguments and raw text of the calls.
fn calls(reply: &Reply) -> Vec<(String, Value, Option<String>)> {
    let call = |b: &Block| match b {
        Block::ToolCall { name, arguments, raw_arguments, .. } => {
            Some((name.clone(), arguments.clone(), raw_arguments.clone()))
        }
        _ => None,
    };
    reply.content.iter().filter_map(call).collect()
}

fn named(reply: &Reply) -> Vec<(String, Value)> {
    calls(reply).into_iter().map(|(name, arguments, _)| (name, arguments)).collect()
}

fn ids(reply: &Reply) -> Vec<String> {
    let id = |b: &Block| match b {
        Block::ToolCall { id, .. } => Some(id.clone()),
        _ => None,
    };
    reply.content.iter().filter_map(id).collect()
}

fn pair(name: &str, arguments: Value) -> (String, Value) {
    (name.to_owned(), arguments)
}

fn fragment(index: u64, id: &str, name: &str, arguments: &str) -> String {
    t(json!({"index": index, "id": id, "function": {"name": name, "arguments": arguments}}))
}

#[test]
fn a_text_reply_gives_these_events() {
    let out = events(&[
        "data: {\"id\":\"c-1\",\"model\":\"m-a\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n\n".into(),
        d(json!({"content": "It is "})),
        d(json!({"content": "raining."})),
        f("stop"),
        "data: [DONE]\n\n".into(),
    ]);
    let delta = |text: &str| StreamEvent::TextDelta { index: 1, text: text.into() };
    assert_eq!(
        out[..5],
        [
            StreamEvent::Start { response_id: Some("c-1".into()), response_model: Some("m-a".into()) },
            StreamEvent::TextStart { index: 1 },
            delta("It is "),
            delta("raining."),
            StreamEvent::TextEnd { index: 1 },
        ]
    );
    assert!(matches!(out[5..], [StreamEvent::Done { .. }]));
}

#[test]
fn a_call_gives_these_events() {
    let out = events(&[
        fragment(0, "k", "ls", ""),
        t(json!({"index": 0, "function": {"arguments": "{\"dir\":"}})),
        t(json!({"index": 0, "function": {"arguments": "1}"}})),
        f("tool_calls"),
    ]);
    let delta = |json: &str| StreamEvent::ToolCallDelta { index: 1, json: json.into() };
    assert_eq!(
        out[1..5],
        [
            StreamEvent::ToolCallStart { index: 1, id: "k".into(), name: "ls".into() },
            delta("{\"dir\":"),
            delta("1}"),
            StreamEvent::ToolCallEnd { index: 1 },
        ]
    );
}

#[test]
fn b10_an_empty_event_is_skipped() {
    assert_eq!(text(&reply(&["data:\n\n".into(), d(json!({"content": "x"})), f("stop")])), "x");
}

#[test]
fn b16_an_error_object_ends_the_stream_with_its_class_and_message() {
    let (_, f) = failure(&["data: {\"error\":{\"message\":\"no quota\",\"code\":\"insufficient_quota\"}}\n\n".into()]);
    assert_eq!((f.class, f.message.as_str()), (FailureClass::SpendCap, "no quota"));
}

#[test]
fn b16_an_error_may_be_a_string_or_have_another_name() {
    for (data, message) in [
        (r#"{"error":"boom"}"#, "boom"),
        (r#"{"object":"error","message":"boom","code":400}"#, "boom"),
        (r#"{"detail":"boom"}"#, "boom"),
        (
            r#"{"choices":[{"index":0,"delta":{"content":""},"error":{"message":"boom"},"finish_reason":"error"}]}"#,
            "boom",
        ),
    ] {
        assert_eq!(failure(&[format!("data: {data}\n\n")]).1.message, message, "{data}");
    }
    let (_, f) = failure(&["event: error\ndata: plain words\n\n".into()]);
    assert_eq!(f.message, "plain words");
}

#[test]
fn b17_an_error_field_ends_the_stream() {
    let (_, f) = failure(&["error: {\"code\":500,\"message\":\"slot failed\"}\n\n".into()]);
    assert_eq!((f.class, f.status), (FailureClass::Overloaded, Some(500)));
}

#[test]
fn b26_a_cut_reply_is_a_network_failure_that_keeps_its_text() {
    let (reply, f) = failure(&[d(json!({"content": "The result is"}))]);
    assert_eq!(f.class, FailureClass::Network);
    assert_eq!((text(&reply).as_str(), reply.stop_reason), ("The result is", StopReason::Error));
    let (_, f) = failure(&[d(json!({"content": "x"})), "data: [DONE]\n\n".into()]);
    assert_eq!(f.class, FailureClass::Network);
}

#[test]
fn b26_a_host_without_finish_reasons_may_end_like_that() {
    let compat = Compat { supports_finish_reason: false, ..Compat::default() };
    let (reply, f) = end(events_with(Options { compat, ..options() }, d(json!({"content": "x"})).as_bytes(), 99));
    assert_eq!((reply.stop_reason, f), (StopReason::Stop, None));
}

#[test]
fn b28_a_second_finish_reason_changes_nothing() {
    let r = reply(&[fragment(0, "k", "f", "{}"), f("tool_calls"), f("stop")]);
    assert_eq!(r.stop_reason, StopReason::ToolUse);
    let r = reply(&[d(json!({"content": "x"})), f("length"), f("stop")]);
    assert_eq!(r.stop_reason, StopReason::Length);
}

#[test]
fn b29_stop_after_a_call_is_tool_use() {
    assert_eq!(reply(&[fragment(0, "k", "f", "{}"), f("stop")]).stop_reason, StopReason::ToolUse);
}

#[test]
fn b31_end_is_stop() {
    assert_eq!(reply(&[d(json!({"content": "x"})), f("end")]).stop_reason, StopReason::Stop);
}

#[test]
fn b32_an_unknown_finish_reason_is_an_error_that_keeps_it() {
    let (r, failed) = failure(&[d(json!({"content": "x"})), f("sensitive")]);
    assert_eq!((r.raw_stop_reason.as_deref(), failed.class), (Some("sensitive"), FailureClass::Provider));
}

#[test]
fn b34_calls_that_all_have_index_0_stay_apart() {
    let r = reply(&[fragment(0, "k1", "f", "{}"), fragment(0, "k2", "g", "{}"), f("tool_calls")]);
    assert_eq!(named(&r), [pair("f", json!({})), pair("g", json!({}))]);
    assert_eq!(ids(&r), ["k1", "k2"]);
}

#[test]
fn b34_without_ids_another_name_after_whole_arguments_is_another_call() {
    let call = |name: &str| t(json!({"index": 0, "function": {"name": name, "arguments": "{\"a\":1}"}}));
    assert_eq!(named(&reply(&[call("f"), call("g"), f("tool_calls")])).len(), 2);
}

#[test]
fn b35_interleaved_fragments_go_to_their_calls() {
    let more = |index: u64, text: &str| t(json!({"index": index, "function": {"arguments": text}}));
    let r = reply(&[
        fragment(0, "a", "f", "{\"x\""),
        fragment(1, "b", "g", "{"),
        more(0, ":1}"),
        more(1, "}"),
        f("tool_calls"),
    ]);
    assert_eq!(named(&r), [pair("f", json!({"x": 1})), pair("g", json!({}))]);
}

#[test]
fn b36_a_repeated_name_is_not_joined() {
    let r = reply(&[fragment(0, "k", "f", "{"), fragment(0, "k", "f", "}"), f("tool_calls")]);
    assert_eq!(named(&r), [pair("f", json!({}))]);
}

#[test]
fn b37_pieces_of_a_name_are_joined_only_to_an_offered_tool() {
    let stream = [
        fragment(0, "k", "read", ""),
        fragment(0, "k", "_file", ""),
        t(json!({"index": 0, "function": {"arguments": "{}"}})),
        f("tool_calls"),
    ]
    .concat();
    let name = |tools: &[&str]| {
        let tools = tools.iter().map(|t| (*t).to_owned()).collect();
        let out = events_with(Options { tools, ..options() }, stream.as_bytes(), 99);
        let shown = out.iter().find_map(|e| match e {
            StreamEvent::ToolCallStart { name, .. } => Some(name.clone()),
            _ => None,
        });
        let (reply, _) = end(out);
        assert_eq!(shown.as_deref(), Some(named(&reply)[0].0.as_str()));
        named(&reply)[0].0.clone()
    };
    assert_eq!(name(&["read_file"]), "read_file");
    assert_eq!(name(&["read", "read_file"]), "read");
    assert_eq!(name(&["other"]), "read");
}

#[test]
fn b38_null_and_empty_never_overwrite_a_name() {
    let more = |name: Value| t(json!({"index": 0, "id": "", "function": {"name": name, "arguments": ""}}));
    let r = reply(&[
        fragment(0, "k", "f", "{"),
        more(Value::Null),
        more(json!("")),
        t(json!({"index": 0, "function": {"name": null, "arguments": "}"}})),
        f("tool_calls"),
    ]);
    assert_eq!((named(&r), ids(&r)), (vec![pair("f", json!({}))], vec!["k".to_owned()]));
}

#[test]
fn b40_arguments_may_be_an_object() {
    let r =
        reply(&[t(json!({"index": 0, "id": "k", "function": {"name": "f", "arguments": {"a": 1}}})), f("tool_calls")]);
    assert_eq!(calls(&r), [("f".to_owned(), json!({"a": 1}), None)]);
}

#[test]
fn b43_a_call_cut_by_the_limit_keeps_its_raw_text() {
    let raw = "{\"path\":\"a\",\"text\":\"ab";
    let r = reply(&[fragment(0, "k", "write", raw), f("length")]);
    assert_eq!(r.stop_reason, StopReason::Length);
    assert_eq!(calls(&r), [("write".to_owned(), json!({"path": "a", "text": "ab"}), Some(raw.to_owned()))]);
}

#[test]
fn b50_several_calls_in_one_delta_all_survive() {
    let two = d(json!({"tool_calls": [
        {"id": "a", "function": {"name": "f", "arguments": "{\"x\":1}"}},
        {"id": "b", "function": {"name": "f", "arguments": "{\"x\":2}"}},
    ]}));
    assert_eq!(named(&reply(&[two, f("tool_calls")])), [pair("f", json!({"x": 1})), pair("f", json!({"x": 2}))]);
}

#[test]
fn b55_ids_models_and_reasons_are_not_joined() {
    let chunk = |model: &str| {
        format!(
            "data: {}\n\n",
            json!({"id": "i", "model": model, "choices": [{"delta": {"content": "x"}, "finish_reason": "stop"}]})
        )
    };
    let r = reply(&[chunk("a"), chunk("b")]);
    assert_eq!((r.response_model.as_deref(), r.response_id.as_deref()), (Some("a"), Some("i")));
}

#[test]
fn b56_a_repeated_delta_is_not_dropped() {
    assert_eq!(text(&reply(&[d(json!({"content": "ha"})), d(json!({"content": "ha"})), f("stop")])), "haha");
    let one = || t(json!({"index": 0, "function": {"arguments": "1"}}));
    let r = reply(&[fragment(0, "k", "f", ""), one(), one(), f("tool_calls")]);
    assert_eq!(named(&r)[0].1, json!(11));
}

#[test]
fn b61_absent_usage_is_unknown() {
    assert_eq!(reply(&[d(json!({"content": "x"})), f("stop")]).usage, Usage::default());
}

#[test]
fn b62_usage_in_a_chunk_without_choices_is_recorded() {
    let usage = "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":1}}\n\n";
    let r = reply(&[d(json!({"content": "x"})), f("stop"), usage.into()]);
    assert_eq!((r.usage.input, r.usage.output), (Some(3), Some(1)));
}

#[test]
fn b82_raw_control_characters_in_arguments_are_repaired() {
    let r = reply(&[fragment(0, "k", "f", "{\"t\":\"a\nb\"}"), f("tool_calls")]);
    assert_eq!(named(&r)[0].1, json!({"t": "a\nb"}));
}

#[test]
fn h35_repeated_names_in_arguments_keep_the_raw_text() {
    let raw = "{\"a\":1,\"a\":2}";
    assert_eq!(calls(&reply(&[fragment(0, "k", "f", raw), f("tool_calls")]))[0].2.as_deref(), Some(raw));
}

#[test]
fn calls_of_one_id_get_ids_of_their_own() {
    let r = reply(&[fragment(0, "k", "f", "{}"), fragment(1, "k", "g", "{}"), f("tool_calls")]);
    assert_eq!(ids(&r), ["k", "k_2"]);
}

#[test]
fn a_call_without_an_id_gets_one() {
    let r = reply(&[t(json!({"index": 0, "function": {"name": "f", "arguments": "{}"}})), f("tool_calls")]);
    assert_eq!(ids(&r), ["call_q1_1"]);
}

#[test]
fn a_name_may_come_after_the_first_arguments() {
    let r = reply(&[
        t(json!({"index": 0, "id": "k", "function": {"arguments": "{\"a\""}})),
        t(json!({"index": 0, "function": {"name": "f", "arguments": ":1}"}})),
        f("tool_calls"),
    ]);
    assert_eq!(named(&r), [pair("f", json!({"a": 1}))]);
}

#[test]
fn fragments_may_be_numbered_from_the_second_on() {
    let first = t(json!({"id": "k", "function": {"name": "f", "arguments": "{\"a\":"}}));
    let r = reply(&[first, t(json!({"index": 0, "function": {"arguments": "1}"}})), f("tool_calls")]);
    assert_eq!(named(&r), [pair("f", json!({"a": 1}))]);
}

#[test]
fn reasoning_under_two_keys_is_read_once_and_the_key_remembered() {
    let r = reply(&[d(json!({"reasoning_content": "hm", "reasoning": "hm"})), d(json!({"content": "x"})), f("stop")]);
    let [Block::Thinking { thinking, origin: Some(origin), .. }, Block::Text { .. }] = r.content.as_slice() else {
        panic!("{r:?}")
    };
    assert_eq!((thinking.as_str(), &origin["field"]), ("hm", &json!("reasoning_content")));
}

#[test]
fn reasoning_details_are_kept_joined_by_entry() {
    let piece = |text: &str, signature: Value| {
        d(
            json!({"reasoning": text, "reasoning_details": [{"type": "reasoning.text", "index": 0, "text": text, "signature": signature}]}),
        )
    };
    let r = reply(&[piece("a", Value::Null), piece("b", json!("sig")), d(json!({"content": "x"})), f("stop")]);
    let Some(Block::Opaque { json, .. }) = r.content.last() else { panic!() };
    assert_eq!(
        json["reasoning_details"],
        json!([{"type": "reasoning.text", "index": 0, "text": "ab", "signature": "sig"}])
    );
}

#[test]
fn content_arrays_mix_text_and_thinking() {
    let parts =
        json!([{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}, {"type": "text", "text": "x"}]);
    let r = reply(&[d(json!({"content": parts})), f("stop")]);
    assert!(matches!(r.content.as_slice(), [Block::Thinking { .. }, Block::Text { .. }]));
}

#[test]
fn think_tags_are_read_where_the_host_leaves_them() {
    let compat = Compat { think_tags: true, ..Compat::default() };
    let stream = [d(json!({"content": "<thi"})), d(json!({"content": "nk>hm</think>x"})), f("stop")].concat();
    let (r, _) = end(events_with(Options { compat, ..options() }, stream.as_bytes(), 5));
    assert!(matches!(r.content.as_slice(), [Block::Thinking { .. }, Block::Text { .. }]), "{r:?}");
}

#[test]
fn a_refusal_is_no_text_but_kept() {
    let r = reply(&[d(json!({"refusal": "I can't"})), f("stop")]);
    assert_eq!(r.stop_reason, StopReason::Refusal);
    let [Block::Opaque { json, .. }] = r.content.as_slice() else { panic!() };
    assert_eq!(json["refusal"], "I can't");
}

#[test]
fn a_filtered_reply_is_a_refusal_that_keeps_the_reason() {
    let r = reply(&[d(json!({"content": "x"})), f("content_filter")]);
    assert_eq!((r.stop_reason, r.raw_stop_reason.as_deref()), (StopReason::Refusal, Some("content_filter")));
}

#[test]
fn tool_calls_without_a_call_is_an_error_unless_there_is_text() {
    assert_eq!(failure(&[f("tool_calls")]).1.class, FailureClass::Provider);
    assert_eq!(reply(&[d(json!({"content": "x"})), f("tool_calls")]).stop_reason, StopReason::Stop);
}

#[test]
fn a_full_window_as_finish_reason_is_an_overflow() {
    assert_eq!(failure(&[f("model_context_window_exceeded")]).1.class, FailureClass::ContextOverflow);
}

#[test]
fn what_follows_the_end_is_ignored() {
    let r = reply(&[
        d(json!({"content": "x"})),
        f("stop"),
        "data: [DONE]\n\n".into(),
        d(json!({"content": "y"})),
        "data: {\"error\":\"z\"}\n\n".into(),
    ]);
    assert_eq!(text(&r), "x");
}

#[test]
fn a_part_that_is_not_json_ends_the_reply_with_what_had_arrived() {
    let (r, f) =
        failure(&[d(json!({"content": "x"})), "data: {\"choices\":[{\"del\n\n".into(), d(json!({"content": "y"}))]);
    assert_eq!((text(&r).as_str(), f.class), ("x", FailureClass::Network));
}

#[test]
fn a_deeply_nested_unknown_key_is_ignored() {
    let deep = format!(
        "data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"x\",\"z\":{}{}}}}}]}}\n\n",
        "[".repeat(2000),
        "]".repeat(2000)
    );
    assert_eq!(text(&reply(&[deep, f("stop")])), "x");
}

#[test]
fn a_connection_that_breaks_after_the_finish_reason_is_a_good_end() {
    let mut reader = Reader::new(options());
    let mut out = Vec::new();
    for part in [d(json!({"content": "x"})), f("stop")] {
        let data = part.trim_start_matches("data: ").trim_end().to_owned();
        reader.push(&crate::provider::sse::SseEvent { name: None, data }, &mut out);
    }
    reader.fail(crate::provider::failure::network("reset"), &mut out);
    assert_eq!(end(out).1, None);
}

#[test]
fn a_document_in_place_of_a_stream_is_read_whole() {
    let body = json!({"id": "c", "model": "m", "choices": [{"index": 0, "finish_reason": "tool_calls", "message": {
        "role": "assistant", "content": "x", "reasoning_content": "hm",
        "tool_calls": [{"function": {"name": "f", "arguments": "{}"}}, {"function": {"name": "f", "arguments": "{}"}}],
    }}], "usage": {"prompt_tokens": 3, "completion_tokens": 1}});
    let r = reply(&[body.to_string()]);
    assert!(matches!(
        r.content.as_slice(),
        [Block::Thinking { .. }, Block::Text { .. }, Block::ToolCall { .. }, Block::ToolCall { .. }]
    ));
    assert_eq!((ids(&r), r.usage.output), (vec!["call_q1_1".to_owned(), "call_q1_2".to_owned()], Some(1)));
}

mod properties {
    use super::*;
    use proptest::prelude::*;

    fn piece() -> impl Strategy<Value = String> {
        let word = prop_oneof![
            Just(json!("f")),
            Just(json!("")),
            Just(Value::Null),
            Just(json!(0)),
            Just(json!("{\"a\":")),
            Just(json!({"a": 1}))
        ];
        (word.clone(), word.clone(), word, 0..8u8).prop_map(|(a, b, c, kind)| match kind {
            0 => d(json!({"content": a, "reasoning": b})),
            1 => t(json!({"index": a, "id": b, "function": {"name": b, "arguments": c}})),
            2 => t(json!({"index": 0, "id": a, "function": {"name": b, "arguments": c}})),
            3 => format!("data: {}\n\n", json!({"choices": a, "usage": b, "error": null})),
            4 => d(json!({"tool_calls": a, "content": [b, c]})),
            5 => format!("data: {}\n\n", json!({"choices": [{"finish_reason": a, "delta": b}]})),
            6 => "data: [DONE]\n\n".to_owned(),
            _ => format!("data: {a}\n\n"),
        })
    }

    proptest! {
        #[test]
        fn any_stream_has_exactly_one_end_however_it_is_cut(parts in proptest::collection::vec(piece(), 0..12), size in 1..40usize) {
            let bytes = parts.concat();
            let whole = events_with(options(), bytes.as_bytes(), usize::MAX);
            prop_assert_eq!(whole.iter().filter(|e| is_terminal(e)).count(), 1);
            prop_assert_eq!(events_with(options(), bytes.as_bytes(), size), whole);
        }
    }
}
