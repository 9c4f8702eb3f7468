//! What an error of a host means.
//!
//! Decided in this order: a local cause (cancel, timer), the status, the host's type or code, the text. Words about
//! a full context window never count on a 429, where hosts say much the same of tokens per minute.

use std::sync::LazyLock;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use regex::Regex;

use crate::message::{Failure, FailureClass};
use crate::redact::Redactor;
use crate::value::Value;

use super::headers::{header, request_id, retry_after};
use super::http::origin;
use super::json_repair;

/// Messages are cut to this many characters.
pub const MESSAGE_LIMIT: usize = 500;

/// Type or code, by what it has in it (lower case), and what that means, whatever the status. First match wins.
const CODES_FIRST: &[(&str, FailureClass)] = &[
    ("insufficient_quota", FailureClass::SpendCap),
    ("usage_limit", FailureClass::SpendCap),
    ("spend_limit", FailureClass::SpendCap),
    ("spending_limit", FailureClass::SpendCap),
    ("credit_balance", FailureClass::SpendCap),
    ("billing", FailureClass::Billing),
];

/// A status and what it means by itself.
const STATUSES: &[(u16, FailureClass)] = &[
    (401, FailureClass::Auth),
    (403, FailureClass::Auth),
    (402, FailureClass::SpendCap),
    (408, FailureClass::Provider),
    (409, FailureClass::Provider),
    (429, FailureClass::RateLimit),
];

/// Type or code, by what it has in it, where the status says nothing.
const CODES: &[(&str, FailureClass)] = &[
    ("context_length_exceeded", FailureClass::ContextOverflow),
    ("exceed_context_size", FailureClass::ContextOverflow),
    ("model_context_window_exceeded", FailureClass::ContextOverflow),
    ("request_too_large", FailureClass::ContextOverflow),
    ("rate_limit", FailureClass::RateLimit),
    ("slow_down", FailureClass::RateLimit),
    ("too_many_requests", FailureClass::RateLimit),
    ("overloaded", FailureClass::Overloaded),
    ("server_error", FailureClass::Overloaded),
    ("service_unavailable", FailureClass::Overloaded),
    ("timeout_error", FailureClass::Overloaded),
    ("authentication", FailureClass::Auth),
    ("invalid_api_key", FailureClass::Auth),
    ("permission", FailureClass::Auth),
    ("network_error", FailureClass::Network),
];

/// How hosts say that the conversation is too long (lower case).
const OVERFLOW: &[&str] = &[
    r"prompt is too long",
    r"prompt too long",
    r"input is too long for requested model",
    r"exceeds the context window",
    r"input token count .{0,40}exceeds the maximum",
    r"maximum prompt length is",
    r"reduce the length of the messages",
    r"maximum context length",
    r"max context length",
    r"prompt.{0,60}exceeds the limit of",
    r"exceeds the available context size",
    r"greater than the context length",
    r"context window exceeds limit",
    r"exceeded model token limit",
    r"too large for model with \d+ maximum context length",
];

/// Where such a text says how many tokens the request had.
const TOKENS: &[&str] = &[
    r"prompt is too long: (\d+) tokens",
    r"request \((\d+) tokens\)",
    r"requested (\d+) tokens",
    r"resulted in (\d+) tokens",
    r"requested about (\d+) tokens",
    r"input token count \(?(\d+)",
];

fn patterns(list: &[&str]) -> Vec<Regex> {
    list.iter().filter_map(|p| Regex::new(p).ok()).collect()
}

static OVERFLOW_PATTERNS: LazyLock<Vec<Regex>> = LazyLock::new(|| patterns(OVERFLOW));
static TOKEN_PATTERNS: LazyLock<Vec<Regex>> = LazyLock::new(|| patterns(TOKENS));

