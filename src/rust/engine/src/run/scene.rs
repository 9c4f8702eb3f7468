//! What every part of a run has at hand: engine, session, host, run. Calls of closures and events go through here.

use std::rc::Rc;

use crate::clock;
use crate::engine::Engine;
use crate::extension;
use crate::hook::catalogue::{Event, dispatch_of};
use crate::hook::{Answer, Flow, Fold, Matched, Outcome, Verdict};
use crate::meaning::Role;
use crate::registry::store::{Found, Record, Snapshot};
use crate::reply::HostReply;
use crate::session::{Running, Session};
use crate::task::{Call, CallStyle, Caller, HandlerId, Host};
use crate::value::{Map, Value, json};

/// How often a look-up is repeated after an activation.
const ACTIVATIONS: usize = 10;

/// Where something happens. Cloning shares it.
#[derive(Clone)]
pub struct Scene {
    /// The engine.
    pub engine: Rc<Engine>,
    /// The session.
    pub session: Rc<Session>,
    /// The host.
    pub host: Host,
    /// The run.
    pub run: Running,
}

/// How a closure is called.
pub struct How<'a> {
    /// The record that holds it.
    pub record: &'a Record,
    /// The spec's field.
    pub field: &'a str,
    /// The role.
    pub role: Role,
    /// How arguments are given.
    pub style: CallStyle,
    /// The tool call it belongs to.
    pub call: Option<&'a str>,
    /// Bound in seconds.
    pub timeout: Option<f64>,
    /// True for a tool body reached from code that the model wrote.
    pub from_model_code: bool,
}

impl Scene {
    /// What the session sees of the registry now.
    pub fn snapshot(&self) -> Snapshot {
        self.engine.registry.snapshot(Some(&self.session.id))
    }

    /// What the session sees once the loads that `pending` names are activated.
    pub async fn settled(&self, pending: impl Fn(&Snapshot) -> Vec<u64>) -> Snapshot {
        for _ in 0..ACTIVATIONS {
            let snapshot = self.snapshot();
            let mut moved = false;
            for load in pending(&snapshot) {
                moved |= self.activate(load).await;
            }
            if !moved {
                return snapshot;
            }
        }
        self.snapshot()
    }

    /// The records of a kind; code that promised some runs first, unless they are tools.
    pub async fn list(&self, kind: &str) -> Vec<Rc<Record>> {
        self.settled(|s| s.pending(kind)).await.list(kind)
    }

    /// Looks something up; a placeholder is activated and the look-up repeated.
    pub async fn find(&self, look: impl Fn(&Snapshot) -> Found) -> Option<Rc<Record>> {
        for _ in 0..ACTIVATIONS {
            match look(&self.snapshot()) {
                Found::Record(record) => return Some(record),
                Found::Absent => return None,
                Found::Lazy(load) => {
                    if !self.activate(load).await {
                        return None;
                    }
                }
            }
        }
        None
    }

    /// Has the code of a lazy extension run. False when there is none to run; its names then count as absent.
    async fn activate(&self, load: u64) -> bool {
        if !extension::is_declared(&self.engine, load) {
            return false;
        }
        let caller = Caller {
            session: Some(self.session.id.clone()),
            run: Some(self.run.id.clone()),
            owner: "host".into(),
            ..Caller::default()
        };
        let reply = self.host.call(Call::activate(load, caller)).await;
        let failed = reply.result().err();
        if failed.as_ref().is_some_and(|f| Role::Activate.consequence(f.exit).abort) {
            self.run.signal.abort("user");
        }
        extension::settle(&self.engine, load, failed.as_ref().map(|f| f.message.as_str()));
        true
    }

    /// Calls a closure of a record's. The person's interrupt in it also ends the run, whatever else it means.
    pub async fn call(&self, how: How<'_>, args: Vec<Value>) -> HostReply {
        let call = Call {
            handler: HandlerId {
                record: how.record.id.clone(),
                home: how.record.session.clone(),
                field: how.field.to_owned(),
            },
            role: how.role,
            args,
            style: how.style,
            caller: Caller {
                session: Some(self.session.id.clone()),
                run: Some(self.run.id.clone()),
                call: how.call.map(str::to_owned),
                owner: how.record.extension.clone(),
                from_model_code: how.from_model_code,
                probe: None,
            },
            timeout: how.timeout,
        };
        let reply = self.host.call(call).await;
        if let Err(failed) = reply.result()
            && how.role.consequence(failed.exit).abort
        {
            self.run.signal.abort("user");
        }
        reply
    }

