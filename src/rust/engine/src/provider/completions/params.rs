//! What a request says besides its messages.

use crate::provider::compat::Compat;
use crate::value::{Map, Value, json};

/// System text in two tiers of stability: what never changes, and what holds for the session.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct System {
    /// The same for all sessions.
    pub t0: String,
    /// The session's own.
    pub t1: String,
}

impl System {
    /// Both tiers as one text; empty without any.
    pub fn text(&self) -> String {
        let tiers: Vec<&str> =
            [&self.t0, &self.t1].into_iter().map(String::as_str).filter(|t| !t.trim().is_empty()).collect();
        tiers.join("\n\n")
    }
}

/// Which tools the model may or must call.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ToolChoice {
    /// As it likes.
    #[default]
    Auto,
    /// None.
    None,
    /// At least one.
    Required,
    /// This one.
    Tool(String),
}

/// The form that the answer must have.
#[derive(Debug, Clone, PartialEq)]
pub struct Returns {
    /// A name for it, `^[a-zA-Z0-9_-]{1,64}$`.
    pub name: String,
    /// Its JSON Schema.
    pub schema: Value,
}

/// Parameters of a request; what is unset is not sent.
#[derive(Debug, Clone, PartialEq)]
pub struct Params {
    /// The limit of the reply in tokens, reasoning included.
    pub max_tokens: Option<u64>,
    /// The temperature.
    pub temperature: Option<f64>,
    /// Which tools may be called.
    pub tool_choice: ToolChoice,
    /// The level of thinking: `off`, `minimal`, `low`, `medium`, `high`, `xhigh`, `max`.
    pub effort: Option<String>,
    /// The provider's own fields for that level, sent in place of the usual ones.
    pub thinking_fields: Option<Map<String, Value>>,
    /// The form of the answer.
    pub returns: Option<Returns>,
    /// Whether the reply is streamed.
    pub stream: bool,
}

impl Default for Params {
    fn default() -> Self {
        Params {
            max_tokens: None,
            temperature: None,
            tool_choice: ToolChoice::Auto,
            effort: None,
            thinking_fields: None,
            returns: None,
            stream: true,
        }
    }
}

impl Params {
    /// The fields of the body that follow messages and tools.
    pub(super) fn fields(&self, compat: &Compat, reasoning: bool, has_tools: bool) -> Map<String, Value> {
        let mut out = Map::new();
        let mut set = |name: &str, value: Value| {
            out.insert(name.to_owned(), value);
        };
        if has_tools
            && compat.supports_tool_choice
            && let Some(choice) = choice(&self.tool_choice)
        {
            set("tool_choice", choice);
        }
        set("stream", json!(self.stream));
        if self.stream && compat.supports_usage_in_streaming {
            set("stream_options", json!({"include_usage": true}));
        }
        if compat.supports_store {
            set("store", json!(false));
        }
        if let Some(limit) = self.max_tokens {
            set(&compat.max_tokens_field, json!(limit));
        }
        if let Some(temperature) = self.temperature {
            set("temperature", json!(temperature));
        }
        if let Some(returns) = &self.returns {
            let schema = json!({"name": returns.name, "schema": returns.schema});
            set("response_format", json!({"type": "json_schema", "json_schema": schema}));
        }
        let thinking = match (&self.thinking_fields, &self.effort) {
            (Some(fields), _) => fields.clone(),
            (None, Some(effort)) if reasoning => thinking(compat, effort),
            _ => Map::new(),
        };
        out.extend(thinking);
        out
    }
}

fn choice(choice: &ToolChoice) -> Option<Value> {
    match choice {
        ToolChoice::Auto => None,
        ToolChoice::None => Some(json!("none")),
        ToolChoice::Required => Some(json!("required")),
        ToolChoice::Tool(name) => Some(json!({"type": "function", "function": {"name": name}})),
    }
}

/// One dialect: the fields for a level, and whether the level itself goes into `reasoning_effort` beside them.
struct Dialect {
    name: &'static str,
    fields: fn(on: bool, effort: &str) -> Value,
    effort: bool,
}

const DIALECTS: &[Dialect] = &[
    Dialect { name: "openai", fields: |_, _| json!({}), effort: true },
    Dialect {
        name: "openrouter",
        fields: |on, effort| json!({"reasoning": {"effort": if on { effort } else { "none" }}}),
        effort: false,
    },
    Dialect { name: "deepseek", fields: |on, _| json!({"thinking": {"type": switch(on)}}), effort: true },
    Dialect {
        name: "zai",
        fields: |on, _| {
            if on {
                json!({"thinking": {"type": "enabled", "clear_thinking": false}})
            } else {
                json!({"thinking": {"type": "disabled"}})
            }
        },
        effort: false,
    },
    Dialect { name: "qwen", fields: |on, _| json!({"enable_thinking": on}), effort: false },
    Dialect {
        name: "qwen-chat-template",
        fields: |on, _| json!({"chat_template_kwargs": {"enable_thinking": on}}),
        effort: false,
    },
    Dialect { name: "together", fields: |on, _| json!({"reasoning": {"enabled": on}}), effort: false },
];

