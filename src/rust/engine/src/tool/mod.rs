//! Native tools: bodies of tool records that are functions of the engine.
//!
//! A record whose `execute` is a function of class `gptr_native_<name>` has the body of that name here, and whatever
//! else a record has. A body gets its input, validated, and a [`Context`]; it runs on the threads of the I/O runtime,
//! never on the host's, and looks at `context.cancel` in every loop. The same body serves the model, which reads the
//! [`Output`]'s content, and R code, which gets its `value`.

pub mod edit;
mod encoding;
pub mod find;
#[cfg(test)]
pub(crate) mod folder;
pub mod grep;
mod image;
pub mod level;
mod lines;
pub mod listing;
pub mod output;
pub mod read;
pub mod site;
pub mod text;
mod walk;
pub mod web;
pub mod write;

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Poll, ready};

use parking_lot::RwLock;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::error::Error;
use crate::io;
use crate::message::Block;
use crate::value::{HostValue, Map, Value};
use site::Site;

/// What the host's function for a native body inherits from.
const MARK: &str = "gptr_native";

/// True for a host's function that stands for a native body.
pub fn is_native(handler: &HostValue) -> bool {
    handler.is_function() && handler.inherits(MARK)
}

/// Where and for whom a body works.
#[derive(Clone)]
pub struct Context {
    /// Where paths start, and what is the project.
    pub site: Arc<Site>,
    /// Cancelled when nobody waits for the result any more.
    pub cancel: CancellationToken,
    /// Tokens of text that the caller takes; what is beyond is cut.
    pub budget: u64,
    /// Who asked.
    pub asker: Asker,
}

/// Who asked for a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asker {
    /// The model, by a call of the tool: it reads the content.
    Model,
    /// Code that the model wrote, or a handler, by a member of `peter$`: it takes the value.
    Code,
    /// The person at the console, by a member of `peter$`: they take the value.
    Person,
}

impl Asker {
    /// True for callers in R: they take the value, and the limits of what a model reads are not theirs.
    pub fn takes_value(self) -> bool {
        self != Asker::Model
    }
}

impl Context {
    /// Leaves a body that nobody waits for any more.
    ///
    /// # Errors
    /// When it was cancelled.
    pub fn check(&self) -> Result<(), Error> {
        if self.cancel.is_cancelled() { Err(cancelled()) } else { Ok(()) }
    }
}

/// What a body that was cancelled returns; nobody reads it.
pub fn cancelled() -> Error {
    Error::internal("cancelled")
}

/// What a body gives back.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Output {
    /// What a model reads: text and images.
    pub content: Vec<Block>,
    /// What programs read.
    pub details: Map<String, Value>,
    /// The line that a person sees, in place of the call.
    pub gloss: Option<String>,
    /// What R code gets: a named list that R gives its class. Made only when [`Asker::takes_value`].
    pub value: Option<HostValue>,
}

impl Output {
    /// A text for a model.
    pub fn text(text: impl Into<String>) -> Self {
        Output { content: vec![Block::text(text)], ..Output::default() }
    }

    /// A value for R code.
    pub fn value(value: HostValue) -> Self {
        Output { value: Some(value), ..Output::default() }
    }
}

/// How a body was left. An error is its result as well: its message goes to the model, or is raised in R.
pub type Answer = Result<Output, Error>;

/// A running asynchronous body.
pub type Pending = Pin<Box<dyn Future<Output = Answer> + Send>>;

type Blocking = Arc<dyn Fn(&Value, &Context) -> Answer + Send + Sync>;
type Async = Arc<dyn Fn(Value, Context) -> Pending + Send + Sync>;

#[derive(Clone)]
enum Body {
    Blocking(Blocking),
    Async(Async),
}

/// What a tool does, for the permission modes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deed {
    /// It reads files.
    Read,
    /// It writes files.
    Write,
    /// Anything else.
    Other,
}

/// A native tool.
#[derive(Clone)]
pub struct Native {
    body: Body,
    /// What it does.
    pub deed: Deed,
    /// The risk of an input, 0 to 4; without one the record's annotations say.
    pub level: Option<fn(&Value, &Site) -> u8>,
    /// Gives an input of the model its usual form, before it is validated.
    pub tidy: Option<fn(Value) -> Value>,
}

impl Native {
    /// A body that blocks its thread: files, computing.
    pub fn blocking(body: impl Fn(&Value, &Context) -> Answer + Send + Sync + 'static) -> Self {
        Native { body: Body::Blocking(Arc::new(body)), deed: Deed::Other, level: None, tidy: None }
    }

    /// A body that awaits: sockets, timers, processes.
    pub fn awaiting(body: impl Fn(Value, Context) -> Pending + Send + Sync + 'static) -> Self {
        Native { body: Body::Async(Arc::new(body)), deed: Deed::Other, level: None, tidy: None }
    }

    /// What it does, and how dangerous that is.
    #[must_use]
    pub fn with(self, deed: Deed, level: fn(&Value, &Site) -> u8) -> Self {
        Native { deed, level: Some(level), ..self }
    }