    /// Why the run was stopped, as the text of a result that never came; `None` while it goes on.
    pub fn halted(&self) -> Option<String> {
        let reason = self.run.signal.reason()?;
        Some(format!("Not executed: aborted ({reason})."))
    }

    /// Calls a closure that decides or observes, within the bound for such.
    pub async fn consult(
        &self,
        record: &Record,
        field: &str,
        role: Role,
        call: Option<&str>,
        args: Vec<Value>,
    ) -> HostReply {
        let timeout = Some(self.session.state.borrow().settings.hook_timeout).filter(|t| t.is_finite());
        let style = CallStyle::WithCtx;
        self.call(How { record, field, role, style, call, timeout, from_model_code: false }, args).await
    }

    /// Writes a diagnostic.
    pub fn diagnose(&self, source: &str, event: &str, class: &str, message: &str) {
        self.engine.registry.diagnose(source, event, class, message);
    }

    /// Dispatches an event. The payload is made only when somebody listens.
    pub async fn dispatch(&self, name: &str, payload: impl FnOnce() -> Value) -> Option<Outcome> {
        self.dispatch_with(name, payload, async |_| ()).await
    }

    /// Dispatches an event; `prepare` completes what each handler sees, from the payload as it stands.
    pub async fn dispatch_with(
        &self,
        name: &str,
        payload: impl FnOnce() -> Value,
        mut prepare: impl AsyncFnMut(&mut Value),
    ) -> Option<Outcome> {
        let hooks = self.settled(|s| s.pending_hooks(name)).await.hooks(name);
        if hooks.is_empty() {
            return None;
        }
        let event = dispatch_of(name)?;
        let mut fold = Fold::new(name, self.payload(name, payload())).ok()?;
        for hook in &hooks {
            match self.wanted(hook, event, &mut fold).await {
                Matched::No => continue,
                Matched::Stop => break,
                Matched::Yes => {}
            }
            let mut seen = fold.payload().clone();
            prepare(&mut seen).await;
            let args = vec![seen];
            let call = fold.payload().get("tool_call_id").and_then(Value::as_str).map(str::to_owned);
            let reply = self.consult(hook, "handler", event.role(), call.as_deref(), args).await;
            if fold.answer(&hook.extension, &reply) == Flow::Stop {
                break;
            }
        }
        let outcome = fold.finish();
        for d in &outcome.diagnostics {
            self.diagnose(&d.source, &d.event, &d.class, &d.message);
        }
        Some(outcome)
    }

    /// Dispatches an event whose answer counts for nothing.
    pub async fn notify(&self, name: &str, payload: impl FnOnce() -> Value) {
        self.dispatch(name, payload).await;
    }

    /// Dispatches an event and takes its answer; `None` when nobody listens.
    pub async fn answer(&self, name: &str, payload: impl FnOnce() -> Value) -> Option<Answer> {
        self.dispatch(name, payload).await.map(|o| o.answer)
    }

    async fn wanted(&self, hook: &Record, event: &'static Event, fold: &mut Fold) -> Matched {
        let tool = fold.payload().get("tool_name").and_then(Value::as_str);
        match hook.matcher.verdict(tool) {
            Verdict::Yes => Matched::Yes,
            Verdict::No => Matched::No,
            Verdict::Ask => {
                let timeout = Some(self.session.state.borrow().settings.hook_timeout);
                let how = How {
                    record: hook,
                    field: "matcher",
                    role: event.matcher_role(),
                    style: CallStyle::Plain,
                    call: None,
                    timeout,
                    from_model_code: false,
                };
                let reply = self.call(how, vec![fold.payload().clone()]).await;
                fold.matched(&hook.extension, &reply)
            }
        }
    }

    fn payload(&self, name: &str, own: Value) -> Value {
        let mut out = Map::new();
        out.insert("type".into(), json!(name));
        out.insert("session".into(), json!(self.session.id));
        out.insert("run".into(), json!(self.run.id));
        out.insert("agent".into(), json!(self.session.agent));
        out.insert("turn".into(), json!(self.session.state.borrow().turns));
        out.insert("ts".into(), json!(clock::now()));
        if let Value::Object(own) = own {
            out.extend(own);
        }
        let mut out = Value::Object(out);
        self.engine.redact(&mut out);
        out
    }
}
