//! One-shot grants: a person who approved code that changes gptr's own guards approved those calls by name, once.

use std::cell::RefCell;

/// The grants of a run.
#[derive(Debug, Default)]
pub struct Grants(RefCell<Vec<Grant>>);

#[derive(Debug)]
struct Grant {
    /// The model's own tool call that the approved code belongs to.
    call: String,
    /// The function that may be called.
    export: String,
}

/// The model's own call: that of a nested one is the part before the first `/`.
fn outermost(call: &str) -> &str {
    call.split('/').next().unwrap_or(call)
}

impl Grants {
    /// Grants each of these functions once, for as long as the call lasts.
    pub fn issue<'a>(&self, call: &str, exports: impl IntoIterator<Item = &'a str>) {
        let call = outermost(call);
        let mut grants = self.0.borrow_mut();
        for export in exports {
            if !grants.iter().any(|g| g.call == call && g.export == export) {
                grants.push(Grant { call: call.to_owned(), export: export.to_owned() });
            }
        }
    }

    /// Uses a grant up. False when there is none.
    pub fn take(&self, export: &str) -> bool {
        let mut grants = self.0.borrow_mut();
        let found = grants.iter().position(|g| g.export == export);
        if let Some(at) = found {
            grants.swap_remove(at);
        }
        found.is_some()
    }

    /// Ends those of a call.
    pub fn end(&self, call: &str) {
        self.0.borrow_mut().retain(|g| g.call != call);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grant_is_used_once_and_ends_with_the_outermost_call() {
        let grants = Grants::default();
        grants.issue("c1", ["gptr_register", "gptr_register", "gptr_reload"]);
        assert!(grants.take("gptr_register"));
        assert!(!grants.take("gptr_register"), "named twice, granted once");
        assert!(!grants.take("gptr_trust"));
        grants.end("c1");
        assert!(!grants.take("gptr_reload"));
        grants.issue("c2/1", ["gptr_reload"]);
        grants.end("c1");
        assert!(grants.take("gptr_reload"));
        grants.issue("c2/1", ["gptr_reload"]);
        grants.end("c2");
        assert!(!grants.take("gptr_reload"), "a nested call's grant ends with the call around it");
    }
}
