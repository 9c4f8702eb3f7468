//! Values that cross the border of the engine.
//!
//! [`Value`] is JSON, the form of everything the engine decides on and sends over a wire. [`HostValue`] is what a
//! host (R) handed over, with the things that the rules need and JSON loses: the vector type, names (also missing
//! and repeated ones), the class attribute, NA against NULL, length one against scalar, and things that are no data.

mod encode;
#[cfg(test)]
mod round_trip;

pub use encode::{JsonError, number};
pub use serde_json::{Map, Number, Value, json};

/// A value as the host handed it over.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct HostValue {
    /// The elements.
    pub data: HostData,
    /// Names, as long as the data; a missing name is `""`. `None` when there is no names attribute.
    pub names: Option<Vec<String>>,
    /// The explicit class attribute; empty without one.
    pub class: Vec<String>,
}

/// The elements of a [`HostValue`]. `None` inside a vector is NA.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum HostData {
    /// R's NULL.
    #[default]
    Null,
    /// A logical vector.
    Logical(Vec<Option<bool>>),
    /// An integer vector, of 32 or 64 bits.
    Integer(Vec<Option<i64>>),
    /// A double vector; NaN and infinities stay numbers.
    Double(Vec<Option<f64>>),
    /// A character vector, valid UTF-8; a factor is one, by its labels.
    Character(Vec<Option<String>>),
    /// A vector of another type that is text in JSON: dates and times in ISO 8601 (UTC), raw bytes as one string of
    /// base64. The class says which. Not a string to the rules: a date is no name.
    Encoded(Vec<Option<String>>),
    /// A list. A data frame is one of columns with the class `data.frame`, a matrix one of rows with the class
    /// `matrix`, an array one of arrays with the class `array`.
    List(Vec<HostValue>),
    /// A function, by what is needed to call it.
    Function(Signature),
    /// A symbol.
    Symbol(String),
    /// An unevaluated call, by the name of what it calls.
    Call(String),
    /// Anything that is no data: environments, pointers, S4 objects, or a vector too large to look at.
    Opaque(Opaque),
}

/// What the engine knows of something that stays with the host.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Opaque {
    /// The host's word for its type, e.g. `environment`.
    pub kind: String,
    /// Its length.
    pub length: usize,
}

/// The formals of a function, in order.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Signature {
    /// One entry a formal; `...` is one of them.
    pub formals: Vec<Formal>,
}

/// One formal argument.
#[derive(Debug, Clone, PartialEq)]
pub struct Formal {
    /// Its name; `...` for the dots.
    pub name: String,
    /// True when it has no default.
    pub required: bool,
}

impl Signature {
    /// Builds a signature from `(name, required)` pairs.
    pub fn new<S: Into<String>>(formals: impl IntoIterator<Item = (S, bool)>) -> Self {
        let formals = formals.into_iter().map(|(n, required)| Formal { name: n.into(), required }).collect();
        Signature { formals }
    }

    /// True when `...` is a formal.
    pub fn has_dots(&self) -> bool {
        self.formals.iter().any(|f| f.name == "...")
    }

    /// True when the function can be called with `n` positional arguments: names are irrelevant, `...` absorbs a
    /// surplus, and formals left over must have defaults.
    pub fn accepts(&self, n: usize) -> bool {
        let before = self.formals.iter().position(|f| f.name == "...");
        let positional = before.unwrap_or(self.formals.len());
        if before.is_none() && positional < n {
            return false;
        }
        self.formals.iter().enumerate().all(|(i, f)| f.name == "..." || i < n.min(positional) || !f.required)
    }
}

impl From<HostData> for HostValue {
    fn from(data: HostData) -> Self {
        HostValue { data, names: None, class: Vec::new() }
    }
}

impl From<&str> for HostValue {
    fn from(s: &str) -> Self {
        HostData::Character(vec![Some(s.to_owned())]).into()
    }
}

impl From<String> for HostValue {
    fn from(s: String) -> Self {
        HostData::Character(vec![Some(s)]).into()
    }
}

impl From<bool> for HostValue {
    fn from(b: bool) -> Self {
        HostData::Logical(vec![Some(b)]).into()
    }
}

impl From<i32> for HostValue {
    fn from(i: i32) -> Self {
        HostData::Integer(vec![Some(i64::from(i))]).into()
    }
}

impl From<f64> for HostValue {
    fn from(x: f64) -> Self {
        HostData::Double(vec![Some(x)]).into()
    }
}

