//! Messages of a conversation, their blocks, usage, and the events of a streamed reply.
//!
//! JSON names are the R names as they stand; an absent value is null, an unknown count is null and never 0.

use crate::value::{Map, Value, json};

/// One piece of a message's content.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs, reason = "each field is named as in the host's messages, and the variant says what it is about")]
pub enum Block {
    /// Text.
    Text {
        /// The text.
        text: String,
        /// The provider's signature, returned verbatim.
        signature: Option<String>,
    },
    /// Reasoning of the model; `redacted` ones carry `data` only.
    Thinking {
        /// The reasoning.
        thinking: String,
        /// The provider's signature, returned verbatim.
        signature: Option<String>,
        /// True when only `data` is there.
        redacted: bool,
        /// The bytes: base64, or what a provider encrypted.
        data: Option<String>,
        /// Which api, provider and model made it.
        origin: Option<Value>,
    },
    /// An image, base64 without line breaks.
    Image {
        /// The media type.
        mime: String,
        /// The bytes: base64, or what a provider encrypted.
        data: String,
        /// Where it comes from.
        source: String,
        /// Pixels.
        width: Option<u32>,
        /// Pixels.
        height: Option<u32>,
    },
    /// A call of a tool. `raw_arguments` is the text as it came when it differs from an encoding of `arguments`.
    ToolCall {
        /// The call's id.
        id: String,
        /// The tool's name on the wire.
        name: String,
        /// The arguments as far as they could be read.
        arguments: Value,
        /// Their text, when it differs.
        raw_arguments: Option<String>,
        /// The provider's signature, returned verbatim.
        thought_signature: Option<String>,
    },
    /// A block of one provider that nobody else understands, kept verbatim.
    Opaque {
        /// The provider's id.
        provider: String,
        /// The wire.
        api: String,
        /// The model's id.
        model: String,
        /// The JSON, verbatim.
        json: Value,
    },
    /// Context for the model, rendered as a tagged block.
    Context {
        /// What kind it is.
        kind: String,
        /// Attributes of its tag.
        attrs: Map<String, Value>,
        /// The text.
        text: String,
        /// True where a provider's cache may reach.
        anchor: bool,
    },
}

impl Block {
    /// A text block without a signature.
    pub fn text(text: impl Into<String>) -> Self {
        Block::Text { text: text.into(), signature: None }
    }

    /// The block as a JSON object, `type` first.
    pub fn to_json(&self) -> Value {
        match self {
            Block::Text { text, signature } => json!({"type": "text", "text": text, "signature": signature}),
            Block::Thinking { thinking, signature, redacted, data, origin } => json!({
                "type": "thinking", "thinking": thinking, "signature": signature, "redacted": redacted,
                "data": data, "origin": origin
            }),
            Block::Image { mime, data, source, width, height } => json!({
                "type": "image", "mime": mime, "data": data, "source": source, "width": width, "height": height
            }),
            Block::ToolCall { id, name, arguments, raw_arguments, thought_signature } => json!({
                "type": "tool_call", "id": id, "name": name, "arguments": arguments,
                "raw_arguments": raw_arguments, "thought_signature": thought_signature
            }),
            Block::Opaque { provider, api, model, json } => json!({
                "type": "opaque", "provider": provider, "api": api, "model": model, "json": json
            }),
            Block::Context { kind, attrs, text, anchor } => json!({
                "type": "context", "kind": kind, "attrs": attrs, "text": text, "anchor": anchor
            }),
        }
    }
}

/// The text of blocks: their text blocks joined by newline; context blocks are left out.
pub fn text_of(content: &[Block]) -> String {
    let parts: Vec<&str> = content
        .iter()
        .filter_map(|b| match b {
            Block::Text { text, .. } => Some(text.as_str()),
            _ => None,
        })
        .collect();
    parts.join("\n")
}

