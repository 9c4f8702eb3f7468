//! The diff of an edit.

use std::fmt::Write as _;
use std::time::Duration;

use similar::{Algorithm, ChangeTag, DiffOp, TextDiff};

use crate::prompt::estimate::{CharCounts, Class};

/// Lines around a change.
const CONTEXT: usize = 3;

/// A diff that takes longer is a plain one: all old lines, all new ones.
const PATIENCE: Duration = Duration::from_millis(500);

/// The unified diff of two texts that differ between `touched` only: from, to in the old, to in the new one.
pub fn unified(old: &[u8], new: &[u8], touched: (usize, usize, usize)) -> String {
    let (start, old_end, new_end) = touched;
    let from = line_start(old, start, CONTEXT);
    let first_line = memchr::memchr_iter(b'\n', &old[..from]).count();
    let old = String::from_utf8_lossy(&old[from..line_end(old, old_end, CONTEXT)]);
    let new = String::from_utf8_lossy(&new[from..line_end(new, new_end, CONTEXT)]);
    let diff = TextDiff::configure().algorithm(Algorithm::Myers).timeout(PATIENCE).diff_lines(&*old, &*new);
    let mut out = String::new();
    for group in diff.grouped_ops(CONTEXT) {
        hunk(&mut out, &group, first_line);
        for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
            let sign = match change.tag() {
                ChangeTag::Delete => '-',
                ChangeTag::Insert => '+',
                ChangeTag::Equal => ' ',
            };
            let line = change.value().trim_end_matches(['\r', '\n']);
            let _ = writeln!(out, "{sign}{line}");
        }
    }
    out.truncate(out.trim_end_matches('\n').len());
    out
}

fn hunk(out: &mut String, ops: &[DiffOp], base: usize) {
    let (Some(first), Some(last)) = (ops.first(), ops.last()) else { return };
    let side = |start: usize, end: usize| match end - start {
        1 => format!("{}", base + start + 1),
        0 => format!("{},0", base + start),
        n => format!("{},{n}", base + start + 1),
    };
    let old = side(first.old_range().start, last.old_range().end);
    let new = side(first.new_range().start, last.new_range().end);
    let _ = writeln!(out, "@@ -{old} +{new} @@");
}

/// The beginning of the line that is `lines` before that of a place.
fn line_start(text: &[u8], at: usize, lines: usize) -> usize {
    let mut breaks = memchr::memrchr_iter(b'\n', &text[..at]);
    breaks.nth(lines).map_or(0, |b| b + 1)
}

/// The end of the line that is `lines` after that of a place.
fn line_end(text: &[u8], at: usize, lines: usize) -> usize {
    let mut breaks = memchr::memchr_iter(b'\n', &text[at..]);
    breaks.nth(lines).map_or(text.len(), |b| at + b + 1)
}

/// The head of a diff within so many tokens.
pub fn within_tokens(diff: &str, tokens: u64) -> String {
    let mut counts = CharCounts::default();
    within(diff, |line| {
        counts.join(CharCounts::of(line));
        counts.tokens(Class::Code) <= tokens
    })
}

/// The head of a diff within so many bytes.
pub fn within_bytes(diff: &str, bytes: usize) -> String {
    let mut sum = 0;
    within(diff, |line| {
        sum += line.len() + 1;
        sum <= bytes
    })
}

fn within(diff: &str, mut fits: impl FnMut(&str) -> bool) -> String {
    let lines: Vec<&str> = diff.lines().collect();
    let shown = lines.iter().take_while(|line| fits(line)).count();
    if shown == lines.len() {
        return diff.to_owned();
    }
    let more = format!("[... {} more line(s) of the diff]", lines.len() - shown);
    lines[..shown].iter().copied().chain([more.as_str()]).collect::<Vec<_>>().join("\n")
}
