//! Tasks and the step protocol.
//!
//! Whatever may need the host is a task: an `async` block that is polled on the host's thread and asks for what it
//! needs through [`Host`]. The host drives it with [`Task::next`], does what the [`Step`] says, and answers with
//! [`Task::reply`]. Nothing here blocks but [`Task::wait`], and nothing here calls the host.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, VecDeque};
use std::future::Future;
use std::pin::Pin;
use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use crate::error::Error;
use crate::meaning::Role;
use crate::reply::HostReply;
use crate::value::{Map, Value};

/// A closure of the host's: a field of a record's spec.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct HandlerId {
    /// The record whose spec holds it.
    pub record: String,
    /// The session that keeps the spec, for a record that only that session sees.
    pub home: Option<String>,
    /// The field of the spec.
    pub field: String,
}

/// Who is calling: what a handler's `ctx` and the frame stack need to know.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Caller {
    /// The session, when there is one.
    pub session: Option<String>,
    /// The run.
    pub run: Option<String>,
    /// The tool call.
    pub call: Option<String>,
    /// The extension or source that owns the handler.
    pub owner: String,
    /// True when the handler is a tool body reached from code that the model wrote.
    pub from_model_code: bool,
    /// What `ctx` answers in a check, where there is no session: `mode` and `model`.
    pub probe: Option<Value>,
}

/// A call of a host closure.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// The closure.
    pub handler: HandlerId,
    /// The role it is called in; decides what a failure means.
    pub role: Role,
    /// Positional arguments; `ctx` is added by the host.
    pub args: Vec<Value>,
    /// How the arguments are given.
    pub style: CallStyle,
    /// Who is calling.
    pub caller: Caller,
    /// Bound on interpreted code, in seconds.
    pub timeout: Option<f64>,
}

impl Call {
    /// The record that stands for the host itself.
    pub const HOST: &'static str = "host";

    /// Asks the host to run the code of a lazy extension.
    pub fn activate(load: u64, caller: Caller) -> Self {
        Call {
            handler: HandlerId { record: Call::HOST.into(), home: None, field: "activate".into() },
            role: Role::Activate,
            args: vec![Value::from(load)],
            style: CallStyle::Plain,
            caller,
            timeout: None,
        }
    }

    /// Asks the host where it is, as [`Site::read`](crate::tool::site::Site::read) takes it.
    pub fn site(caller: Caller) -> Self {
        Call {
            handler: HandlerId { record: Call::HOST.into(), home: None, field: "site".into() },
            role: Role::Facts,
            args: vec![],
            style: CallStyle::Plain,
            caller,
            timeout: None,
        }
    }

    /// Asks the host for the first of these environment variables that is set: `{name, value}` or NULL.
    pub fn environment(names: &[String]) -> Self {
        Call {
            handler: HandlerId { record: Call::HOST.into(), home: None, field: "environment".into() },
            role: Role::Auth,
            args: names.iter().map(|n| Value::from(n.as_str())).collect(),
            style: CallStyle::Plain,
            caller: Caller::default(),
            timeout: None,
        }
    }
}

/// How a closure gets its arguments.
#[derive(Debug, Clone, PartialEq)]
pub enum CallStyle {
    /// `f(args..., ctx)`.
    WithCtx,
    /// `f(ctx, args...)`.
    CtxFirst,
    /// `f(args...)`.
    Plain,
    /// `f(name = value, ...)` with host objects.
    HostArgs {
        /// What the host keeps them under.
        id: String,
        /// Arguments that have another value now, by name.
        changed: Map<String, Value>,
        /// Arguments that are gone.
        dropped: Vec<String>,
    },
    /// `f(args..., ctx)`; what the input only describes (`$r`) is a host object.
    HostInput {
        /// What the host keeps them under.
        id: String,
    },
}

/// What a task needs next.
#[derive(Debug, Clone, PartialEq)]
#[allow(clippy::large_enum_variant, reason = "steps are few and are handed over one by one")]
pub enum Step {
    /// Call a closure, then [`Task::reply`].
    Call {
        /// For the reply.
        id: u64,
        /// What to call.
        call: Call,
    },
    /// Ask the person, then [`Task::reply`].
    Ask {
        /// For the reply.
        id: u64,
        /// What to show, and which answers there are.
        question: Value,
    },
    /// Show something to the person.
    Show {
        /// `type`, and what that type needs.
        event: Value,
    },
    /// I/O is in flight: [`Task::wait`], then [`Task::next`].
    Wait,
    /// The task ended.
    Done(Result<Value, Error>),
}

