//! May this call run? Risk, policies, and the question to the person.

use std::cell::Cell;
use std::rc::Rc;

use super::native::NativeCall;
use super::scene::Scene;
use super::tool::{CallInput, CallRequest, is_evaluator, problem};
use crate::error::Error;
use crate::gate::lattice::{Decision, Guards, Next, Opinion, Round, Verdict};
use crate::gate::member;
use crate::gate::message::{Refusal, denied, how_to_allow};
use crate::gate::mode::{self, Action, Mode};
use crate::gate::risk::{self, Risk};
use crate::gate::{Around, risk_of_code};
use crate::hook::Answer;
use crate::meaning::Role;
use crate::registry::store::{Record, Snapshot};
use crate::reply::{Exit, HostReply};
use crate::schema::Schema;
use crate::session::SeenCode;
use crate::value::{HostValue, Value, json};

/// The sources of the policies that are decided here; the host's `check` of such a record is never called.
const NATIVE_POLICIES: [&str; 2] = ["builtin:permissions", "builtin:plan"];

/// Lines of code that a question shows.
const SHOWN_LINES: usize = 20;

/// Everything a decision needs.
pub struct Gate<'a> {
    /// Where.
    pub scene: &'a Scene,
    /// The call.
    pub request: &'a CallRequest,
    /// Its tool.
    pub record: &'a Record,
    /// The schema of its input.
    schema: Option<&'a Schema>,
    /// Its body, when that is native.
    pub native: Option<&'a NativeCall>,
    /// The level that was found last.
    level: Cell<Option<u8>>,
}

/// The outcome.
pub enum Asked {
    /// The call runs with this input.
    Run(Value),
    /// A policy made an input that the schema refuses; the text of the error result.
    Invalid(String),
    /// It does not run; the text of the error result.
    Denied(String),
    /// It can't be run, whoever approves it; the text of the error result.
    Guarded(String),
    /// It does not run and neither does the rest: nobody could approve.
    Stop(String, Box<Error>),
}

/// How dangerous a call is with one input.
#[derive(Clone)]
pub struct Assessed {
    /// What was judged.
    input: Value,
    /// The level.
    pub level: u8,
    code: Option<Risk>,
    guard: Option<String>,
}

impl Assessed {
    fn at(level: u8) -> Self {
        Assessed { input: Value::Null, level, code: None, guard: None }
    }
}

impl<'a> Gate<'a> {
    /// A gate for a call.
    pub fn new(
        scene: &'a Scene,
        request: &'a CallRequest,
        record: &'a Record,
        schema: Option<&'a Schema>,
        native: Option<&'a NativeCall>,
    ) -> Self {
        Gate { scene, request, record, schema, native, level: Cell::new(None) }
    }

    /// How much the call can do, as found last.
    pub fn level(&self) -> Option<u8> {
        self.level.get()
    }

