//! JSON and the engine's values as R objects.

use std::hash::{BuildHasher, RandomState};

use extendr_api::prelude::*;
use extendr_ffi::{
    INTEGER, LOGICAL, R_CHAR, R_NaReal, R_NaString, R_NilValue, REAL, Rf_allocVector, Rf_mkCharLenCE, Rf_protect,
    Rf_setAttrib, Rf_unprotect, Rf_xlength, SET_STRING_ELT, SET_VECTOR_ELT, SEXP, SEXPTYPE, VECTOR_ELT, cetype_t,
};
use gptr_engine::value::{HostData, HostValue, Number, Value};

use super::read::CONVERTED;
use super::tape::{DEEPEST, Kind, Piece, Tape};

/// NA of integers and logicals.
const NA: i32 = i32::MIN;

// R's API that extendr's declarations lack.
#[allow(improper_ctypes, reason = "SEXP is a pointer that only R looks behind")]
unsafe extern "C" {
    fn Rf_ScalarLogical(x: i32) -> SEXP;
    fn Rf_ScalarInteger(x: i32) -> SEXP;
    fn Rf_ScalarReal(x: f64) -> SEXP;
}

/// An R object for JSON: objects become named lists, arrays unnamed lists, scalars vectors of length one, null NULL.
pub fn robj(v: &Value) -> Robj {
    // SAFETY: on R's thread; each new object is protected until its parent holds it.
    unsafe { owned(json(v)) }
}

/// An R object for a value that came from R, without the functions: those are NULL.
pub fn robj_host(v: &HostValue) -> Robj {
    // SAFETY: as in `robj`.
    unsafe { owned(host(v)) }
}

/// An R object for a text that was read, as `robj()` makes it. With `vectors`, arrays of one scalar type are atomic
/// vectors, in which null is NA; those of one element are marked with `I()`, so that they stay arrays on their way back.
pub fn from_tape(tape: &Tape, vectors: bool) -> Robj {
    // SAFETY: as in `robj`.
    unsafe {
        let kept = Rf_protect(Rf_allocVector(SEXPTYPE::VECSXP, DEEPEST as isize + 1));
        let mut maker =
            Maker { tape, at: 0, vectors, kept, names: Vec::new(), texts: Texts::for_pieces(tape.pieces.len()) };
        let out = owned(maker.value(0));
        Rf_unprotect(1);
        out
    }
}

/// Makes R objects of the pieces of a text, in their order.
struct Maker<'p> {
    tape: &'p Tape<'p>,
    at: usize,
    vectors: bool,
    /// By depth: the names that an object there had last, which the next one often shares.
    names: Vec<Vec<&'p str>>,
    /// The same as R's vectors.
    kept: SEXP,
    texts: Texts,
}

/// Strings that were made lately, by a hash of their text: R's own table of all strings is large, and looking into it
/// costs most of the making. They live as long as the objects that have them, which are all part of the result.
struct Texts {
    hasher: RandomState,
    made: Vec<SEXP>,
}

impl Texts {
    const MOST: usize = 1 << 18;

    fn for_pieces(count: usize) -> Self {
        let slots = if count < 1000 { 0 } else { count.next_power_of_two().min(Self::MOST) };
        Texts { hasher: RandomState::new(), made: vec![std::ptr::null_mut(); slots] }
    }

    /// The caller puts the string into an object of the result before the next one is made.
    unsafe fn charsxp(&mut self, s: &str) -> SEXP {
        if self.made.is_empty() {
            return unsafe { charsxp(s) };
        }
        let slot = self.hasher.hash_one(s) as usize & (self.made.len() - 1);
        unsafe {
            let made = self.made[slot];
            if !made.is_null() && bytes_of(made) == s.as_bytes() {
                return made;
            }
            self.made[slot] = charsxp(s);
            self.made[slot]
        }
    }
}

/// The bytes of a CHARSXP.
unsafe fn bytes_of<'x>(x: SEXP) -> &'x [u8] {
    // SAFETY: it has as many as its length says, and lives on.
    unsafe { std::slice::from_raw_parts(R_CHAR(x).cast::<u8>(), Rf_xlength(x) as usize) }
}

impl<'p> Maker<'p> {
    unsafe fn value(&mut self, depth: usize) -> SEXP {
        let tape = self.tape;
        let Some(piece) = tape.pieces.get(self.at).copied() else { return unsafe { R_NilValue } };
        self.at += 1;
        unsafe {
            match piece {
                Piece::Null => R_NilValue,
                Piece::Flag(b) => Rf_ScalarLogical(i32::from(b)),
                Piece::Integer(i) => Rf_ScalarInteger(i),
                Piece::Double(x) => Rf_ScalarReal(x),
                Piece::Digits(place) | Piece::Text(place) => self.strings(std::iter::once(Some(tape.text(place)))),
                Piece::Array(count, kind) if self.vectors && count > 0 && kind != Kind::Mixed => {
                    self.vector(count as usize, kind)
                }
                Piece::Array(count, _) => list(0..count as usize, |_| self.value(depth + 1)),
                Piece::Object(count) => self.object(count as usize, depth),
            }
        }
    }

