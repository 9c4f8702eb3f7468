//! The engine's one error type, and the condition that a host raises for it.

use crate::message::{Failure, FailureClass};
use crate::value::{Map, Value, json};

/// Everything that can go wrong, as data. The fields of a variant are those of its condition. `R/` turns it into a condition of class `gptr_error_<class>`.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[allow(missing_docs, reason = "each field is named as in the condition, and the variant says what it is about")]
pub enum Error {
    /// An argument of a call is wrong. The message is whole; the value itself is never in it.
    #[error("{message}")]
    InvalidArgument { arg: String, expected: Option<String>, message: String },
    /// A spec is wrong.
    #[error("Invalid {} spec '{}': field '{field}' {problem}.", unknown(.kind), unknown(.name))]
    InvalidSpec { kind: String, name: String, field: String, problem: String },
    /// No kind of that name is registered.
    #[error("Invalid {kind} spec '?': field 'kind' is not a registered kind.")]
    UnknownKind { kind: String },
    /// An extension needs another version of the API.
    #[error("{plugin} needs gptr API {required}, but this is {available}.")]
    ApiVersion { plugin: String, required: String, available: String },
    /// An API object was used after its extension was reloaded or unloaded.
    #[error("The API object of {plugin} is stale: the extension was reloaded or unloaded.")]
    StaleApi { plugin: String, generation: u64 },
    /// A member that does not exist.
    #[error("{message}")]
    UnknownMember { name: String, available: Vec<String>, message: String },
    /// A part that is not there.
    #[error("{member} is not available{}.", provided(.provided_by))]
    NotAvailable { member: String, provided_by: Option<String> },
    /// Something needs a person's approval.
    #[error("{message}")]
    Permission { message: String, action: Option<String>, tool: String, risk: i64, how_to_allow: String },
    /// A call of a member ended in an error result.
    #[error("{message}")]
    Tool { tool: String, status: &'static str, message: String },
    /// An extension given to a call did not load.
    #[error("Extension {extension} failed to load: {message}")]
    Extension { extension: String, message: String, parent: Box<Condition> },
    /// The session runs already.
    #[error("The session {session} is running: steer it with peter(session, ...), or wait for it.")]
    Busy { session: String },
    /// A run reached its limit of model requests.
    #[error("The run reached its limit of {max_turns} model requests.")]
    MaxTurns { max_turns: u64, session: String },
    /// A limit of cost, tokens, turns or nesting.
    #[error("{message}")]
    Budget { kind: String, budget: f64, used: f64, message: String },
    /// No key for a provider.
    #[error("{message}")]
    NoKey { provider: Option<String>, variables: Vec<String>, message: String },
    /// No model of that name.
    #[error("{message}")]
    UnknownModel { reference: String, suggestions: Vec<String>, message: String },
    /// A bare name that can't be resolved.
    #[error("{message}")]
    InvalidIdentifier { arg: String, class: Option<String>, candidates: Vec<String>, message: String },
    /// A model request failed.
    #[error("{}", .failure.message)]
    Provider { provider: String, model: String, failure: Box<Failure> },
    /// A fault of this program.
    #[error("{detail}")]
    Internal { detail: String },
}

/// A classed condition: what a host raises.
#[derive(Debug, Clone, PartialEq)]
pub struct Condition {
    /// Class suffixes, most special first; the host adds `gptr_error_` and the base classes.
    pub classes: Vec<String>,
    /// The message.
    pub message: String,
    /// Further fields.
    pub fields: Map<String, Value>,
}

fn unknown(word: &str) -> &str {
    if word.is_empty() { "?" } else { word }
}

fn provided(by: &Option<String>) -> String {
    by.as_ref().map(|b| format!(" (it comes with {b})")).unwrap_or_default()
}

impl Error {
    /// An argument error in the usual form: `` `<arg>` must be <expected>, not <what>. ``
    pub fn argument(arg: &str, expected: &str, got: &str) -> Self {
        Error::InvalidArgument {
            arg: arg.to_owned(),
            expected: Some(expected.to_owned()),
            message: format!("`{arg}` must be {expected}, not {got}."),
        }
    }

    /// An argument error with a message of its own.
    pub fn argument_message(arg: &str, message: impl Into<String>) -> Self {
        Error::InvalidArgument { arg: arg.to_owned(), expected: None, message: message.into() }
    }

    /// A spec error.
    pub fn spec(kind: &str, name: &str, field: &str, problem: impl Into<String>) -> Self {
        Error::InvalidSpec { kind: kind.into(), name: name.into(), field: field.into(), problem: problem.into() }
    }

    /// A fault of this program.
    pub fn internal(detail: impl Into<String>) -> Self {
        Error::Internal { detail: detail.into() }
    }

    /// The condition for this error.
    pub fn condition(&self) -> Condition {
        let (classes, fields) = self.parts();
        let fields = match fields {
            Value::Object(m) => m,
            _ => Map::new(),
        };
        Condition { classes, message: self.to_string(), fields }
    }

