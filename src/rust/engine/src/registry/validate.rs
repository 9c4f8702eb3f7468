//! Building a spec: the checks that every spec passes, then its kind's fields and rule.

use super::kind::{Kind, Validator};
use crate::error::Error;
use crate::reply::HostReply;
use crate::schema::Schema;
use crate::value::HostValue;

/// The version that a spec without `api_version` is written for.
pub const API_VERSION: &str = "1.0";

/// The catalogue of events, as far as a hook's spec needs it.
pub trait Events {
    /// True for a catalogued event and for a channel name.
    fn known(&self, event: &str) -> bool;
    /// What to say to somebody who wrote an unknown name, e.g. `did you mean 'tool_call'?`.
    fn hint(&self, event: &str) -> Option<String>;
}

/// A valid spec.
#[derive(Debug, Clone)]
pub struct Validated {
    /// The spec's name.
    pub name: String,
    /// The key of its record: the name, for a tool with a namespace `<namespace>/<name>`.
    pub key: String,
    /// The spec with the patch applied.
    pub spec: HostValue,
    /// What the host sets in its own copy, in order; NULL removes a field.
    pub patch: Vec<(String, HostValue)>,
    /// Functions that the host still has to make.
    pub generate: Option<Generate>,
    /// A tool's schema; `None` for other kinds and for a schema that is a function.
    pub schema: Option<Schema>,
    /// The function of the host's that has to agree too, for a kind that a record defined.
    pub validator: Option<Validator>,
    /// True when the schema says no more than the formals of the tool's `fun`: then only names and required
    /// arguments count for a call from R.
    pub derived: bool,
}

/// Functions that the host makes for a spec.
#[derive(Debug, Clone, PartialEq)]
pub enum Generate {
    /// A tool's `execute`, from its `fun`.
    Execute,
    /// A tool's `fun`, from its `execute`, with these formals; a formal that is not required has the default NULL.
    Fun {
        /// Name and whether it is required, in order.
        formals: Vec<(String, bool)>,
    },
    /// These methods of a `ui`, each of which answers "no".
    UiDefaults(Vec<String>),
}

/// What is wrong with a spec.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Fault {
    pub(crate) field: String,
    pub(crate) problem: String,
}

/// The end of a check.
pub(crate) type Verdict = Result<(), Fault>;

/// A fault of one field.
pub(crate) fn fault<T>(field: &str, problem: impl Into<String>) -> Result<T, Fault> {
    Err(Fault { field: field.to_owned(), problem: problem.into() })
}

/// A spec while it is built: defaults are filled in before the kind's rule looks at it.
pub(crate) struct Draft<'a> {
    pub(crate) name: String,
    pub(crate) key: String,
    pub(crate) events: &'a dyn Events,
    pub(crate) generate: Option<Generate>,
    pub(crate) schema: Option<Schema>,
    pub(crate) derived: bool,
    spec: HostValue,
    patch: Vec<(String, HostValue)>,
}

impl Draft<'_> {
    /// A field that is there and not NULL.
    pub(crate) fn field(&self, name: &str) -> Option<&HostValue> {
        self.spec.field(name)
    }

    /// A field that is one string.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.field(name).and_then(HostValue::as_str)
    }

    /// True when a field is TRUE.
    pub(crate) fn flag(&self, name: &str) -> bool {
        self.field(name).and_then(HostValue::as_flag) == Some(true)
    }

    /// Sets a field here and in the host's copy.
    pub(crate) fn set(&mut self, name: &str, value: HostValue) {
        self.spec.set(name, value.clone());
        match self.patch.iter_mut().find(|(n, _)| n == name) {
            Some(entry) => entry.1 = value,
            None => self.patch.push((name.to_owned(), value)),
        }
    }
}

