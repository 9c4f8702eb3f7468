//! The transport against the mock server of the shared data: one process for each test, on a free port.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::completions::fixture_tests::shared;
use super::completions::{Encoder, Options, Params, Reader, System, Target, tool_declaration};
use super::endpoint::Endpoint;
use super::http::{Client, ReplyStream, Settings, Timeouts};
use super::normalise::is_terminal;
use crate::io::Runtime;
use crate::io::tests::block_on;
use crate::message::{Block, Failure, FailureClass, Message, Reply, StopReason, StreamEvent};
use crate::redact::Redactor;
use crate::value::{Map, Value, json};

const KEY: &str = "marked-key-0123456789";

struct Mock {
    child: Child,
    port: u16,
}

impl Drop for Mock {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Mock {
    /// Starts the server; `None` where it or Python is missing.
    fn start(arguments: &[&str]) -> Option<Mock> {
        let script = shared("mock/mock_llm.py")?;
        let file =
            std::env::temp_dir().join(format!("gptr-mock-{}-{:?}", std::process::id(), std::thread::current().id()));
        let _ = std::fs::remove_file(&file);
        let mut command = Command::new("python3");
        command.arg(script).args(["--port", "0", "--port-file"]).arg(&file).args(arguments).stdout(Stdio::piped());
        let Ok(mut child) = command.spawn() else {
            println!("skipped: no python3");
            return None;
        };
        // The first bytes of its output come when it listens.
        let mut first = [0u8; 1];
        child.stdout.as_mut().unwrap().read_exact(&mut first).unwrap();
        let port = std::fs::read_to_string(&file).unwrap().trim().parse().unwrap();
        std::fs::remove_file(&file).unwrap();
        Some(Mock { child, port })
    }

    fn plain(&self, method: &str, path: &str, body: &str) -> String {
        let mut socket = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        socket.write_all(head.as_bytes()).unwrap();
        let mut text = String::new();
        socket.read_to_string(&mut text).unwrap();
        text.split_once("\r\n\r\n").unwrap().1.to_owned()
    }

    fn script(&self, script: Value) {
        self.plain("POST", "/__script", &script.to_string());
    }

    fn requests(&self) -> Vec<Value> {
        let body = self.plain("GET", "/__requests", "");
        let start = body.find('[').unwrap();
        let end = body.rfind(']').unwrap();
        serde_json::from_str(&body[start..=end]).unwrap()
    }
}

struct Fixture {
    client: Client,
    endpoint: Endpoint,
    timeouts: Timeouts,
}

fn fixture_at(port: u16, key: Option<&str>) -> Fixture {
    let endpoint =
        Endpoint::new("mock", "openai-completions", &format!("http://127.0.0.1:{port}"), &Map::new()).unwrap();
    Fixture {
        client: Client::new(Runtime::new(|| {}), Settings::default()),
        endpoint: endpoint.with_key(key.map(str::to_owned)),
        timeouts: Timeouts::default(),
    }
}

fn fixture(mock: &Mock) -> Fixture {
    fixture_at(mock.port, Some(KEY))
}

fn user(text: &str) -> Message {
    Message::User { content: vec![Block::text(text)], source: "prompt".into(), timestamp: 0.0 }
}

impl Fixture {
    fn encoder(&self, messages: &[Message]) -> Encoder {
        let target = Target {
            provider: "mock".into(),
            model: "m".into(),
            compat: self.endpoint.compat.clone(),
            ..Target::default()
        };
        let mut encoder = Encoder::new(target);
        messages.iter().for_each(|m| encoder.push(m));
        encoder
    }

    fn send(&self, encoder: &Encoder, tools: &str) -> ReplyStream {
        let body = encoder.body(&System { t0: "Be brief.".into(), t1: String::new() }, tools, &Params::default());
        let options =
            Options { provider: "mock".into(), model: "m".into(), request_id: "q1".into(), ..Options::default() };
        self.client.send(
            self.endpoint.request(body),
            Box::new(Reader::new(options)),
            self.timeouts,
            &Redactor::default(),
        )
    }

    fn ask(&self, text: &str) -> ReplyStream {
        self.send(&self.encoder(&[user(text)]), "")
    }

