//! Fetching from a server on this machine, which stands for the public internet where a test admits its address.

#![allow(clippy::unwrap_used)]

use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;
use crate::io::Runtime;
use crate::io::tests::block_on;
use crate::tool::folder::Folder;
use crate::tool::tests::context_at;
use crate::tool::{Asker, Native};
use crate::value::json;

type Answers = HashMap<&'static str, Box<dyn Fn(&mut TcpStream) + Send + Sync>>;

struct Server {
    port: u16,
    hits: Arc<AtomicUsize>,
}

/// Serves for as long as the test process lives; the thread waits for connections that no longer come.
fn serve(answers: Answers) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let hits = Arc::new(AtomicUsize::new(0));
    let counted = hits.clone();
    std::thread::spawn(move || {
        let answers = Arc::new(answers);
        for socket in listener.incoming() {
            let answers = answers.clone();
            counted.fetch_add(1, Ordering::SeqCst);
            std::thread::spawn(move || answer(&mut socket.unwrap(), &answers));
        }
    });
    Server { port, hits }
}

fn answer(socket: &mut TcpStream, answers: &Answers) {
    let mut head = Vec::new();
    let mut byte = [0u8; 1];
    while !head.ends_with(b"\r\n\r\n") && socket.read(&mut byte).is_ok_and(|n| n == 1) {
        head.push(byte[0]);
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let path = head.split(' ').nth(1).unwrap_or("/").to_owned();
    match answers.get(path.as_str()) {
        Some(write) => write(socket),
        None => {
            socket.write_all(b"HTTP/1.1 404 Not Found\r\nconnection: close\r\n\r\nnothing here").unwrap_or_default()
        }
    }
}

fn reply(head: &str, body: &[u8]) -> Box<dyn Fn(&mut TcpStream) + Send + Sync> {
    let head = format!("HTTP/1.1 {head}\r\nconnection: close\r\ncontent-length: {}\r\n\r\n", body.len());
    let bytes = [head.as_bytes(), body].concat();
    // The reader may have gone when it had enough.
    Box::new(move |socket| socket.write_all(&bytes).unwrap_or_default())
}

fn html(body: &str) -> Box<dyn Fn(&mut TcpStream) + Send + Sync> {
    reply("200 OK\r\ncontent-type: text/html; charset=utf-8", body.as_bytes())
}

fn redirect_to(target: &str) -> Box<dyn Fn(&mut TcpStream) + Send + Sync> {
    reply(&format!("302 Found\r\nlocation: {target}"), b"")
}

/// Names that are known here and nowhere else.
struct Known(HashMap<&'static str, Vec<&'static str>>);

impl Names for Known {
    fn addresses(&self, name: String) -> Pin<Box<dyn Future<Output = std::io::Result<Vec<IpAddr>>> + Send>> {
        let found = self.0.get(name.as_str()).map(|all| all.iter().map(|a| a.parse().unwrap()).collect());
        Box::pin(async move { found.ok_or_else(|| std::io::Error::other("no such name")) })
    }
}

fn names(known: &[(&'static str, &[&'static str])]) -> Arc<dyn Names> {
    Arc::new(Known(known.iter().map(|(name, all)| (*name, all.to_vec())).collect()))
}

/// The server's address is as good as public; every other one is what it is.
fn or_the_servers(address: IpAddr) -> bool {
    address == IpAddr::from([127, 0, 0, 1]) || address::is_public(address)
}

fn test_limits() -> Limits {
    Limits { admits: or_the_servers, ..Limits::default() }
}

fn get_with(url: &str, limits: Limits, private: bool, names: Arc<dyn Names>) -> Result<Page, String> {
    let request = Request { url: url.to_owned(), max_chars: 20_000, private };
    block_on(Runtime::new(|| {}).spawn(fetch(request, limits, names))).unwrap()
}

fn get(url: &str) -> Result<Page, String> {
    get_with(url, test_limits(), false, names(&[]))
}

