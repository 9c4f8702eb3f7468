//! What it means when a closure of the user's fails: one table, from the role in which it was called.
//!
//! Every exit counts (error, interrupt, jump to the top level, timeout) and means the same within a role; an interrupt
//! also ends what was being done.

use crate::hook::Semantics;
use crate::reply::Exit;

/// What a host closure is called as. The name of a role is what the host sees in a `call` step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// A tool's `execute` or `fun`.
    Tool,
    /// A tool's `risk`.
    Risk,
    /// A tool's `available`.
    Available,
    /// A tool's `parameters` when they are a function.
    Parameters,
    /// A tool's `render`, a renderer's functions.
    Render,
    /// A policy's `check`.
    Policy,
    /// A hook's handler; `fail_closed` as in the catalogue.
    Hook {
        /// The semantics of its event.
        semantics: Semantics,
        /// True when a failing handler of the event decides against.
        fail_closed: bool,
    },
    /// A hook's matcher function: its failure counts as the handler's.
    Matcher {
        /// True when a failing handler of the event decides against.
        fail_closed: bool,
    },
    /// A prompt section's `text`.
    Section,
    /// A context block's `provide`.
    Block,
    /// The text of a standing line of guidance.
    Guidance,
    /// A provider's `headers`.
    Headers,
    /// A provider's `auth`.
    Auth,
    /// A provider's `quota`.
    Quota,
    /// A provider's `discover`.
    Discover,
    /// A provider's `status`.
    Status,
    /// An adapter's `build`, `parse`, `stream`, `run`.
    Adapter,
    /// A function in the script of a fake provider.
    Script,
    /// A router's `route`.
    Router,
    /// An estimator's functions.
    Estimator,
    /// A cache policy's `plan`.
    CachePolicy,
    /// A compactor's `should`.
    Should,
    /// A compactor's `compact`.
    Compact,
    /// A kind's or setting's `validate`.
    Validator,
    /// An extension's factory.
    Factory,
    /// The code that brings a lazy plugin to life.
    Activate,
    /// A command's `handler`.
    Command,
    /// A command's `complete`.
    Complete,
    /// The question whether a call may run.
    Permission,
    /// A user interface's `has_ui`.
    HasUi,
    /// Any other question to the person: `select`, `input`, `questions`.
    Dialog,
    /// A user interface's `notify`, a frontend, a listener of text deltas.
    Notify,
    /// The description of an R object.
    Describe,
    /// A preset's `tools` and `sections`.
    Preset,
    /// A secret source's functions.
    Secret,
    /// A checkpointer's functions.
    Checkpoint,
    /// A backend's functions.
    Backend,
    /// A route's `match`.
    RouteMatch,
    /// A route's `run`.
    RouteRun,
    /// A service's `fun`.
    Service,
    /// A search source's `docs`.
    Search,
    /// A store's functions.
    Store,
    /// The evaluation of model-written code.
    Evaluate,
    /// Facts that the host takes of code, files or objects for a decision.
    Facts,
    /// A remover, a finalizer, whatever runs on the way out.
    Cleanup,
}

/// What a failure leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Meaning {
    /// The call gets an error result with the message; the run goes on.
    ErrorResult,
    /// The call is denied (blocked, for a hook), with the message as reason.
    Deny,
    /// Left out of this dispatch, with a diagnostic; the others go on.
    Skip,
    /// This part of the prompt is left out, with a diagnostic.
    OmitSection,
    /// The tool, or another member of a list, is left out, with a diagnostic.
    LeftOut,
    /// The model request fails with the message; nothing is sent.
    FailRequest,
    /// The risk is taken as level 3.
    RiskThree,
    /// The built-in default is used instead, with a diagnostic.
    UseDefault,
    /// What the caller asked for fails with the condition.
    FailCall,
    /// Reported to the person; the input counts as handled.
    Report,
    /// Nobody answered: the question counts as dismissed, the person as absent.
    NoAnswer,
    /// Nothing happens, not even a diagnostic.
    Ignore,
}

/// A meaning, and whether the run ends as aborted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Consequence {
    /// What the failure leads to.
    pub meaning: Meaning,
    /// True for the person's interrupt: the run, or whatever was being done, is aborted after this.
    pub abort: bool,
}

