//! One tool call, from look-up to result: the one door that calls of the model, calls from the code it wrote, and nested
//! calls pass.

use std::rc::Rc;
use std::time::Instant;

use super::member::{Arguments, Change};
use super::native::NativeCall;
use super::permission::{Asked, Assessed, Gate};
use super::scene::{How, Scene};
use super::tool_result::ToolResult;
use crate::error::Error;
use crate::hook::Answer;
use crate::meaning::Role;
use crate::message::Message;
use crate::provider::json_repair;
use crate::registry::store::{Found, Record, Snapshot};
use crate::reply::{Exit, HostReply};
use crate::schema::Schema;
use crate::task::CallStyle;
use crate::value::{HostValue, Value, json};

/// Nested calls that the details of a call tell of.
const NOTED: usize = 20;
/// Characters that they say of each.
const SUMMARY: usize = 60;
/// Tokens that are left for text beside images.
const LEAST_BESIDE_IMAGES: u64 = 200;

/// A call to be made.
pub struct CallRequest {
    /// The call's id; a nested one is `<outer>/<k>`.
    pub id: String,
    /// The name on the wire, or the key for a nested call.
    pub name: String,
    /// The arguments.
    pub input: CallInput,
    /// For calls of `peter$` members from R code.
    pub nested: Option<Nested>,
}

/// The arguments as they came.
pub enum CallInput {
    /// A JSON value.
    Json(Value),
    /// JSON text that the model wrote.
    Text(String),
}

/// What is different about a call from R code.
#[derive(Clone)]
pub struct Nested {
    /// The tool call that it is nested in, when there is one.
    pub outer: Option<String>,
    /// The arguments.
    pub arguments: Arguments,
    /// True when the code was written by the model.
    pub from_model_code: bool,
}

/// How a call ended.
pub struct Finished {
    /// The result.
    pub result: ToolResult,
    /// `ok`, `not_found`, `invalid`, `blocked`, `denied`, `malformed` or `error`.
    pub status: &'static str,
    /// The registry key, as hooks and rules see it; the name as given when there is none.
    pub key: String,
    /// Nobody could approve the call: the run ends with this.
    pub stop: Option<Error>,
    /// How much the call can do, as far as that was found out.
    pub level: Option<u8>,
}

impl Finished {
    pub(super) fn refused(key: &str, status: &'static str, text: String) -> Self {
        Finished { result: ToolResult::error(text), status, key: key.to_owned(), stop: None, level: None }
    }

    fn invalid(key: &str, problem: &str) -> Self {
        Finished::refused(key, "invalid", format!("Invalid arguments for {key}: {problem}"))
    }
}

/// The tool for a name on the wire, or for a key; hidden ones are not found.
pub fn find(snapshot: &Snapshot, name: &str, nested: bool) -> Found {
    let offered = |r: &Rc<Record>| r.text("exposure") != Some("hidden");
    let callable = |r: &Rc<Record>| r.has_function("execute");
    match snapshot.find("tool", name) {
        Found::Record(record) if offered(&record) => Found::of(Some(record).filter(|r| nested || callable(r))),
        Found::Lazy(load) => Found::Lazy(load),
        _ => Found::of(snapshot.tool_on_wire(name).filter(callable)),
    }
}

/// A call that passed the gates, or ended there.
pub struct Admitted {
    request: CallRequest,
    key: String,
    /// Tokens that the result may take.
    room: u64,
    /// The call around it tells of it.
    noted: bool,
    begun: Instant,
    state: State,
}

enum State {
    /// It ended before its body.
    Over(Box<Finished>),
    /// Its body is to run.
    Ready(Box<Ready>),
}

/// What a body needs to run.
struct Ready {
    record: Rc<Record>,
    /// As the model wrote it.
    original: Value,
    input: Value,
    native: Option<NativeCall>,
    level: Option<u8>,
}

impl Admitted {
    /// True when the run ends with this call.
    pub fn stops(&self) -> bool {
        matches!(&self.state, State::Over(finished) if finished.stop.is_some())
    }
}

impl Scene {
    /// Makes a call. Nothing fails: whatever goes wrong is an error result.
    pub async fn perform(&self, request: CallRequest) -> Finished {
        let admitted = self.admit(request).await;
        self.conclude(admitted).await
    }

