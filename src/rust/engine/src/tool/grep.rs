//! `grep`: lines of files that match a pattern.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Error as IoError;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use grep_matcher::Matcher;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkMatch};
use parking_lot::Mutex;

use super::level::is_secret;
use super::lines::named;
use super::listing::{Row, by_name, columns, kind};
use super::text::{Limit, Notice, bounded, flag, integer, string};
use super::walk::{Glob, below, root, threads};
use super::{Answer, Asker, Context, Output};
use crate::error::Error;
use crate::value::{HostData, HostValue, Value, json};

/// Matches that a model gets when it asks for no other number.
const MATCHES: usize = 100;

/// Characters of a line that a model gets.
const LINE: usize = 500;

/// Larger files are not searched.
const LARGEST: u64 = 20 * 1024 * 1024;

/// Bytes that a compiled pattern may take.
const PATTERN: usize = 10 * 1024 * 1024;

/// Lines around a match, at most.
const CONTEXT: usize = 1000;

/// What is asked for.
struct Search<'a> {
    matcher: RegexMatcher,
    context: &'a Context,
    around: usize,
    /// Matches of a file that are looked for; one beyond the limit tells that there are more.
    most: usize,
    /// True when a file's number of matches is all that is asked for.
    counts: bool,
    /// True when one match is.
    any: bool,
}

/// One line of a file.
#[derive(Debug, Clone, PartialEq)]
struct Line {
    number: u64,
    text: String,
    /// Where the match begins; none in a line around one.
    matched: Option<usize>,
    /// True after lines that were left out.
    gap: bool,
}

/// What a file has.
#[derive(Debug, Default)]
struct Hits {
    lines: Vec<Line>,
    count: usize,
    binary: bool,
}

/// A file with matches.
struct Hit {
    path: PathBuf,
    hits: Hits,
}

/// What became of all files.
#[derive(Default)]
struct Outcome {
    files: Vec<Hit>,
    large: usize,
    secret: usize,
}

/// Searches files for `pattern`.
///
/// # Errors
/// Argument `pattern`, `glob` or `path`.
pub fn grep(input: &Value, context: &Context) -> Answer {
    let output = string(input, "output").unwrap_or("content");
    let limit = Limit::new(integer(input, "limit"), MATCHES, context.asker);
    let search = Search {
        matcher: matcher(input)?,
        context,
        around: if output == "content" { integer(input, "context").unwrap_or(0).min(CONTEXT) } else { 0 },
        most: if output == "content" { limit.count.saturating_add(1) } else { usize::MAX },
        counts: output != "content",
        any: output == "files",
    };
    let start = root(string(input, "path").unwrap_or("."), context)?;
    let files = candidates(&start, string(input, "glob"), context)?;
    let enough = if output == "content" { limit.count } else { usize::MAX };
    let found = search.all(&files, &start, enough)?;
    Ok(match output {
        "content" => matches(found, limit, &search),
        by => rows(found, limit, by, string(input, "sort").unwrap_or("path"), context),
    })
}

fn matcher(input: &Value) -> Result<RegexMatcher, Error> {
    let pattern = string(input, "pattern").unwrap_or_default();
    let mut builder = RegexMatcherBuilder::new();
    builder.case_insensitive(flag(input, "ignoreCase")).fixed_strings(flag(input, "literal"));
    builder.multi_line(true).line_terminator(Some(b'\n')).size_limit(PATTERN);
    builder.build(pattern).map_err(|e| {
        let message = format!("`pattern` is not a regular expression that can be searched for: {e}.");
        Error::argument_message("pattern", message)
    })
}

/// The files to search, in the order of their paths.
fn candidates(start: &Path, glob: Option<&str>, context: &Context) -> Result<Vec<PathBuf>, Error> {
    if start.is_file() {
        return Ok(vec![start.to_owned()]);
    }
    let (keep, glob) = match glob.map(|g| g.strip_prefix('!').map_or((true, g), |g| (false, g))) {
        Some((keep, glob)) => (keep, Some(Glob::new(glob, false, "glob")?)),
        None => (true, None),
    };
    let wanted =
        |path: &str, of: std::fs::FileType| of.is_file() && glob.as_ref().is_none_or(|g| g.is_match(path) == keep);
    let mut found = below(start, context, &wanted)?;
    by_name(&mut found, |f| &f.relative);
    Ok(found.into_iter().map(|f| f.path).collect())
}

