//! Weak references: how R finds a session by its id without keeping it alive.

use extendr_api::prelude::*;
use extendr_ffi::SEXP;
use gptr_engine::error::Error;

use crate::answer::guarded;

#[allow(improper_ctypes, reason = "SEXP is a pointer that only R looks behind")]
unsafe extern "C" {
    fn gptr_weakref_make(key: SEXP) -> SEXP;
    fn gptr_weakref_get(reference: SEXP) -> SEXP;
}

/// A weak reference to an environment.
#[extendr]
fn weakref_new(key: Robj) -> Robj {
    guarded(|| {
        if !key.is_environment() {
            return Err(Error::argument_message("key", "Only environments can be referred to weakly."));
        }
        // SAFETY: on R's thread with a live environment; R allocates and returns a live reference.
        Ok(unsafe { Robj::from_sexp(gptr_weakref_make(key.get())) })
    })
}

/// What it refers to, or NULL when that is gone.
#[extendr]
fn weakref_get(reference: Robj) -> Robj {
    if reference.rtype() != Rtype::WeakRef {
        return ().into();
    }
    // SAFETY: on R's thread with a live weak reference.
    unsafe { Robj::from_sexp(gptr_weakref_get(reference.get())) }
}

extendr_module! {
    mod weakref;
    fn weakref_new;
    fn weakref_get;
}
