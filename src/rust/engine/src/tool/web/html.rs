//! The readable text of an HTML page.
//!
//! The page goes through the HTML standard's tokenizer and no further: a tree of elements would cost a hostile page's
//! author little and its reader gigabytes (unclosed formatting elements multiply), and a list of tokens can't. So this
//! is linear in the page, needs no stack, and stops between pieces when the time is up.

use std::cell::RefCell;
use std::time::Instant;

use html5ever::tendril::StrTendril;
use html5ever::tokenizer::states::RawKind;
use html5ever::tokenizer::{BufferQueue, Tag, TagKind, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts};
use indexmap::IndexSet;
use reqwest::Url;

/// Bytes that are parsed between two looks at the clock.
const PIECE: usize = 16 * 1024;

/// Links that are listed below the text.
const MOST_LINKS: usize = 500;

/// The text of a page, title first, links numbered and listed below. False when the time was up before its end.
pub(super) fn text_of(html: &str, base: &Url, until: Instant) -> (String, bool) {
    let tokenizer = Tokenizer::new(Sink(RefCell::new(Writer::new(base))), TokenizerOpts::default());
    let input = BufferQueue::default();
    let mut rest = html;
    while !rest.is_empty() && Instant::now() < until {
        let (piece, after) = rest.split_at(boundary(rest, PIECE));
        rest = after;
        input.push_back(StrTendril::from_slice(piece));
        // It stops at each script's end for whoever runs scripts.
        while !input.is_empty() && !matches!(tokenizer.feed(&input), html5ever::TokenizerResult::Done) {}
    }
    if rest.is_empty() {
        tokenizer.end();
    }
    (tokenizer.sink.0.into_inner().finish(), rest.is_empty())
}

/// The last place up to `at` where a character begins or the text ends.
fn boundary(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|i| text.is_char_boundary(*i)).unwrap_or(text.len())
}

struct Sink<'a>(RefCell<Writer<'a>>);

impl TokenSink for Sink<'_> {
    type Handle = ();

    fn process_token(&self, token: Token, _line: u64) -> TokenSinkResult<()> {
        let mut writer = self.0.borrow_mut();
        match token {
            Token::TagToken(tag) if tag.kind == TagKind::StartTag => return writer.start(&tag),
            Token::TagToken(tag) => writer.end(&tag.name),
            Token::CharacterTokens(text) => writer.characters(&text),
            _ => {}
        }
        TokenSinkResult::Continue
    }
}

/// What separates the text that comes next from the text before it.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
enum Gap {
    None,
    Blank,
    Line,
    Paragraph,
}

struct Writer<'a> {
    base: &'a Url,
    out: String,
    title: String,
    gap: Gap,
    /// What a list item or heading begins with; written with its first text.
    lead: String,
    in_title: bool,
    /// An element whose content nobody reads, and how many of its name are open.
    dropped: Option<(String, usize)>,
    preformatted: usize,
    cells: usize,
    /// Numbers of the links that are open.
    open: Vec<Option<usize>>,
    links: IndexSet<String>,
}

const DROPPED: [&str; 9] = ["script", "style", "template", "svg", "iframe", "noembed", "noframes", "object", "canvas"];

const PARAGRAPHS: [&str; 24] = [
    "p",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "ul",
    "ol",
    "dl",
    "pre",
    "table",
    "blockquote",
    "figure",
    "section",
    "article",
    "header",
    "footer",
    "nav",
    "aside",
    "main",
    "form",
    "fieldset",
    "hr",
];

const LINES: [&str; 14] = [
    "div",
    "li",
    "tr",
    "dt",
    "dd",
    "br",
    "option",
    "address",
    "caption",
    "figcaption",
    "legend",
    "summary",
    "details",
    "body",
];

impl<'a> Writer<'a> {
    fn new(base: &'a Url) -> Self {
        Writer {
            base,
            out: String::new(),
            title: String::new(),
            gap: Gap::None,
            lead: String::new(),
            in_title: false,
            dropped: None,
            preformatted: 0,
            cells: 0,
            open: Vec::new(),
            links: IndexSet::new(),
        }
    }