    unsafe fn strings<'s>(&mut self, items: impl ExactSizeIterator<Item = Option<&'s str>>) -> SEXP {
        unsafe { strings_by(items, |s| self.texts.charsxp(s)) }
    }

    unsafe fn vector(&mut self, count: usize, kind: Kind) -> SEXP {
        let tape = self.tape;
        let pieces = &tape.pieces[self.at..self.at + count];
        self.at += count;
        unsafe {
            let of = |kind| Rf_allocVector(kind, pieces.len() as isize);
            let out = match kind {
                Kind::Texts => self.strings(pieces.iter().map(|p| match p {
                    Piece::Text(place) => Some(tape.text(*place)),
                    _ => None,
                })),
                Kind::Integers => {
                    let out = of(SEXPTYPE::INTSXP);
                    fill(INTEGER(out), pieces, |p| if let Piece::Integer(i) = p { *i } else { NA });
                    out
                }
                Kind::Doubles => {
                    let out = of(SEXPTYPE::REALSXP);
                    fill(REAL(out), pieces, |p| match p {
                        Piece::Integer(i) => f64::from(*i),
                        Piece::Double(x) => *x,
                        _ => R_NaReal,
                    });
                    out
                }
                Kind::Flags | Kind::Nothing | Kind::Mixed => {
                    let out = of(SEXPTYPE::LGLSXP);
                    fill(LOGICAL(out), pieces, |p| if let Piece::Flag(b) = p { i32::from(*b) } else { NA });
                    out
                }
            };
            if count == 1 {
                Rf_protect(out);
                set_class(out, ["AsIs"].into_iter());
                Rf_unprotect(1);
            }
            out
        }
    }

    unsafe fn object(&mut self, count: usize, depth: usize) -> SEXP {
        let tape = self.tape;
        if self.names.len() <= depth {
            self.names.resize_with(depth + 1, Vec::new);
        }
        // While the names are those of the last object here, they need not be collected.
        let mut same = count > 0;
        let mut names: Vec<&'p str> = Vec::new();
        unsafe {
            let out = Rf_protect(list(0..count, |i| {
                let name = tape.text_at(self.at as u32);
                self.at += 1;
                if same && self.names[depth].get(i) != Some(&name) {
                    same = false;
                    names.extend(&self.names[depth][..i]);
                }
                if !same {
                    names.push(name);
                }
                self.value(depth + 1)
            }));
            if !same || self.names[depth].len() != count {
                if same {
                    names.extend(&self.names[depth][..count]);
                }
                let at = depth as isize;
                let made = self.strings(names.iter().map(|name| Some(*name)));
                SET_VECTOR_ELT(self.kept, at, made);
                self.names[depth] = names;
            }
            Rf_setAttrib(out, extendr_ffi::R_NamesSymbol, VECTOR_ELT(self.kept, depth as isize));
            Rf_unprotect(1);
            out
        }
    }
}

/// extendr may allocate before it protects, at its first object.
unsafe fn owned(x: SEXP) -> Robj {
    unsafe {
        Rf_protect(x);
        let out = Robj::from_sexp(x);
        Rf_unprotect(1);
        out
    }
}

unsafe fn json(v: &Value) -> SEXP {
    unsafe {
        match v {
            Value::Null => R_NilValue,
            Value::Bool(b) => Rf_ScalarLogical(i32::from(*b)),
            Value::Number(n) => number(n),
            Value::String(s) => strings(std::iter::once(Some(s.as_str()))),
            Value::Array(items) => list(items.iter(), |item| json(item)),
            Value::Object(fields) => {
                let out = Rf_protect(list(fields.values(), |item| json(item)));
                set_names(out, fields.keys().map(String::as_str));
                Rf_unprotect(1);
                out
            }
        }
    }
}

/// Whole numbers are integers within R's range, doubles up to 2^53, text beyond.
unsafe fn number(n: &Number) -> SEXP {
    unsafe {
        match n.as_i64() {
            Some(i) => match i32::try_from(i) {
                Ok(small) if small != NA => Rf_ScalarInteger(small),
                _ if i.unsigned_abs() <= 1 << 53 => Rf_ScalarReal(i as f64),
                _ => strings(std::iter::once(Some(n.to_string().as_str()))),
            },
            None if n.is_u64() => strings(std::iter::once(Some(n.to_string().as_str()))),
            None => Rf_ScalarReal(n.as_f64().unwrap_or(f64::NAN)),
        }
    }
}