/// Why a reply ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopReason {
    /// The model was done.
    Stop,
    /// The reply reached its maximal length.
    Length,
    /// The model waits for results of its calls.
    ToolUse,
    /// The person or a handler stopped it.
    Aborted,
    /// It failed; the failure is beside it.
    Error,
    /// The model or its host refused.
    Refusal,
    /// The host paused a long turn; sending it back goes on.
    Pause,
}

impl StopReason {
    /// The name in messages and files.
    pub fn as_str(self) -> &'static str {
        match self {
            StopReason::Stop => "stop",
            StopReason::Length => "length",
            StopReason::ToolUse => "tool_use",
            StopReason::Aborted => "aborted",
            StopReason::Error => "error",
            StopReason::Refusal => "refusal",
            StopReason::Pause => "pause",
        }
    }

    /// The reason with this name.
    pub fn parse(name: &str) -> Option<Self> {
        use StopReason::*;
        [Stop, Length, ToolUse, Aborted, Error, Refusal, Pause].into_iter().find(|r| r.as_str() == name)
    }
}

/// Token counts of one reply. `None` means that the host did not say.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Usage {
    /// Input tokens, neither read from nor written to a cache.
    pub input: Option<u64>,
    /// Output tokens, reasoning included.
    pub output: Option<u64>,
    /// Input tokens read from a cache.
    pub cache_read: Option<u64>,
    /// Input tokens written to a short-lived cache.
    pub cache_write_5m: Option<u64>,
    /// Input tokens written to a long-lived cache.
    pub cache_write_1h: Option<u64>,
    /// Output tokens that were reasoning.
    pub reasoning: Option<u64>,
    /// Cost in USD.
    pub cost: Option<f64>,
    /// True when the counts are this program's estimate.
    pub estimated: bool,
}

impl Usage {
    /// The sum of all tokens; unknown when input or output is.
    pub fn total(&self) -> Option<u64> {
        let known = |x: Option<u64>| x.unwrap_or(0);
        Some(
            self.input?
                + self.output?
                + known(self.cache_read)
                + known(self.cache_write_5m)
                + known(self.cache_write_1h),
        )
    }

    /// The usage as a JSON object.
    pub fn to_json(&self) -> Value {
        json!({
            "input": self.input, "output": self.output, "cache_read": self.cache_read,
            "cache_write_5m": self.cache_write_5m, "cache_write_1h": self.cache_write_1h,
            "reasoning": self.reasoning, "total": self.total(), "cost": self.cost, "estimated": self.estimated
        })
    }
}

/// A reply of a model.
#[derive(Debug, Clone, PartialEq)]
pub struct Assistant {
    /// Its blocks, in order.
    pub content: Vec<Block>,
    /// The wire it came over.
    pub api: String,
    /// The provider's id.
    pub provider: String,
    /// The model's id within the provider.
    pub model: String,
    /// The host's id of the reply.
    pub response_id: Option<String>,
    /// The model that the host says it used.
    pub response_model: Option<String>,
    /// Token counts.
    pub usage: Usage,
    /// Why it ended.
    pub stop_reason: StopReason,
    /// The failure's message for `Error` and `Aborted`.
    pub error_message: Option<String>,
    /// The host's own word for the stop reason when it is not a known one.
    pub raw_stop_reason: Option<String>,
    /// This program's id of the request.
    pub request_id: String,
    /// Milliseconds since 1970.
    pub timestamp: f64,
}

/// A message of a conversation.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs, reason = "each field is named as in the host's messages, and the variant says what it is about")]
pub enum Message {
    /// What a person, a parent session or an extension said.
    User {
        /// The blocks.
        content: Vec<Block>,
        /// Where it comes from.
        source: String,
        /// Milliseconds since 1970.
        timestamp: f64,
    },
    /// A reply of a model.
    Assistant(Assistant),
    /// The result of one tool call. `details` are never sent to a model, nor is `gloss`.
    ToolResult {
        /// The call that it answers.
        tool_call_id: String,
        /// The tool's key.
        tool_name: String,
        /// The blocks.
        content: Vec<Block>,
        /// True for a failure.
        is_error: bool,
        /// For programs.
        details: Map<String, Value>,
        /// The line that a person sees.
        gloss: Option<String>,
        /// Milliseconds since 1970.
        timestamp: f64,
    },
    /// A word of the program itself to the model.
    Operator {
        /// What kind it is.
        kind: String,
        /// The blocks.
        content: Vec<Block>,
        /// The text before the program put words around it.
        origin_text: Option<String>,
        /// Milliseconds since 1970.
        timestamp: f64,
    },
}

