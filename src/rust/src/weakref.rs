//! Weak references: how R finds a session by its id without keeping it alive.

use extendr_api::prelude::*;
use extendr_ffi::SEXP;

#[allow(improper_ctypes, reason = "SEXP is a pointer that only R looks behind")]
unsafe extern "C" {
    fn gptr_weakref_make(key: SEXP) -> SEXP;
    fn gptr_weakref_get(reference: SEXP) -> SEXP;
}

/// A weak reference to an environment.
#[extendr]
fn weakref_new(key: Robj) -> Robj {
    // SAFETY: on R's thread with a live object; R allocates and returns a live one.
    unsafe { Robj::from_sexp(gptr_weakref_make(key.get())) }
}

/// What it refers to, or NULL when that is gone.
#[extendr]
fn weakref_get(reference: Robj) -> Robj {
    // SAFETY: as above; anything but a weak reference gives NULL.
    unsafe { Robj::from_sexp(gptr_weakref_get(reference.get())) }
}

extendr_module! {
    mod weakref;
    fn weakref_new;
    fn weakref_get;
}