/// What the threads share. Files are taken in order; once the files that are done without a gap have enough matches, the
/// rest need not be looked at.
struct Shared<'a> {
    files: &'a [PathBuf],
    next: AtomicUsize,
    full: AtomicBool,
    done: Mutex<Done>,
}

#[derive(Default)]
struct Done {
    found: BTreeMap<usize, Hit>,
    /// Files that are searched, beyond those before `prefix`.
    ahead: BTreeMap<usize, usize>,
    /// All files before this one are searched.
    prefix: usize,
    matches: usize,
    large: usize,
    secret: usize,
}

impl Done {
    fn note(&mut self, i: usize, count: usize) {
        self.ahead.insert(i, count);
        while let Some(count) = self.ahead.remove(&self.prefix) {
            self.prefix += 1;
            self.matches += count;
        }
    }
}

impl Search<'_> {
    fn all(&self, files: &[PathBuf], start: &Path, enough: usize) -> Result<Outcome, Error> {
        let shared = Shared { files, next: AtomicUsize::new(0), full: AtomicBool::new(false), done: Mutex::default() };
        let workers = threads().min(files.len());
        if workers <= 1 {
            self.work(&shared, start, enough);
        } else {
            std::thread::scope(|scope| {
                for _ in 0..workers {
                    scope.spawn(|| self.work(&shared, start, enough));
                }
            });
        }
        self.context.check()?;
        let Done { found, large, secret, .. } = shared.done.into_inner();
        Ok(Outcome { files: found.into_values().collect(), large, secret })
    }

    fn work(&self, shared: &Shared<'_>, start: &Path, enough: usize) {
        let mut searcher = self.searcher();
        loop {
            let i = shared.next.fetch_add(1, Ordering::Relaxed);
            let Some(path) = shared.files.get(i) else { return };
            if self.context.cancel.is_cancelled() || shared.full.load(Ordering::Relaxed) {
                return;
            }
            let looked = self.look(&mut searcher, path);
            let mut done = shared.done.lock();
            let mut count = 0;
            match looked {
                Looked::Large => done.large += 1,
                // What a person keeps secret is found only by those who name the file.
                Looked::Hits(_) if self.context.asker != Asker::Person && is_secret(path) && path != start => {
                    done.secret += 1;
                }
                Looked::Hits(hits) => {
                    count = hits.count;
                    done.found.insert(i, Hit { path: path.clone(), hits });
                }
                Looked::Nothing => {}
            }
            done.note(i, count);
            if done.matches > enough {
                shared.full.store(true, Ordering::Relaxed);
            }
        }
    }

    fn searcher(&self) -> Searcher {
        let mut builder = SearcherBuilder::new();
        builder.line_number(!self.counts).binary_detection(BinaryDetection::quit(0));
        builder.before_context(self.around).after_context(self.around);
        builder.build()
    }

    fn look(&self, searcher: &mut Searcher, path: &Path) -> Looked {
        let Ok(file) = File::open(path) else { return Looked::Nothing };
        if file.metadata().map_or(true, |m| m.len() > LARGEST) {
            return Looked::Large;
        }
        let mut sink = Collector { search: self, hits: Hits::default(), gap: false };
        match searcher.search_file(&self.matcher, &file, &mut sink) {
            Ok(()) if sink.hits.count > 0 && !sink.hits.binary => Looked::Hits(sink.hits),
            _ => Looked::Nothing,
        }
    }
}

enum Looked {
    Hits(Hits),
    Large,
    Nothing,
}

struct Collector<'a> {
    search: &'a Search<'a>,
    hits: Hits,
    gap: bool,
}

impl Collector<'_> {
    fn line(&mut self, bytes: &[u8], number: Option<u64>, matched: Option<usize>) {
        let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        let bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
        let text = String::from_utf8_lossy(bytes).into_owned();
        let gap = std::mem::take(&mut self.gap);
        self.hits.lines.push(Line { number: number.unwrap_or(0), text, matched, gap });
    }
}

