//! R objects to the engine's values and back. Nothing here can raise an R error but a lack of memory.

use base64::Engine;
use extendr_api::prelude::*;
use extendr_ffi::{
    INTEGER_ELT, LOGICAL_ELT, PRINTNAME, R_CHAR, R_MissingArg, R_NilValue, REAL_ELT, Rf_allocVector, Rf_getAttrib,
    Rf_mkCharLenCE, Rf_protect, Rf_setAttrib, Rf_unprotect, Rf_xlength, SET_STRING_ELT, SET_VECTOR_ELT, SEXP, SEXPTYPE,
    STRING_ELT, TYPEOF, VECTOR_ELT, cetype_t, get_closure_formals,
};
use gptr_engine::value::{Formal, HostData, HostValue, Map, Opaque, Signature, Value};

/// Vectors longer than this stay with R: the engine sees type and length.
const LONGEST: isize = 1_000_000;

/// Nesting beyond this stays with R.
const DEEPEST: usize = 1_000;

// R's API that extendr's declarations lack.
#[allow(improper_ctypes, reason = "SEXP is a pointer that only R looks behind")]
unsafe extern "C" {
    fn Rf_getCharCE(x: SEXP) -> cetype_t;
    fn Rf_ScalarLogical(x: i32) -> SEXP;
    fn Rf_ScalarInteger(x: i32) -> SEXP;
    fn Rf_ScalarReal(x: f64) -> SEXP;
}

/// What the engine sees of an R object.
pub fn host_value(x: &Robj) -> HostValue {
    // SAFETY: called on R's thread with a live object; reads only.
    unsafe { read(x.get(), 0) }
}

/// An R object for JSON: objects become named lists, arrays unnamed lists, scalars vectors of length one, null NULL.
pub fn robj(v: &Value) -> Robj {
    // SAFETY: on R's thread; each new object is protected until its parent holds it.
    unsafe { owned(build(v)) }
}

/// An R object for a value that came from R, without the functions: those are NULL.
pub fn robj_host(v: &HostValue) -> Robj {
    // SAFETY: as in `robj`.
    unsafe { owned(build_host(v)) }
}

unsafe fn owned(x: SEXP) -> Robj {
    unsafe { Robj::from_sexp(x) }
}

// ---- reading ---------------------------------------------------------------------------------------------------

unsafe fn read(x: SEXP, depth: usize) -> HostValue {
    unsafe {
        let kind = TYPEOF(x);
        let n = if kind == SEXPTYPE::NILSXP { 0 } else { Rf_xlength(x) };
        let class = class_of(x);
        if n > LONGEST || depth > DEEPEST {
            return opaque(kind, n, class);
        }
        let data = match kind {
            SEXPTYPE::NILSXP => HostData::Null,
            SEXPTYPE::LGLSXP => HostData::Logical((0..n).map(|i| logical(LOGICAL_ELT(x, i))).collect()),
            SEXPTYPE::INTSXP if class.iter().any(|c| c == "factor") => return factor(x, n),
            SEXPTYPE::INTSXP => HostData::Integer((0..n).map(|i| integer(INTEGER_ELT(x, i))).collect()),
            SEXPTYPE::REALSXP => HostData::Double((0..n).map(|i| double(REAL_ELT(x, i))).collect()),
            SEXPTYPE::STRSXP => HostData::Character((0..n).map(|i| string(STRING_ELT(x, i))).collect()),
            SEXPTYPE::VECSXP => HostData::List((0..n).map(|i| read(VECTOR_ELT(x, i), depth + 1)).collect()),
            SEXPTYPE::CLOSXP => HostData::Function(formals(get_closure_formals(x))),
            SEXPTYPE::BUILTINSXP | SEXPTYPE::SPECIALSXP => HostData::Function(Signature::new([("...", true)])),
            SEXPTYPE::SYMSXP => HostData::Symbol(string(PRINTNAME(x)).unwrap_or_default()),
            SEXPTYPE::LANGSXP => HostData::Call(called_name(x)),
            _ => return opaque(kind, n, class),
        };
        HostValue { data, names: names_of(x, n), class }
    }
}

