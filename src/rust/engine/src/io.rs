//! The runtime that does I/O. It starts at first use, on worker threads of its own, and belongs to one process.
//!
//! The host polls its futures on its own thread, outside of this runtime. Whatever is handed back here ([`Task`],
//! channels of `tokio::sync`) can be awaited there: nothing needs a runtime context at the awaiting side.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::task::JoinHandle;

use crate::error::Error;

/// I/O is waiting, not computing: two threads keep hundreds of streams going.
const WORKERS: usize = 2;

/// A handle to the runtime; clones share it.
#[derive(Clone)]
pub struct Runtime {
    shared: Arc<Shared>,
}

struct Shared {
    on_thread_start: fn(),
    started: Mutex<Started>,
}

#[derive(Default)]
struct Started {
    generation: u64,
    current: Option<Owned>,
}

/// A running runtime and the process that it runs in.
struct Owned {
    pid: u32,
    runtime: tokio::runtime::Runtime,
}

/// Which start of the runtime something belongs to: things tied to its threads (connection pools) are rebuilt when
/// it changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Generation {
    pid: u32,
    count: u64,
}

impl Generation {
    /// False in a forked child for what its parent started.
    pub fn is_of_this_process(self) -> bool {
        self.pid == std::process::id()
    }
}

impl Runtime {
    /// A runtime that has not started. `on_thread_start` runs first on each of its threads (a host blocks signals
    /// there). Starts nothing.
    pub fn new(on_thread_start: fn()) -> Self {
        Runtime { shared: Arc::new(Shared { on_thread_start, started: Mutex::default() }) }
    }

    /// Runs a future on the workers. Starts the runtime when need be; that failing is the task's result. Dropping
    /// the task cancels it.
    pub fn spawn<F>(&self, future: F) -> Task<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let handle = self.enter(|runtime, _| runtime.spawn(future));
        Task { state: Some(handle), pid: std::process::id() }
    }

    /// Runs a function that may block on a thread of its own. Dropping the task leaves it running: such a function has
    /// to look for itself whether somebody still waits.
    pub fn spawn_blocking<T: Send + 'static>(&self, body: impl FnOnce() -> T + Send + 'static) -> Task<T> {
        let handle = self.enter(|runtime, _| runtime.spawn_blocking(body));
        Task { state: Some(handle), pid: std::process::id() }
    }

    /// Ends after `duration`. Needs no runtime context where it is awaited.
    pub fn sleep(&self, duration: Duration) -> Task<()> {
        self.spawn(async move { tokio::time::sleep(duration).await })
    }

    /// The present start; starts the runtime when need be.
    ///
    /// # Errors
    /// `Internal` when the system refuses threads.
    pub fn generation(&self) -> Result<Generation, Error> {
        self.enter(|_, generation| generation)
    }

    /// Ends the runtime, waiting at most `timeout` for what still runs. The next use starts it anew. In a forked
    /// child the parent's runtime is left alone: its threads do not exist there, and joining them would hang.
    pub fn shutdown(&self, timeout: Duration) {
        let current = self.shared.started.lock().current.take();
        if let Some(owned) = current {
            owned.end(|runtime| runtime.shutdown_timeout(timeout));
        }
    }

    fn enter<T>(&self, body: impl FnOnce(&tokio::runtime::Runtime, Generation) -> T) -> Result<T, Error> {
        let mut started = self.shared.started.lock();
        let pid = std::process::id();
        if let Some(foreign) = started.current.take_if(|o| o.pid != pid) {
            std::mem::forget(foreign);
        }
        if started.current.is_none() {
            let runtime = build(self.shared.on_thread_start)?;
            started.generation += 1;
            started.current = Some(Owned { pid, runtime });
        }
        let count = started.generation;
        match &started.current {
            Some(owned) => Ok(body(&owned.runtime, Generation { pid, count })),
            None => Err(Error::internal("the I/O runtime is gone")),
        }
    }
}

impl Owned {
    fn end(self, how: impl FnOnce(tokio::runtime::Runtime)) {
        if self.pid == std::process::id() {
            how(self.runtime);
        } else {
            std::mem::forget(self.runtime);
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        if let Some(owned) = self.started.get_mut().current.take() {
            owned.end(tokio::runtime::Runtime::shutdown_background);
        }
    }
}

fn build(on_thread_start: fn()) -> Result<tokio::runtime::Runtime, Error> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(WORKERS)
        .thread_name("gptr-io")
        .on_thread_start(on_thread_start)
        .enable_all()
        .build()
        .map_err(|e| Error::internal(format!("the I/O runtime can't start: {e}")))
}

