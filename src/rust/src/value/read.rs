//! R objects as the engine sees them. Reading never expands a compact vector and never copies a large one.

use std::borrow::Cow;
use std::ffi::{CStr, c_char};

use base64::Engine;
use extendr_api::prelude::*;
use extendr_ffi::{
    INTEGER_ELT, LOGICAL_ELT, PRINTNAME, R_CHAR, R_MissingArg, R_NaString, RAW, REAL_ELT, Rf_getAttrib, Rf_install,
    Rf_isS4, Rf_xlength, SEXP, SEXPTYPE, STRING_ELT, TYPEOF, VECTOR_ELT, cetype_t, get_closure_formals,
};
use gptr_engine::value::{Formal, HostData, HostValue, Opaque, Signature};

use super::instant;

/// Vectors longer than this, and data frames of more cells, stay with R: the engine sees type and length.
const LONGEST: isize = 1_000_000;

/// As many elements are read of one value in all; vectors that come later stay with R.
const MOST_ELEMENTS: isize = 4_000_000;

/// Nesting beyond this stays with R.
pub const DEEPEST: usize = 1_000;

/// Bit pattern of a missing `integer64`.
const NA_LONG: i64 = i64::MIN;

/// Reads the elements of a vector of so many.
pub type Elements = unsafe fn(SEXP, isize) -> HostData;

/// Classes of vectors whose elements mean something else than their type says, and how they are read.
pub const CONVERTED: &[(&str, Elements)] =
    &[("factor", labels), ("Date", dates), ("POSIXct", times), ("difftime", seconds), ("integer64", longs)];

// R's API that extendr's declarations lack.
#[allow(improper_ctypes, reason = "SEXP is a pointer that only R looks behind")]
unsafe extern "C" {
    fn Rf_getCharCE(x: SEXP) -> cetype_t;
    fn Rf_translateCharUTF8(x: SEXP) -> *const c_char;
}

/// What the engine sees of an R object.
pub fn host_value(x: &Robj) -> HostValue {
    // SAFETY: called on R's thread with a live object; reads only.
    unsafe { Reader { left: MOST_ELEMENTS, longest: LONGEST }.value(x.get(), 0) }
}

/// All of an object that stands so deep in another one, whatever its size.
pub unsafe fn whole(x: SEXP, depth: usize) -> HostValue {
    unsafe { Reader { left: isize::MAX, longest: isize::MAX }.value(x, depth) }
}

/// True when R code has to prepare an object before [`host_value`] can read all of it.
pub fn needs_r(x: &Robj) -> bool {
    // SAFETY: as in `host_value`.
    unsafe { holds_unreadable(x.get(), &mut MOST_ELEMENTS.clone(), 0) }
}

unsafe fn holds_unreadable(x: SEXP, left: &mut isize, depth: usize) -> bool {
    unsafe {
        match TYPEOF(x) {
            SEXPTYPE::BUILTINSXP | SEXPTYPE::SPECIALSXP => true,
            SEXPTYPE::VECSXP => {
                let n = Rf_xlength(x);
                if n > *left || depth > DEEPEST {
                    return false;
                }
                *left -= n;
                has_class(x, "POSIXlt") || (0..n).any(|i| holds_unreadable(VECTOR_ELT(x, i), left, depth + 1))
            }
            _ => false,
        }
    }
}

struct Reader {
    /// How many more elements may be read.
    left: isize,
    /// How many of one vector.
    longest: isize,
}

impl Reader {
    unsafe fn value(&mut self, x: SEXP, depth: usize) -> HostValue {
        unsafe {
            match TYPEOF(x) {
                SEXPTYPE::NILSXP => HostValue::null(),
                SEXPTYPE::CLOSXP => with_class(HostData::Function(formals(get_closure_formals(x))), x),
                SEXPTYPE::BUILTINSXP | SEXPTYPE::SPECIALSXP => {
                    HostData::Function(Signature::new([("...", true)])).into()
                }
                SEXPTYPE::SYMSXP => HostData::Symbol(string(PRINTNAME(x)).unwrap_or_default()).into(),
                SEXPTYPE::LANGSXP => with_class(HostData::Call(called_name(x)), x),
                kind if is_vector(kind) && !bool::from(Rf_isS4(x)) => self.vector(x, kind, depth),
                kind => opaque(word(kind), x),
            }
        }
    }

