//! One model request: its stream, what a person and listeners see of it, and the message that comes of it.

use std::collections::VecDeque;
use std::rc::{Rc, Weak};
use std::time::{Duration, Instant};

use super::partial::{Partial, delta_of};
use super::scene::{How, Scene};
use crate::clock;
use crate::error::Error;
use crate::hook::Answer;
use crate::meaning::Role;
use crate::message::{Assistant, Failure, FailureClass, Message, Reply, StopReason, StreamEvent, Usage};
use crate::model::ModelRecord;
use crate::provider::compat::Compat;
use crate::provider::completions::{Encoder, Options, Params, Reader, System, Target, tool_declaration};
use crate::provider::endpoint::Endpoint;
use crate::provider::fake::{self, Act, Fake, Question};
use crate::provider::http::{ReplyStream, Timeouts};
use crate::provider::retry;
use crate::redact::StreamRedactor;
use crate::registry::store::Record;
use crate::session::Frozen;
use crate::task::CallStyle;
use crate::value::{HostData, HostValue, Value, json};

/// Text is shown at most this often.
const SHOW_EVERY: Duration = Duration::from_millis(16);

/// How a request ended.
pub enum Ended {
    /// With a reply that is in the history now.
    Reply(Rc<Message>),
    /// It failed for good; what had arrived is in the history.
    Failed(Error),
    /// It was stopped.
    Aborted,
}

/// What a request says besides the conversation.
struct Ask<'a> {
    params: &'a Value,
    request_id: &'a str,
}

/// Where a reply comes from.
enum Source {
    Fake(VecDeque<Act>),
    Http(Box<ReplyStream>),
    Failed(Option<Failure>),
}

/// What of a stream is on its way to the person.
#[derive(Default)]
struct Shown {
    block: Option<Showing>,
    text: String,
    last: Option<Instant>,
    committed: bool,
}

/// The block that takes deltas at present.
struct Showing {
    index: usize,
    kind: &'static str,
    redactor: StreamRedactor,
}

impl Scene {
    /// Makes a request, with retries, and keeps its message.
    pub async fn request(&self, provider: &Rc<Record>, model: &ModelRecord, frozen: &Frozen) -> Ended {
        let policy = {
            let s = &self.session.state.borrow().settings;
            retry::Policy { attempts: s.max_attempts, ceiling: s.max_retry_delay, ..retry::Policy::default() }
        };
        let mut attempt = 1;
        loop {
            let (failure, committed) = match self.attempt(provider, model, frozen).await {
                Ok(message) => {
                    if attempt > 1 {
                        self.notify("retry_end", || json!({"attempt": attempt, "ok": true})).await;
                    }
                    return Ended::Reply(message);
                }
                Err((failure, _)) if failure.class == FailureClass::Aborted => return Ended::Aborted,
                Err(_) if self.run.signal.is_raised() => return Ended::Aborted,
                Err(failed) => failed,
            };
            let jitter = (clock::now() * 1000.0).fract();
            let class = failure.class.as_str();
            match policy.decide(failure, attempt, committed, self.run.signal.is_raised(), jitter) {
                retry::Decision::GiveUp(failure) => {
                    if attempt > 1 {
                        self.notify("retry_end", || json!({"attempt": attempt, "ok": false})).await;
                    }
                    let error = Error::Provider {
                        provider: provider.key.clone(),
                        model: model.reference(),
                        failure: Box::new(failure),
                    };
                    return Ended::Failed(error);
                }
                retry::Decision::Retry(delay) => {
                    attempt += 1;
                    self.notify("retry_start", || json!({"attempt": attempt, "delay": delay, "class": class})).await;
                    self.host.show(json!({"type": "retry", "text": format!("retrying in {delay:.1} s")}));
                    let pause = self.engine.runtime.sleep(Duration::from_secs_f64(delay));
                    if self.run.signal.unless_raised(pause).await.is_none() {
                        return Ended::Aborted;
                    }
                }
            }
        }
    }

