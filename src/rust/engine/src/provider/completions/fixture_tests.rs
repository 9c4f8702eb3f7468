//! Recorded replies of real hosts against their golden results, whole and cut in pieces.

use std::path::{Path, PathBuf};

use super::reader::{Options, Reader};
use crate::message::{Block, Failure, Reply, StopReason, StreamEvent};
use crate::provider::body::BodyReader;
use crate::provider::failure;
use crate::provider::normalise::{Normaliser, OneTerminal, is_terminal};
use crate::value::{Value, json};

/// A folder of the shared data, beside the repository; `None`, with a word, when it is not there.
pub(crate) fn shared(path: &str) -> Option<PathBuf> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let found = here.ancestors().map(|dir| dir.join("../shared").join(path)).find(|p| p.exists());
    if found.is_none() {
        println!("skipped: no shared/{path} beside the repository");
    }
    found
}

struct Case {
    name: String,
    status: u16,
    body: Vec<u8>,
    golden: Value,
}

fn cases() -> Vec<Case> {
    let Some(root) = shared("fixtures/wire") else { return Vec::new() };
    let table = std::fs::read_to_string(root.join("SOURCES.tsv")).unwrap();
    let rows = table.lines().skip(1).map(|l| l.split('\t').collect::<Vec<_>>());
    rows.filter(|r| r[0].starts_with("openai-completions/"))
        .map(|r| {
            let path = root.join(r[0]);
            let golden = std::fs::read_to_string(path.with_extension("expected.json")).or_else(|_| {
                let stem = path.to_string_lossy().rsplit_once('.').unwrap().0.to_owned();
                std::fs::read_to_string(format!("{stem}.expected.json"))
            });
            Case {
                name: r[0].to_owned(),
                status: r[8].parse().unwrap(),
                body: std::fs::read(&path).unwrap(),
                golden: serde_json::from_str(&golden.unwrap()).unwrap(),
            }
        })
        .collect()
}

/// How a body is cut.
#[derive(Clone, Copy)]
enum Cut {
    Whole,
    Bytes,
    Random(u64),
}

fn pieces(body: &[u8], cut: Cut) -> Vec<&[u8]> {
    let mut out = Vec::new();
    let mut rest = body;
    let mut state = match cut {
        Cut::Random(seed) => seed,
        _ => 1,
    };
    while !rest.is_empty() {
        let size = match cut {
            Cut::Whole => rest.len(),
            Cut::Bytes => 1,
            Cut::Random(_) => {
                // Knuth's MMIX generator: the same pieces at each run.
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (state >> 33) as usize % 17 + 1
            }
        };
        let (piece, after) = rest.split_at(size.min(rest.len()));
        out.push(piece);
        rest = after;
    }
    out
}

fn read(case: &Case, cut: Cut) -> Vec<StreamEvent> {
    let options = Options { provider: "p".into(), model: "m".into(), request_id: "q".into(), ..Options::default() };
    let mut reader = OneTerminal::new(Box::new(Reader::new(options)));
    let mut out = Vec::new();
    if case.status != 200 {
        let text = String::from_utf8_lossy(&case.body);
        reader.fail(failure::from_response(case.status, &[], &text, "https://h", 0.0), &mut out);
        return out;
    }
    let mut body = BodyReader::default();
    let mut events = Vec::new();
    for piece in pieces(&case.body, cut) {
        body.push(piece, &mut events).unwrap();
        events.drain(..).for_each(|e| reader.push(&e, &mut out));
    }
    body.finish(&mut events).unwrap();
    events.drain(..).for_each(|e| reader.push(&e, &mut out));
    reader.finish(&mut out);
    out
}

fn end(events: &[StreamEvent]) -> (&Reply, Option<&Failure>) {
    assert_eq!(events.iter().filter(|e| is_terminal(e)).count(), 1);
    match events.last() {
        Some(StreamEvent::Done { reply }) => (reply, None),
        Some(StreamEvent::Error { reply, failure }) => (reply, Some(failure)),
        other => panic!("{other:?}"),
    }
}

/// The golden result's form of a reply.
fn normal_form(case: &Case, reply: &Reply, failure: Option<&Failure>) -> Value {
    let mut thinking = String::new();
    let mut text = String::new();
    let mut calls = Vec::new();
    for block in &reply.content {
        match block {
            Block::Text { text: t, .. } => text.push_str(t),
            Block::Thinking { thinking: t, .. } => thinking.push_str(t),
            Block::ToolCall { id, name, arguments, .. } => {
                calls.push(json!({"id": id, "name": name, "input": arguments}))
            }
            _ => {}
        }
    }
    let u = &reply.usage;
    let prompt = u.input.map(|i| i + u.cache_read.unwrap_or(0) + u.cache_write_5m.unwrap_or(0));
    json!({
        "text": text,
        "thinking": (!thinking.is_empty()).then_some(thinking),
        "tool_calls": calls,
        "stop": stop(case, reply, failure),
        "usage": {"input": prompt, "output": u.output, "cache_read": u.cache_read, "reasoning": u.reasoning},
        "error": reported(case, failure),
        "model": reply.response_model,
    })
}

