//! From the bytes of a response to text that a model can read.

use std::sync::LazyLock;
use std::time::Instant;

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};
use regex::Regex;
use reqwest::Url;

use super::html;

/// Bytes that are looked at to tell what a body is.
const SNIFFED: usize = 8000;

/// Bytes within which a page must declare its charset (the HTML standard's prescan).
const PRESCAN: usize = 1024;

/// What a body is.
#[derive(Debug, PartialEq)]
pub(super) enum Content {
    /// Text for the model, and whether it is all of it.
    Text(String, bool),
    /// Not text: its media type.
    Binary(String),
}

/// Makes text of a body, whose end may be missing. `content_type` is the header, `until` when it has to be ready.
pub(super) fn read(body: &[u8], content_type: Option<&str>, url: &Url, until: Instant) -> Content {
    let (media, charset) = parse_type(content_type.unwrap_or_default());
    let sample = &body[..body.len().min(SNIFFED)];
    let declared = charset.and_then(|label| Encoding::for_label(label.as_bytes()));
    let encoding = Encoding::for_bom(body).map(|(encoding, _)| encoding).or(declared);
    let wide = encoding.is_some_and(|e| e == UTF_16LE || e == UTF_16BE);
    if !is_textual(&media, sample) || (!wide && sample.contains(&0)) {
        let unknown = media.is_empty();
        return Content::Binary(if unknown { "application/octet-stream".to_owned() } else { media });
    }
    let html = is_html(&media, sample);
    let encoding = encoding.or_else(|| html.then(|| declared_in_page(sample)).flatten());
    let encoding = encoding.unwrap_or_else(|| if is_utf8(body) { UTF_8 } else { WINDOWS_1252 });
    let (text, ..) = encoding.decode(body);
    if html {
        let (text, whole) = html::text_of(&text, url, until);
        return Content::Text(tidy(&text), whole);
    }
    Content::Text(tidy(&text), true)
}

/// `text/html; charset="utf-8"` as media type and charset.
fn parse_type(header: &str) -> (String, Option<String>) {
    let mut parts = header.split(';');
    let media = parts.next().unwrap_or_default().trim().to_ascii_lowercase();
    let charset = parts.find_map(|p| {
        let (name, value) = p.split_once('=')?;
        name.trim().eq_ignore_ascii_case("charset").then(|| value.trim().trim_matches(['"', '\'']).to_owned())
    });
    (media, charset)
}

fn is_textual(media: &str, sample: &[u8]) -> bool {
    const TEXTS: [&str; 12] = [
        "application/json",
        "application/ld+json",
        "application/xml",
        "application/javascript",
        "application/x-javascript",
        "application/ecmascript",
        "application/yaml",
        "application/x-yaml",
        "application/toml",
        "application/sql",
        "application/x-sh",
        "application/x-ndjson",
    ];
    match media {
        "" | "application/octet-stream" | "binary/octet-stream" => looks_like_html(sample) || is_utf8(sample),
        _ => {
            media.starts_with("text/")
                || TEXTS.contains(&media)
                || ["+json", "+xml", "+yaml", "+text"].iter().any(|suffix| media.ends_with(suffix))
                    && media != "image/svg+xml"
        }
    }
}

fn is_html(media: &str, sample: &[u8]) -> bool {
    matches!(media, "text/html" | "application/xhtml+xml") || (media.is_empty() && looks_like_html(sample))
}

fn looks_like_html(sample: &[u8]) -> bool {
    let start = sample.strip_prefix(b"\xef\xbb\xbf").unwrap_or(sample).trim_ascii_start();
    [b"<!doctype html".as_slice(), b"<html", b"<head", b"<body"]
        .iter()
        .any(|tag| start.get(..tag.len()).is_some_and(|s| s.eq_ignore_ascii_case(tag)))
}

/// True for UTF-8 whose last character may be cut.
fn is_utf8(bytes: &[u8]) -> bool {
    match std::str::from_utf8(bytes) {
        Ok(_) => true,
        Err(e) => e.error_len().is_none(),
    }
}

