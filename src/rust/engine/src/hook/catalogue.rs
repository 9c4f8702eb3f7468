//! The table of events.

use std::sync::LazyLock;

use regex::Regex;

use crate::meaning::Role;

/// How the answers of an event's handlers are folded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Semantics {
    /// Answers are ignored.
    Notify,
    /// Answers are merged.
    Collect,
    /// Text flows through the handlers.
    Transform,
    /// Handlers may block or modify.
    Decision,
    /// The first usable answer wins.
    FirstDecision,
    /// Answers change fields of the payload.
    Patch,
    /// Handlers may block or replace lines.
    BlockPatch,
}

impl Semantics {
    /// The name in listings.
    pub fn as_str(self) -> &'static str {
        match self {
            Semantics::Notify => "notify",
            Semantics::Collect => "collect",
            Semantics::Transform => "transform",
            Semantics::Decision => "decision",
            Semantics::FirstDecision => "first_decision",
            Semantics::Patch => "patch",
            Semantics::BlockPatch => "block_patch",
        }
    }
}

/// One event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    /// Its name.
    pub name: &'static str,
    /// How answers are folded.
    pub semantics: Semantics,
    /// True when a failing handler decides against.
    pub fail_closed: bool,
    /// The payload's fields beside those that every event has.
    pub payload: &'static [&'static str],
    /// What a handler may usefully return; `-` when answers are ignored.
    pub returns: &'static str,
    /// True when this version emits it.
    pub emitted: bool,
}

impl Event {
    /// The role of its handlers.
    pub fn role(&self) -> Role {
        Role::Hook { semantics: self.semantics, fail_closed: self.fail_closed }
    }

    /// The role of its handlers' matcher functions.
    pub fn matcher_role(&self) -> Role {
        Role::Matcher { fail_closed: self.fail_closed }
    }
}

const fn notify(name: &'static str, payload: &'static [&'static str]) -> Event {
    Event { name, semantics: Semantics::Notify, fail_closed: false, payload, returns: "-", emitted: false }
}

const fn answered(
    name: &'static str,
    semantics: Semantics,
    payload: &'static [&'static str],
    returns: &'static str,
) -> Event {
    Event { name, semantics, fail_closed: false, payload, returns, emitted: false }
}

const fn closed(event: Event) -> Event {
    Event { fail_closed: true, ..event }
}

const fn emitted(event: Event) -> Event {
    Event { emitted: true, ..event }
}

