//! JSON Schema: compiling, validating, and what R values mean under a schema.
//!
//! The crate `jsonschema` decides what is valid. What is ours: the words of an error, the reading of R values led by
//! a schema ([`Schema::check_host`]), the rule of unknown arguments, and the way from R lists to schema JSON.

mod adapt;
mod compiled;
mod effort;
mod formals;
mod host_input;
mod index;
mod place;
mod report;
mod signature;
mod structure;
mod written;

use std::borrow::Cow;
use std::sync::Arc;

use jsonschema::{PatternOptions, Validator};

use crate::value::{HostData, HostValue, Map, Opaque, Value};
use index::Index;

pub use formals::{formals_of, from_formals};
pub use signature::{first_sentence, signature};
pub use structure::structural_problems;
pub use written::{parameters_json, to_host};

/// Levels of nesting that a schema or an input may have; deeper ones are refused, as they would exhaust the stack.
pub const MAX_DEPTH: usize = 128;

/// A compiled schema; a clone is a reference.
#[derive(Debug, Clone)]
pub struct Schema {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    json: Value,
    validator: Validator,
    accepted: Vec<String>,
    open: bool,
    empty_for_null: bool,
    has_references: bool,
    free: Vec<String>,
}

/// What [`Schema::check_host`] found.
#[derive(Debug, Clone, PartialEq)]
pub struct Checked {
    /// The input as JSON, coerced as the schema asks.
    pub input: Value,
    /// The error texts; none when the input is valid.
    pub errors: Vec<String>,
}

impl Schema {
    /// Compiles a schema: draft 2020-12, or the draft that `$schema` names. Formats are asserted, patterns run in
    /// linear time, and nothing is ever fetched. A schema that was compiled before is shared.
    ///
    /// # Errors
    /// The problem, as the end of a sentence that begins with the schema's name: the schema is invalid, has a
    /// remote `$ref`, a reference that leads back to itself, a pattern with look-around or back-references, or more
    /// than [`MAX_DEPTH`] levels.
    pub fn compile(json: &Value) -> Result<Self, String> {
        if too_deep(json, MAX_DEPTH) {
            return Err(format!("has more than {MAX_DEPTH} levels of nesting"));
        }
        compiled::or_compile(json.to_string(), || Self::compile_new(json))
    }

    fn compile_new(json: &Value) -> Result<Self, String> {
        Index::new(json).check_loops()?;
        let validator = jsonschema::options()
            .offline()
            .with_pattern_options(PatternOptions::regex())
            .should_validate_formats(true)
            .build(json)
            .map_err(|e| format!("is not a valid JSON Schema: {}", build_problem(json, &e)))?;
        let json = json.clone();
        let index = Index::new(&json);
        let ((accepted, open), has_references) = (index.declared(), index.has_references());
        let free = index.free_properties(&accepted);
        let empty_for_null = empty_for_null(&json);
        let inner = Inner { json, validator, accepted, open, empty_for_null, has_references, free };
        Ok(Schema { inner: Arc::new(inner) })
    }

    /// The schema as it was given.
    pub fn json(&self) -> &Value {
        &self.inner.json
    }

