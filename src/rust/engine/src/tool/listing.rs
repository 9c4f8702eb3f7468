//! `ls`: what is in a directory; and rows of files, as `ls` and `find` give them.

use std::fs::{FileType, Metadata};
use std::path::Path;
use std::time::UNIX_EPOCH;

use super::site::shown;
use super::text::{Limit, Notice, bounded, failed, integer, string};
use super::{Answer, Context, Output};
use crate::error::Error;
use crate::value::{HostData, HostValue, Value, json};

/// Entries that a model gets when it asks for no other number.
const ENTRIES: usize = 500;

/// A file, a directory or a link.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Its path, relative to where one looked; no `/` at its end.
    pub path: String,
    /// Bytes; unknown when nobody asked.
    pub size: Option<f64>,
    /// Seconds since 1970; unknown when nobody asked.
    pub mtime: Option<f64>,
    /// `file`, `dir` or `link`.
    pub kind: &'static str,
}

impl Row {
    /// The path, with a `/` after a directory.
    pub fn shown(&self) -> String {
        if self.kind == "dir" { format!("{}/", self.path) } else { self.path.clone() }
    }

    /// Takes size and time from the file system.
    pub fn measured(self, meta: &Metadata) -> Self {
        let mtime = meta.modified().ok().and_then(|t| t.duration_since(UNIX_EPOCH).ok());
        Row { size: Some(meta.len() as f64), mtime: mtime.map(|t| t.as_secs_f64()), ..self }
    }
}

/// The word for a type of file.
pub fn kind(of: FileType) -> &'static str {
    if of.is_symlink() {
        "link"
    } else if of.is_dir() {
        "dir"
    } else {
        "file"
    }
}

/// The order of listings: without regard to case, then by bytes.
pub fn by_name<T>(rows: &mut [T], name: impl Fn(&T) -> &str) {
    rows.sort_by_cached_key(|row| (name(row).to_lowercase(), name(row).to_owned()));
}

/// Sorts rows that are in the order of their names: newest or largest first.
pub fn sort(rows: &mut [Row], by: &str) {
    let value = |row: &Row| if by == "mtime" { row.mtime } else { row.size }.unwrap_or(f64::NEG_INFINITY);
    if by == "mtime" || by == "size" {
        rows.sort_by(|a, b| value(b).total_cmp(&value(a)));
    }
}

/// The columns of a `gptr_files`.
pub fn columns(rows: &[Row]) -> HostValue {
    HostValue::named([
        ("path", HostValue::strings(rows.iter().map(|r| r.path.as_str()))),
        ("size", HostData::Double(rows.iter().map(|r| r.size).collect()).into()),
        ("mtime", HostData::Double(rows.iter().map(|r| r.mtime).collect()).into()),
        ("type", HostValue::strings(rows.iter().map(|r| r.kind))),
    ])
}

/// Lists a directory: `path`, `sort`, `limit`.
///
/// # Errors
/// Argument `path`: it is no directory, or can't be read.
pub fn ls(input: &Value, context: &Context) -> Answer {
    let path = context.site.path(string(input, "path").unwrap_or("."));
    let mut rows = entries(&path, context)?;
    by_name(&mut rows, |row| &row.path);
    sort(&mut rows, string(input, "sort").unwrap_or("name"));
    let total = rows.len();
    let limit = Limit::new(integer(input, "limit"), ENTRIES, context.asker);
    rows.truncate(limit.count);
    let cut = total > rows.len();
    if context.asker.takes_value() {
        let mut value = HostValue::named([("columns", columns(&rows)), ("truncated", cut.into())]);
        value.set("path", path.to_string_lossy().into_owned().into());
        return Ok(Output::value(value));
    }
    if rows.is_empty() {
        return Ok(Output::text("(empty directory)"));
    }
    let mut notice = Notice::default();
    notice.limit(cut.then_some(limit.count), "entries");
    let (text, shown) = bounded(rows.iter().map(Row::shown), &mut notice);
    let mut output = Output::text(notice.after(text));
    let details = json!({"path": path.to_string_lossy(), "entries": total, "truncated": cut || shown < rows.len()});
    output.details = details.as_object().cloned().unwrap_or_default();
    Ok(output)
}

fn entries(path: &Path, context: &Context) -> Result<Vec<Row>, Error> {
    let listing = std::fs::read_dir(path).map_err(|e| match e.kind() {
        std::io::ErrorKind::NotADirectory => {
            Error::argument_message("path", format!("ENOTDIR: not a directory: {}", shown(path, Path::new(""))))
        }
        _ => failed("path", path, &e),
    })?;
    let mut rows = Vec::new();
    for entry in listing {
        context.check()?;
        let entry = entry.map_err(|e| failed("path", path, &e))?;
        let Ok(of) = entry.file_type() else { continue };
        let row =
            Row { path: entry.file_name().to_string_lossy().into_owned(), size: None, mtime: None, kind: kind(of) };
        rows.push(match entry.metadata() {
            Ok(meta) => row.measured(&meta),
            Err(_) => row,
        });
    }
    Ok(rows)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::tool::Asker;
    use crate::tool::folder::Folder;
    use crate::tool::tests::{context_at, text_of};

    #[test]
    fn dot_files_and_directories_in_the_order_of_names() {
        let folder = Folder::new();
        for name in ["b.txt", "A.txt", ".hidden", "sub/x", "ä", "a b"] {
            folder.write(name, "x");
        }
        let listed = |input: Value| text_of(ls(&input, &context_at(&folder, Asker::Model)));
        assert_eq!(listed(json!({})), ".hidden\na b\nA.txt\nb.txt\nsub/\nä");
        assert_eq!(listed(json!({"limit": 2})), ".hidden\na b\n\n[2 entries limit reached. Use limit=4 for more]");
        assert_eq!(listed(json!({"path": folder.at("sub").to_str()})), "x");
    }

    #[test]
    fn an_empty_directory_a_file_and_nothing() {
        let folder = Folder::new();
        folder.write("f", "x");
        std::fs::create_dir(folder.at("empty")).unwrap();
        let listed = |path: &str| ls(&json!({"path": path}), &context_at(&folder, Asker::Model));
        assert_eq!(text_of(listed("empty")), "(empty directory)");
        assert!(listed("f").unwrap_err().to_string().starts_with("ENOTDIR"));
        let missing = listed("nope").unwrap_err().to_string();
        assert!(missing.starts_with("ENOENT") && missing.contains(folder.at("nope").to_str().unwrap()), "{missing}");
    }

    #[test]
    fn r_code_gets_columns_of_all_entries() {
        let folder = Folder::new();
        folder.write("big", vec![0; 10]);
        folder.write("small", "1");
        folder.link("big", "link");
        let output = ls(&json!({"sort": "size"}), &context_at(&folder, Asker::Person)).unwrap();
        let columns = output.value.unwrap().field("columns").unwrap().clone();
        let column = |name: &str| columns.field(name).unwrap().clone();
        assert_eq!(
            column("size").data,
            HostData::Double(vec![
                Some(folder.at("link").symlink_metadata().unwrap().len() as f64),
                Some(10.0),
                Some(1.0)
            ])
        );
        assert_eq!(column("path").as_strings().unwrap(), ["link", "big", "small"]);
        assert_eq!(column("type").as_strings().unwrap(), ["link", "file", "file"]);
    }
}
