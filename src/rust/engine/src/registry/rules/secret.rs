//! Secrets and the environment of child processes.

use regex::Regex;

use super::names;
use crate::registry::validate::{Draft, Verdict, fault};
use crate::value::HostValue;

/// The rule of kind `redaction_rule`. Patterns run in the engine, in linear time: one with look-around or
/// back-references is refused here, since it would redact nothing later.
pub(crate) fn check_redaction_rule(draft: &mut Draft<'_>) -> Verdict {
    let pattern = pattern(draft.text("pattern").unwrap_or_default(), "pattern")?;
    let marker = format!("[secret:{}]", draft.text("marker").unwrap_or_default());
    if pattern.is_match(&marker) {
        return fault("pattern", "must not match its own marker");
    }
    Ok(())
}

fn pattern(text: &str, field: &str) -> Result<Regex, crate::registry::validate::Fault> {
    Regex::new(text).or_else(|_| fault(field, "must be a regular expression without look-around and back-references"))
}

/// The rule of kind `env_alias`.
pub(crate) fn check_env_alias(draft: &mut Draft<'_>) -> Verdict {
    if !names::VARIABLE.fits(&draft.name) {
        return fault("name", names::VARIABLE.problem());
    }
    match draft.field("aliases") {
        Some(aliases) if aliases.is_empty() => fault("aliases", "must have at least one"),
        _ => Ok(()),
    }
}

/// The rule of kind `child_env`.
pub(crate) fn check_child_env(draft: &mut Draft<'_>) -> Verdict {
    for field in ["keep", "drop"] {
        for text in draft.field(field).and_then(HostValue::as_strings).unwrap_or_default() {
            pattern(text, field)?;
        }
    }
    Ok(())
}
