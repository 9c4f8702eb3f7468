//! Arguments of the bindings. The package gives the right ones; anything else, such as a handle that was saved and read
//! again by another process, is an error as data.

use extendr_api::prelude::*;
use gptr_engine::error::Error;

use crate::value::host_value;

/// A single string.
pub fn text(x: &Robj, name: &str) -> Result<String, Error> {
    let value = host_value(x);
    value.as_str().map(str::to_owned).ok_or_else(|| Error::argument(name, "a single string", &described(x)))
}

/// A single number.
pub fn number(x: &Robj, name: &str) -> Result<f64, Error> {
    host_value(x).as_number().ok_or_else(|| Error::argument(name, "a number", &described(x)))
}

/// TRUE or FALSE.
pub fn flag(x: &Robj, name: &str) -> Result<bool, Error> {
    host_value(x).as_flag().ok_or_else(|| Error::argument(name, "TRUE or FALSE", &described(x)))
}

/// The elements of a list.
pub fn items(x: &Robj, name: &str) -> Result<Vec<Robj>, Error> {
    x.as_list().map(|l| l.values().collect()).ok_or_else(|| Error::argument(name, "a list", &described(x)))
}

/// What a handle of this process refers to.
pub fn held<T: 'static>(x: &Robj, name: &str) -> Result<ExternalPtr<T>, Error> {
    ExternalPtr::try_from(x.clone()).map_err(|_| {
        let message =
            format!("`{name}` is not alive in this R process: it can't be used after it was saved and read again.");
        Error::argument_message(name, message)
    })
}

fn described(x: &Robj) -> String {
    let value = host_value(x);
    if value.is_null() { "NULL".to_owned() } else { format!("a {} of length {}", value.class_word(), value.len()) }
}