    /// The schema of the input.
    pub fn schema(&self) -> Option<&'a Schema> {
        self.schema
    }

    /// What is wrong with an input, in one line. Arguments that R code gave are checked as what they are in R.
    pub fn problem(&self, input: &Value) -> Option<String> {
        let Some(nested) = &self.request.nested else { return problem(self.schema, input) };
        let problems = nested.arguments.problems(self.record, input);
        (!problems.is_empty()).then(|| problems.join("; "))
    }

    /// Asks all policies, and the person when they say so. `known` is what was judged before.
    pub async fn decide(&self, input: Value, known: Option<Assessed>) -> Asked {
        let policies = self.scene.list("policy").await;
        let mut round = Round::new(input, self.guards(&policies));
        let mut assessed = self.assess(round.input(), known).await;
        let mut modifier = String::new();
        loop {
            for policy in &policies {
                let before = round.input().clone();
                self.ask_policy(policy, &mut round, &assessed).await;
                if *round.input() != before {
                    modifier.clone_from(&policy.key);
                }
                if self.scene.run.signal.is_raised() {
                    break;
                }
            }
            match round.end_pass(assessed.level == 0) {
                Next::Decided(verdict) => return self.settle(verdict, &assessed).await,
                Next::Again => {}
            }
            if let Some(text) = self.scene.halted() {
                return Asked::Denied(text);
            }
            if let Some(problem) = self.problem(round.input()) {
                let text = format!(
                    "Invalid arguments for {}: {problem} (as policy '{modifier}' changed them)",
                    self.record.key
                );
                return Asked::Invalid(text);
            }
            assessed = self.assess(round.input(), None).await;
        }
    }

    fn guards(&self, policies: &[Rc<Record>]) -> Guards {
        let mode_active = policies.iter().any(|p| p.key == "mode");
        let unguarded = self.scene.session.state.borrow().settings.unsafe_no_permissions;
        let required = &self.scene.session.state.borrow().required_policies;
        let missing = required.iter().filter(|name| !policies.iter().any(|p| p.key == **name)).cloned().collect();
        Guards { mode_active, unguarded, missing }
    }

    /// The risk of the input: the tool's own word, the analysis of code, else by its annotations. What is `known` of
    /// the same input is not found out again.
    pub async fn assess(&self, input: &Value, known: Option<Assessed>) -> Assessed {
        let assessed = match known.filter(|k| k.input == *input) {
            Some(known) => known,
            None => Assessed { input: input.clone(), ..self.judge(input).await },
        };
        self.level.set(Some(assessed.level));
        assessed
    }

    async fn judge(&self, input: &Value) -> Assessed {
        if self.record.has_function("risk") {
            let args = vec![input.clone()];
            let reply = self.scene.consult(self.record, "risk", Role::Risk, Some(&self.request.id), args).await;
            return self.read_risk(&reply);
        }
        if let Some(level) = self.native.and_then(|n| n.level(input)) {
            return Assessed::at(level);
        }
        let hints = self.record.spec.field("annotations");
        let read_only = hints.and_then(|a| a.field("read_only")).and_then(HostValue::as_flag) == Some(true);
        Assessed::at(if read_only { 0 } else { 2 })
    }

    fn read_risk(&self, reply: &HostReply) -> Assessed {
        if is_evaluator(self.record) {
            let Some(facts) = reply.result().ok().and_then(|v| v.to_json().ok()) else {
                return Assessed::at(risk::UNKNOWN);
            };
            let risk = code_risk(&self.scene.snapshot(), &facts);
            let guard = facts.get("guard").and_then(Value::as_str).map(str::to_owned);
            return Assessed { code: Some(risk.clone()), guard, ..Assessed::at(risk.level) };
        }
        let (level, problem) = risk::level_of(reply);
        if let Some(problem) = problem {
            self.scene.diagnose(&self.record.extension, "risk", "malformed_answer", &problem);
        }
        Assessed::at(level)
    }

    async fn ask_policy(&self, policy: &Record, round: &mut Round, assessed: &Assessed) {
        if NATIVE_POLICIES.contains(&policy.source.as_str()) {
            let silent = self.scene.session.state.borrow().settings.unsafe_no_permissions;
            return round.opinion(&policy.key, if silent { None } else { self.builtin_opinion(&policy.key, assessed) });
        }
        let call = json!({
            "id": self.request.id, "name": self.record.key, "input": round.input(), "raw": self.raw(),
            "tool": self.record.key, "nested": self.request.nested.is_some(),
            "parent_id": self.request.nested.as_ref().and_then(|n| n.outer.clone()),
            "outer_level": self.outer_code().map(|code| code.level), "risk": risk_value(assessed)
        });
        let reply = self.scene.consult(policy, "check", Role::Policy, Some(&self.request.id), vec![call]).await;
        round.answer(&policy.key, &policy.source, &reply);
    }

    /// The arguments as the model wrote them.
    fn raw(&self) -> Option<String> {
        match (&self.request.nested, &self.request.input) {
            (Some(_), _) => None,
            (None, CallInput::Text(text)) => Some(text.clone()),
            (None, CallInput::Json(value)) => Some(value.to_string()),
        }
    }

    /// What is known of the code of the model that makes this call.
    fn outer_code(&self) -> Option<SeenCode> {
        let outer = self.request.nested.as_ref().filter(|n| n.from_model_code)?.outer.as_ref()?;
        self.scene.run.code.borrow().get(outer).cloned()
    }

    fn builtin_opinion(&self, name: &str, assessed: &Assessed) -> Option<Opinion> {
        let state = self.scene.session.state.borrow();
        match name {
            "mode" => mode::opinion(state.mode, self.action(assessed), assessed.level, assessed.code.as_ref()),
            "critical_guard" if state.settings.critical_guard && state.mode != Mode::Plan && assessed.level == 4 => {
                Some(Opinion::new(Decision::AskHuman, "critical: needs a person's approval"))
            }
            _ => None,
        }
    }

    fn action(&self, assessed: &Assessed) -> Action {
        match &assessed.code {
            Some(risk) if risk.is_control() => Action::Control,
            Some(_) => Action::Code,
            None if self.moves_files(assessed) => Action::Write,
            None => self.native.map_or(Action::Tool, NativeCall::action),
        }
    }

    /// True for a command that does no more to files than editing them would.
    fn moves_files(&self, assessed: &Assessed) -> bool {
        is_built_in(self.record)
            && member::with_input(&self.record.key, &assessed.input)
                .is_some_and(|j| j.moves && j.level == assessed.level)
    }

    async fn settle(&self, verdict: Verdict, assessed: &Assessed) -> Asked {
        for d in &verdict.diagnostics {
            self.scene.diagnose(&d.source, &d.event, &d.class, &d.message);
        }
        if verdict.decision == Decision::Deny {
            return Asked::Denied(denied(Refusal::Policy, &verdict.reason));
        }
        if let Some(text) = self.scene.halted() {
            return Asked::Denied(text);
        }
        match verdict.decision {
            Decision::Allow => self.run(verdict.input, assessed, false),
            Decision::Ask if self.was_approved(assessed) => self.run(verdict.input, assessed, false),
            Decision::Deny => Asked::Denied(denied(Refusal::Policy, &verdict.reason)),
            // Nobody is asked about what can't run anyway.
            Decision::Ask | Decision::AskHuman if assessed.guard.is_some() => {
                Asked::Guarded(assessed.guard.clone().unwrap_or_default())
            }
            Decision::Ask | Decision::AskHuman => self.question(verdict, assessed).await,
        }
    }

    /// The call runs. Of code it is noted what it calls, and whether a hook or the person approved it.
    fn run(&self, input: Value, assessed: &Assessed, approved: bool) -> Asked {
        if let Some(risk) = &assessed.code {
            let seen = SeenCode { level: risk.level, members: risk.members.clone(), approved };
            self.scene.run.code.borrow_mut().insert(self.request.id.clone(), seen);
        }
        Asked::Run(input)
    }

    /// A person who approved code that changes the guards approved each such function that it names, once.
    fn grant(&self, decision: Decision, assessed: &Assessed) {
        if let (Decision::AskHuman, Some(risk)) = (decision, &assessed.code) {
            self.scene.run.grants.issue(&self.request.id, risk.controls());
        }
    }

    /// True for a member that the code around it was seen to call, at or below the level that was approved.
    fn was_approved(&self, assessed: &Assessed) -> bool {
        let Some(code) = self.outer_code().filter(|code| code.approved) else { return false };
        assessed.level <= code.level && code.members.iter().any(|(path, _)| *path == self.record.key)
    }

    async fn question(&self, verdict: Verdict, assessed: &Assessed) -> Asked {
        let request = json!({
            "tool": self.record.key, "input": verdict.input, "summary": summary(&verdict.input), "risk": assessed.level,
            "reason": verdict.reason, "suggested_rule": Value::Null, "undo_note": Value::Null,
            "nested": self.request.nested.is_some(), "tier": verdict.decision.as_str(),
            "tool_call_id": self.request.id, "tool_name": self.record.key
        });
        if verdict.decision == Decision::Ask
            && let Some(Answer::First(fields)) = self.scene.answer("permission_request", || request.clone()).await
        {
            let reason = fields.get("reason").and_then(Value::as_str).unwrap_or_default();
            let allowed = fields.get("decision").and_then(Value::as_str) == Some("allow");
            return match self.scene.halted() {
                Some(text) if allowed => Asked::Denied(text),
                None if allowed => self.run(verdict.input, assessed, true),
                _ => Asked::Denied(denied(Refusal::Hook, reason)),
            };
        }
        if let Some(text) = self.scene.halted() {
            return Asked::Denied(text);
        }
        let (person, go_on) = {
            let state = self.scene.session.state.borrow();
            (state.settings.person, state.settings.deny_when_alone)
        };
        if person {
            return self.ask_person(verdict, request, assessed).await;
        }
        if go_on {
            return Asked::Denied(denied(Refusal::NobodyDeny, &verdict.reason));
        }
        let text = denied(Refusal::NobodyStop, &verdict.reason);
        let error = Error::Permission {
            message: format!("{} needs approval and nobody is there to give it: {}.", self.record.key, verdict.reason),
            action: None,
            tool: self.record.key.clone(),
            risk: i64::from(assessed.level),
            how_to_allow: how_to_allow(verdict.decision).to_owned(),
        };
        Asked::Stop(text, Box::new(error))
    }

    async fn ask_person(&self, verdict: Verdict, question: Value, assessed: &Assessed) -> Asked {
        let session = &self.scene.session;
        session.state.borrow_mut().status = crate::session::Status::Waiting;
        let reply = self.scene.host.ask(question).await;
        session.state.borrow_mut().status = crate::session::Status::Running;
        let answer = match reply.result() {
            Ok(answer) => answer,
            Err(f) if f.exit == Exit::Interrupt => {
                self.scene.run.signal.abort("user");
                return Asked::Denied(denied(Refusal::PersonAbort, ""));
            }
            Err(f) => {
                self.scene.diagnose("ui", "permission", &f.class, &f.message);
                return Asked::Denied(denied(Refusal::PersonNo, "the question could not be asked"));
            }
        };
        let feedback = answer.field("feedback").and_then(HostValue::as_str).unwrap_or_default();
        match answer.field("decision").and_then(HostValue::as_str) {
            Some("allow") => {
                self.grant(verdict.decision, assessed);
                self.run(verdict.input, assessed, true)
            }
            Some("abort") => {
                self.scene.run.signal.abort("user");
                Asked::Denied(denied(Refusal::PersonAbort, ""))
            }
            _ => Asked::Denied(denied(Refusal::PersonNo, feedback)),
        }
    }
}

