//! Events, and how the answers of hooks are folded into one outcome. No host is called here.

pub mod catalogue;
mod collect;
pub mod fold;
pub mod matcher;
pub mod patch;

pub use catalogue::Semantics;
pub use fold::{Answer, Flow, Fold, Matched, Outcome};
pub use matcher::{Matcher, Verdict};

/// A fault of an extension that does not stop what was being done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// Whose fault it is: the record's source, e.g. `plugin:demo`.
    pub source: String,
    /// The event or other place where it showed.
    pub event: String,
    /// Its class: the first class of the condition, or a word of this program's.
    pub class: String,
    /// What happened.
    pub message: String,
}
