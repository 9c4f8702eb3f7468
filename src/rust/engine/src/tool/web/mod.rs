//! `web_fetch`: a page of the public internet as text.
//!
//! No address is connected to before it was checked: not that of the URL, not one that a name resolves to (the
//! connection goes to the very address that was checked), not one that a redirect leads to. No proxy stands between.

mod address;
mod html;
mod page;

use std::error::Error as StdError;
use std::future::Future;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use regex::Regex;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header::{ACCEPT, CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderName, LOCATION};
use reqwest::{Client, Response, StatusCode, Url};

use super::{Context, Output, Pending};
use crate::error::Error;
use crate::provider::http::provide_tls;
use crate::value::{HostValue, Value};
use page::Content;

/// Seconds for all of it: names, redirects, body.
const DEADLINE: u64 = 30;
/// Redirects that are followed.
const REDIRECTS: usize = 5;
/// Bytes of a body that are read, after decompression.
const MOST_BYTES: usize = 10 * 1024 * 1024;
/// Characters of an address that errors show.
const SHOWN_ADDRESS: usize = 200;

/// What is to be fetched.
struct Request {
    url: String,
    /// Characters of text that are wanted.
    max_chars: usize,
    /// True when private and local addresses are fetched too.
    private: bool,
}

/// What came.
#[derive(Debug, PartialEq)]
struct Page {
    /// The text, wrapped as data that nobody vouches for.
    text: String,
    /// True for an HTTP status of 400 and above.
    is_error: bool,
    /// The line for the person.
    gloss: String,
}

/// The level of fetching a page.
pub const LEVEL: u8 = 1;

/// Characters of a page that a caller gets who asks for no other number.
const CHARACTERS: u64 = 20_000;

/// The body of the tool `web_fetch`.
pub fn body(input: Value, context: Context) -> Pending {
    let request = Request {
        url: input.get("url").and_then(Value::as_str).unwrap_or_default().to_owned(),
        max_chars: input
            .get("max_chars")
            .and_then(Value::as_u64)
            .unwrap_or(CHARACTERS)
            .try_into()
            .unwrap_or(usize::MAX),
        private: context.site.fetch_private,
    };
    let pending = fetch(request, Limits::default(), Arc::new(SystemNames));
    Box::pin(async move {
        let failed = |message: String| Error::Tool { tool: "web_fetch".into(), status: "error", message };
        let page = pending.await.map_err(failed)?;
        if page.is_error {
            return Err(failed(page.text));
        }
        let value = context.asker.takes_value().then(|| HostValue::named([("text", page.text.as_str().into())]));
        Ok(Output { gloss: Some(page.gloss), value, ..Output::text(page.text) })
    })
}

/// Fetches a page. Dropping the future closes the connection. It needs the I/O runtime around it; the client is built
/// at once, on the caller's thread, since looking up the system's certificates may read the environment.
fn fetch(
    request: Request,
    limits: Limits,
    names: Arc<dyn Names>,
) -> impl Future<Output = Result<Page, String>> + Send + 'static {
    let admits = if request.private { |_| true } else { limits.admits };
    let client = client(Guard { names, admits });
    async move {
        let shown = shown(&request.url);
        let within = async {
            let fetch = Fetch { client: client?, admits, limits, until: Instant::now() + limits.deadline };
            match tokio::time::timeout(limits.deadline, fetch.page(&request)).await {
                Ok(page) => page,
                Err(_) => Err(format!("there was no whole answer within {} s", limits.deadline.as_secs_f64())),
            }
        };
        within.await.map_err(|why| format!("Can't fetch {shown}: {why}."))
    }
}

#[derive(Clone, Copy)]
struct Limits {
    deadline: Duration,
    bytes: usize,
    admits: fn(IpAddr) -> bool,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { deadline: Duration::from_secs(DEADLINE), bytes: MOST_BYTES, admits: address::is_public }
    }
}

