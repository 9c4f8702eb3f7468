//! Requests over HTTP: one client a runtime, timers around each wait, a stream of event batches for the host.
//!
//! No redirect is followed, no total time limit exists, and neither a key nor a query stands in any error.

mod exchange;

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use parking_lot::Mutex;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::error::Error;
use crate::io::{Generation, Runtime, Task};
use crate::message::StreamEvent;
use crate::redact::Redactor;

use exchange::Exchange;

use super::normalise::{Normaliser, OneTerminal, is_terminal, missing_terminal};

/// Batches that wait for the host before the socket is read on.
const CHANNEL: usize = 64;
const POOL_IDLE: Duration = Duration::from_secs(90);
/// Addresses of this machine never go through a proxy.
const LOOPBACK: &str = "localhost,127.0.0.0/8,::1";

/// One request, built by an adapter.
#[derive(Clone)]
pub struct HttpRequest {
    /// The method.
    pub method: reqwest::Method,
    /// The address.
    pub url: String,
    /// Headers, in order.
    pub headers: Vec<(String, String)>,
    /// The body; the same bytes for every attempt.
    pub body: Bytes,
    /// Names of the headers whose values are secrets, any case.
    pub secret_headers: Vec<String>,
}

impl std::fmt::Debug for HttpRequest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<&str> = self.headers.iter().map(|(n, _)| n.as_str()).collect();
        f.debug_struct("HttpRequest")
            .field("method", &self.method)
            .field("origin", &origin(&self.url))
            .field("headers", &names)
            .field("body_bytes", &self.body.len())
            .finish()
    }
}

/// Limits of a request; there is no total one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Timeouts {
    /// Of connecting, TLS included.
    pub connect: Duration,
    /// From sending to the first event; comments of a waiting host do not count as one.
    pub first_byte: Duration,
    /// Silence after that.
    pub idle: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Timeouts {
            connect: Duration::from_secs(20),
            first_byte: Duration::from_secs(120),
            idle: Duration::from_secs(90),
        }
    }
}

/// What holds for all requests of a client. The environment is never read.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Settings {
    /// Proxy for http addresses.
    pub http_proxy: Option<String>,
    /// Proxy for https addresses.
    pub https_proxy: Option<String>,
    /// Hosts that need no proxy, comma separated.
    pub no_proxy: String,
    /// PEM certificates to trust besides the system's.
    pub extra_ca: Option<Vec<u8>>,
}

/// Sends requests; clones share connections.
#[derive(Clone)]
pub struct Client {
    runtime: Runtime,
    settings: Arc<Settings>,
    pool: Arc<Mutex<Option<Pool>>>,
}

/// Open connections, of one runtime, made within one limit.
struct Pool {
    generation: Generation,
    connect: Duration,
    client: reqwest::Client,
}

/// The head of a response, once it is there.
#[derive(Debug, Clone, Default)]
pub struct Head {
    /// The HTTP status.
    pub status: u16,
    /// The host's id of the request.
    pub request_id: Option<String>,
    /// All headers that are text, names in lower case.
    pub headers: Vec<(String, String)>,
}

impl Client {
    /// A client that connects to nothing yet and starts no thread.
    pub fn new(runtime: Runtime, settings: Settings) -> Self {
        Client { runtime, settings: Arc::new(settings), pool: Arc::default() }
    }

    /// Sends a request. All that can go wrong comes as the stream's terminal event. `redactor` cleans the messages
    /// of errors; the secret headers of the request are added to it.
    pub fn send(
        &self,
        request: HttpRequest,
        normaliser: Box<dyn Normaliser>,
        timeouts: Timeouts,
        redactor: &Redactor,
    ) -> ReplyStream {
        let (sender, receiver) = mpsc::channel(CHANNEL);
        let head = Arc::new(OnceLock::new());
        let cancel = CancellationToken::new();
        let exchange = Exchange {
            client: self.connected(timeouts.connect),
            timeouts,
            redactor: with_secrets(redactor, &request),
            request,
            sender,
            head: head.clone(),
        };
        let task = self.runtime.spawn(exchange.run(OneTerminal::new(normaliser), cancel.clone()));
        ReplyStream {
            _runtime: self.runtime.clone(),
            receiver: Some(receiver),
            task: Some(task),
            head,
            cancel,
            ended: false,
            pid: std::process::id(),
        }
    }

    /// The connection pool of the present runtime; one with another limit of connecting takes its place. It is built on
    /// the host's thread, since looking up the system's certificates may read the environment.
    fn connected(&self, connect: Duration) -> Result<reqwest::Client, Error> {
        let generation = self.runtime.generation()?;
        let mut pool = self.pool.lock();
        if let Some(pool) = pool.as_ref().filter(|p| p.generation == generation && p.connect == connect) {
            return Ok(pool.client.clone());
        }
        // The locks of the parent's pool may never open in a forked child: it is leaked like its runtime.
        if let Some(parents) = pool.take_if(|p| !p.generation.is_of_this_process()) {
            std::mem::forget(parents);
        }
        let client = build(&self.settings, connect)?;
        *pool = Some(Pool { generation, connect, client: client.clone() });
        Ok(client)
    }
}

