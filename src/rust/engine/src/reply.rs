//! What a host call came back with.

use crate::value::{HostValue, Map, Value};

/// The answer to one host call: a value, or the way in which the handler was left.
#[derive(Debug, Clone, PartialEq)]
pub enum HostReply {
    /// The handler returned.
    Value(HostValue),
    /// It signalled an error.
    Condition {
        /// The condition's classes, most special first.
        class: Vec<String>,
        /// Its message; may be empty.
        message: String,
    },
    /// The person interrupted it.
    Interrupt,
    /// It jumped to the top level (`invokeRestart("abort")`).
    Abort,
    /// It took longer than its bound.
    Timeout,
}

/// The ways of leaving a handler without a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// By an error.
    Condition,
    /// By the person's interrupt.
    Interrupt,
    /// By a jump to the top level.
    Abort,
    /// By its time bound.
    Timeout,
}

impl Exit {
    /// The class that diagnostics have when there is no condition.
    pub fn as_str(self) -> &'static str {
        match self {
            Exit::Condition => "error",
            Exit::Interrupt => "interrupt",
            Exit::Abort => "abort",
            Exit::Timeout => "timeout",
        }
    }
}

/// A handler that returned no value: how it was left, and the words for it.
#[derive(Debug, Clone, PartialEq)]
pub struct Failed {
    /// How it was left.
    pub exit: Exit,
    /// The first class of the condition, else the name of the exit.
    pub class: String,
    /// The condition's message (its first class when that is empty), else "timed out", "interrupted", "aborted".
    pub message: String,
}

impl HostReply {
    /// NULL.
    pub fn null() -> Self {
        HostReply::Value(HostValue::null())
    }

    /// An error with this message.
    pub fn error(message: impl Into<String>) -> Self {
        HostReply::Condition { class: vec!["simpleError".into(), "error".into()], message: message.into() }
    }

    /// The value, or how the handler failed.
    ///
    /// # Errors
    /// [`Failed`] for every reply that is no value.
    pub fn result(&self) -> Result<&HostValue, Failed> {
        let (exit, message) = match self {
            HostReply::Value(value) => return Ok(value),
            HostReply::Condition { class, message } => return Err(condition(class, message)),
            HostReply::Interrupt => (Exit::Interrupt, "interrupted"),
            HostReply::Abort => (Exit::Abort, "aborted"),
            HostReply::Timeout => (Exit::Timeout, "timed out"),
        };
        Err(Failed { exit, class: exit.as_str().to_owned(), message: message.to_owned() })
    }
}

fn condition(class: &[String], message: &str) -> Failed {
    let class = class.first().cloned().unwrap_or_else(|| Exit::Condition.as_str().to_owned());
    let message = if message.trim().is_empty() { class.clone() } else { message.to_owned() };
    Failed { exit: Exit::Condition, class, message }
}

/// The list that a handler answered with: `None` for NULL, an empty list, or anything that is no list.
///
/// # Errors
/// What is wrong with it: a data frame, or names that are missing or repeated.
pub fn list_answer(value: &HostValue) -> Result<Option<&HostValue>, String> {
    if value.items().is_none() || value.is_empty() {
        return Ok(None);
    }
    if !value.is_plain_list() {
        return Err(format!("the answer must be a list, not {}", value.describe()));
    }
    if !value.uniquely_named() {
        return Err("the answer must be a list with unique, non-empty names".to_owned());
    }
    Ok(Some(value))
}

/// A list with unique, non-empty names as a JSON object; an empty list is an empty object.
///
/// # Errors
/// What is wrong with it.
pub fn object(value: &HostValue) -> Result<Map<String, Value>, String> {
    if !value.is_plain_list() || !value.uniquely_named() {
        return Err(format!("must be a list with unique, non-empty names, not {}", value.describe()));
    }
    if value.is_empty() {
        return Ok(Map::new());
    }
    match value.to_json().map_err(|e| e.to_string())? {
        Value::Object(map) => Ok(map),
        _ => Err("must be a list with unique, non-empty names".to_owned()),
    }
}

/// The element `name` of a list when it is absent, NULL or one string.
///
/// # Errors
/// When it is anything else.
pub fn optional_string(list: &HostValue, name: &str) -> Result<Option<String>, String> {
    let Some(value) = list.field(name) else { return Ok(None) };
    match value.as_str() {
        Some(s) => Ok(Some(s.to_owned())),
        None => Err(format!("`{name}` must be a single string, not {}", value.describe())),
    }
}

/// The decision that an answer gives, as it stands: `None` when it gives none.
///
/// # Errors
/// When there is a `decision` that is no single string, or an element whose name is a part of `decision` or differs from
/// it in case only: a decision was meant, and guessing which would be unsafe.
pub fn decision(list: &HostValue) -> Result<Option<&str>, String> {
    let near = |n: &String| n != "decision" && !n.is_empty() && "decision".starts_with(&n.to_ascii_lowercase());
    if let Some(name) = list.names.iter().flatten().find(|n| near(n)) {
        return Err(format!("`{name}` is not `decision`"));
    }
    let Some(value) = list.field("decision") else { return Ok(None) };
    match value.as_str() {
        Some(s) => Ok(Some(s)),
        None => Err(format!("`decision` must be a single string, not {}", value.describe())),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    #[test]
    fn h70_a_condition_without_a_message_is_named_by_its_class() {
        let reply = HostReply::Condition { class: vec!["my_error".into(), "error".into()], message: String::new() };
        assert_eq!(reply.result().unwrap_err().message, "my_error");
        let bare = HostReply::Condition { class: vec![], message: String::new() };
        assert_eq!(bare.result().unwrap_err().message, "error");
    }

    #[test]
    fn answers_are_lists_with_unique_names_or_nothing() {
        assert_eq!(list_answer(&HostValue::null()), Ok(None));
        assert_eq!(list_answer(&HostValue::from("deny")), Ok(None));
        assert_eq!(list_answer(&HostValue::list([])), Ok(None));
        assert!(list_answer(&HostValue::list([1.into()])).is_err());
        assert!(list_answer(&HostValue::named([("a", 1.into()), ("a", 2.into())])).is_err());
        let mut frame = HostValue::named([("decision", "block".into())]);
        assert!(list_answer(&frame).is_ok_and(|a| a.is_some()));
        frame.class = vec!["data.frame".into()];
        assert!(list_answer(&frame).is_err());
    }

    #[test]
    fn h16_a_decision_is_one_string_under_its_whole_name() {
        let of = |name: &str, v: HostValue| decision(&HostValue::named([(name, v)])).map(|d| d.map(str::to_owned));
        assert_eq!(of("decision", "Deny".into()), Ok(Some("Deny".into())));
        assert_eq!(of("decision", HostValue::null()), Ok(None));
        assert_eq!(of("reason", "x".into()), Ok(None));
        assert!(of("decision", HostValue::strings(["allow", "deny"])).is_err());
        assert!(of("decision", crate::value::HostData::Character(vec![None]).into()).is_err());
        assert!(of("dec", "deny".into()).is_err());
        assert!(of("Decision", "deny".into()).is_err());
    }

    #[test]
    fn an_empty_list_is_an_empty_object() {
        assert_eq!(object(&HostValue::list([])), Ok(Map::new()));
        assert!(object(&HostValue::from("x")).is_err());
        assert!(object(&HostValue::named([("f", HostValue::function([("x", true)]))])).is_err());
    }

    #[test]
    fn h14_a_timeout_says_so() {
        let failed = HostReply::Timeout.result().unwrap_err();
        assert_eq!((failed.class.as_str(), failed.message.as_str()), ("timeout", "timed out"));
    }
}
