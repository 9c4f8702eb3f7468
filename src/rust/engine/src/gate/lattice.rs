//! The answers of policies, and the strictest of them.
//!
//! A [`Round`] is one call's way through all policies: feed it an answer a policy, then ask [`Round::end_pass`]. When
//! a policy modified the input, the pass ends with [`Next::Again`]: validate the new input, take its risk anew, and
//! feed the answers of all policies once more.

use std::collections::BTreeSet;

use crate::hook::Diagnostic;
use crate::meaning::Role;
use crate::reply::{HostReply, decision, list_answer, object, optional_string};
use crate::value::{HostValue, Map, Value};

/// What may happen to a call, from loose to strict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Decision {
    /// It runs.
    Allow,
    /// `permission_request` hooks or a person are asked.
    Ask,
    /// Only a person can approve.
    AskHuman,
    /// It does not run.
    Deny,
}

impl Decision {
    /// The name in answers and listings.
    pub fn as_str(self) -> &'static str {
        match self {
            Decision::Allow => "allow",
            Decision::Ask => "ask",
            Decision::AskHuman => "ask_human",
            Decision::Deny => "deny",
        }
    }

    /// The decision of this name, exactly.
    pub fn parse(name: &str) -> Option<Self> {
        [Decision::Allow, Decision::Ask, Decision::AskHuman, Decision::Deny].into_iter().find(|d| d.as_str() == name)
    }
}

/// One policy's opinion of one call.
#[derive(Debug, Clone, PartialEq)]
pub struct Opinion {
    /// The decision, or a new input.
    pub says: Says,
    /// Why, one string.
    pub reason: String,
    /// True for an `ask` that a matching allow rule lifts (those of the policies `mode` and `protect_size`).
    pub liftable: bool,
    /// True for a matching allow rule.
    pub lifts: bool,
}

/// What an opinion says.
#[derive(Debug, Clone, PartialEq)]
pub enum Says {
    /// A decision.
    Decision(Decision),
    /// The call, with this input instead.
    Modify(Map<String, Value>),
}

impl Opinion {
    /// A decision with its reason.
    pub fn new(decision: Decision, reason: impl Into<String>) -> Self {
        Opinion { says: Says::Decision(decision), reason: reason.into(), liftable: false, lifts: false }
    }
}

/// A policy's reply, read.
#[derive(Debug, Clone, PartialEq)]
pub struct Normalised {
    /// The opinion; `None` is no opinion.
    pub opinion: Option<Opinion>,
    /// What is wrong with the policy: its class and message.
    pub fault: Option<(String, String)>,
    /// True when the person interrupted it.
    pub abort: bool,
}

/// Reads the reply of policy `name`. Only NULL and a list without `decision` are no opinion; whatever else is no well
/// formed decision denies.
pub fn normalise(name: &str, reply: &HostReply) -> Normalised {
    let value = match reply.result() {
        Ok(value) => value,
        Err(failed) => {
            let reason = format!("policy '{name}' failed: {}", failed.message);
            let abort = Role::Policy.consequence(failed.exit).abort;
            return Normalised {
                opinion: Some(Opinion::new(Decision::Deny, reason)),
                fault: Some((failed.class, failed.message)),
                abort,
            };
        }
    };
    match read(name, value) {
        Ok(opinion) => Normalised { opinion, fault: None, abort: false },
        Err(problem) => {
            let reason = format!("policy '{name}' returned a malformed decision");
            let fault = Some(("malformed_decision".to_owned(), problem));
            Normalised { opinion: Some(Opinion::new(Decision::Deny, reason)), fault, abort: false }
        }
    }
}

fn read(name: &str, value: &HostValue) -> Result<Option<Opinion>, String> {
    if !value.is_null() && value.items().is_none() {
        return Err(format!("the answer must be NULL or a list, not {}", value.describe()));
    }
    let Some(list) = list_answer(value)? else { return Ok(None) };
    let given = decision(list)?;
    let reason = optional_string(list, "reason")?.filter(|r| !r.trim().is_empty());
    let Some(word) = given else { return Ok(None) };
    if word == "modify" {
        let input = list.field("input").ok_or("a modify needs an `input`")?;
        let input = object(input).map_err(|p| format!("`input` {p}"))?;
        let reason = reason.unwrap_or_else(|| format!("policy '{name}' modified the call"));
        return Ok(Some(Opinion { says: Says::Modify(input), ..Opinion::new(Decision::Allow, reason) }));
    }
    let decision = Decision::parse(word)
        .ok_or("`decision` must be one of \"allow\", \"ask\", \"ask_human\", \"deny\", \"modify\"")?;
    let reason = reason.unwrap_or_else(|| match decision {
        Decision::Allow => String::new(),
        Decision::Ask | Decision::AskHuman => format!("policy '{name}' asks for approval"),
        Decision::Deny => format!("denied by policy '{name}'"),
    });
    Ok(Some(Opinion::new(decision, reason)))
}

/// What stands around the policies of a call.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Guards {
    /// True when an enabled policy named `mode` is among them.
    pub mode_active: bool,
    /// True under the option `gptr.unsafe_no_permissions`: no policy named `mode` is needed.
    pub unguarded: bool,
    /// Names of required policies that are not there.
    pub missing: Vec<String>,
}

