//! Where edits match, and the text that they make.
//!
//! Texts are bytes: a file may hold some that are no UTF-8, and those stay. Line ends are compared as line feeds, in a
//! view of the text that knows where each of its bytes comes from.

use memchr::memmem;

use super::fuzzy::Fuzzy;
use crate::error::Error;

/// One replacement.
#[derive(Debug, Clone, PartialEq)]
pub struct Edit {
    /// What is there.
    pub old: String,
    /// What comes in its place.
    pub new: String,
    /// Replaces each, however many there are.
    pub all: bool,
}

/// A part of the text that is replaced.
#[derive(Debug, Clone, PartialEq)]
pub struct Span {
    /// Where it begins.
    pub start: usize,
    /// Where it ends.
    pub end: usize,
    /// What comes in its place.
    pub new: Vec<u8>,
}

/// A place where an edit matched, in the view.
struct Match {
    start: usize,
    end: usize,
    edit: usize,
}

/// What edits made of a text.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// The new text.
    pub text: Vec<u8>,
    /// What was replaced, in order.
    pub spans: Vec<Span>,
    /// True when something matched after normalisation only.
    pub fuzzy: bool,
    /// True when line ends of `newText` became those of the file.
    pub ends: bool,
}

impl Outcome {
    /// How the result deviates from what was asked.
    pub fn reasons(&self) -> Vec<String> {
        let fuzzy = self.fuzzy.then(|| "matched after normalisation".to_owned());
        let ends = self.ends.then(|| "line endings written as CRLF".to_owned());
        fuzzy.into_iter().chain(ends).collect()
    }

    /// From the first to the last byte of the old text that was replaced, and where the latter is in the new one.
    pub fn touched(&self) -> (usize, usize, usize) {
        let start = self.spans.first().map_or(0, |s| s.start);
        let end = self.spans.last().map_or(0, |s| s.end);
        let grown: isize = self.spans.iter().map(|s| s.new.len() as isize - (s.end - s.start) as isize).sum();
        (start, end, end.saturating_add_signed(grown))
    }
}

/// How an edit is called in messages: `edits`, or `edits[2]` among several.
pub fn name(i: usize, of: usize) -> String {
    if of > 1 { format!("edits[{}]", i + 1) } else { "edits".to_owned() }
}

/// How lines of a file end.
#[derive(Clone, Copy, PartialEq)]
enum Eol {
    Lf,
    CrLf,
    Cr,
}

/// A text with all its lines ended by line feeds.
struct View {
    text: Vec<u8>,
    /// Where in the view a line feed stands for two bytes.
    pairs: Vec<usize>,
    eol: Eol,
}

impl View {
    fn new(original: &[u8]) -> Self {
        let mut text = Vec::with_capacity(original.len());
        let mut pairs = Vec::new();
        let (mut feeds, mut returns) = (0, 0);
        let mut rest = original;
        while let Some(at) = memchr::memchr2(b'\r', b'\n', rest) {
            text.extend_from_slice(&rest[..at]);
            let pair = rest[at] == b'\r' && rest.get(at + 1) == Some(&b'\n');
            match (rest[at], pair) {
                (_, true) => pairs.push(text.len()),
                (b'\n', _) => feeds += 1,
                _ => returns += 1,
            }
            text.push(if pair { b'\n' } else { rest[at] });
            rest = &rest[at + 1 + usize::from(pair)..];
        }
        text.extend_from_slice(rest);
        let eol = if pairs.len() > feeds {
            Eol::CrLf
        } else if feeds == 0 && returns > 0 {
            text.iter_mut().filter(|b| **b == b'\r').for_each(|b| *b = b'\n');
            Eol::Cr
        } else {
            Eol::Lf
        };
        View { text, pairs, eol }
    }

    /// The place in the original.
    fn original(&self, at: usize) -> usize {
        at + self.pairs.partition_point(|p| *p < at)
    }

    /// A new text as the file ends its lines, and whether that changed it.
    fn ended(&self, new: &str) -> (Vec<u8>, bool) {
        let written = new.replace("\r\n", "\n");
        match self.eol {
            Eol::CrLf => (written.replace('\n', "\r\n").into_bytes(), new.replace("\r\n", "").contains('\n')),
            Eol::Cr => (written.replace('\n', "\r").into_bytes(), false),
            Eol::Lf => (written.into_bytes(), false),
        }
    }
}