/// The name of what a call calls; empty when that is computed. Deparsing it all would need R code.
unsafe fn called_name(call: SEXP) -> String {
    unsafe {
        let function = extendr_ffi::CAR(call);
        if TYPEOF(function) == SEXPTYPE::SYMSXP {
            string(PRINTNAME(function)).unwrap_or_default()
        } else {
            String::new()
        }
    }
}

fn logical(x: i32) -> Option<bool> {
    (x != i32::MIN).then_some(x != 0)
}

fn integer(x: i32) -> Option<i32> {
    (x != i32::MIN).then_some(x)
}

/// NA of a double is one NaN among others: its payload is 1954.
fn double(x: f64) -> Option<f64> {
    (!(x.is_nan() && x.to_bits() & 0xFFFF_FFFF == 1954)).then_some(x)
}

unsafe fn string(x: SEXP) -> Option<String> {
    unsafe {
        if x == extendr_ffi::R_NaString {
            return None;
        }
        let bytes = std::ffi::CStr::from_ptr(R_CHAR(x)).to_bytes();
        Some(match Rf_getCharCE(x) {
            cetype_t::CE_LATIN1 => bytes.iter().map(|b| char::from(*b)).collect(),
            _ => String::from_utf8_lossy(bytes).into_owned(),
        })
    }
}

unsafe fn strings(x: SEXP) -> Vec<String> {
    unsafe {
        if TYPEOF(x) != SEXPTYPE::STRSXP {
            return Vec::new();
        }
        (0..Rf_xlength(x)).map(|i| string(STRING_ELT(x, i)).unwrap_or_default()).collect()
    }
}

unsafe fn class_of(x: SEXP) -> Vec<String> {
    unsafe {
        if TYPEOF(x) == SEXPTYPE::NILSXP { Vec::new() } else { strings(Rf_getAttrib(x, extendr_ffi::R_ClassSymbol)) }
    }
}

unsafe fn names_of(x: SEXP, n: isize) -> Option<Vec<String>> {
    unsafe {
        if !matches!(
            TYPEOF(x),
            SEXPTYPE::LGLSXP | SEXPTYPE::INTSXP | SEXPTYPE::REALSXP | SEXPTYPE::STRSXP | SEXPTYPE::VECSXP
        ) {
            return None;
        }
        let names = Rf_getAttrib(x, extendr_ffi::R_NamesSymbol);
        (TYPEOF(names) == SEXPTYPE::STRSXP && Rf_xlength(names) == n).then(|| strings(names))
    }
}

unsafe fn factor(x: SEXP, n: isize) -> HostValue {
    unsafe {
        let levels = strings(Rf_getAttrib(x, extendr_ffi::R_LevelsSymbol));
        let label = |code: i32| levels.get(usize::try_from(code).ok()?.checked_sub(1)?).cloned();
        let labels = (0..n).map(|i| integer(INTEGER_ELT(x, i)).and_then(label)).collect();
        HostValue { data: HostData::Character(labels), names: names_of(x, n), class: Vec::new() }
    }
}

unsafe fn formals(mut pairs: SEXP) -> Signature {
    unsafe {
        let mut out = Vec::new();
        while TYPEOF(pairs) == SEXPTYPE::LISTSXP {
            let name = string(PRINTNAME(extendr_ffi::TAG(pairs))).unwrap_or_default();
            out.push(Formal { required: name != "..." && extendr_ffi::CAR(pairs) == R_MissingArg, name });
            pairs = extendr_ffi::CDR(pairs);
        }
        Signature { formals: out }
    }
}

