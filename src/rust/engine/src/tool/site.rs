//! Where a tool works: the directory that relative paths start at, the project, and what paths mean to it.
//!
//! The engine never reads the process environment, so that the host says where it is, call by call.

use std::path::{Component, Path, PathBuf};

use crate::value::Value;

/// Links that are followed before a chain counts as a loop.
const LINKS: usize = 40;

/// What makes a directory the root of a project.
const MARKERS: [&str; 4] = [".gptr", "DESCRIPTION", ".git", "_quarto.yml"];

/// Tokens that a reading of a file may have for a model, when the host says nothing.
const READ_TOKENS: u64 = 12_000;

/// Where a tool works.
#[derive(Debug, Clone, PartialEq)]
pub struct Site {
    /// The host's working directory.
    pub cwd: PathBuf,
    /// The person's home directory.
    pub home: Option<PathBuf>,
    /// The host's temporary directory.
    pub temp: Option<PathBuf>,
    /// The person's configuration of gptr.
    pub config: Option<PathBuf>,
    /// The directory whose files a session may read freely: the project's root, else the working directory. None when
    /// that holds the home directory.
    pub root: Option<PathBuf>,
    /// Tokens that a reading of a file may have for a model.
    pub read_tokens: u64,
    /// True when pages of private and local addresses are fetched, too.
    pub fetch_private: bool,
}

/// Where a path leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Area {
    /// Into the project.
    Project,
    /// Into the host's temporary directory.
    Temporary,
    /// Elsewhere.
    Outside,
}

impl Site {
    /// A site that knows nothing but its working directory.
    pub fn at(cwd: impl Into<PathBuf>) -> Self {
        Site {
            cwd: cwd.into(),
            home: None,
            temp: None,
            config: None,
            root: None,
            read_tokens: READ_TOKENS,
            fetch_private: false,
        }
        .rooted()
    }

    /// Reads what a host says: `cwd`, `home`, `temp`, `config`, `root` (the person's own choice), `read_tokens` and
    /// `fetch_private`.
    /// None without a `cwd`.
    pub fn read(facts: &Value) -> Option<Self> {
        let path = |name: &str| {
            let text = facts.get(name)?.as_str().filter(|t| !t.is_empty())?;
            Some(PathBuf::from(text))
        };
        let site = Site {
            cwd: path("cwd")?,
            home: path("home"),
            temp: path("temp"),
            config: path("config"),
            root: path("root"),
            read_tokens: facts.get("read_tokens").and_then(Value::as_u64).unwrap_or(READ_TOKENS),
            fetch_private: facts.get("fetch_private").and_then(Value::as_bool).unwrap_or(false),
        };
        Some(site.rooted())
    }

    /// All directories without links, and the root found.
    fn rooted(self) -> Self {
        let home = self.home.as_deref().map(real);
        let cwd = real(&self.cwd);
        let found = self.root.as_deref().map(real).unwrap_or_else(|| project_of(&cwd, home.as_deref()));
        // A session that starts in the home directory, or above it, has no project around it.
        let holds_home = home.as_ref().is_some_and(|h| h.starts_with(&found));
        Site {
            temp: self.temp.as_deref().map(real),
            config: self.config.as_deref().map(real),
            root: Some(found).filter(|_| !holds_home),
            home,
            ..self
        }
    }

    /// The absolute path for what a caller wrote: relative paths start at the working directory, `~` is the home
    /// directory. Links are not followed; `.` and needless separators go.
    pub fn path(&self, written: &str) -> PathBuf {
        let written = match (&self.home, written.strip_prefix('~')) {
            (Some(home), Some("")) => home.clone(),
            (Some(home), Some(rest)) if rest.starts_with(['/', std::path::MAIN_SEPARATOR]) => home.join(&rest[1..]),
            _ => PathBuf::from(written),
        };
        self.cwd.join(written).components().collect()
    }

    /// Where a path leads, links followed.
    pub fn area(&self, real: &Path) -> Area {
        let within = |folder: &Option<PathBuf>| folder.as_ref().is_some_and(|f| real.starts_with(f));
        if within(&self.root) {
            Area::Project
        } else if within(&self.temp) {
            Area::Temporary
        } else {
            Area::Outside
        }
    }
}

