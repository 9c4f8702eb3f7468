//! What the model reads when a call was refused, and what the caller is told to do about it.

use super::lattice::Decision;

/// Who refused a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// A policy.
    Policy,
    /// A `permission_request` hook.
    Hook,
    /// Nobody could approve, and the run goes on.
    NobodyDeny,
    /// Nobody could approve, and the run stops.
    NobodyStop,
    /// The person said no.
    PersonNo,
    /// The person aborted the run at the question.
    PersonAbort,
    /// A handler took too long.
    TimedOut,
}

const CHOOSE: &str = "Say why it is needed, or choose another way";

/// Refusal, the reason that replaces the policies' when there is none better, and what to do.
const HOW: &[(Refusal, Option<&str>, &str)] = &[
    (Refusal::Policy, None, CHOOSE),
    (Refusal::Hook, None, CHOOSE),
    (
        Refusal::NobodyDeny,
        None,
        "Nobody can approve it in this run: go on without what needs approval, or report that it is needed",
    ),
    (Refusal::NobodyStop, None, "It needs approval and nobody is there to give it: the run stops"),
    (Refusal::PersonNo, Some("the user declined"), CHOOSE),
    (Refusal::PersonAbort, Some("aborted by the user"), "The run stops"),
    (Refusal::TimedOut, Some("timed out"), CHOOSE),
];

/// The text of the error result: `Permission denied: <reason>. <how>.` `words` are the policy's reason, or the
/// person's feedback; they replace the usual words unless they are blank.
pub fn denied(refusal: Refusal, words: &str) -> String {
    let (usual, how) = HOW.iter().find(|h| h.0 == refusal).map_or((None, CHOOSE), |h| (h.1, h.2));
    let words = words.trim().trim_end_matches('.');
    let reason = if words.is_empty() { usual.unwrap_or("not allowed") } else { words };
    format!("Permission denied: {reason}. {how}.")
}

/// What the condition advises, from the decision that stood in the way.
pub fn how_to_allow(decision: Decision) -> &'static str {
    match decision {
        Decision::Allow | Decision::Ask => "Use mode = \"auto\", or run it where a person can answer.",
        Decision::AskHuman => "Only a person can approve this: run it in an interactive session, or do it yourself.",
        Decision::Deny => "A policy denies this: change or remove that policy, or use another mode.",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_refusal_has_the_form() {
        for (refusal, _, how) in HOW {
            let text = denied(*refusal, "it writes a file.");
            assert_eq!(text, format!("Permission denied: it writes a file. {how}."));
        }
        assert!(denied(Refusal::PersonNo, "  ").starts_with("Permission denied: the user declined. "));
        assert!(denied(Refusal::PersonNo, "use base R").starts_with("Permission denied: use base R. "));
        assert!(denied(Refusal::PersonAbort, "").starts_with("Permission denied: aborted by the user. "));
        assert!(denied(Refusal::Policy, "").starts_with("Permission denied: not allowed. "));
    }

    #[test]
    fn h14_a_timeout_never_says_that_the_user_said_no() {
        let text = denied(Refusal::TimedOut, "");
        assert!(text.starts_with("Permission denied: timed out. ") && !text.contains("user"));
    }

    #[test]
    fn only_a_person_helps_where_a_person_is_needed() {
        assert!(how_to_allow(Decision::AskHuman).contains("person"));
        assert!(how_to_allow(Decision::Ask).contains("mode"));
    }
}