/// Wakes the host's thread when I/O of any task moved on.
#[derive(Default)]
pub struct Bell {
    rung: Mutex<bool>,
    bell: Condvar,
}

impl Bell {
    fn ring(&self) {
        *self.rung.lock() = true;
        self.bell.notify_all();
    }

    /// Waits until the bell rings or the time is up; true when it rang. Rings are not lost between two waits.
    pub fn wait(&self, limit: Duration) -> bool {
        let mut rung = self.rung.lock();
        if !*rung {
            self.bell.wait_for(&mut rung, limit);
        }
        std::mem::take(&mut *rung)
    }
}

struct TaskWaker {
    ready: AtomicBool,
    bell: Arc<Bell>,
}

impl Wake for TaskWaker {
    fn wake(self: Arc<Self>) {
        self.ready.store(true, Ordering::Release);
        self.bell.ring();
    }
}

/// Stops what a task does. Cloning shares it.
#[derive(Clone, Default)]
pub struct Signal(Rc<SignalState>);

#[derive(Default)]
struct SignalState {
    reason: RefCell<Option<String>>,
    wakers: RefCell<Vec<Waker>>,
    followers: RefCell<Vec<Weak<SignalState>>>,
}

impl Signal {
    /// Raises the signal; the first reason stays.
    pub fn abort(&self, reason: &str) {
        self.0.reason.borrow_mut().get_or_insert_with(|| reason.to_owned());
        let wakers = std::mem::take(&mut *self.0.wakers.borrow_mut());
        for w in wakers {
            w.wake();
        }
        let followers = std::mem::take(&mut *self.0.followers.borrow_mut());
        for follower in followers.iter().filter_map(Weak::upgrade) {
            Signal(follower).abort(reason);
        }
    }

    /// Raises `other` too when this one is raised, or at once when it is.
    pub fn also_raises(&self, other: &Signal) {
        match self.reason() {
            Some(reason) => other.abort(&reason),
            None => {
                let mut followers = self.0.followers.borrow_mut();
                followers.retain(|f| f.strong_count() > 0);
                followers.push(Rc::downgrade(&other.0));
            }
        }
    }

    /// The reason, once raised.
    pub fn reason(&self) -> Option<String> {
        self.0.reason.borrow().clone()
    }

    /// True once raised.
    pub fn is_raised(&self) -> bool {
        self.0.reason.borrow().is_some()
    }

    /// Resolves when the signal is raised.
    pub fn raised(&self) -> impl Future<Output = ()> + use<> {
        let state = self.0.clone();
        std::future::poll_fn(move |cx| {
            if state.reason.borrow().is_some() {
                return Poll::Ready(());
            }
            let mut wakers = state.wakers.borrow_mut();
            if !wakers.iter().any(|w| w.will_wake(cx.waker())) {
                wakers.push(cx.waker().clone());
            }
            Poll::Pending
        })
    }

    /// The future's output, or `None` when the signal is raised first.
    pub async fn unless_raised<T>(&self, future: impl Future<Output = T>) -> Option<T> {
        let mut future = std::pin::pin!(future);
        let mut raised = std::pin::pin!(self.raised());
        std::future::poll_fn(|cx| {
            if raised.as_mut().poll(cx).is_ready() {
                return Poll::Ready(None);
            }
            future.as_mut().poll(cx).map(Some)
        })
        .await
    }
}

struct Shared {
    steps: RefCell<VecDeque<Step>>,
    replies: RefCell<HashMap<u64, HostReply>>,
    next_id: Cell<u64>,
}

/// The host as a task sees it. Cloning shares it.
#[derive(Clone)]
pub struct Host {
    shared: Rc<Shared>,
    signal: Signal,
}

impl Host {
    /// Calls a closure of the host's.
    pub async fn call(&self, call: Call) -> HostReply {
        let id = self.next_id();
        self.push(Step::Call { id, call });
        self.answer(id).await
    }

