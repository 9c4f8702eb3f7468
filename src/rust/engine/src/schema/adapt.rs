//! The few liberties that JSON of a model's takes with a schema, put right: a whole number with a point where an integer
//! is asked, a scalar where an array is.

use super::index::Index;
use super::{MAX_DEPTH, structure};
use crate::value::{Map, Value};

/// Doubles are whole numbers without gaps up to here.
const LARGEST_EXACT: f64 = 9_007_199_254_740_992.0;

/// The input with those liberties put right; `None` when there are none. Nothing else is changed, strings least of all.
pub(super) fn adapted(schema: &Value, input: &Value) -> Option<Value> {
    Adapter { index: Index::new(schema) }.value(input, &[schema], 0)
}

struct Adapter<'a> {
    index: Index<'a>,
}

impl<'a> Adapter<'a> {
    fn value(&self, v: &Value, schemas: &[&'a Value], depth: usize) -> Option<Value> {
        if depth > MAX_DEPTH {
            return None;
        }
        let schemas = self.index.reach(schemas);
        match v {
            Value::Object(map) => self.object(map, &schemas, depth),
            Value::Array(items) => self.array(items, &schemas, depth),
            Value::Null => None,
            scalar => self.scalar(scalar, &schemas, depth),
        }
    }

    fn object(&self, map: &Map<String, Value>, schemas: &[&'a Value], depth: usize) -> Option<Value> {
        let mut out: Option<Map<String, Value>> = None;
        for (name, inner) in map {
            let of_name = self.index.of_property(schemas, name);
            if let Some(new) = self.value(inner, &of_name, depth + 1) {
                out.get_or_insert_with(|| map.clone()).insert(name.clone(), new);
            }
        }
        out.map(Value::Object)
    }

    fn array(&self, items: &[Value], schemas: &[&'a Value], depth: usize) -> Option<Value> {
        let mut out: Option<Vec<Value>> = None;
        for (at, inner) in items.iter().enumerate() {
            let of_item = self.index.of_item(schemas, at);
            if let Some(new) = self.value(inner, &of_item, depth + 1) {
                out.get_or_insert_with(|| items.to_vec())[at] = new;
            }
        }
        out.map(Value::Array)
    }

    fn scalar(&self, v: &Value, schemas: &[&'a Value], depth: usize) -> Option<Value> {
        let types: Vec<&str> = schemas.iter().flat_map(|s| structure::types(s)).collect();
        let asks = |name: &str| types.contains(&name);
        if let Some(whole) = whole(v).filter(|_| asks("integer") && !asks("number")) {
            return Some(whole);
        }
        if !asks("array") || fits(v, &types) {
            return None;
        }
        let items = self.index.of_item(schemas, 0);
        let inner: Vec<&str> = self.index.reach(&items).into_iter().flat_map(structure::types).collect();
        if inner.contains(&"object") || inner.contains(&"array") {
            return None;
        }
        let item = self.value(v, &items, depth + 1);
        Some(Value::Array(vec![item.unwrap_or_else(|| v.clone())]))
    }
}

/// `30.0` as `30`.
fn whole(v: &Value) -> Option<Value> {
    let Value::Number(n) = v else { return None };
    let x = n.as_f64().filter(|_| n.is_f64())?;
    (x.fract() == 0.0 && x.abs() <= LARGEST_EXACT).then(|| Value::from(x as i64))
}

/// True when one of the types is that of a scalar.
fn fits(v: &Value, types: &[&str]) -> bool {
    types.iter().any(|name| match *name {
        "string" => v.is_string(),
        "boolean" => v.is_boolean(),
        "number" | "integer" => v.is_number(),
        _ => false,
    })
}