/// A future that runs on the workers. It may be awaited anywhere. Dropping it cancels it.
pub struct Task<T> {
    state: Option<Result<JoinHandle<T>, Error>>,
    pid: u32,
}

impl<T> Task<T> {
    /// Lets the task run to its end unobserved.
    pub fn detach(mut self) {
        if let Some(Ok(handle)) = self.state.take().filter(|_| self.pid != std::process::id()) {
            std::mem::forget(handle);
        }
    }
}

impl<T> Future for Task<T> {
    type Output = Result<T, Error>;

    /// # Errors
    /// `Internal` when the runtime did not start or ended, the task panicked, or this is a forked child in which
    /// the task does not run.
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        if self.pid != std::process::id() {
            return Poll::Ready(Err(Error::internal("the task runs in the process that this one was forked from")));
        }
        match &mut self.state {
            Some(Ok(handle)) => Pin::new(handle).poll(cx).map(|r| r.map_err(|e| Error::internal(e.to_string()))),
            Some(Err(e)) => Poll::Ready(Err(e.clone())),
            None => Poll::Ready(Err(Error::internal("the task is gone"))),
        }
    }
}

impl<T> Drop for Task<T> {
    fn drop(&mut self) {
        if let Some(Ok(handle)) = self.state.take() {
            // In a forked child the locks inside may be held by threads that are not there.
            if self.pid == std::process::id() { handle.abort() } else { std::mem::forget(handle) }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
pub(crate) mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Wake;
    use std::thread::Thread;

    struct Unpark(Thread);

    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }

    /// Polls on this thread, without a runtime context, as a host does.
    pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
        let waker = Arc::new(Unpark(std::thread::current())).into();
        let mut cx = Context::from_waker(&waker);
        let mut future = std::pin::pin!(future);
        loop {
            match future.as_mut().poll(&mut cx) {
                Poll::Ready(value) => return value,
                Poll::Pending => std::thread::park(),
            }
        }
    }

    static THREADS: AtomicUsize = AtomicUsize::new(0);

    #[test]
    fn the_hook_runs_on_the_threads_of_the_runtime_and_not_before_first_use() {
        let runtime = Runtime::new(|| {
            THREADS.fetch_add(1, Ordering::SeqCst);
        });
        assert_eq!(THREADS.load(Ordering::SeqCst), 0);
        let name = block_on(runtime.spawn(async { std::thread::current().name().map(str::to_owned) })).unwrap();
        assert_eq!(name.as_deref(), Some("gptr-io"));
        assert!(THREADS.load(Ordering::SeqCst) >= 1);
    }

    #[test]
    fn a_sleep_can_be_awaited_outside_of_the_runtime() {
        let runtime = Runtime::new(|| {});
        assert_eq!(block_on(runtime.sleep(Duration::from_millis(1))), Ok(()));
    }

    #[test]
    fn a_panic_of_a_task_is_an_error() {
        let runtime = Runtime::new(|| {});
        let result = block_on(runtime.spawn(async { panic!("boom") }));
        assert!(matches!(result, Err(Error::Internal { .. })));
    }

    #[test]
    fn a_shutdown_is_bounded_and_the_next_use_starts_anew() {
        let runtime = Runtime::new(|| {});
        let first = runtime.generation().unwrap();
        let endless = runtime.spawn(std::future::pending::<()>());
        runtime.shutdown(Duration::from_secs(5));
        assert!(block_on(endless).is_err());
        assert_ne!(runtime.generation().unwrap(), first);
        assert_eq!(block_on(runtime.spawn(async { 7 })), Ok(7));
    }

    #[test]
    fn dropping_a_task_cancels_it() {
        let runtime = Runtime::new(|| {});
        let (held, gone) = tokio::sync::oneshot::channel::<()>();
        let task = runtime.spawn(async move {
            let _held = held;
            std::future::pending::<()>().await;
        });
        drop(task);
        assert!(block_on(gone).is_err());
    }
}
