//! `find`: files by name.

use std::fs::FileType;
use std::path::PathBuf;

use super::listing::{Row, by_name, columns, kind, sort};
use super::text::{Limit, Notice, bounded, integer, string};
use super::walk::{Found, Glob, base_name, below, root, threads};
use super::{Answer, Context, Output};
use crate::error::Error;
use crate::value::{HostValue, Value, json};

/// Files that a model gets when it asks for no other number.
const FILES: usize = 1000;

/// Fewer files than this are measured by one thread.
const FEW: usize = 256;

/// Finds what `pattern` means below `path`.
///
/// # Errors
/// Argument `pattern` or `path`.
pub fn find(input: &Value, context: &Context) -> Answer {
    let pattern = string(input, "pattern").unwrap_or_default();
    let order = string(input, "sort").unwrap_or("path");
    let start = root(string(input, "path").unwrap_or("."), context)?;
    if !start.is_dir() {
        return Err(Error::argument_message("path", format!("ENOTDIR: not a directory: {}", start.display())));
    }
    let wanted = Wanted::new(pattern, string(input, "type").unwrap_or("file"), order)?;
    let mut found = below(&start, context, &|path, of| wanted.takes(path, of))?;
    by_name(&mut found, |f| &f.relative);
    if order == "relevance" {
        found.sort_by_key(|f| wanted.rank(&f.relative));
    }
    let limit = Limit::new(integer(input, "limit"), FILES, context.asker);
    let cut = found.len() > limit.count;
    let by_measure = order == "mtime" || order == "size";
    if !by_measure {
        found.truncate(limit.count);
    }
    let measured = by_measure || context.asker.takes_value();
    let mut rows = if measured { measure(found, context)? } else { found.into_iter().map(|f| row(&f)).collect() };
    sort(&mut rows, order);
    rows.truncate(limit.count);
    if context.asker.takes_value() {
        let mut value = HostValue::named([("columns", columns(&rows)), ("truncated", cut.into())]);
        value.set("limit", if limit.count == usize::MAX { HostValue::null() } else { (limit.count as f64).into() });
        value.set("path", start.to_string_lossy().into_owned().into());
        return Ok(Output::value(value));
    }
    if rows.is_empty() {
        return Ok(Output::text("No files found matching pattern"));
    }
    let mut notice = Notice::default();
    notice.limit(cut.then_some(limit.count), "results");
    let (text, shown) = bounded(rows.iter().map(Row::shown), &mut notice);
    let mut output = Output::text(notice.after(text));
    let details = json!({"path": start.to_string_lossy(), "files": rows.len(), "truncated": cut || shown < rows.len()});
    output.details = details.as_object().cloned().unwrap_or_default();
    Ok(output)
}

/// What is looked for.
struct Wanted {
    name: Name,
    of: String,
    /// The pattern without what makes it a glob, for the order of relevance.
    core: String,
}

enum Name {
    Glob(Glob),
    /// The letters of the pattern, in this order.
    Letters,
}

impl Wanted {
    fn new(pattern: &str, of: &str, order: &str) -> Result<Self, Error> {
        const GLOB: [char; 6] = ['*', '?', '[', ']', '{', '}'];
        let any_case = !pattern.chars().any(char::is_uppercase);
        let plain = !pattern.contains(GLOB);
        let name = if order == "relevance" && plain {
            Name::Letters
        } else {
            Name::Glob(Glob::new(pattern, any_case, "pattern")?)
        };
        let core = pattern.replace(GLOB, "").to_lowercase();
        Ok(Wanted { name, of: of.to_owned(), core: base_name(&core).to_owned() })
    }

    fn takes(&self, path: &str, of: FileType) -> bool {
        let kind_fits = match self.of.as_str() {
            "any" => true,
            "dir" => of.is_dir(),
            "link" => of.is_symlink(),
            _ => !of.is_dir(),
        };
        kind_fits
            && match &self.name {
                Name::Glob(glob) => glob.is_match(path),
                Name::Letters => self.rank(path) < NOT,
            }
    }

    /// How well a path fits, the best first: the base name itself, one that begins so, has it inside, has its letters in
    /// this order.
    fn rank(&self, path: &str) -> usize {
        let name = base_name(path).to_lowercase();
        let stem = name.rsplit_once('.').map_or(name.as_str(), |(stem, _)| stem);
        if name == self.core || stem == self.core {
            0
        } else if name.starts_with(&self.core) {
            1
        } else if name.contains(&self.core) {
            2
        } else if has_letters(&name, &self.core) {
            3
        } else {
            NOT
        }
    }
}

/// The rank of what does not fit.
const NOT: usize = 4;

fn has_letters(name: &str, letters: &str) -> bool {
    let mut rest = name.chars();
    letters.chars().all(|letter| rest.any(|c| c == letter))
}

