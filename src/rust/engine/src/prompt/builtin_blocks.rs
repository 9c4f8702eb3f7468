//! The built-in context blocks, each a function from facts to a block.

use super::block::{Candidate, Content, Placement};
use super::estimate::Class;
use super::size::object_size;
use super::texts;
use crate::value::{Map, Value, json};

/// Lines of the workspace block.
const WORKSPACE_LINES: usize = 12;

/// One row a built-in block: what never differs between two of its kind.
struct Row {
    kind: &'static str,
    placement: Placement,
    order: i64,
    budget: Option<u64>,
    class: Class,
}

const ENVIRONMENT: Row =
    Row { kind: "environment", placement: Placement::First, order: 200, budget: Some(100), class: Class::Prose };
const MODE: Row = Row { kind: "mode", placement: Placement::First, order: 300, budget: Some(150), class: Class::Prose };
const WORKSPACE: Row =
    Row { kind: "workspace", placement: Placement::First, order: 500, budget: Some(600), class: Class::Describe };
const ATTACHED: Row =
    Row { kind: "attached", placement: Placement::Both, order: 600, budget: None, class: Class::Describe };

impl Row {
    fn block(&self, key: String, text: String, attrs: Map<String, Value>) -> Candidate {
        Candidate {
            key,
            kind: self.kind.to_owned(),
            placement: self.placement,
            order: self.order,
            budget: self.budget,
            class: self.class,
            anchor: false,
            content: Content { text, attrs },
        }
    }
}

/// Where a session runs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EnvironmentFacts {
    /// The date, as ISO 8601.
    pub date: String,
    /// R's working directory.
    pub directory: String,
    /// The project's root.
    pub project_root: Option<String>,
    /// The bound document.
    pub document: Option<String>,
    /// What shows the conversation: console, knitr, RStudio.
    pub front_end: Option<String>,
    /// R's version.
    pub r_version: String,
    /// Operating system and architecture.
    pub platform: String,
    /// Memory of the machine in bytes.
    pub memory: Option<u64>,
}

/// The block `environment`: a line a fact; what is unknown has none.
pub fn environment(facts: &EnvironmentFacts) -> Candidate {
    let root = facts.project_root.as_deref().filter(|root| *root != facts.directory);
    let directory = match root {
        Some(root) => format!("{} (project root {root})", facts.directory),
        None => facts.directory.clone(),
    };
    let rows = [
        ("date", Some(facts.date.clone())),
        ("working directory", Some(directory)),
        ("document", facts.document.clone()),
        ("front end", facts.front_end.clone()),
        ("R", Some(facts.r_version.clone())),
        ("platform", Some(facts.platform.clone())),
        ("memory", facts.memory.map(object_size)),
    ];
    let known = rows.iter().filter_map(|(label, fact)| Some((label, fact.as_deref().filter(|f| !f.is_empty())?)));
    let lines: Vec<String> = known.map(|(label, fact)| format!("{label}: {}", one_line(fact))).collect();
    ENVIRONMENT.block(ENVIRONMENT.kind.to_owned(), lines.join("\n"), Map::new())
}

/// The block `mode`: what the mode means, and what happens to approvals here.
pub fn mode(name: &str, human: bool) -> Candidate {
    let meaning = texts::MODE_BLOCKS.iter().find(|row| row.0 == name).map(|row| row.1);
    let presence = if human { texts::SOMEBODY_PRESENT } else { texts::NOBODY_PRESENT };
    let lines: Vec<&str> = meaning.into_iter().chain([presence]).collect();
    MODE.block(MODE.kind.to_owned(), lines.join("\n"), attributes([("name", json!(name))]))
}

/// An object of the workspace.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ObjectFact {
    /// Its name.
    pub name: String,
    /// Its first class.
    pub class: String,
    /// Its shape, such as `32 x 11` or `length 3`; empty when it has none.
    pub shape: String,
    /// Its size in bytes, when known.
    pub bytes: Option<u64>,
    /// True when the size comes from a sample.
    pub approximate: bool,
}

/// How much of the workspace a prompt shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WorkspaceDetail {
    /// One line an object, the largest.
    #[default]
    Summary,
    /// Names alone.
    Names,
    /// No block.
    None,
}

impl WorkspaceDetail {
    /// The detail that `.opts$context` names.
    pub fn from_name(name: &str) -> Option<WorkspaceDetail> {
        let known = [("summary", Self::Summary), ("names", Self::Names), ("none", Self::None)];
        known.into_iter().find(|row| row.0 == name).map(|row| row.1)
    }
}

/// The block `workspace`: the objects of the home environment. `None` when no block is wanted.
pub fn workspace(env: &str, objects: &[ObjectFact], detail: WorkspaceDetail) -> Option<Candidate> {
    let text = match detail {
        WorkspaceDetail::None => return None,
        _ if objects.is_empty() => "(no objects)".to_owned(),
        WorkspaceDetail::Summary => summary(objects),
        WorkspaceDetail::Names => names(objects),
    };
    let attrs = attributes([("env", json!(env)), ("objects", json!(objects.len()))]);
    Some(WORKSPACE.block(WORKSPACE.kind.to_owned(), text, attrs))
}