    /// From look-up to the question.
    pub async fn admit(&self, request: CallRequest) -> Admitted {
        let (input, broken) = read_input(&request.input);
        let announced = self.tool(&request).await;
        let start = || {
            let key = announced.as_ref().map_or(request.name.clone(), |r| r.key.clone());
            json!({"tool_call_id": request.id, "tool_name": key, "input": input})
        };
        self.notify("tool_execution_start", start).await;
        let begun = Instant::now();
        let record = self.tool(&request).await;
        let key = record.as_ref().map_or(request.name.as_str(), |r| r.key.as_str()).to_owned();
        let room = self.room(record.as_deref());
        let noted = record.as_ref().is_some_and(|r| r.spec.field("record").and_then(HostValue::as_flag) != Some(false));
        let admitted = match (record, self.halted(), broken) {
            (None, ..) => Err(Finished::refused(&key, "not_found", format!("Tool {} not found", request.name))),
            (_, Some(text), _) => Err(Finished::refused(&key, "denied", text)),
            (_, _, Some(problem)) => Err(Finished::invalid(&key, &problem)),
            (Some(record), None, None) => self.pipeline(&request, record, input).await,
        };
        let state = match admitted {
            Ok(ready) => State::Ready(Box::new(ready)),
            Err(finished) => State::Over(Box::new(finished)),
        };
        Admitted { request, key, room, noted, begun, state }
    }

    /// Starts the body of a native tool, unless the run was stopped meanwhile.
    pub fn start_body(&self, admitted: &mut Admitted) {
        let Admitted { request, room, state: State::Ready(ready), .. } = admitted else { return };
        if let Some(native) = &mut ready.native
            && !self.run.signal.is_raised()
        {
            self.run.executing.borrow_mut().insert(request.id.clone(), Instant::now());
            native.start(self, *room, &ready.input);
        }
    }

    /// From the body to the end.
    pub async fn conclude(&self, mut admitted: Admitted) -> Finished {
        self.start_body(&mut admitted);
        let Admitted { request, key, room, noted, begun, state } = admitted;
        let mut finished = match state {
            State::Over(finished) => *finished,
            State::Ready(ready) => match self.halted().filter(|_| !self.is_executing(&request.id)) {
                Some(text) => Finished::refused(&key, "denied", text),
                None => self.execute(&request, *ready).await,
            },
        };
        self.store(&request, room, &mut finished);
        match &request.nested {
            Some(nested) if noted => self.note(nested, &finished),
            Some(_) => {}
            None => {
                self.run.grants.end(&request.id);
                self.keep(&request.id, &finished);
            }
        }
        self.run.executing.borrow_mut().remove(&request.id);
        let result = &finished.result;
        self.notify("tool_execution_end", || {
            json!({
                "tool_call_id": request.id, "tool_name": finished.key, "is_error": result.is_error,
                "elapsed": begun.elapsed().as_secs_f64(),
                "details": {"fields": result.details.keys().collect::<Vec<_>>()}
            })
        })
        .await;
        finished
    }

    fn is_executing(&self, id: &str) -> bool {
        self.run.executing.borrow().contains_key(id)
    }

    /// The tool that a call means now; the code that promised it runs first.
    async fn tool(&self, request: &CallRequest) -> Option<Rc<Record>> {
        self.find(|snapshot| find(snapshot, &request.name, request.nested.is_some())).await
    }

    /// The schema of a tool's input. One that is a function was evaluated when the prompt was frozen; a tool that came
    /// later is asked now.
    async fn input_schema(&self, record: &Rc<Record>) -> Result<Option<Schema>, String> {
        if !record.has_function("parameters") {
            return Ok(record.schema.clone());
        }
        let frozen = self.session.state.borrow().frozen.clone();
        let declared = frozen.and_then(|f| f.tools.iter().find(|t| t.record == record.id).map(|t| t.schema.clone()));
        let json = match declared {
            Some(json) => Some(json),
            None => self.schema_of(record).await,
        };
        Schema::compile(&json.ok_or("its parameters could not be had")?).map(Some)
    }

