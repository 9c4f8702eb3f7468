//! Model records, alone and inside a provider; routers.

use crate::registry::field::{Field, whole};
use crate::registry::kind::model_fields;
use crate::registry::validate::{Draft, Fault, Verdict, fault};
use crate::value::HostValue;

const DECISION_TYPES: [&str; 3] = ["noul", "choice", "score"];
const DECISION_LIMITS: [&str; 5] =
    ["max_questions", "max_options", "max_request_bytes_text", "max_request_bytes_images", "max_active"];

/// The rule of kind `model`: the name is `<provider>/<id>`, and the parts are filled in from it.
pub(crate) fn check(draft: &mut Draft<'_>) -> Verdict {
    let name = draft.name.clone();
    let Some((provider, id)) = name.split_once('/').filter(|(p, i)| !p.is_empty() && !i.is_empty()) else {
        return fault("name", "must be <provider>/<id>");
    };
    for (field, value) in [("provider", provider), ("id", id), ("ref", name.as_str())] {
        if draft.field(field).is_none() {
            draft.set(field, value.into());
        }
    }
    if (draft.text("provider"), draft.text("id")) != (Some(provider), Some(id)) {
        return fault("id", "must make up the name together with provider: <provider>/<id>");
    }
    let record = HostValue::named(fields_of(draft));
    for (field, value) in check_record(&record, &[], "")? {
        draft.set(&field, value);
    }
    Ok(())
}

fn fields_of(draft: &Draft<'_>) -> Vec<(String, HostValue)> {
    let fields = model_fields().into_iter();
    fields.filter_map(|f| draft.field(&f.name).map(|v| (f.name.clone(), v.clone()))).collect()
}

/// The rule of kind `router`.
pub(crate) fn check_router(draft: &mut Draft<'_>) -> Verdict {
    match draft.field("timeout").and_then(HostValue::as_number) {
        Some(seconds) if seconds <= 0.0 => fault("timeout", "must be greater than 0"),
        _ => Ok(()),
    }
}

/// Checks a model record against `fields` and the rules beyond them; the fields to set, where one was coerced.
/// `prefix` stands before the names of fields in a fault.
pub(super) fn check_record(
    record: &HostValue,
    fields: &[Field],
    prefix: &str,
) -> Result<Vec<(String, HostValue)>, Fault> {
    let at = |field: &str| format!("{prefix}{field}");
    let mut stored = Vec::new();
    for field in fields {
        if let Some(value) = record.field(&field.name) {
            match field.check(value) {
                Ok(Some(other)) => stored.push((field.name.clone(), other)),
                Ok(None) => {}
                Err(problem) => return fault(&at(&field.name), problem),
            }
        }
    }
    for field in ["digest", "server_version"] {
        if record.field(field).and_then(HostValue::as_str) == Some("") {
            return fault(&at(field), "must not be empty");
        }
    }
    let capabilities = record.field("capabilities").and_then(HostValue::items).unwrap_or_default();
    if capabilities.iter().any(|c| c.as_flag().is_none()) {
        return fault(&at("capabilities"), "must have only TRUE or FALSE as entries");
    }
    if let Some(decision) = record.field("decision")
        && let Some(other) = check_decision(decision, &at("decision"))?
    {
        stored.push(("decision".to_owned(), other));
    }
    Ok(stored)
}

fn check_decision(decision: &HostValue, at: &str) -> Result<Option<HostValue>, Fault> {
    let field = |name: &str| format!("{at}.{name}");
    if let Some(types) = decision.field("types") {
        let known = types.as_strings().filter(|all| all.iter().all(|t| DECISION_TYPES.contains(t)));
        let distinct = known.is_some_and(|all| !all.is_empty() && (1..all.len()).all(|i| !all[..i].contains(&all[i])));
        if !distinct {
            return fault(&field("types"), format!("must be a non-empty subset of {}", DECISION_TYPES.join(", ")));
        }
    }
    if decision.field("images").is_some_and(|v| v.as_flag().is_none()) {
        return fault(&field("images"), "must be TRUE or FALSE");
    }
    if decision.field("server_min").is_some_and(|v| !v.as_str().is_some_and(is_server_version)) {
        return fault(&field("server_min"), "must be a version such as 1.2.3");
    }
    let mut stored = decision.clone();
    for name in DECISION_LIMITS {
        let Some(value) = decision.field(name) else { continue };
        match whole(value).filter(|n| *n > 0) {
            Some(n) => stored.set(name, n.into()),
            None => return fault(&field(name), "must be a positive whole number"),
        }
    }
    Ok((stored != *decision).then_some(stored))
}

/// `1.2.3`, optionally followed by `-` or `+` and letters, digits, dots and hyphens.
fn is_server_version(text: &str) -> bool {
    let (numbers, suffix) = match text.find(['-', '+']) {
        Some(at) => (&text[..at], text.get(at + 1..)),
        None => (text, None),
    };
    let parts: Vec<&str> = numbers.split('.').collect();
    let digits = |p: &&str| !p.is_empty() && p.bytes().all(|b| b.is_ascii_digit());
    let tail = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'.' || b == b'-');
    parts.len() > 1 && parts.iter().all(digits) && suffix.is_none_or(tail)
}

#[cfg(test)]
mod tests {
    use super::is_server_version;

    #[test]
    fn a_server_version_has_at_least_two_parts() {
        assert!(["1.2", "1.2.3-rc.1", "0.10+b1"].into_iter().all(is_server_version));
        assert!(!["1", "1.", "1.2-", "v1.2", "1.2\n", "1.2-a_b"].into_iter().any(is_server_version));
    }
}
