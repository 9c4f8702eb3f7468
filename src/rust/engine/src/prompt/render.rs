//! Assembling the system prompt that a session freezes.

use std::collections::HashSet;

use super::budget::{FirstLine, cut};
use super::estimate::{Class, estimate};
use super::section::{ADDED_ORDER, BUILTINS, Builtin, PREAMBLE, PromptFacts, REPLACED_WITH_PREAMBLE, Tier};
use crate::error::Error;
use crate::value::HostValue;

/// A section of a user, a plugin or a session, its text rendered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SectionRecord {
    /// Its name, also its tag.
    pub name: String,
    /// Its tier.
    pub tier: Tier,
    /// Its place in the tier.
    pub order: i64,
    /// Its budget in tokens; `None` for no limit.
    pub budget: Option<u64>,
    /// The section that it is a fragment of.
    pub parent: Option<String>,
    /// The text; `None` leaves the section out.
    pub text: Option<String>,
}

/// What replaces built-in text: `SYSTEM.md` or `.opts$system`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SystemOption {
    /// Takes the place of preamble, tools and rules.
    Whole(String),
    /// New texts of single sections, by name; `None` drops one.
    Sections(Vec<(String, Option<String>)>),
}

impl SystemOption {
    /// Reads `.opts$system`; NULL is no replacement.
    ///
    /// # Errors
    /// An argument error (`system`) for anything but a string or a list of strings and NULLs with proper names.
    pub fn from_value(value: &HostValue) -> Result<Option<SystemOption>, Error> {
        if value.is_null() {
            return Ok(None);
        }
        if let (Some(text), None) = (value.as_str(), &value.names) {
            return Ok(Some(SystemOption::Whole(text.to_owned())));
        }
        let wrong = || Error::argument("system", "a string or a named list of strings", &value.describe());
        let names = value.names.as_ref().filter(|names| value.uniquely_named() && names.iter().all(|n| is_tag(n)));
        let names = names.ok_or_else(wrong)?;
        let texts: Option<Vec<Option<String>>> = match value.as_strings() {
            Some(strings) => Some(strings.into_iter().map(|s| Some(s.to_owned())).collect()),
            None => value.items().and_then(|items| items.iter().map(section_text).collect()),
        };
        let texts = texts.ok_or_else(wrong)?;
        Ok(Some(SystemOption::Sections(names.iter().cloned().zip(texts).collect())))
    }
}

fn section_text(value: &HostValue) -> Option<Option<String>> {
    if value.is_null() { Some(None) } else { value.as_str().map(|text| Some(text.to_owned())) }
}

/// True for a name that can stand in `<` and `>`.
pub(super) fn is_tag(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'))
}

/// A section as it was frozen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SectionInfo {
    /// Its name.
    pub name: String,
    /// Its tier.
    pub tier: Tier,
    /// Its estimate, tags and fragments included.
    pub tokens: u64,
}

/// The system prompt of a session.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Frozen {
    /// The stable part.
    pub t0: String,
    /// The other part; empty when nothing belongs to it.
    pub t1: String,
    /// Its sections, in order.
    pub sections: Vec<SectionInfo>,
    /// Fragments of a section that nobody has, as `(name, parent)`. A fragment of one that is only absent here goes with
    /// it, unreported.
    pub orphans: Vec<(String, String)>,
}

/// Assembles the prompt from the built-in sections that `facts` call for, and the `own` ones in order of precedence.
///
/// Sections stand by tier and order; of equal ones those of `own` come first, in the order given. A fragment is added
/// to the end of its section and has a budget of its own.
pub fn assemble(facts: &PromptFacts, own: &[SectionRecord], system: Option<&SystemOption>) -> Frozen {
    let (fragments, whole): (Vec<&SectionRecord>, Vec<&SectionRecord>) =
        own.iter().partition(|record| record.parent.is_some());
    let mut sections: Vec<SectionRecord> = whole.into_iter().cloned().collect();
    sections.extend(BUILTINS.iter().map(|section| builtin(section, facts)));
    let known: HashSet<String> = sections.iter().map(|section| section.name.clone()).collect();
    sections.retain(|section| !facts.preset.drops(&section.name));
    if let Some(system) = system {
        replace(&mut sections, system);
    }
    sections.retain(has_text);
    sections.sort_by_key(|section| (section.tier, section.order));
    let orphans =
        fragments.iter().filter_map(|f| Some((f.name.clone(), f.parent.clone().filter(|p| !known.contains(p))?)));
    Frozen { orphans: orphans.collect(), ..freeze(&sections, fragments) }
}

fn builtin(section: &Builtin, facts: &PromptFacts) -> SectionRecord {
    let text = (section.text)(facts);
    SectionRecord {
        name: section.name.to_owned(),
        tier: section.tier,
        order: section.order,
        budget: section.budget,
        parent: None,
        text,
    }
}