    fn run(&self, text: &str) -> (Reply, Option<Failure>) {
        end(all(self.ask(text)))
    }
}

fn all(mut stream: ReplyStream) -> Vec<StreamEvent> {
    block_on(async move {
        let mut out = Vec::new();
        while let Some(batch) = stream.next().await {
            out.extend(batch);
        }
        out
    })
}

fn end(events: Vec<StreamEvent>) -> (Reply, Option<Failure>) {
    assert_eq!(events.iter().filter(|e| is_terminal(e)).count(), 1);
    match events.into_iter().last() {
        Some(StreamEvent::Done { reply }) => (*reply, None),
        Some(StreamEvent::Error { reply, failure }) => (*reply, Some(failure)),
        other => panic!("{other:?}"),
    }
}

fn text(reply: &Reply) -> String {
    crate::message::text_of(&reply.content)
}

fn class(outcome: &(Reply, Option<Failure>)) -> Option<FailureClass> {
    outcome.1.as_ref().map(|f| f.class)
}

/// Polls the mock until a request was left by its client.
fn left_early(mock: &Mock) -> bool {
    let deadline = Instant::now() + Duration::from_secs(10);
    while Instant::now() < deadline {
        if mock.requests().iter().any(|r| r["client_left_early"] == true) {
            return true;
        }
        std::thread::yield_now();
    }
    false
}

#[test]
fn plain_text_comes_back_with_usage_and_the_request_is_as_checked() {
    let Some(mock) = Mock::start(&[]) else { return };
    let (reply, failure) = fixture(&mock).run("echo:Gr\u{fc}\u{df} dich");
    assert_eq!(failure, None);
    assert_eq!((text(&reply).as_str(), reply.stop_reason), ("Gr\u{fc}\u{df} dich", StopReason::Stop));
    assert!(reply.usage.output.is_some());
    assert_eq!(mock.requests()[0]["headers"]["authorization"], format!("Bearer {KEY}"));
}

#[test]
fn a_tool_call_and_its_result_go_the_whole_way() {
    let Some(mock) = Mock::start(&[]) else { return };
    let f = fixture(&mock);
    let schema = json!({"type": "object", "properties": {"a": {"type": "integer"}}});
    let tools = json!([tool_declaration("add", "Adds", &schema, &f.endpoint.compat)]).to_string();
    let mut encoder = f.encoder(&[user("call add {\"a\": 1}")]);
    let (reply, failure) = end(all(f.send(&encoder, &tools)));
    assert_eq!((failure, reply.stop_reason), (None, StopReason::ToolUse));
    let Some(Block::ToolCall { id, name, arguments, .. }) = reply.content.last().cloned() else { panic!("{reply:?}") };
    assert_eq!((name.as_str(), arguments), ("add", json!({"a": 1})));
    encoder.push(&assistant(reply.content));
    encoder.push(&result(&id, vec![Block::text("2")]));
    let (reply, failure) = end(all(f.send(&encoder, &tools)));
    assert_eq!((failure, text(&reply).as_str()), (None, "done: 2"));
}

fn assistant(content: Vec<Block>) -> Message {
    Message::Assistant(crate::message::Assistant {
        content,
        api: "openai-completions".into(),
        provider: "mock".into(),
        model: "m".into(),
        response_id: None,
        response_model: None,
        usage: crate::message::Usage::default(),
        stop_reason: StopReason::ToolUse,
        error_message: None,
        raw_stop_reason: None,
        request_id: "q1".into(),
        timestamp: 0.0,
    })
}

fn result(id: &str, content: Vec<Block>) -> Message {
    Message::ToolResult {
        tool_call_id: id.into(),
        tool_name: "f".into(),
        content,
        is_error: false,
        details: Map::new(),
        gloss: None,
        timestamp: 0.0,
    }
}

#[test]
fn b44_a_history_with_gaps_is_one_that_a_strict_host_takes() {
    let Some(mock) = Mock::start(&[]) else { return };
    let f = fixture(&mock);
    let call = |id: &str, raw: Option<&str>| Block::ToolCall {
        id: id.into(),
        name: "odd name.f".into(),
        arguments: json!({}),
        raw_arguments: raw.map(str::to_owned),
        thought_signature: None,
    };
    let png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    let image = || Block::Image {
        mime: "image/png".into(),
        data: png.into(),
        source: "plot".into(),
        width: None,
        height: None,
    };
    let operator = || Message::Operator {
        kind: "mode".into(),
        content: vec![Block::text("Mode is plan.")],
        origin_text: None,
        timestamp: 0.0,
    };
    let long = "x".repeat(60);
    let messages = [
        result("nobody", vec![Block::text("r")]),
        user(" "),
        assistant(vec![Block::text(""), call(&long, Some("{\"a\": 1}")), call("b|c", Some("{\"cut"))]),
        operator(),
        result("b|c", vec![image()]),
        user("go on"),
        assistant(vec![Block::text("\n")]),
        assistant(vec![call("d", None)]),
        operator(),
        user("echo:fine"),
    ];
    for (flag, images) in [(false, true), (true, false)] {
        let mut target = f.encoder(&[]).target().clone();
        target.images = images;
        target.compat.requires_assistant_after_tool_result = flag;
        target.compat.requires_reasoning_content = flag;
        target.compat.requires_string_content = flag;
        let mut encoder = Encoder::new(target);
        messages.iter().for_each(|m| encoder.push(m));
        let (reply, failure) = end(all(f.send(&encoder, "")));
        assert_eq!((failure, text(&reply).as_str()), (None, "fine"));
    }
}

#[test]
fn oddities_of_hosts_do_not_change_the_reply() {
    let Some(mock) = Mock::start(&[]) else { return };
    let f = fixture(&mock);
    for fault in [
        "crlf",
        "cr",
        "bom",
        "comments",
        "no_space",
        "multi_data",
        "unknown_event",
        "no_done",
        "no_usage",
        "usage_every_chunk",
        "usage_empty_choices",
        "usage_in_choice",
        "usage_x_groq",
        "dup_finish",
        "null_content",
        "deep_json",
        "split_bytes",
        "gzip",
        "json_instead_of_stream",
        "content_parts",
        "crlf,split_bytes,comments",
    ] {
        let outcome = f.run(&format!("fault {fault} echo:na\u{ef}ve \u{1f600}"));
        assert_eq!((text(&outcome.0).as_str(), &outcome.1), ("na\u{ef}ve \u{1f600}", &None), "{fault}");
    }
}

#[test]
fn oddities_of_tool_calls_do_not_change_them() {
    let Some(mock) = Mock::start(&[]) else { return };
    let f = fixture(&mock);
    let schema = json!({"type": "object"});
    let tools = json!([
        tool_declaration("f", "F", &schema, &f.endpoint.compat),
        tool_declaration("g", "G", &schema, &f.endpoint.compat)
    ]);
    for fault in
        ["tool_no_index", "tool_zero_index", "tool_no_id", "tool_args_whole", "tool_name_repeated", "tool_args_object"]
    {
        let encoder = f.encoder(&[user(&format!("fault {fault} call f {{\"a\": 1}} call g {{\"b\": 2}}"))]);
        let (reply, failure) = end(all(f.send(&encoder, &tools.to_string())));
        let calls: Vec<(String, Value)> = reply
            .content
            .iter()
            .filter_map(|b| match b {
                Block::ToolCall { name, arguments, .. } => Some((name.clone(), arguments.clone())),
                _ => None,
            })
            .collect();
        assert_eq!(failure, None, "{fault}");
        assert_eq!(calls, [("f".to_owned(), json!({"a": 1})), ("g".to_owned(), json!({"b": 2}))], "{fault}");
    }
}

#[test]
fn errors_have_their_class_and_what_had_arrived() {
    let Some(mock) = Mock::start(&[]) else { return };
    let f = fixture(&mock);
    let table = [
        ("fault truncate stream 20 10", FailureClass::Network),
        ("fault reset stream 20 10", FailureClass::Network),
        ("fault early_eof stream 20 10", FailureClass::Network),
        ("fault malformed_json stream 20 10", FailureClass::Network),
        ("fault drop echo:x", FailureClass::Network),
        ("fault html_error echo:x", FailureClass::Overloaded),
        ("fault empty_body echo:x", FailureClass::Network),
        ("status 429", FailureClass::RateLimit),
        ("status 500", FailureClass::Overloaded),
        ("status 404", FailureClass::Provider),
    ];
    for (command, expected) in table {
        let outcome = f.run(command);
        assert_eq!(class(&outcome), Some(expected), "{command}: {:?}", outcome.1);
        let failure = outcome.1.unwrap();
        assert!(!failure.message.contains('<') && !failure.message.is_empty(), "{command}: {}", failure.message);
        if ["truncate", "early_eof"].iter().any(|p| command.contains(p)) {
            assert!(!text(&outcome.0).is_empty(), "{command}");
        }
    }
}

#[test]
fn a_refused_key_is_an_auth_error_that_does_not_show_it() {
    let Some(mock) = Mock::start(&["--key", "another"]) else { return };
    let (_, failure) = fixture(&mock).run("echo:x");
    let failure = failure.unwrap();
    assert_eq!((failure.class, failure.status), (FailureClass::Auth, Some(401)));
    assert!(!format!("{failure:?}").contains(KEY));
}

#[test]
fn no_key_sends_no_header() {
    let Some(mock) = Mock::start(&["--no-auth"]) else { return };
    let (reply, failure) = fixture_at(mock.port, Some("")).run("echo:x");
    assert_eq!((text(&reply).as_str(), failure), ("x", None));
    assert_eq!(mock.requests()[0]["headers"].get("authorization"), None);
}

#[test]
fn b22_the_headers_of_a_rate_limit_are_read() {
    let Some(mock) = Mock::start(&[]) else { return };
    mock.script(json!({"replies": [{"status": 429, "headers": {"retry-after": "7", "x-request-id": "r-1"}, "error": {"message": format!("slow down, {KEY}")}}]}));
    let mut stream = fixture(&mock).ask("x");
    let batch = block_on(stream.next()).unwrap();
    let status = stream.head().map(|h| h.status);
    let (_, failure) = end(batch);
    assert_eq!(status, Some(429), "{failure:?}");
    let failure = failure.unwrap();
    assert_eq!(
        (failure.class, failure.retry_after, failure.request_id.as_deref()),
        (FailureClass::RateLimit, Some(7.0), Some("r-1"))
    );
    assert!(
        failure.message.contains("[secret:authorization]") && !failure.message.contains(KEY),
        "{}",
        failure.message
    );
}

#[test]
fn b16_an_error_in_the_stream_keeps_what_had_arrived() {
    let Some(mock) = Mock::start(&[]) else { return };
    let outcome = fixture(&mock).run("fault error_in_stream stream 20 10");
    assert!(class(&outcome).is_some());
    assert!(!text(&outcome.0).is_empty());
}

#[test]
fn b88_a_redirect_is_not_followed_and_the_key_stays() {
    let Some(mock) = Mock::start(&[]) else { return };
    for fault in ["redirect_away", "redirect"] {
        let outcome = fixture(&mock).run(&format!("fault {fault} echo:x"));
        assert_eq!(class(&outcome), Some(FailureClass::Redirect));
    }
    assert!(mock.requests().iter().all(|r| r["port"] == "main"));
    assert_eq!(mock.requests().len(), 2);
}

#[test]
fn a_refused_connection_names_the_origin_alone() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = free.local_addr().unwrap().port();
    drop(free);
    let outcome = fixture_at(port, Some(KEY)).run("x");
    assert_eq!(class(&outcome), Some(FailureClass::Network));
    let message = outcome.1.unwrap().message;
    assert!(
        message.contains(&format!("http://127.0.0.1:{port}")) && !message.contains("chat/completions"),
        "{message}"
    );
}