fn switch(on: bool) -> &'static str {
    if on { "enabled" } else { "disabled" }
}

fn thinking(compat: &Compat, effort: &str) -> Map<String, Value> {
    let Some(dialect) = DIALECTS.iter().find(|d| d.name == compat.thinking_format) else { return Map::new() };
    let on = !matches!(effort, "off" | "none");
    let mut fields = match (dialect.fields)(on, effort) {
        Value::Object(fields) => fields,
        _ => Map::new(),
    };
    // Only some models know an effort of "none": off is said by leaving the field out.
    if dialect.effort && on && compat.supports_reasoning_effort {
        fields.insert("reasoning_effort".to_owned(), json!(effort));
    }
    fields
}

/// The declaration of a tool, one element of the array that [`Encoder::body`](super::Encoder::body) takes.
pub fn tool_declaration(name: &str, description: &str, input_schema: &Value, compat: &Compat) -> Value {
    let mut function = json!({"name": name, "description": description, "parameters": input_schema});
    if compat.supports_strict_mode
        && let Some(fields) = function.as_object_mut()
    {
        fields.insert("strict".to_owned(), json!(false));
    }
    json!({"type": "function", "function": function})
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    fn fields(compat: &Compat, params: &Params) -> Value {
        Value::Object(params.fields(compat, true, true))
    }

    #[test]
    fn what_is_unset_or_not_supported_is_not_sent() {
        assert_eq!(
            fields(&Compat::default(), &Params::default()),
            json!({"stream": true, "stream_options": {"include_usage": true}, "store": false})
        );
        let plain = Compat { supports_store: false, supports_usage_in_streaming: false, ..Compat::default() };
        assert_eq!(fields(&plain, &Params::default()), json!({"stream": true}));
        assert_eq!(fields(&plain, &Params { stream: false, ..Params::default() }), json!({"stream": false}));
    }

    #[test]
    fn the_length_limit_has_the_name_that_the_host_wants() {
        let params = Params { max_tokens: Some(100_000), temperature: Some(0.5), ..Params::default() };
        assert_eq!(fields(&Compat::default(), &params)["max_completion_tokens"], 100_000);
        let old = Compat { max_tokens_field: "max_tokens".into(), ..Compat::default() };
        assert_eq!(fields(&old, &params)["max_tokens"], 100_000);
    }

    #[test]
    fn every_thinking_dialect() {
        let table = [
            ("openai", json!({"reasoning_effort": "low"}), json!({})),
            ("openrouter", json!({"reasoning": {"effort": "low"}}), json!({"reasoning": {"effort": "none"}})),
            (
                "deepseek",
                json!({"thinking": {"type": "enabled"}, "reasoning_effort": "low"}),
                json!({"thinking": {"type": "disabled"}}),
            ),
            (
                "zai",
                json!({"thinking": {"type": "enabled", "clear_thinking": false}}),
                json!({"thinking": {"type": "disabled"}}),
            ),
            ("qwen", json!({"enable_thinking": true}), json!({"enable_thinking": false})),
            (
                "qwen-chat-template",
                json!({"chat_template_kwargs": {"enable_thinking": true}}),
                json!({"chat_template_kwargs": {"enable_thinking": false}}),
            ),
            ("together", json!({"reasoning": {"enabled": true}}), json!({"reasoning": {"enabled": false}})),
        ];
        for (name, low, off) in table {
            let compat = Compat { thinking_format: name.into(), ..Compat::default() };
            assert_eq!(Value::Object(thinking(&compat, "low")), low, "{name}");
            assert_eq!(Value::Object(thinking(&compat, "off")), off, "{name}");
        }
    }

    #[test]
    fn a_providers_own_fields_replace_the_dialect() {
        let own = json!({"x": 1}).as_object().cloned();
        let params = Params { effort: Some("high".into()), thinking_fields: own, ..Params::default() };
        let out = fields(&Compat::default(), &params);
        assert_eq!((out.get("x"), out.get("reasoning_effort")), (Some(&json!(1)), None));
    }

    #[test]
    fn a_tool_choice_needs_tools() {
        let params = Params { tool_choice: ToolChoice::Tool("f".into()), ..Params::default() };
        let with = params.fields(&Compat::default(), false, true);
        assert_eq!(with["tool_choice"], json!({"type": "function", "function": {"name": "f"}}));
        assert!(!params.fields(&Compat::default(), false, false).contains_key("tool_choice"));
    }
}
