//! The calls that a policy is tried on when it is checked.

use super::lattice::normalise;
use super::mode::Mode;
use crate::reply::HostReply;
use crate::value::{Value, json};

/// Tool, level, and the argument that goes with it.
const CALLS: [(&str, u8, &str); 10] = [
    ("read", 0, "data/results.csv"),
    ("read", 1, "/usr/share/dict/words"),
    ("read", 2, ".env"),
    ("write", 2, "notes.md"),
    ("edit", 3, ".gptr/settings.json"),
    ("r", 0, "mean(1:10)"),
    ("r", 1, "fit <- lm(mpg ~ wt, mtcars)"),
    ("r", 2, "write.csv(mtcars, \"out.csv\")"),
    ("r", 3, "unlink(\"out.csv\")"),
    ("r", 4, "rm(list = ls())"),
];

/// One synthetic call.
#[derive(Debug, Clone, PartialEq)]
pub struct Probe {
    /// The mode that `ctx$mode()` gives meanwhile.
    pub mode: Mode,
    /// The tool.
    pub tool: &'static str,
    /// The level of its risk.
    pub level: u8,
    /// What the policy's `check` gets as `call`.
    pub call: Value,
}

/// All synthetic calls: ten in each mode.
pub fn probes() -> Vec<Probe> {
    let one = |mode: Mode, i: usize, (tool, level, text): (&'static str, u8, &str)| {
        let input = match tool {
            "r" => json!({"code": text}),
            "write" => json!({"path": text, "content": "text"}),
            "edit" => json!({"path": text, "edits": [{"old": "a", "new": "b"}]}),
            _ => json!({"path": text}),
        };
        let call = json!({
            "id": format!("probe_{}", i + 1), "name": tool, "input": input, "raw": input.to_string(), "tool": {"name": tool},
            "nested": false, "parent_id": null, "outer_level": null, "risk": {"level": level, "label": super::risk::label(level)}
        });
        Probe { mode, tool, level, call }
    };
    Mode::ALL.into_iter().flat_map(|mode| CALLS.into_iter().enumerate().map(move |(i, c)| one(mode, i, c))).collect()
}

/// What is wrong with a policy's reply to a probe, as `<mode>/<tool> level <n>: <why>`; `None` when it is NULL or well
/// formed.
pub fn problem(probe: &Probe, reply: &HostReply) -> Option<String> {
    let (_, why) = normalise("probe", reply).fault?;
    Some(format!("{}/{} level {}: {why}", probe.mode.as_str(), probe.tool, probe.level))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::HostValue;

    #[test]
    fn forty_calls_cover_all_modes_and_levels_of_code() {
        let all = probes();
        assert_eq!(all.len(), 40);
        for mode in Mode::ALL {
            let levels: Vec<u8> = all.iter().filter(|p| p.mode == mode && p.tool == "r").map(|p| p.level).collect();
            assert_eq!(levels, [0, 1, 2, 3, 4]);
        }
    }

    #[test]
    fn a_problem_names_mode_tool_and_level() {
        let probe = &probes()[3];
        assert_eq!(problem(probe, &HostReply::null()), None);
        let said = HostValue::named([("decision", "allow".into())]);
        assert_eq!(problem(probe, &HostReply::Value(said)), None);
        assert_eq!(problem(probe, &HostReply::error("no")), Some("plan/write level 2: no".into()));
        assert!(problem(probe, &HostReply::Value("x".into())).is_some());
    }
}