/// What a host's error object says, in any of its shapes.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HostError {
    /// Its message.
    pub message: Option<String>,
    /// The first of `type`, `status` and `code` that is a string.
    pub kind: Option<String>,
    /// All three, to be classified by.
    pub codes: Vec<String>,
    /// A number in `code` or `status` that is an HTTP status.
    pub status: Option<u16>,
    /// What the model generated when the host could not read it as a call.
    pub failed_generation: Option<String>,
    /// Seconds in a `retryDelay` of its details.
    pub retry_after: Option<f64>,
}

impl HostError {
    /// Reads `{"error": {...}}`, `{"error": "..."}`, `{"message": ...}`, `{"detail": ...}`, an array around any of
    /// them, a string, or the error object itself.
    pub fn read(value: &Value) -> HostError {
        let value = match value {
            Value::Array(items) => items.first().unwrap_or(value),
            other => other,
        };
        let inner = value.get("error").filter(|e| !e.is_null());
        let mut error = inner.map_or_else(|| read_object(value), read_object);
        if inner.is_some() && error.message.is_none() {
            error.message = read_object(value).message;
        }
        error
    }
}

fn read_object(error: &Value) -> HostError {
    if let Value::String(text) = error {
        return HostError { message: Some(text.clone()).filter(|t| !t.trim().is_empty()), ..HostError::default() };
    }
    let names = ["type", "status", "code"];
    let text = |name: &str| error.get(name).and_then(Value::as_str).map(str::to_owned);
    let number = |name: &str| match error.get(name)? {
        Value::String(s) => s.parse::<u64>().ok(),
        other => other.as_u64(),
    };
    HostError {
        message: message_of(error),
        kind: names.iter().find_map(|n| text(n)),
        codes: names.iter().filter_map(|n| text(n)).collect(),
        status: ["code", "status"]
            .iter()
            .find_map(|n| number(n))
            .and_then(|n| u16::try_from(n).ok())
            .filter(|n| (100..600).contains(n)),
        failed_generation: text("failed_generation"),
        retry_after: error.get("details").and_then(retry_delay),
    }
}

fn message_of(error: &Value) -> Option<String> {
    let named = ["message", "detail"].iter().find_map(|n| error.get(n).filter(|v| !v.is_null()))?;
    Some(match named {
        Value::String(text) if text.trim().is_empty() => return None,
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(fastapi_detail).collect::<Vec<_>>().join("; "),
        Value::Object(_) => message_of(named).unwrap_or_else(|| named.to_string()),
        other => other.to_string(),
    })
}

/// One entry of a FastAPI `detail`: `{"loc": ["body", "x"], "msg": "..."}`.
fn fastapi_detail(entry: &Value) -> String {
    let Some(message) = entry.get("msg").and_then(Value::as_str) else { return entry.to_string() };
    let place = |part: &Value| part.as_str().map_or_else(|| part.to_string(), str::to_owned);
    match entry.get("loc").and_then(Value::as_array) {
        Some(loc) => format!("{}: {message}", loc.iter().map(place).collect::<Vec<_>>().join(".")),
        None => message.to_owned(),
    }
}

fn retry_delay(details: &Value) -> Option<f64> {
    let delay = details.as_array()?.iter().find_map(|d| d.get("retryDelay")?.as_str())?;
    delay.strip_suffix('s')?.parse::<f64>().ok().filter(|s| s.is_finite()).map(|s| s.max(0.0))
}

/// The failure for an answer that is not a success. `headers` have lower-case names, `now` is Unix time.
pub fn from_response(status: u16, headers: &[(String, String)], body: &str, url: &str, now: f64) -> Failure {
    if (300..400).contains(&status) {
        return redirected(status, headers, url);
    }
    let error = json_repair::lenient(body).as_ref().map(HostError::read).unwrap_or_default();
    let text = error.message.clone().unwrap_or_else(|| body_text(status, body));
    let mut failure = classified(Some(status), &error, text);
    if matches!(status, 400 | 413) && body.trim().is_empty() {
        failure.class = FailureClass::ContextOverflow;
    }
    failure.request_id = request_id(headers);
    failure.retry_after = retry_after(headers, now).or(failure.retry_after);
    failure
}