fn row(found: &Found) -> Row {
    Row { path: found.relative.clone(), size: None, mtime: None, kind: kind(found.of) }
}

/// Rows with size and time, by several threads when they are many.
fn measure(found: Vec<Found>, context: &Context) -> Result<Vec<Row>, Error> {
    let one = |found: &Found| match measured(&found.path) {
        Some(meta) => row(found).measured(&meta),
        None => row(found),
    };
    let part = |files: &[Found]| -> Vec<Row> {
        files.iter().take_while(|_| !context.cancel.is_cancelled()).map(one).collect()
    };
    let rows = if found.len() < FEW {
        part(&found)
    } else {
        let parts: Vec<&[Found]> = found.chunks(found.len().div_ceil(threads())).collect();
        std::thread::scope(|scope| {
            let running: Vec<_> = parts.into_iter().map(|files| scope.spawn(|| part(files))).collect();
            running.into_iter().flat_map(|thread| thread.join().unwrap_or_default()).collect()
        })
    };
    context.check()?;
    Ok(rows)
}

fn measured(path: &PathBuf) -> Option<std::fs::Metadata> {
    std::fs::symlink_metadata(path).ok()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::tool::Asker;
    use crate::tool::folder::Folder;
    use crate::tool::tests::{context_at, text_of};

    fn found(folder: &Folder, input: Value) -> String {
        text_of(find(&input, &context_at(folder, Asker::Model)))
    }

    fn tree() -> Folder {
        let folder = Folder::new();
        for name in ["README.md", "R/read me.R", "R/reader.R", "docs/readme.txt", "src/a/b.rs", ".hidden/x.R", "ä/ö.R"]
        {
            folder.write(name, name);
        }
        folder
    }

    #[test]
    fn case_56_a_pattern_without_capitals_ignores_case() {
        let folder = tree();
        assert_eq!(found(&folder, json!({"pattern": "readme*"})), "docs/readme.txt\nREADME.md");
        assert_eq!(found(&folder, json!({"pattern": "README*"})), "README.md");
        assert_eq!(found(&folder, json!({"pattern": "*.R"})), ".hidden/x.R\nR/read me.R\nR/reader.R\nä/ö.R");
        assert_eq!(found(&folder, json!({"pattern": "src/**/*.rs"})), "src/a/b.rs");
        assert_eq!(found(&folder, json!({"pattern": "*.rs", "path": "src"})), "a/b.rs");
        assert_eq!(found(&folder, json!({"pattern": "nothing"})), "No files found matching pattern");
    }

    #[test]
    fn kinds_and_limits() {
        let folder = tree();
        folder.link("R", "link");
        assert_eq!(found(&folder, json!({"pattern": "*", "type": "dir"})), ".hidden/\ndocs/\nR/\nsrc/\nsrc/a/\nä/");
        assert_eq!(found(&folder, json!({"pattern": "*", "type": "link"})), "link");
        let text = found(&folder, json!({"pattern": "*.R", "limit": 1}));
        assert_eq!(text, ".hidden/x.R\n\n[1 results limit reached. Use limit=2 for more]");
    }

    #[test]
    fn relevance() {
        let folder = Folder::new();
        for name in ["model.R", "a/model", "models.R", "z/my_model.R", "my-old-delta.R", "other.R", "Model.txt"] {
            folder.write(name, "");
        }
        let text = found(&folder, json!({"pattern": "model", "sort": "relevance"}));
        assert_eq!(text, "a/model\nmodel.R\nModel.txt\nmodels.R\nz/my_model.R\nmy-old-delta.R");
    }

    #[test]
    fn r_code_gets_sizes_and_times_of_all() {
        let folder = Folder::new();
        for i in 0..600 {
            folder.write(&format!("d{}/f{i:03}", i % 7), vec![b'x'; i]);
        }
        let input = json!({"pattern": "*", "sort": "size"});
        let value = find(&input, &context_at(&folder, Asker::Person)).unwrap().value.unwrap();
        let paths = value.field("columns").unwrap().field("path").unwrap().as_strings().unwrap().len();
        assert_eq!(paths, 600);
        let size = value.field("columns").unwrap().field("size").unwrap();
        let crate::value::HostData::Double(size) = &size.data else { panic!("{size:?}") };
        assert_eq!((size[0], size[599]), (Some(599.0), Some(0.0)));
    }

    #[test]
    fn what_is_wrong() {
        let folder = tree();
        let wrong = |input: Value| find(&input, &context_at(&folder, Asker::Model)).unwrap_err().to_string();
        assert!(wrong(json!({"pattern": "["})).starts_with("`pattern` is not a glob"));
        assert!(wrong(json!({"pattern": "*", "path": "nope"})).starts_with("Path not found: /"));
        assert!(wrong(json!({"pattern": "*", "path": "README.md"})).starts_with("ENOTDIR"));
    }
}