fn stop(case: &Case, reply: &Reply, failure: Option<&Failure>) -> &'static str {
    let filtered = reply.raw_stop_reason.as_deref() == Some("content_filter");
    match (reply.stop_reason, failure) {
        (_, Some(_)) if case.golden["error"].is_null() => "other",
        (_, Some(_)) => "error",
        (StopReason::Refusal, _) if filtered => "content_filter",
        (reason, _) => reason.as_str(),
    }
}

/// A failure that the host reported; one of ours (no finish reason) is no error of the golden result.
fn reported(case: &Case, failure: Option<&Failure>) -> Value {
    match failure {
        Some(f) if !case.golden["error"].is_null() => {
            json!({"type": f.error_type, "message": f.message, "status": f.status})
        }
        _ => Value::Null,
    }
}

/// The golden result with what the rules leave to the adapter set to what the adapter made.
fn expected(case: &Case, got: &Value) -> Value {
    let mut want = case.golden.clone();
    let detail = want.as_object_mut().unwrap().remove("detail").unwrap();
    for (want, got) in want["tool_calls"].as_array_mut().unwrap().iter_mut().zip(got["tool_calls"].as_array().unwrap())
    {
        for name in ["id", "input"] {
            if want[name].is_null() {
                want[name] = got[name].clone();
            }
        }
        if want["id"] == "" {
            want["id"] = got["id"].clone();
        }
    }
    if want["model"] == "" {
        want["model"] = Value::Null;
    }
    // A host may name more cached tokens than prompt tokens.
    if let (Some(prompt), Some(cached)) = (want["usage"]["input"].as_u64(), want["usage"]["cache_read"].as_u64()) {
        want["usage"]["input"] = json!(prompt.max(cached));
    }
    let raw = &detail["usage_raw"];
    let number = |p: &str| raw.pointer(p).and_then(Value::as_u64).unwrap_or(0);
    let (sum, reasoning) = (
        number("/prompt_tokens") + number("/completion_tokens"),
        number("/completion_tokens_details/reasoning_tokens"),
    );
    if reasoning > 0 && number("/total_tokens") == sum + reasoning {
        want["usage"]["output"] = json!(number("/completion_tokens") + reasoning);
    }
    want
}

#[test]
fn recorded_replies_give_their_golden_results() {
    let cases = cases();
    let mut wrong = Vec::new();
    for case in &cases {
        let events = read(case, Cut::Whole);
        let (reply, failure) = end(&events);
        let got = normal_form(case, reply, failure);
        let want = expected(case, &got);
        if got != want {
            wrong.push(format!("{}\n  got  {got}\n  want {want}", case.name));
        }
    }
    assert!(wrong.is_empty(), "{} of {} differ:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
    println!("{} recorded replies", cases.len());
}

#[test]
fn recorded_replies_do_not_depend_on_how_they_are_cut() {
    for case in cases() {
        let whole = read(&case, Cut::Whole);
        for cut in [Cut::Bytes, Cut::Random(1), Cut::Random(2)] {
            assert_eq!(read(&case, cut), whole, "{}", case.name);
        }
    }
}

#[test]
fn recorded_streams_do_not_depend_on_line_ends() {
    for mut case in cases().into_iter().filter(|c| c.name.ends_with(".sse")) {
        let whole = read(&case, Cut::Whole);
        let text = String::from_utf8(case.body.clone()).unwrap().replace("\r\n", "\n");
        for ending in ["\r", "\r\n"] {
            case.body = text.replace('\n', ending).into_bytes();
            assert_eq!(read(&case, Cut::Random(3)), whole, "{}", case.name);
        }
    }
}

#[test]
fn recorded_overflows_are_classified_by_their_words() {
    let overflow =
        ["deepseek-real-error-scenarios", "llama.cpp-error-matrix-context-overflow", "ollama-real-error-scenarios"];
    for case in cases().iter().filter(|c| overflow.iter().any(|o| c.name.contains(o))) {
        let events = read(case, Cut::Whole);
        let class = end(&events).1.map(|f| f.class);
        assert_eq!(class, Some(crate::message::FailureClass::ContextOverflow), "{}", case.name);
    }
}