/// All events, in the order of listings.
pub static EVENTS: [Event; 49] = [
    answered(
        "project_trust",
        Semantics::FirstDecision,
        &["cwd", "changed"],
        "list(decision = \"yes\" or \"no\", remember)",
    ),
    answered(
        "resources_discover",
        Semantics::Collect,
        &["cwd", "reason"],
        "list(skill_paths, prompt_paths, agent_paths)",
    ),
    emitted(answered("session_start", Semantics::Collect, &["reason"], "list(sections, blocks)")),
    answered("session_before_fork", Semantics::FirstDecision, &["source", "at"], "list(cancel = TRUE, reason)"),
    notify("session_shutdown", &["reason"]),
    answered(
        "input",
        Semantics::Transform,
        &["text", "source"],
        "list(action = \"continue\", \"transform\" or \"handled\", text)",
    ),
    emitted(notify("agent_start", &[])),
    emitted(notify("agent_end", &["status", "reason", "usage", "doc", "turns"])),
    emitted(notify("turn_start", &[])),
    emitted(notify("turn_end", &["message", "results"])),
    emitted(notify("before_request", &["provider", "model", "request_id", "view", "tokens_est"])),
    emitted(answered("request_params", Semantics::Patch, &["provider", "model", "params"], "list(params)")),
    emitted(notify("message_start", &["role"])),
    emitted(notify("message_update", &["role", "index", "kind", "delta"])),
    emitted(notify("message_end", &["role", "message"])),
    emitted(closed(answered(
        "tool_call",
        Semantics::Decision,
        &["tool_name", "tool_call_id", "input", "nested", "parent_tool_call_id", "risk"],
        "NULL, list(decision = \"block\", reason), list(decision = \"modify\", input) or list(decision = \"allow\")",
    ))),
    emitted(closed(answered(
        "permission_request",
        Semantics::FirstDecision,
        &["tool", "input", "summary", "risk", "reason", "suggested_rule", "undo_note", "nested", "tier"],
        "list(decision = \"allow\" or \"deny\", reason)",
    ))),
    emitted(notify("tool_execution_start", &["tool_call_id", "tool_name", "input"])),
    emitted(notify("tool_execution_update", &["tool_call_id", "tool_name", "text"])),
    emitted(notify("tool_execution_end", &["tool_call_id", "tool_name", "is_error", "elapsed", "details"])),
    emitted(answered(
        "tool_result",
        Semantics::Patch,
        &["tool_name", "tool_call_id", "input", "content", "details", "is_error"],
        "any of content, details, is_error",
    )),
    emitted(notify("queue_update", &["steer", "follow_up"])),
    emitted(notify("retry_start", &["attempt", "delay", "class"])),
    emitted(notify("retry_end", &["attempt", "ok"])),
    answered(
        "session_before_compact",
        Semantics::FirstDecision,
        &["reason", "tokens"],
        "list(cancel = TRUE) or list(result)",
    ),
    notify("session_compact", &["strategy", "tokens_before", "summary_tokens"]),
    answered("session_before_tree", Semantics::FirstDecision, &["from", "to", "plan"], "list(cancel = TRUE, reason)"),
    notify("session_tree", &["from", "to", "report"]),
    closed(answered(
        "document_write",
        Semantics::BlockPatch,
        &["path", "format", "kind", "block_id", "lines"],
        "list(block = TRUE, reason) or list(lines)",
    )),
    notify("decision", &["model", "question", "type", "n", "summary", "cached"]),
    notify("route", &["route", "router", "model", "reason"]),
    emitted(notify("model_select", &["from", "to", "reason"])),
    emitted(notify("subagent_start", &["child", "agent", "backend", "model"])),
    emitted(notify("subagent_end", &["child", "agent", "backend", "model", "status", "usage"])),
    notify("artifact_start", &["id", "url", "version"]),
    notify("artifact_stop", &["id", "url", "version", "reason"]),
    emitted(notify("usage", &["row"])),
    emitted(notify("budget_near", &["kind", "budget", "used"])),
    emitted(notify("budget_exceeded", &["kind", "budget", "used"])),
    notify("cache_break", &["provider", "model", "first_diff", "entry", "culprit"]),
    notify(
        "bridge_call",
        &["bridge", "id", "cmd", "level", "status", "seconds", "bytes_out", "bytes_err", "spill", "digest"],
    ),
    notify("checkpoint", &["tool_call_id", "objects", "files", "restorable"]),
    notify("secret_registered", &["name", "source", "count"]),
    notify("mcp_servers_change", &["added", "removed"]),
    notify("mcp_serve_start", &["url"]),
    notify("mcp_serve_stop", &["url"]),
    notify("session_summary", &["text", "time", "model"]),
    closed(answered(
        "request_headers",
        Semantics::Patch,
        &["provider", "model", "url", "headers"],
        "list(headers): names to set, NULL to remove",
    )),
    closed(answered("request_body", Semantics::Patch, &["provider", "model", "url", "body"], "list(body)")),
];

/// The event of this name.
pub fn event(name: &str) -> Option<&'static Event> {
    EVENTS.iter().find(|e| e.name == name)
}

/// True for the name of an event.
pub fn is_event(name: &str) -> bool {
    event(name).is_some()
}

/// True for the name of a plugin's channel: `<plugin>:<topic>`, which handlers are only notified of.
pub fn is_channel(name: &str) -> bool {
    static CHANNEL: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"^[A-Za-z0-9_.-]+:[A-Za-z0-9_.-]+\z").ok());
    CHANNEL.as_ref().is_some_and(|re| re.is_match(name))
}

/// How a channel dispatches.
pub static CHANNEL_EVENT: Event = notify("channel", &["data"]);

/// How `name` dispatches: as the event, or as a channel.
pub fn dispatch_of(name: &str) -> Option<&'static Event> {
    event(name).or_else(|| is_channel(name).then_some(&CHANNEL_EVENT))
}

/// Names of other programs, or easily mistaken, and the event that is meant.
const MEANT: &[(&str, &str)] = &[
    ("PreToolUse", "tool_call"),
    ("PostToolUse", "tool_result"),
    ("UserPromptSubmit", "input"),
    ("SessionStart", "session_start"),
    ("SessionEnd", "session_shutdown"),
    ("Stop", "agent_end"),
    ("SubagentStart", "subagent_start"),
    ("SubagentStop", "subagent_end"),
    ("PreCompact", "session_before_compact"),
    ("PostCompact", "session_compact"),
    ("PermissionRequest", "permission_request"),
    ("session_end", "session_shutdown"),
    ("pre_compact", "session_before_compact"),
    ("post_compact", "session_compact"),
    ("compaction", "session_compact"),
];