    unsafe fn vector(&mut self, x: SEXP, kind: SEXPTYPE, depth: usize) -> HostValue {
        unsafe {
            let n = Rf_xlength(x);
            let class = class_of(x);
            let has = |name: &str| class.iter().any(|c| c == name);
            let longest = self.longest.min(self.left);
            if kind == SEXPTYPE::VECSXP && has("data.frame") && n > 0 && n.saturating_mul(frame_rows(x)) > longest {
                return opaque("data.frame", x);
            }
            if has("POSIXlt") {
                return opaque("POSIXlt", x);
            }
            if n > longest || depth > DEEPEST {
                return opaque(word(kind), x);
            }
            self.left -= n;
            let data = match conversion(kind, &class) {
                Some(convert) => convert(x, n),
                None => self.elements(x, kind, n, depth),
            };
            shaped(x, HostValue { data, names: names_of(x, n), class })
        }
    }

    unsafe fn elements(&mut self, x: SEXP, kind: SEXPTYPE, n: isize, depth: usize) -> HostData {
        unsafe {
            match kind {
                SEXPTYPE::LGLSXP => HostData::Logical((0..n).map(|i| logical(LOGICAL_ELT(x, i))).collect()),
                SEXPTYPE::INTSXP => HostData::Integer((0..n).map(|i| integer(INTEGER_ELT(x, i))).collect()),
                SEXPTYPE::REALSXP => HostData::Double((0..n).map(|i| double(REAL_ELT(x, i))).collect()),
                SEXPTYPE::STRSXP => HostData::Character((0..n).map(|i| string(STRING_ELT(x, i))).collect()),
                SEXPTYPE::RAWSXP => HostData::Encoded(vec![Some(base64(x, n))]),
                _ => HostData::List((0..n).map(|i| self.value(VECTOR_ELT(x, i), depth + 1)).collect()),
            }
        }
    }
}

/// How the elements of a vector of this type and class are read, when not by their type.
pub fn conversion(kind: SEXPTYPE, class: &[String]) -> Option<Elements> {
    let found = CONVERTED.iter().find(|(name, _)| is_number(kind) && class.iter().any(|c| c == name));
    found.map(|(_, convert)| *convert)
}

fn is_vector(kind: SEXPTYPE) -> bool {
    is_number(kind) || matches!(kind, SEXPTYPE::LGLSXP | SEXPTYPE::STRSXP | SEXPTYPE::RAWSXP | SEXPTYPE::VECSXP)
}

fn is_number(kind: SEXPTYPE) -> bool {
    matches!(kind, SEXPTYPE::INTSXP | SEXPTYPE::REALSXP)
}

// ---- elements --------------------------------------------------------------------------------------------------------

pub fn logical(x: i32) -> Option<bool> {
    (x != i32::MIN).then_some(x != 0)
}

pub fn integer(x: i32) -> Option<i64> {
    (x != i32::MIN).then_some(i64::from(x))
}

/// NA of a double is one NaN among others: its payload is 1954.
pub fn double(x: f64) -> Option<f64> {
    (!(x.is_nan() && x.to_bits() & 0xFFFF_FFFF == 1954)).then_some(x)
}

pub unsafe fn string(x: SEXP) -> Option<String> {
    unsafe { text(x).map(Cow::into_owned) }
}

/// An element of a character vector as valid UTF-8; `None` for NA. It borrows from the vector, which has to live on.
pub unsafe fn text<'x>(x: SEXP) -> Option<Cow<'x, str>> {
    unsafe {
        if x == R_NaString {
            return None;
        }
        // SAFETY: a CHARSXP has as many bytes as its length says.
        let own = || std::slice::from_raw_parts(R_CHAR(x).cast::<u8>(), Rf_xlength(x) as usize);
        Some(match Rf_getCharCE(x) {
            // R reads latin1 as Windows-1252, and knows the session's encoding. It returns what it has when that is
            // UTF-8 or plain ASCII.
            cetype_t::CE_LATIN1 | cetype_t::CE_NATIVE => {
                let translated = Rf_translateCharUTF8(x);
                let bytes = if translated == R_CHAR(x) { own() } else { CStr::from_ptr(translated).to_bytes() };
                valid(bytes)
            }
            _ => valid(own()),
        })
    }
}

/// Text with U+FFFD for what is none. Looking first is quicker where all is well.
fn valid(bytes: &[u8]) -> Cow<'_, str> {
    std::str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed)
}