fn opaque(kind: SEXPTYPE, n: isize, class: Vec<String>) -> HostValue {
    let word = match kind {
        SEXPTYPE::ENVSXP => "environment",
        SEXPTYPE::CPLXSXP => "complex",
        SEXPTYPE::RAWSXP => "raw",
        SEXPTYPE::EXTPTRSXP => "external pointer",
        SEXPTYPE::EXPRSXP => "expression",
        SEXPTYPE::PROMSXP => "promise",
        SEXPTYPE::LGLSXP => "logical",
        SEXPTYPE::INTSXP => "integer",
        SEXPTYPE::REALSXP => "numeric",
        SEXPTYPE::STRSXP => "character",
        SEXPTYPE::VECSXP => "list",
        _ => "S4 object",
    };
    let data = HostData::Opaque(Opaque { kind: word.to_owned(), length: usize::try_from(n).unwrap_or(0) });
    HostValue { data, names: None, class }
}

// ---- building --------------------------------------------------------------------------------------------------

unsafe fn build(v: &Value) -> SEXP {
    unsafe {
        match v {
            Value::Null => R_NilValue,
            Value::Bool(b) => Rf_ScalarLogical(i32::from(*b)),
            Value::Number(n) => number(n),
            Value::String(s) => one_string(s),
            Value::Array(items) => {
                let out = Rf_protect(Rf_allocVector(SEXPTYPE::VECSXP, items.len() as isize));
                for (i, item) in items.iter().enumerate() {
                    SET_VECTOR_ELT(out, i as isize, build(item));
                }
                Rf_unprotect(1);
                out
            }
            Value::Object(fields) => {
                let out = Rf_protect(Rf_allocVector(SEXPTYPE::VECSXP, fields.len() as isize));
                for (i, item) in fields.values().enumerate() {
                    SET_VECTOR_ELT(out, i as isize, build(item));
                }
                name_list(out, fields);
                Rf_unprotect(1);
                out
            }
        }
    }
}

/// Whole numbers are integers within R's range, doubles up to 2^53, text beyond.
unsafe fn number(n: &gptr_engine::value::Number) -> SEXP {
    unsafe {
        if let Some(i) = n.as_i64() {
            return match i32::try_from(i) {
                Ok(small) if small != i32::MIN => Rf_ScalarInteger(small),
                _ if i.unsigned_abs() <= 1 << 53 => Rf_ScalarReal(i as f64),
                _ => one_string(&n.to_string()),
            };
        }
        if n.is_u64() {
            return one_string(&n.to_string());
        }
        Rf_ScalarReal(n.as_f64().unwrap_or(f64::NAN))
    }
}

unsafe fn charsxp(s: &str) -> SEXP {
    // R strings can't hold NUL.
    let clean = if s.contains('\0') { std::borrow::Cow::from(s.replace('\0', "\u{FFFD}")) } else { s.into() };
    unsafe { Rf_mkCharLenCE(clean.as_ptr().cast(), clean.len() as i32, cetype_t::CE_UTF8) }
}

unsafe fn one_string(s: &str) -> SEXP {
    unsafe {
        let out = Rf_protect(Rf_allocVector(SEXPTYPE::STRSXP, 1));
        SET_STRING_ELT(out, 0, charsxp(s));
        Rf_unprotect(1);
        out
    }
}

unsafe fn name_list(list: SEXP, fields: &Map<String, Value>) {
    unsafe { set_names(list, fields.keys().map(String::as_str)) }
}

unsafe fn set_names<'a>(x: SEXP, names: impl ExactSizeIterator<Item = &'a str>) {
    unsafe {
        let out = Rf_protect(Rf_allocVector(SEXPTYPE::STRSXP, names.len() as isize));
        for (i, name) in names.enumerate() {
            SET_STRING_ELT(out, i as isize, charsxp(name));
        }
        Rf_setAttrib(x, extendr_ffi::R_NamesSymbol, out);
        Rf_unprotect(1);
    }
}