fn declared_in_page(sample: &[u8]) -> Option<&'static Encoding> {
    static CHARSET: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r#"(?i)<meta[^>]*charset\s*=\s*["']?\s*([a-z0-9_:.+-]+)"#).ok());
    let head = String::from_utf8_lossy(&sample[..sample.len().min(PRESCAN)]);
    let label = CHARSET.as_ref()?.captures(&head)?.get(1)?.as_str().to_owned();
    let encoding = Encoding::for_label(label.as_bytes())?;
    // The declaration itself could be read byte by byte, so the page is no UTF-16.
    Some(if encoding == UTF_16LE || encoding == UTF_16BE { UTF_8 } else { encoding })
}

/// Without control characters, blanks at line ends and runs of empty lines.
fn tidy(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut empty = 0;
    for line in text.replace("\r\n", "\n").split(['\n', '\r']) {
        let line: String = line.chars().filter(|c| !c.is_control() || *c == '\t').collect();
        let line = line.trim_end();
        empty = if line.is_empty() { empty + 1 } else { 0 };
        if empty <= 1 {
            out.push_str(line);
            out.push('\n');
        }
    }
    out.trim_matches('\n').to_owned()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn content(body: &[u8], content_type: Option<&str>) -> Content {
        let url = Url::parse("https://example.org/").unwrap();
        read(body, content_type, &url, Instant::now() + Duration::from_secs(3600))
    }

    fn text(body: &[u8], content_type: &str) -> String {
        match content(body, Some(content_type)) {
            Content::Text(text, true) => text,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_charset_of_header_mark_page_and_bytes() {
        assert_eq!(text(b"caf\xe9", "text/plain; charset=iso-8859-1"), "caf\u{e9}");
        assert_eq!(text(b"\x83e\x83X\x83g", "text/plain; charset=\"Shift_JIS\""), "\u{30c6}\u{30b9}\u{30c8}");
        assert_eq!(text(b"\xff\xfea\0\xe9\0", "text/plain"), "a\u{e9}");
        assert_eq!(text(b"\xef\xbb\xbfcaf\xc3\xa9", "text/plain; charset=latin1"), "caf\u{e9}");
        assert_eq!(text(b"<meta charset='windows-1251'><p>\xcf\xf0", "text/html"), "\u{41f}\u{440}");
        assert_eq!(text(b"<meta charset=utf-16><p>\xc3\xa9", "text/html"), "\u{e9}");
        assert_eq!(text(b"caf\xc3\xa9", "text/plain"), "caf\u{e9}");
        assert_eq!(text(b"caf\xe9 \x93q\x94", "text/plain; charset=nonsense"), "caf\u{e9} \u{201c}q\u{201d}");
        assert_eq!(text(b"caf\xe9", "text/plain; charset=utf-8"), "caf\u{fffd}");
    }

    #[test]
    fn what_is_no_text_is_named() {
        let binary = |body: &[u8], media: Option<&str>| match content(body, media) {
            Content::Binary(media) => media,
            other => panic!("{other:?}"),
        };
        assert_eq!(binary(b"%PDF-1.7", Some("application/pdf")), "application/pdf");
        assert_eq!(binary(b"a\0b", Some("text/plain; charset=utf-8")), "text/plain");
        assert_eq!(binary(b"\x89PNG\r\n\x1a\n\0", None), "application/octet-stream");
        assert_eq!(binary(b"<svg/>", Some("image/svg+xml")), "image/svg+xml");
    }

    #[test]
    fn a_body_without_a_type_is_looked_at() {
        assert_eq!(content(b"\n<!DOCTYPE html><p>a<p>b", None), Content::Text("a\n\nb".into(), true));
        assert_eq!(content(b"a <p> b", None), Content::Text("a <p> b".into(), true));
        assert_eq!(text(b"{\"a\":1}", "application/vnd.api+json"), "{\"a\":1}");
    }

    #[test]
    fn control_characters_and_runs_of_empty_lines_go() {
        assert_eq!(text(b"a\x1b[31m  \r\n\r\n\r\n\r\nb\x07\tc\rd", "text/plain"), "a[31m\n\nb\tc\nd");
    }
}