fn replace(sections: &mut Vec<SectionRecord>, system: &SystemOption) {
    match system {
        SystemOption::Whole(text) => {
            sections.retain(|s| !REPLACED_WITH_PREAMBLE.contains(&s.name.as_str()));
            replace_one(sections, PREAMBLE, Some(text));
        }
        SystemOption::Sections(texts) => {
            for (name, text) in texts {
                replace_one(sections, name, text.as_deref());
            }
        }
    }
}

/// Puts a text in the place of a section, free of its budget: what somebody wrote out for this session is theirs to
/// measure. A built-in section that is absent comes back at its own place; an unknown name is added.
fn replace_one(sections: &mut Vec<SectionRecord>, name: &str, text: Option<&str>) {
    let known = BUILTINS.iter().find(|b| b.name == name).map(|b| (b.tier, b.order));
    let place = sections.iter().find(|s| s.name == name).map(|s| (s.tier, s.order)).or(known);
    let (tier, order) = place.unwrap_or((Tier::T0, ADDED_ORDER));
    sections.retain(|s| s.name != name);
    sections.push(SectionRecord {
        name: name.to_owned(),
        tier,
        order,
        budget: None,
        parent: None,
        text: text.map(str::to_owned),
    });
}

fn freeze(sections: &[SectionRecord], mut fragments: Vec<&SectionRecord>) -> Frozen {
    fragments.retain(|fragment| has_text(fragment));
    fragments.sort_by_key(|fragment| fragment.order);
    let mut frozen = Frozen::default();
    for section in sections {
        let mut text = within_budget(section);
        for fragment in fragments.extract_if(.., |f| f.parent.as_deref() == Some(&section.name)) {
            text.push('\n');
            text.push_str(&within_budget(fragment));
        }
        let rendered = tagged(&section.name, &text);
        let tokens = estimate(&rendered, Class::Prose);
        frozen.sections.push(SectionInfo { name: section.name.clone(), tier: section.tier, tokens });
        let tier = match section.tier {
            Tier::T0 => &mut frozen.t0,
            Tier::T1 => &mut frozen.t1,
        };
        if !tier.is_empty() {
            tier.push_str("\n\n");
        }
        tier.push_str(&rendered);
    }
    frozen
}

fn has_text(section: &SectionRecord) -> bool {
    section.text.as_deref().is_some_and(|text| !text.trim().is_empty())
}

fn within_budget(section: &SectionRecord) -> String {
    let text = section.text.as_deref().unwrap_or_default().trim_end_matches(['\r', '\n']);
    match section.budget {
        Some(budget) => cut(text, Class::Prose, budget, "section", FirstLine::Drop),
        None => text.to_owned(),
    }
}

/// A section as it stands in the prompt and in a later message about its change.
pub fn tagged(name: &str, text: &str) -> String {
    let tag = tag_name(name);
    if name == PREAMBLE { text.to_owned() } else { format!("<{tag}>\n{text}\n</{tag}>") }
}