    fn parts(&self) -> (Vec<String>, Value) {
        let one = |c: &str| vec![c.to_owned()];
        match self {
            Error::InvalidArgument { arg, expected, .. } => {
                (one("invalid_argument"), json!({"arg": arg, "expected": expected}))
            }
            Error::InvalidSpec { kind, name, field, problem } => (
                one("invalid_spec"),
                json!({"kind": unknown(kind), "name": unknown(name), "field": field, "problem": problem}),
            ),
            Error::UnknownKind { kind } => (
                vec!["unknown_kind".into(), "invalid_spec".into()],
                json!({"kind": kind, "name": "?", "field": "kind", "problem": "is not a registered kind"}),
            ),
            Error::ApiVersion { plugin, required, available } => {
                (one("api_version"), json!({"plugin": plugin, "required": required, "available": available}))
            }
            Error::StaleApi { plugin, generation } => {
                (one("stale_api"), json!({"plugin": plugin, "generation": generation}))
            }
            Error::UnknownMember { name, available, .. } => {
                (one("unknown_member"), json!({"name": name, "available": available}))
            }
            Error::NotAvailable { member, provided_by } => {
                (one("not_available"), json!({"member": member, "provided_by": provided_by}))
            }
            Error::Permission { action, tool, risk, how_to_allow, .. } => {
                (one("permission"), json!({"action": action, "tool": tool, "risk": risk, "how_to_allow": how_to_allow}))
            }
            Error::Tool { tool, status, .. } => (one("tool"), json!({"tool": tool, "status": status})),
            Error::Extension { extension, parent, .. } => (
                one("extension"),
                json!({"extension": extension, "parent": {"classes": parent.classes, "message": parent.message, "fields": parent.fields}}),
            ),
            Error::Busy { session } => (one("busy"), json!({"session": session})),
            Error::MaxTurns { max_turns, session } => {
                (one("max_turns"), json!({"max_turns": max_turns, "session": session}))
            }
            Error::Budget { kind, budget, used, .. } => {
                (vec![format!("budget_{kind}"), "budget".into()], json!({"kind": kind, "budget": budget, "used": used}))
            }
            Error::NoKey { provider, variables, .. } => {
                (one("no_key"), json!({"provider": provider, "variables": variables}))
            }
            Error::UnknownModel { reference, suggestions, .. } => {
                (one("unknown_model"), json!({"ref": reference, "suggestions": suggestions}))
            }
            Error::InvalidIdentifier { arg, class, candidates, .. } => (
                vec!["invalid_identifier".into(), "invalid_argument".into()],
                json!({"arg": arg, "class": class, "candidates": candidates}),
            ),
            Error::Provider { provider, model, failure } => {
                (provider_classes(failure.class), provider_fields(provider, model, failure))
            }
            Error::Internal { detail } => (one("internal"), json!({"detail": detail})),
        }
    }
}

fn provider_classes(class: FailureClass) -> Vec<String> {
    let own = class.as_str();
    match class {
        FailureClass::Provider => vec!["provider".into()],
        FailureClass::TimeoutConnect | FailureClass::TimeoutFirstByte | FailureClass::TimeoutIdle => {
            vec![own.into(), "timeout".into(), "provider".into()]
        }
        FailureClass::Internal => vec!["internal".into(), "provider".into()],
        _ => vec![own.into(), "provider".into()],
    }
}

fn provider_fields(provider: &str, model: &str, f: &Failure) -> Value {
    let mut fields = json!({
        "provider": provider, "model": model, "status": f.status, "request_id": f.request_id, "error_type": f.error_type
    });
    match f.class {
        FailureClass::RateLimit | FailureClass::RetryAfter => fields["retry_after"] = json!(f.retry_after),
        FailureClass::NoKey => {
            fields["variables"] = json!(f.what.as_deref().unwrap_or_default().split(',').collect::<Vec<_>>());
        }
        FailureClass::ContextOverflow => fields["tokens"] = json!(f.tokens),
        FailureClass::TimeoutConnect | FailureClass::TimeoutFirstByte | FailureClass::TimeoutIdle => {
            fields["seconds"] = json!(f.seconds);
            fields["what"] = json!(f.what);
        }
        _ => {}
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spec_error_names_kind_name_field_and_problem() {
        let c = Error::spec("router", "r1", "route", "is required").condition();
        assert_eq!(c.message, "Invalid router spec 'r1': field 'route' is required.");
        assert_eq!(c.fields["field"], "route");
        assert_eq!(Error::spec("", "", "x", "p").condition().message, "Invalid ? spec '?': field 'x' p.");
    }

    #[test]
    fn a_child_class_comes_before_its_parent() {
        let c = Error::UnknownKind { kind: "widget".into() }.condition();
        assert_eq!(c.classes, ["unknown_kind", "invalid_spec"]);
        let failure = Failure { class: FailureClass::TimeoutIdle, seconds: Some(90.0), ..Failure::default() };
        let c = Error::Provider { provider: "p".into(), model: "m".into(), failure: Box::new(failure) }.condition();
        assert_eq!(c.classes, ["timeout_idle", "timeout", "provider"]);
        assert_eq!(c.fields["seconds"], 90.0);
    }
}
