//! Requests over HTTP: one client a runtime, timers around each wait, a stream of event batches for the host.
//!
//! No redirect is followed, no total time limit exists, and neither a key nor a query stands in any error.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use parking_lot::Mutex;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::error::Error;
use crate::io::{Generation, Runtime, Task};
use crate::message::{Failure, FailureClass, StreamEvent};
use crate::redact::Redactor;

use super::body::BodyReader;
use super::failure;
use super::normalise::{Normaliser, OneTerminal, is_terminal, missing_terminal};
use super::sse::SseEvent;

/// Batches that wait for the host before the socket is read on.
const CHANNEL: usize = 64;
/// An error body is read up to here.
const ERROR_BODY: usize = 64 * 1024;
/// How long an error body may take, and how long the rest of a finished reply is waited for so that the connection
/// can be used again.
const TAIL_WAIT: Duration = Duration::from_secs(2);
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
    /// From sending to the first event; comments of a waiting host do not count as one.
    pub first_byte: Duration,
    /// Silence after that.
    pub idle: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Timeouts { first_byte: Duration::from_secs(120), idle: Duration::from_secs(90) }
    }
}

/// What holds for all requests of a client. The environment is never read.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Limit of connecting, TLS included.
    pub connect: Duration,
    /// Proxy for http addresses.
    pub http_proxy: Option<String>,
    /// Proxy for https addresses.
    pub https_proxy: Option<String>,
    /// Hosts that need no proxy, comma separated.
    pub no_proxy: String,
    /// PEM certificates to trust besides the system's.
    pub extra_ca: Option<Vec<u8>>,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            connect: Duration::from_secs(20),
            http_proxy: None,
            https_proxy: None,
            no_proxy: String::new(),
            extra_ca: None,
        }
    }
}

/// Sends requests; clones share connections.
#[derive(Clone)]
pub struct Client {
    runtime: Runtime,
    settings: Arc<Settings>,
    pool: Arc<Mutex<Option<(Generation, reqwest::Client)>>>,
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
            client: self.connected(),
            connect: self.settings.connect,
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

