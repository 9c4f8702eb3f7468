//! Providers: where models live.

use super::{endpoint, model, names};
use crate::registry::field::Field;
use crate::registry::kind::model_fields;
use crate::registry::validate::{Draft, Fault, Verdict, fault};
use crate::value::{HostData, HostValue, Value};

/// Levels of effort; `none` is another word for `off`.
const EFFORTS: [&str; 8] = ["off", "none", "minimal", "low", "medium", "high", "xhigh", "max"];

const RATES: [&str; 2] = ["requests_per_s", "tokens_per_s"];

/// The rule of kind `provider`.
pub(crate) fn check(draft: &mut Draft<'_>) -> Verdict {
    if !names::PROVIDER.fits(&draft.name) {
        return fault("id", names::PROVIDER.problem());
    }
    match draft.text("id") {
        None => draft.set("id", draft.name.clone().into()),
        Some(id) if id == draft.name => {}
        Some(_) => return fault("id", "must be equal to the name"),
    }
    if let Some(models) = draft.field("models")
        && let Some(stored) = check_models(models)?
    {
        draft.set("models", stored);
    }
    check_headers(draft.field("headers"))?;
    check_rate(draft.field("rate"))?;
    if draft.field("context").and_then(HostValue::as_number).is_some_and(|x| x <= 0.0 || x.fract() != 0.0) {
        return fault("context", "must be a positive whole number");
    }
    if let Some(thinking) = draft.field("thinking") {
        check_thinking(thinking)?;
    }
    match draft.text("base_url").map(|url| endpoint::check(url, draft.flag("local"))) {
        Some(Err(problem)) => fault("base_url", problem),
        _ => Ok(()),
    }
}

/// Names, or model records; the form to store when a record was coerced.
fn check_models(models: &HostValue) -> Result<Option<HostValue>, Fault> {
    if models.is_empty() {
        return fault("models", "must not be empty");
    }
    if let Some(ids) = models.as_strings() {
        check_ids(&ids)?;
        return Ok(None);
    }
    let fields = model_fields();
    let mut stored = models.clone();
    let mut ids = Vec::new();
    if let HostData::List(records) = &mut stored.data {
        for (i, record) in records.iter_mut().enumerate() {
            ids.push(check_record(record, &fields, &format!("models[[{}]]", i + 1))?);
        }
    }
    check_ids(&ids.iter().map(String::as_str).collect::<Vec<_>>())?;
    Ok((stored != *models).then_some(stored))
}

fn check_record(record: &mut HostValue, fields: &[Field], at: &str) -> Result<String, Fault> {
    if !record.is_plain_list() || !record.uniquely_named() {
        return fault(at, "must be a named list");
    }
    let id = record.field("id").and_then(HostValue::as_str).unwrap_or_default().to_owned();
    if id.is_empty() {
        return fault(at, "must have a non-empty string `id`");
    }
    for (field, value) in model::check_record(record, fields, &format!("{at}."))? {
        record.set(&field, value);
    }
    Ok(id)
}

fn check_ids(ids: &[&str]) -> Verdict {
    let mut seen = std::collections::HashSet::new();
    if ids.iter().any(|id| id.trim().is_empty()) {
        return fault("models", "must not have a blank name");
    }
    match ids.iter().find(|id| !seen.insert(**id)) {
        Some(twice) => fault("models", format!("must not repeat '{twice}'")),
        None => Ok(()),
    }
}

fn check_headers(headers: Option<&HostValue>) -> Verdict {
    let Some(headers) = headers else { return Ok(()) };
    if let HostData::Function(f) = &headers.data {
        let callable = f.accepts(0) || f.accepts(1);
        return if callable { Ok(()) } else { fault("headers", "must be a function of no or one argument") };
    }
    for (name, value) in headers.names.iter().flatten().zip(headers.items().unwrap_or_default()) {
        if !name.bytes().all(is_token_byte) {
            return fault("headers", "must have names that are valid header names");
        }
        let fine = value.as_str().is_some_and(|v| !v.contains(|c: char| c.is_control() && c != '\t'));
        if !fine {
            return fault("headers", format!("must have one string without control characters as '{name}'"));
        }
    }
    Ok(())
}

/// A byte of a header's name (RFC 9110, `tchar`).
fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

fn check_rate(rate: Option<&HostValue>) -> Verdict {
    let Some(rate) = rate else { return Ok(()) };
    for (name, value) in rate.names.iter().flatten().zip(rate.items().unwrap_or_default()) {
        if !RATES.contains(&name.as_str()) {
            return fault("rate", format!("must have only {}", RATES.join(" and ")));
        }
        if value.as_number().is_none_or(|x| x <= 0.0) {
            return fault("rate", format!("must have a positive number as {name}"));
        }
    }
    Ok(())
}

fn check_thinking(thinking: &HostValue) -> Verdict {
    for (level, fragment) in thinking.names.iter().flatten().zip(thinking.items().unwrap_or_default()) {
        if !EFFORTS.contains(&level.as_str()) {
            return fault("thinking", format!("must have only the levels {}", EFFORTS.join(", ")));
        }
        if !is_fragment(fragment) {
            return fault("thinking", format!("must have a named list or a JSON object as '{level}'"));
        }
    }
    Ok(())
}

/// NULL, a named list that JSON can hold, or the text of a JSON object.
fn is_fragment(fragment: &HostValue) -> bool {
    if let Some(text) = fragment.as_str() {
        return serde_json::from_str::<Value>(text).is_ok_and(|v| v.is_object());
    }
    fragment.is_null() || (fragment.is_plain_list() && fragment.uniquely_named() && fragment.to_json().is_ok())
}
