//! Schemas as their authors write them in R: a JSON string, or a list in which a vector of length one may mean an
//! array of one.

use super::MAX_DEPTH;
use crate::value::{HostData, HostValue, Map, Value};

/// What stands behind a keyword.
#[derive(Clone, Copy, PartialEq)]
enum Holds {
    /// One schema.
    Schema,
    /// One schema, or an array of them.
    SchemaOrSchemas,
    /// An array of schemas, also when there is one.
    Schemas,
    /// An object of schemas, also when it is empty.
    NamedSchemas,
    /// An object of arrays of strings.
    NamedLists,
    /// An array, also when it has one element.
    List,
    /// Anything.
    Data,
}

const KEYWORDS: [(&str, Holds); 30] = [
    ("required", Holds::List),
    ("enum", Holds::List),
    ("examples", Holds::List),
    ("allOf", Holds::Schemas),
    ("anyOf", Holds::Schemas),
    ("oneOf", Holds::Schemas),
    ("prefixItems", Holds::Schemas),
    ("properties", Holds::NamedSchemas),
    ("patternProperties", Holds::NamedSchemas),
    ("$defs", Holds::NamedSchemas),
    ("definitions", Holds::NamedSchemas),
    ("dependentSchemas", Holds::NamedSchemas),
    ("dependentRequired", Holds::NamedLists),
    ("items", Holds::SchemaOrSchemas),
    ("additionalItems", Holds::Schema),
    ("additionalProperties", Holds::Schema),
    ("unevaluatedItems", Holds::Schema),
    ("unevaluatedProperties", Holds::Schema),
    ("contains", Holds::Schema),
    ("propertyNames", Holds::Schema),
    ("not", Holds::Schema),
    ("if", Holds::Schema),
    ("then", Holds::Schema),
    ("else", Holds::Schema),
    ("contentSchema", Holds::Schema),
    ("const", Holds::Data),
    ("default", Holds::Data),
    ("type", Holds::Data),
    ("title", Holds::Data),
    ("description", Holds::Data),
];

/// Keywords under which R's NULL is the value null; elsewhere NULL counts as absent.
const NULL_IS_DATA: [&str; 2] = ["const", "default"];

/// Keywords with values in which further keywords mean nothing.
const VALUES: [&str; 2] = NULL_IS_DATA;

/// The schema JSON of a tool's `parameters`: a JSON string with an object, or an R list.
///
/// In a list, arrays and objects are made by keyword: `required = "a"` is an array of one, `properties = list()` an
/// empty object. Elsewhere a vector of length one is a scalar unless it is `I()` or a list.
///
/// # Errors
/// The problem, as the end of a sentence that begins with the field's name.
pub fn parameters_json(parameters: &HostValue) -> Result<Value, String> {
    if let Some(text) = parameters.as_str() {
        return match serde_json::from_str::<Value>(text) {
            Ok(object @ Value::Object(_)) => Ok(object),
            Ok(_) => Err("must be a JSON object".to_owned()),
            Err(e) => Err(format!("is not valid JSON ({e})")),
        };
    }
    if !parameters.is_plain_list() || !parameters.uniquely_named() {
        return Err("must be a named list or a JSON string".to_owned());
    }
    one_schema(parameters, "", 0)
}

fn one_schema(v: &HostValue, path: &str, depth: usize) -> Result<Value, String> {
    if depth > MAX_DEPTH {
        return Err(format!("has more than {MAX_DEPTH} levels of nesting"));
    }
    if v.is_plain_list() && v.is_empty() {
        return Ok(Value::Object(Map::new()));
    }
    if v.items().is_none() || v.names.is_none() {
        return data(v, path);
    }
    let mut out = Map::new();
    for (name, inner) in named(v, path)? {
        if inner.is_null() && !NULL_IS_DATA.contains(&name) {
            continue;
        }
        let holds = KEYWORDS.iter().find(|(k, _)| *k == name).map_or(Holds::Data, |(_, holds)| *holds);
        out.insert(name.to_owned(), held(inner, holds, &step(path, name), depth + 1)?);
    }
    Ok(Value::Object(out))
}