impl Message {
    /// The role's name.
    pub fn role(&self) -> &'static str {
        match self {
            Message::User { .. } => "user",
            Message::Assistant(_) => "assistant",
            Message::ToolResult { .. } => "tool_result",
            Message::Operator { .. } => "operator",
        }
    }

    /// The blocks.
    pub fn content(&self) -> &[Block] {
        match self {
            Message::User { content, .. } | Message::ToolResult { content, .. } | Message::Operator { content, .. } => {
                content
            }
            Message::Assistant(a) => &a.content,
        }
    }

    /// The text: text blocks joined by newline.
    pub fn text(&self) -> String {
        text_of(self.content())
    }

    /// The message as a JSON object, `role` first.
    pub fn to_json(&self) -> Value {
        let blocks = |content: &[Block]| Value::Array(content.iter().map(Block::to_json).collect());
        match self {
            Message::User { content, source, timestamp } => {
                json!({"role": "user", "content": blocks(content), "source": source, "timestamp": timestamp})
            }
            Message::Assistant(a) => json!({
                "role": "assistant", "content": blocks(&a.content), "api": a.api, "provider": a.provider,
                "model": a.model, "response_id": a.response_id, "response_model": a.response_model,
                "usage": a.usage.to_json(), "stop_reason": a.stop_reason.as_str(),
                "error_message": a.error_message, "raw_stop_reason": a.raw_stop_reason,
                "thinking_level": null, "route": "api", "request_id": a.request_id, "timestamp": a.timestamp
            }),
            Message::ToolResult { tool_call_id, tool_name, content, is_error, details, gloss, timestamp } => json!({
                "role": "tool_result", "tool_call_id": tool_call_id, "tool_name": tool_name,
                "content": blocks(content), "is_error": is_error, "details": details, "gloss": gloss,
                "timestamp": timestamp
            }),
            Message::Operator { kind, content, origin_text, timestamp } => json!({
                "role": "operator", "kind": kind, "content": blocks(content), "origin_text": origin_text,
                "timestamp": timestamp
            }),
        }
    }
}

/// A failure of a provider, as data: nothing is thrown out of a stream.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Failure {
    /// What kind of failure.
    pub class: FailureClass,
    /// The host's or the program's message, redacted, at most 500 characters.
    pub message: String,
    /// The HTTP status, also one that an error event in a stream stands for.
    pub status: Option<u16>,
    /// The host's id of the request.
    pub request_id: Option<String>,
    /// The host's own type or code.
    pub error_type: Option<String>,
    /// Seconds that the host asked to wait.
    pub retry_after: Option<f64>,
    /// The limit in seconds, for timeouts.
    pub seconds: Option<f64>,
    /// What was waited for, for timeouts; the origins, for redirects.
    pub what: Option<String>,
    /// Tokens of the request, for a context overflow that says so.
    pub tokens: Option<u64>,
}

/// The kinds of provider failures; each is a condition class `gptr_error_<name>`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FailureClass {
    /// Any other failure of the host.
    #[default]
    Provider,
    /// The key was refused.
    Auth,
    /// A quota or spending limit is used up.
    SpendCap,
    /// An unpaid bill.
    Billing,
    /// The host is overloaded or failed inside.
    Overloaded,
    /// A redirect, which is never followed.
    Redirect,
    /// Too many requests.
    RateLimit,
    /// The host asked for a longer wait than the ceiling.
    RetryAfter,
    /// The conversation does not fit into the model's window.
    ContextOverflow,
    /// The connection failed or was cut.
    Network,
    /// No connection in time.
    TimeoutConnect,
    /// No first byte in time.
    TimeoutFirstByte,
    /// Silence in the middle of a stream.
    TimeoutIdle,
    /// Stopped by the person or a handler.
    Aborted,
    /// There is no key; `what` has the names of the variables looked at.
    NoKey,
    /// A fault of this program.
    Internal,
}