    /// The connection pool of the present runtime. It is built on the host's thread, since looking up the system's
    /// certificates may read the environment.
    fn connected(&self) -> Result<reqwest::Client, Error> {
        let generation = self.runtime.generation()?;
        let mut pool = self.pool.lock();
        if let Some((_, client)) = pool.as_ref().filter(|(g, _)| *g == generation) {
            return Ok(client.clone());
        }
        // A pool of a forked child's parent has locks that may never open: it is leaked like its runtime.
        if let Some(stale) = pool.take() {
            std::mem::forget(stale);
        }
        let client = build(&self.settings)?;
        *pool = Some((generation, client.clone()));
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

fn build(settings: &Settings) -> Result<reqwest::Client, Error> {
    if rustls::crypto::CryptoProvider::get_default().is_none() {
        // Losing a race against another thread leaves a provider in place too.
        let _ = rustls::crypto::ring::default_provider().install_default();
    }
    let mut builder = reqwest::Client::builder()
        .no_proxy()
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(settings.connect)
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
        let proxy = make(url).map_err(|_| Error::argument_message(name, format!("The setting {name} is not a proxy address.")))?;
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

/// One request and its reply, on the runtime's threads.
struct Exchange {
    client: Result<reqwest::Client, Error>,
    connect: Duration,
    timeouts: Timeouts,
    redactor: Redactor,
    request: HttpRequest,
    sender: mpsc::Sender<Vec<StreamEvent>>,
    head: Arc<OnceLock<Head>>,
}

/// How reading ended.
enum End {
    /// The body ended, or the terminal event came.
    Whole,
    /// It failed.
    Failed(Box<Failure>),
    /// Nobody listens any more.
    Deserted,
}

impl From<Failure> for End {
    fn from(failure: Failure) -> Self {
        End::Failed(Box::new(failure))
    }
}

impl Exchange {
    async fn run(self, mut reader: OneTerminal, cancel: CancellationToken) {
        let end = {
            let work = self.work(&mut reader);
            tokio::select! {
                biased;
                () = cancel.cancelled() => End::from(failure::aborted()),
                end = work => end,
            }
        };
        let mut last = Vec::new();
        match end {
            End::Whole => reader.finish(&mut last),
            End::Failed(failure) => reader.fail(*failure, &mut last),
            End::Deserted => return,
        }
        self.deliver(last).await;
    }

    async fn work(&self, reader: &mut OneTerminal) -> End {
        let client = match &self.client {
            Ok(client) => client,
            Err(e) => return End::from(failure::internal(e.to_string())),
        };
        let request = match self.prepared() {
            Ok(request) => request,
            Err(message) => return End::from(failure::internal(message)),
        };
        let deadline = Instant::now() + self.timeouts.first_byte;
        let response = match tokio::time::timeout_at(deadline, client.execute(request)).await {
            Err(_) => return End::from(self.first_byte()),
            Ok(Err(e)) => return End::from(self.unreachable(&e)),
            Ok(Ok(response)) => response,
        };
        let head = head_of(&response);
        let status = head.status;
        let _ = self.head.set(head);
        if (200..300).contains(&status) { self.read(response, reader, deadline).await } else { self.refused(response).await }
    }

    fn prepared(&self) -> Result<reqwest::Request, String> {
        let url = reqwest::Url::parse(&self.request.url).map_err(|_| "the address of the request can't be read".to_owned())?;
        let mut request = reqwest::Request::new(self.request.method.clone(), url);
        *request.headers_mut() = headers(&self.request)?;
        *request.body_mut() = Some(self.request.body.clone().into());
        Ok(request)
    }

    async fn read(&self, mut response: reqwest::Response, reader: &mut OneTerminal, first: Instant) -> End {
        let mut body = BodyReader::default();
        let mut events = Vec::new();
        let mut answered = false;
        loop {
            let deadline = if answered { Instant::now() + self.timeouts.idle } else { first };
            let chunk = match tokio::time::timeout_at(deadline, response.chunk()).await {
                Err(_) if answered => return End::from(failure::timeout(FailureClass::TimeoutIdle, self.timeouts.idle)),
                Err(_) => return End::from(self.first_byte()),
                Ok(Err(e)) => return End::from(self.cut(&e)),
                Ok(Ok(chunk)) => chunk,
            };
            let read = match &chunk {
                Some(bytes) => body.push(bytes, &mut events),
                None => body.finish(&mut events),
            };
            answered = answered || !events.is_empty() || body.is_document();
            if !self.hand_over(reader, &mut events).await {
                return End::Deserted;
            }
            if let Err(e) = read {
                return End::from(failure::unreadable(&e.to_string()));
            }
            if reader.ended() {
                drain(response).await;
                return End::Whole;
            }
            if chunk.is_none() {
                return End::Whole;
            }
        }
    }

    /// Reads the events and sends what came out; false when nobody listens.
    async fn hand_over(&self, reader: &mut OneTerminal, events: &mut Vec<SseEvent>) -> bool {
        let mut batch = Vec::new();
        for event in events.drain(..) {
            reader.push(&event, &mut batch);
        }
        self.deliver(batch).await
    }

    async fn deliver(&self, mut batch: Vec<StreamEvent>) -> bool {
        if batch.is_empty() {
            return true;
        }
        let request_id = self.head.get().and_then(|h| h.request_id.clone());
        for event in &mut batch {
            if let StreamEvent::Error { failure, .. } = event {
                failure.request_id = failure.request_id.take().or_else(|| request_id.clone());
                failure::clean(failure, &self.redactor);
            }
        }
        self.sender.send(batch).await.is_ok()
    }

    async fn refused(&self, mut response: reqwest::Response) -> End {
        let status = response.status().as_u16();
        let mut body: Vec<u8> = Vec::new();
        let read = async {
            while let Ok(Some(chunk)) = response.chunk().await {
                let room = ERROR_BODY.saturating_sub(body.len());
                body.extend_from_slice(chunk.get(..room.min(chunk.len())).unwrap_or_default());
                if body.len() >= ERROR_BODY {
                    break;
                }
            }
        };
        // Whatever had arrived by then tells enough.
        let _ = tokio::time::timeout(TAIL_WAIT, read).await;
        let headers = self.head.get().map(|h| h.headers.as_slice()).unwrap_or_default();
        let text = String::from_utf8_lossy(&body);
        End::from(failure::from_response(status, headers, &text, &self.request.url, failure::now()))
    }

    fn first_byte(&self) -> Failure {
        failure::timeout(FailureClass::TimeoutFirstByte, self.timeouts.first_byte)
    }

    fn unreachable(&self, error: &reqwest::Error) -> Failure {
        if error.is_connect() && error.is_timeout() {
            return failure::timeout(FailureClass::TimeoutConnect, self.connect);
        }
        let what = if error.is_connect() { "could not connect to" } else { "the connection failed to" };
        failure::network(&format!("{what} {}: {}", origin(&self.request.url), reason(error)))
    }

    fn cut(&self, error: &reqwest::Error) -> Failure {
        failure::network(&format!("the connection to {} was cut: {}", origin(&self.request.url), reason(error)))
    }
}

/// The innermost cause, which never holds an address.
fn reason(error: &reqwest::Error) -> String {
    let mut inner: &dyn std::error::Error = error;
    while let Some(source) = inner.source() {
        inner = source;
    }
    let text = inner.to_string();
    if text.contains("://") { "transport error".to_owned() } else { text }
}

fn headers(request: &HttpRequest) -> Result<HeaderMap, String> {
    let mut map = HeaderMap::new();
    // A compressed stream arrives late; it is decoded when it comes all the same.
    map.insert(reqwest::header::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    for (name, value) in &request.headers {
        let bad = || format!("the header '{}' can't be sent", name.escape_debug());
        let key = HeaderName::from_bytes(name.as_bytes()).map_err(|_| bad())?;
        let mut value = HeaderValue::from_bytes(value.as_bytes()).map_err(|_| bad())?;
        value.set_sensitive(request.secret_headers.iter().any(|s| s.eq_ignore_ascii_case(name)));
        map.insert(key, value);
    }
    Ok(map)
}

fn head_of(response: &reqwest::Response) -> Head {
    let text = |v: &HeaderValue| v.to_str().ok().map(str::to_owned);
    let headers: Vec<(String, String)> =
        response.headers().iter().filter_map(|(n, v)| Some((n.as_str().to_owned(), text(v)?))).collect();
    let request_id = failure::request_id(&headers);
    Head { status: response.status().as_u16(), request_id, headers }
}

/// Reads what follows the end of a reply, so that the connection can be used again.
async fn drain(mut response: reqwest::Response) {
    let rest = async { while let Ok(Some(_)) = response.chunk().await {} };
    let _ = tokio::time::timeout(TAIL_WAIT, rest).await;
}