fn held(v: &HostValue, holds: Holds, path: &str, depth: usize) -> Result<Value, String> {
    let unnamed_list = v.is_plain_list() && v.names.is_none();
    match holds {
        Holds::Schema => one_schema(v, path, depth),
        Holds::SchemaOrSchemas if unnamed_list && !v.is_empty() => each(v, path, |s, p| one_schema(s, p, depth + 1)),
        Holds::SchemaOrSchemas => one_schema(v, path, depth),
        Holds::Schemas if unnamed_list => each(v, path, |s, p| one_schema(s, p, depth + 1)),
        Holds::List if unnamed_list => each(v, path, data),
        Holds::List => data(&boxed(v), path),
        Holds::NamedSchemas => by_name(v, path, |s, p| one_schema(s, p, depth + 1)),
        Holds::NamedLists => by_name(v, path, |s, p| held(s, Holds::List, p, depth + 1)),
        Holds::Schemas | Holds::Data => data(v, path),
    }
}

fn each(v: &HostValue, path: &str, one: impl Fn(&HostValue, &str) -> Result<Value, String>) -> Result<Value, String> {
    let items = v.items().unwrap_or_default().iter().enumerate();
    items.map(|(i, item)| one(item, &format!("{path}[[{}]]", i + 1))).collect::<Result<_, _>>().map(Value::Array)
}

fn by_name(
    v: &HostValue,
    path: &str,
    one: impl Fn(&HostValue, &str) -> Result<Value, String>,
) -> Result<Value, String> {
    if v.is_plain_list() && v.is_empty() {
        return Ok(Value::Object(Map::new()));
    }
    if v.items().is_none() || v.names.is_none() {
        return data(v, path);
    }
    let mut out = Map::new();
    for (name, inner) in named(v, path)? {
        out.insert(name.to_owned(), one(inner, &step(path, name))?);
    }
    Ok(Value::Object(out))
}

fn named<'v>(v: &'v HostValue, path: &str) -> Result<impl Iterator<Item = (&'v str, &'v HostValue)>, String> {
    if !v.uniquely_named() {
        return Err(format!("{} must have unique, non-empty names", at(path)));
    }
    let names = v.names.as_deref().unwrap_or_default().iter().map(String::as_str);
    Ok(names.zip(v.items().unwrap_or_default()))
}

fn data(v: &HostValue, path: &str) -> Result<Value, String> {
    v.to_json().map_err(|e| {
        let inner = if e.path.starts_with('[') || e.path.is_empty() { e.path } else { format!("${}", e.path) };
        format!("{} {}", at(&format!("{path}{inner}")), e.problem)
    })
}

fn boxed(v: &HostValue) -> HostValue {
    let mut v = v.clone();
    v.names = None;
    v.class = vec!["AsIs".to_owned()];
    v
}

fn step(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}${name}") }
}

fn at(path: &str) -> String {
    if path.is_empty() { "is not a schema: it".to_owned() } else { format!("is not a schema: {path}") }
}

/// A schema's JSON as the R list that [`parameters_json`] reads back: arrays of one scalar type are vectors, those
/// of length one marked with `AsIs` where the keyword doesn't already say that they are arrays.
pub fn to_host(schema: &Value) -> HostValue {
    host(schema, "")
}

fn host(value: &Value, keyword: &str) -> HostValue {
    match value {
        Value::Null => HostValue::null(),
        Value::Bool(b) => (*b).into(),
        Value::Number(n) => match n.as_i64().and_then(|i| i32::try_from(i).ok()) {
            Some(i) if i != i32::MIN => i.into(),
            _ => n.as_f64().unwrap_or(f64::NAN).into(),
        },
        Value::String(s) => s.as_str().into(),
        Value::Object(map) => {
            let inner = |k| if VALUES.contains(&keyword) { keyword } else { k };
            HostValue::named(map.iter().map(|(k, v)| (k.clone(), host(v, inner(k.as_str())))))
        }
        Value::Array(items) => match (atomic(items), items.len()) {
            (Some(mut vector), 1) if !is_list(keyword) => {
                vector.class = vec!["AsIs".to_owned()];
                vector
            }
            (Some(vector), _) => vector,
            (None, _) => HostValue::list(items.iter().map(|v| host(v, if is_list(keyword) { "const" } else { "" }))),
        },
    }
}

fn is_list(keyword: &str) -> bool {
    KEYWORDS.iter().any(|(k, holds)| *k == keyword && *holds == Holds::List)
}

/// An atomic vector for an array of strings or of flags.
fn atomic(items: &[Value]) -> Option<HostValue> {
    if items.is_empty() {
        return None;
    }
    let strings: Option<Vec<&str>> = items.iter().map(Value::as_str).collect();
    if let Some(strings) = strings {
        return Some(HostValue::strings(strings));
    }
    let flags: Option<Vec<Option<bool>>> = items.iter().map(|v| v.as_bool().map(Some)).collect();
    flags.map(|f| HostData::Logical(f).into())
}