    /// The input as it counts: null under a schema for objects is `{}`, unless the schema allows null.
    pub fn root<'a>(&self, input: &'a Value) -> Cow<'a, Value> {
        if input.is_null() && self.inner.empty_for_null {
            Cow::Owned(Value::Object(Map::new()))
        } else {
            Cow::Borrowed(input)
        }
    }

    /// The error texts for a JSON value; none when it is valid. Paths look like `a.b[1].c`, arrays count from 1, and
    /// values are never quoted.
    pub fn validate(&self, input: &Value) -> Vec<String> {
        if let Err(problem) = self.bounded(input) {
            return vec![problem];
        }
        let input = self.root(input);
        report::texts(&self.inner.json, self.inner.validator.iter_errors(&input), &report::Notes::default())
    }

    /// The input with a word in place of each value that the schema leaves alone, scalars excepted.
    fn without_free<'v>(&self, input: &'v HostValue) -> Cow<'v, HostValue> {
        let (Some(items), Some(names)) = (input.items(), &input.names) else { return Cow::Borrowed(input) };
        let is_free = |name: &str, item: &HostValue| {
            let scalar = item.items().is_none() && item.len() == 1 && item.to_json().is_ok();
            !scalar && !item.is_null() && self.inner.free.iter().any(|f| f == name)
        };
        if !names.iter().zip(items).any(|(name, item)| is_free(name, item)) {
            return Cow::Borrowed(input);
        }
        let word = |item: &HostValue| Opaque { kind: item.class_word().to_owned(), length: item.len() };
        let items = names.iter().zip(items).map(|(name, item)| match is_free(name, item) {
            true => HostData::Opaque(word(item)).into(),
            false => item.clone(),
        });
        Cow::Owned(HostValue { data: HostData::List(items.collect()), names: input.names.clone(), class: Vec::new() })
    }

    /// Refuses an input that can't be checked in bounded time and depth.
    fn bounded(&self, input: &Value) -> Result<(), String> {
        if too_deep(input, MAX_DEPTH) {
            return Err(format!("the input has more than {MAX_DEPTH} levels of nesting."));
        }
        if self.inner.has_references { effort::check(&self.inner.json, input) } else { Ok(()) }
    }

    /// The input with the liberties put right that models take: a whole number with a point where an integer is asked
    /// (`30.0`), a scalar where an array of scalars is. An array of one stays what it is, and so do strings.
    pub fn adapted<'a>(&self, input: &'a Value) -> Cow<'a, Value> {
        let is_fine = || !has_whole_double(input) && self.inner.validator.is_valid(input);
        if self.bounded(input).is_err() || is_fine() {
            return Cow::Borrowed(input);
        }
        adapt::adapted(&self.inner.json, input).map_or(Cow::Borrowed(input), Cow::Owned)
    }

    /// Top-level names of `input` that the schema neither declares nor opens itself to.
    pub fn unknown_arguments(&self, input: &Map<String, Value>) -> Vec<String> {
        if self.inner.open {
            return Vec::new();
        }
        input.keys().filter(|k| !self.inner.accepted.contains(k)).cloned().collect()
    }

    /// The top-level names that the schema declares, in order.
    pub fn accepted(&self) -> Vec<String> {
        self.inner.accepted.clone()
    }

    /// Reads an R value as the schema asks and validates it: a whole number counts as an integer, a scalar as an
    /// array of one, an atomic vector as an array, an empty list as an object or an array. Top-level values that the
    /// schema leaves alone are not read: each may be anything, and large.
    pub fn check_host(&self, input: &HostValue) -> Checked {
        if input.is_null() && self.inner.empty_for_null {
            let input = Value::Object(Map::new());
            let errors = self.validate(&input);
            return Checked { input, errors };
        }
        let input = self.without_free(input);
        let read = host_input::read(&self.inner.json, &input);
        if let Err(problem) = self.bounded(&read.value) {
            return Checked { input: read.value, errors: vec![problem] };
        }
        let errors = report::texts(&self.inner.json, self.inner.validator.iter_errors(&read.value), &read.notes);
        Checked { input: read.value, errors }
    }
}

fn build_problem(json: &Value, error: &jsonschema::ValidationError<'_>) -> String {
    let own = structural_problems(json).into_iter().find(|p| !p.contains("not in properties"));
    let text = own.unwrap_or_else(|| report::sentence(error));
    text.trim_end_matches('.').to_owned()
}

fn empty_for_null(schema: &Value) -> bool {
    let types = structure::types(schema);
    let object = types.contains(&"object") || schema.get("properties").is_some();
    object && !types.contains(&"null")
}

fn has_whole_double(value: &Value) -> bool {
    match value {
        Value::Number(n) => n.is_f64() && n.as_f64().is_some_and(|x| x.fract() == 0.0),
        Value::Array(items) => items.iter().any(has_whole_double),
        Value::Object(map) => map.values().any(has_whole_double),
        _ => false,
    }
}

fn too_deep(value: &Value, levels: usize) -> bool {
    match value {
        Value::Array(items) => levels == 0 || items.iter().any(|v| too_deep(v, levels - 1)),
        Value::Object(map) => levels == 0 || map.values().any(|v| too_deep(v, levels - 1)),
        _ => false,
    }
}

#[cfg(test)]
mod arbitrary;
#[cfg(test)]
mod official_suite;
#[cfg(test)]
mod tests;
