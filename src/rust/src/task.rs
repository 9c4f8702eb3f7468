//! Tasks: what R drives.

use std::cell::RefCell;
use std::time::{Duration, Instant};

use extendr_api::prelude::*;
use gptr_engine::reply::HostReply;
use gptr_engine::task::{Call, CallStyle, Step, Task};
use gptr_engine::value::{HostValue, Map, Value, json};

use crate::answer::{answer, engine, failed, guarded};
use crate::arg;
use crate::value::{host_value, named_list, robj};

/// A wait is cut into slices of this length, and R looks for Ctrl-C after each.
const SLICE: Duration = Duration::from_millis(40);

unsafe extern "C" {
    fn gptr_check_interrupt() -> i32;
}

/// A task behind an external pointer.
pub struct TaskHandle(RefCell<Task>);

/// An R object for a new task.
pub fn handle(task: Task) -> Robj {
    ExternalPtr::new(TaskHandle(RefCell::new(task))).into()
}

/// What the task needs next, as list(type, ...).
#[extendr]
fn task_next(task: Robj) -> Robj {
    guarded(|| {
        let task = arg::held::<TaskHandle>(&task, "task")?;
        let step = task.0.borrow_mut().next();
        let released = engine().registry.released();
        Ok(step_robj(step, released))
    })
}

fn step_robj(step: Step, released: Vec<String>) -> Robj {
    let mut fields = Map::new();
    let mut value = None;
    let mut set = |name: &str, v: Value| {
        fields.insert(name.to_owned(), v);
    };
    match step {
        Step::Call { id, call } => {
            set("type", json!("call"));
            set("id", json!(id));
            call_fields(call, &mut set);
        }
        Step::Ask { id, question } => {
            set("type", json!("ask"));
            set("id", json!(id));
            set("question", question);
        }
        Step::Show { event } => {
            set("type", json!("show"));
            set("event", event);
        }
        Step::Wait => set("type", json!("wait")),
        Step::Done(outcome) => {
            set("type", json!("done"));
            value = Some(outcome);
        }
    }
    if !released.is_empty() {
        set("released", json!(released));
    }
    let Some(outcome) = value else { return robj(&Value::Object(fields)) };
    let value = match outcome {
        Ok(v) => robj(&v),
        Err(e) => failed(&e),
    };
    let released = fields.remove("released").unwrap_or_default();
    named_list(vec![("type", robj(&json!("done"))), ("value", value), ("released", robj(&released))])
}

fn call_fields(call: Call, set: &mut impl FnMut(&str, Value)) {
    set("record", json!(call.handler.record));
    set("home", json!(call.handler.home));
    set("field", json!(call.handler.field));
    set("role", json!(call.role.as_str()));
    set("args", Value::Array(call.args));
    let (style, host_args) = match call.style {
        CallStyle::WithCtx => ("with_ctx", None),
        CallStyle::CtxFirst => ("ctx_first", None),
        CallStyle::Plain => ("plain", None),
        CallStyle::HostArgs { id, changed, dropped } => {
            set("changed", Value::Object(changed));
            set("dropped", json!(dropped));
            ("host", Some(id))
        }
        CallStyle::HostInput { id } => ("host_input", Some(id)),
    };
    set("style", json!(style));
    set("host_args", json!(host_args));
    set("session", json!(call.caller.session));
    set("run", json!(call.caller.run));
    set("call", json!(call.caller.call));
    set("owner", json!(call.caller.owner));
    set("model_code", json!(call.caller.from_model_code));
    set("probe", call.caller.probe.unwrap_or_default());
    set("timeout", json!(call.timeout));
}

/// Answers a call or a question. `reply` is list(type, value, class, message).
#[extendr]
fn task_reply(task: Robj, id: Robj, reply: Robj) -> Robj {
    answer(|| {
        let task = arg::held::<TaskHandle>(&task, "task")?;
        let id = arg::number(&id, "id")?;
        let reply = read_reply(&host_value(&reply));
        task.0.borrow_mut().reply(id as u64, reply);
        Ok(Value::Null)
    })
}

