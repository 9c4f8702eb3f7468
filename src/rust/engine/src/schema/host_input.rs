//! R values read under a schema: the schema says whether a scalar is meant as an array, an empty list as an object.

use super::index::Index;
use super::place::Place;
use super::report::{Finding, Notes};
use super::{MAX_DEPTH, structure};
use crate::value::{HostData, HostValue, Map, Value, json};

/// Whole numbers beyond this travel as strings, since R's numbers can't hold them.
const LARGEST_EXACT: f64 = 9_007_199_254_740_992.0;

/// An R value as JSON, with what the report needs to know about it.
pub(super) struct Read<'v> {
    pub(super) value: Value,
    pub(super) notes: Notes<'v>,
}

/// Reads `input` as `schema` asks. What doesn't fit is left in its natural form for the validator to refuse; what
/// JSON can't hold is a fault.
pub(super) fn read<'v>(schema: &Value, input: &'v HostValue) -> Read<'v> {
    let mut reader = Reader { index: Index::new(schema), notes: Notes { host: Some(input), faults: Vec::new() } };
    let value = reader.value(input, &[schema], &Place::default(), 0);
    Read { value, notes: reader.notes }
}

struct Reader<'a, 'v> {
    index: Index<'a>,
    notes: Notes<'v>,
}

/// The schemas for one value, and what they ask for.
struct Asked<'a> {
    schemas: Vec<&'a Value>,
    types: Vec<&'a str>,
}

impl<'a> Reader<'a, '_> {
    fn asked(&self, schemas: &[&'a Value]) -> Asked<'a> {
        let schemas = self.index.reach(schemas);
        let mut types: Vec<&'a str> = Vec::new();
        for name in schemas.iter().flat_map(|s| structure::types(s)) {
            if !types.contains(&name) {
                types.push(name);
            }
        }
        Asked { schemas, types }
    }

    fn value(&mut self, v: &HostValue, schemas: &[&'a Value], place: &Place, depth: usize) -> Value {
        if depth > MAX_DEPTH {
            return self.unreadable(place, "is nested too deeply");
        }
        let asked = self.asked(schemas);
        if let Some(stand_in) = stand_in(v) {
            return self.descriptor(stand_in, v, &asked, place);
        }
        for name in order(v, &asked.types) {
            if let Some(value) = self.fit(v, name, &asked, place, depth) {
                return value;
            }
        }
        self.natural(v, &asked, place, depth)
    }

    /// What stays in R satisfies a schema only where that gives no type.
    fn descriptor(&mut self, stand_in: Value, v: &HostValue, asked: &Asked<'a>, place: &Place) -> Value {
        if !asked.types.is_empty() {
            self.notes.faults.push(Finding::mismatch(place, &asked.types, &words(v)));
        }
        stand_in
    }

    fn fit(&mut self, v: &HostValue, name: &str, asked: &Asked<'a>, place: &Place, depth: usize) -> Option<Value> {
        match name {
            "null" => is_missing(v).then_some(Value::Null),
            "string" => string(v).map(|s| json!(s)),
            "boolean" => v.as_flag().map(|b| json!(b)),
            "number" => v.as_number().map(number),
            "integer" => whole(v),
            "object" => self.object(v, asked, place, depth),
            "array" => self.array(v, asked, place, depth),
            _ => None,
        }
    }

    fn object(&mut self, v: &HostValue, asked: &Asked<'a>, place: &Place, depth: usize) -> Option<Value> {
        if v.inherits("data.frame") || v.is_null() || !(v.names.is_some() || v.is_plain_list() && v.is_empty()) {
            return None;
        }
        if !v.uniquely_named() {
            return Some(self.unreadable(place, "must have unique, non-empty names"));
        }
        let mut out = Map::new();
        for (name, item) in v.names.iter().flatten().zip(v.elements()) {
            let value = self.value(&item, &self.index.of_property(&asked.schemas, name), &place.key(name), depth + 1);
            out.insert(name.clone(), value);
        }
        Some(Value::Object(out))
    }

    fn array(&mut self, v: &HostValue, asked: &Asked<'a>, place: &Place, depth: usize) -> Option<Value> {
        if v.is_null() {
            return None;
        }
        if let Some(items) = self.flat(v, asked, place) {
            return Some(Value::Array(items));
        }
        let items = match v.rows() {
            Some(rows) => rows,
            None if v.items().is_some() && v.names.is_some() => return None,
            None => v.elements(),
        };
        if v.items().is_none() && items.len() == 1 && !v.inherits("AsIs") && self.items_are_containers(asked) {
            return None;
        }
        let read = |(at, item): (usize, &HostValue)| {
            self.value(item, &self.index.of_item(&asked.schemas, at), &place.item(at), depth + 1)
        };
        Some(Value::Array(items.iter().enumerate().map(read).collect()))
    }

    /// The items of an atomic vector where each is a scalar to the schema, too, and all have the same one: whatever type
    /// is asked then, they have one form only.
    fn flat(&mut self, v: &HostValue, asked: &Asked<'a>, place: &Place) -> Option<Vec<Value>> {
        let by_place = |s: &&Value| s.get("prefixItems").is_some() || s.get("items").is_some_and(Value::is_array);
        if v.len() < 2 || asked.schemas.iter().any(by_place) {
            return None;
        }
        let items = self.asked(&self.index.of_item(&asked.schemas, 0));
        let asks = |name: &str| items.types.contains(&name);
        if asks("object") || asks("array") {
            return None;
        }
        fn each<T>(x: &[Option<T>], one: impl Fn(&T) -> Value) -> Option<Vec<Value>> {
            Some(x.iter().map(|e| e.as_ref().map_or(Value::Null, &one)).collect())
        }
        match &v.data {
            HostData::Logical(x) => each(x, |b| json!(b)),
            HostData::Integer(x) => each(x, |i| json!(i)),
            HostData::Double(x) => {
                // The first that JSON can't hold stands for all.
                if let Some(at) = x.iter().position(|d| d.is_some_and(|d| !d.is_finite())) {
                    let _ = v.element(at).map(|item| self.natural(&item, &items, &place.item(at), 0));
                }
                each(x, |d| number(*d))
            }
            // Digits may be meant as an integer.
            HostData::Character(x) | HostData::Encoded(x) if !asks("integer") => each(x, |s| json!(s)),
            _ => None,
        }
    }

    fn items_are_containers(&self, asked: &Asked<'a>) -> bool {
        let inner = self.asked(&self.index.of_item(&asked.schemas, 0));
        inner.types.iter().any(|t| matches!(*t, "object" | "array"))
    }

    /// The form without guidance: scalars of length one, arrays and objects by names.
    fn natural(&mut self, v: &HostValue, asked: &Asked<'a>, place: &Place, depth: usize) -> Value {
        let empty_object =
            v.is_plain_list() && v.is_empty() && asked.schemas.iter().any(|s| s.get("properties").is_some());
        if v.is_null() || (is_missing(v) && !v.inherits("AsIs")) {
            return Value::Null;
        }
        if (v.names.is_some() || empty_object)
            && let Some(object) = self.object(v, asked, place, depth)
        {
            return object;
        }
        if v.items().is_none() && v.len() == 1 && !v.inherits("AsIs") {
            return v.to_json().unwrap_or_else(|e| self.no_json(v, asked, place, &e.problem));
        }
        self.array(v, asked, place, depth).unwrap_or_else(|| self.unreadable(place, "has no JSON form"))
    }

    fn no_json(&mut self, v: &HostValue, asked: &Asked<'a>, place: &Place, problem: &str) -> Value {
        if asked.types.is_empty() {
            return self.unreadable(place, problem);
        }
        self.notes.faults.push(Finding::mismatch(place, &asked.types, &words(v)));
        Value::Null
    }

    fn unreadable(&mut self, place: &Place, problem: &str) -> Value {
        self.notes.faults.push(Finding::unreadable(place, problem));
        Value::Null
    }
}

/// The types to try: as listed, but what is marked as an array first tries that.
fn order<'t>(v: &HostValue, types: &[&'t str]) -> Vec<&'t str> {
    let mut types = types.to_vec();
    if v.inherits("AsIs") {
        types.sort_by_key(|t| *t != "array");
    }
    types
}

