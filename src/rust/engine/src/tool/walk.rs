//! Walks a directory with as many threads as there are cores.

use std::fs::FileType;
use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobMatcher};
use ignore::{DirEntry, WalkBuilder, WalkState};
use parking_lot::Mutex;

use super::Context;
use crate::error::Error;

/// What was found on the way.
#[derive(Debug, Clone)]
pub struct Found {
    /// Where.
    pub path: PathBuf,
    /// The same, relative to where the walk began, with `/` everywhere.
    pub relative: String,
    /// What it is.
    pub of: FileType,
}

/// Everything below `root` that `wanted` takes, in no order. `.gitignore` files count, `.git` is left out, hidden files
/// are not; links are not followed. What can't be read is passed over.
///
/// # Errors
/// When the call was cancelled.
pub fn below(
    root: &Path,
    context: &Context,
    wanted: &(dyn Fn(&str, FileType) -> bool + Sync),
) -> Result<Vec<Found>, Error> {
    let mut builder = WalkBuilder::new(root);
    builder.standard_filters(false).git_ignore(true).git_exclude(true).parents(true).require_git(false);
    builder.current_dir(&context.site.cwd).threads(threads());
    builder.filter_entry(|entry| entry.depth() == 0 || entry.file_name() != ".git");
    let all = Mutex::new(Vec::new());
    builder.build_parallel().run(|| {
        let mut mine = Mine { found: Vec::new(), all: &all };
        Box::new(move |entry| {
            if context.cancel.is_cancelled() {
                return WalkState::Quit;
            }
            mine.found.extend(entry.ok().and_then(|entry| taken(entry, root, wanted)));
            WalkState::Continue
        })
    });
    context.check()?;
    Ok(all.into_inner())
}

/// What one thread found; handed over when it ends.
struct Mine<'a> {
    found: Vec<Found>,
    all: &'a Mutex<Vec<Found>>,
}

impl Drop for Mine<'_> {
    fn drop(&mut self) {
        self.all.lock().append(&mut self.found);
    }
}

fn taken(entry: DirEntry, root: &Path, wanted: &(dyn Fn(&str, FileType) -> bool + Sync)) -> Option<Found> {
    let of = entry.file_type()?;
    if entry.depth() == 0 {
        return None;
    }
    let relative = entry.path().strip_prefix(root).ok()?.to_string_lossy();
    let relative = if std::path::MAIN_SEPARATOR == '/' { relative } else { relative.replace('\\', "/").into() };
    if !wanted(&relative, of) {
        return None;
    }
    let relative = relative.into_owned();
    Some(Found { relative, of, path: entry.into_path() })
}

/// As many threads as there are cores for this process.
pub fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// A glob as in `.gitignore`: without a slash it is about the last part of a path, else about the whole; `*` stops at a
/// slash, `**` does not.
pub struct Glob {
    matcher: GlobMatcher,
    whole: bool,
}

impl Glob {
    /// Reads a glob; without a capital in it case may be ignored.
    ///
    /// # Errors
    /// The argument `arg`, with what is wrong.
    pub fn new(pattern: &str, any_case: bool, arg: &str) -> Result<Self, Error> {
        let pattern = pattern.strip_prefix("./").unwrap_or(pattern);
        let whole = pattern.trim_start_matches('/').contains('/') || pattern.starts_with('/');
        let glob = GlobBuilder::new(pattern.trim_start_matches('/'))
            .literal_separator(true)
            .case_insensitive(any_case)
            .build()
            .map_err(|e| Error::argument_message(arg, format!("`{arg}` is not a glob: {}.", e.kind())))?;
        Ok(Glob { matcher: glob.compile_matcher(), whole })
    }

    /// True for a path that it means.
    pub fn is_match(&self, relative: &str) -> bool {
        self.matcher.is_match(if self.whole { relative } else { base_name(relative) })
    }
}

/// The last part of a path.
pub fn base_name(relative: &str) -> &str {
    relative.rsplit('/').next().unwrap_or(relative)
}

/// The directory or file where a search begins.
///
/// # Errors
/// Argument `path`: there is nothing.
pub fn root(written: &str, context: &Context) -> Result<PathBuf, Error> {
    let path = context.site.path(written);
    match path.metadata() {
        Ok(_) => Ok(path),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
            Err(Error::argument_message("path", format!("Path not found: {}", path.display())))
        }
        Err(e) => Err(super::text::failed("path", &path, &e)),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::tool::folder::Folder;
    use crate::tool::tests::context_at;
    use crate::tool::{Asker, cancelled};

    fn files(folder: &Folder) -> Vec<String> {
        let context = context_at(folder, Asker::Model);
        let found = below(&folder.at(""), &context, &|_, of| !of.is_dir()).unwrap();
        let mut names: Vec<String> = found.into_iter().map(|f| f.relative).collect();
        names.sort();
        names
    }

    #[test]
    fn gitignore_counts_without_a_repository_and_git_is_left_out() {
        let folder = Folder::new();
        for name in [".git/HEAD", ".hidden/x", "a.R", "build/out.o", "sub/keep.log", "sub/drop.tmp", "x y/ü.txt"] {
            folder.write(name, "");
        }
        folder.write(".gitignore", "build/\n*.tmp\n");
        folder.write("sub/.gitignore", "!drop.tmp\n");
        folder.write(".ignore", "*.R\n");
        folder.link("", "sub/loop");
        assert_eq!(
            files(&folder),
            [
                ".gitignore",
                ".hidden/x",
                ".ignore",
                "a.R",
                "sub/.gitignore",
                "sub/drop.tmp",
                "sub/keep.log",
                "sub/loop",
                "x y/ü.txt"
            ]
        );
    }

    #[test]
    fn a_cancelled_walk_ends() {
        let folder = Folder::new();
        folder.write("a", "");
        let context = context_at(&folder, Asker::Model);
        context.cancel.cancel();
        assert_eq!(below(&folder.at(""), &context, &|_, _| true).err(), Some(cancelled()));
    }

    #[test]
    fn globs_are_about_names_or_paths() {
        let is = |glob: &str, path: &str| Glob::new(glob, false, "glob").unwrap().is_match(path);
        assert!(is("*.R", "a/b/c.R") && !is("*.R", "a/c.r") && !is("*.R", "a.R/b"));
        assert!(is("a/*.R", "a/c.R") && !is("a/*.R", "a/b/c.R") && is("a/**/*.R", "a/b/c.R") && is("a/**", "a/b/c"));
        assert!(is("/c.R", "c.R") && !is("/c.R", "a/c.R"));
        assert!(is("*.{R,Rmd}", "x.Rmd") && is("[ab].txt", "a.txt"));
        assert!(Glob::new("readme*", true, "glob").unwrap().is_match("README.md"));
        assert!(matches!(Glob::new("[a", false, "glob"), Err(Error::InvalidArgument { arg, .. }) if arg == "glob"));
    }
}