/// An answer of R's: list(type, value, class, message).
pub fn read_reply(v: &HostValue) -> HostReply {
    match v.field("type").and_then(HostValue::as_str) {
        Some("value") => HostReply::Value(v.get("value").cloned().unwrap_or_default()),
        Some("interrupt") => HostReply::Interrupt,
        Some("timeout") => HostReply::Timeout,
        Some("condition") => HostReply::Condition {
            class: v
                .field("class")
                .and_then(HostValue::as_strings)
                .unwrap_or_default()
                .into_iter()
                .map(str::to_owned)
                .collect(),
            message: v.field("message").and_then(HostValue::as_str).unwrap_or_default().to_owned(),
        },
        _ => HostReply::Abort,
    }
}

/// Waits until the task can go on. TRUE when the person pressed Ctrl-C meanwhile.
#[extendr]
fn task_wait(task: Robj) -> Robj {
    answer(|| {
        let task = arg::held::<TaskHandle>(&task, "task")?;
        Ok(json!(interrupted(&task)))
    })
}

fn interrupted(task: &TaskHandle) -> bool {
    loop {
        // A panic in here would be one of parking_lot's; the borrow ends before R is called.
        let ready = task.0.try_borrow().is_ok_and(|t| t.wait(SLICE));
        // SAFETY: on R's thread; the shim keeps R's jump on its own side.
        if unsafe { gptr_check_interrupt() } != 0 {
            return true;
        }
        if ready {
            return false;
        }
    }
}

/// Waits until one of these tasks can go on, for `seconds` at most: list(ready, interrupted), with the positions of those
/// that can and whether the person pressed Ctrl-C meanwhile.
#[extendr]
fn tasks_wait(tasks: Robj, seconds: Robj) -> Robj {
    answer(|| {
        let tasks = arg::items(&tasks, "tasks")?;
        let handles: Vec<_> = tasks.iter().map(|t| arg::held::<TaskHandle>(t, "tasks")).collect::<Result<_, _>>()?;
        let seconds = arg::number(&seconds, "seconds")?;
        let until = Duration::try_from_secs_f64(seconds).ok().and_then(|s| Instant::now().checked_add(s));
        let bell = engine().bell.clone();
        loop {
            let is_ready = |t: &TaskHandle| t.0.try_borrow().is_ok_and(|t| t.is_ready());
            let ready: Vec<usize> = (1..).zip(&handles).filter(|(_, t)| is_ready(t)).map(|(i, _)| i).collect();
            let left = until.map_or(SLICE, |u| u.saturating_duration_since(Instant::now()).min(SLICE));
            // SAFETY: on R's thread; the shim keeps R's jump on its own side.
            if unsafe { gptr_check_interrupt() } != 0 {
                return Ok(json!({"ready": ready, "interrupted": true}));
            }
            if !ready.is_empty() || left.is_zero() {
                return Ok(json!({"ready": ready, "interrupted": false}));
            }
            bell.wait(left);
        }
    })
}

/// Stops the task; it settles in the next steps.
#[extendr]
fn task_cancel(task: Robj, reason: Robj) -> Robj {
    answer(|| {
        let task = arg::held::<TaskHandle>(&task, "task")?;
        let reason = &arg::text(&reason, "reason")?;
        task.0.borrow().cancel(reason);
        Ok(Value::Null)
    })
}

/// Brings the task to its end without R.
#[extendr]
fn task_abandon(task: Robj) -> Robj {
    answer(|| {
        let task = arg::held::<TaskHandle>(&task, "task")?;
        if let Ok(mut task) = task.0.try_borrow_mut() {
            task.abandon();
        }
        Ok(Value::Null)
    })
}

/// Panics on purpose, for the tests of the border.
#[extendr]
fn panic_for_test(in_worker: Robj) -> Robj {
    answer(|| {
        let in_worker = arg::flag(&in_worker, "in_worker")?;
        if !in_worker {
            let list: Vec<i32> = Vec::new();
            return Ok(json!(list[std::hint::black_box(0)]));
        }
        let job = engine().runtime.spawn(async {
            let list: Vec<i32> = Vec::new();
            list[std::hint::black_box(0)]
        });
        let mut task = Task::new(&engine().bell, |_| async move { job.await.map(|n| json!(n)) });
        while matches!(task.next(), Step::Wait) {
            task.wait(SLICE);
        }
        match task.next() {
            Step::Done(outcome) => outcome,
            _ => Ok(Value::Null),
        }
    })
}

extendr_module! {
    mod task;
    fn task_next;
    fn task_reply;
    fn task_wait;
    fn tasks_wait;
    fn task_cancel;
    fn task_abandon;
    fn panic_for_test;
}
