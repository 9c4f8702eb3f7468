//! The conformance checks behind `gptr_check()`: a row a promise, kept or not.

// Beside this file, not in a folder `check`: R CMD build leaves folders of that name out.
#[path = "check_backend.rs"]
mod backend;

use std::rc::Rc;
use std::time::Instant;

use crate::engine::Engine;
use crate::error::Error;
use crate::gate::probe::{probes, problem};
use crate::meaning::Role;
use crate::prompt::estimate::{Class, estimate};
use crate::registry::store::Registry;
use crate::registry::tokens;
use crate::registry::validate::{self, Validated};
use crate::reply::HostReply;
use crate::schema::structural_problems;
use crate::task::{Call, CallStyle, Caller, HandlerId, Host, Task};
use crate::value::{HostValue, Value, json};

/// Tokens that the description of a direct tool may cost.
const DESCRIPTION_TOKENS: u64 = 400;
/// Milliseconds that a policy may take, at the median.
const POLICY_MS: f64 = 10.0;
/// Seconds that one call of a closure may take.
const BOUND: f64 = 10.0;
/// The class of the errors that a validator may raise as they are to be reported.
const INVALID_SPEC: &str = "gptr_error_invalid_spec";
/// The service that checks adapters.
const ADAPTER_SERVICE: &str = "check.adapter";
/// Problems that a row quotes, at most.
const QUOTED: usize = 3;

/// One row.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// `<kind>:<name>`.
    pub target: String,
    /// The check's id.
    pub check: String,
    /// Whether the promise is kept.
    pub ok: bool,
    /// What was seen.
    pub message: String,
}

impl Row {
    fn new(target: &str, check: &str, ok: bool, message: impl Into<String>) -> Self {
        Row { target: target.to_owned(), check: check.to_owned(), ok, message: message.into() }
    }

    /// The row as the host shows it.
    pub fn to_json(&self) -> Value {
        json!({"target": self.target, "check": self.check, "ok": self.ok, "message": self.message})
    }
}

/// What is checked, and how.
pub struct Request {
    /// The registry that it is checked against.
    pub registry: Rc<Registry>,
    /// The load of an extension whose scratch registry that is.
    pub load: Option<u64>,
    /// The spec.
    pub spec: HostValue,
    /// The id under which the host keeps the spec's closures.
    pub record: String,
    /// Adds rows with what it costs in tokens: the budget of a printed result.
    pub tokens: Option<u64>,
}

/// A task that checks one spec. Its value is a list of rows.
pub fn task(engine: &Rc<Engine>, request: Request) -> Task {
    let engine = engine.clone();
    let bell = engine.bell.clone();
    Task::new(&bell, move |host| async move {
        let Request { registry, load, spec, record, tokens } = request;
        let rows = Check { engine, registry, load, spec, record, host }.rows(tokens).await;
        Ok(Value::Array(rows.iter().map(Row::to_json).collect()))
    })
}

struct Check {
    engine: Rc<Engine>,
    registry: Rc<Registry>,
    load: Option<u64>,
    spec: HostValue,
    record: String,
    host: Host,
}

impl Check {
    async fn rows(&self, budget: Option<u64>) -> Vec<Row> {
        let word = |field: &str| self.spec.field(field).and_then(HostValue::as_str);
        let target = format!("{}:{}", word("kind").unwrap_or("?"), word("name").unwrap_or("?"));
        if !self.spec.inherits("gptr_spec") || word("kind").is_none() || word("name").is_none() {
            return vec![Row::new(&target, "spec.class", false, "must be a spec, see gptr_spec()")];
        }
        let mut rows = vec![Row::new(&target, "spec.class", true, "")];
        let valid = match self.validated().await {
            Ok(valid) => valid,
            Err(error) => {
                let c = error.condition();
                let part = |name: &str| c.fields.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
                rows.push(Row::new(
                    &target,
                    "spec.fields",
                    false,
                    format!("field '{}' {}", part("field"), part("problem")),
                ));
                return rows;
            }
        };
        rows.push(Row::new(&target, "spec.fields", true, ""));
        match word("kind") {
            Some("tool") => self.tool(&target, &valid, &mut rows).await,
            Some("prompt_section") => rows.push(section(&target, &valid)),
            Some("policy") => self.policy(&target, &mut rows).await,
            Some("backend") => self.backend(&target, &mut rows).await,
            Some("adapter") => self.adapter(&target, &mut rows).await,
            _ => {}
        }
        if let Some(budget) = budget {
            self.tokens(&target, &valid, budget, &mut rows).await;
        }
        rows
    }