/// Applies all edits to a text, or none. Each is matched against the text as it is.
///
/// # Errors
/// Argument `edits` or `edits[i]`: not found, found more than once, two that overlap. Also what `check` says between
/// two edits.
pub fn all(
    original: &[u8],
    edits: &[Edit],
    path: &str,
    check: &dyn Fn() -> Result<(), Error>,
) -> Result<Outcome, Error> {
    let view = View::new(original);
    let mut fuzzy = None;
    let mut used_fuzzy = false;
    let mut matches = Vec::new();
    for (i, edit) in edits.iter().enumerate() {
        check()?;
        let arg = name(i, edits.len());
        let old = edit.old.replace("\r\n", "\n");
        let mut found = find(&view.text, old.as_bytes(), edit.all);
        if found.is_empty() {
            let fuzzy = fuzzy.get_or_insert_with(|| Fuzzy::new(&view.text));
            found = fuzzy.find(&old, edit.all);
            used_fuzzy |= !found.is_empty();
        }
        match found.len() {
            0 => return Err(not_found(&arg, path, &view.text, &old)),
            n if n > 1 && !edit.all => return Err(ambiguous(&arg, path, &view.text, &found)),
            _ => matches.extend(found.into_iter().map(|(start, end)| Match { start, end, edit: i })),
        }
    }
    matches.sort_by_key(|m| (m.start, m.end, m.edit));
    if let Some(pair) = matches.windows(2).find(|p| p[1].start < p[0].end) {
        return Err(overlap(path, pair[0].edit, pair[1].edit));
    }
    let mut ends = false;
    let spans: Vec<Span> = matches
        .iter()
        .map(|m| {
            // Lines that stay are not touched, not even their ends.
            let new = edits[m.edit].new.replace("\r\n", "\n");
            let (head, tail) = common_lines(&view.text[m.start..m.end], new.as_bytes());
            let (new, changed) = view.ended(&new[head..new.len() - tail]);
            ends |= changed;
            Span { start: view.original(m.start + head), end: view.original(m.end - tail), new }
        })
        .collect();
    Ok(Outcome { text: spliced(original, &spans), spans, fuzzy: used_fuzzy, ends })
}

fn overlap(path: &str, a: usize, b: usize) -> Error {
    let (first, second) = (a.min(b) + 1, a.max(b) + 1);
    let message = format!(
        "`edits[{first}]` and `edits[{second}]` overlap in {path}. Make one edit of the two, or let them match apart."
    );
    Error::argument_message(&format!("edits[{second}]"), message)
}

/// Where a text stands. For one that must be unique also overlapping places count.
fn find(text: &[u8], old: &[u8], all: bool) -> Vec<(usize, usize)> {
    let finder = memmem::Finder::new(old);
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(at) = finder.find(&text[from..]) {
        found.push((from + at, from + at + old.len()));
        from += at + if all { old.len() } else { 1 };
    }
    found
}

/// Bytes of whole lines at the head and the tail that two texts share.
fn common_lines(old: &[u8], new: &[u8]) -> (usize, usize) {
    let same = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let head = memchr::memrchr(b'\n', &old[..same]).map_or(0, |at| at + 1);
    let (old, new) = (&old[head..], &new[head..]);
    let same = old.iter().rev().zip(new.iter().rev()).take_while(|(a, b)| a == b).count();
    let tail = memchr::memchr(b'\n', &old[old.len() - same..]).map_or(0, |at| same - at);
    (head, tail)
}

fn spliced(original: &[u8], spans: &[Span]) -> Vec<u8> {
    let mut text = Vec::with_capacity(original.len());
    let mut from = 0;
    for span in spans {
        text.extend_from_slice(&original[from..span.start]);
        text.extend_from_slice(&span.new);
        from = span.end;
    }
    text.extend_from_slice(&original[from..]);
    text
}

fn line_of(text: &[u8], at: usize) -> usize {
    memchr::memchr_iter(b'\n', &text[..at]).count() + 1
}

fn not_found(arg: &str, path: &str, text: &[u8], old: &str) -> Error {
    let near = old.lines().map(str::trim).find(|l| !l.is_empty()).and_then(|line| nearest(text, line));
    let near = near.map_or_else(String::new, |(line, what)| format!(" {what} at line {line}."));
    let message = format!(
        "`{arg}`: oldText was not found in {path}. It must match exactly, blanks and line breaks too.{near} Read the file \
         again."
    );
    Error::argument_message(arg, message)
}

/// The line that the first line of a text was probably taken from.
fn nearest(text: &[u8], line: &str) -> Option<(usize, &'static str)> {
    let lines = || text.split(|b| *b == b'\n').map(String::from_utf8_lossy).enumerate();
    if let Some((i, _)) = lines().find(|(_, l)| l.contains(line)) {
        return Some((i + 1, "Its first line stands"));
    }
    let squeezed = |l: &str| l.chars().filter(|c| !c.is_whitespace()).collect::<String>().to_lowercase();
    let wanted = squeezed(line);
    let hit = lines().find(|(_, l)| squeezed(l) == wanted);
    hit.map(|(i, _)| (i + 1, "A line that differs in blanks or case only stands"))
}

fn ambiguous(arg: &str, path: &str, text: &[u8], found: &[(usize, usize)]) -> Error {
    let lines: Vec<String> = found.iter().take(5).map(|(at, _)| line_of(text, *at).to_string()).collect();
    let more = if found.len() > lines.len() { ", ..." } else { "" };
    let message = format!(
        "`{arg}`: oldText was found {} times in {path} (lines {}{more}). Give more context, so that it is unique.",
        found.len(),
        lines.join(", ")
    );
    Error::argument_message(arg, message)
}
