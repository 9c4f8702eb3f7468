//! A folder for a test, removed with what is in it.

use std::path::PathBuf;

pub(crate) struct Folder(PathBuf);

#[allow(clippy::unwrap_used)]
impl Folder {
    pub(crate) fn new() -> Self {
        let path = std::env::temp_dir().join(crate::clock::fresh_id("gptr-test-", 12));
        std::fs::create_dir(&path).unwrap();
        Folder(path.canonicalize().unwrap())
    }

    pub(crate) fn at(&self, name: &str) -> PathBuf {
        if name.is_empty() { self.0.clone() } else { self.0.join(name) }
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.at(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        path
    }

    pub(crate) fn bytes(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.at(name)).unwrap()
    }

    #[cfg(unix)]
    pub(crate) fn link(&self, to: &str, name: &str) {
        std::os::unix::fs::symlink(self.at(to), self.at(name)).unwrap();
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