/// Checks a spec of `kind`: a named list with `kind`, `name` and the kind's fields. Unknown fields are kept. For a
/// kind that a record defined the host still has its own validator to run.
///
/// # Errors
/// `InvalidArgument` when `spec` is no list, else `InvalidSpec` with the first field that is wrong.
pub fn validate(kind: &Kind, spec: &HostValue, events: &dyn Events) -> Result<Validated, Error> {
    if !spec.is_plain_list() {
        return Err(Error::argument("spec", "a named list", &spec.describe()));
    }
    build(kind, spec, events).map_err(|f| {
        let name = spec.get("name").and_then(HostValue::as_str).unwrap_or_default();
        Error::spec(&kind.name, name, &f.field, f.problem)
    })
}

fn build(kind: &Kind, spec: &HostValue, events: &dyn Events) -> Result<Validated, Fault> {
    check_names(spec)?;
    let name = spec.get("name").and_then(HostValue::as_str).unwrap_or_default().to_owned();
    if name.is_empty() {
        return fault("name", "must be a single non-empty string");
    }
    let mut draft = Draft {
        key: name.clone(),
        name,
        events,
        generate: None,
        schema: None,
        derived: false,
        spec: spec.clone(),
        patch: Vec::new(),
    };
    match spec.field("api_version") {
        None => draft.set("api_version", API_VERSION.into()),
        Some(version) if version.as_str().is_some() => {}
        Some(_) => return fault("api_version", "must be a string"),
    }
    check_fields(kind, &mut draft)?;
    (kind.rule)(&mut draft)?;
    if draft.text("kind") != Some(&kind.name) {
        draft.set("kind", kind.name.as_str().into());
    }
    let Draft { name, key, generate, schema, derived, spec, patch, .. } = draft;
    Ok(Validated { name, key, spec, patch, generate, schema, validator: kind.validator.clone(), derived })
}

/// What the answer of a kind's own validator means: it accepts a spec by returning the list.
///
/// # Errors
/// The `InvalidSpec` that it raised (`fields` are that condition's); for any other failure, and for an answer that is no
/// list, an `InvalidSpec` of the field `(validate)`.
pub fn judge(kind: &str, name: &str, reply: &HostReply, fields: &HostValue) -> Result<(), Error> {
    let refuse = |problem: String| Err(Error::spec(kind, name, "(validate)", problem));
    if let HostReply::Condition { class, .. } = reply
        && class.iter().any(|c| c == "gptr_error_invalid_spec")
    {
        let text = |field: &str| fields.field(field).and_then(HostValue::as_str);
        if let (Some(field), Some(problem)) = (text("field"), text("problem")) {
            return Err(Error::spec(text("kind").unwrap_or(kind), text("name").unwrap_or(name), field, problem));
        }
    }
    match reply.result() {
        Ok(value) if value.is_plain_list() => Ok(()),
        Ok(value) => refuse(format!("must give back the spec, but it gave {}", value.describe())),
        Err(failed) => refuse(format!("failed: {}", failed.message)),
    }
}

fn check_names(spec: &HostValue) -> Verdict {
    let names = spec.names.as_deref().unwrap_or_default();
    if names.len() < spec.len() || names.iter().any(String::is_empty) {
        return fault("(unnamed)", "is not allowed");
    }
    let mut seen = std::collections::HashSet::new();
    match names.iter().find(|n| !seen.insert(n.as_str())) {
        Some(twice) => fault(twice, "is given twice"),
        None => Ok(()),
    }
}

fn check_fields(kind: &Kind, draft: &mut Draft<'_>) -> Verdict {
    for field in &kind.fields {
        match (draft.field(&field.name), &field.default) {
            (Some(value), _) => match field.check(value) {
                Ok(None) => {}
                Ok(Some(stored)) => draft.set(&field.name, stored),
                Err(problem) => return fault(&field.name, problem),
            },
            (None, _) if field.required => return fault(&field.name, "is required"),
            (None, Some(default)) => draft.set(&field.name, default.clone()),
            (None, None) => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
