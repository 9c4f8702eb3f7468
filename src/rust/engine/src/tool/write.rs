//! `write`: a file replaced in one step.

use std::fs::{File, Metadata, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use super::site::real;
use super::text::{failed, string};
use super::{Answer, Context, Output};
use crate::clock::fresh_id;
use crate::error::Error;
use crate::value::{HostValue, Value, json};

/// Writes `content` to `path`.
///
/// # Errors
/// Argument `path`: a directory, not writable, no place.
pub fn write(input: &Value, context: &Context) -> Answer {
    let path = context.site.path(string(input, "path").unwrap_or_default());
    let content = string(input, "content").unwrap_or_default();
    context.check()?;
    let created = replace(&path, content.as_bytes())?;
    let shown = path.to_string_lossy().into_owned();
    if context.asker.takes_value() {
        return Ok(Output::value(HostValue::named([("path", shown.into())])));
    }
    let mut output = Output::text(format!("Successfully wrote to {shown}"));
    let details = json!({"path": shown, "bytes": content.len(), "created": created});
    output.details = details.as_object().cloned().unwrap_or_default();
    Ok(output)
}

/// Replaces what a path leads to, or makes it: whoever reads it sees the old or the new content, whole. Its mode and
/// owner stay; missing folders are made. True when there was none.
///
/// # Errors
/// Argument `path`: what the system says.
pub fn replace(path: &Path, content: &[u8]) -> Result<bool, Error> {
    let target = real(path);
    let failed = |e: &std::io::Error| failed("path", path, e);
    let old = match target.symlink_metadata() {
        Ok(meta) => Some(meta),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => None,
        Err(e) => return Err(failed(&e)),
    };
    if let Some(old) = &old {
        may_replace(path, &target, old)?;
    }
    let folder = target.parent().ok_or_else(|| failed(&std::io::ErrorKind::IsADirectory.into()))?;
    if old.is_none() {
        if path.to_string_lossy().ends_with('/') || target.file_name().is_none() {
            return Err(failed(&std::io::ErrorKind::IsADirectory.into()));
        }
        std::fs::create_dir_all(folder).map_err(|e| failed(&e))?;
    }
    let new = Temporary::new(folder, &target, old.as_ref()).map_err(|e| failed(&e))?;
    new.become_file(&target, content, old.as_ref()).map_err(|e| failed(&e))?;
    Ok(old.is_none())
}

/// Renaming over a file needs no right to write to it: that is asked for here.
fn may_replace(path: &Path, target: &Path, old: &Metadata) -> Result<(), Error> {
    if old.is_dir() {
        return Err(failed("path", path, &std::io::ErrorKind::IsADirectory.into()));
    }
    if !old.is_file() {
        return Err(Error::argument_message("path", format!("EINVAL: not a regular file: {}", path.display())));
    }
    if old.permissions().readonly() {
        return Err(failed("path", path, &std::io::ErrorKind::PermissionDenied.into()));
    }
    OpenOptions::new().write(true).open(target).map(drop).map_err(|e| failed("path", path, &e))
}

/// A file beside its target, gone when it did not become it.
struct Temporary {
    path: PathBuf,
    file: File,
    kept: bool,
}

impl Temporary {
    fn new(folder: &Path, target: &Path, old: Option<&Metadata>) -> std::io::Result<Self> {
        let name = target.file_name().unwrap_or_default().to_string_lossy();
        // A long name has no room for more in most file systems.
        let name: String = name.chars().take(40).collect();
        let path = folder.join(format!(".{name}.{}", fresh_id("gptr", 8)));
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        no_wider_than(&mut options, old);
        Ok(Temporary { file: options.open(&path)?, path, kept: false })
    }

    fn become_file(mut self, target: &Path, content: &[u8], old: Option<&Metadata>) -> std::io::Result<()> {
        self.file.write_all(content)?;
        if let Some(old) = old {
            keep_owner(&self.file, old);
            self.file.set_permissions(old.permissions())?;
        }
        self.file.sync_all()?;
        std::fs::rename(&self.path, target)?;
        self.kept = true;
        // The rename itself is on disk only once the folder is. Not all systems can open one.
        if let Some(folder) = target.parent().and_then(|f| File::open(f).ok()) {
            let _ = folder.sync_all();
        }
        Ok(())
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.kept {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// The new content of a private file is never readable for others, not even for a moment.
#[cfg(unix)]
fn no_wider_than(options: &mut OpenOptions, old: Option<&Metadata>) {
    use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
    if let Some(old) = old {
        options.mode(old.mode() & 0o600);
    }
}

#[cfg(not(unix))]
fn no_wider_than(_: &mut OpenOptions, _: Option<&Metadata>) {}

/// Only the superuser can give a file away; for all others the owner is the same anyway.
#[cfg(unix)]
fn keep_owner(file: &File, old: &Metadata) {
    use std::os::unix::fs::{MetadataExt, fchown};
    let same = file.metadata().is_ok_and(|m| (m.uid(), m.gid()) == (old.uid(), old.gid()));
    if !same {
        let _ = fchown(file, Some(old.uid()), Some(old.gid()));
    }
}

#[cfg(not(unix))]
fn keep_owner(_: &File, _: &Metadata) {}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::tool::Asker;
    use crate::tool::folder::Folder;
    use crate::tool::tests::context_at;

    fn put(folder: &Folder, path: &str, content: &str) -> Answer {
        write(&json!({"path": path, "content": content}), &context_at(folder, Asker::Model))
    }

    fn names(folder: &Folder) -> Vec<String> {
        let mut names: Vec<String> =
            std::fs::read_dir(folder.at("")).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_is_made_with_its_folders_and_replaced_as_given() {
        let folder = Folder::new();
        let output = put(&folder, "a b/c/é.txt", "x\r\ny\n").unwrap();
        assert_eq!(output.details["created"], true);
        assert_eq!(output.details["bytes"], 5);
        assert_eq!(output, Output { content: output.content.clone(), ..output.clone() });
        assert_eq!(folder.bytes("a b/c/é.txt"), b"x\r\ny\n");
        assert_eq!(put(&folder, "a b/c/é.txt", "").unwrap().details["created"], false);
        assert_eq!(folder.bytes("a b/c/é.txt"), b"");
        assert_eq!(names(&folder), ["a b"], "no temporary file is left");
    }

    #[test]
    #[cfg(unix)]
    fn the_mode_is_kept_and_a_link_stays_one() {
        use std::os::unix::fs::PermissionsExt;
        let folder = Folder::new();
        folder.write("sub/script.sh", "old");
        std::fs::set_permissions(folder.at("sub/script.sh"), PermissionsExt::from_mode(0o750)).unwrap();
        folder.link("sub/script.sh", "link");
        folder.link("sub/new.txt", "dangling");
        put(&folder, "link", "new").unwrap();
        put(&folder, "dangling", "made").unwrap();
        assert_eq!((folder.bytes("sub/script.sh"), folder.bytes("sub/new.txt")), (b"new".to_vec(), b"made".to_vec()));
        assert_eq!(folder.at("sub/script.sh").metadata().unwrap().permissions().mode() & 0o777, 0o750);
        assert!(folder.at("link").symlink_metadata().unwrap().is_symlink());
        assert_eq!(names(&folder), ["dangling", "link", "sub"]);
    }

    #[test]
    #[cfg(unix)]
    fn what_can_not_be_written_stays_as_it_is() {
        use std::os::unix::fs::PermissionsExt;
        let folder = Folder::new();
        folder.write("locked", "old");
        std::fs::set_permissions(folder.at("locked"), PermissionsExt::from_mode(0o444)).unwrap();
        folder.write("sub/x", "");
        let error = |path: &str| put(&folder, path, "new").unwrap_err().to_string();
        assert!(error("locked").starts_with("EACCES: "));
        assert!(error("sub").starts_with("EISDIR: "));
        assert!(error("locked/x").starts_with("ENOTDIR: "), "{}", error("locked/x"));
        assert!(error("/dev/null").starts_with("EINVAL: "));
        assert_eq!(folder.bytes("locked"), b"old");
        assert_eq!(names(&folder), ["locked", "sub"]);
    }
}
