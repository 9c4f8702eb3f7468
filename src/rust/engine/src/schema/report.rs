//! The validator's findings in our words.

use jsonschema::ValidationError;
use jsonschema::error::{TypeKind, ValidationErrorKind as Kind};

use super::place::Place;
use super::{host_input, structure};
use crate::value::{HostValue, Value};

/// What is known of an input beyond its JSON.
#[derive(Debug, Default)]
pub(super) struct Notes<'v> {
    /// The host's value that the JSON was read from: it has a name for each part, `character of length 2`, or `null`.
    pub(super) host: Option<&'v HostValue>,
    /// What could not be read at all.
    pub(super) faults: Vec<Finding>,
}

/// One finding.
#[derive(Debug)]
pub(super) struct Finding {
    pointer: String,
    text: String,
    mismatch: bool,
}

impl Finding {
    /// A value that could not be read: nothing else is said about it.
    pub(super) fn unreadable(place: &Place, problem: &str) -> Self {
        Finding { pointer: place.pointer(), text: format!("{} {problem}.", place.subject()), mismatch: true }
    }

    /// A value of a wrong type.
    pub(super) fn mismatch(place: &Place, types: &[&str], what: &str) -> Self {
        let text = format!("{} must be {}, not {what}.", place.subject(), types.join(" or "));
        Finding { pointer: place.pointer(), text, mismatch: true }
    }
}

/// The texts of all errors, in order; below a type mismatch nothing more is said.
pub(super) fn texts<'a>(
    schema: &Value,
    errors: impl Iterator<Item = ValidationError<'a>>,
    notes: &Notes<'_>,
) -> Vec<String> {
    let found: Vec<Finding> = errors.flat_map(|e| findings(schema, &e, notes)).collect();
    let all: Vec<&Finding> = notes.faults.iter().chain(&found).collect();
    let stops: Vec<&Finding> = all.iter().filter(|f| f.mismatch).copied().collect();
    let hidden = |f: &Finding| stops.iter().any(|s| !std::ptr::eq(*s, f) && covers(s, f, &all));
    let mut out: Vec<String> = Vec::new();
    for finding in all.iter().filter(|f| !hidden(f)) {
        if !out.contains(&finding.text) {
            out.push(finding.text.clone());
        }
    }
    out
}

/// True when `stop` stands above `finding`, or at the same place and earlier (or `finding` is no mismatch).
fn covers(stop: &Finding, finding: &Finding, all: &[&Finding]) -> bool {
    if let Some(below) = finding.pointer.strip_prefix(&stop.pointer) {
        if below.starts_with('/') {
            return true;
        }
        if below.is_empty() {
            let at = |f: &Finding| all.iter().position(|x| std::ptr::eq(*x, f));
            return !finding.mismatch || at(stop) < at(finding);
        }
    }
    false
}

/// One error as a sentence, in the crate's words with our path.
pub(super) fn sentence(error: &ValidationError<'_>) -> String {
    let subject = Place::of(error.instance_path()).subject();
    let text = error.masked_with(subject.as_str()).to_string();
    if text.contains(&subject) { format!("{text}.") } else { format!("{subject}: {text}.") }
}

fn findings(schema: &Value, error: &ValidationError<'_>, notes: &Notes<'_>) -> Vec<Finding> {
    let place = Place::of(error.instance_path());
    let plain = |text: String| Finding { pointer: place.pointer(), text, mismatch: false };
    let unknown = |name: &String| plain(format!("unknown property '{}'.", place.key(name).path()));
    match error.kind() {
        Kind::Type { .. } => vec![mismatch(&place, &types(schema, error), error, notes)],
        Kind::AnyOf { context } | Kind::OneOfNotValid { context } => match only_types(schema, context, error) {
            Some(types) => vec![mismatch(&place, &types, error, notes)],
            None => vec![plain(sentence(error))],
        },
        Kind::Enum { options } => {
            let options: Vec<String> = options.as_array().into_iter().flatten().map(Value::to_string).collect();
            vec![plain(format!("{} must be one of {}.", place.subject(), options.join(", ")))]
        }
        Kind::Required { property } => {
            let name = property.as_str().unwrap_or_default();
            vec![plain(format!("missing required property '{}'.", place.key(name).path()))]
        }
        Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected } => {
            unexpected.iter().map(unknown).collect()
        }
        _ => vec![plain(sentence(error))],
    }
}

fn mismatch(place: &Place, types: &[String], error: &ValidationError<'_>, notes: &Notes<'_>) -> Finding {
    let types: Vec<&str> = types.iter().map(String::as_str).collect();
    let host = notes.host.and_then(|v| place.part_of(v));
    let word = host.map_or_else(|| json_word(error.instance()), |v| host_input::words(&v));
    Finding::mismatch(place, &types, &word)
}

/// The types that were asked for, as the schema lists them.
fn types(schema: &Value, error: &ValidationError<'_>) -> Vec<String> {
    let Kind::Type { kind } = error.kind() else { return Vec::new() };
    let asked: Vec<String> = match kind {
        TypeKind::Single(one) => vec![one.to_string()],
        TypeKind::Multiple(set) => set.iter().map(|t| t.to_string()).collect(),
    };
    let path = error.schema_path().as_str();
    let listed = path.strip_suffix("/type").and_then(|at| schema.pointer(at)).map(structure::types).unwrap_or_default();
    let same = listed.len() == asked.len() && listed.iter().all(|t| asked.iter().any(|a| a == t));
    if same { listed.into_iter().map(str::to_owned).collect() } else { asked }
}

/// The types of all branches, when each of them fails for its type alone.
fn only_types(
    schema: &Value,
    branches: &[Vec<ValidationError<'_>>],
    error: &ValidationError<'_>,
) -> Option<Vec<String>> {
    let mut out: Vec<String> = Vec::new();
    for branch in branches {
        let [one] = branch.as_slice() else { return None };
        if one.instance_path() != error.instance_path() || !matches!(one.kind(), Kind::Type { .. }) {
            return None;
        }
        for name in types(schema, one) {
            if !out.contains(&name) {
                out.push(name);
            }
        }
    }
    (!out.is_empty()).then_some(out)
}

/// A JSON value in R's words.
fn json_word(value: &Value) -> String {
    let (class, length) = match value {
        Value::Null => return "null".to_owned(),
        Value::Bool(_) => ("logical", 1),
        Value::Number(n) if n.is_f64() => ("numeric", 1),
        Value::Number(_) => ("integer", 1),
        Value::String(_) => ("character", 1),
        Value::Array(items) => ("list", items.len()),
        Value::Object(map) => ("list", map.len()),
    };
    format!("{class} of length {length}")
}