fn client(guard: Guard) -> Result<Client, String> {
    provide_tls();
    Client::builder()
        .user_agent(concat!("gptr/", env!("CARGO_PKG_VERSION")))
        .no_proxy()
        .redirect(reqwest::redirect::Policy::none())
        .referer(false)
        .gzip(true)
        .dns_resolver(Arc::new(guard))
        .build()
        .map_err(|e| format!("the HTTP client can't be built: {e}"))
}

/// The addresses of a name.
trait Names: Send + Sync {
    fn addresses(&self, name: String) -> Pin<Box<dyn Future<Output = std::io::Result<Vec<IpAddr>>> + Send>>;
}

struct SystemNames;

impl Names for SystemNames {
    fn addresses(&self, name: String) -> Pin<Box<dyn Future<Output = std::io::Result<Vec<IpAddr>>> + Send>> {
        Box::pin(async move { Ok(tokio::net::lookup_host((name, 0)).await?.map(|a| a.ip()).collect()) })
    }
}

/// Gives a name's addresses to the connector when all of them are admitted, and none otherwise.
#[derive(Clone)]
struct Guard {
    names: Arc<dyn Names>,
    admits: fn(IpAddr) -> bool,
}

/// An address that is not connected to.
#[derive(Debug, thiserror::Error)]
#[error("{0} is not a public address, and only those are fetched (options(gptr.fetch_private = TRUE) lifts this)")]
struct NotPublic(IpAddr);

impl Resolve for Guard {
    fn resolve(&self, name: Name) -> Resolving {
        let guard = self.clone();
        Box::pin(async move {
            let found = guard.names.addresses(name.as_str().to_owned()).await?;
            match found.iter().find(|a| !(guard.admits)(**a)) {
                Some(refused) => Err(Box::new(NotPublic(*refused)) as Box<dyn StdError + Send + Sync>),
                None => Ok(Box::new(found.into_iter().map(|a| SocketAddr::new(a, 0))) as Addrs),
            }
        })
    }
}

struct Fetch {
    client: Client,
    limits: Limits,
    until: Instant,
    admits: fn(IpAddr) -> bool,
}

impl Fetch {
    async fn page(&self, request: &Request) -> Result<Page, String> {
        let mut url = Url::parse(request.url.trim()).map_err(|e| format!("that is no address: {e}"))?;
        for _ in 0..=REDIRECTS {
            self.check(&url)?;
            let get = self.client.get(url.clone()).header(ACCEPT, "text/html, text/plain, application/json, */*;q=0.5");
            let response = get.send().await.map_err(|e| reason(&e))?;
            match redirect(&response) {
                None => return self.read(response, url, request.max_chars).await,
                Some(target) => {
                    url = url.join(&target).map_err(|e| format!("it leads to something that is no address: {e}"))?;
                }
            }
        }
        Err(format!("it leads through more than {REDIRECTS} redirects"))
    }

    /// What can be said of an address before its name is looked up. The parser has brought every spelling of an IPv4
    /// address into its one form.
    fn check(&self, url: &Url) -> Result<(), String> {
        if !matches!(url.scheme(), "http" | "https") {
            return Err(format!("only http and https are fetched, not {}", url.scheme()));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err("an address with a user or password in it is not fetched".into());
        }
        let host = url.host_str().filter(|h| !h.is_empty()).ok_or("it has no host")?;
        let bare = host.strip_prefix('[').and_then(|h| h.strip_suffix(']')).unwrap_or(host);
        match bare.parse::<IpAddr>() {
            Ok(ip) if !(self.admits)(ip) => Err(NotPublic(ip).to_string()),
            _ => Ok(()),
        }
    }

