//! How dangerous it is to read or write a path.

use std::path::Path;

use super::site::{Area, Site, real};
use crate::value::Value;

/// Files of this name hold keys and passwords, wherever they are.
const SECRET_NAMES: [&str; 16] = [
    ".env",
    ".renviron",
    ".netrc",
    "_netrc",
    ".pgpass",
    ".my.cnf",
    ".git-credentials",
    ".npmrc",
    ".pypirc",
    ".htpasswd",
    "id_rsa",
    "id_dsa",
    "id_ecdsa",
    "id_ed25519",
    "credentials",
    "auth.json",
];

/// So do those that end like this.
const SECRET_ENDS: [&str; 6] = [".pem", ".key", ".p12", ".pfx", ".keystore", ".kdbx"];

/// And everything in folders of this name.
const SECRET_FOLDERS: [&str; 4] = [".ssh", ".gnupg", ".aws", ".kube"];

/// What follows `.env.` when the file is there to be shown.
const ENV_SAMPLES: [&str; 4] = ["example", "sample", "template", "dist"];

/// Files that tell an agent what to do.
const INSTRUCTIONS: [&str; 4] = ["agents.override.md", "agents.md", "claude.md", "claude.local.md"];

/// In `.gptr`: what changes gptr's own guards.
const OWN_CONTROL: [&str; 4] = ["mcp.json", "extensions", "plugins", ".env"];

/// The level of reading a file: 0 in the project, 1 outside, 2 for a protected one.
pub fn read(input: &Value, site: &Site) -> u8 {
    let Some(path) = target(input, site) else { return 2 };
    if is_secret(&path) { 2 } else { outside(&path, site) }
}

/// The level of looking for files: 0 in the project, 1 outside.
pub fn search(input: &Value, site: &Site) -> u8 {
    target(input, site).map_or(1, |path| outside(&path, site))
}

/// The level of writing a file: 2 in the project, 3 outside and for protected files and instructions, 4 for what
/// changes gptr's own guards or runs by itself.
pub fn write(input: &Value, site: &Site) -> u8 {
    let Some(path) = target(input, site) else { return 3 };
    if is_control(&path, site) {
        4
    } else if is_secret(&path) || is_instruction(&path) || site.area(&path) == Area::Outside {
        3
    } else {
        2
    }
}

/// The real path that an input names; without one it is the working directory.
fn target(input: &Value, site: &Site) -> Option<std::path::PathBuf> {
    match input.get("path") {
        None | Some(Value::Null) => Some(real(&site.cwd)),
        Some(path) => Some(real(&site.path(path.as_str()?))),
    }
}

fn outside(path: &Path, site: &Site) -> u8 {
    u8::from(site.area(path) == Area::Outside)
}

/// The parts of a path in lower case: some file systems don't tell case apart.
fn parts(path: &Path) -> Vec<String> {
    path.components().map(|c| c.as_os_str().to_string_lossy().to_lowercase()).collect()
}

/// True for a file that holds secrets, by its name.
pub fn is_secret(path: &Path) -> bool {
    let parts = parts(path);
    let Some((name, folders)) = parts.split_last() else { return false };
    let env = name.strip_prefix(".env.").is_some_and(|rest| !ENV_SAMPLES.contains(&rest));
    let process = folders.get(1).is_some_and(|f| f == "proc") && name == "environ";
    env || process
        || SECRET_NAMES.contains(&name.as_str())
        || SECRET_ENDS.iter().any(|end| name.ends_with(end))
        || folders.iter().any(|f| SECRET_FOLDERS.contains(&f.as_str()))
}

/// True for a file that tells an agent what to do, or belongs to git or gptr.
pub fn is_instruction(path: &Path) -> bool {
    let parts = parts(path);
    let Some((name, folders)) = parts.split_last() else { return false };
    let inside = |folder: &str| folders.iter().any(|f| f == folder);
    INSTRUCTIONS.contains(&name.as_str()) || inside(".gptr") || inside(".git") || name == ".git"
}

/// Settings and extensions of gptr, and what R and git run by themselves.
fn is_control(path: &Path, site: &Site) -> bool {
    if site.config.as_ref().is_some_and(|c| path.starts_with(c)) {
        return true;
    }
    let parts = parts(path);
    let after = |folder: &str| parts.iter().rposition(|p| p == folder).and_then(|at| parts.get(at + 1));
    let own = after(".gptr").is_some_and(|p| OWN_CONTROL.contains(&p.as_str()) || p.starts_with("settings"));
    let hook = after(".git").is_some_and(|p| p == "hooks" || p == "config");
    own || hook || parts.last().is_some_and(|name| name == ".rprofile" || name == "rprofile.site")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::tool::folder::Folder;
    use crate::value::json;

    fn site(folder: &Folder) -> Site {
        folder.write("p/DESCRIPTION", "");
        let facts = json!({
            "cwd": folder.at("p").to_str(), "home": "/nowhere", "temp": folder.at("t").to_str(),
            "config": folder.at("config").to_str()
        });
        Site::read(&facts).unwrap()
    }

    #[test]
    fn reading_by_place_and_name() {
        let folder = Folder::new();
        let site = site(&folder);
        let level = |p: &str| read(&json!({"path": p}), &site);
        for (path, expected) in [
            ("R/a.R", 0),
            ("../t/x", 0),
            ("../other/x", 1),
            ("/etc/hosts", 1),
            (".env", 2),
            ("sub/.ENV.local", 2),
            (".env.example", 0),
            ("~/.ssh/config", 2),
            ("server.key", 2),
            ("/proc/self/environ", 2),
            (".Renviron", 2),
        ] {
            assert_eq!(level(path), expected, "{path}");
        }
        folder.link("p/.env", "p/plain");
        folder.write("p/.env", "K=1");
        assert_eq!(level("plain"), 2, "a link is what it leads to");
        assert_eq!(read(&json!({"path": 1}), &site), 2);
    }

    #[test]
    fn searching_is_capped_at_one() {
        let folder = Folder::new();
        let site = site(&folder);
        assert_eq!(search(&json!({}), &site), 0);
        assert_eq!(search(&json!({"path": "/"}), &site), 1);
        assert_eq!(search(&json!({"path": "../out/.ssh"}), &site), 1);
    }

    #[test]
    fn writing_by_place_and_name() {
        let folder = Folder::new();
        let site = site(&folder);
        for (path, expected) in [
            ("R/new.R", 2),
            ("../t/x", 2),
            ("../other/x", 3),
            (".env", 3),
            ("AGENTS.md", 3),
            (".git/info/exclude", 3),
            (".gptr/vignette.Rmd", 3),
            (".gptr/settings.json", 4),
            (".gptr/settings.local.json", 4),
            (".gptr/extensions/a.R", 4),
            (".Rprofile", 4),
            (".git/hooks/pre-commit", 4),
            ("../config/settings.json", 4),
            ("x/../.gptr/settings.json", 4),
        ] {
            assert_eq!(write(&json!({"path": path}), &site), expected, "{path}");
        }
        assert_eq!(write(&json!({}), &site), 2);
        assert_eq!(write(&json!({"path": [1]}), &site), 3);
    }
}
