//! The log of things that stopped nothing and are worth knowing.

use std::collections::VecDeque;

/// How many rows are kept.
const KEPT: usize = 1000;

/// Something worth knowing that stopped nothing.
#[derive(Debug, Clone, PartialEq)]
pub struct Diagnostic {
    /// Seconds since 1970.
    pub time: f64,
    /// Who it is about.
    pub source: String,
    /// In which event or step.
    pub event: String,
    /// What kind of trouble.
    pub class: String,
    /// What happened.
    pub message: String,
}

/// The last rows.
#[derive(Debug, Default)]
pub struct Log(VecDeque<Diagnostic>);

impl Log {
    /// Adds a row; the oldest goes when there are too many.
    pub fn push(&mut self, row: Diagnostic) {
        if self.0.len() == KEPT {
            self.0.pop_front();
        }
        self.0.push_back(row);
    }

    /// The rows, oldest first.
    pub fn rows(&self) -> Vec<Diagnostic> {
        self.0.iter().cloned().collect()
    }
}