impl HostValue {
    /// JSON as a host has it: objects are named lists, arrays unnamed ones, scalars vectors of length one.
    pub fn from_json(value: &Value) -> HostValue {
        match value {
            Value::Null => HostValue::null(),
            Value::Bool(flag) => (*flag).into(),
            Value::Number(number) => match number.as_i64() {
                Some(whole) => HostData::Integer(vec![Some(whole)]).into(),
                None => number.as_f64().unwrap_or_default().into(),
            },
            Value::String(text) => text.as_str().into(),
            Value::Array(items) => HostValue::list(items.iter().map(HostValue::from_json)),
            Value::Object(fields) => {
                HostValue::named(fields.iter().map(|(name, value)| (name.clone(), HostValue::from_json(value))))
            }
        }
    }

    /// R's NULL.
    pub fn null() -> Self {
        HostValue::default()
    }

    /// A character vector without NA.
    pub fn strings<S: Into<String>>(items: impl IntoIterator<Item = S>) -> Self {
        HostData::Character(items.into_iter().map(|s| Some(s.into())).collect()).into()
    }

    /// An unnamed list.
    pub fn list(items: impl IntoIterator<Item = HostValue>) -> Self {
        HostData::List(items.into_iter().collect()).into()
    }

    /// A named list.
    pub fn named<S: Into<String>>(items: impl IntoIterator<Item = (S, HostValue)>) -> Self {
        let (names, values): (Vec<String>, Vec<HostValue>) = items.into_iter().map(|(n, v)| (n.into(), v)).unzip();
        HostValue { data: HostData::List(values), names: Some(names), class: Vec::new() }
    }

    /// A function with these formals.
    pub fn function<S: Into<String>>(formals: impl IntoIterator<Item = (S, bool)>) -> Self {
        HostData::Function(Signature::new(formals)).into()
    }

    /// True for NULL.
    pub fn is_null(&self) -> bool {
        matches!(self.data, HostData::Null)
    }

    /// True for a function.
    pub fn is_function(&self) -> bool {
        matches!(self.data, HostData::Function(_))
    }

    /// True when the class attribute has `class`.
    pub fn inherits(&self, class: &str) -> bool {
        self.class.iter().any(|c| c == class)
    }

    /// True for a list that is no data frame, matrix or array.
    pub fn is_plain_list(&self) -> bool {
        matches!(self.data, HostData::List(_)) && !["data.frame", "matrix", "array"].iter().any(|c| self.inherits(c))
    }

    /// The length as R counts it.
    pub fn len(&self) -> usize {
        match &self.data {
            HostData::Null => 0,
            HostData::Logical(v) => v.len(),
            HostData::Integer(v) => v.len(),
            HostData::Double(v) => v.len(),
            HostData::Character(v) | HostData::Encoded(v) => v.len(),
            HostData::List(v) => v.len(),
            HostData::Function(_) | HostData::Symbol(_) | HostData::Call(_) => 1,
            HostData::Opaque(o) => o.length,
        }
    }

    /// True when [`len`](Self::len) is 0.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The value as a string when it is one non-NA string.
    pub fn as_str(&self) -> Option<&str> {
        match &self.data {
            HostData::Character(v) => match v.as_slice() {
                [Some(s)] => Some(s),
                _ => None,
            },
            _ => None,
        }
    }

    /// The value as a flag when it is TRUE or FALSE.
    pub fn as_flag(&self) -> Option<bool> {
        match &self.data {
            HostData::Logical(v) => match v.as_slice() {
                [Some(b)] => Some(*b),
                _ => None,
            },
            _ => None,
        }
    }

    /// The value as a finite number when it is one integer or double.
    pub fn as_number(&self) -> Option<f64> {
        let x = match &self.data {
            HostData::Integer(v) => match v.as_slice() {
                [Some(i)] => *i as f64,
                _ => return None,
            },
            HostData::Double(v) => match v.as_slice() {
                [Some(x)] => *x,
                _ => return None,
            },
            _ => return None,
        };
        x.is_finite().then_some(x)
    }

    /// All strings of a character vector without NA.
    pub fn as_strings(&self) -> Option<Vec<&str>> {
        match &self.data {
            HostData::Character(v) => v.iter().map(|s| s.as_deref()).collect(),
            _ => None,
        }
    }

    /// The elements of a list.
    pub fn items(&self) -> Option<&[HostValue]> {
        match &self.data {
            HostData::List(v) => Some(v),
            _ => None,
        }
    }

    /// The element of a list with exactly this name (the first one).
    pub fn get(&self, name: &str) -> Option<&HostValue> {
        let items = self.items()?;
        let at = self.names.as_ref()?.iter().position(|n| n == name)?;
        items.get(at)
    }

    /// Like [`get`](Self::get), but NULL counts as absent.
    pub fn field(&self, name: &str) -> Option<&HostValue> {
        self.get(name).filter(|v| !v.is_null())
    }

