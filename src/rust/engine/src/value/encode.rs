//! [`HostValue`] as JSON: the one table of what becomes what.

use super::{HostData, HostValue, Map, Number, Opaque, Value, json};

/// Whole numbers beyond this are written with a decimal point: not every one has a double.
const LARGEST_EXACT: f64 = 9_007_199_254_740_992.0;

/// Why a [`HostValue`] has no JSON form.
#[derive(Debug, Clone, PartialEq)]
pub struct JsonError {
    /// Where, as `a$b[[2]]`; empty for the value itself.
    pub path: String,
    /// What is wrong with it.
    pub problem: String,
}

impl std::fmt::Display for JsonError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let at = if self.path.is_empty() { "the value" } else { &self.path };
        write!(f, "{at} {}", self.problem)
    }
}

impl JsonError {
    /// An error of the value itself.
    pub fn new(problem: impl Into<String>) -> Self {
        JsonError { path: String::new(), problem: problem.into() }
    }

    /// The same error, seen from the object that has the value under this name.
    pub fn below(mut self, name: &str) -> Self {
        let joint = if self.path.is_empty() || self.path.starts_with('[') { "" } else { "$" };
        self.path = format!("{name}{joint}{}", self.path);
        self
    }

    /// The same error, seen from the array that has the value at this index, from 0.
    pub fn at(self, index: usize) -> Self {
        self.below(&format!("[[{}]]", index + 1))
    }
}

impl HostValue {
    /// The value as JSON: a vector of length one is a scalar (unless its class has `AsIs`), a longer one an array; a
    /// named list or vector is an object; data frames and matrices are arrays of rows; NA is null.
    ///
    /// # Errors
    /// Path and reason for what JSON can't hold: functions, environments and the like, NaN, infinities, lists with some
    /// names missing or repeated.
    pub fn to_json(&self) -> Result<Value, JsonError> {
        if let (Some(names), None) = (self.used_names(), self.items())
            && self.is_vector()
        {
            return object(names, self.elements().iter());
        }
        let boxed = self.inherits("AsIs");
        match &self.data {
            HostData::Null => Ok(Value::Null),
            HostData::Logical(x) => vector(x, boxed, |b| Ok(Value::Bool(*b))),
            HostData::Integer(x) => vector(x, boxed, |i| Ok(json!(i))),
            HostData::Double(x) => vector(x, boxed, |d| number(*d).map(Value::Number)),
            HostData::Character(x) | HostData::Encoded(x) => vector(x, boxed, |s| Ok(Value::String(s.clone()))),
            HostData::List(columns) if self.inherits("data.frame") => frame(self.names.as_deref(), columns),
            HostData::List(items) => match self.used_names() {
                Some(names) => object(names, items.iter()),
                None => array(items),
            },
            HostData::Symbol(_) => Err(unfit("symbol")),
            HostData::Function(_) => Err(unfit("function")),
            HostData::Call(_) => Err(unfit("call")),
            HostData::Opaque(o) => Err(opaque(o)),
        }
    }

    /// The elements of a list or an atomic vector, one value each; anything else is its own only element.
    pub fn elements(&self) -> Vec<HostValue> {
        fn each<T: Clone>(x: &[Option<T>], wrap: impl Fn(Vec<Option<T>>) -> HostData) -> Vec<HostValue> {
            x.iter().map(|e| wrap(vec![e.clone()]).into()).collect()
        }
        match &self.data {
            HostData::Logical(x) => each(x, HostData::Logical),
            HostData::Integer(x) => each(x, HostData::Integer),
            HostData::Double(x) => each(x, HostData::Double),
            HostData::Character(x) => each(x, HostData::Character),
            HostData::Encoded(x) => each(x, HostData::Encoded),
            HostData::List(items) => items.clone(),
            _ => vec![self.clone()],
        }
    }

    /// One of the [`elements`](Self::elements), from 0.
    pub fn element(&self, at: usize) -> Option<HostValue> {
        fn one<T: Clone>(x: &[Option<T>], at: usize, wrap: impl Fn(Vec<Option<T>>) -> HostData) -> Option<HostValue> {
            x.get(at).map(|e| wrap(vec![e.clone()]).into())
        }
        match &self.data {
            HostData::Logical(x) => one(x, at, HostData::Logical),
            HostData::Integer(x) => one(x, at, HostData::Integer),
            HostData::Double(x) => one(x, at, HostData::Double),
            HostData::Character(x) => one(x, at, HostData::Character),
            HostData::Encoded(x) => one(x, at, HostData::Encoded),
            HostData::List(items) => items.get(at).cloned(),
            _ => (at == 0).then(|| self.clone()),
        }
    }