/// What to say about a name that is no event: `did you mean '<event>'?`, with up to three of the nearest names.
pub fn hint(name: &str) -> String {
    let meant = MEANT.iter().find(|(n, _)| *n == name).map(|(_, e)| *e);
    let same = || EVENTS.iter().find(|e| e.name.eq_ignore_ascii_case(name)).map(|e| e.name);
    let names = match meant.or_else(same) {
        Some(one) => vec![one],
        None => nearest(name),
    };
    let quoted: Vec<String> = names.iter().map(|n| format!("'{n}'")).collect();
    format!("did you mean {}?", or_list(&quoted))
}

fn or_list(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [one] => one.clone(),
        [head @ .., last] => format!("{} or {last}", head.join(", ")),
    }
}

/// A name longer than this is compared by its beginning only: no event is nearly as long.
const COMPARED: usize = 64;

fn nearest(name: &str) -> Vec<&'static str> {
    let wanted: Vec<char> = name.chars().take(COMPARED).flat_map(char::to_lowercase).collect();
    let mut ranked: Vec<(usize, &'static str)> = EVENTS.iter().map(|e| (distance(&wanted, e.name), e.name)).collect();
    ranked.sort_by_key(|r| r.0); // stable: ties keep the order of the catalogue
    let best = ranked.first().map_or(0, |r| r.0);
    ranked.iter().take(3).filter(|r| r.0 <= best + 1).map(|r| r.1).collect()
}

/// The Levenshtein distance.
fn distance(a: &[char], b: &str) -> usize {
    let mut row: Vec<usize> = (0..=a.len()).collect();
    for (i, bc) in b.chars().enumerate() {
        let mut next = vec![i + 1];
        for (window, ac) in row.windows(2).zip(a) {
            let (diagonal, above) = (window[0], window[1]);
            let left = next.last().copied().unwrap_or(above);
            next.push((diagonal + usize::from(*ac != bc)).min(above + 1).min(left + 1));
        }
        row = next;
    }
    row.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_84_the_catalogue_has_49_unique_events_and_five_fail_closed() {
        let mut names: Vec<_> = EVENTS.iter().map(|e| e.name).collect();
        assert_eq!(&names[46..], ["session_summary", "request_headers", "request_body"]);
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), 49);
        let closed: Vec<_> = EVENTS.iter().filter(|e| e.fail_closed).map(|e| e.name).collect();
        assert_eq!(closed, ["tool_call", "permission_request", "document_write", "request_headers", "request_body"]);
    }

    #[test]
    fn only_events_of_the_run_are_emitted_yet() {
        let emitted: Vec<_> = EVENTS.iter().filter(|e| e.emitted).map(|e| e.name).collect();
        let of_the_run = "session_start agent_start agent_end turn_start turn_end before_request request_params message_start \
                          message_update message_end tool_call permission_request tool_execution_start tool_execution_update \
                          tool_execution_end tool_result queue_update retry_start retry_end model_select subagent_start \
                          subagent_end usage budget_near budget_exceeded";
        assert_eq!(emitted.join(" "), of_the_run);
    }

    #[test]
    fn channels_have_exactly_one_colon_and_no_line_break() {
        assert!(is_channel("demo:done"));
        assert!(is_channel("a.b-c_1:x"));
        for bad in ["demo", "a:b:c", ":b", "a:", "a b:c", "d\u{e9}mo:x"] {
            assert!(!is_channel(bad), "{bad}");
        }
        assert_eq!(dispatch_of("demo:done").map(|e| e.semantics), Some(Semantics::Notify));
        assert!(dispatch_of("demo").is_none());
    }

    #[test]
    fn h25_a_trailing_newline_is_no_channel() {
        assert!(!is_channel("demo:done\n"));
    }

    #[test]
    fn names_of_other_programs_are_translated() {
        for (foreign, own) in MEANT {
            assert_eq!(hint(foreign), format!("did you mean '{own}'?"));
            assert!(is_event(own) && !is_event(foreign));
        }
        assert_eq!(hint("Tool_Call"), "did you mean 'tool_call'?");
    }

    #[test]
    fn other_names_get_the_nearest_events_at_most_three() {
        assert_eq!(hint("tool_cal"), "did you mean 'tool_call'?");
        assert_eq!(hint("turn_star"), "did you mean 'turn_start'?");
        assert!(hint("retry_sand").matches('\'').count() <= 6);
        assert!(hint("").starts_with("did you mean"));
        assert!(hint(&"x".repeat(1 << 20)).starts_with("did you mean"));
    }
}
