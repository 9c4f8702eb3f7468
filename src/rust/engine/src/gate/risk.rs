//! How much a call can do.

use std::collections::BTreeSet;

use crate::reply::HostReply;
use crate::value::{Value, json};

/// Names of the levels 0 to 4.
pub const LABELS: [&str; 5] = ["read-only", "local", "mutating", "dangerous", "critical"];

/// The level of what can't be judged.
pub const UNKNOWN: u8 = 3;

/// The name of a level; beyond the scale it is critical.
pub fn label(level: u8) -> &'static str {
    LABELS.get(usize::from(level)).copied().unwrap_or(LABELS[4])
}

/// What a flagged call does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Category {
    /// Reads.
    Read,
    /// Binds or changes objects.
    ObjectWrite,
    /// Writes files.
    FileWrite,
    /// Deletes files.
    FileDelete,
    /// Talks to the network.
    Network,
    /// Starts or ends processes.
    Process,
    /// Installs or removes packages.
    Install,
    /// Runs code that can't be seen beforehand.
    Dynamic,
    /// Changes the session: options, directory, attached packages.
    Session,
    /// Uses a secret.
    Secret,
    /// Needs a person at the terminal.
    Interactive,
    /// Destroys what can't be had again.
    Critical,
    /// Changes gptr's own guards.
    Control,
    /// A function that no table lists.
    Unlisted,
}

impl Category {
    const NAMES: [(Category, &'static str); 14] = [
        (Category::Read, "read"),
        (Category::ObjectWrite, "object_write"),
        (Category::FileWrite, "file_write"),
        (Category::FileDelete, "file_delete"),
        (Category::Network, "network"),
        (Category::Process, "process"),
        (Category::Install, "install"),
        (Category::Dynamic, "dynamic"),
        (Category::Session, "session"),
        (Category::Secret, "secret"),
        (Category::Interactive, "interactive"),
        (Category::Critical, "critical"),
        (Category::Control, "control"),
        (Category::Unlisted, "unlisted"),
    ];

    /// The name in rules and listings.
    pub fn as_str(self) -> &'static str {
        Self::NAMES.iter().find(|n| n.0 == self).map_or("unlisted", |n| n.1)
    }

    /// The category of this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|n| n.1 == name).map(|n| n.0)
    }
}

/// One thing that raises the risk.
#[derive(Debug, Clone, PartialEq)]
pub struct Flag {
    /// The call, as one short line.
    pub call: String,
    /// The function; a member as `peter$<path>`.
    pub function: String,
    /// Its level, 1 to 4.
    pub level: u8,
    /// What it does.
    pub category: Category,
    /// The file it names, when that is a literal.
    pub path: Option<String>,
    /// True when all it changes is files of the project that it makes, moves or copies.
    pub moves: bool,
}

/// The analysis of code.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Risk {
    /// The highest level of all.
    pub level: u8,
    /// What raises it, in the order of the code.
    pub flagged: Vec<Flag>,
    /// Names that the code binds in the home, in order.
    pub assigned: Vec<String>,
    /// Those of them that exist already, with their sizes in bytes.
    pub sizes: Vec<(String, f64)>,
    /// Members of `peter$` that it calls, with their levels.
    pub members: Vec<(String, u8)>,
    /// Literal paths of files that it names.
    pub paths: Vec<String>,
    /// Environment variables with the names of secrets that it reads.
    pub secrets: Vec<String>,
    /// True when it reads the whole environment.
    pub dumps_environment: bool,
    /// What is not known to be read-only, beside binding names.
    pub doubtful: Vec<String>,
    /// The syntax error: such code never runs.
    pub parse_error: Option<String>,
}

impl Risk {
    /// The risk of code that could not be analysed.
    pub fn unknown(why: &str) -> Self {
        let mut risk = Risk::default();
        risk.add(Flag {
            call: why.to_owned(),
            function: String::new(),
            level: UNKNOWN,
            category: Category::Dynamic,
            path: None,
            moves: false,
        });
        risk
    }