    /// Validation, hooks, policies, the question.
    async fn pipeline(&self, request: &CallRequest, record: Rc<Record>, original: Value) -> Result<Ready, Finished> {
        let key = record.key.as_str();
        let native = self.native(&record).await.map_err(|problem| Finished::refused(key, "error", problem))?;
        let schema = self.input_schema(&record).await.map_err(|problem| Finished::invalid(key, &problem))?;
        let gate = Gate::new(self, request, &record, schema.as_ref(), native.as_ref());
        let passed = self.pass(&gate, &original).await;
        let level = gate.level();
        let input = passed.map_err(|finished| Finished { level, ..finished })?;
        let native = native.filter(|_| !calls_fun(request, &record));
        Ok(Ready { record, original, input, native, level })
    }

    /// The input that may run.
    async fn pass(&self, gate: &Gate<'_>, original: &Value) -> Result<Value, Finished> {
        let Gate { request, record, .. } = gate;
        let key = record.key.as_str();
        #[allow(clippy::result_large_err, reason = "made once a call, and moved once")]
        let refused = |status, text| Err(Finished::refused(key, status, text));
        let input = match gate.native {
            Some(native) if request.nested.is_none() => native.tidy(original.clone()),
            _ => original.clone(),
        };
        // The arguments of a nested call stay with the host, who checked them there.
        let input = if request.nested.is_some() { input } else { adapted(gate.schema(), input) };
        if let Some(wrong) = gate.problem(&input) {
            return Err(Finished::invalid(key, &wrong));
        }
        let (input, assessed) = self.ask_hooks(gate, input).await.map_err(|finished| *finished)?;
        if let Some(text) = self.halted() {
            return refused("denied", text);
        }
        let input = match gate.decide(input, assessed).await {
            Asked::Run(input) => input,
            Asked::Invalid(text) => return refused("invalid", text),
            Asked::Denied(text) => return refused("denied", text),
            Asked::Guarded(text) => {
                return refused("blocked", format!("{text}\n[status: blocked; nothing was evaluated]"));
            }
            Asked::Stop(text, error) => {
                return Err(Finished { stop: Some(*error), ..Finished::refused(key, "denied", text) });
            }
        };
        if let Some(text) = self.halted() {
            return refused("denied", text);
        }
        Ok(input)
    }

    /// Asks the `tool_call` hooks. Each sees the level of the input as it stands; what was found out last comes back
    /// with the input.
    async fn ask_hooks(&self, gate: &Gate<'_>, input: Value) -> Result<(Value, Option<Assessed>), Box<Finished>> {
        let Gate { request, record, .. } = gate;
        let key = record.key.as_str();
        let nested = request.nested.as_ref();
        let mut assessed: Option<Assessed> = None;
        let with_risk = async |seen: &mut Value| {
            let now = gate.assess(&seen["input"], assessed.take()).await;
            seen["risk"] = json!(now.level);
            assessed = Some(now);
        };
        let payload = || {
            json!({
                "tool_name": key, "tool_call_id": request.id, "input": input.clone(), "nested": nested.is_some(),
                "parent_tool_call_id": nested.and_then(|n| n.outer.clone()), "risk": Value::Null
            })
        };
        let outcome = self.dispatch_with("tool_call", payload, with_risk).await;
        let Some(Answer::Decision { decision, reason, input: changed }) = outcome.map(|o| o.answer) else {
            return Ok((input, assessed));
        };
        if decision == "block" {
            let reason = reason.unwrap_or_default();
            let text = format!("Tool execution was blocked: {reason}");
            return Err(Box::new(Finished::refused(key, "blocked", text)));
        }
        if decision != "modify" {
            return Ok((input, assessed));
        }
        let changed = if request.nested.is_some() { changed } else { adapted(gate.schema(), changed) };
        match gate.problem(&changed) {
            None => Ok((changed, assessed)),
            Some(problem) => Err(Box::new(Finished::invalid(key, &problem))),
        }
    }