fn with_secrets(redactor: &Redactor, request: &HttpRequest) -> Redactor {
    let mut redactor = redactor.clone();
    for (name, value) in &request.headers {
        if request.secret_headers.iter().any(|s| s.eq_ignore_ascii_case(name)) {
            let key = value.strip_prefix("Bearer ").unwrap_or(value);
            redactor.add_secret(name, key);
        }
    }
    redactor
}

/// Installs the library that TLS uses, when none is there.
pub(crate) fn provide_tls() {
    if rustls::crypto::CryptoProvider::get_default().is_none() {
        // Losing a race against another thread leaves a provider in place too.
        let _ = rustls::crypto::ring::default_provider().install_default();
    }
}

fn build(settings: &Settings, connect: Duration) -> Result<reqwest::Client, Error> {
    provide_tls();
    let mut builder = reqwest::Client::builder()
        .user_agent(concat!("gptr/", env!("CARGO_PKG_VERSION")))
        .no_proxy()
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(connect)
        .pool_idle_timeout(POOL_IDLE)
        .tcp_nodelay(true)
        .gzip(true)
        .referer(false);
    for proxy in proxies(settings)? {
        builder = builder.proxy(proxy);
    }
    if let Some(pem) = &settings.extra_ca {
        let certificates = reqwest::Certificate::from_pem_bundle(pem)
            .map_err(|_| Error::argument_message("extra_ca", "The extra CA file has no readable PEM certificate."))?;
        builder = builder.tls_certs_merge(certificates);
    }
    builder.build().map_err(|e| Error::internal(format!("the HTTP client can't be built: {}", causes(&e))))
}

fn proxies(settings: &Settings) -> Result<Vec<reqwest::Proxy>, Error> {
    let bypass = || reqwest::NoProxy::from_string(&format!("{LOOPBACK},{}", settings.no_proxy));
    type Make = fn(&str) -> reqwest::Result<reqwest::Proxy>;
    let table: [(&str, &Option<String>, Make); 2] = [
        ("http_proxy", &settings.http_proxy, |url| reqwest::Proxy::http(url)),
        ("https_proxy", &settings.https_proxy, |url| reqwest::Proxy::https(url)),
    ];
    let mut out = Vec::new();
    for (name, url, make) in table {
        let Some(url) = url.as_deref().filter(|u| !u.is_empty()) else { continue };
        let proxy = make(url)
            .map_err(|_| Error::argument_message(name, format!("The setting {name} is not a proxy address.")))?;
        out.push(proxy.no_proxy(bypass()));
    }
    Ok(out)
}

/// Scheme, host and port of an address: what errors may show of it.
pub fn origin(url: &str) -> String {
    match reqwest::Url::parse(url) {
        Ok(u) => u.origin().ascii_serialization(),
        Err(_) => "an address that can't be read".to_owned(),
    }
}

/// The messages of an error and its causes, innermost last, without an address.
fn causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(inner) = source {
        let message = inner.to_string();
        if !text.contains(&message) {
            text.push_str(": ");
            text.push_str(&message);
        }
        source = inner.source();
    }
    text
}

/// A reply on its way. Dropping it closes the socket.
pub struct ReplyStream {
    /// Keeps the threads that read the reply.
    _runtime: Runtime,
    receiver: Option<mpsc::Receiver<Vec<StreamEvent>>>,
    task: Option<Task<()>>,
    head: Arc<OnceLock<Head>>,
    cancel: CancellationToken,
    ended: bool,
    pid: u32,
}

impl ReplyStream {
    /// The next batch of events, all that are there; `None` after the terminal event. Can be awaited anywhere, and
    /// dropped and called again without losing an event.
    pub async fn next(&mut self) -> Option<Vec<StreamEvent>> {
        if self.ended {
            return None;
        }
        if self.pid != std::process::id() {
            self.ended = true;
            return Some(vec![missing_terminal("the reply belongs to the process that this one was forked from")]);
        }
        let receiver = self.receiver.as_mut()?;
        let mut batch = receiver.recv().await.unwrap_or_default();
        while let Ok(more) = receiver.try_recv() {
            batch.extend(more);
        }
        if batch.is_empty() {
            batch.push(missing_terminal("the task that read the reply ended without a result"));
        }
        self.ended = batch.iter().any(is_terminal);
        Some(batch)
    }

    /// Closes the socket; the stream then ends with an `Aborted` error that has what had arrived.
    pub fn cancel(&self) {
        if self.pid == std::process::id() {
            self.cancel.cancel();
        }
    }

    /// The head of the response, once it is there.
    pub fn head(&self) -> Option<&Head> {
        self.head.get()
    }
}

impl Drop for ReplyStream {
    fn drop(&mut self) {
        if self.pid == std::process::id() {
            // A reply read to its end leaves its task to put the connection back.
            if let (true, Some(task)) = (self.ended, self.task.take()) {
                task.detach();
            }
            return;
        }
        std::mem::forget(self.receiver.take());
        std::mem::forget(self.task.take());
        std::mem::forget(std::mem::take(&mut self.cancel));
    }
}