    /// The name of the level.
    pub fn label(&self) -> &'static str {
        label(self.level)
    }

    /// All categories of what is flagged.
    pub fn categories(&self) -> BTreeSet<Category> {
        self.flagged.iter().map(|f| f.category).collect()
    }

    /// True when something in it is a control action.
    pub fn is_control(&self) -> bool {
        self.flagged.iter().any(|f| f.category == Category::Control)
    }

    /// True when all it changes is files of the project that it makes, moves or copies.
    pub fn only_moves(&self) -> bool {
        self.level > 0 && self.flagged.iter().all(|f| f.moves)
    }

    /// The functions that it names of those that change gptr's own guards.
    pub fn controls(&self) -> impl Iterator<Item = &str> {
        self.flagged.iter().filter(|f| f.category == Category::Control).map(|f| f.function.as_str())
    }

    /// True when it runs code that can't be seen beforehand.
    pub fn is_dynamic(&self) -> bool {
        self.flagged.iter().any(|f| f.category == Category::Dynamic)
    }

    /// True when every call is listed as read-only. Binding names is not counted: in plan mode that happens in a
    /// scratch environment.
    pub fn known_read_only(&self) -> bool {
        self.doubtful.is_empty()
    }

    /// The first things that are not known to be read-only.
    pub fn doubts(&self) -> String {
        const SHOWN: usize = 3;
        let mut text: String = self.doubtful.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join("; ");
        if self.doubtful.len() > SHOWN {
            text.push_str(&format!("; and {} more", self.doubtful.len() - SHOWN));
        }
        text
    }

    /// Adds a flag that also raises a doubt.
    pub(super) fn add(&mut self, flag: Flag) {
        if flag.level > 0 {
            self.doubtful.push(flag.call.clone());
        }
        self.add_binding(flag);
    }

    /// Adds a flag that a scratch environment makes harmless.
    pub(super) fn add_binding(&mut self, flag: Flag) {
        if flag.level > 0 {
            self.level = self.level.max(flag.level);
            self.flagged.push(flag);
        }
    }

    /// The analysis as JSON, as the host shows it.
    pub fn to_json(&self) -> Value {
        let flag = |f: &Flag| json!({"call": f.call, "fn": f.function, "level": f.level, "category": f.category.as_str(), "path": f.path});
        let sizes: crate::value::Map<String, Value> = self.sizes.iter().map(|(n, b)| (n.clone(), json!(b))).collect();
        json!({
            "level": self.level, "label": self.label(),
            "categories": self.categories().iter().map(|c| c.as_str()).collect::<Vec<_>>(),
            "flagged": self.flagged.iter().map(flag).collect::<Vec<_>>(),
            "paths": self.paths, "secret": !self.secrets.is_empty() || self.dumps_environment,
            "secret_guard": self.dumps_environment, "assigned": self.assigned, "dynamic": self.is_dynamic(),
            "sizes": sizes, "secrets": self.secrets, "kind": "r", "parse_error": self.parse_error
        })
    }
}

/// The level that a tool's `risk` function gave: a whole number 0 to 4. Anything else, and any failure, is level 3
/// with a problem to report.
pub fn level_of(reply: &HostReply) -> (u8, Option<String>) {
    let value = match reply.result() {
        Ok(value) => value,
        Err(failed) => return (UNKNOWN, Some(failed.message)),
    };
    match value.as_number() {
        Some(n) if n.fract() == 0.0 && (0.0..=4.0).contains(&n) => (n as u8, None),
        _ => (UNKNOWN, Some(format!("the level must be a whole number between 0 and 4, not {}", value.describe()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_have_names() {
        assert_eq!(
            (0..=5).map(label).collect::<Vec<_>>(),
            ["read-only", "local", "mutating", "dangerous", "critical", "critical"]
        );
    }

    #[test]
    fn categories_go_by_name() {
        for (category, name) in Category::NAMES {
            assert_eq!((category.as_str(), Category::parse(name)), (name, Some(category)));
        }
    }

    #[test]
    fn a_tools_own_level_is_a_whole_number_up_to_4() {
        assert_eq!(level_of(&HostReply::Value(2.into())), (2, None));
        assert_eq!(level_of(&HostReply::Value(4.0.into())), (4, None));
        for bad in [
            HostReply::Value(5.into()),
            HostReply::Value((-1).into()),
            HostReply::Value(1.5.into()),
            HostReply::null(),
            HostReply::Value("2".into()),
            HostReply::Value(f64::NAN.into()),
            HostReply::error("x"),
            HostReply::Timeout,
        ] {
            let (level, problem) = level_of(&bad);
            assert!(level == 3 && problem.is_some(), "{bad:?}");
        }
    }
}