impl Sink for Collector<'_> {
    type Error = IoError;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, IoError> {
        self.hits.count += 1;
        if self.search.counts {
            return Ok(!self.search.any);
        }
        let at = self.search.matcher.find(found.bytes()).ok().flatten().map_or(0, |m| m.start());
        self.line(found.bytes(), found.line_number(), Some(at));
        Ok(self.hits.count < self.search.most)
    }

    fn context(&mut self, _: &Searcher, around: &SinkContext<'_>) -> Result<bool, IoError> {
        self.line(around.bytes(), around.line_number(), None);
        Ok(true)
    }

    fn context_break(&mut self, _: &Searcher) -> Result<bool, IoError> {
        self.gap = true;
        Ok(true)
    }

    fn binary_data(&mut self, _: &Searcher, _: u64) -> Result<bool, IoError> {
        self.hits.binary = true;
        Ok(false)
    }
}

/// The lines of a search by content.
fn matches(mut found: Outcome, limit: Limit, search: &Search<'_>) -> Output {
    let total: usize = found.files.iter().map(|f| f.hits.count).sum();
    let cut = total > limit.count;
    keep(&mut found.files, limit.count);
    let context = search.context;
    if context.asker.takes_value() {
        return value(&found, limit, cut, search);
    }
    if found.files.is_empty() {
        return Output::text(remarks(&found, Notice::default()).after("No matches found".to_owned()));
    }
    let mut shortened = false;
    let shown = display(&found.files, search, Some(LINE), &mut shortened);
    let mut notice = Notice::default();
    notice.limit(cut.then_some(limit.count), "matches");
    let lines = shown.len();
    let (text, shown) = bounded(shown.into_iter(), &mut notice);
    if shortened {
        notice.add(format!("Some lines are cut to {LINE} characters: use read to see them whole"));
    }
    let mut output = Output::text(remarks(&found, notice).after(text));
    let count: usize = found.files.iter().map(|f| f.hits.count).sum();
    let details = json!({"matches": count, "files": found.files.len(), "truncated": cut || shown < lines});
    output.details = details.as_object().cloned().unwrap_or_default();
    output
}

/// What was not looked at.
fn remarks(found: &Outcome, mut notice: Notice) -> Notice {
    if found.large > 0 {
        notice.add(format!("{} file(s) over 20 MB skipped", found.large));
    }
    if found.secret > 0 {
        notice.add(format!("{} file(s) that may hold secrets skipped", found.secret));
    }
    notice
}

/// Keeps the first matches, and the lines around them.
fn keep(files: &mut Vec<Hit>, limit: usize) {
    let mut left = limit;
    files.retain_mut(|file| {
        if left == 0 {
            return false;
        }
        if file.hits.count > left {
            let mut seen = 0;
            let beyond = file.hits.lines.iter().position(|l| {
                seen += usize::from(l.matched.is_some());
                seen > left
            });
            file.hits.lines.truncate(beyond.unwrap_or(usize::MAX));
            file.hits.count = left;
        }
        left -= file.hits.count;
        true
    });
}

/// The lines as a person or a model reads them.
fn display(files: &[Hit], search: &Search<'_>, width: Option<usize>, shortened: &mut bool) -> Vec<String> {
    let mut out = Vec::new();
    for file in files {
        let name = named(&file.path, search.context);
        for (i, line) in file.hits.lines.iter().enumerate() {
            let new_group = line.gap || i == 0;
            if search.around > 0 && new_group && !out.is_empty() {
                out.push("--".to_owned());
            }
            let text = width.and_then(|w| around_match(&line.text, line.matched.unwrap_or(0), w));
            *shortened |= text.is_some();
            let text = text.as_deref().unwrap_or(&line.text);
            let number = line.number;
            out.push(match line.matched {
                Some(_) => format!("{name}:{number}: {text}"),
                None => format!("{name}-{number}- {text}"),
            });
        }
    }
    out
}

