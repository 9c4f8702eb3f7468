//! Sections of the system prompt: the table of the built-in ones, and the facts they are made of.

use super::preset::Preset;
use super::texts;

/// How stable a section is; the first tier is the same for most sessions, which lets a provider cache it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Tier {
    /// The stable part.
    #[default]
    T0,
    /// What depends on the machine, the project and its extensions.
    T1,
}

impl Tier {
    /// Its name in R.
    pub fn as_str(self) -> &'static str {
        match self {
            Tier::T0 => "T0",
            Tier::T1 => "T1",
        }
    }

    /// The tier of that name.
    pub fn from_name(name: &str) -> Option<Tier> {
        [Tier::T0, Tier::T1].into_iter().find(|tier| tier.as_str() == name)
    }
}

/// A tool that the session declares.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ActiveTool {
    /// Its name as the model sees it.
    pub name: String,
    /// One line about it.
    pub snippet: Option<String>,
    /// Rules for its use.
    pub guidelines: Vec<String>,
}

/// What the built-in sections depend on.
#[derive(Debug, Clone, PartialEq)]
pub struct PromptFacts {
    /// The preset in use.
    pub preset: Preset,
    /// Declared tools in declaration order.
    pub tools: Vec<ActiveTool>,
    /// Standing lines of extensions, ordered by the extension's name.
    pub guidance: Vec<String>,
    /// The catalog of plugin members, already within its budget ([`crate::catalog::plugins_catalog`]).
    pub plugins: Option<String>,
}

impl PromptFacts {
    /// Facts of a session that has a preset and nothing else.
    pub fn new(preset: Preset) -> Self {
        PromptFacts { preset, tools: Vec::new(), guidance: Vec::new(), plugins: None }
    }

    fn has_tool(&self, name: &str) -> bool {
        self.tools.iter().any(|tool| tool.name == name)
    }
}

/// A built-in section.
pub struct Builtin {
    /// Its name, also its tag.
    pub name: &'static str,
    /// Its tier.
    pub tier: Tier,
    /// Its place in the tier.
    pub order: i64,
    /// Its budget in tokens; `None` where the text is kept within bounds elsewhere.
    pub budget: Option<u64>,
    /// The text, or nothing when the section is absent.
    pub text: fn(&PromptFacts) -> Option<String>,
}

/// The section without a tag of its own.
pub const PREAMBLE: &str = "preamble";

/// Sections that give way when the preamble is replaced as a whole.
pub const REPLACED_WITH_PREAMBLE: [&str; 2] = ["tools", "rules"];

/// Where sections stand that `.opts$system` adds.
pub const ADDED_ORDER: i64 = 760;

/// Built-in sections; a name with two rows has two forms, of which the facts choose one.
pub const BUILTINS: [Builtin; 10] = [
    Builtin { name: PREAMBLE, tier: Tier::T0, order: 100, budget: Some(120), text: preamble },
    Builtin { name: "tools", tier: Tier::T0, order: 200, budget: Some(250), text: tools },
    Builtin { name: "rules", tier: Tier::T0, order: 300, budget: Some(450), text: rules },
    Builtin { name: "r_session", tier: Tier::T0, order: 400, budget: Some(500), text: r_session },
    Builtin { name: "r_performance", tier: Tier::T0, order: 450, budget: Some(150), text: r_performance },
    Builtin { name: "r_performance", tier: Tier::T0, order: 450, budget: Some(450), text: r_performance_long },
    Builtin { name: "modes", tier: Tier::T0, order: 700, budget: Some(120), text: modes },
    Builtin { name: "context", tier: Tier::T0, order: 750, budget: Some(160), text: context },
    Builtin { name: "guidance", tier: Tier::T1, order: 810, budget: None, text: guidance },
    Builtin { name: "plugins", tier: Tier::T1, order: 860, budget: None, text: plugins },
];

fn preamble(facts: &PromptFacts) -> Option<String> {
    let text = if facts.preset.short_preamble { texts::PREAMBLE_SHORT } else { texts::PREAMBLE };
    Some(text.to_owned())
}

fn tools(facts: &PromptFacts) -> Option<String> {
    let with_snippet = facts.tools.iter().filter_map(|tool| Some((&tool.name, tool.snippet.as_deref()?)));
    let mut text: String = with_snippet.map(|(name, snippet)| format!("- {name}: {snippet}\n")).collect();
    if !text.is_empty() {
        text.push('\n');
    }
    text.push_str(texts::TOOLS_FOOTER);
    Some(text)
}

fn rules(facts: &PromptFacts) -> Option<String> {
    let of_tools = facts.tools.iter().flat_map(|tool| &tool.guidelines).map(String::as_str);
    let of_preset = facts.preset.extra_rules.iter().map(String::as_str);
    let all = of_tools.chain(of_preset).map(str::trim).filter(|rule| !rule.is_empty()).chain(texts::CLOSING_RULES);
    Some(bullets(all))
}