    /// The spec as its kind accepts it; a kind that a record defined has a validator with the host.
    async fn validated(&self) -> Result<Validated, Error> {
        let valid = self.engine.validate(&self.registry, None, &self.spec)?;
        if let Some(validator) = &valid.validator {
            let kind = self.spec.field("kind").and_then(HostValue::as_str).unwrap_or_default();
            let args = vec![json!(validator.record), json!(validator.home), json!(self.load), json!(self.record)];
            let reply = self.ask_host("validate_spec", Role::Validator, args).await;
            // The host says what an invalid-spec error had in its fields, and hands any other failure on.
            let raised = reply.result().ok().and_then(|v| v.field("invalid_spec")).cloned();
            let reply = match &raised {
                Some(_) => HostReply::Condition { class: vec![INVALID_SPEC.to_owned()], message: String::new() },
                None => reply,
            };
            validate::judge(kind, &valid.name, &reply, &raised.unwrap_or_default())?;
        }
        Ok(valid)
    }

    /// An adapter is checked by whoever brought the service for it.
    async fn adapter(&self, target: &str, rows: &mut Vec<Row>) {
        let Some(service) = self.registry.snapshot(None).winner("service", ADAPTER_SERVICE) else { return };
        let args = vec![json!(service.id), json!(self.record), json!(self.load)];
        let reply = self.ask_host("check_adapter", Role::Service, args).await;
        let failed = |problem: &str| Row::new(target, "adapter.replay", false, problem);
        match reply.result() {
            Ok(value) => match service_rows(target, value) {
                Some(found) => rows.extend(found),
                None => rows.push(failed("the service returned no rows of `check`, `ok` and `message`")),
            },
            Err(failure) => rows.push(failed(&failure.message)),
        }
    }

    async fn tokens(&self, target: &str, valid: &Validated, budget: u64, rows: &mut Vec<Row>) {
        let kind = valid.spec.field("kind").and_then(HostValue::as_str).unwrap_or_default();
        let cost = tokens::declaration(kind, &valid.spec, valid.schema.as_ref());
        rows.push(Row::new(target, "tokens.declaration", true, format!("{cost} tokens")));
        let has_fun = valid.spec.field("fun").is_some_and(HostValue::is_function);
        let examples = valid.spec.field("examples").and_then(HostValue::items).map_or(0, <[HostValue]>::len);
        if kind != "tool" || !has_fun {
            return;
        }
        let budget = valid.spec.field("output_tokens").and_then(HostValue::as_number).map_or(budget, |n| n as u64);
        for i in 1..=examples {
            let reply = self.ask_host("check_example", Role::Service, vec![json!(self.record), json!(i)]).await;
            let check = format!("tokens.example.{i}");
            rows.push(match reply.result() {
                Ok(value) => {
                    let count = estimate(value.as_str().unwrap_or_default(), Class::ROutput);
                    Row::new(target, &check, count <= budget, format!("{count} tokens, budget {budget}"))
                }
                Err(failure) => Row::new(target, &check, false, failure.message),
            });
        }
    }

    async fn tool(&self, target: &str, valid: &Validated, rows: &mut Vec<Row>) {
        let text = |field: &str| valid.spec.field(field).and_then(HostValue::as_str);
        rows.push(match &valid.schema {
            None => Row::new(target, "tool.schema", true, "a function schema is evaluated when a session starts"),
            Some(schema) => {
                let problems = structural_problems(schema.json());
                Row::new(target, "tool.schema", problems.is_empty(), problems.join("; "))
            }
        });
        if text("exposure").unwrap_or("direct") == "direct" {
            let count = estimate(text("description").unwrap_or_default(), Class::Prose);
            rows.push(Row::new(
                target,
                "tool.description_tokens",
                count <= DESCRIPTION_TOKENS,
                format!("{count} tokens"),
            ));
        }
        rows.push(self.empty_input(target, valid).await);
    }