#[test]
fn b92_dropping_the_stream_closes_the_socket() {
    let Some(mock) = Mock::start(&[]) else { return };
    let f = fixture(&mock);
    let mut stream = f.ask("fault hang stream 20 10");
    let first = block_on(stream.next()).unwrap();
    assert!(!first.is_empty());
    drop(stream);
    assert!(left_early(&mock));
}

#[test]
fn cancelling_ends_the_stream_with_what_had_arrived() {
    let Some(mock) = Mock::start(&[]) else { return };
    let f = fixture(&mock);
    let mut stream = f.ask("fault hang stream 20 10");
    let mut events = block_on(stream.next()).unwrap();
    while !events.iter().any(|e| matches!(e, StreamEvent::TextDelta { .. })) {
        events.extend(block_on(stream.next()).unwrap());
    }
    stream.cancel();
    events.extend(all(stream));
    let outcome = end(events);
    assert_eq!((class(&outcome), outcome.0.stop_reason), (Some(FailureClass::Aborted), StopReason::Aborted));
    assert!(!text(&outcome.0).is_empty());
    assert!(left_early(&mock));
}

#[test]
fn b86_silence_ends_by_the_timer_that_fits() {
    let Some(mock) = Mock::start(&[]) else { return };
    let mut f = fixture(&mock);
    f.timeouts.idle = Duration::from_millis(200);
    let outcome = f.run("fault hang stream 20 10");
    assert_eq!(class(&outcome), Some(FailureClass::TimeoutIdle));
    assert!(!text(&outcome.0).is_empty());
    f.timeouts.first_byte = Duration::from_millis(200);
    let outcome = f.run("delay 60000 x");
    assert_eq!(class(&outcome), Some(FailureClass::TimeoutFirstByte));
    assert_eq!(outcome.1.unwrap().seconds, Some(0.2));
}