    fn start(&mut self, tag: &Tag) -> TokenSinkResult<()> {
        let name = &*tag.name;
        let raw = match name {
            "script" => TokenSinkResult::RawData(RawKind::ScriptData),
            "style" | "xmp" | "iframe" | "noembed" | "noframes" => TokenSinkResult::RawData(RawKind::Rawtext),
            "title" | "textarea" => TokenSinkResult::RawData(RawKind::Rcdata),
            "plaintext" => TokenSinkResult::Plaintext,
            _ => TokenSinkResult::Continue,
        };
        if let Some((dropped, open)) = &mut self.dropped {
            if dropped == name {
                *open += 1;
            }
            return raw;
        }
        self.space(name);
        match name {
            _ if DROPPED.contains(&name) && !tag.self_closing => self.dropped = Some((name.to_owned(), 1)),
            "title" => self.in_title = true,
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => {
                self.lead = "#".repeat(name[1..].parse().unwrap_or(1)) + " ";
            }
            "li" => self.lead = "- ".to_owned(),
            "pre" | "xmp" | "textarea" => self.preformatted += 1,
            "tr" => self.cells = 0,
            "td" | "th" => {
                self.cells += 1;
                if self.cells > 1 {
                    self.lead = "| ".to_owned();
                    self.gap = if self.gap >= Gap::Line { self.gap } else { Gap::Blank };
                }
            }
            "a" => {
                let number = attribute(tag, "href").and_then(|href| self.link(href));
                self.open.push(number);
            }
            "img" => {
                if let Some(alt) = attribute(tag, "alt").filter(|alt| !alt.trim().is_empty()) {
                    self.words(&format!("[image: {}]", alt.trim()));
                }
            }
            _ => {}
        }
        raw
    }

    fn end(&mut self, name: &str) {
        if let Some((dropped, open)) = &mut self.dropped {
            if dropped == name {
                *open -= 1;
                if *open == 0 {
                    self.dropped = None;
                }
            }
            return;
        }
        match name {
            "title" => self.in_title = false,
            "pre" | "xmp" | "textarea" => self.preformatted = self.preformatted.saturating_sub(1),
            "a" => {
                if let Some(Some(number)) = self.open.pop() {
                    self.gap = if self.gap == Gap::None { Gap::Blank } else { self.gap };
                    self.words(&format!("[{number}]"));
                }
            }
            _ => {}
        }
        self.space(name);
    }

    /// The gap that an element makes before and after itself.
    fn space(&mut self, name: &str) {
        let gap = match name {
            _ if PARAGRAPHS.contains(&name) => Gap::Paragraph,
            _ if LINES.contains(&name) => Gap::Line,
            _ => return,
        };
        if gap > self.gap {
            self.gap = gap;
        }
        self.lead.clear();
    }

    fn characters(&mut self, text: &str) {
        if self.dropped.is_some() {
            return;
        }
        if self.in_title {
            self.title.push_str(text);
        } else if self.preformatted > 0 {
            self.begin();
            self.out.push_str(text);
        } else {
            self.words(text);
        }
    }

    /// Text in which all white space is one blank.
    fn words(&mut self, text: &str) {
        let blank = |c: char| c.is_whitespace() && c != '\u{a0}';
        if text.starts_with(blank) && self.gap == Gap::None {
            self.gap = Gap::Blank;
        }
        for word in text.split(blank).filter(|w| !w.is_empty()) {
            self.begin();
            self.out.extend(word.chars().map(|c| if c == '\u{a0}' { ' ' } else { c }));
            self.gap = Gap::Blank;
        }
        if !text.ends_with(blank) && !text.is_empty() && self.gap == Gap::Blank {
            self.gap = Gap::None;
        }
    }

    fn begin(&mut self) {
        let gap = match self.gap {
            _ if self.out.is_empty() => "",
            Gap::None => "",
            Gap::Blank => " ",
            Gap::Line => "\n",
            Gap::Paragraph => "\n\n",
        };
        self.out.push_str(gap);
        self.out.push_str(&self.lead);
        self.lead.clear();
        self.gap = Gap::None;
    }

