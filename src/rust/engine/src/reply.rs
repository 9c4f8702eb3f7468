//! What a host call came back with.

use crate::value::HostValue;

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
    fn h14_a_timeout_says_so() {
        let failed = HostReply::Timeout.result().unwrap_err();
        assert_eq!((failed.class.as_str(), failed.message.as_str()), ("timeout", "timed out"));
    }
}