/// A single string, which lives as long as the object.
pub fn string_of(x: &Robj) -> Option<Cow<'_, str>> {
    // SAFETY: as in `host_value`; the object is borrowed for as long as the text.
    unsafe {
        let x = x.get();
        if TYPEOF(x) == SEXPTYPE::STRSXP && Rf_xlength(x) == 1 { text(STRING_ELT(x, 0)) } else { None }
    }
}

pub unsafe fn strings(x: SEXP) -> Vec<String> {
    unsafe {
        if TYPEOF(x) != SEXPTYPE::STRSXP {
            return Vec::new();
        }
        (0..Rf_xlength(x)).map(|i| string(STRING_ELT(x, i)).unwrap_or_default()).collect()
    }
}

unsafe fn base64(x: SEXP, n: isize) -> String {
    // SAFETY (of the slice): a raw vector has `n` bytes; the pointer of an empty one may dangle.
    let bytes = if n == 0 { &[] } else { unsafe { std::slice::from_raw_parts(RAW(x), n as usize) } };
    base64::engine::general_purpose::STANDARD.encode(bytes)
}

/// An element of an integer or double vector.
unsafe fn number(x: SEXP, i: isize) -> Option<f64> {
    unsafe {
        if TYPEOF(x) == SEXPTYPE::INTSXP {
            integer(INTEGER_ELT(x, i)).map(|i| i as f64)
        } else {
            double(REAL_ELT(x, i))
        }
    }
}

unsafe fn encoded(x: SEXP, n: isize, text: fn(f64) -> Option<String>) -> HostData {
    unsafe { HostData::Encoded((0..n).map(|i| number(x, i).and_then(text)).collect()) }
}

unsafe fn dates(x: SEXP, n: isize) -> HostData {
    unsafe { encoded(x, n, instant::date) }
}

unsafe fn times(x: SEXP, n: isize) -> HostData {
    unsafe { encoded(x, n, instant::time) }
}

unsafe fn labels(x: SEXP, n: isize) -> HostData {
    unsafe {
        let levels = strings(Rf_getAttrib(x, extendr_ffi::R_LevelsSymbol));
        let label = |code: f64| levels.get((code as usize).checked_sub(1)?).cloned();
        HostData::Character((0..n).map(|i| number(x, i).and_then(label)).collect())
    }
}

unsafe fn seconds(x: SEXP, n: isize) -> HostData {
    const UNITS: [(&str, f64); 4] = [("mins", 60.0), ("hours", 3600.0), ("days", 86_400.0), ("weeks", 604_800.0)];
    unsafe {
        let unit = strings(Rf_getAttrib(x, Rf_install(c"units".as_ptr())));
        let factor = UNITS.iter().find(|(name, _)| unit.first().is_some_and(|u| u == name)).map_or(1.0, |(_, f)| *f);
        HostData::Double((0..n).map(|i| number(x, i).map(|v| v * factor)).collect())
    }
}

/// Package bit64 keeps whole numbers of 64 bits in the bits of doubles.
unsafe fn longs(x: SEXP, n: isize) -> HostData {
    unsafe {
        if TYPEOF(x) == SEXPTYPE::INTSXP {
            return HostData::Integer((0..n).map(|i| integer(INTEGER_ELT(x, i))).collect());
        }
        let long = |i| Some(REAL_ELT(x, i).to_bits() as i64).filter(|v| *v != NA_LONG);
        HostData::Integer((0..n).map(long).collect())
    }
}

// ---- attributes ------------------------------------------------------------------------------------------------------

pub unsafe fn class_of(x: SEXP) -> Vec<String> {
    unsafe { strings(Rf_getAttrib(x, extendr_ffi::R_ClassSymbol)) }
}

unsafe fn has_class(x: SEXP, name: &str) -> bool {
    unsafe { class_of(x).iter().any(|c| c == name) }
}

unsafe fn with_class(data: HostData, x: SEXP) -> HostValue {
    HostValue { data, names: None, class: unsafe { class_of(x) } }
}

/// The names of a vector, or of an array with one dimension.
unsafe fn names_of(x: SEXP, n: isize) -> Option<Vec<String>> {
    unsafe {
        let names = Rf_getAttrib(x, extendr_ffi::R_NamesSymbol);
        (TYPEOF(names) == SEXPTYPE::STRSXP && Rf_xlength(names) == n).then(|| strings(names))
    }
}