unsafe fn host(v: &HostValue) -> SEXP {
    unsafe {
        let out = match &v.data {
            HostData::Null | HostData::Function(_) | HostData::Opaque(_) | HostData::Call(_) => return R_NilValue,
            HostData::Symbol(s) => return strings(std::iter::once(Some(s.as_str()))),
            HostData::Logical(x) => {
                let out = Rf_allocVector(SEXPTYPE::LGLSXP, x.len() as isize);
                fill(LOGICAL(out), x, |b| b.map_or(NA, i32::from));
                out
            }
            HostData::Integer(x) => integers(x),
            HostData::Double(x) => doubles(x, |d| *d),
            HostData::Character(x) | HostData::Encoded(x) => strings(x.iter().map(Option::as_deref)),
            HostData::List(items) => list(items.iter(), |item| host(item)),
        };
        Rf_protect(out);
        if let Some(names) = &v.names {
            set_names(out, names.iter().map(String::as_str));
        }
        let changed = |c: &String| CONVERTED.iter().any(|(name, _)| name == c);
        if !v.class.is_empty() && !v.class.iter().any(changed) {
            set_class(out, v.class.iter().map(String::as_str));
        }
        Rf_unprotect(1);
        out
    }
}

/// Integers, or doubles when one is beyond R's range.
unsafe fn integers(x: &[Option<i64>]) -> SEXP {
    let fits = |i: &i64| i32::try_from(*i).is_ok_and(|small| small != NA);
    unsafe {
        if !x.iter().flatten().all(fits) {
            return doubles(x, |i| *i as f64);
        }
        let out = Rf_allocVector(SEXPTYPE::INTSXP, x.len() as isize);
        fill(INTEGER(out), x, |i| i.map_or(NA, |i| i as i32));
        out
    }
}

unsafe fn doubles<T>(x: &[Option<T>], value: impl Fn(&T) -> f64) -> SEXP {
    unsafe {
        let out = Rf_allocVector(SEXPTYPE::REALSXP, x.len() as isize);
        fill(REAL(out), x, |d| d.as_ref().map_or(R_NaReal, &value));
        out
    }
}

/// `to` points to as many cells as `from` has, of a vector that nobody else sees.
unsafe fn fill<T, C>(to: *mut C, from: &[T], value: impl Fn(&T) -> C) {
    for (i, x) in from.iter().enumerate() {
        unsafe { *to.add(i) = value(x) }
    }
}

unsafe fn list<T>(items: impl ExactSizeIterator<Item = T>, mut one: impl FnMut(T) -> SEXP) -> SEXP {
    unsafe {
        let out = Rf_protect(Rf_allocVector(SEXPTYPE::VECSXP, items.len() as isize));
        for (i, item) in items.enumerate() {
            SET_VECTOR_ELT(out, i as isize, one(item));
        }
        Rf_unprotect(1);
        out
    }
}

unsafe fn strings<'a>(items: impl ExactSizeIterator<Item = Option<&'a str>>) -> SEXP {
    unsafe { strings_by(items, |s| charsxp(s)) }
}

unsafe fn strings_by<'a>(
    items: impl ExactSizeIterator<Item = Option<&'a str>>,
    mut make: impl FnMut(&'a str) -> SEXP,
) -> SEXP {
    unsafe {
        let out = Rf_protect(Rf_allocVector(SEXPTYPE::STRSXP, items.len() as isize));
        for (i, s) in items.enumerate() {
            SET_STRING_ELT(out, i as isize, s.map_or(R_NaString, &mut make));
        }
        Rf_unprotect(1);
        out
    }
}

/// `x` is protected by the caller.
unsafe fn set_names<'a>(x: SEXP, names: impl ExactSizeIterator<Item = &'a str>) {
    unsafe {
        let names = Rf_protect(strings(names.map(Some)));
        Rf_setAttrib(x, extendr_ffi::R_NamesSymbol, names);
        Rf_unprotect(1);
    }
}

/// As `set_names()`.
unsafe fn set_class<'a>(x: SEXP, class: impl ExactSizeIterator<Item = &'a str>) {
    unsafe {
        let class = Rf_protect(strings(class.map(Some)));
        Rf_setAttrib(x, extendr_ffi::R_ClassSymbol, class);
        Rf_unprotect(1);
    }
}

/// R strings hold neither NUL nor more than 2^31 - 1 bytes.
unsafe fn charsxp(s: &str) -> SEXP {
    let clean = if s.contains('\0') { std::borrow::Cow::from(s.replace('\0', "\u{FFFD}")) } else { s.into() };
    let mut kept = clean.len().min(i32::MAX as usize);
    while !clean.is_char_boundary(kept) {
        kept -= 1;
    }
    unsafe { Rf_mkCharLenCE(clean.as_ptr().cast(), kept as i32, cetype_t::CE_UTF8) }
}
