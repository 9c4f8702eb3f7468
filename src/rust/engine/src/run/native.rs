//! Calls of native tools: in a run, side by side with others, and by the host for a member of `peter$`.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

use tokio_util::sync::CancellationToken;

use super::scene::Scene;
use super::tool::{Finished, find, interrupted};
use super::tool_result::ToolResult;
use crate::engine::Engine;
use crate::error::Error;
use crate::gate::mode::Action;
use crate::registry::store::{Found, Record, Snapshot};
use crate::task::{Call, Caller, Task};
use crate::tool::site::Site;
use crate::tool::{Answer, Asker, Context, Deed, Native, Output, Started, cancelled};
use crate::value::{HostValue, Value};

/// A call of a native tool: judged and run at the same site.
pub struct NativeCall {
    native: Native,
    site: Arc<Site>,
    running: Option<(Started, Instant)>,
}

impl NativeCall {
    /// The input in its usual form.
    pub fn tidy(&self, input: Value) -> Value {
        self.native.tidy.map_or(input.clone(), |tidy| tidy(input))
    }

    /// The risk of an input; `None` when the record's annotations say.
    pub fn level(&self, input: &Value) -> Option<u8> {
        self.native.level.map(|level| level(input, &self.site))
    }

    /// What the permission modes take it for.
    pub fn action(&self) -> Action {
        match self.native.deed {
            Deed::Read => Action::Read,
            Deed::Write => Action::Write,
            Deed::Other => Action::Tool,
        }
    }

    /// Starts the body for the model, once.
    pub fn start(&mut self, scene: &Scene, budget: u64, input: &Value) {
        if self.running.is_some() {
            return;
        }
        let cancel = CancellationToken::new();
        let context = Context { site: self.site.clone(), cancel, budget, asker: Asker::Model };
        let started = self.native.start(&scene.engine.runtime, input.clone(), context);
        self.running = Some((started, Instant::now()));
    }
}

impl Scene {
    /// True when calls of this tool may run beside their neighbours.
    pub fn is_concurrent(&self, snapshot: &Snapshot, name: &str) -> bool {
        let Found::Record(record) = find(snapshot, name, false) else { return false };
        record.text("execution") == Some("concurrent") && self.engine.natives.of(record.spec.field("execute")).is_some()
    }

    /// The native body of a tool, at the host's present site; `None` when the body is the host's.
    ///
    /// # Errors
    /// Why the host could not say where it is.
    pub async fn native(&self, record: &Record) -> Result<Option<NativeCall>, String> {
        let Some(native) = self.engine.natives.of(record.spec.field("execute")) else { return Ok(None) };
        let caller = Caller {
            session: Some(self.session.id.clone()),
            run: Some(self.run.id.clone()),
            owner: "host".into(),
            ..Caller::default()
        };
        let reply = self.host.call(Call::site(caller)).await;
        let facts = reply.result().map_err(|failed| {
            if failed.exit == crate::reply::Exit::Interrupt {
                self.run.signal.abort("user");
            }
            failed.message
        })?;
        let site = facts.to_json().ok().as_ref().and_then(Site::read);
        let site = Arc::new(site.ok_or("the working directory is not known")?);
        Ok(Some(NativeCall { native, site, running: None }))
    }

    /// Waits for a body, at most as long as its tool allows; an abort of the run ends the wait at once.
    pub async fn finish_native(&self, record: &Record, call: NativeCall) -> Finished {
        let Some((started, since)) = call.running else {
            return Finished::refused(&record.key, "error", "The tool did not start.".into());
        };
        let limit = record.number("timeout").map(std::time::Duration::from_secs_f64);
        let answer = match limit {
            None => self.run.signal.unless_raised(started).await.ok_or(false),
            Some(limit) => {
                let bounded = within(started, self.engine.runtime.sleep(limit.saturating_sub(since.elapsed())));
                self.run.signal.unless_raised(bounded).await.ok_or(false).and_then(|answer| answer.ok_or(true))
            }
        };
        let seconds = since.elapsed().as_secs_f64();
        let (status, result) = match answer {
            Ok(Ok(output)) => ("ok", result_of(output)),
            Ok(Err(error)) => ("error", ToolResult::error(error.to_string())),
            Err(true) => ("error", ToolResult::error(format!("{} timed out after {seconds:.1} s.", record.key))),
            Err(false) => ("error", ToolResult::error(interrupted(seconds))),
        };
        Finished { result, status, key: record.key.clone(), stop: None, level: None }
    }
}

/// The body's answer, or `None` when the time is up first.
async fn within(body: Started, timer: impl Future<Output = Result<(), Error>>) -> Option<Answer> {
    let (body, timer) = (std::pin::pin!(body), std::pin::pin!(timer));
    match futures_util::future::select(body, timer).await {
        futures_util::future::Either::Left((answer, _)) => Some(answer),
        futures_util::future::Either::Right(_) => None,
    }
}

fn result_of(output: Output) -> ToolResult {
    ToolResult { content: output.content, details: output.details, gloss: output.gloss, ..ToolResult::default() }
}

/// What a native body gave to R code, kept until the host takes it.
pub type Slot = Rc<RefCell<Option<Output>>>;

/// A task that runs a native body for R code: a member's function, or the `execute` of a spec that somebody calls. The
/// output is left in the slot.
///
/// # Errors
/// `Internal` for a name that nobody knows, or a host that does not know where it is.
pub fn call(
    engine: &Rc<Engine>,
    name: &str,
    input: Value,
    site: &HostValue,
    asker: Asker,
) -> Result<(Task, Slot), Error> {
    let native = engine.natives.get(name).ok_or_else(|| Error::internal(format!("no native tool '{name}'")))?;
    let site = site.to_json().ok().as_ref().and_then(Site::read);
    let site = Arc::new(site.ok_or_else(|| Error::internal("the working directory is not known"))?);
    let context = Context { site, cancel: CancellationToken::new(), budget: u64::MAX, asker };
    let slot = Slot::default();
    let (engine, kept) = (engine.clone(), slot.clone());
    let bell = engine.bell.clone();
    let task = Task::new(&bell, move |host| async move {
        let started = native.start(&engine.runtime, input, context);
        let output = host.signal().unless_raised(started).await.unwrap_or_else(|| Err(cancelled()))?;
        *kept.borrow_mut() = Some(output);
        Ok(Value::Null)
    });
    Ok((task, slot))
}