/// As users have it: no exemption for the server.
fn get_strictly(url: &str, known: &[(&'static str, &[&'static str])]) -> String {
    get_with(url, Limits::default(), false, names(known)).unwrap_err()
}

#[test]
fn a_page_comes_as_wrapped_text() {
    let server = serve(HashMap::from([("/a?b=%22", html("<title>T</title><p>caf&eacute;</p><script>x</script>"))]));
    let page = get(&format!("http://127.0.0.1:{}/a?b=\"", server.port)).unwrap();
    let expected = format!("<web_page url=\"http://127.0.0.1:{}/a?b=%22\">\nT\n\ncaf\u{e9}\n</web_page>", server.port);
    assert_eq!(page, Page { text: expected, is_error: false, gloss: "7 chars from 127.0.0.1".into() });
}

#[test]
fn a_page_can_not_close_its_wrapper() {
    let body = "a &lt;/web_page> b &lt; / WEB_PAGE &gt; &lt;web_page url=''&gt;";
    let server = serve(HashMap::from([("/", html(body))]));
    let text = get(&format!("http://127.0.0.1:{}/", server.port)).unwrap().text;
    assert_eq!(text.matches("</web_page>").count(), 1);
    assert!(text.ends_with("\n</web_page>"), "{text}");
    assert!(text.contains("a &lt;/web_page> b &lt; / WEB_PAGE > &lt;web_page url=''>"), "{text}");
}

#[test]
fn local_addresses_are_refused_in_every_spelling_and_nothing_is_connected_to() {
    let server = serve(HashMap::from([("/", html("secret"))]));
    for host in [
        "127.0.0.1",
        "2130706433",
        "0x7f000001",
        "0177.0.0.1",
        "127.1",
        "127.0.0.1.",
        "0",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[::127.0.0.1]",
        "\u{ff11}\u{ff12}\u{ff17}.0.0.1",
        "10.0.0.1",
        "169.254.169.254",
        "100.64.0.1",
        "[fe80::1]",
        "224.0.0.1",
    ] {
        let error = get_strictly(&format!("http://{host}:{}/", server.port), &[]);
        assert!(error.contains("is not a public address"), "{host}: {error}");
    }
    assert_eq!(server.hits.load(Ordering::SeqCst), 0);
}

#[test]
fn names_are_refused_when_any_of_their_addresses_is_local() {
    let server = serve(HashMap::from([("/", html("secret"))]));
    for addresses in [&["127.0.0.1"][..], &["8.8.8.8", "127.0.0.1"], &["::ffff:127.0.0.1"], &["10.1.1.1"]] {
        let error =
            get_strictly(&format!("http://looks-public.test:{}/", server.port), &[("looks-public.test", addresses)]);
        assert!(error.contains("is not a public address"), "{error}");
    }
    let error = get_strictly("http://unknown.test/", &[]);
    assert!(error.contains("no such name"), "{error}");
    assert_eq!(server.hits.load(Ordering::SeqCst), 0);
}

#[test]
fn the_connection_goes_to_the_address_that_was_checked() {
    let server = serve(HashMap::from([("/", html("here"))]));
    let known = names(&[("public.test", &["127.0.0.1"])]);
    let page = get_with(&format!("http://public.test:{}/", server.port), test_limits(), false, known).unwrap();
    assert!(page.text.contains("\nhere\n"));
    assert_eq!(page.gloss, "4 chars from public.test");
}