    /// Runs the body, and asks the `tool_result` hooks of a call of the model's.
    async fn execute(&self, request: &CallRequest, ready: Ready) -> Finished {
        let Ready { record, original, input, native, level } = ready;
        let mut finished = match native {
            Some(native) => self.finish_native(&record, native).await,
            None => self.call_body(request, &record, &input).await,
        };
        finished.level = level;
        if input != original {
            finished.result.details.insert("input".into(), input.clone());
        }
        if let Some(rows) = self.run.noted.borrow_mut().remove(&request.id) {
            finished.result.details.insert("nested".into(), Value::Array(rows));
        }
        if request.nested.is_none() {
            self.ask_result_hooks(request, &input, &mut finished).await;
        }
        finished
    }

    /// Runs a body of the host's.
    async fn call_body(&self, request: &CallRequest, record: &Record, input: &Value) -> Finished {
        let (field, style) = match call_style(request, record, input) {
            Ok(style) => style,
            Err(problem) => return Finished::invalid(&record.key, &problem),
        };
        let how = How {
            record,
            field,
            role: Role::Tool,
            style,
            call: Some(&request.id),
            timeout: record.number("timeout"),
            from_model_code: self.is_model_code(request, record),
        };
        let begun = Instant::now();
        if request.nested.is_none() {
            self.run.executing.borrow_mut().insert(request.id.clone(), begun);
        }
        let reply = self.call(how, vec![input.clone()]).await;
        self.outcome(request, record.key.clone(), &reply, begun.elapsed().as_secs_f64())
    }

    /// Notes a nested call for the details of the call around it.
    fn note(&self, nested: &Nested, finished: &Finished) {
        let Some(outer) = &nested.outer else { return };
        let mut noted = self.run.noted.borrow_mut();
        let rows = noted.entry(outer.clone()).or_default();
        if rows.len() < NOTED {
            let summary: String = finished.result.plain().chars().take(SUMMARY).collect();
            rows.push(json!({
                "tool": finished.key, "summary": summary, "is_error": finished.result.is_error,
                "level": finished.level
            }));
        }
    }

    /// Tokens that the result may take.
    fn room(&self, record: Option<&Record>) -> u64 {
        let own = record.and_then(|r| r.number("output_tokens"));
        self.session.output_room(own, record.is_some_and(is_evaluator))
    }

    /// The code that the tool `r` evaluates was written by the model, and so is what that code calls.
    fn is_model_code(&self, request: &CallRequest, record: &Record) -> bool {
        is_evaluator(record) || request.nested.as_ref().is_some_and(|n| n.from_model_code)
    }

    fn outcome(&self, request: &CallRequest, key: String, reply: &HostReply, seconds: f64) -> Finished {
        let failed = match reply.result() {
            Ok(value) if request.nested.is_some() && value.field("summary").is_some() => {
                let summary = value.field("summary").and_then(|s| s.as_str()).unwrap_or_default();
                return Finished { result: ToolResult::text(summary), status: "ok", key, stop: None, level: None };
            }
            Ok(value) => match ToolResult::read(value) {
                Ok(result) => {
                    let status = if result.is_error { "error" } else { "ok" };
                    return Finished { result, status, key, stop: None, level: None };
                }
                Err(problem) => {
                    let text = format!("{key} returned something that is no tool result: {problem}");
                    return Finished::refused(&key, "malformed", text);
                }
            },
            Err(failed) => failed,
        };
        let text = match failed.exit {
            Exit::Interrupt => interrupted(seconds),
            Exit::Timeout => format!("{key} timed out after {seconds:.1} s."),
            Exit::Abort => format!("{key} was left by a jump to the top level."),
            Exit::Condition => failed.message,
        };
        Finished::refused(&key, "error", text)
    }

    async fn ask_result_hooks(&self, request: &CallRequest, input: &Value, finished: &mut Finished) {
        let result = &finished.result;
        let content: Vec<Value> = result.content.iter().map(|b| b.to_json()).collect();
        let payload = || {
            json!({
                "tool_name": finished.key, "tool_call_id": request.id, "input": input, "content": content,
                "details": result.details, "is_error": result.is_error
            })
        };
        let Some(Answer::Patched(patched)) = self.answer("tool_result", payload).await else { return };
        if let Some(content) =
            crate::hook::patch::blocks(&patched["content"]).filter(|_| patched["content"] != json!(content))
        {
            finished.result.content = content;
        }
        if let Some(details) = patched["details"].as_object() {
            finished.result.details = details.clone();
        }
        finished.result.is_error = patched["is_error"].as_bool().unwrap_or(finished.result.is_error);
    }