/// How a pass ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Next {
    /// The input was modified: validate it, take its risk anew, and ask all policies once more.
    Again,
    /// This is the decision.
    Decided(Verdict),
}

/// The decision on a call.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    /// The strictest opinion.
    pub decision: Decision,
    /// The earliest reason of that strictness; empty for an allow without one.
    pub reason: String,
    /// All reasons of that strictness, in policy order.
    pub reasons: Vec<String>,
    /// The policy that gave the earliest.
    pub policy: Option<String>,
    /// The input to run with.
    pub input: Value,
    /// True when a policy modified it.
    pub modified: bool,
    /// Faults of policies, in order.
    pub diagnostics: Vec<Diagnostic>,
    /// True when the person interrupted a policy: the call is denied and the run aborted.
    pub abort: bool,
}

/// One call's way through all policies.
#[derive(Debug, Clone)]
pub struct Round {
    guards: Guards,
    input: Value,
    second: bool,
    modified: bool,
    given: Vec<(String, Opinion)>,
    diagnostics: Vec<Diagnostic>,
    abort: bool,
}

impl Round {
    /// Begins with the first pass.
    pub fn new(input: Value, guards: Guards) -> Self {
        Round {
            guards,
            input,
            second: false,
            modified: false,
            given: Vec::new(),
            diagnostics: Vec::new(),
            abort: false,
        }
    }

    /// The input as the next policy sees it.
    pub fn input(&self) -> &Value {
        &self.input
    }

    /// Takes the reply of a host's policy. `source` is the record's source, for diagnostics.
    pub fn answer(&mut self, policy: &str, source: &str, reply: &HostReply) {
        let Normalised { opinion, fault, abort } = normalise(policy, reply);
        self.abort |= abort;
        if let Some((class, message)) = fault {
            let message = format!("policy '{policy}': {message}");
            self.diagnostics.push(Diagnostic { source: source.to_owned(), event: "policy".to_owned(), class, message });
        }
        self.opinion(policy, opinion);
    }

    /// Takes the opinion of a policy; `None` is no opinion.
    pub fn opinion(&mut self, policy: &str, opinion: Option<Opinion>) {
        let Some(mut opinion) = opinion else { return };
        if let Says::Modify(input) = opinion.says {
            opinion.says = Says::Decision(if self.second { Decision::Deny } else { Decision::Allow });
            if self.second {
                opinion.reason = format!("a policy modified the call twice ('{policy}')");
            } else {
                self.input = Value::Object(input);
                self.modified = true;
            }
        }
        self.given.push((policy.to_owned(), opinion));
    }

    /// Ends the pass. `read_only` says whether the call as it stands is known to change nothing (level 0): a missing
    /// required policy lets only such calls through.
    pub fn end_pass(&mut self, read_only: bool) -> Next {
        let denied = self.given.iter().any(|(_, o)| o.says == Says::Decision(Decision::Deny));
        if self.modified && !self.second && !denied && !self.abort {
            self.second = true;
            self.given.clear();
            return Next::Again;
        }
        self.given.extend(self.own_opinions(read_only));
        Next::Decided(self.verdict())
    }

    /// What follows from policies that are not there.
    fn own_opinions(&self, read_only: bool) -> Vec<(String, Opinion)> {
        let mut own = Vec::new();
        if let (Some(name), false) = (self.guards.missing.first(), read_only) {
            let reason = format!("the required policy '{name}' is missing, so only read-only calls run");
            own.push((name.clone(), Opinion::new(Decision::Deny, reason)));
        }
        if !self.guards.mode_active && !self.guards.unguarded {
            own.push(("mode".to_owned(), Opinion::new(Decision::Ask, "no permission mode policy is active")));
        }
        own
    }

    fn verdict(&mut self) -> Verdict {
        let lifted = self.given.iter().any(|(_, o)| o.lifts);
        let counted: Vec<(&str, Decision, &str)> = self
            .given
            .iter()
            .filter(|(_, o)| !(lifted && o.liftable && o.says == Says::Decision(Decision::Ask)))
            .filter_map(|(policy, o)| match o.says {
                Says::Decision(d) => Some((policy.as_str(), d, o.reason.as_str())),
                Says::Modify(_) => None,
            })
            .collect();
        let decision = counted.iter().map(|c| c.1).max().unwrap_or(Decision::Allow);
        let strictest = || counted.iter().filter(|c| c.1 == decision);
        let mut seen = BTreeSet::new();
        let reasons: Vec<String> =
            strictest().map(|c| c.2).filter(|r| !r.is_empty() && seen.insert(*r)).map(str::to_owned).collect();
        let first = strictest().next();
        Verdict {
            decision,
            reason: first.map_or(String::new(), |c| c.2.to_owned()),
            policy: first.map(|c| c.0.to_owned()),
            reasons,
            input: self.input.clone(),
            modified: self.modified,
            diagnostics: std::mem::take(&mut self.diagnostics),
            abort: self.abort,
        }
    }
}

#[cfg(test)]
#[path = "lattice_tests.rs"]
mod tests;