#[test]
fn b86_a_slow_stream_is_no_idle_one() {
    let Some(mock) = Mock::start(&[]) else { return };
    mock.script(json!({"replies": [{"text": "x", "body": ": wait\n\ndata: {\"choices\":[{\"delta\":{\"content\":\"x\"},\"finish_reason\":\"stop\"}]}\n\n", "fault": "slow"}]}));
    let mut f = fixture(&mock);
    f.timeouts.idle = Duration::from_secs(2);
    let (reply, failure) = f.run("x");
    assert_eq!((text(&reply).as_str(), failure), ("x", None));
}

#[test]
fn a_connection_is_used_again() {
    let Some(mock) = Mock::start(&[]) else { return };
    let f = fixture(&mock);
    for _ in 0..3 {
        assert_eq!(text(&f.run("echo:x").0), "x");
    }
}

#[test]
fn a_huge_delta_and_bad_bytes_come_through() {
    let Some(mock) = Mock::start(&[]) else { return };
    let f = fixture(&mock);
    assert_eq!(text(&f.run("fault huge_line echo:x").0).len(), 5_000_001);
    assert_eq!(text(&f.run("fault invalid_utf8 echo:x").0), "\u{fffd}x");
}

/// Accepts one connection and answers nothing; gives what came first.
fn first_bytes(listener: TcpListener) -> std::thread::JoinHandle<String> {
    std::thread::spawn(move || {
        let (mut socket, _) = listener.accept().unwrap();
        let mut bytes = [0u8; 64];
        let n = socket.read(&mut bytes).unwrap();
        String::from_utf8_lossy(&bytes[..n]).into_owned()
    })
}