impl FailureClass {
    /// The condition suffix.
    pub fn as_str(self) -> &'static str {
        match self {
            FailureClass::Provider => "provider",
            FailureClass::Auth => "auth",
            FailureClass::SpendCap => "spend_cap",
            FailureClass::Billing => "billing",
            FailureClass::Overloaded => "overloaded",
            FailureClass::Redirect => "redirect",
            FailureClass::RateLimit => "rate_limit",
            FailureClass::RetryAfter => "retry_after",
            FailureClass::ContextOverflow => "context_overflow",
            FailureClass::Network => "network",
            FailureClass::TimeoutConnect => "timeout_connect",
            FailureClass::TimeoutFirstByte => "timeout_first_byte",
            FailureClass::TimeoutIdle => "timeout_idle",
            FailureClass::Aborted => "aborted",
            FailureClass::NoKey => "no_key",
            FailureClass::Internal => "internal",
        }
    }
}

/// One event of a streamed reply. Indices of blocks count from 1. A stream ends with exactly one `Done` or `Error`.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs, reason = "each field is named as in the host's messages, and the variant says what it is about")]
pub enum StreamEvent {
    /// The host began to answer.
    Start {
        /// The host's id of the reply.
        response_id: Option<String>,
        /// The model that the host says it used.
        response_model: Option<String>,
    },
    /// A text block begins.
    TextStart {
        /// Which block, from 1.
        index: usize,
    },
    /// More text.
    TextDelta {
        /// Which block, from 1.
        index: usize,
        /// The text.
        text: String,
    },
    /// The text block is whole.
    TextEnd {
        /// Which block, from 1.
        index: usize,
    },
    /// A thinking block begins.
    ThinkingStart {
        /// Which block, from 1.
        index: usize,
    },
    /// More thinking.
    ThinkingDelta {
        /// Which block, from 1.
        index: usize,
        /// The text.
        text: String,
    },
    /// The thinking block is whole.
    ThinkingEnd {
        /// Which block, from 1.
        index: usize,
    },
    /// A tool call begins.
    ToolCallStart {
        /// Which block, from 1.
        index: usize,
        /// The call's id.
        id: String,
        /// The tool's name on the wire.
        name: String,
    },
    /// More of the call's JSON text.
    ToolCallDelta {
        /// Which block, from 1.
        index: usize,
        /// The JSON, verbatim.
        json: String,
    },
    /// The call is whole.
    ToolCallEnd {
        /// Which block, from 1.
        index: usize,
    },
    /// The reply is whole.
    Done {
        /// What had arrived.
        reply: Box<Reply>,
    },
    /// It failed; `reply` holds what had arrived.
    Error {
        /// What had arrived.
        reply: Box<Reply>,
        /// Why.
        failure: Failure,
    },
}

/// What a stream amounted to, without the fields that the caller knows.
#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    /// The blocks, in order of their index.
    pub content: Vec<Block>,
    /// Why it ended.
    pub stop_reason: StopReason,
    /// The host's word for it when it is not a known one.
    pub raw_stop_reason: Option<String>,
    /// The host's id of the reply.
    pub response_id: Option<String>,
    /// The model that the host says it used.
    pub response_model: Option<String>,
    /// Token counts.
    pub usage: Usage,
}

impl Default for Reply {
    fn default() -> Self {
        Reply {
            content: Vec::new(),
            stop_reason: StopReason::Stop,
            raw_stop_reason: None,
            response_id: None,
            response_model: None,
            usage: Usage::default(),
        }
    }
}
