//! One request and its reply, on the runtime's threads.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::error::Error;
use crate::message::{Failure, FailureClass, StreamEvent};
use crate::provider::body::BodyReader;
use crate::provider::normalise::{Normaliser, OneTerminal};
use crate::provider::sse::SseEvent;
use crate::provider::{failure, headers};
use crate::redact::Redactor;

use super::{Head, HttpRequest, Timeouts, origin};

/// An error body is read up to here.
const ERROR_BODY: usize = 64 * 1024;
/// How long an error body may take, and how long the rest of a finished reply is waited for so that the connection
/// can be used again.
const TAIL_WAIT: Duration = Duration::from_secs(2);

/// All that one request needs.
pub(super) struct Exchange {
    pub(super) client: Result<reqwest::Client, Error>,
    pub(super) timeouts: Timeouts,
    pub(super) redactor: Redactor,
    pub(super) request: HttpRequest,
    pub(super) sender: mpsc::Sender<Vec<StreamEvent>>,
    pub(super) head: Arc<OnceLock<Head>>,
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
    /// Sends, reads, and delivers exactly one terminal event, unless nobody listens.
    pub(super) async fn run(self, mut reader: OneTerminal, cancel: CancellationToken) {
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
        if (200..300).contains(&status) {
            self.read(response, reader, deadline).await
        } else {
            self.refused(response).await
        }
    }

    fn prepared(&self) -> Result<reqwest::Request, String> {
        let url = reqwest::Url::parse(&self.request.url)
            .map_err(|_| "the address of the request can't be read".to_owned())?;
        let mut request = reqwest::Request::new(self.request.method.clone(), url);
        *request.headers_mut() = header_map(&self.request)?;
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
                Err(_) if answered => {
                    return End::from(failure::timeout(FailureClass::TimeoutIdle, self.timeouts.idle));
                }
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
            return failure::timeout(FailureClass::TimeoutConnect, self.timeouts.connect);
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

fn header_map(request: &HttpRequest) -> Result<HeaderMap, String> {
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
    let all: Vec<(String, String)> =
        response.headers().iter().filter_map(|(n, v)| Some((n.as_str().to_owned(), text(v)?))).collect();
    let request_id = headers::request_id(&all);
    Head { status: response.status().as_u16(), request_id, headers: all }
}

/// Reads what follows the end of a reply, so that the connection can be used again.
async fn drain(mut response: reqwest::Response) {
    let rest = async { while let Ok(Some(_)) = response.chunk().await {} };
    let _ = tokio::time::timeout(TAIL_WAIT, rest).await;
}
