//! What the texts of file tools have in common: sizes, limits, notices at the end, failures of the system.

use std::io::ErrorKind;
use std::path::Path;

use super::Asker;
use crate::error::Error;
use crate::value::Value;

/// Bytes of text that a model gets of one call.
pub const BYTES: usize = 51_200;

/// A string of an input.
pub fn string<'a>(input: &'a Value, name: &str) -> Option<&'a str> {
    input.get(name)?.as_str()
}

/// A whole number of an input, not below 0.
pub fn integer(input: &Value, name: &str) -> Option<usize> {
    let x = input.get(name)?.as_f64()?;
    // Infinity is not JSON: R hands on the largest double.
    Some(if x <= 0.0 { 0 } else { x as usize })
}

/// A flag of an input.
pub fn flag(input: &Value, name: &str) -> bool {
    input.get(name).and_then(Value::as_bool).unwrap_or(false)
}

/// How many of something a caller gets.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limit {
    /// So many.
    pub count: usize,
}

impl Limit {
    /// What was asked for; else a model gets `default`, and R code all.
    pub fn new(asked: Option<usize>, default: usize, asker: Asker) -> Self {
        let count = match asked {
            Some(n) => n.max(1),
            None if asker.takes_value() => usize::MAX,
            None => default,
        };
        Limit { count }
    }
}

/// Bytes in a form that people read: `512B`, `50.0KB`, `3.0MB`.
pub fn size(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["KB", "MB", "GB", "TB"];
    if bytes < 1024 {
        return format!("{bytes}B");
    }
    let mut x = bytes as f64 / 1024.0;
    let mut unit = 0;
    while x >= 1024.0 && unit + 1 < UNITS.len() {
        x /= 1024.0;
        unit += 1;
    }
    format!("{x:.1}{}", UNITS[unit])
}

/// The bracket after a text: what of it is not there, and how to get it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Notice(Vec<String>);

impl Notice {
    /// Adds a part.
    pub fn add(&mut self, part: impl Into<String>) {
        self.0.push(part.into());
    }

    /// A limit was reached, and twice of it would give more.
    pub fn limit(&mut self, reached: Option<usize>, of: &str) {
        if let Some(n) = reached {
            self.add(format!("{n} {of} limit reached. Use limit={} for more", n.saturating_mul(2)));
        }
    }

    /// The parts.
    pub fn parts(&self) -> &[String] {
        &self.0
    }

    /// The text with the bracket.
    pub fn after(&self, text: String) -> String {
        if self.0.is_empty() { text } else { format!("{text}\n\n[{}]", self.0.join(". ")) }
    }
}

/// Lines of a text within the bytes that a model gets, and how many they are.
pub fn bounded(lines: impl Iterator<Item = String>, notice: &mut Notice) -> (String, usize) {
    let mut text = String::new();
    let mut shown = 0;
    for line in lines {
        if text.len() + line.len() + 1 > BYTES && shown > 0 {
            notice.add(format!("{} limit reached", size(BYTES as u64)));
            break;
        }
        if shown > 0 {
            text.push('\n');
        }
        text.push_str(&line);
        shown += 1;
    }
    (text, shown)
}

/// What the system said of a path, led by its code.
pub fn failed(arg: &str, path: &Path, error: &std::io::Error) -> Error {
    let (code, words) = match error.kind() {
        ErrorKind::NotFound => ("ENOENT", "no such file or directory".to_owned()),
        ErrorKind::IsADirectory => ("EISDIR", "is a directory".to_owned()),
        ErrorKind::PermissionDenied => ("EACCES", "permission denied".to_owned()),
        ErrorKind::NotADirectory => ("ENOTDIR", "a part of the path is not a directory".to_owned()),
        ErrorKind::StorageFull => ("ENOSPC", "no space left".to_owned()),
        ErrorKind::ReadOnlyFilesystem => ("EROFS", "the file system is read-only".to_owned()),
        _ => ("EIO", error.to_string()),
    };
    Error::argument_message(arg, format!("{code}: {words}: {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        let sizes = [0, 512, 1023, 1024, 51_200, 3 * 1024 * 1024, 5 << 30].map(size);
        assert_eq!(sizes, ["0B", "512B", "1023B", "1.0KB", "50.0KB", "3.0MB", "5.0GB"]);
    }

    #[test]
    fn a_notice_is_one_bracket() {
        let mut notice = Notice::default();
        assert_eq!(notice.after("a".into()), "a");
        notice.limit(Some(100), "matches");
        notice.add("more");
        assert_eq!(notice.after("a".into()), "a\n\n[100 matches limit reached. Use limit=200 for more. more]");
    }

    #[test]
    fn lines_end_where_the_bytes_do() {
        let mut notice = Notice::default();
        let line = "x".repeat(1023);
        let (text, shown) = bounded(std::iter::repeat_n(line, 100), &mut notice);
        assert_eq!((text.len(), shown), (50 * 1024 - 1, 50));
        assert_eq!(notice.parts(), ["50.0KB limit reached"]);
    }
}