    /// One attempt. The message is in the history before its `message_end`.
    async fn attempt(
        &self,
        provider: &Rc<Record>,
        model: &ModelRecord,
        frozen: &Frozen,
    ) -> Result<Rc<Message>, (Failure, bool)> {
        let request_id = clock::fresh_id("q", 12);
        let started = Instant::now();
        let began = clock::now();
        let tokens = {
            let mut projection = self.session.projection.borrow_mut();
            projection.update(&self.session.history);
            projection.counts.tokens(crate::prompt::estimate::Class::Prose)
        };
        self.notify("before_request", || {
            json!({
                "provider": provider.key, "model": model.reference(), "request_id": request_id, "view": Value::Null,
                "tokens_est": tokens
            })
        })
        .await;
        let params = self.params(model).await;
        self.notify("message_start", || json!({"role": "assistant"})).await;
        let place = self.run.signal.unless_raised(self.place(provider)).await;
        let mut source = match place {
            None => Source::Fake(VecDeque::new()),
            Some(_) => self.ask(provider, model, frozen, &Ask { params: &params, request_id: &request_id }).await,
        };
        let mut shown = Shown::default();
        self.session.in_flight.set(true);
        let (reply, failure) = self.read(&mut source, &mut shown).await;
        self.session.in_flight.set(false);
        drop(place);
        self.show_held(&mut shown).await;
        self.flush(&mut shown, true);
        let assistant = Assistant {
            content: reply.content,
            api: provider.text("api").unwrap_or_default().to_owned(),
            provider: provider.key.clone(),
            model: model.id.clone(),
            response_id: reply.response_id,
            response_model: reply.response_model,
            usage: priced(reply.usage, model),
            stop_reason: match &failure {
                Some(f) if f.class == FailureClass::Aborted => StopReason::Aborted,
                Some(_) => StopReason::Error,
                None => reply.stop_reason,
            },
            error_message: failure.as_ref().map(|f| f.message.clone()),
            raw_stop_reason: reply.raw_stop_reason,
            request_id: request_id.clone(),
            timestamp: clock::now_ms(),
        };
        let aborted = assistant.stop_reason == StopReason::Aborted;
        let row = usage_row(self, &assistant, began, started.elapsed().as_secs_f64());
        if !aborted {
            self.session.note_usage(&row);
            self.engine.note_usage(&row);
            self.spend(&assistant.usage);
            self.notify("usage", || json!({"row": row})).await;
        }
        let message = self.session.history.push(Message::Assistant(assistant));
        self.notify("message_end", || json!({"role": "assistant", "message": message.to_json()})).await;
        match failure {
            Some(failure) => Err((failure, shown.committed)),
            None => Ok(message),
        }
    }

    async fn params(&self, model: &ModelRecord) -> Value {
        let thinking = self.session.state.borrow().model.thinking.clone();
        let params = json!({
            "max_tokens": model.max_output.unwrap_or(8192), "thinking": thinking, "effort": thinking,
            "tool_choice": "auto", "returns": Value::Null, "temperature": Value::Null
        });
        let payload = || json!({"provider": model.provider, "model": model.reference(), "params": params.clone()});
        match self.answer("request_params", payload).await {
            Some(Answer::Patched(payload)) if payload["params"].is_object() => payload["params"].clone(),
            _ => params,
        }
    }

    async fn ask(&self, provider: &Rc<Record>, model: &ModelRecord, frozen: &Frozen, ask: &Ask<'_>) -> Source {
        self.session.state.borrow_mut().requests += 1;
        if let Some(fake) = provider.attachment.clone().and_then(|a| a.downcast::<Fake>().ok()) {
            return Source::Fake(self.ask_fake(provider, model, frozen, ask.params, &fake).await);
        }
        match self.endpoint(provider).await {
            Ok(endpoint) => Source::Http(Box::new(self.send(&endpoint, model, frozen, ask))),
            Err(failure) => Source::Failed(Some(failure)),
        }
    }

