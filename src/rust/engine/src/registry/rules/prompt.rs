//! What enters a prompt: sections, context blocks, skills, standing guidance.

use super::names;
use crate::registry::validate::{Draft, Verdict, fault};
use crate::value::HostValue;

const LONGEST_DESCRIPTION: usize = 1024;
const LONGEST_GUIDANCE: usize = 200;

/// The rule of the kinds with a budget.
pub(crate) fn check_budget(draft: &mut Draft<'_>) -> Verdict {
    match draft.field("budget").and_then(HostValue::as_number) {
        Some(tokens) if tokens < 1.0 => fault("budget", "must be at least 1"),
        _ => Ok(()),
    }
}

/// The rule of kind `skill`.
pub(crate) fn check_skill(draft: &mut Draft<'_>) -> Verdict {
    if !names::SKILL.fits(&draft.name) {
        return fault("name", names::SKILL.problem());
    }
    if draft.text("description").is_some_and(|d| d.chars().count() > LONGEST_DESCRIPTION) {
        return fault("description", format!("must have at most {LONGEST_DESCRIPTION} characters"));
    }
    Ok(())
}

/// The rule of kind `guidance`: one line that shows all of itself.
pub(crate) fn check_guidance(draft: &mut Draft<'_>) -> Verdict {
    let text = draft.text("text").unwrap_or_default().to_owned();
    let trimmed = text.trim();
    let length = trimmed.chars().count();
    if length == 0 || length > LONGEST_GUIDANCE {
        return fault("text", format!("must have 1 to {LONGEST_GUIDANCE} characters"));
    }
    if trimmed.chars().any(is_unseen) {
        return fault("text", "must be one line without control, direction or zero-width characters");
    }
    if trimmed != text {
        draft.set("text", trimmed.into());
    }
    Ok(())
}

/// Controls, line and paragraph separators, bidirectional controls (Unicode `Bidi_Control`), zero-width characters.
fn is_unseen(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{2028}' | '\u{2029}' | '\u{061C}' | '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}'
            | '\u{2060}'..='\u{2064}' | '\u{2066}'..='\u{206F}' | '\u{FEFF}' | '\u{180E}' | '\u{00AD}')
}
