//! The conformance checks behind `gptr_check()`: a row a promise, kept or not.

use std::rc::Rc;
use std::time::Instant;

use crate::engine::Engine;
use crate::gate::probe::{problem, probes};
use crate::meaning::Role;
use crate::prompt::estimate::{Class, estimate};
use crate::registry::store::Registry;
use crate::registry::validate::Validated;
use crate::reply::HostReply;
use crate::schema::structural_problems;
use crate::task::{Call, CallStyle, Caller, HandlerId, Host, Task};
use crate::value::{HostValue, Value, json};

/// Tokens that the description of a direct tool may cost.
const DESCRIPTION_TOKENS: u64 = 400;
/// Milliseconds that a policy may take, at the median.
const POLICY_MS: f64 = 10.0;
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

/// A task that checks one spec. The host keeps the spec's closures under the record id `record`. Its value is a list
/// of rows.
pub fn task(engine: &Rc<Engine>, registry: Rc<Registry>, spec: HostValue, record: String, tokens: bool) -> Task {
    let engine = engine.clone();
    let bell = engine.bell.clone();
    Task::new(&bell, move |host| async move {
        let rows = Check { engine, registry, spec, record, host }.rows(tokens).await;
        Ok(Value::Array(rows.iter().map(Row::to_json).collect()))
    })
}

struct Check {
    engine: Rc<Engine>,
    registry: Rc<Registry>,
    spec: HostValue,
    record: String,
    host: Host,
}

impl Check {
    async fn rows(&self, tokens: bool) -> Vec<Row> {
        let word = |field: &str| self.spec.field(field).and_then(HostValue::as_str);
        let target = format!("{}:{}", word("kind").unwrap_or("?"), word("name").unwrap_or("?"));
        if !self.spec.inherits("gptr_spec") || word("kind").is_none() || word("name").is_none() {
            return vec![Row::new(&target, "spec.class", false, "must be a spec, see gptr_spec()")];
        }
        let mut rows = vec![Row::new(&target, "spec.class", true, "")];
        let valid = match self.engine.validate(&self.registry, None, &self.spec) {
            Ok(valid) => valid,
            Err(error) => {
                let c = error.condition();
                let part = |name: &str| c.fields.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
                rows.push(Row::new(&target, "spec.fields", false, format!("field '{}' {}", part("field"), part("problem"))));
                return rows;
            }
        };
        rows.push(Row::new(&target, "spec.fields", true, ""));
        match word("kind") {
            Some("tool") => self.tool(&target, &valid, &mut rows).await,
            Some("prompt_section") => rows.push(section(&target, &valid)),
            Some("policy") => self.policy(&target, &mut rows).await,
            _ => {}
        }
        if tokens {
            let message = format!("{} tokens", crate::registry::tokens::declaration(word("kind").unwrap_or(""), &valid.spec, valid.schema.as_ref()));
            rows.push(Row::new(&target, "tokens.declaration", true, message));
        }
        rows
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
            rows.push(Row::new(target, "tool.description_tokens", count <= DESCRIPTION_TOKENS, format!("{count} tokens")));
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
            let reply = self.call("check", Role::Policy, CallStyle::WithCtx, vec![probe.call.clone()], Some(seen)).await;
            times.push(begun.elapsed().as_secs_f64() * 1000.0);
            problems.extend(problem(&probe, &reply));
        }
        let message = if problems.is_empty() { format!("{} calls", times.len()) } else { problems[..problems.len().min(QUOTED)].join("; ") };
        rows.push(Row::new(target, "policy.matrix", problems.is_empty(), message));
        times.sort_by(f64::total_cmp);
        let median = times.get(times.len() / 2).copied().unwrap_or(0.0);
        rows.push(Row::new(target, "policy.speed", median <= POLICY_MS, format!("median {median:.2} ms")));
    }

    async fn call(&self, field: &str, role: Role, style: CallStyle, args: Vec<Value>, probe: Option<Value>) -> HostReply {
        let handler = HandlerId { record: self.record.clone(), home: None, field: field.to_owned() };
        let caller = Caller { owner: "check".into(), probe, ..Caller::default() };
        self.host.call(Call { handler, role, args, style, caller, timeout: Some(10.0) }).await
    }
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