pub(super) fn words(v: &HostValue) -> String {
    if v.is_null() { "null".to_owned() } else { format!("{} of length {}", v.class_word(), v.len()) }
}

/// A string, or what is one in JSON: a date, a time, raw bytes.
fn string(v: &HostValue) -> Option<&str> {
    match &v.data {
        HostData::Encoded(x) => match x.as_slice() {
            [Some(s)] => Some(s),
            _ => None,
        },
        _ => v.as_str(),
    }
}

fn number(x: f64) -> Value {
    if x.fract() == 0.0 && x.abs() <= LARGEST_EXACT { json!(x as i64) } else { json!(x) }
}

/// A whole number; beyond what R's numbers hold, the digits that the engine itself once handed out as a string.
fn whole(v: &HostValue) -> Option<Value> {
    if let HostData::Integer(x) = &v.data {
        return x.first().copied().flatten().filter(|_| x.len() == 1).map(|i| json!(i));
    }
    if let Some(x) = v.as_number() {
        return (x.fract() == 0.0).then(|| number(x));
    }
    let digits = v.as_str().filter(|d| !d.starts_with(['+', '0']))?;
    let value = digits.parse::<i64>().map(|i| json!(i)).or_else(|_| digits.parse::<u64>().map(|u| json!(u))).ok()?;
    (value.as_f64()?.abs() >= LARGEST_EXACT).then_some(value)
}

/// NULL or a single NA.
fn is_missing(v: &HostValue) -> bool {
    match &v.data {
        HostData::Null => true,
        HostData::Logical(x) => matches!(x.as_slice(), [None]),
        HostData::Integer(x) => matches!(x.as_slice(), [None]),
        HostData::Double(x) => matches!(x.as_slice(), [None]),
        HostData::Character(x) | HostData::Encoded(x) => matches!(x.as_slice(), [None]),
        _ => false,
    }
}

/// The JSON that stands for a value that stays with the host: its descriptor, or its class and length.
fn stand_in(v: &HostValue) -> Option<Value> {
    match &v.data {
        HostData::Function(_) | HostData::Symbol(_) | HostData::Call(_) | HostData::Opaque(_) => {
            Some(json!({"$r": null, "class": v.class_word(), "length": v.len()}))
        }
        HostData::List(_) if v.get("$r").is_some() => v.to_json().ok(),
        _ => None,
    }
}
