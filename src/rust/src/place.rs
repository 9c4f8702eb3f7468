//! Which of the calls that lead to a registration may say where it was written.

use extendr_api::prelude::*;
use extendr_ffi::{CAR, CDR, R_NilValue, Rf_getAttrib, Rf_install, SEXP, SEXPTYPE, TYPEOF};

use crate::answer::guarded;

/// The functions whose calls matter: what runs below them was loaded or sourced.
const LOADERS: [&std::ffi::CStr; 3] = [c"loadNamespace", c"source", c"sys.source"];

/// The positions of those calls of `sys.calls()`, innermost first, that have a source reference, that load or source
/// something, or whose function is computed.
#[extendr]
fn calls_of_note(calls: Robj) -> Robj {
    guarded(|| {
        // SAFETY: on R's thread; a pairlist is only read, and the symbols live as long as R does.
        let mut found = unsafe { noted(calls.get()) };
        found.reverse();
        Ok(found.into())
    })
}

unsafe fn noted(mut pairs: SEXP) -> Vec<i32> {
    unsafe {
        let loaders = LOADERS.map(|name| Rf_install(name.as_ptr()));
        let srcref = Rf_install(c"srcref".as_ptr());
        let mut found = Vec::new();
        let mut position = 0;
        while TYPEOF(pairs) == SEXPTYPE::LISTSXP {
            position += 1;
            let call = CAR(pairs);
            let plain = TYPEOF(call) == SEXPTYPE::LANGSXP && {
                let function = CAR(call);
                TYPEOF(function) == SEXPTYPE::SYMSXP && !loaders.contains(&function)
            };
            if !plain || Rf_getAttrib(call, srcref) != R_NilValue {
                found.push(position);
            }
            pairs = CDR(pairs);
        }
        found
    }
}

extendr_module! {
    mod place;
    fn calls_of_note;
}