    /// Asks the person.
    pub async fn ask(&self, question: Value) -> HostReply {
        let id = self.next_id();
        self.push(Step::Ask { id, question });
        self.answer(id).await
    }

    /// Shows something to the person; the task goes on.
    pub fn show(&self, event: Value) {
        self.push(Step::Show { event });
    }

    /// Shows something and lets the host leave its loop there: the task goes on when it is driven again.
    pub async fn rest(&self, event: Value) {
        self.show(event);
        let mut rested = false;
        std::future::poll_fn(move |cx| {
            if std::mem::replace(&mut rested, true) {
                return Poll::Ready(());
            }
            cx.waker().wake_by_ref();
            Poll::Pending
        })
        .await;
    }

    /// The signal that stops the task.
    pub fn signal(&self) -> &Signal {
        &self.signal
    }

    fn next_id(&self) -> u64 {
        let id = self.shared.next_id.get() + 1;
        self.shared.next_id.set(id);
        id
    }

    fn push(&self, step: Step) {
        self.shared.steps.borrow_mut().push_back(step);
    }

    fn answer(&self, id: u64) -> impl Future<Output = HostReply> + use<> {
        let shared = self.shared.clone();
        std::future::poll_fn(move |_| match shared.replies.borrow_mut().remove(&id) {
            Some(reply) => Poll::Ready(reply),
            None => Poll::Pending,
        })
    }
}

type Outcome = Result<Value, Error>;

/// An operation of the engine under way.
pub struct Task {
    future: Option<Pin<Box<dyn Future<Output = Outcome>>>>,
    outcome: Option<Outcome>,
    host: Host,
    waker: Arc<TaskWaker>,
    open: Vec<u64>,
}

impl Task {
    /// A task around the future that `start` makes.
    pub fn new<F>(bell: &Arc<Bell>, start: impl FnOnce(Host) -> F) -> Self
    where
        F: Future<Output = Result<Value, Error>> + 'static,
    {
        let shared = Rc::new(Shared { steps: RefCell::default(), replies: RefCell::default(), next_id: Cell::new(0) });
        let host = Host { shared, signal: Signal::default() };
        let waker = Arc::new(TaskWaker { ready: AtomicBool::new(true), bell: bell.clone() });
        Task { future: Some(Box::pin(start(host.clone()))), outcome: None, host, waker, open: Vec::new() }
    }

    /// What the task needs next. After `Done` it stays done.
    #[allow(clippy::should_implement_trait, reason = "an iterator ends, a task goes on to say that it is done")]
    pub fn next(&mut self) -> Step {
        if let Some(step) = self.pop() {
            return step;
        }
        self.poll();
        if let Some(step) = self.pop() {
            return step;
        }
        match &self.outcome {
            Some(outcome) => Step::Done(outcome.clone()),
            None => Step::Wait,
        }
    }

    /// Answers a `Call` or an `Ask`.
    pub fn reply(&mut self, id: u64, reply: HostReply) {
        self.open.retain(|open| *open != id);
        self.host.shared.replies.borrow_mut().insert(id, reply);
        self.waker.ready.store(true, Ordering::Release);
    }