    /// Redacts the result and cuts its text to what its images leave of the room.
    fn store(&self, request: &CallRequest, room: u64, finished: &mut Finished) {
        let redactor = self.engine.redactor.borrow();
        for block in &mut finished.result.content {
            if let crate::message::Block::Text { text, .. } = block {
                let clean = redactor.redact(text).into_owned();
                *text = clean;
            }
        }
        let mut details = Value::Object(std::mem::take(&mut finished.result.details));
        crate::payload::redact(&redactor, &mut details);
        if let Value::Object(map) = details {
            finished.result.details = map;
        }
        if request.nested.is_some() {
            return;
        }
        let images = finished.result.image_tokens();
        let left = if images == 0 { room } else { room.saturating_sub(images).max(room.min(LEAST_BESIDE_IMAGES)) };
        finished.result.cut(left, |text| self.session.keep_output(text));
    }

    /// Puts the result into the history: it is there before its `tool_execution_end`.
    fn keep(&self, id: &str, finished: &Finished) {
        let result = &finished.result;
        self.session.history.push(Message::ToolResult {
            tool_call_id: id.to_owned(),
            tool_name: finished.key.clone(),
            content: result.content.clone(),
            is_error: result.is_error,
            details: result.details.clone(),
            gloss: result.gloss.clone(),
            timestamp: crate::clock::now_ms(),
        });
    }
}

/// What is said of a call that was stopped while its body ran.
pub fn interrupted(seconds: f64) -> String {
    format!("Interrupted after {seconds:.1} s: side effects are possible.")
}

/// The function to call, and how it gets its arguments.
fn call_style(request: &CallRequest, record: &Record, input: &Value) -> Result<(&'static str, CallStyle), String> {
    let Some(nested) = &request.nested else { return Ok(("execute", CallStyle::WithCtx)) };
    let Change { changed, dropped } = nested.arguments.change_to(input)?;
    let id = nested.arguments.id.clone();
    Ok(match calls_fun(request, record) {
        true => ("fun", CallStyle::HostArgs { id, changed, dropped }),
        false => ("execute", CallStyle::HostInput { id }),
    })
}

/// True for the built-in tool `r`; another one of that name has no privilege.
pub fn is_evaluator(record: &Record) -> bool {
    record.key == "r" && record.source.starts_with("builtin:")
}

/// A call from R code goes to the tool's R function, when it has one: that takes and gives R values.
fn calls_fun(request: &CallRequest, record: &Record) -> bool {
    request.nested.is_some() && record.has_function("fun")
}

fn read_input(input: &CallInput) -> (Value, Option<String>) {
    let text = match input {
        CallInput::Json(value) => return (value.clone(), None),
        CallInput::Text(text) => text,
    };
    let text = if text.trim().is_empty() { "{}" } else { text };
    match json_repair::parse(text) {
        Ok(value) if value.is_object() => (value, None),
        Ok(value) => (json!({"INVALID_JSON": value.to_string()}), Some("must be one JSON object".into())),
        Err(problem) => (json!({"INVALID_JSON": text}), Some(problem.to_string())),
    }
}

/// An input as its schema asks for it, see [`Schema::adapted`].
fn adapted(schema: Option<&Schema>, input: Value) -> Value {
    match schema.map(|s| s.adapted(&input)) {
        Some(std::borrow::Cow::Owned(adapted)) => adapted,
        _ => input,
    }
}

/// What is wrong with an input, in one line.
pub fn problem(schema: Option<&Schema>, input: &Value) -> Option<String> {
    let schema = schema?;
    let Some(fields) = input.as_object() else { return Some("must be one JSON object".into()) };
    let unknown = schema.unknown_arguments(fields);
    if !unknown.is_empty() {
        let accepted = schema.accepted();
        let accepted = if accepted.is_empty() { "none".to_owned() } else { accepted.join(", ") };
        return Some(format!("unknown argument: {} (accepted: {accepted})", unknown.join(", ")));
    }
    let errors = schema.validate(input);
    (!errors.is_empty()).then(|| errors.join("; "))
}