    async fn read(&self, mut response: Response, url: Url, max_chars: usize) -> Result<Page, String> {
        let status = response.status();
        if let Some(coding) = header(response.headers(), CONTENT_ENCODING).filter(|c| c != "identity") {
            return Err(format!("it was sent compressed as '{}', which was not asked for", shown(&coding)));
        }
        let media = header(response.headers(), CONTENT_TYPE);
        let mut body = Vec::new();
        let mut whole = true;
        while let Some(chunk) = response.chunk().await.map_err(|e| reason(&e))? {
            let room = self.limits.bytes - body.len();
            body.extend_from_slice(&chunk[..chunk.len().min(room)]);
            if chunk.len() > room {
                whole = false;
                break;
            }
        }
        drop(response);
        // Laying out a page is work for a processor: it must not hold up the threads that do I/O.
        let bytes = body.len();
        let (base, until) = (url.clone(), self.until);
        let read = tokio::task::spawn_blocking(move || page::read(&body, media.as_deref(), &base, until));
        let content = read.await.map_err(|e| format!("its text can't be made out: {e}"))?;
        Ok(Answer { url, status, content, bytes, whole, limit: self.limits.bytes }.page(max_chars))
    }
}

fn header(headers: &HeaderMap, name: HeaderName) -> Option<String> {
    headers.get(name).map(|v| String::from_utf8_lossy(v.as_bytes()).trim().to_owned()).filter(|v| !v.is_empty())
}

fn redirect(response: &Response) -> Option<String> {
    matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308)
        .then(|| header(response.headers(), LOCATION))
        .flatten()
}

/// The innermost causes of a failure, without the address.
fn reason(error: &reqwest::Error) -> String {
    let mut causes = Vec::new();
    let mut source = error.source();
    while let Some(cause) = source {
        if let Some(refused) = cause.downcast_ref::<NotPublic>() {
            return refused.to_string();
        }
        causes.push(cause.to_string());
        source = cause.source();
    }
    let last = causes.pop().unwrap_or_else(|| "the connection failed".to_owned());
    match causes.pop() {
        Some(outer) if !outer.contains(&last) => format!("{outer}: {last}"),
        Some(outer) => outer,
        None => last,
    }
}

fn shown(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(SHOWN_ADDRESS).collect()
}

struct Answer {
    url: Url,
    status: StatusCode,
    content: Content,
    bytes: usize,
    whole: bool,
    limit: usize,
}

impl Answer {
    fn page(self, max_chars: usize) -> Page {
        let (text, laid_out) = match self.content {
            Content::Text(text, whole) if text.is_empty() => ("(no text)".to_owned(), whole),
            Content::Text(text, whole) => (text, whole),
            Content::Binary(media) => (format!("(no text: {} bytes of {})", self.bytes, shown(&media)), true),
        };
        let total = text.chars().count();
        let end = text.char_indices().nth(max_chars).map_or(text.len(), |(at, _)| at);
        let failed = self.status.is_client_error() || self.status.is_server_error();
        let mut lines = Vec::new();
        if failed {
            lines.push(format!("The server answered with status {}.", self.status));
        }
        lines.push(format!("<web_page url=\"{}\">", attribute(self.url.as_str())));
        lines.push(unclosed(&text[..end]));
        lines.push("</web_page>".to_owned());
        if total > max_chars {
            lines.push(format!(
                "[... {} of {total} characters not shown; max_chars was {max_chars}]",
                total - max_chars
            ));
        }
        if !self.whole {
            lines.push(format!("[only the first {} MB of the page were read]", self.limit / (1024 * 1024)));
        }
        if !laid_out {
            lines.push("[the page took too long to read: its end is missing]".to_owned());
        }
        let host = self.url.host_str().unwrap_or_default();
        Page { text: lines.join("\n"), is_error: failed, gloss: format!("{} chars from {host}", total.min(max_chars)) }
    }
}

fn attribute(text: &str) -> String {
    text.replace('&', "&amp;").replace('"', "&quot;").replace('<', "&lt;")
}

/// Text that neither ends nor begins the wrapper.
fn unclosed(text: &str) -> String {
    static TAG: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"(?i)<(\s*/?\s*web_page)").ok());
    TAG.as_ref().map_or_else(String::new, |tag| tag.replace_all(text, "&lt;$1").into_owned())
}

#[cfg(test)]
mod tests;