    /// Waits until I/O moved the task on, or the limit is reached; true when it may go on.
    pub fn wait(&self, limit: Duration) -> bool {
        let until = Instant::now() + limit;
        loop {
            if self.is_ready() {
                return true;
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            self.waker.bell.wait(left);
        }
    }

    /// True when polling may move the task on.
    pub fn is_ready(&self) -> bool {
        self.waker.ready.load(Ordering::Acquire)
    }

    /// Stops the task: what it waits for is dropped, and it settles by itself in the next steps.
    pub fn cancel(&self, reason: &str) {
        self.host.signal.abort(reason);
    }

    /// Brings the task to its end without a host: whatever it asks for is answered by an abort. For a host that left
    /// its loop by a jump.
    pub fn abandon(&mut self) {
        self.cancel("abandoned");
        for id in self.open.clone() {
            self.reply(id, HostReply::Abort);
        }
        while self.outcome.is_none() {
            match self.next() {
                Step::Call { id, .. } | Step::Ask { id, .. } => self.reply(id, HostReply::Abort),
                Step::Show { .. } => {}
                Step::Wait => {
                    if !self.wait(Duration::from_secs(2)) {
                        self.future = None;
                        self.outcome = Some(Err(Error::internal("the task did not settle")));
                    }
                }
                Step::Done(_) => return,
            }
        }
    }

    fn pop(&mut self) -> Option<Step> {
        let step = self.host.shared.steps.borrow_mut().pop_front()?;
        if let Step::Call { id, .. } | Step::Ask { id, .. } = &step {
            self.open.push(*id);
        }
        Some(step)
    }

    fn poll(&mut self) {
        let Some(future) = self.future.as_mut() else { return };
        self.waker.ready.store(false, Ordering::Release);
        let waker = Waker::from(self.waker.clone());
        if let Poll::Ready(outcome) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            self.future = None;
            self.outcome = Some(outcome);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::value::{HostValue, json};

    fn call(name: &str) -> Call {
        Call {
            handler: HandlerId { record: "r1".into(), home: None, field: name.into() },
            role: Role::Tool,
            args: vec![],
            style: CallStyle::Plain,
            caller: Caller::default(),
            timeout: None,
        }
    }

    #[test]
    fn a_task_says_what_it_needs_and_ends_with_its_value() {
        let bell = Arc::new(Bell::default());
        let mut task = Task::new(&bell, |host| async move {
            host.show(json!("hello"));
            let HostReply::Value(v) = host.call(call("f")).await else { return Ok(json!("no value")) };
            Ok(v.to_json().unwrap_or_default())
        });
        assert_eq!(task.next(), Step::Show { event: json!("hello") });
        let Step::Call { id, .. } = task.next() else { panic!("no call") };
        assert_eq!(task.next(), Step::Wait);
        task.reply(id, HostReply::Value(HostValue::from(42)));
        assert_eq!(task.next(), Step::Done(Ok(json!(42))));
        assert_eq!(task.next(), Step::Done(Ok(json!(42))));
    }

    #[test]
    fn a_task_that_rests_does_nothing_until_it_is_driven_on() {
        let bell = Arc::new(Bell::default());
        let mut task = Task::new(&bell, |host| async move {
            host.rest(json!("here")).await;
            host.show(json!("after"));
            Ok(json!(1))
        });
        assert_eq!(task.next(), Step::Show { event: json!("here") });
        assert!(task.is_ready());
        assert_eq!(task.next(), Step::Show { event: json!("after") });
        assert_eq!(task.next(), Step::Done(Ok(json!(1))));
    }

    #[test]
    fn a_signal_ends_a_wait_that_would_never_end() {
        let bell = Arc::new(Bell::default());
        let mut task = Task::new(&bell, |host| async move {
            let ended = host.signal().unless_raised(std::future::pending::<()>()).await;
            Ok(json!(ended.is_none()))
        });
        assert_eq!(task.next(), Step::Wait);
        assert!(!task.wait(Duration::from_millis(1)));
        task.cancel("user");
        assert!(task.wait(Duration::from_secs(5)));
        assert_eq!(task.next(), Step::Done(Ok(json!(true))));
    }

    #[test]
    fn a_signal_raises_those_that_follow_it_and_not_the_other_way_round() {
        let (parent, child, late) = (Signal::default(), Signal::default(), Signal::default());
        parent.also_raises(&child);
        child.abort("own");
        assert!(!parent.is_raised());
        parent.abort("user");
        parent.also_raises(&late);
        assert_eq!((child.reason().as_deref(), late.reason().as_deref()), (Some("own"), Some("user")));
    }

    #[test]
    fn an_abandoned_task_settles_without_a_host() {
        let bell = Arc::new(Bell::default());
        let mut task = Task::new(&bell, |host| async move {
            let first = matches!(host.call(call("f")).await, HostReply::Abort);
            let second = matches!(host.ask(json!({})).await, HostReply::Abort);
            Ok(json!([first, second, host.signal().reason()]))
        });
        assert!(matches!(task.next(), Step::Call { .. }));
        task.abandon();
        assert_eq!(task.next(), Step::Done(Ok(json!([true, true, "abandoned"]))));
    }

    #[test]
    fn a_ring_before_the_wait_is_not_lost() {
        let bell = Arc::new(Bell::default());
        bell.ring();
        assert!(bell.wait(Duration::from_secs(5)));
    }
}