    /// The rows of a data frame, a named list each; `None` for anything else.
    pub fn rows(&self) -> Option<Vec<HostValue>> {
        if !self.inherits("data.frame") {
            return None;
        }
        let names = self.names.clone().unwrap_or_default();
        let columns: Vec<Vec<HostValue>> = self.items()?.iter().map(cells).collect();
        let count = columns.iter().map(Vec::len).max().unwrap_or(0);
        let cell = |column: &Vec<HostValue>, row: usize| column.get(row).cloned().unwrap_or_default();
        let row = |at: usize| HostValue::named(names.iter().cloned().zip(columns.iter().map(|c| cell(c, at))));
        Some((0..count).map(row).collect())
    }

    fn is_vector(&self) -> bool {
        use HostData::*;
        matches!(self.data, Logical(_) | Integer(_) | Double(_) | Character(_) | Encoded(_) | List(_))
    }

    /// The names, unless all of them are empty.
    fn used_names(&self) -> Option<&[String]> {
        self.names.as_deref().filter(|names| names.is_empty() || names.iter().any(|n| !n.is_empty()))
    }
}

/// The cells of a column, which may be a data frame itself.
fn cells(column: &HostValue) -> Vec<HostValue> {
    column.rows().unwrap_or_else(|| column.elements())
}

fn vector<T>(v: &[Option<T>], boxed: bool, one: impl Fn(&T) -> Result<Value, JsonError>) -> Result<Value, JsonError> {
    let scalar = |x: &Option<T>| x.as_ref().map_or(Ok(Value::Null), &one);
    match v {
        [x] if !boxed => scalar(x),
        _ => {
            let items = v.iter().enumerate().map(|(i, x)| scalar(x).map_err(|e| e.at(i)));
            items.collect::<Result<_, _>>().map(Value::Array)
        }
    }
}

/// A double as JSON writes it: whole numbers without a point, others in the shortest form that reads back as they are.
///
/// # Errors
/// For NaN and infinities.
pub fn number(x: f64) -> Result<Number, JsonError> {
    let negative_zero = x == 0.0 && x.is_sign_negative();
    if x.fract() == 0.0 && x.abs() <= LARGEST_EXACT && !negative_zero {
        return Ok(Number::from(x as i64));
    }
    Number::from_f64(x).ok_or_else(|| JsonError::new("must be a finite number: JSON has no NaN and no infinity"))
}

fn array(items: &[HostValue]) -> Result<Value, JsonError> {
    let values = items.iter().enumerate().map(|(i, item)| item.to_json().map_err(|e| e.at(i)));
    values.collect::<Result<_, _>>().map(Value::Array)
}

fn object<'v>(names: &[String], items: impl Iterator<Item = &'v HostValue>) -> Result<Value, JsonError> {
    let mut out = Map::with_capacity(names.len());
    for (name, item) in names.iter().zip(items) {
        if name.is_empty() {
            return Err(JsonError::new("has elements with a name and elements without"));
        }
        let value = item.to_json().map_err(|e| e.below(name))?;
        if out.insert(name.clone(), value).is_some() {
            return Err(JsonError::new("is given twice").below(name));
        }
    }
    Ok(Value::Object(out))
}

fn frame(names: Option<&[String]>, columns: &[HostValue]) -> Result<Value, JsonError> {
    let names = names.unwrap_or_default();
    if names.len() != columns.len() {
        return Err(JsonError::new("is a data frame with columns that have no name"));
    }
    let mut rows: Vec<Map<String, Value>> = Vec::new();
    for (at, (name, column)) in names.iter().zip(columns).enumerate() {
        if name.is_empty() {
            return Err(JsonError::new("has a column without a name").at(at));
        }
        let cells = cells(column);
        rows.resize_with(rows.len().max(cells.len()), || Map::with_capacity(columns.len()));
        for (i, (row, cell)) in rows.iter_mut().zip(&cells).enumerate() {
            let value = cell.to_json().map_err(|e| e.at(i).below(name))?;
            if row.insert(name.clone(), value).is_some() {
                return Err(JsonError::new("is given twice").below(name));
            }
        }
    }
    Ok(Value::Array(rows.into_iter().map(Value::Object).collect()))
}

fn unfit(kind: &str) -> JsonError {
    let article = if kind.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
    JsonError::new(format!("is {article} {kind}, which JSON can't hold"))
}

/// What is data by its kind was left with the host for its size.
fn opaque(o: &Opaque) -> JsonError {
    if ["logical", "integer", "numeric", "character", "list", "raw", "data.frame"].contains(&o.kind.as_str()) {
        return JsonError::new(format!(
            "is too large, or nested too deep, to be sent ({} of length {})",
            o.kind, o.length
        ));
    }
    unfit(&o.kind)
}