fn local_listener() -> (TcpListener, u16) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    (listener, port)
}

#[test]
fn b93_tls_is_there_and_its_failure_is_a_network_one() {
    let (listener, port) = local_listener();
    let seen = first_bytes(listener);
    let mut f = fixture_at(port, Some(KEY));
    f.endpoint.url = format!("https://127.0.0.1:{port}/v1/chat/completions");
    assert_eq!(class(&f.run("x")), Some(FailureClass::Network));
    // A TLS record of type handshake.
    assert!(seen.join().unwrap().starts_with('\u{16}'));
}

#[test]
fn a_proxy_is_used_for_other_hosts_and_never_for_this_machine() {
    let (listener, port) = local_listener();
    let seen = first_bytes(listener);
    let settings = Settings { http_proxy: Some(format!("http://127.0.0.1:{port}")), ..Settings::default() };
    let client = Client::new(Runtime::new(|| {}), settings);
    let mut far = fixture_at(1, None);
    far.client = client.clone();
    far.endpoint.url = "http://api.example.test/v1/chat/completions".into();
    assert_eq!(class(&far.run("x")), Some(FailureClass::Network));
    assert!(seen.join().unwrap().starts_with("POST http://api.example.test/v1/chat/completions"));
    let Some(mock) = Mock::start(&[]) else { return };
    let mut near = fixture(&mock);
    near.client = client;
    assert_eq!(text(&near.run("echo:x").0), "x");
}

#[test]
fn many_streams_run_at_once() {
    let Some(mock) = Mock::start(&[]) else { return };
    let f = fixture(&mock);
    let streams: Vec<ReplyStream> = (0..50).map(|i| f.ask(&format!("echo:{i}"))).collect();
    for (i, stream) in streams.into_iter().enumerate() {
        assert_eq!(text(&end(all(stream)).0), i.to_string());
    }
}