/// The part of a long line around a match; `None` when the line is short.
fn around_match(line: &str, at: usize, width: usize) -> Option<String> {
    if line.len() <= width || line.chars().count() <= width {
        return None;
    }
    let total = line.chars().count();
    let before = line.char_indices().take_while(|(i, _)| *i < at).count();
    // A third of the room stands before the match.
    let start = before.saturating_sub(width / 3).min(total - width);
    let part: String = line.chars().skip(start).take(width).collect();
    let head = if start > 0 { "..." } else { "" };
    let tail = if start + width < total { "... [truncated]" } else { "" };
    Some(format!("{head}{part}{tail}"))
}

fn value(found: &Outcome, limit: Limit, cut: bool, search: &Search<'_>) -> Output {
    let hits = || {
        let matched = |file: &'_ Hit| file.hits.lines.iter().filter(|l| l.matched.is_some()).count();
        found.files.iter().map(move |f| (f, matched(f)))
    };
    let lines = || found.files.iter().flat_map(|f| f.hits.lines.iter().filter(|l| l.matched.is_some()));
    let files = hits().flat_map(|(f, n)| std::iter::repeat_n(named(&f.path, search.context), n));
    let mut value = HostValue::named([
        ("file", HostValue::strings(files)),
        ("line", HostData::Integer(lines().map(|l| i64::try_from(l.number).ok()).collect()).into()),
        ("text", HostValue::strings(lines().map(|l| l.text.as_str()))),
    ]);
    value = HostValue::named([("columns", value), ("truncated", cut.into())]);
    value.set("limit", if limit.count == usize::MAX { HostValue::null() } else { (limit.count as f64).into() });
    value.set("notes", HostValue::strings(remarks(found, Notice::default()).parts().iter().map(String::as_str)));
    if search.around > 0 {
        value.set("display", HostValue::strings(display(&found.files, search, None, &mut false)));
    }
    Output::value(value)
}

/// The files of a search, with their numbers of matches or without.
fn rows(found: Outcome, limit: Limit, output: &str, by: &str, context: &Context) -> Output {
    let mut all: Vec<(Row, usize)> = found
        .files
        .iter()
        .map(|file| {
            let row = Row { path: named(&file.path, context), size: None, mtime: None, kind: "file" };
            let measured = output == "files" && context.asker.takes_value() || by == "mtime";
            let row = match file.path.symlink_metadata() {
                Ok(meta) if measured => Row { kind: kind(meta.file_type()), ..row.measured(&meta) },
                _ => row,
            };
            (row, file.hits.count)
        })
        .collect();
    match by {
        "count" => all.sort_by_key(|(_, n)| std::cmp::Reverse(*n)),
        "mtime" => all.sort_by(|a, b| b.0.mtime.unwrap_or(0.0).total_cmp(&a.0.mtime.unwrap_or(0.0))),
        _ => {}
    }
    let cut = all.len() > limit.count;
    all.truncate(limit.count);
    if context.asker.takes_value() {
        let files: Vec<Row> = all.iter().map(|(row, _)| row.clone()).collect();
        let columns = if output == "files" {
            columns(&files)
        } else {
            HostValue::named([
                ("file", HostValue::strings(files.iter().map(|r| r.path.as_str()))),
                ("n", HostData::Integer(all.iter().map(|(_, n)| i64::try_from(*n).ok()).collect()).into()),
            ])
        };
        let mut value = HostValue::named([("columns", columns), ("truncated", cut.into())]);
        value.set("limit", if limit.count == usize::MAX { HostValue::null() } else { (limit.count as f64).into() });
        return Output::value(value);
    }
    if all.is_empty() {
        return Output::text(remarks(&found, Notice::default()).after("No matches found".to_owned()));
    }
    let mut notice = Notice::default();
    notice.limit(cut.then_some(limit.count), "files");
    let lines = all.iter().map(|(r, n)| if output == "files" { r.path.clone() } else { format!("{}: {n}", r.path) });
    let (text, _) = bounded(lines, &mut notice);
    let mut output = Output::text(remarks(&found, notice).after(text));
    let details = json!({"files": all.len(), "truncated": cut});
    output.details = details.as_object().cloned().unwrap_or_default();
    output
}

#[cfg(test)]
#[path = "grep_tests.rs"]
mod tests;