    /// Sets or adds an element of a named list; other values are left alone.
    pub fn set(&mut self, name: &str, value: HostValue) {
        let HostData::List(items) = &mut self.data else { return };
        let names = self.names.get_or_insert_with(|| vec![String::new(); items.len()]);
        match names.iter().position(|n| n == name) {
            Some(at) => items[at] = value,
            None => {
                names.push(name.to_owned());
                items.push(value);
            }
        }
    }

    /// True when every element has a name, none is empty and none is repeated (an empty list qualifies).
    pub fn uniquely_named(&self) -> bool {
        if self.is_empty() {
            return true;
        }
        let Some(names) = &self.names else { return false };
        let mut seen = std::collections::HashSet::new();
        names.iter().all(|n| !n.is_empty() && seen.insert(n.as_str()))
    }

    /// How messages name the value: `NULL` or `a <class> of length <n>`; the value itself is never shown.
    pub fn describe(&self) -> String {
        if self.is_null() {
            return "NULL".to_owned();
        }
        format!("a {} of length {}", self.class_word(), self.len())
    }

    /// The first class, implicit when there is no attribute.
    pub fn class_word(&self) -> &str {
        if let Some(c) = self.class.first() {
            return c;
        }
        match &self.data {
            HostData::Null => "NULL",
            HostData::Logical(_) => "logical",
            HostData::Integer(_) => "integer",
            HostData::Double(_) => "numeric",
            HostData::Character(_) | HostData::Encoded(_) => "character",
            HostData::List(_) => "list",
            HostData::Function(_) => "function",
            HostData::Symbol(_) => "name",
            HostData::Call(_) => "call",
            HostData::Opaque(o) => &o.kind,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sig(formals: &[(&str, bool)]) -> Signature {
        Signature::new(formals.iter().map(|(n, r)| (*n, *r)))
    }

    #[test]
    fn functions_are_judged_by_position() {
        let r = true;
        assert!(!sig(&[("a", r), ("b", r), ("c", r), ("d", r), ("e", r), ("more", r)]).accepts(5));
        assert!(!sig(&[("a", r), ("...", r), ("more", r)]).accepts(5));
        assert!(!sig(&[("a", r), ("b", r), ("c", r), ("d", r)]).accepts(5));
        assert!(sig(&[("a", r), ("b", r), ("c", r), ("d", r), ("e", r), ("o", false)]).accepts(5));
        assert!(sig(&[("a", r), ("...", r), ("o", false)]).accepts(5));
        assert!(sig(&[("...", r)]).accepts(5));
        assert!(sig(&[]).accepts(0));
    }

    #[test]
    fn length_one_is_a_scalar_unless_as_is() {
        let mut tags = HostValue::from("a");
        assert_eq!(tags.to_json(), Ok(json!("a")));
        tags.class = vec!["AsIs".into()];
        assert_eq!(tags.to_json(), Ok(json!(["a"])));
    }

    #[test]
    fn whole_doubles_print_as_integers() {
        assert_eq!(HostValue::from(1e15).to_json().map(|v| v.to_string()), Ok("1000000000000000".into()));
        assert_eq!(HostValue::from(0.5).to_json().map(|v| v.to_string()), Ok("0.5".into()));
    }

    #[test]
    fn what_json_cant_hold_is_named_by_its_path() {
        let inner = HostValue::named([("f", HostValue::function([("x", true)]))]);
        let v = HostValue::named([("a", HostValue::list([inner]))]);
        assert_eq!(v.to_json().map_err(|e| e.path), Err("a[[1]]$f".into()));
        let nan = HostValue::named([("x", HostValue::from(f64::NAN))]);
        assert_eq!(nan.to_json().map_err(|e| e.path), Err("x".into()));
        let mixed = HostValue {
            data: HostData::List(vec![1.into(), 2.into()]),
            names: Some(vec!["a".into(), "".into()]),
            class: vec![],
        };
        assert!(mixed.to_json().is_err());
        assert!(HostValue::named([("a", 1.into()), ("a", 2.into())]).to_json().is_err());
    }

    #[test]
    fn na_is_null_and_named_vectors_are_objects() {
        let v = HostValue {
            data: HostData::Double(vec![Some(1.0), None]),
            names: Some(vec!["a".into(), "b".into()]),
            class: vec![],
        };
        assert_eq!(v.to_json(), Ok(json!({"a": 1, "b": null})));
        assert_eq!(HostValue::named::<String>([]).to_json(), Ok(json!({})));
        assert_eq!(HostValue::list([]).to_json(), Ok(json!([])));
    }
}
