//! R objects to the engine's values and back. Nothing here can raise an R error but a lack of memory.

mod build;
mod instant;
mod read;
mod tape;
mod write;

use base64::Engine;
use extendr_api::prelude::*;
use gptr_engine::error::Error;
use gptr_engine::value::{Value, json};

pub use build::{robj, robj_host};
pub use read::{host_value, needs_r};

/// A named list of R objects.
pub fn named_list(items: Vec<(&str, Robj)>) -> Robj {
    List::from_pairs(items).into()
}

/// Base64 of raw bytes, without line breaks.
#[extendr]
fn base64(bytes: Robj) -> Robj {
    crate::answer::answer(|| {
        let bytes = bytes.as_raw_slice().unwrap_or_default();
        Ok(Value::from(base64::engine::general_purpose::STANDARD.encode(bytes)))
    })
}

/// The JSON text of an R object, or list(path, problem) when there is none.
#[extendr]
fn value_to_json(x: Robj) -> Robj {
    crate::answer::answer(|| match write::json_text(&x) {
        Ok(text) => Ok(Value::String(text)),
        Err(e) => Ok(json!({"path": e.path, "problem": e.problem})),
    })
}

/// The same by way of the engine's value: what the rules and policies see of the object.
#[extendr]
fn value_to_json_by_tree(x: Robj) -> Robj {
    crate::answer::answer(|| match host_value(&x).to_json() {
        Ok(value) => Ok(Value::String(value.to_string())),
        Err(e) => Ok(json!({"path": e.path, "problem": e.problem})),
    })
}

/// The R object for a JSON text, read as the arguments of a tool call are. With `vectors`, arrays of one scalar type are
/// atomic vectors.
#[extendr]
fn value_from_json(text: Robj, vectors: Robj) -> Robj {
    crate::answer::guarded(|| {
        let vectors = crate::arg::flag(&vectors, "vectors")?;
        let text =
            read::string_of(&text).ok_or_else(|| Error::argument("text", "a single string", "something else"))?;
        let tape = tape::read(&text).map_err(|e| Error::argument_message("text", format!("`text` is {e}.")))?;
        Ok(build::from_tape(&tape, vectors))
    })
}

/// TRUE when a value holds something that only R code can make readable: date-times kept as lists (their zones), and
/// primitive functions (their formals).
#[extendr]
fn value_needs_r(x: Robj) -> bool {
    read::needs_r(&x)
}

extendr_module! {
    mod value;
    fn base64;
    fn value_to_json;
    fn value_to_json_by_tree;
    fn value_from_json;
    fn value_needs_r;
}