/// A name as a tag: odd characters become `_`.
pub(super) fn tag_name(name: &str) -> String {
    let legal = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.') { c } else { '_' };
    let tag: String = name.chars().map(legal).collect();
    if is_tag(&tag) { tag } else { format!("_{tag}") }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;
    use crate::prompt::preset::Preset;
    use crate::prompt::section::ActiveTool;

    fn facts(preset: &str) -> PromptFacts {
        let tools = vec![ActiveTool { name: "r".into(), snippet: Some("run R code".into()), guidelines: vec![] }];
        PromptFacts { tools, ..PromptFacts::new(Preset::builtin(preset).unwrap()) }
    }

    fn record(name: &str, tier: Tier, order: i64, text: &str) -> SectionRecord {
        SectionRecord { name: name.into(), tier, order, budget: Some(300), parent: None, text: Some(text.into()) }
    }

    fn names(frozen: &Frozen) -> Vec<&str> {
        frozen.sections.iter().map(|s| s.name.as_str()).collect()
    }

    #[test]
    fn case_61_the_standard_sections_in_order() {
        let frozen = assemble(&facts("standard"), &[], None);
        assert_eq!(names(&frozen), ["preamble", "tools", "rules", "r_session", "r_performance", "modes", "context"]);
        assert!(frozen.t0.starts_with("You are Peter"));
        assert!(frozen.t0.contains(".\n\n<tools>\n- r: run R code\n\n") && frozen.t0.ends_with("\n</context>"));
        assert_eq!(frozen.t1, "");
    }

    #[test]
    fn minimal_drops_what_it_names() {
        assert_eq!(names(&assemble(&facts("minimal"), &[], None)), ["preamble", "tools", "rules", "modes", "context"]);
    }

    #[test]
    fn case_63_a_users_section_at_780_stands_before_skills_and_is_cut_to_its_budget() {
        let long = vec!["A line of the house rules."; 100].join("\n");
        let own = [
            record("skills", Tier::T1, 820, "- one: a skill"),
            SectionRecord { budget: Some(50), ..record("house_rules", Tier::T1, 780, &long) },
        ];
        let frozen = assemble(&facts("standard"), &own, None);
        assert!(frozen.t1.starts_with("<house_rules>\nA line of the house rules.\n"));
        assert!(frozen.t1.contains("\n[... section truncated to 50 tokens]\n</house_rules>\n\n<skills>\n"));
    }

    #[test]
    fn case_64_what_is_frozen_is_a_value_of_its_own() {
        let own = [record("house_rules", Tier::T1, 780, "Report units.")];
        let first = assemble(&facts("standard"), &own, None);
        assert!(first.t1.contains("Report units."));
        assert_eq!(assemble(&facts("standard"), &[], None).t1, "");
    }

    #[test]
    fn case_65_a_string_replaces_preamble_tools_and_rules() {
        let system = SystemOption::from_value(&"You count.".into()).unwrap().unwrap();
        let frozen = assemble(&facts("standard"), &[], Some(&system));
        assert!(frozen.t0.starts_with("You count.\n\n<r_session>"));
        assert!(!frozen.t0.contains("<tools>") && !frozen.t0.contains("<rules>"));
    }

    #[test]
    fn a_named_list_replaces_drops_and_adds() {
        let value = HostValue::named([
            ("rules", "Only this.".into()),
            ("modes", HostValue::null()),
            ("lab", "Bench 4.".into()),
            ("r_session", "Yes.".into()),
        ]);
        let system = SystemOption::from_value(&value).unwrap().unwrap();
        let frozen = assemble(&facts("minimal"), &[], Some(&system));
        assert_eq!(names(&frozen), ["preamble", "tools", "rules", "r_session", "context", "lab"]);
        assert!(frozen.t0.contains("<rules>\nOnly this.\n</rules>") && frozen.t0.ends_with("<lab>\nBench 4.\n</lab>"));
    }

    #[test]
    fn a_bad_system_option_is_its_own_argument() {
        for bad in [
            HostValue::from(1.0),
            HostValue::list(["x".into()]),
            HostValue::named([("a b", "x".into())]),
            HostValue::named([("a", 1.into())]),
            HostValue::strings(["a", "b"]),
        ] {
            let error = SystemOption::from_value(&bad).unwrap_err();
            assert!(matches!(&error, Error::InvalidArgument { arg, .. } if arg == "system"), "{error:?}");
        }
        assert_eq!(SystemOption::from_value(&HostValue::null()), Ok(None));
    }

    #[test]
    fn sections_of_one_order_stand_as_registered_before_the_built_in_one() {
        let own = [record("b", Tier::T0, 300, "B"), record("a", Tier::T0, 300, "A")];
        assert_eq!(names(&assemble(&facts("minimal"), &own, None))[1..5], ["tools", "b", "a", "rules"]);
    }

    #[test]
    fn a_fragment_joins_its_section_and_without_one_it_is_reported() {
        let fragment = |name: &str, parent: &str, order| SectionRecord {
            parent: Some(parent.into()),
            ..record(name, Tier::T0, order, name)
        };
        let absent = fragment("absent", "r_session", 1);
        let own =
            [fragment("two", "context", 2), fragment("one", "context", 1), fragment("lost", "nowhere", 1), absent];
        let frozen = assemble(&facts("minimal"), &own, None);
        assert!(frozen.t0.ends_with("\none\ntwo\n</context>"), "{}", frozen.t0);
        assert_eq!(frozen.orphans, [("lost".to_owned(), "nowhere".to_owned())]);
        assert!(!names(&frozen).contains(&"one"));
    }

    #[test]
    fn guidance_stands_in_t1_once() {
        let facts = PromptFacts { guidance: vec!["Stop and ask.".into(), "Stop and ask.".into()], ..facts("standard") };
        assert_eq!(assemble(&facts, &[], None).t1, "<guidance>\n- Stop and ask.\n</guidance>");
    }

    #[test]
    fn a_section_without_text_is_absent_and_its_last_line_break_is_not_doubled() {
        let own = [record("blank", Tier::T1, 1, " \n"), record("odd name>", Tier::T1, 2, "Text.\n")];
        assert_eq!(assemble(&facts("minimal"), &own, None).t1, "<odd_name_>\nText.\n</odd_name_>");
    }

    #[test]
    fn a_preset_drops_sections_of_others_by_name_too() {
        assert_eq!(assemble(&facts("minimal"), &[record("skills", Tier::T1, 820, "- one")], None).t1, "");
    }
}