    /// Starts the body. Dropping what it returns cancels it.
    pub fn start(&self, runtime: &io::Runtime, input: Value, context: Context) -> Started {
        let cancel = context.cancel.clone().drop_guard();
        let task = match &self.body {
            Body::Blocking(body) => {
                let body = body.clone();
                runtime.spawn_blocking(move || body(&input, &context))
            }
            Body::Async(body) => runtime.spawn(body(input, context)),
        };
        Started { task, _cancel: cancel }
    }
}

/// A body that runs.
pub struct Started {
    task: io::Task<Answer>,
    _cancel: DropGuard,
}

impl Future for Started {
    type Output = Answer;

    /// A panic of the body is an error of class `internal`.
    fn poll(mut self: Pin<&mut Self>, cx: &mut std::task::Context<'_>) -> Poll<Answer> {
        Poll::Ready(ready!(Pin::new(&mut self.task).poll(cx)).and_then(|answer| answer))
    }
}

/// The native tools of an engine, by name.
pub struct Natives(RwLock<BTreeMap<String, Native>>);

impl Natives {
    /// Those that come with the engine.
    pub fn builtin() -> Self {
        let natives = Natives(RwLock::default());
        natives.add("read", Native::blocking(read::read).with(Deed::Read, level::read));
        natives.add("write", Native::blocking(write::write).with(Deed::Write, level::write));
        let edit = Native::blocking(edit::edit).with(Deed::Write, level::write);
        natives.add("edit", Native { tidy: Some(edit::tidy), ..edit });
        natives.add("grep", Native::blocking(grep::grep).with(Deed::Read, level::search));
        natives.add("find", Native::blocking(find::find).with(Deed::Read, level::search));
        natives.add("ls", Native::blocking(listing::ls).with(Deed::Read, level::search));
        natives.add("web_fetch", Native::awaiting(web::body).with(Deed::Other, |_, _| web::LEVEL));
        natives
    }

    /// Adds one, in place of another of the name.
    pub fn add(&self, name: &str, native: Native) {
        self.0.write().insert(name.to_owned(), native);
    }

    /// The one of this name.
    pub fn get(&self, name: &str) -> Option<Native> {
        self.0.read().get(name).cloned()
    }

    /// The body behind a handler of a record's; `None` when it is a closure of the host's.
    pub fn of(&self, handler: Option<&HostValue>) -> Option<Native> {
        let handler = handler.filter(|h| is_native(h))?;
        handler.class.iter().find_map(|c| self.get(c.strip_prefix(MARK)?.strip_prefix('_')?))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
pub(crate) mod tests {
    use super::folder::Folder;
    use super::*;
    use crate::io::tests::block_on;
    use crate::message::text_of as text_in;
    use crate::value::json;

    pub(crate) fn context_at(folder: &Folder, asker: Asker) -> Context {
        let site = Arc::new(Site::at(folder.at("")));
        Context { site, cancel: CancellationToken::new(), budget: 4000, asker }
    }

    pub(crate) fn text_of(answer: Answer) -> String {
        text_in(&answer.unwrap().content)
    }

    fn context() -> Context {
        context_at(&Folder::new(), Asker::Model)
    }

    #[test]
    fn a_body_runs_on_a_thread_of_the_runtime_and_its_panic_is_an_error() {
        let runtime = io::Runtime::new(|| {});
        let body = Native::blocking(|input, _| {
            Ok(Output::text(format!("{} {}", std::thread::current().name().unwrap(), input["x"])))
        });
        let answer = block_on(body.start(&runtime, json!({"x": 1}), context())).unwrap();
        assert_eq!(answer, Output::text("gptr-io 1"));
        let broken = Native::blocking(|input, _| Ok(Output::text(input.as_str().unwrap())));
        assert!(matches!(block_on(broken.start(&runtime, json!(1), context())), Err(Error::Internal { .. })));
    }

    #[test]
    fn a_body_that_nobody_waits_for_is_cancelled() {
        let runtime = io::Runtime::new(|| {});
        let (tell, told) = std::sync::mpsc::channel();
        let body = Native::blocking(move |_, context| {
            tell.send("began").unwrap();
            while context.check().is_ok() {
                std::thread::yield_now();
            }
            tell.send("left").unwrap();
            Err(cancelled())
        });
        let started = body.start(&runtime, json!({}), context());
        let next = || told.recv_timeout(std::time::Duration::from_secs(20)).unwrap();
        assert_eq!(next(), "began");
        drop(started);
        assert_eq!(next(), "left");
    }

    #[test]
    fn a_handler_is_native_by_its_class() {
        let natives = Natives::builtin();
        let mut handler = HostValue::function([("input", true), ("ctx", true)]);
        assert!(natives.of(Some(&handler)).is_none());
        handler.class = vec!["gptr_native_ls".into(), "gptr_native".into(), "function".into()];
        assert!(natives.of(Some(&handler)).is_some_and(|n| n.deed == Deed::Read));
        handler.class[0] = "gptr_native_nope".into();
        assert!(natives.of(Some(&handler)).is_none());
        assert!(natives.of(None).is_none());
    }
}