    /// The number of a link that leads to another page.
    fn link(&mut self, href: &str) -> Option<usize> {
        let href = href.trim();
        if href.is_empty() || href.starts_with('#') || self.links.len() >= MOST_LINKS {
            return None;
        }
        let url = self.base.join(href).ok().filter(|u| matches!(u.scheme(), "http" | "https"))?;
        Some(self.links.insert_full(url.into()).0 + 1)
    }

    fn finish(self) -> String {
        let title = self.title.split_whitespace().collect::<Vec<_>>().join(" ");
        let links: Vec<String> = self.links.iter().enumerate().map(|(i, url)| format!("[{}]: {url}", i + 1)).collect();
        let parts = [title, self.out, links.join("\n")];
        parts.into_iter().filter(|p| !p.trim().is_empty()).collect::<Vec<_>>().join("\n\n")
    }
}

fn attribute<'t>(tag: &'t Tag, name: &str) -> Option<&'t str> {
    tag.attrs.iter().find(|a| &*a.name.local == name).map(|a| &*a.value)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn text(html: &str) -> String {
        let base = Url::parse("https://example.org/docs/page.html").unwrap();
        text_of(html, &base, Instant::now() + Duration::from_secs(3600)).0
    }

    #[test]
    fn scripts_and_styles_are_dropped_entities_decoded_and_white_space_folded() {
        let html = "<html><head><title> A &amp;\n B </title><style>p { color: red }</style>\
            <script>if (a < b) document.write('<p>no</p>')</script></head>\
            <body><h1>Head&eacute;r</h1><p>one\n   two&nbsp;three <b>bo</b>ld&#33;</p><p>next</body></html>";
        assert_eq!(text(html), "A & B\n\n# Head\u{e9}r\n\none two three bold!\n\nnext");
    }

    #[test]
    fn lists_tables_links_and_images_keep_their_shape() {
        let html = "<ul><li>first<li><a href='/x?a=1&amp;b=2'>second</a></ul><table><tr><th>a</th><th>b</th></tr>\
            <tr><td>1</td><td>2</td></tr></table><p><a href='#top'>up</a> <a href='javascript:x()'>js</a> \
            <a href=\"/x?a=1&b=2\">again</a> <img src=a.png alt='A plot'><img src=b.png></p>";
        assert_eq!(
            text(html),
            "- first\n- second [1]\n\na | b\n1 | 2\n\nup js again [1] [image: A plot]\n\n[1]: https://example.org/x?a=1&b=2"
        );
    }

    #[test]
    fn preformatted_text_keeps_its_lines() {
        assert_eq!(text("<p>code:</p><pre>a  <b>b</b>\n  c &lt;d&gt;</pre>end"), "code:\n\na  b\n  c <d>\n\nend");
    }

    #[test]
    fn broken_markup_loses_no_text() {
        assert_eq!(text("a <b>b <i>c</b> d</i> </nothing> <p e"), "a b c d");
        assert_eq!(text("</script></a></pre>x <!-- c --> y <![CDATA[z]]> w"), "x y w");
        assert_eq!(
            text("<svg><title>t</title><text>no</text></svg>after <template><p>no</p></template>text"),
            "after text"
        );
        assert_eq!(text("<textarea>kept </textarea><noscript>also</noscript>"), "kept also");
        assert_eq!(text("x<script>never closed <p>"), "x");
        assert_eq!(text(""), "");
    }

    #[test]
    fn a_hostile_page_costs_no_more_than_its_length() {
        let nested = "<div>".repeat(100_000) + "deep";
        assert_eq!(text(&nested), "deep");
        let formatting: String = (0..2000).map(|i| format!("<font size={i}>")).collect();
        let page = formatting + &"<p>x".repeat(20_000);
        assert_eq!(text(&page).len(), 3 * 20_000 - 2);
    }

    #[test]
    fn a_page_that_takes_too_long_is_left_where_it_is() {
        let base = Url::parse("https://example.org/").unwrap();
        let (text, whole) = text_of(&"word ".repeat(10_000), &base, Instant::now());
        assert!(!whole && text.len() < 50_000);
    }
}