unsafe fn build_host(v: &HostValue) -> SEXP {
    unsafe {
        let out = match &v.data {
            HostData::Null | HostData::Function(_) | HostData::Opaque(_) | HostData::Call(_) => return R_NilValue,
            HostData::Symbol(s) => return one_string(s),
            HostData::Logical(x) => {
                let r: Robj = x.iter().map(|b| b.map_or(Rbool::na(), Rbool::from)).collect::<Logicals>().into();
                Rf_protect(r.get())
            }
            HostData::Integer(x) => {
                let r: Robj = x.iter().map(|i| i.map_or(Rint::na(), Rint::from)).collect::<Integers>().into();
                Rf_protect(r.get())
            }
            HostData::Double(x) => {
                let r: Robj = x.iter().map(|d| d.map_or(Rfloat::na(), Rfloat::from)).collect::<Doubles>().into();
                Rf_protect(r.get())
            }
            HostData::Character(x) => {
                let out = Rf_protect(Rf_allocVector(SEXPTYPE::STRSXP, x.len() as isize));
                for (i, s) in x.iter().enumerate() {
                    SET_STRING_ELT(out, i as isize, s.as_ref().map_or(extendr_ffi::R_NaString, |s| charsxp(s)));
                }
                out
            }
            HostData::List(items) => {
                let out = Rf_protect(Rf_allocVector(SEXPTYPE::VECSXP, items.len() as isize));
                for (i, item) in items.iter().enumerate() {
                    SET_VECTOR_ELT(out, i as isize, build_host(item));
                }
                out
            }
        };
        if let Some(names) = &v.names {
            set_names(out, names.iter().map(String::as_str));
        }
        if !v.class.is_empty() {
            let class = Rf_protect(Rf_allocVector(SEXPTYPE::STRSXP, v.class.len() as isize));
            for (i, c) in v.class.iter().enumerate() {
                SET_STRING_ELT(class, i as isize, charsxp(c));
            }
            Rf_setAttrib(out, extendr_ffi::R_ClassSymbol, class);
            Rf_unprotect(1);
        }
        Rf_unprotect(1);
        out
    }
}

/// A named list of R objects.
pub fn named_list(items: Vec<(&str, Robj)>) -> Robj {
    List::from_pairs(items).into()
}

/// TRUE when a list holds, at any depth, a primitive function, or text that is not UTF-8. Text without a mark is in the
/// encoding of the locale.
#[extendr]
fn needs_translation(x: Robj, utf8_locale: Robj) -> bool {
    // SAFETY: called on R's thread with a live object; reads only.
    unsafe { foreign(x.get(), utf8_locale.as_bool() == Some(true), 0) }
}

unsafe fn foreign(x: SEXP, utf8_locale: bool, depth: usize) -> bool {
    unsafe {
        match TYPEOF(x) {
            SEXPTYPE::BUILTINSXP | SEXPTYPE::SPECIALSXP => true,
            SEXPTYPE::VECSXP if depth <= DEEPEST => {
                (0..Rf_xlength(x)).any(|i| foreign(VECTOR_ELT(x, i), utf8_locale, depth + 1))
            }
            SEXPTYPE::STRSXP => (0..Rf_xlength(x).min(LONGEST)).any(|i| {
                let s = STRING_ELT(x, i);
                match Rf_getCharCE(s) {
                    cetype_t::CE_UTF8 => false,
                    cetype_t::CE_NATIVE if utf8_locale => false,
                    _ => s != extendr_ffi::R_NaString && !std::ffi::CStr::from_ptr(R_CHAR(s)).to_bytes().is_ascii(),
                }
            }),
            _ => false,
        }
    }
}

/// Base64 of raw bytes, without line breaks.
#[extendr]
fn base64(bytes: Robj) -> Robj {
    crate::answer::answer(|| {
        let bytes = bytes.as_raw_slice().unwrap_or_default();
        Ok(Value::from(base64::engine::general_purpose::STANDARD.encode(bytes)))
    })
}

extendr_module! {
    mod value;
    fn base64;
    fn needs_translation;
}