/// The largest objects first, ties by name; only those shown are put in order.
fn summary(objects: &[ObjectFact]) -> String {
    let mut sorted: Vec<&ObjectFact> = objects.iter().collect();
    let by_size = |a: &&ObjectFact, b: &&ObjectFact| b.bytes.cmp(&a.bytes).then_with(|| a.name.cmp(&b.name));
    if sorted.len() > WORKSPACE_LINES {
        sorted.select_nth_unstable_by(WORKSPACE_LINES, by_size);
        sorted.truncate(WORKSPACE_LINES);
    }
    sorted.sort_by(by_size);
    let mut lines: Vec<String> = sorted.into_iter().map(object_line).collect();
    let rest = objects.len() - lines.len();
    if rest > 0 {
        lines.push(format!("(+ {rest} smaller objects: use ls())"));
    }
    lines.join("\n")
}

fn object_line(object: &ObjectFact) -> String {
    let about = if object.approximate { "~" } else { "" };
    let size = object.bytes.map(|bytes| format!("{about}{}", object_size(bytes))).unwrap_or_default();
    let parts = [one_line(&object.name), one_line(&object.class), one_line(&object.shape), size];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("  ")
}

fn names(objects: &[ObjectFact]) -> String {
    let mut names: Vec<String> = objects.iter().map(|object| one_line(&object.name)).collect();
    names.sort_unstable();
    names.join(", ")
}

/// The block `attached` for one context object, described by `text` within `budget`.
pub fn attached(name: &str, text: &str, budget: Option<u64>) -> Candidate {
    let block =
        ATTACHED.block(format!("{}:{name}", ATTACHED.kind), text.to_owned(), attributes([("name", json!(name))]));
    Candidate { budget, ..block }
}

fn attributes<const N: usize>(pairs: [(&str, Value); N]) -> Map<String, Value> {
    pairs.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// A name or path may hold anything; in a list of lines it must stay on its own.
fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;
    use crate::prompt::estimate::estimate;

    fn object(name: &str, bytes: u64) -> ObjectFact {
        ObjectFact {
            name: name.into(),
            class: "data.frame".into(),
            shape: "32 x 11".into(),
            bytes: Some(bytes),
            approximate: false,
        }
    }

    #[test]
    fn the_workspace_shows_the_largest_twelve_first() {
        let objects: Vec<ObjectFact> = (0..15).map(|i| object(&format!("x{i:02}"), 1000 * (i % 7))).collect();
        let text = workspace("global", &objects, WorkspaceDetail::Summary).unwrap().content.text;
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 13);
        assert_eq!(lines[0], "x06  data.frame  32 x 11  6 KB");
        assert_eq!(lines[1], "x13  data.frame  32 x 11  6 KB");
        assert_eq!(lines[12], "(+ 3 smaller objects: use ls())");
    }

    #[test]
    fn an_empty_workspace_says_so_and_names_are_a_list() {
        let block = workspace("global", &[], WorkspaceDetail::Summary).unwrap();
        assert_eq!(block.render(), "<workspace env=\"global\" objects=\"0\">\n(no objects)\n</workspace>");
        let text = workspace("global", &[object("b", 1), object("a", 2)], WorkspaceDetail::Names).unwrap().content.text;
        assert_eq!(text, "a, b");
    }

    #[test]
    fn case_10_context_none_has_no_workspace_block() {
        assert_eq!(workspace("global", &[object("a", 1)], WorkspaceDetail::from_name("none").unwrap()), None);
        assert_eq!(WorkspaceDetail::from_name("all"), None);
    }

    #[test]
    fn a_sampled_size_has_a_tilde_and_an_odd_name_stays_on_its_line() {
        let odd = ObjectFact { approximate: true, shape: String::new(), ..object("a\nb", 7208) };
        assert_eq!(workspace("e", &[odd], WorkspaceDetail::Summary).unwrap().content.text, "a b  data.frame  ~7 KB");
    }

    #[test]
    fn the_environment_leaves_out_what_is_unknown() {
        let facts = EnvironmentFacts {
            date: "2026-03-01".into(),
            directory: "/p/sub".into(),
            project_root: Some("/p".into()),
            r_version: "4.2.2".into(),
            platform: "x86_64-pc-linux-gnu".into(),
            memory: Some(8 * 1024 * 1024 * 1024),
            ..EnvironmentFacts::default()
        };
        let text = environment(&facts).content.text;
        assert_eq!(
            text,
            "date: 2026-03-01\nworking directory: /p/sub (project root /p)\nR: 4.2.2\nplatform: x86_64-pc-linux-gnu\nmemory: 8.0 GB"
        );
    }

    #[test]
    fn every_mode_says_what_happens_to_approvals_within_the_budget() {
        for (name, _) in texts::MODE_BLOCKS {
            for human in [true, false] {
                let block = mode(name, human);
                assert!(estimate(&block.content.text, Class::Prose) <= 150, "{name}");
                assert_eq!(block.content.text.contains("no approval can be given"), !human);
                assert!(block.render().starts_with(&format!("<mode name=\"{name}\">\n")));
            }
        }
    }

    #[test]
    fn attached_blocks_are_told_apart_by_name() {
        assert_ne!(attached("a", "x", None).key, attached("b", "x", None).key);
        assert_eq!(attached("fit", "<lm>", Some(150)).render(), "<attached name=\"fit\">\n<lm>\n</attached>");
    }
}