/// The failure for an error inside of a stream whose status was 200.
pub fn from_stream(value: &Value) -> Failure {
    let error = HostError::read(value);
    let text = error.message.clone().unwrap_or_else(|| "the host sent an error without a message".to_owned());
    classified(error.status, &error, text)
}

fn classified(status: Option<u16>, error: &HostError, text: String) -> Failure {
    let class = class_of(status, &error.codes, &text);
    Failure {
        class,
        status,
        error_type: error.kind.clone(),
        retry_after: error.retry_after,
        what: error.failed_generation.clone(),
        tokens: (class == FailureClass::ContextOverflow).then(|| tokens_in(&text)).flatten(),
        message: text,
        ..Failure::default()
    }
}

/// The class for a status (none: an error inside of a stream), the host's type and code, and its message.
pub fn class_of(status: Option<u16>, codes: &[String], text: &str) -> FailureClass {
    let lower: Vec<String> = codes.iter().map(|c| c.to_ascii_lowercase()).collect();
    let by_code = |table: &[(&str, FailureClass)]| {
        table.iter().find(|(word, _)| lower.iter().any(|c| c.contains(word))).map(|(_, class)| *class)
    };
    let by_status = || STATUSES.iter().find(|(s, _)| Some(*s) == status).map(|(_, class)| *class);
    let may_overflow = status.is_none_or(|s| matches!(s, 400 | 413 | 422));
    let by_text = || (may_overflow && says_overflow(text)).then_some(FailureClass::ContextOverflow);
    let server = || status.filter(|s| *s >= 500).map(|_| FailureClass::Overloaded);
    by_code(CODES_FIRST)
        .or_else(by_status)
        .or_else(server)
        .or_else(|| by_code(CODES))
        .or_else(by_text)
        .unwrap_or(FailureClass::Provider)
}

/// True when a message says that the conversation is too long. Only for errors that are no rate limit.
pub fn says_overflow(text: &str) -> bool {
    let lower = text.to_lowercase();
    OVERFLOW_PATTERNS.iter().any(|p| p.is_match(&lower))
}

fn tokens_in(text: &str) -> Option<u64> {
    let lower = text.to_lowercase();
    TOKEN_PATTERNS.iter().find_map(|p| p.captures(&lower)?.get(1)?.as_str().parse().ok())
}

fn body_text(status: u16, body: &str) -> String {
    let body = body.trim();
    let html = body.get(..200.min(body.len())).unwrap_or(body).to_ascii_lowercase();
    if body.is_empty() {
        return format!("HTTP status {status} without a body");
    }
    if html.starts_with("<!doctype") || html.contains("<html") || html.contains("<head") {
        return format!("HTTP status {status} with an HTML page");
    }
    body.to_owned()
}

fn redirected(status: u16, headers: &[(String, String)], url: &str) -> Failure {
    let from = origin(url);
    let target = header(headers, "location").and_then(|l| reqwest::Url::parse(url).ok()?.join(l).ok());
    let to = target.map_or_else(|| "an address that can't be read".to_owned(), |u| u.origin().ascii_serialization());
    Failure {
        class: FailureClass::Redirect,
        message: format!("HTTP status {status}: {from} redirects to {to}; a request with a key is not sent on"),
        status: Some(status),
        request_id: request_id(headers),
        what: Some(format!("{from} -> {to}")),
        ..Failure::default()
    }
}

/// The present Unix time in seconds.
pub fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |d| d.as_secs_f64())
}

fn local(class: FailureClass, message: impl Into<String>) -> Failure {
    Failure { class, message: message.into(), ..Failure::default() }
}

/// The request was cancelled.
pub fn aborted() -> Failure {
    local(FailureClass::Aborted, "the request was cancelled")
}