    async fn ask_fake(
        &self,
        provider: &Rc<Record>,
        model: &ModelRecord,
        frozen: &Frozen,
        params: &Value,
        fake: &Fake,
    ) -> VecDeque<Act> {
        let mut counts = crate::prompt::estimate::CharCounts::default();
        for text in [&frozen.t0, &frozen.t1] {
            counts.join(crate::prompt::estimate::CharCounts::of(text));
        }
        counts.join(self.session.projection.borrow().counts);
        let question = Question {
            model: model.reference(),
            t0: frozen.t0.clone(),
            t1: frozen.t1.clone(),
            tools: frozen.tools.iter().map(|t| t.name.clone()).collect(),
            history: self.session.history.clone(),
            params: params.clone(),
            counts,
        };
        if let Some(reply) = fake.ask(&question) {
            return fake::acts(&reply, fake.count(), &provider.key, counts);
        }
        let n = fake.count();
        let how = How {
            record: provider,
            field: "script",
            role: Role::Script,
            style: CallStyle::Plain,
            call: None,
            timeout: None,
            from_model_code: false,
        };
        let reply = self.call(how, vec![fake.request(n).unwrap_or_default()]).await;
        match reply.result() {
            Ok(value) => fake::acts(value, n, &provider.key, counts),
            Err(failed) => fake::failed_script(&provider.key, n, &failed.message),
        }
    }

    /// The provider's address with its headers and key. Closures are asked before each attempt.
    async fn endpoint(&self, provider: &Rc<Record>) -> Result<Endpoint, Failure> {
        let flags = provider.spec.field("compat").and_then(|c| c.to_json().ok());
        let flags = flags.and_then(|f| f.as_object().cloned()).unwrap_or_default();
        let base = provider.text("base_url").unwrap_or_default();
        let api = provider.text("api").unwrap_or_default();
        let broken = |e: Error| Failure { message: e.to_string(), ..Failure::default() };
        let endpoint = Endpoint::new(&provider.key, api, base, &flags).map_err(broken)?;
        let headers = self.headers(provider).await?;
        let key = self.key(provider).await?;
        let mut redactor = self.engine.redactor.borrow_mut();
        headers.iter().filter(|(n, _)| is_key_header(n)).for_each(|(n, v)| redactor.add_secret(n, bare_token(v)));
        if let Some((name, key)) = &key {
            redactor.add_secret(name, key);
        }
        drop(redactor);
        Ok(endpoint.with_headers(headers).map_err(broken)?.with_key(key.map(|(_, k)| k)))
    }

    async fn headers(&self, provider: &Rc<Record>) -> Result<Vec<(String, String)>, Failure> {
        let Some(field) = provider.spec.field("headers") else { return Ok(Vec::new()) };
        let HostData::Function(signature) = &field.data else {
            return read_headers(field).map_err(|p| request_failure(&format!("headers {p}")));
        };
        let args = if signature.formals.is_empty() {
            vec![]
        } else {
            vec![
                json!({"method": "POST", "url": provider.text("base_url"), "model": self.session.state.borrow().model.id}),
            ]
        };
        let reply = self.provider_call(provider, "headers", Role::Headers, args).await;
        let value = reply.result().map_err(|f| request_failure(&format!("headers: {}", f.message)))?;
        if value.is_empty() {
            return Err(request_failure("headers: the function returned nothing"));
        }
        read_headers(value).map_err(|p| request_failure(&format!("headers {p}")))
    }

    /// The key and its name: an environment variable (the host looks those up) or what the `auth` function returns.
    async fn key(&self, provider: &Rc<Record>) -> Result<Option<(String, String)>, Failure> {
        let Some(auth) = provider.spec.field("auth") else { return Ok(None) };
        if auth.is_function() {
            let reply = self.provider_call(provider, "auth", Role::Auth, vec![]).await;
            let value = reply.result().map_err(|f| request_failure(&format!("auth: {}", f.message)))?;
            return match value.as_str() {
                Some(key) => Ok(Some((format!("{}-key", provider.key), key.to_owned()))),
                None => Err(request_failure("auth: the function must return a string")),
            };
        }
        let names: Vec<String> = auth.as_strings().unwrap_or_default().iter().map(|s| (*s).to_owned()).collect();
        let call = self.host.call(crate::task::Call::environment(&names)).await;
        match call
            .result()
            .ok()
            .and_then(|v| Some((v.field("name")?.as_str()?.to_owned(), v.field("value")?.as_str()?.to_owned())))
        {
            Some(found) => Ok(Some(found)),
            None => Err(Failure {
                class: FailureClass::NoKey,
                message: format!("No key for provider '{}': set {}.", provider.key, names.join(" or ")),
                what: Some(names.join(",")),
                ..Failure::default()
            }),
        }
    }

    async fn provider_call(
        &self,
        provider: &Rc<Record>,
        field: &str,
        role: Role,
        args: Vec<Value>,
    ) -> crate::reply::HostReply {
        let timeout = Some(self.session.state.borrow().settings.hook_timeout);
        let how =
            How { record: provider, field, role, style: CallStyle::Plain, call: None, timeout, from_model_code: false };
        self.call(how, args).await
    }