/// The nearest directory from `cwd` upwards that is marked as a project, else `cwd`. The search stops below the home
/// directory.
fn project_of(cwd: &Path, home: Option<&Path>) -> PathBuf {
    let marked = |folder: &&Path| MARKERS.iter().any(|m| folder.join(m).exists()) || has_rproj(folder);
    let below = cwd.ancestors().take_while(|f| Some(*f) != home);
    below.into_iter().find(marked).unwrap_or(cwd).to_owned()
}

fn has_rproj(folder: &Path) -> bool {
    let Ok(entries) = std::fs::read_dir(folder) else { return false };
    entries.flatten().any(|e| Path::new(&e.file_name()).extension().is_some_and(|x| x == "Rproj"))
}

/// The path that a path leads to: links are followed, also those that lead to nothing yet; `..` is taken after that, as
/// the system does. What does not exist stays as written.
pub fn real(path: &Path) -> PathBuf {
    resolve(path, &mut LINKS.clone())
}

fn resolve(path: &Path, links: &mut usize) -> PathBuf {
    // Nearly all paths exist as a whole or but for their last part.
    if let Ok(real) = path.canonicalize() {
        return real;
    }
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(out.pop()),
            Component::Normal(name) => {
                out.push(name);
                if let Ok(target) = std::fs::read_link(&out)
                    && *links > 0
                {
                    *links -= 1;
                    out.pop();
                    out = resolve(&out.join(target), links);
                }
            }
            root => out.push(root),
        }
    }
    out
}

/// A path as it is shown: with `/` everywhere, relative to a directory where it lies in it.
pub fn shown(path: &Path, from: &Path) -> String {
    let path = path.strip_prefix(from).unwrap_or(path);
    let text = if path.as_os_str().is_empty() { ".".into() } else { path.to_string_lossy() };
    if std::path::MAIN_SEPARATOR == '/' { text.into_owned() } else { text.replace(std::path::MAIN_SEPARATOR, "/") }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::tool::folder::Folder;
    use crate::value::json;

    fn site(cwd: &Path, home: &Path) -> Site {
        Site::read(&json!({"cwd": cwd.to_str(), "home": home.to_str()})).unwrap()
    }

    #[test]
    fn paths_start_at_the_working_directory_or_at_home() {
        let site = Site { home: Some("/h".into()), ..Site::at("/w") };
        let path = |p: &str| site.path(p).to_string_lossy().into_owned();
        assert_eq!(path("a b/ü.txt"), "/w/a b/ü.txt");
        assert_eq!(path("./a//b/"), "/w/a/b");
        assert_eq!(path("/x"), "/x");
        assert_eq!((path("~"), path("~/x"), path("~x")), ("/h".into(), "/h/x".into(), "/w/~x".into()));
        assert_eq!(path("../x"), "/w/../x");
    }

    #[test]
    fn the_project_is_the_nearest_marked_directory_below_home() {
        let home = Folder::new();
        home.write("p/.git/HEAD", "");
        home.write("p/a/b/x.R", "");
        home.write("q/my.Rproj", "");
        home.write("plain/x", "");
        home.write(".gptr/settings.json", "");
        let root =
            |cwd: &str| site(&home.at(cwd), &home.at("")).root.map(|r| r.strip_prefix(home.at("")).unwrap().to_owned());
        assert_eq!(root("p/a/b"), Some("p".into()));
        assert_eq!(root("q"), Some("q".into()));
        assert_eq!(root("plain"), Some("plain".into()));
        assert_eq!(root(""), None, "the home directory is no project");
    }

    #[test]
    fn areas_follow_links() {
        let folder = Folder::new();
        folder.write("p/DESCRIPTION", "");
        folder.write("out/x", "");
        folder.link("out", "p/link");
        folder.link("out/not yet", "p/dangling");
        let site = Site { temp: Some(folder.at("t")), ..site(&folder.at("p"), Path::new("/nowhere")) };
        let area = |p: &str| site.area(&real(&site.path(p)));
        assert_eq!(area("new/file"), Area::Project);
        assert_eq!(area("link/x"), Area::Outside);
        assert_eq!(area("dangling"), Area::Outside);
        assert_eq!(area("../out/x"), Area::Outside);
        assert_eq!(area("new/../../p/x"), Area::Project);
        assert_eq!(area("../t/x"), Area::Temporary);
    }

    #[test]
    fn a_loop_of_links_ends() {
        let folder = Folder::new();
        folder.link("b", "a");
        folder.link("a", "b");
        assert!(real(&folder.at("a/x")).starts_with(folder.at("")));
    }
}