unsafe fn frame_rows(x: SEXP) -> isize {
    unsafe { Rf_xlength(VECTOR_ELT(x, 0)) }
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

// ---- arrays ----------------------------------------------------------------------------------------------------------

/// A vector in the form that its dimensions and its type give it.
unsafe fn shaped(x: SEXP, mut v: HostValue) -> HostValue {
    let dims = unsafe { dims_of(x) };
    if unsafe { TYPEOF(x) } == SEXPTYPE::RAWSXP {
        return HostValue { names: None, class: if v.class.is_empty() { vec!["raw".into()] } else { v.class }, ..v };
    }
    match dims.as_slice() {
        [] => v,
        [_] => {
            if v.names.is_none() {
                v.class.push("AsIs".to_owned());
            }
            v
        }
        [_, _] => grid(v, &dims, &["matrix", "array"]),
        _ => grid(v, &dims, &["array"]),
    }
}

unsafe fn dims_of(x: SEXP) -> Vec<usize> {
    unsafe {
        let dims = Rf_getAttrib(x, extendr_ffi::R_DimSymbol);
        if TYPEOF(dims) != SEXPTYPE::INTSXP {
            return Vec::new();
        }
        (0..Rf_xlength(dims)).map(|i| usize::try_from(INTEGER_ELT(dims, i)).unwrap_or(0)).collect()
    }
}

fn grid(v: HostValue, dims: &[usize], class: &[&str]) -> HostValue {
    let rows = level(&v.data, dims, 1, 0);
    HostValue { class: v.class.into_iter().chain(class.iter().map(|c| (*c).to_owned())).collect(), ..rows }
}

/// The part of an array that begins at element `base`: R keeps the first dimension together, JSON the last.
fn level(data: &HostData, dims: &[usize], stride: usize, base: usize) -> HostValue {
    let Some((count, inner)) = dims.split_first() else { return HostValue::null() };
    if inner.is_empty() {
        let at: Vec<usize> = (0..*count).map(|i| base + i * stride).collect();
        return HostValue { class: vec!["AsIs".to_owned()], ..picked(data, &at).into() };
    }
    let parts = (0..*count).map(|i| level(data, inner, stride * count, base + i * stride));
    HostValue { class: vec!["array".to_owned()], ..HostValue::list(parts) }
}

fn picked(data: &HostData, at: &[usize]) -> HostData {
    fn pick<T: Clone + Default>(x: &[T], at: &[usize]) -> Vec<T> {
        at.iter().map(|i| x.get(*i).cloned().unwrap_or_default()).collect()
    }
    match data {
        HostData::Logical(x) => HostData::Logical(pick(x, at)),
        HostData::Integer(x) => HostData::Integer(pick(x, at)),
        HostData::Double(x) => HostData::Double(pick(x, at)),
        HostData::Character(x) => HostData::Character(pick(x, at)),
        HostData::Encoded(x) => HostData::Encoded(pick(x, at)),
        HostData::List(x) => HostData::List(pick(x, at)),
        other => other.clone(),
    }
}

// ---- what stays with R -----------------------------------------------------------------------------------------------

unsafe fn opaque(kind: &str, x: SEXP) -> HostValue {
    let length = unsafe { Rf_xlength(x) };
    let data = HostData::Opaque(Opaque { kind: kind.to_owned(), length: usize::try_from(length).unwrap_or(0) });
    unsafe { with_class(data, x) }
}

fn word(kind: SEXPTYPE) -> &'static str {
    match kind {
        SEXPTYPE::ENVSXP => "environment",
        SEXPTYPE::CPLXSXP => "complex",
        SEXPTYPE::RAWSXP => "raw",
        SEXPTYPE::EXTPTRSXP => "external pointer",
        SEXPTYPE::WEAKREFSXP => "weak reference",
        SEXPTYPE::EXPRSXP => "expression",
        SEXPTYPE::LISTSXP | SEXPTYPE::DOTSXP => "pairlist",
        SEXPTYPE::BCODESXP => "byte code",
        SEXPTYPE::PROMSXP => "promise",
        SEXPTYPE::LGLSXP => "logical",
        SEXPTYPE::INTSXP => "integer",
        SEXPTYPE::REALSXP => "numeric",
        SEXPTYPE::STRSXP => "character",
        SEXPTYPE::VECSXP => "list",
        _ => "S4 object",
    }
}