    fn send(&self, endpoint: &Endpoint, model: &ModelRecord, frozen: &Frozen, ask: &Ask<'_>) -> ReplyStream {
        let (params, request_id) = (ask.params, ask.request_id);
        let target = Target {
            provider: model.provider.clone(),
            model: model.id.clone(),
            reasoning: model.reasoning.unwrap_or(false),
            images: model.takes_images(),
            compat: endpoint.compat.clone(),
        };
        let mut projection = self.session.projection.borrow_mut();
        if projection.encoder.as_ref().is_some_and(|e| *e.target() != target) {
            projection.encoder = None;
        }
        let encoder = projection.encode_with(&self.session.history, || Encoder::new(target));
        let system = System { t0: frozen.t0.to_string(), t1: frozen.t1.to_string() };
        let wanted = Params {
            max_tokens: params["max_tokens"].as_u64().filter(|_| model.max_output.is_some()),
            temperature: params["temperature"].as_f64(),
            effort: params["effort"].as_str().map(str::to_owned),
            ..Params::default()
        };
        let body = encoder.body(&system, &wire_tools(frozen, &endpoint.compat), &wanted);
        drop(projection);
        let [connect, first_byte, idle] = self.session.state.borrow().settings.timeouts.map(seconds);
        let options = Options {
            provider: model.provider.clone(),
            model: model.id.clone(),
            request_id: request_id.to_owned(),
            tools: frozen.tools.iter().map(|t| t.name.clone()).collect(),
            compat: endpoint.compat.clone(),
        };
        let reader = Box::new(Reader::new(options));
        let timeouts = Timeouts { connect, first_byte, idle };
        let redactor = self.engine.redactor.borrow().clone();
        self.engine.client.send(endpoint.request(body), reader, timeouts, &redactor)
    }

    /// Reads a stream to its terminal event.
    async fn read(&self, source: &mut Source, shown: &mut Shown) -> (Reply, Option<Failure>) {
        let mut partial = Partial::default();
        loop {
            let Some(batch) = self.run.signal.unless_raised(self.batch(source)).await else {
                let reason = self.run.signal.reason().unwrap_or_default();
                let message = format!("aborted ({reason})");
                return (
                    partial.reply(),
                    Some(Failure { class: FailureClass::Aborted, message, ..Failure::default() }),
                );
            };
            let mut batch = batch.into_iter().peekable();
            while let Some(event) = batch.next() {
                if self.run.signal.is_raised() {
                    break;
                }
                partial.take(&event);
                let ends = batch.peek().is_some_and(|next| delta_of(next).is_none());
                self.observe(&event, ends, shown).await;
                match event {
                    StreamEvent::Done { reply } => return (*reply, None),
                    StreamEvent::Error { reply, failure } => return (*reply, Some(failure)),
                    _ => {}
                }
            }
            self.flush(shown, false);
        }
    }

    async fn batch(&self, source: &mut Source) -> Vec<StreamEvent> {
        match source {
            Source::Failed(failure) => {
                let failure = failure.take().unwrap_or_default();
                let reply = Box::new(Reply { stop_reason: StopReason::Error, ..Reply::default() });
                vec![StreamEvent::Error { reply, failure }]
            }
            Source::Http(stream) => stream
                .next()
                .await
                .unwrap_or_else(|| vec![crate::provider::normalise::missing_terminal("the stream ended")]),
            Source::Fake(acts) => self.fake_batch(acts).await,
        }
    }

    async fn fake_batch(&self, acts: &mut VecDeque<Act>) -> Vec<StreamEvent> {
        let mut batch = Vec::new();
        loop {
            match acts.front() {
                Some(Act::Emit(_)) => {
                    if let Some(Act::Emit(event)) = acts.pop_front() {
                        batch.push(event);
                    }
                }
                None => return batch,
                Some(_) if !batch.is_empty() => return batch,
                Some(Act::Pause(s)) => {
                    let pause = self.engine.runtime.sleep(seconds(*s));
                    acts.pop_front();
                    let _ = pause.await;
                }
                Some(Act::Hang) => std::future::pending::<()>().await,
            }
        }
    }