    async fn empty_input(&self, target: &str, valid: &Validated) -> Row {
        let row = |ok: bool, message: &str| Row::new(target, "tool.empty_input", ok, message);
        if let Some(schema) = &valid.schema
            && schema.json().get("required").and_then(Value::as_array).is_some_and(|r| !r.is_empty())
        {
            let rejected = !schema.validate(&json!({})).is_empty();
            return match rejected {
                true => row(true, "empty input fails schema validation before execute()"),
                false => row(false, "the schema has required properties, but empty input passes"),
            };
        }
        let has_execute = valid.spec.field("execute").is_some_and(HostValue::is_function);
        let reply = match has_execute {
            true => self.call("execute", Role::Tool, CallStyle::WithCtx, vec![json!({})], None).await,
            false => self.call("fun", Role::Service, CallStyle::Plain, vec![], None).await,
        };
        match reply.result() {
            Ok(value) => match value.field("malformed").and_then(HostValue::as_str).filter(|_| has_execute) {
                Some(problem) => row(false, problem),
                None => row(true, ""),
            },
            Err(_) if is_gptr_error(&reply) => row(true, ""),
            Err(failed) => row(false, &failed.message),
        }
    }

    async fn policy(&self, target: &str, rows: &mut Vec<Row>) {
        let mut problems = Vec::new();
        let mut times = Vec::new();
        for probe in probes() {
            let seen = json!({"mode": probe.mode.as_str(), "model": "check/check-1"});
            let begun = Instant::now();
            let reply =
                self.call("check", Role::Policy, CallStyle::WithCtx, vec![probe.call.clone()], Some(seen)).await;
            times.push(begun.elapsed().as_secs_f64() * 1000.0);
            problems.extend(problem(&probe, &reply));
        }
        let message = if problems.is_empty() {
            format!("{} calls", times.len())
        } else {
            problems[..problems.len().min(QUOTED)].join("; ")
        };
        rows.push(Row::new(target, "policy.matrix", problems.is_empty(), message));
        times.sort_by(f64::total_cmp);
        let median = times.get(times.len() / 2).copied().unwrap_or(0.0);
        rows.push(Row::new(target, "policy.speed", median <= POLICY_MS, format!("median {median:.2} ms")));
    }

    /// Asks the host itself for something that needs its objects.
    async fn ask_host(&self, service: &str, role: Role, args: Vec<Value>) -> HostReply {
        let handler = HandlerId { record: Call::HOST.into(), home: None, field: service.to_owned() };
        let caller = Caller { owner: "check".into(), ..Caller::default() };
        self.host.call(Call { handler, role, args, style: CallStyle::Plain, caller, timeout: Some(BOUND) }).await
    }

    async fn call(
        &self,
        field: &str,
        role: Role,
        style: CallStyle,
        args: Vec<Value>,
        probe: Option<Value>,
    ) -> HostReply {
        let handler = HandlerId { record: self.record.clone(), home: None, field: field.to_owned() };
        let caller = Caller { owner: "check".into(), probe, ..Caller::default() };
        self.host.call(Call { handler, role, args, style, caller, timeout: Some(BOUND) }).await
    }
}

/// The rows that a service returned: a list of `{check, ok, message}`.
fn service_rows(target: &str, value: &HostValue) -> Option<Vec<Row>> {
    let row = |item: &HostValue| {
        let message = item.field("message").and_then(HostValue::as_str).unwrap_or_default();
        Some(Row::new(target, item.field("check")?.as_str()?, item.field("ok")?.as_flag()?, message))
    };
    if value.is_null() { Some(Vec::new()) } else { value.items()?.iter().map(row).collect() }
}

fn is_gptr_error(reply: &HostReply) -> bool {
    matches!(reply, HostReply::Condition { class, .. } if class.iter().any(|c| c == "gptr_error"))
}

fn section(target: &str, valid: &Validated) -> Row {
    let budget = valid.spec.field("budget").and_then(HostValue::as_number).map_or(300, |x| x as u64);
    let Some(text) = valid.spec.field("text").and_then(HostValue::as_str) else {
        return Row::new(target, "section.budget", true, "the text is a function");
    };
    let count = estimate(text, Class::Prose);
    Row::new(target, "section.budget", count <= budget, format!("{count} of {budget} tokens"))
}
