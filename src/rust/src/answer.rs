//! What every binding returns: a value, or an error as data; never an R error, never a panic.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use extendr_api::prelude::*;
use gptr_engine::engine::Engine;
use gptr_engine::error::Error;
use gptr_engine::provider::http;
use gptr_engine::value::{Value, json};

use crate::value::robj;

thread_local! {
    static ENGINE: RefCell<Option<Rc<Engine>>> = const { RefCell::new(None) };
}

unsafe extern "C" {
    fn gptr_block_signals();
}

/// Signals are for R's thread alone.
fn on_thread_start() {
    // SAFETY: changes the signal mask of the calling thread only.
    unsafe { gptr_block_signals() }
}

/// The engine of this process, made at first use.
pub fn engine() -> Rc<Engine> {
    ENGINE.with(|cell| {
        cell.borrow_mut().get_or_insert_with(|| Engine::new(on_thread_start, http::Settings::default())).clone()
    })
}

/// The engine, when there is one already.
pub fn started() -> Option<Rc<Engine>> {
    ENGINE.try_with(|cell| cell.try_borrow().ok().and_then(|e| e.clone())).ok().flatten()
}

/// Runs a binding's body. A panic becomes an error of class `internal`.
pub fn guarded(body: impl FnOnce() -> Result<Robj, Error>) -> Robj {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(value)) => value,
        Ok(Err(error)) => failed(&error),
        Err(panic) => {
            let text = panic
                .downcast_ref::<String>()
                .cloned()
                .or_else(|| panic.downcast_ref::<&str>().map(|s| (*s).to_owned()))
                .unwrap_or_else(|| "a panic without a message".to_owned());
            failed(&Error::internal(text))
        }
    }
}

/// A JSON answer.
pub fn answer(body: impl FnOnce() -> Result<Value, Error>) -> Robj {
    guarded(|| body().map(|v| robj(&v)))
}

/// An error as data.
pub fn failed(error: &Error) -> Robj {
    let c = error.condition();
    let mut out = robj(&json!({"classes": c.classes, "message": c.message, "fields": c.fields}));
    // Setting a class on a fresh list does not fail.
    let _ = out.set_class(["gptr_engine_error"]);
    out
}