fn r_session(facts: &PromptFacts) -> Option<String> {
    facts.has_tool("r").then(|| texts::R_SESSION.to_owned())
}

fn r_performance(facts: &PromptFacts) -> Option<String> {
    (facts.has_tool("r") && !facts.preset.long_performance).then(|| texts::R_PERFORMANCE.to_owned())
}

fn r_performance_long(facts: &PromptFacts) -> Option<String> {
    (facts.has_tool("r") && facts.preset.long_performance).then(|| texts::R_PERFORMANCE_LONG.to_owned())
}

fn modes(_: &PromptFacts) -> Option<String> {
    Some(texts::MODES.to_owned())
}

fn context(_: &PromptFacts) -> Option<String> {
    Some(texts::CONTEXT.to_owned())
}

fn guidance(facts: &PromptFacts) -> Option<String> {
    let lines = bullets(facts.guidance.iter().map(String::as_str));
    (!lines.is_empty()).then_some(lines)
}

fn plugins(facts: &PromptFacts) -> Option<String> {
    facts.plugins.clone()
}

/// One `- ` line an item, each item once, in order of first appearance.
fn bullets<'a>(items: impl Iterator<Item = &'a str>) -> String {
    let unique: indexmap::IndexSet<&str> = items.collect();
    unique.iter().map(|item| format!("- {item}")).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;
    use crate::prompt::estimate::{Class, estimate};

    fn facts(preset: &str) -> PromptFacts {
        let r = ActiveTool {
            name: "r".into(),
            snippet: Some("run R code in the user's session".into()),
            guidelines: vec![],
        };
        PromptFacts { tools: vec![r], ..PromptFacts::new(Preset::builtin(preset).unwrap()) }
    }

    fn text(name: &str, facts: &PromptFacts) -> Option<String> {
        BUILTINS.iter().filter(|b| b.name == name).find_map(|b| (b.text)(facts))
    }

    #[test]
    fn every_built_in_text_fits_its_budget_in_every_preset() {
        for preset in Preset::builtin_names() {
            let facts = facts(preset);
            for section in &BUILTINS {
                let (Some(text), Some(budget)) = ((section.text)(&facts), section.budget) else { continue };
                let tokens = estimate(&text, Class::Prose);
                assert!(tokens <= budget, "{} has {tokens} of {budget} tokens in {preset}", section.name);
            }
        }
    }

    #[test]
    fn tools_lists_those_with_a_snippet_then_a_footer() {
        let mut facts = facts("standard");
        facts.tools.push(ActiveTool { name: "quiet".into(), ..ActiveTool::default() });
        let text = text("tools", &facts).unwrap();
        assert!(text.starts_with("- r: run R code in the user's session\n\nOther tools may exist"), "{text}");
        assert!(!text.contains("quiet"));
    }

    #[test]
    fn rules_are_guidelines_in_array_order_without_repeats_then_the_closing_ones() {
        let mut facts = facts("standard");
        facts.tools[0].guidelines = vec!["First.".into(), "Shared.".into()];
        facts.tools.push(ActiveTool {
            name: "b".into(),
            snippet: None,
            guidelines: vec!["Shared.".into(), "Last.".into()],
        });
        let text = text("rules", &facts).unwrap();
        assert!(text.starts_with("- First.\n- Shared.\n- Last.\n- Do what the task needs"), "{text}");
        assert!(text.lines().all(|line| line.starts_with("- ")));
    }

    #[test]
    fn minimal_has_two_rules_more() {
        let lines = |preset| text("rules", &facts(preset)).unwrap().lines().count();
        assert_eq!(lines("minimal"), lines("standard") + 2);
        assert!(text("rules", &facts("minimal")).unwrap().contains("gptr_return("));
    }

    #[test]
    fn extended_has_the_long_form_of_performance() {
        let present = |preset| {
            BUILTINS
                .iter()
                .filter(|b| b.name == "r_performance" && (b.text)(&facts(preset)).is_some())
                .map(|b| b.budget)
                .collect::<Vec<_>>()
        };
        assert_eq!(present("standard"), [Some(150)]);
        assert_eq!(present("extended"), [Some(450)]);
    }

    #[test]
    fn guidance_and_plugins_are_absent_without_lines() {
        let mut facts = facts("standard");
        assert_eq!((text("guidance", &facts), text("plugins", &facts)), (None, None));
        facts.guidance = vec!["Ask first.".into()];
        assert_eq!(text("guidance", &facts).unwrap(), "- Ask first.");
    }

    #[test]
    fn modes_end_with_approvals_when_nobody_is_present() {
        let last = texts::MODES.lines().last().unwrap();
        assert!(last.contains("When nobody is present"), "{last}");
    }
}
