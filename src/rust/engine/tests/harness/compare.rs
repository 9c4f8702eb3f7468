//! What was expected against what happened, as a diff that can be read.

use gptr_engine::message::{Block, Message};
use gptr_engine::value::Value;

use super::host::Happening;

/// True when `text` is `pattern`, in which `*` stands for any text.
pub fn matches(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| text.strip_prefix(first)) else { return false };
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    false
}

/// An expected line of a trace: a head, then fields `path=value` that matter.
struct Wanted<'a> {
    line: &'a str,
    head: String,
    fields: Vec<(&'a str, String)>,
}

impl<'a> Wanted<'a> {
    fn parse(line: &'a str) -> Self {
        let starts: Vec<usize> = line
            .match_indices(' ')
            .map(|(at, _)| at)
            .filter(|at| {
                let word = line[at + 1..].split(' ').next().unwrap_or_default();
                let name = word.split('=').next().unwrap_or_default();
                word.contains('=') && !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || "_.@".contains(c))
            })
            .collect();
        let head = line[..starts.first().copied().unwrap_or(line.len())].to_owned();
        let mut fields = Vec::new();
        for (i, start) in starts.iter().enumerate() {
            let end = starts.get(i + 1).copied().unwrap_or(line.len());
            if let Some((name, value)) = line[start + 1..end].split_once('=') {
                fields.push((name, value.to_owned()));
            }
        }
        Wanted { line, head, fields }
    }

    fn fits(&self, happening: &Happening) -> bool {
        matches(&self.head, &happening.head)
            && self.fields.iter().all(|(path, wanted)| matches(wanted, &field(&happening.fields, path)))
    }
}

/// The value at a path such as `message.stop_reason`, or `input.0`; text as it is, everything else as JSON.
fn field(fields: &Value, path: &str) -> String {
    let found = path.split('.').try_fold(fields, |at, name| match name.parse::<usize>() {
        Ok(i) if at.is_array() => at.get(i),
        _ => at.get(name),
    });
    match found {
        None => "(none)".into(),
        Some(Value::String(text)) => one_line(text),
        Some(other) => other.to_string(),
    }
}

fn one_line(text: &str) -> String {
    text.replace('\n', "\\n")
}

/// Compares a trace; the difference, when there is one.
pub fn trace(wanted: &[String], happened: &[Happening]) -> Option<String> {
    let wanted: Vec<Wanted> = wanted.iter().map(|l| Wanted::parse(l)).collect();
    let show = |h: &Happening, like: Option<&Wanted>| {
        let shown: Vec<String> =
            like.into_iter().flat_map(|w| &w.fields).map(|(p, _)| format!(" {p}={}", field(&h.fields, p))).collect();
        format!("{}{}", h.head, shown.concat())
    };
    diff(&wanted, happened, |w, h| w.fits(h), |w| w.line.to_owned(), show)
}

/// Compares lines.
pub fn lines(wanted: &[String], actual: &[String]) -> Option<String> {
    diff(wanted, actual, |w, a| matches(w, a), String::clone, |a, _| a.clone())
}

/// The longest common row of pairs, and what is missing or extra around it.
fn diff<W, A>(
    wanted: &[W],
    actual: &[A],
    fits: impl Fn(&W, &A) -> bool,
    show_wanted: impl Fn(&W) -> String,
    show_actual: impl Fn(&A, Option<&W>) -> String,
) -> Option<String> {
    if wanted.len() == actual.len() && wanted.iter().zip(actual).all(|(w, a)| fits(w, a)) {
        return None;
    }
    let (rows, columns) = (wanted.len(), actual.len());
    let mut common = vec![vec![0usize; columns + 1]; rows + 1];
    for i in (0..rows).rev() {
        for j in (0..columns).rev() {
            common[i][j] = match fits(&wanted[i], &actual[j]) {
                true => common[i + 1][j + 1] + 1,
                false => common[i + 1][j].max(common[i][j + 1]),
            };
        }
    }
    let (mut i, mut j) = (0, 0);
    let mut out = String::new();
    while i < rows || j < columns {
        if i < rows && j < columns && fits(&wanted[i], &actual[j]) {
            out.push_str(&format!("      {}\n", show_wanted(&wanted[i])));
            (i, j) = (i + 1, j + 1);
        } else if j < columns && (i == rows || common[i][j + 1] >= common[i + 1][j]) {
            out.push_str(&format!("    + {}\n", show_actual(&actual[j], wanted.get(i))));
            j += 1;
        } else {
            out.push_str(&format!("    - {}\n", show_wanted(&wanted[i])));
            i += 1;
        }
    }
    Some(out)
}

/// A message in one line.
pub fn message_line(message: &Message) -> String {
    let text = one_line(&message.text());
    match message {
        Message::User { source, .. } => format!("user[{source}]: {text}"),
        Message::Operator { kind, origin_text, .. } => {
            format!("operator[{kind}]: {}", one_line(origin_text.as_deref().unwrap_or(&text)))
        }
        Message::ToolResult { tool_name, is_error, .. } => {
            format!("tool_result[{tool_name}]{}: {text}", if *is_error { " error" } else { "" })
        }
        Message::Assistant(a) => {
            let calls = a.content.iter().filter_map(|b| match b {
                Block::ToolCall { name, arguments, .. } => Some(format!("{name} {arguments}")),
                _ => None,
            });
            let mut parts: Vec<String> = Some(text).filter(|t| !t.is_empty()).into_iter().chain(calls).collect();
            parts.extend(a.error_message.iter().map(|m| format!("!{}", one_line(m))));
            format!("assistant[{}]: {}", a.stop_reason.as_str(), parts.join(" | ")).trim_end().to_owned()
        }
    }
}
