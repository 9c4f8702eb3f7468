//! What hosts of one wire do differently: a table of flags with defaults, what is known of a host, and what the
//! provider's spec says, which wins.

use crate::error::Error;
use crate::value::{Map, Value};

/// How a flag is held and set.
enum Slot<'a> {
    Flag(&'a mut bool),
    Word(&'a mut String, &'a [&'a str]),
}

macro_rules! compat_flags {
    (
        flags { $($(#[$fdoc:meta])* $flag:ident = $default:literal,)* }
        words { $($(#[$wdoc:meta])* $word:ident = $first:literal $(| $other:literal)*,)* }
    ) => {
        /// The flags of one provider.
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub struct Compat {
            $($(#[$fdoc])* pub $flag: bool,)*
            $($(#[$wdoc])* pub $word: String,)*
        }

        impl Default for Compat {
            fn default() -> Self {
                Compat { $($flag: $default,)* $($word: $first.to_owned(),)* }
            }
        }

        impl Compat {
            fn slot(&mut self, name: &str) -> Option<Slot<'_>> {
                Some(match name {
                    $(stringify!($flag) => Slot::Flag(&mut self.$flag),)*
                    $(stringify!($word) => Slot::Word(&mut self.$word, &[$first $(, $other)*]),)*
                    _ => return None,
                })
            }
        }
    };
}

compat_flags! {
    flags {
        /// Takes `store: false`.
        supports_store = true,
        /// Takes the role `developer` for reasoning models.
        supports_developer_role = true,
        /// Takes an effort field.
        supports_reasoning_effort = true,
        /// Takes `stream_options`.
        supports_usage_in_streaming = true,
        /// Sends a finish reason; false: a clean end of the stream is a good end.
        supports_finish_reason = true,
        /// Wants `strict` on tools.
        supports_strict_mode = false,
        /// Takes `tool_choice`.
        supports_tool_choice = true,
        /// Wants the tool's name on its result.
        requires_tool_result_name = false,
        /// Wants an assistant message between a tool result and the next user message.
        requires_assistant_after_tool_result = false,
        /// Wants reasoning back as plain text.
        requires_thinking_as_text = false,
        /// Wants `reasoning_content` on every assistant message with calls.
        requires_reasoning_content = false,
        /// Takes and sends reasoning as parts of the content.
        thinking_in_content = false,
        /// Leaves `<think>` tags in the text.
        think_tags = false,
        /// Wants `""` instead of null for a turn of calls alone.
        requires_string_content = false,
    }
    words {
        /// The name of the length limit.
        max_tokens_field = "max_completion_tokens" | "max_tokens",
        /// How thinking is asked for.
        thinking_format = "openai" | "openrouter" | "deepseek" | "zai" | "qwen" | "qwen-chat-template" | "together",
        /// The rule for ids of calls.
        tool_id = "default" | "alnum9",
        /// The header with the key.
        auth_header = "authorization" | "api-key",
    }
}

/// What is known of a host: provider ids, parts of the host's name, and flags that differ from the defaults.
struct Known {
    ids: &'static [&'static str],
    hosts: &'static [&'static str],
    off: &'static [&'static str],
    on: &'static [&'static str],
    words: &'static [(&'static str, &'static str)],
}

const LOCAL_OFF: &[&str] = &["supports_store", "supports_developer_role"];
const MAX_TOKENS: (&str, &str) = ("max_tokens_field", "max_tokens");

const KNOWN: &[Known] = &[
    Known {
        ids: &["vllm", "llamacpp", "ollama", "lmstudio", "sglang"],
        hosts: &["localhost", "127.", "[::1]"],
        off: LOCAL_OFF,
        on: &["requires_string_content"],
        words: &[MAX_TOKENS],
    },
    Known {
        ids: &["groq"],
        hosts: &["groq.com"],
        off: &["supports_store", "supports_developer_role"],
        on: &[],
        words: &[],
    },
    Known {
        ids: &["deepseek"],
        hosts: &["deepseek.com"],
        off: &["supports_store", "supports_developer_role"],
        on: &["requires_reasoning_content", "requires_string_content"],
        words: &[MAX_TOKENS, ("thinking_format", "deepseek")],
    },
    Known {
        ids: &["mistral"],
        hosts: &["mistral.ai"],
        off: &["supports_store", "supports_developer_role", "supports_reasoning_effort", "supports_usage_in_streaming"],
        on: &[
            "requires_tool_result_name",
            "requires_assistant_after_tool_result",
            "thinking_in_content",
            "requires_string_content",
        ],
        words: &[MAX_TOKENS, ("tool_id", "alnum9")],
    },
    Known {
        ids: &["openrouter"],
        hosts: &["openrouter.ai"],
        off: &["supports_store", "supports_developer_role"],
        on: &[],
        words: &[("thinking_format", "openrouter")],
    },
    Known {
        ids: &["together"],
        hosts: &["together.xyz", "together.ai"],
        off: &["supports_store", "supports_developer_role", "supports_reasoning_effort"],
        on: &["think_tags"],
        words: &[MAX_TOKENS, ("thinking_format", "together")],
    },
    Known {
        ids: &["xai"],
        hosts: &["api.x.ai"],
        off: &["supports_store", "supports_developer_role", "supports_reasoning_effort"],
        on: &[],
        words: &[],
    },
    Known {
        ids: &["cerebras", "fireworks", "moonshot"],
        hosts: &["cerebras.ai", "fireworks.ai", "moonshot.ai", "moonshot.cn"],
        off: &["supports_store", "supports_developer_role"],
        on: &[],
        words: &[MAX_TOKENS],
    },
    Known {
        ids: &["zai"],
        hosts: &["z.ai", "bigmodel.cn"],
        off: &["supports_store", "supports_developer_role"],
        on: &[],
        words: &[MAX_TOKENS, ("thinking_format", "zai")],
    },
    Known {
        ids: &["alibaba"],
        hosts: &["aliyuncs.com"],
        off: &["supports_store", "supports_developer_role"],
        on: &[],
        words: &[MAX_TOKENS, ("thinking_format", "qwen")],
    },
    Known {
        ids: &["snowflake"],
        hosts: &["snowflakecomputing.com"],
        off: &["supports_store", "supports_finish_reason"],
        on: &[],
        words: &[],
    },
    Known { ids: &["azure"], hosts: &["azure.com"], off: &[], on: &[], words: &[("auth_header", "api-key")] },
];

impl Compat {
    /// What is known of a provider id or a host; the defaults for others.
    pub fn detect(provider: &str, host: &str) -> Compat {
        let host = host.to_ascii_lowercase();
        let mut compat = Compat::default();
        let Some(known) = KNOWN.iter().find(|k| k.ids.contains(&provider) || k.hosts.iter().any(|h| names(&host, h)))
        else {
            return compat;
        };
        for (flags, value) in [(known.off, false), (known.on, true)] {
            for flag in flags {
                if let Some(Slot::Flag(slot)) = compat.slot(flag) {
                    *slot = value;
                }
            }
        }
        for (word, value) in known.words {
            if let Some(Slot::Word(slot, _)) = compat.slot(word) {
                *slot = (*value).to_owned();
            }
        }
        compat
    }

    /// Lays a spec's flags over these; names in snake case or camel case. Returns names that are not flags of this
    /// wire, which are kept for wires to come.
    ///
    /// # Errors
    /// `InvalidSpec` naming the field for a value of the wrong type or an unknown word.
    pub fn apply(&mut self, provider: &str, flags: &Map<String, Value>) -> Result<Vec<String>, Error> {
        let mut unknown = Vec::new();
        for (name, value) in flags.iter().filter(|(_, v)| !v.is_null()) {
            let field = format!("compat${name}");
            match self.slot(&snake_case(name)) {
                None => unknown.push(name.clone()),
                Some(Slot::Flag(slot)) => {
                    *slot = value
                        .as_bool()
                        .ok_or_else(|| Error::spec("provider", provider, &field, "must be TRUE or FALSE"))?;
                }
                Some(Slot::Word(slot, words)) => {
                    let word = value.as_str().filter(|w| words.contains(w));
                    let problem =
                        || Error::spec("provider", provider, &field, format!("must be one of {}", words.join(", ")));
                    *slot = word.ok_or_else(problem)?.to_owned();
                }
            }
        }
        Ok(unknown)
    }
}

/// True when a host's name is `part` or ends in it after a dot; a part with a dot at its end is a prefix.
fn names(host: &str, part: &str) -> bool {
    if part.ends_with('.') {
        return host.starts_with(part);
    }
    host.strip_suffix(part).is_some_and(|before| before.is_empty() || before.ends_with('.'))
}

fn snake_case(name: &str) -> String {
    let mut out = String::with_capacity(name.len() + 4);
    for c in name.chars() {
        if c.is_ascii_uppercase() {
            out.push('_');
        }
        out.push(c.to_ascii_lowercase());
    }
    out
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;
    use crate::value::json;

    fn map(value: Value) -> Map<String, Value> {
        match value {
            Value::Object(m) => m,
            _ => Map::new(),
        }
    }

    #[test]
    fn every_known_flag_exists() {
        let mut compat = Compat::default();
        for known in KNOWN {
            for flag in known.on.iter().chain(known.off) {
                assert!(matches!(compat.slot(flag), Some(Slot::Flag(_))), "{flag}");
            }
            for (word, value) in known.words {
                assert!(matches!(compat.slot(word), Some(Slot::Word(_, words)) if words.contains(value)), "{word}");
            }
        }
    }

    #[test]
    fn a_host_is_known_by_id_or_by_name() {
        assert_eq!(Compat::detect("mistral", "").tool_id, "alnum9");
        assert_eq!(Compat::detect("mine", "api.mistral.ai").tool_id, "alnum9");
        assert_eq!(Compat::detect("mine", "notmistral.ai").tool_id, "default");
        assert!(!Compat::detect("mine", "127.0.0.1").supports_store);
        assert_eq!(Compat::detect("mine", "example.org"), Compat::default());
        assert!(Compat::detect("mine", "localhost.evil.test").supports_store);
    }

    #[test]
    fn explicit_flags_win_in_either_spelling() {
        let mut compat = Compat::detect("vllm", "");
        let unknown = compat
            .apply(
                "p",
                &map(json!({"supportsStore": true, "max_tokens_field": "max_completion_tokens", "futureFlag": 1})),
            )
            .unwrap();
        assert!(compat.supports_store);
        assert_eq!(compat.max_tokens_field, "max_completion_tokens");
        assert_eq!(unknown, ["futureFlag"]);
    }

    #[test]
    fn a_wrong_value_is_a_spec_error_that_names_the_field() {
        let error = Compat::default().apply("p", &map(json!({"supports_store": "yes"}))).unwrap_err();
        assert_eq!(
            error.to_string(),
            "Invalid provider spec 'p': field 'compat$supports_store' must be TRUE or FALSE."
        );
        assert!(Compat::default().apply("p", &map(json!({"thinkingFormat": "x"}))).is_err());
    }
}
