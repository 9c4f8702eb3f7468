//! R objects as JSON text, without a tree of values in between. What a thing becomes is said in one place, the engine's
//! `HostValue::to_json()`: plain vectors, lists and data frames are written here as that says, and everything with a shape
//! of its own goes through it.

use std::borrow::Cow;
use std::collections::HashSet;

use extendr_api::prelude::*;
use extendr_ffi::{
    INTEGER_ELT, LOGICAL_ELT, REAL_ELT, Rf_getAttrib, Rf_isObject, Rf_isS4, Rf_xlength, SEXP, SEXPTYPE, STRING_ELT,
    TYPEOF, VECTOR_ELT,
};
use gptr_engine::value::{HostData, JsonError, number};

use super::read::{self, DEEPEST};

/// Longer texts are refused: half of what one string of R's can hold.
const MOST_BYTES: usize = 1 << 30;

/// Up to here the names of an object are compared one by one.
const FEW_NAMES: usize = 16;

/// The JSON text of an R object.
///
/// # Errors
/// Path and reason for what JSON can't hold.
pub fn json_text(x: &Robj) -> Result<String, JsonError> {
    let mut writer = Writer { out: Vec::new() };
    // SAFETY: on R's thread with a live object; reads only.
    unsafe { writer.value(x.get(), 0)? };
    writer.room(0)?;
    // Every piece is text.
    String::from_utf8(writer.out).map_err(|e| JsonError::new(e.to_string()))
}

struct Writer {
    out: Vec<u8>,
}

/// The elements of a vector.
enum Cells {
    /// As they stand in R.
    Own(SEXP, SEXPTYPE),
    /// Of a class whose elements mean something else than their type says.
    Read(HostData),
}

impl Writer {
    unsafe fn value(&mut self, x: SEXP, depth: usize) -> Result<(), JsonError> {
        unsafe {
            let kind = TYPEOF(x);
            if kind == SEXPTYPE::NILSXP {
                self.out.extend(b"null");
                return Ok(());
            }
            let n = Rf_xlength(x) as usize;
            let class = if bool::from(Rf_isObject(x)) { read::class_of(x) } else { Vec::new() };
            let has = |name: &str| class.iter().any(|c| c == name);
            let Some(cells) = cells(x, kind, &class).filter(|_| depth <= DEEPEST) else { return self.tree(x, depth) };
            // Each element has a separator at least.
            self.room(n)?;
            let names = names(x, n)?;
            let is_list = kind == SEXPTYPE::VECSXP;
            if is_list && has("data.frame") {
                return self.frame(x, names.unwrap_or_default(), depth);
            }
            match names {
                Some(names) => self.object(&cells, &names, depth),
                None if n == 1 && !is_list && !has("AsIs") => self.cell(&cells, 0, depth),
                None => self.array(&cells, n, depth),
            }
        }
    }

    /// An error when `more` bytes would be too many.
    fn room(&self, more: usize) -> Result<(), JsonError> {
        if self.out.len() + more <= MOST_BYTES {
            return Ok(());
        }
        Err(JsonError::new("is too large to be sent: the text would have more than 1 GiB"))
    }

    /// Through the engine's value.
    unsafe fn tree(&mut self, x: SEXP, depth: usize) -> Result<(), JsonError> {
        let value = unsafe { read::whole(x, depth) }.to_json()?;
        written(serde_json::to_writer(&mut self.out, &value))
    }

    unsafe fn array(&mut self, cells: &Cells, n: usize, depth: usize) -> Result<(), JsonError> {
        self.out.push(b'[');
        for i in 0..n {
            if i > 0 {
                self.out.push(b',');
            }
            self.room(0)?;
            unsafe { self.cell(cells, i, depth).map_err(|e| e.at(i))? };
        }
        self.out.push(b']');
        Ok(())
    }

