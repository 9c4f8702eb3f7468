//! Schemas that this thread compiled already, by their text: a tool's schema is compiled when its spec is built, when it is
//! registered, and, if a function makes it, at each session and call.

use std::cell::RefCell;
use std::collections::HashMap;

use super::Schema;

/// So many are kept; then all are dropped, since those in use are held by their tools.
const MOST: usize = 256;

thread_local! {
    // Compiling has no effect but its result: who shares it can't tell.
    static COMPILED: RefCell<HashMap<String, Schema>> = RefCell::default();
}

/// The schema of this text, or what `compile` makes of it.
///
/// # Errors
/// As `compile` has them; they are not kept.
pub(super) fn or_compile(text: String, compile: impl FnOnce() -> Result<Schema, String>) -> Result<Schema, String> {
    if let Some(schema) = COMPILED.with_borrow(|known| known.get(&text).cloned()) {
        return Ok(schema);
    }
    let schema = compile()?;
    COMPILED.with_borrow_mut(|known| {
        if known.len() >= MOST {
            known.clear();
        }
        known.insert(text, schema.clone());
    });
    Ok(schema)
}
