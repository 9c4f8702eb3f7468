//! Full texts of results that were cut: small ones in memory, large ones in files.

use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};

use crate::clock;

/// Bytes from which on a text lies in a file.
const SPILL_FROM: usize = 64 * 1024;

/// Where a text is.
enum Kept {
    Text(String),
    File(PathBuf),
}

/// The newest full texts of a session.
#[derive(Default)]
pub struct Outputs(VecDeque<(String, Kept)>);

/// What keeping a text gave.
#[derive(Debug, Clone, PartialEq)]
pub struct Receipt {
    /// The id that the text goes by: `o` and 8 hex digits.
    pub id: String,
    /// The file, for a large one.
    pub spill: Option<String>,
}

impl Outputs {
    /// Keeps a text, and the newest `limit` at most. A large one goes into a file of `folder`; where that can't be
    /// written it stays in memory.
    pub fn keep(&mut self, text: String, limit: usize, folder: Option<&Path>) -> Receipt {
        let id = clock::fresh_id("o", 8);
        let file = folder.filter(|_| text.len() > SPILL_FROM).and_then(|folder| spill(folder, &id, &text));
        let receipt = Receipt { id: id.clone(), spill: file.as_ref().map(|f| f.to_string_lossy().into_owned()) };
        self.0.push_back((id, file.map_or(Kept::Text(text), Kept::File)));
        while self.0.len() > limit.max(1) {
            self.drop_oldest();
        }
        receipt
    }

    /// The text of this id.
    pub fn get(&self, id: &str) -> Option<String> {
        match &self.0.iter().find(|(have, _)| have == id)?.1 {
            Kept::Text(text) => Some(text.clone()),
            Kept::File(file) => fs::read_to_string(file).ok(),
        }
    }

    fn drop_oldest(&mut self) {
        if let Some((_, Kept::File(file))) = self.0.pop_front() {
            // It lies in a folder for temporary files: one that stays does no harm.
            fs::remove_file(file).unwrap_or_default();
        }
    }
}

impl Drop for Outputs {
    fn drop(&mut self) {
        while !self.0.is_empty() {
            self.drop_oldest();
        }
    }
}

fn spill(folder: &Path, id: &str, text: &str) -> Option<PathBuf> {
    fs::create_dir_all(folder).ok()?;
    let file = folder.join(format!("gptr-{id}.txt"));
    fs::write(&file, text).ok()?;
    Some(file)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_texts_are_kept() {
        let mut outputs = Outputs::default();
        let ids: Vec<String> = (0..4).map(|i| outputs.keep(i.to_string(), 3, None).id).collect();
        assert_eq!(outputs.get(&ids[0]), None);
        assert_eq!(outputs.get(&ids[3]).as_deref(), Some("3"));
    }

    #[test]
    fn a_large_text_lies_in_a_file_that_goes_with_it() {
        let folder = std::env::temp_dir().join(clock::fresh_id("gptr-test-", 8));
        let mut outputs = Outputs::default();
        let large = "x".repeat(SPILL_FROM + 1);
        let kept = outputs.keep(large.clone(), 1, Some(&folder));
        let file = PathBuf::from(kept.spill.unwrap());
        assert!(file.exists());
        assert_eq!(outputs.get(&kept.id), Some(large.clone()));
        outputs.keep("small".into(), 1, Some(&folder));
        assert!(!file.exists());
        let again = PathBuf::from(outputs.keep(large, 1, Some(&folder)).spill.unwrap());
        drop(outputs);
        assert!(!again.exists());
        fs::remove_dir(folder).unwrap();
    }

    #[test]
    fn a_folder_that_is_none_costs_nothing() {
        let kept = Outputs::default().keep("x".repeat(SPILL_FROM + 1), 1, Some(Path::new("/dev/null/none")));
        assert_eq!(kept.spill, None);
    }
}