    unsafe fn object(&mut self, cells: &Cells, names: &[Cow<'_, str>], depth: usize) -> Result<(), JsonError> {
        self.out.push(b'{');
        for (i, name) in names.iter().enumerate() {
            if i > 0 {
                self.out.push(b',');
            }
            self.text(Some(name))?;
            self.out.push(b':');
            unsafe { self.cell(cells, i, depth).map_err(|e| e.below(name))? };
        }
        self.out.push(b'}');
        Ok(())
    }

    /// A data frame: an array of rows. One with columns that are frames or matrices goes through the engine's value, as
    /// does one with names that JSON can't hold.
    unsafe fn frame(&mut self, x: SEXP, names: Vec<Cow<'_, str>>, depth: usize) -> Result<(), JsonError> {
        unsafe {
            let columns: Option<Vec<(Cells, usize)>> = (0..Rf_xlength(x)).map(|i| column(VECTOR_ELT(x, i))).collect();
            let Some(columns) = columns.filter(|all| all.len() == names.len()) else { return self.tree(x, depth) };
            let rows = columns.iter().map(|(_, n)| *n).max().unwrap_or(0);
            let labels: Vec<Vec<u8>> = names.iter().enumerate().map(|(i, name)| label(i, name)).collect();
            self.out.push(b'[');
            for row in 0..rows {
                self.out.extend(if row > 0 { ",".as_bytes() } else { b"" });
                self.room(0)?;
                for ((cells, n), (label, name)) in columns.iter().zip(labels.iter().zip(&names)) {
                    self.out.extend(label);
                    match row < *n {
                        true => self.cell(cells, row, depth + 1).map_err(|e| e.at(row).below(name))?,
                        false => self.out.extend(b"null"),
                    }
                }
                self.out.extend(if columns.is_empty() { "{}".as_bytes() } else { b"}" });
            }
            self.out.push(b']');
        }
        Ok(())
    }

    unsafe fn cell(&mut self, cells: &Cells, i: usize, depth: usize) -> Result<(), JsonError> {
        unsafe {
            let at = i as isize;
            match cells {
                Cells::Own(x, SEXPTYPE::LGLSXP) => self.flag(read::logical(LOGICAL_ELT(*x, at))),
                Cells::Own(x, SEXPTYPE::INTSXP) => self.whole(read::integer(INTEGER_ELT(*x, at))),
                Cells::Own(x, SEXPTYPE::REALSXP) => self.number(read::double(REAL_ELT(*x, at))),
                Cells::Own(x, SEXPTYPE::STRSXP) => self.text(read::text(STRING_ELT(*x, at)).as_deref()),
                Cells::Own(x, _) => self.value(VECTOR_ELT(*x, at), depth + 1),
                Cells::Read(HostData::Integer(x)) => self.whole(x.get(i).copied().flatten()),
                Cells::Read(HostData::Double(x)) => self.number(x.get(i).copied().flatten()),
                Cells::Read(HostData::Character(x) | HostData::Encoded(x)) => {
                    self.text(x.get(i).and_then(Option::as_deref))
                }
                Cells::Read(_) => self.null(),
            }
        }
    }

    fn null(&mut self) -> Result<(), JsonError> {
        self.out.extend(b"null");
        Ok(())
    }

    fn flag(&mut self, x: Option<bool>) -> Result<(), JsonError> {
        written(serde_json::to_writer(&mut self.out, &x))
    }

    fn whole(&mut self, x: Option<i64>) -> Result<(), JsonError> {
        written(serde_json::to_writer(&mut self.out, &x))
    }

    fn number(&mut self, x: Option<f64>) -> Result<(), JsonError> {
        match x {
            Some(x) => written(serde_json::to_writer(&mut self.out, &number(x)?)),
            None => self.null(),
        }
    }

    fn text(&mut self, x: Option<&str>) -> Result<(), JsonError> {
        written(serde_json::to_writer(&mut self.out, &x))
    }
}

/// Writing to memory does not fail.
fn written(done: serde_json::Result<()>) -> Result<(), JsonError> {
    done.map_err(|e| JsonError::new(e.to_string()))
}

/// The elements of a vector that has no shape of its own: no dimensions, no bytes, nothing that stays with R.
unsafe fn cells(x: SEXP, kind: SEXPTYPE, class: &[String]) -> Option<Cells> {
    use SEXPTYPE::{INTSXP, LGLSXP, REALSXP, STRSXP, VECSXP};
    unsafe {
        let is_plain = matches!(kind, LGLSXP | INTSXP | REALSXP | STRSXP | VECSXP) && !bool::from(Rf_isS4(x));
        let has_shape = || TYPEOF(Rf_getAttrib(x, extendr_ffi::R_DimSymbol)) != SEXPTYPE::NILSXP;
        if !is_plain || has_shape() || class.iter().any(|c| c == "POSIXlt") {
            return None;
        }
        Some(match read::conversion(kind, class) {
            Some(convert) => Cells::Read(convert(x, Rf_xlength(x))),
            None => Cells::Own(x, kind),
        })
    }
}

/// A column of a data frame, and its length; `None` for one that is a frame itself.
unsafe fn column(x: SEXP) -> Option<(Cells, usize)> {
    unsafe {
        let class = if bool::from(Rf_isObject(x)) { read::class_of(x) } else { Vec::new() };
        if class.iter().any(|c| c == "data.frame") {
            return None;
        }
        cells(x, TYPEOF(x), &class).map(|cells| (cells, Rf_xlength(x) as usize))
    }
}

/// What stands before the cell of a column: the row begins with the first one.
fn label(i: usize, name: &str) -> Vec<u8> {
    let open = if i == 0 { "{" } else { "," };
    format!("{open}{}:", serde_json::Value::from(name)).into_bytes()
}

/// The names of a vector, unless it has none or all are empty.
unsafe fn names<'x>(x: SEXP, n: usize) -> Result<Option<Vec<Cow<'x, str>>>, JsonError> {
    unsafe {
        let names = Rf_getAttrib(x, extendr_ffi::R_NamesSymbol);
        if TYPEOF(names) != SEXPTYPE::STRSXP || Rf_xlength(names) as usize != n {
            return Ok(None);
        }
        let names: Vec<Cow<str>> =
            (0..n as isize).map(|i| read::text(STRING_ELT(names, i)).unwrap_or_default()).collect();
        if !names.is_empty() && names.iter().all(|name| name.is_empty()) {
            return Ok(None);
        }
        if names.iter().any(|name| name.is_empty()) {
            return Err(JsonError::new("has elements with a name and elements without"));
        }
        match repeated(&names) {
            Some(name) => Err(JsonError::new("is given twice").below(name)),
            None => Ok(Some(names)),
        }
    }
}

fn repeated<'n>(names: &'n [Cow<'_, str>]) -> Option<&'n str> {
    if names.len() <= FEW_NAMES {
        return names.iter().enumerate().find(|(i, name)| names[..*i].contains(name)).map(|(_, name)| name.as_ref());
    }
    let mut seen = HashSet::with_capacity(names.len());
    names.iter().map(Cow::as_ref).find(|name| !seen.insert(*name))
}