/// The risk of code from the facts that the host found in its text.
pub fn code_risk(snapshot: &Snapshot, facts: &Value) -> Risk {
    let existing = |name: &str| facts.get("existing")?.get(name)?.as_f64();
    let around = Around {
        existing: &existing,
        member_level: &|path| member_level(snapshot, path),
        built_in: &|path| snapshot.winner("tool", path).is_some_and(|r| is_built_in(&r)),
        rules: &[],
    };
    risk_of_code(facts, &around)
}

/// The level of a `peter$` member that code calls: 0 for read-only ones.
fn member_level(snapshot: &Snapshot, path: &str) -> Option<u8> {
    let record = snapshot.winner("tool", path)?;
    let hints = record.spec.field("annotations");
    let read_only = hints.and_then(|a| a.field("read_only")).and_then(HostValue::as_flag) == Some(true);
    Some(if read_only { 0 } else { 2 })
}

/// True for a record that comes with gptr, whatever else has its name.
fn is_built_in(record: &Record) -> bool {
    record.source.starts_with("builtin:")
}

fn risk_value(assessed: &Assessed) -> Value {
    match &assessed.code {
        Some(risk) => risk.to_json(),
        None => json!({"level": assessed.level}),
    }
}

/// What a question shows of an input: code, a path, else JSON.
fn summary(input: &Value) -> String {
    if let Some(code) = input.get("code").and_then(Value::as_str) {
        let lines: Vec<&str> = code.lines().collect();
        let mut shown = lines.iter().take(SHOWN_LINES).copied().collect::<Vec<_>>().join("\n");
        if lines.len() > SHOWN_LINES {
            shown.push_str(&format!("\n+{} more lines", lines.len() - SHOWN_LINES));
        }
        return shown;
    }
    if let Some(path) = input.get("path").and_then(Value::as_str) {
        return format!("path: {path}");
    }
    let text = input.to_string();
    if text.chars().count() <= 200 { text } else { text.chars().take(200).chain("...".chars()).collect() }
}
