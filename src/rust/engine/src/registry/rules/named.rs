//! Kinds whose check is mostly about a name: commands, hooks, settings, kinds, agents, user interfaces.

use super::names;
use crate::registry::validate::{Draft, Generate, Verdict, fault};

/// What `session$<name>` answers by itself, so that no agent may be called that.
const SESSION_ACCESSORS: [&str; 21] = [
    "text",
    "value",
    "values",
    "usage",
    "cost",
    "history",
    "messages",
    "model",
    "mode",
    "status",
    "reason",
    "id",
    "kind",
    "file",
    "turns",
    "envir",
    "children",
    "ext",
    "plan",
    "last_rewind",
    "editor_text",
];

/// Methods of a `ui` that are made when they are missing.
const UI_METHODS: [&str; 4] = ["input", "questions", "notify", "permission"];

/// The rule of kind `command`.
pub(crate) fn check_command(draft: &mut Draft<'_>) -> Verdict {
    if draft.name.starts_with('/') || draft.name.contains(char::is_whitespace) {
        return fault("name", "must not begin with / and must not have white space");
    }
    Ok(())
}

/// The rule of kind `hook`.
pub(crate) fn check_hook(draft: &mut Draft<'_>) -> Verdict {
    let event = draft.text("event").unwrap_or_default();
    if draft.events.known(event) {
        return Ok(());
    }
    let hint = draft.events.hint(event).map(|h| format!(" ({h})")).unwrap_or_default();
    fault("event", format!("is not a gptr event{hint}"))
}

/// The rule of kind `setting`.
pub(crate) fn check_setting(draft: &mut Draft<'_>) -> Verdict {
    if names::is_setting(&draft.name) {
        return Ok(());
    }
    fault("name", "must be words of lower-case letters, digits and _, joined by dots")
}

/// The rule of kind `kind`.
pub(crate) fn check_kind(draft: &mut Draft<'_>) -> Verdict {
    if names::KIND.fits(&draft.name) { Ok(()) } else { fault("name", names::KIND.problem()) }
}

/// The rule of kind `agent`.
pub(crate) fn check_agent(draft: &mut Draft<'_>) -> Verdict {
    if SESSION_ACCESSORS.contains(&draft.name.as_str()) {
        return fault("name", "must not be the name of a session's own field");
    }
    Ok(())
}

/// The rule of kind `ui`.
pub(crate) fn check_ui(draft: &mut Draft<'_>) -> Verdict {
    let missing: Vec<String> =
        UI_METHODS.iter().filter(|m| draft.field(m).is_none()).map(|m| (*m).to_owned()).collect();
    if !missing.is_empty() {
        draft.generate = Some(Generate::UiDefaults(missing));
    }
    Ok(())
}
