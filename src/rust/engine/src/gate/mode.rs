//! The permission modes, and what each lets run.

use super::lattice::{Decision, Opinion};
use super::risk::Risk;

/// A permission mode, from strict to loose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Mode {
    /// Only what is known to read.
    Plan,
    /// Everything that changes something is asked.
    Manual,
    /// Writing files of the project is free.
    Edits,
    /// Everything but the critical is free.
    Auto,
}

impl Mode {
    /// All modes, strictest first.
    pub const ALL: [Mode; 4] = [Mode::Plan, Mode::Manual, Mode::Edits, Mode::Auto];

    /// The name.
    pub fn as_str(self) -> &'static str {
        match self {
            Mode::Plan => "plan",
            Mode::Manual => "manual",
            Mode::Edits => "edits",
            Mode::Auto => "auto",
        }
    }

    /// The mode of this name, exactly.
    pub fn parse(name: &str) -> Option<Self> {
        Mode::ALL.into_iter().find(|m| m.as_str() == name)
    }

    /// The stricter of two modes: a child's is never looser than its parent's.
    pub fn tighten(self, other: Mode) -> Mode {
        self.min(other)
    }
}

/// What kind of thing a call does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Action {
    /// Reading a file: level 0 in the project, 1 outside, 2 a protected file.
    Read,
    /// Writing a file: level 2 in the project or the temporary directory, 3 outside, protected or instructions.
    Write,
    /// Evaluating R code.
    Code,
    /// Any other tool.
    Tool,
    /// What changes gptr's own guards.
    Control,
    /// The question to the person.
    AskUser,
}

use Decision::{Allow, Ask, AskHuman, Deny};

/// Action, lowest and highest level, and the decision in plan, manual, edits and auto.
const MATRIX: &[(Action, u8, u8, [Decision; 4])] = &[
    (Action::Read, 0, 0, [Allow, Allow, Allow, Allow]),
    (Action::Read, 1, 2, [Deny, Ask, Ask, Allow]),
    (Action::Write, 0, 2, [Deny, Ask, Allow, Allow]),
    (Action::Write, 3, 3, [Deny, Ask, Ask, Allow]),
    (Action::Code, 0, 0, [Allow, Allow, Allow, Allow]),
    (Action::Code, 1, 1, [Allow, Ask, Ask, Allow]),
    (Action::Code, 2, 3, [Deny, Ask, Ask, Allow]),
    (Action::Tool, 0, 0, [Allow, Allow, Allow, Allow]),
    (Action::Tool, 1, 3, [Deny, Ask, Ask, Allow]),
    (Action::AskUser, 0, 4, [Allow, Allow, Allow, Allow]),
];

/// What no row covers: control actions, and level 4 of anything.
const CRITICAL: [Decision; 4] = [Deny, AskHuman, AskHuman, AskHuman];

/// The decision of a mode on an action of this level.
pub fn decide(mode: Mode, action: Action, level: u8) -> Decision {
    let row = MATRIX.iter().find(|(a, low, high, _)| *a == action && (*low..=*high).contains(&level));
    let decisions = row.map_or(CRITICAL, |r| r.3);
    match mode {
        Mode::Plan => decisions[0],
        Mode::Manual => decisions[1],
        Mode::Edits => decisions[2],
        Mode::Auto => decisions[3],
    }
}

/// The opinion of the policies `mode` and `plan` together. `code` is the analysis when the call evaluates R code: in
/// plan mode such code runs when every call in it is known to read, whatever names it binds, since it runs in a scratch
/// environment.
pub fn opinion(mode: Mode, action: Action, level: u8, code: Option<&Risk>) -> Option<Opinion> {
    let decision = match code {
        Some(risk) if mode == Mode::Plan && risk.known_read_only() => Allow,
        Some(risk) if mode == Mode::Plan => {
            return Some(Opinion::new(Deny, format!("not known to be read-only in plan mode: {}", risk.doubts())));
        }
        Some(risk) if mode == Mode::Edits && risk.only_moves() => decide(mode, Action::Write, level),
        _ => decide(mode, action, level),
    };
    if decision == Allow {
        return None;
    }
    let label = super::risk::label(level);
    let what = if action == Action::Control {
        "a change of gptr's own guards".to_owned()
    } else {
        format!("level {level} ({label})")
    };
    let reason = match decision {
        Deny => format!("mode {} does not allow {what}", mode.as_str()),
        _ => format!("mode {} asks before {what}", mode.as_str()),
    };
    Some(Opinion { liftable: decision == Ask, ..Opinion::new(decision, reason) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_42_every_row_of_the_matrix() {
        let rows: [(Action, u8, [Decision; 4]); 17] = [
            (Action::Read, 0, [Allow, Allow, Allow, Allow]),
            (Action::Read, 1, [Deny, Ask, Ask, Allow]),
            (Action::Read, 2, [Deny, Ask, Ask, Allow]),
            (Action::Write, 2, [Deny, Ask, Allow, Allow]),
            (Action::Write, 3, [Deny, Ask, Ask, Allow]),
            (Action::Write, 4, [Deny, AskHuman, AskHuman, AskHuman]),
            (Action::Code, 0, [Allow, Allow, Allow, Allow]),
            (Action::Code, 1, [Allow, Ask, Ask, Allow]),
            (Action::Code, 2, [Deny, Ask, Ask, Allow]),
            (Action::Code, 3, [Deny, Ask, Ask, Allow]),
            (Action::Code, 4, [Deny, AskHuman, AskHuman, AskHuman]),
            (Action::Tool, 0, [Allow, Allow, Allow, Allow]),
            (Action::Tool, 1, [Deny, Ask, Ask, Allow]),
            (Action::Tool, 3, [Deny, Ask, Ask, Allow]),
            (Action::Tool, 4, [Deny, AskHuman, AskHuman, AskHuman]),
            (Action::Control, 4, [Deny, AskHuman, AskHuman, AskHuman]),
            (Action::AskUser, 0, [Allow, Allow, Allow, Allow]),
        ];
        for (action, level, expected) in rows {
            let got = Mode::ALL.map(|mode| decide(mode, action, level));
            assert_eq!(got, expected, "{action:?} {level}");
        }
    }

    #[test]
    fn a_level_beyond_the_scale_is_critical() {
        assert_eq!(decide(Mode::Auto, Action::Tool, 9), AskHuman);
        assert_eq!(decide(Mode::Auto, Action::Control, 0), AskHuman);
    }

    #[test]
    fn modes_only_tighten() {
        assert_eq!(Mode::Auto.tighten(Mode::Manual), Mode::Manual);
        assert_eq!(Mode::Plan.tighten(Mode::Auto), Mode::Plan);
        assert_eq!(Mode::parse("edits"), Some(Mode::Edits));
        assert_eq!(Mode::parse("Edits"), None);
    }

    #[test]
    fn a_looser_mode_never_decides_more_strictly() {
        for action in [Action::Read, Action::Write, Action::Code, Action::Tool, Action::Control, Action::AskUser] {
            for level in 0..=4 {
                let got = Mode::ALL.map(|mode| decide(mode, action, level));
                let scratch = action == Action::Code && level == 1; // plan mode runs it where it changes nothing
                let asked = if scratch { &got[1..] } else { &got[..] };
                assert!(asked.windows(2).all(|w| w[0] >= w[1]), "{action:?} {level}: {got:?}");
            }
        }
    }
}