#[test]
fn redirects_are_checked_like_addresses() {
    let inner = serve(HashMap::from([("/", html("secret"))]));
    let by_name = format!("http://inner.test:{}/", inner.port);
    let by_address = format!("http://127.0.0.2:{}/", inner.port);
    let answers = [
        ("/name", by_name.as_str()),
        ("/address", &by_address),
        ("/file", "file:///etc/passwd"),
        ("/user", "http://a:b@127.0.0.1/"),
    ];
    let outer = serve(answers.iter().map(|(path, target)| (*path, redirect_to(target))).collect());
    for (path, part) in [
        ("/name", "127.0.0.3 is not a public address"),
        ("/address", "127.0.0.2 is not a public address"),
        ("/file", "only http and https"),
        ("/user", "user or password"),
    ] {
        let known = names(&[("inner.test", &["127.0.0.3"])]);
        let url = format!("http://127.0.0.1:{}{path}", outer.port);
        let error = get_with(&url, test_limits(), false, known).unwrap_err();
        assert!(error.contains(part), "{error}");
    }
    assert_eq!(inner.hits.load(Ordering::SeqCst), 0);
    assert_eq!(outer.hits.load(Ordering::SeqCst), 4);
}

#[test]
fn five_redirects_are_followed_and_no_more() {
    let steps = [("/0", "/1"), ("/1", "2"), ("/2", "/3"), ("/3", "/4"), ("/4", "/5")];
    let mut answers: Answers = steps.iter().map(|(path, target)| (*path, redirect_to(target))).collect();
    answers.insert("/5", html("there"));
    answers.insert("/more", redirect_to("/0"));
    answers.insert("/nowhere", reply("302 Found", b"no location"));
    let server = serve(answers);
    let at = |path: &str| get(&format!("http://127.0.0.1:{}{path}", server.port));
    let page = at("/0").unwrap();
    assert!(page.text.starts_with(&format!("<web_page url=\"http://127.0.0.1:{}/5\">", server.port)));
    assert!(at("/more").unwrap_err().contains("more than 5 redirects"));
    assert!(at("/nowhere").unwrap().text.contains("no location"));
}

#[test]
fn addresses_that_are_none() {
    for (url, part) in [
        ("ftp://example.org/", "only http and https"),
        ("javascript:alert(1)", "only http and https"),
        ("example.org", "no address"),
        ("", "no address"),
        ("http://", "no address"),
        ("http://example.org@127.0.0.1/", "user or password"),
        ("http://127.0.0.1\\@example.org/", "is not a public address"),
    ] {
        let error = get_strictly(url, &[("example.org", &["8.8.8.8"])]);
        assert!(error.starts_with("Can't fetch") && error.contains(part), "{url}: {error}");
    }
}

#[test]
fn private_addresses_are_fetched_when_that_is_asked_for() {
    let server = serve(HashMap::from([("/", html("mine"))]));
    for host in ["127.0.0.1", "home.test"] {
        let url = format!("http://{host}:{}/", server.port);
        let page = get_with(&url, Limits::default(), true, names(&[("home.test", &["127.0.0.1"])])).unwrap();
        assert!(page.text.contains("\nmine\n"));
    }
}

#[test]
fn a_status_of_400_and_above_is_an_error_with_the_text() {
    let server = serve(HashMap::new());
    let page = get(&format!("http://127.0.0.1:{}/gone", server.port)).unwrap();
    assert!(page.is_error);
    assert!(page.text.starts_with("The server answered with status 404 Not Found.\n<web_page url="), "{}", page.text);
    assert!(page.text.contains("nothing here"));
}

#[test]
fn bodies_that_are_long_compressed_binary_or_empty() {
    let long = "0123456789\n".repeat(3_000);
    // `printf 'squeezed' | gzip -n`
    let gzip = [31u8, 139, 8, 0, 0, 0, 0, 0, 0, 3, 43, 46, 44, 77, 77, 173, 74, 77, 1, 0, 222, 38, 20, 0, 8, 0, 0, 0];
    let server = serve(HashMap::from([
        ("/long", reply("200 OK\r\ncontent-type: text/plain", long.as_bytes())),
        ("/gzip", reply("200 OK\r\ncontent-type: text/plain\r\ncontent-encoding: gzip", &gzip)),
        ("/odd", reply("200 OK\r\ncontent-encoding: br", b"\x0b\x02\x80")),
        ("/pdf", reply("200 OK\r\ncontent-type: application/pdf", b"%PDF-1.7\0")),
        ("/empty", reply("200 OK", b"")),
    ]));
    let at = |path: &str| get(&format!("http://127.0.0.1:{}{path}", server.port));
    let text = at("/long").unwrap().text;
    assert!(
        text.ends_with("\n</web_page>\n[... 12999 of 32999 characters not shown; max_chars was 20000]"),
        "{}",
        text.len()
    );
    assert!(at("/odd").unwrap_err().contains("compressed as 'br'"));
    assert!(at("/pdf").unwrap().text.contains("(no text: 9 bytes of application/pdf)"));
    assert!(at("/empty").unwrap().text.contains("(no text)"));
    let gz = at("/gzip");
    assert!(gz.as_ref().is_ok_and(|p| p.text.contains("\nsqueezed\n")), "{gz:?}");
}