/// The connection failed or was cut.
pub fn network(message: &str) -> Failure {
    local(FailureClass::Network, message)
}

/// A fault of this program.
pub fn internal(message: impl Into<String>) -> Failure {
    local(FailureClass::Internal, message)
}

/// A reply that is no reply of this wire.
pub fn unreadable(message: &str) -> Failure {
    local(FailureClass::Provider, message)
}

/// A timer ran out. `class` is one of the timeout classes.
pub fn timeout(class: FailureClass, limit: Duration) -> Failure {
    let what = match class {
        FailureClass::TimeoutConnect => "a connection",
        FailureClass::TimeoutFirstByte => "the first byte of the reply",
        _ => "the next part of the reply",
    };
    let seconds = limit.as_secs_f64();
    let mut failure = local(class, format!("waited {seconds} s for {what}"));
    failure.seconds = Some(seconds);
    failure.what = Some(what.to_owned());
    failure
}

/// Takes secrets out of what a failure shows, then cuts its message.
pub fn clean(failure: &mut Failure, redactor: &Redactor) {
    failure.message = cut(&redactor.redact(&failure.message));
    for text in [&mut failure.error_type, &mut failure.what, &mut failure.request_id].into_iter().flatten() {
        *text = cut(&redactor.redact(text));
    }
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(MESSAGE_LIMIT) {
        Some((at, _)) => text.get(..at).unwrap_or(text).to_owned(),
        None => text.to_owned(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;
    use crate::value::json;

    fn response(status: u16, body: &str) -> Failure {
        from_response(status, &[], body, "https://api.test/v1/chat/completions", 0.0)
    }

    fn headers(name: &str, value: &str) -> Vec<(String, String)> {
        vec![(name.to_owned(), value.to_owned())]
    }

    #[test]
    fn a_status_decides_before_the_text() {
        let table = [
            (401, FailureClass::Auth),
            (403, FailureClass::Auth),
            (402, FailureClass::SpendCap),
            (408, FailureClass::Provider),
            (409, FailureClass::Provider),
            (429, FailureClass::RateLimit),
            (500, FailureClass::Overloaded),
            (529, FailureClass::Overloaded),
            (404, FailureClass::Provider),
        ];
        for (status, class) in table {
            assert_eq!(response(status, r#"{"error":{"message":"prompt is too long"}}"#).class, class, "{status}");
        }
    }

    #[test]
    fn b16_a_quota_code_in_a_stream_is_a_spend_cap() {
        let f = from_stream(&json!({"error": {"message": "no quota", "code": "insufficient_quota"}}));
        assert_eq!((f.class, f.message.as_str()), (FailureClass::SpendCap, "no quota"));
        assert_eq!(
            response(429, r#"{"error":{"code":"insufficient_quota","message":"m"}}"#).class,
            FailureClass::SpendCap
        );
    }

    #[test]
    fn b17_a_number_as_code_is_the_status() {
        let f = from_stream(&json!({"code": 500, "message": "slot failed"}));
        assert_eq!((f.class, f.status, f.message.as_str()), (FailureClass::Overloaded, Some(500), "slot failed"));
        assert_eq!(from_stream(&json!({"error": {"code": "429", "message": "m"}})).class, FailureClass::RateLimit);
    }

    #[test]
    fn b19_an_overloaded_type_in_a_stream_counts() {
        let f = from_stream(&json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}));
        assert_eq!(f.class, FailureClass::Overloaded);
    }

    #[test]
    fn b25_a_rate_limit_is_never_an_overflow() {
        let body = r#"{"error":{"message":"too many tokens per minute, maximum context length is shared"}}"#;
        assert_eq!(response(429, body).class, FailureClass::RateLimit);
        assert_eq!(response(400, body).class, FailureClass::ContextOverflow);
    }

    #[test]
    fn b46_a_failed_generation_is_kept() {
        let f =
            response(400, r#"{"error":{"code":"tool_use_failed","failed_generation":"<function=f>{}","message":"m"}}"#);
        assert_eq!(f.class, FailureClass::Provider);
        assert_eq!(f.error_type.as_deref(), Some("tool_use_failed"));
        assert_eq!(f.what.as_deref(), Some("<function=f>{}"));
    }

    #[test]
    fn hosts_say_overflow_in_their_own_words() {
        let texts = [
            "prompt is too long: 201000 tokens > 200000 maximum",
            "Input is too long for requested model.",
            "Your input exceeds the context window of this model",
            "The input token count (1234) exceeds the maximum number of tokens allowed",
            "This model's maximum prompt length is 131072 but the request contains 200000 tokens",
            "Please reduce the length of the messages or completion.",
            "This endpoint's maximum context length is 8192 tokens.",
            "prompt token count of 9 exceeds the limit of 8",
            "request (2009 tokens) exceeds the available context size (512 tokens)",
            "tokens to keep from the initial prompt is greater than the context length",
            "context window exceeds limit",
            "Your request exceeded model token limit: 8192",
            "Prompt contains 9 tokens and 0 draft tokens, too large for model with 8 maximum context length",
            "prompt too long; exceeded max context length by 1119046 tokens",
        ];
        for text in texts {
            let f = response(400, &json!({"error": {"message": text, "type": "invalid_request_error"}}).to_string());
            assert_eq!(f.class, FailureClass::ContextOverflow, "{text}");
        }
        assert_eq!(response(400, &json!({"error": texts[0]}).to_string()).tokens, Some(201_000));
        assert_eq!(response(413, "").class, FailureClass::ContextOverflow);
        assert_eq!(
            response(400, r#"{"error":{"code":"context_length_exceeded"}}"#).class,
            FailureClass::ContextOverflow
        );
    }

    #[test]
    fn all_patterns_compile() {
        assert_eq!(OVERFLOW_PATTERNS.len(), OVERFLOW.len());
        assert_eq!(TOKEN_PATTERNS.len(), TOKENS.len());
    }

    #[test]
    fn every_shape_of_an_error_body_gives_its_message() {
        let table = [
            (r#"{"error":{"message":"m"}}"#, "m"),
            (r#"{"error":"m"}"#, "m"),
            (r#"{"message":"m"}"#, "m"),
            (r#"{"detail":"m"}"#, "m"),
            (r#"{"detail":[{"loc":["body","n",0],"msg":"bad"}]}"#, "body.n.0: bad"),
            (r#"[{"error":{"message":"m","status":"UNAVAILABLE"}}]"#, "m"),
            ("plain words", "plain words"),
            ("", "HTTP status 418 without a body"),
            ("<!DOCTYPE html><html><body>Bad gateway", "HTTP status 418 with an HTML page"),
        ];
        for (body, message) in table {
            assert_eq!(response(418, body).message, message, "{body}");
        }
    }

    #[test]
    fn b88_a_redirect_names_origins_only() {
        let f =
            from_response(307, &headers("location", "http://evil.test/p?key=1"), "", "https://api.test/v1?q=2", 0.0);
        assert_eq!(f.class, FailureClass::Redirect);
        assert_eq!(f.what.as_deref(), Some("https://api.test -> http://evil.test"));
        assert!(!f.message.contains("key") || !f.message.contains("?"));
    }

    #[test]
    fn a_message_is_redacted_before_it_is_cut() {
        let mut redactor = Redactor::default();
        redactor.add_secret("KEY", "verysecretvalue");
        let mut f = local(FailureClass::Provider, format!("{}verysecretvalue{}", "x".repeat(490), "y".repeat(600)));
        clean(&mut f, &redactor);
        assert_eq!(f.message.chars().count(), MESSAGE_LIMIT);
        assert!(!f.message.contains("verysecret"));
    }
}