    /// Hands a delta on, without what may be the begin of a secret; what follows the deltas of a block hands on the
    /// rest. `ends`: the block is known to have no more.
    async fn observe(&self, event: &StreamEvent, ends: bool, shown: &mut Shown) {
        let Some((index, kind, delta)) = delta_of(event) else { return self.show_held(shown).await };
        shown.committed = true;
        if shown.block.as_ref().is_some_and(|b| b.index != index) {
            self.show_held(shown).await;
        }
        let fresh = || Showing { index, kind, redactor: StreamRedactor::new(self.engine.redactor.borrow().clone()) };
        let redactor = &mut shown.block.get_or_insert_with(fresh).redactor;
        let mut clean = redactor.push(delta);
        if ends {
            clean.push_str(&redactor.flush());
        }
        self.show_delta(shown, index, kind, &clean).await;
    }

    async fn show_held(&self, shown: &mut Shown) {
        if let Some(mut block) = shown.block.take() {
            let rest = block.redactor.flush();
            self.show_delta(shown, block.index, block.kind, &rest).await;
        }
    }

    async fn show_delta(&self, shown: &mut Shown, index: usize, kind: &str, delta: &str) {
        if delta.is_empty() {
            return;
        }
        if kind == "text" {
            shown.text.push_str(delta);
        }
        let update = || json!({"role": "assistant", "index": index, "kind": kind, "delta": delta});
        self.notify("message_update", update).await;
    }

    fn flush(&self, shown: &mut Shown, all: bool) {
        let due = shown.last.is_none_or(|t| t.elapsed() >= SHOW_EVERY);
        if shown.text.is_empty() || !(all || due) {
            return;
        }
        shown.last = Some(Instant::now());
        self.host.show(json!({"type": "text", "text": std::mem::take(&mut shown.text)}));
    }
}

/// The tool array in the form of the chat completions wire.
fn wire_tools(frozen: &Frozen, compat: &Compat) -> String {
    let tools = frozen.tools.iter().map(|t| tool_declaration(&t.name, &t.description, &t.schema, compat));
    Value::Array(tools.collect()).to_string()
}

fn seconds(s: f64) -> Duration {
    Duration::try_from_secs_f64(s).unwrap_or(Duration::from_secs(1 << 32))
}

fn request_failure(message: &str) -> Failure {
    Failure { message: message.to_owned(), ..Failure::default() }
}

fn read_headers(v: &HostValue) -> Result<Vec<(String, String)>, &'static str> {
    if v.is_empty() {
        return Ok(Vec::new());
    }
    let names = v.names.as_ref().ok_or("must be named")?;
    let values: Option<Vec<String>> = match &v.data {
        HostData::Character(x) => x.iter().cloned().collect(),
        HostData::List(items) => items.iter().map(|i| i.as_str().map(str::to_owned)).collect(),
        _ => None,
    };
    let values = values.ok_or("must be single strings")?;
    Ok(names.iter().cloned().zip(values).collect())
}

fn is_key_header(name: &str) -> bool {
    crate::provider::endpoint::KEY_HEADERS.iter().any(|h| name.eq_ignore_ascii_case(h))
}

fn bare_token(value: &str) -> &str {
    value.strip_prefix("Bearer ").unwrap_or(value)
}

fn priced(mut usage: Usage, model: &ModelRecord) -> Usage {
    if usage.cost.is_none() {
        usage.cost = model.cost(&usage);
    }
    usage
}

fn usage_row(scene: &Scene, a: &Assistant, began: f64, took: f64) -> Value {
    let u = &a.usage;
    let parent = scene.session.parent.as_ref().and_then(Weak::upgrade).map(|p| p.id.clone());
    json!({
        "request_id": a.request_id, "session": scene.session.id, "agent": scene.session.agent,
        "parent_id": parent, "provider": a.provider, "model": a.model, "route": "api", "input": u.input,
        "output": u.output, "cache_read": u.cache_read, "cache_write_5m": u.cache_write_5m,
        "cache_write_1h": u.cache_write_1h, "reasoning": u.reasoning, "images": Value::Null, "cost": u.cost,
        "tier": Value::Null, "stop_reason": a.stop_reason.as_str(), "started": began, "seconds": took,
        "estimated": u.estimated, "multiplier": 1.0
    })
}