/// Role, its name, and what a failure in it leads to. Hooks and matchers depend on their event, see
/// [`Role::meaning`].
const TABLE: &[(Role, &str, Meaning)] = &[
    (Role::Tool, "tool", Meaning::ErrorResult),
    (Role::Risk, "risk", Meaning::RiskThree),
    (Role::Available, "available", Meaning::LeftOut),
    (Role::Parameters, "parameters", Meaning::LeftOut),
    (Role::Render, "render", Meaning::UseDefault),
    (Role::Policy, "policy", Meaning::Deny),
    (Role::Section, "section", Meaning::OmitSection),
    (Role::Block, "block", Meaning::OmitSection),
    (Role::Guidance, "guidance", Meaning::OmitSection),
    (Role::Headers, "headers", Meaning::FailRequest),
    (Role::Auth, "auth", Meaning::FailRequest),
    (Role::Quota, "quota", Meaning::Ignore),
    (Role::Discover, "discover", Meaning::FailCall),
    (Role::Status, "status", Meaning::LeftOut),
    (Role::Adapter, "adapter", Meaning::FailRequest),
    (Role::Script, "script", Meaning::FailRequest),
    (Role::Router, "router", Meaning::UseDefault),
    (Role::Estimator, "estimator", Meaning::UseDefault),
    (Role::CachePolicy, "cache_policy", Meaning::UseDefault),
    (Role::Should, "should", Meaning::UseDefault),
    (Role::Compact, "compact", Meaning::UseDefault),
    (Role::Validator, "validator", Meaning::FailCall),
    (Role::Factory, "factory", Meaning::FailCall),
    (Role::Activate, "activate", Meaning::LeftOut),
    (Role::Command, "command", Meaning::Report),
    (Role::Complete, "complete", Meaning::Ignore),
    (Role::Permission, "permission", Meaning::Deny),
    (Role::HasUi, "has_ui", Meaning::NoAnswer),
    (Role::Dialog, "dialog", Meaning::NoAnswer),
    (Role::Notify, "notify", Meaning::Skip),
    (Role::Describe, "describe", Meaning::UseDefault),
    (Role::Preset, "preset", Meaning::FailCall),
    (Role::Secret, "secret", Meaning::Skip),
    (Role::Checkpoint, "checkpoint", Meaning::Skip),
    (Role::Backend, "backend", Meaning::FailCall),
    (Role::RouteMatch, "route_match", Meaning::Skip),
    (Role::RouteRun, "route_run", Meaning::FailCall),
    (Role::Service, "service", Meaning::FailCall),
    (Role::Search, "search", Meaning::Skip),
    (Role::Store, "store", Meaning::FailCall),
    (Role::Evaluate, "evaluate", Meaning::ErrorResult),
    (Role::Facts, "facts", Meaning::RiskThree),
    (Role::Cleanup, "cleanup", Meaning::Ignore),
];

impl Role {
    /// The name that the host sees.
    pub fn as_str(self) -> &'static str {
        match self {
            Role::Hook { .. } => "hook",
            Role::Matcher { .. } => "matcher",
            _ => self.row().map_or("handler", |r| r.1),
        }
    }

    /// What a failure in this role leads to. A role without a row fails its call, the strictest that needs no
    /// knowledge of the caller.
    pub fn meaning(self) -> Meaning {
        match self {
            Role::Hook { semantics: Semantics::Patch, fail_closed: true } => Meaning::FailRequest,
            Role::Hook { fail_closed, .. } | Role::Matcher { fail_closed } => {
                if fail_closed {
                    Meaning::Deny
                } else {
                    Meaning::Skip
                }
            }
            _ => self.row().map_or(Meaning::FailCall, |r| r.2),
        }
    }

    /// What leaving a handler of this role in this way leads to.
    pub fn consequence(self, exit: Exit) -> Consequence {
        Consequence { meaning: self.meaning(), abort: exit == Exit::Interrupt && self != Role::Cleanup }
    }

    fn row(self) -> Option<&'static (Role, &'static str, Meaning)> {
        TABLE.iter().find(|r| r.0 == self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn role_names_are_unique() {
        let mut names: Vec<_> = TABLE.iter().map(|r| r.1).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), TABLE.len());
    }

    #[test]
    fn decisions_fail_closed_and_observers_open() {
        let hook = |semantics, fail_closed| Role::Hook { semantics, fail_closed }.meaning();
        assert_eq!(hook(Semantics::Decision, true), Meaning::Deny);
        assert_eq!(hook(Semantics::FirstDecision, true), Meaning::Deny);
        assert_eq!(hook(Semantics::FirstDecision, false), Meaning::Skip);
        assert_eq!(hook(Semantics::Patch, true), Meaning::FailRequest);
        assert_eq!(hook(Semantics::Patch, false), Meaning::Skip);
        assert_eq!(hook(Semantics::Notify, false), Meaning::Skip);
        assert_eq!(Role::Policy.meaning(), Meaning::Deny);
        assert_eq!(Role::Permission.meaning(), Meaning::Deny);
    }

    #[test]
    fn h73_only_an_interrupt_aborts() {
        for exit in [Exit::Condition, Exit::Abort, Exit::Timeout] {
            assert_eq!(Role::Policy.consequence(exit), Consequence { meaning: Meaning::Deny, abort: false });
        }
        assert_eq!(Role::Policy.consequence(Exit::Interrupt), Consequence { meaning: Meaning::Deny, abort: true });
    }
}