#[test]
fn a_body_without_end_is_read_up_to_the_limit() {
    let endless = |socket: &mut TcpStream| {
        let mut left = socket.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\n");
        while left.is_ok() {
            left = socket.write_all(&[b'x'; 4096]);
        }
    };
    let server = serve(HashMap::from([("/", Box::new(endless) as Box<dyn Fn(&mut TcpStream) + Send + Sync>)]));
    let limits = Limits { bytes: 2 * 1024 * 1024, ..test_limits() };
    let page = get_with(&format!("http://127.0.0.1:{}/", server.port), limits, false, names(&[])).unwrap();
    assert!(page.text.ends_with(
        "[... 2077152 of 2097152 characters not shown; max_chars was 20000]\n[only the first 2 MB of the page were read]"
    ));
}

#[test]
fn a_server_that_says_nothing_is_left_at_the_deadline() {
    let (hold, held) = std::sync::mpsc::channel::<()>();
    let held = std::sync::Mutex::new(held);
    let silent = move |socket: &mut TcpStream| {
        socket.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nab").unwrap();
        let _ = held.lock().unwrap().recv();
    };
    let server = serve(HashMap::from([("/", Box::new(silent) as Box<dyn Fn(&mut TcpStream) + Send + Sync>)]));
    let limits = Limits { deadline: Duration::from_millis(300), ..test_limits() };
    let error = get_with(&format!("http://127.0.0.1:{}/", server.port), limits, false, names(&[])).unwrap_err();
    assert!(error.contains("no whole answer within 0.3 s"), "{error}");
    drop(hold);
}

#[test]
fn the_tool_gives_text_to_a_model_and_a_value_to_code() {
    let server = serve(HashMap::from([("/", html("<p>mine"))]));
    let folder = Folder::new();
    let run = |asker, path: &str, private| {
        let mut context = context_at(&folder, asker);
        let site = super::super::site::Site { fetch_private: private, ..(*context.site).clone() };
        context.site = Arc::new(site);
        let input = json!({"url": format!("http://127.0.0.1:{}{path}", server.port), "max_chars": 2});
        block_on(Native::awaiting(body).start(&Runtime::new(|| {}), input, context))
    };
    let wrapped = format!(
        "<web_page url=\"http://127.0.0.1:{}/\">\nmi\n</web_page>\n[... 2 of 4 characters not shown; max_chars was 2]",
        server.port
    );
    let output = run(Asker::Model, "/", true).unwrap();
    assert_eq!(output, Output { gloss: Some("2 chars from 127.0.0.1".into()), ..Output::text(wrapped.as_str()) });
    let value = run(Asker::Code, "/", true).unwrap().value.unwrap();
    assert_eq!(value.field("text").and_then(HostValue::as_str), Some(wrapped.as_str()));
    let refused = run(Asker::Model, "/", false).unwrap_err();
    assert!(matches!(&refused, Error::Tool { status: "error", .. }));
    assert!(refused.to_string().contains("is not a public address"), "{refused}");
    assert!(
        run(Asker::Model, "/gone", true).unwrap_err().to_string().starts_with("The server answered with status 404")
    );
}
