//! Presets: which tools a session declares and which sections its prompt drops. Data, so that a registered preset is one
//! more of them.

use crate::error::Error;

/// A named choice of tools and sections.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Preset {
    /// Its name.
    pub name: String,
    /// Tools that are always listed.
    pub tools: Vec<String>,
    /// Whether `ask_user` is listed too, when a person is present or the mode is manual.
    pub asks: bool,
    /// Sections that are left out.
    pub dropped: Vec<String>,
    /// A short preamble instead of the standard one.
    pub short_preamble: bool,
    /// The long form of `r_performance`.
    pub long_performance: bool,
    /// Rules that take the place of what a dropped section would say.
    pub extra_rules: Vec<String>,
}

struct Row {
    name: &'static str,
    tools: &'static [&'static str],
    asks: bool,
    dropped: &'static [&'static str],
    short_preamble: bool,
    long_performance: bool,
    extra_rules: &'static [&'static str],
}

const NOTHING: &[&str] = &[];

const PRESETS: [Row; 4] = [
    Row {
        name: "minimal",
        tools: &["read", "r", "edit", "write"],
        asks: false,
        dropped: &[
            "r_session",
            "r_performance",
            "documents",
            "artifacts",
            "system1",
            "skills",
            "mcp",
            "plugins",
            "r_env",
        ],
        short_preamble: true,
        long_performance: false,
        extra_rules: &[
            "Before you use a member of `peter$` whose name or arguments you only suppose, look it up: `peter$search(\"words\")`, `peter$help(\"name\")`.",
            "When the task asks for a value, hand the finished object back with `gptr_return(x)` in `r`.",
        ],
    },
    Row {
        name: "standard",
        tools: &["read", "r", "edit", "write"],
        asks: true,
        dropped: NOTHING,
        short_preamble: false,
        long_performance: false,
        extra_rules: NOTHING,
    },
    Row {
        name: "readonly",
        tools: &["read", "r"],
        asks: true,
        dropped: NOTHING,
        short_preamble: false,
        long_performance: false,
        extra_rules: NOTHING,
    },
    Row {
        name: "extended",
        tools: &["read", "r", "edit", "write", "grep", "find", "ls"],
        asks: true,
        dropped: NOTHING,
        short_preamble: false,
        long_performance: true,
        extra_rules: NOTHING,
    },
];

/// The preset of a session that names none.
pub const DEFAULT_PRESET: &str = "standard";

/// Built-in tools in the order in which they are declared; tools of plugins and users follow by name.
pub const ARRAY_ORDER: [&str; 8] = ["read", "r", "edit", "write", "ask_user", "grep", "find", "ls"];

const ASK_USER: &str = "ask_user";

impl Preset {
    /// The names of the built-in presets.
    pub fn builtin_names() -> impl Iterator<Item = &'static str> {
        PRESETS.iter().map(|row| row.name)
    }

    /// A built-in preset.
    ///
    /// # Errors
    /// [`unknown_preset`] for any other name.
    pub fn builtin(name: &str) -> Result<Preset, Error> {
        let row = PRESETS.iter().find(|row| row.name == name);
        row.map(Row::preset).ok_or_else(|| unknown_preset(name, Self::builtin_names()))
    }

    /// The tools that the preset lists, in declaration order.
    pub fn tools(&self, human: bool, mode: &str) -> Vec<String> {
        let mut names = self.tools.clone();
        if self.asks && (human || mode == "manual") {
            names.push(ASK_USER.to_owned());
        }
        declaration_order(&mut names);
        names
    }

    /// True when the preset leaves the section out.
    pub fn drops(&self, section: &str) -> bool {
        self.dropped.iter().any(|name| name == section)
    }
}

impl Row {
    fn preset(&self) -> Preset {
        let owned = |names: &[&str]| names.iter().map(|n| (*n).to_owned()).collect();
        Preset {
            name: self.name.to_owned(),
            tools: owned(self.tools),
            asks: self.asks,
            dropped: owned(self.dropped),
            short_preamble: self.short_preamble,
            long_performance: self.long_performance,
            extra_rules: owned(self.extra_rules),
        }
    }
}

/// The error for a preset that nobody registered.
pub fn unknown_preset<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Error {
    let known: Vec<String> = known.into_iter().map(|n| format!("\"{n}\"")).collect();
    Error::argument("preset", &format!("one of {}", known.join(", ")), &format!("\"{name}\""))
}

/// Sorts names into declaration order, without repeats: built-in ones as in [`ARRAY_ORDER`], then the others by name.
pub fn declaration_order(names: &mut Vec<String>) {
    let place = |name: &str| ARRAY_ORDER.iter().position(|n| *n == name).unwrap_or(ARRAY_ORDER.len());
    names.sort_by(|a, b| place(a).cmp(&place(b)).then_with(|| a.cmp(b)));
    names.dedup();
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    fn tools(preset: &str, human: bool, mode: &str) -> String {
        Preset::builtin(preset).unwrap().tools(human, mode).join(" ")
    }

    #[test]
    fn case_67_tools_of_the_presets() {
        assert_eq!(tools("minimal", true, "manual"), "read r edit write");
        assert_eq!(tools("standard", false, "auto"), "read r edit write");
        assert_eq!(tools("standard", false, "manual"), "read r edit write ask_user");
        assert_eq!(tools("standard", true, "auto"), "read r edit write ask_user");
        assert_eq!(tools("extended", false, "auto"), "read r edit write grep find ls");
        assert_eq!(tools("readonly", true, "auto"), "read r ask_user");
    }

    #[test]
    fn an_unknown_preset_names_the_known_ones() {
        let error = Preset::builtin("maximal").unwrap_err();
        let Error::InvalidArgument { arg, expected, .. } = error else { panic!("{error:?}") };
        assert_eq!(arg, "preset");
        assert_eq!(expected.unwrap(), "one of \"minimal\", \"standard\", \"readonly\", \"extended\"");
    }

    #[test]
    fn tools_of_others_follow_by_name() {
        let mut names = ["zeta", "ls", "alpha", "r", "r"].map(String::from).to_vec();
        declaration_order(&mut names);
        assert_eq!(names, ["r", "ls", "alpha", "zeta"]);
    }
}
