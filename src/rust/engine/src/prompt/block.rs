//! Context blocks: data for the model in tags, beside what the user wrote.

use std::collections::HashMap;

use super::budget::{FirstLine, cut};
use super::estimate::Class;
use super::render::{is_tag, tag_name};
use crate::message::Block;
use crate::value::{HostValue, Map, Value};

/// In which messages a block stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Placement {
    /// In the first message.
    First,
    /// In every later prompt, when its text changed.
    #[default]
    Turn,
    /// In both.
    Both,
}

impl Placement {
    /// Its name in R.
    pub fn as_str(self) -> &'static str {
        match self {
            Placement::First => "first",
            Placement::Turn => "turn",
            Placement::Both => "both",
        }
    }

    /// The placement of that name.
    pub fn from_name(name: &str) -> Option<Placement> {
        [Placement::First, Placement::Turn, Placement::Both].into_iter().find(|p| p.as_str() == name)
    }

    fn stands(self, in_first: bool) -> bool {
        match self {
            Placement::First => in_first,
            Placement::Turn => !in_first,
            Placement::Both => true,
        }
    }
}

/// What a block says: its text and the attributes of its tag.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Content {
    /// The text between the tags.
    pub text: String,
    /// Attributes in order; numbers and flags are written as JSON has them, null leaves one out.
    pub attrs: Map<String, Value>,
}

/// A block that may stand in the next message.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// What it is compared by with the one before: the record's name, and what tells several of one record apart.
    pub key: String,
    /// Its tag.
    pub kind: String,
    /// Where it stands.
    pub placement: Placement,
    /// Its place among the others.
    pub order: i64,
    /// Its budget in tokens; `None` for no limit.
    pub budget: Option<u64>,
    /// The class its text is estimated in.
    pub class: Class,
    /// True for the block up to which a provider's cache should reach.
    pub anchor: bool,
    /// Text and attributes, redacted already.
    pub content: Content,
}

/// The blocks that a conversation has seen since its last compaction.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BlockMemory {
    last: HashMap<String, String>,
}

impl BlockMemory {
    /// The blocks of the next message, by order and then as given, and keeps them in mind.
    ///
    /// In a later prompt a block is left out when it reads as it did the last time.
    pub fn choose(&mut self, first: bool, mut candidates: Vec<Candidate>) -> Vec<Block> {
        candidates.retain(|candidate| candidate.placement.stands(first));
        candidates.sort_by_key(|candidate| candidate.order);
        candidates.into_iter().filter_map(|candidate| self.admit(first, candidate)).collect()
    }

    /// Keeps a rendered block in mind that was sent before, as when a conversation is taken up again.
    pub fn remember(&mut self, key: &str, rendered: &str) {
        self.last.insert(key.to_owned(), rendered.to_owned());
    }

    /// Forgets all, as after a compaction.
    pub fn forget(&mut self) {
        self.last.clear();
    }

    fn admit(&mut self, first: bool, candidate: Candidate) -> Option<Block> {
        let text = candidate.render();
        let before = self.last.insert(candidate.key, text.clone());
        if !first && before.as_ref() == Some(&text) {
            return None;
        }
        Some(Block::Context { kind: candidate.kind, attrs: candidate.content.attrs, text, anchor: candidate.anchor })
    }
}

impl Candidate {
    /// The block as the model reads it, within its budget.
    pub fn render(&self) -> String {
        let text = match self.budget {
            Some(budget) => cut(&self.content.text, self.class, budget, "block", FirstLine::Cut),
            None => self.content.text.clone(),
        };
        render(&self.kind, &self.content.attrs, &text)
    }
}

/// `<kind a="v">`, the text on lines of its own, `</kind>`.
///
/// The text can't end its own block: a closing tag of the same kind inside it loses its `<`. In a kind that is no tag
/// name the odd characters become `_`; an attribute with such a name is left out.
pub fn render(kind: &str, attrs: &Map<String, Value>, text: &str) -> String {
    let kind = tag_name(kind);
    let mut out = format!("<{kind}");
    for (name, value) in attrs {
        if let (true, Some(value)) = (is_tag(name), attribute_text(value)) {
            out.push_str(&format!(" {name}=\"{}\"", escape_attribute(&value)));
        }
    }
    out.push_str(">\n");
    out.push_str(&contain(&kind, text));
    if !out.ends_with('\n') {
        out.push('\n');
    }
    out.push_str(&format!("</{kind}>"));
    out
}

fn attribute_text(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

/// Escapes what would end the attribute or start a tag, and drops control characters.
fn escape_attribute(value: &str) -> String {
    let mut out = String::with_capacity(value.len());
    for c in value.chars().filter(|c| !c.is_control()) {
        match c {
            '"' => out.push_str("&quot;"),
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            _ => out.push(c),
        }
    }
    out
}

fn contain(kind: &str, text: &str) -> String {
    let close = format!("</{kind}");
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = find_ignoring_case(rest, &close) {
        out.push_str(&rest[..at]);
        out.push_str("&lt;");
        rest = &rest[at + 1..];
    }
    out.push_str(rest);
    out
}

/// Where an ASCII needle first stands. Every hit starts at `<`, so the cut is at a character's boundary.
fn find_ignoring_case(text: &str, needle: &str) -> Option<usize> {
    let (bytes, needle) = (text.as_bytes(), needle.as_bytes());
    text.match_indices('<')
        .map(|(at, _)| at)
        .find(|at| bytes.get(*at..at + needle.len()).is_some_and(|window| window.eq_ignore_ascii_case(needle)))
}

/// Reads what a block's `provide()` answered: NULL, text, `list(text, attrs)`, or a list of those.
///
/// # Errors
/// What is wrong with the answer, for a diagnostic.
pub fn contents(answer: &HostValue) -> Result<Vec<Content>, String> {
    if answer.is_null() {
        return Ok(Vec::new());
    }
    if let Some(one) = content(answer)? {
        return Ok(vec![one]);
    }
    let items = answer.items().filter(|_| answer.is_plain_list()).ok_or_else(|| unfit(answer))?;
    let mut out = Vec::with_capacity(items.len());
    for item in items.iter().filter(|item| !item.is_null()) {
        out.push(content(item)?.ok_or_else(|| unfit(item))?);
    }
    Ok(out)
}

fn unfit(answer: &HostValue) -> String {
    format!("must answer NULL, text, list(text, attrs) or a list of those, not {}", answer.describe())
}

/// One text or `list(text, attrs)`; `None` for anything else.
fn content(answer: &HostValue) -> Result<Option<Content>, String> {
    if let Some(text) = joined(answer) {
        return Ok(Some(Content { text, attrs: Map::new() }));
    }
    let Some(text) = answer.field("text") else { return Ok(None) };
    let text = joined(text).ok_or_else(|| format!("must answer text, not {}, as `text`", text.describe()))?;
    let attrs = match answer.field("attrs") {
        None => Map::new(),
        Some(attrs) => match attrs.to_json().map_err(|e| format!("has an unusable `attrs`: {e}"))? {
            Value::Object(map) => map,
            Value::Array(items) if items.is_empty() => Map::new(),
            _ => return Err("must have names on `attrs`".to_owned()),
        },
    };
    Ok(Some(Content { text, attrs }))
}

/// The elements of a character vector on one line each.
fn joined(value: &HostValue) -> Option<String> {
    let crate::value::HostData::Character(lines) = &value.data else { return None };
    Some(lines.iter().map(|line| line.as_deref().unwrap_or("NA")).collect::<Vec<_>>().join("\n"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;
    use crate::value::json;

    fn candidate(key: &str, placement: Placement, order: i64, text: &str) -> Candidate {
        let content = Content { text: text.into(), attrs: Map::new() };
        Candidate {
            key: key.into(),
            kind: key.into(),
            placement,
            order,
            budget: Some(300),
            class: Class::Prose,
            anchor: false,
            content,
        }
    }

    fn kinds(blocks: &[Block]) -> Vec<&str> {
        blocks.iter().map(|b| if let Block::Context { kind, .. } = b { kind.as_str() } else { "" }).collect()
    }

    fn attrs(value: Value) -> Map<String, Value> {
        value.as_object().cloned().unwrap()
    }

    #[test]
    fn case_66_a_first_block_stands_in_message_one_and_an_unchanged_turn_block_once() {
        let mut memory = BlockMemory::default();
        let all = || {
            vec![
                candidate("f", Placement::First, 2, "F"),
                candidate("t", Placement::Turn, 1, "T"),
                candidate("b", Placement::Both, 1, "B"),
            ]
        };
        assert_eq!(kinds(&memory.choose(true, all())), ["b", "f"]);
        assert_eq!(kinds(&memory.choose(false, all())), ["t"]);
        assert!(memory.choose(false, all()).is_empty());
        assert_eq!(kinds(&memory.choose(false, vec![candidate("t", Placement::Turn, 1, "T2")])), ["t"]);
        memory.forget();
        assert_eq!(kinds(&memory.choose(false, all())), ["t", "b"]);
    }

    #[test]
    fn case_66_a_quote_in_an_attribute_is_escaped() {
        let rendered =
            render("attached", &attrs(json!({"name": "a\"b<&>\u{7}\n", "n": 3, "skip": null, "bad name": 1})), "text");
        assert_eq!(rendered, "<attached name=\"a&quot;b&lt;&amp;&gt;\" n=\"3\">\ntext\n</attached>");
    }

    #[test]
    fn a_block_that_goes_back_to_an_older_text_is_sent_again() {
        let mut memory = BlockMemory::default();
        let sent: Vec<usize> =
            ["A", "B", "A"].map(|t| memory.choose(false, vec![candidate("t", Placement::Turn, 1, t)]).len()).to_vec();
        assert_eq!(sent, [1, 1, 1]);
        let mut resumed = BlockMemory::default();
        resumed.remember("t", "<t>\nA\n</t>");
        assert!(resumed.choose(false, vec![candidate("t", Placement::Turn, 1, "A")]).is_empty());
    }

    #[test]
    fn a_text_cannot_end_its_own_block() {
        let rendered = render("attached", &Map::new(), "x </ATTACHED> y </attached\n> z </other>");
        assert_eq!(rendered, "<attached>\nx &lt;/ATTACHED> y &lt;/attached\n> z </other>\n</attached>");
    }

    #[test]
    fn a_block_is_cut_to_its_budget() {
        let long = Candidate { budget: Some(20), ..candidate("lab", Placement::Turn, 1, &"word ".repeat(500)) };
        let rendered = long.render();
        assert!(rendered.ends_with("\n[... block truncated to 20 tokens]\n</lab>"), "{rendered}");
        assert!(rendered.starts_with("<lab>\nword word"));
    }

    #[test]
    fn answers_of_provide_are_read() {
        assert_eq!(contents(&HostValue::null()), Ok(vec![]));
        assert_eq!(contents(&HostValue::strings(["a", "b"])).unwrap()[0].text, "a\nb");
        let pair = HostValue::named([("text", "t".into()), ("attrs", HostValue::named([("n", HostValue::from(2))]))]);
        assert_eq!(contents(&pair).unwrap(), [Content { text: "t".into(), attrs: attrs(json!({"n": 2})) }]);
        assert_eq!(contents(&HostValue::list([pair, "u".into(), HostValue::null()])).unwrap().len(), 2);
        for bad in
            [HostValue::from(1.0), HostValue::named([("text", HostValue::from(true))]), HostValue::list([1.into()])]
        {
            assert!(contents(&bad).is_err(), "{bad:?}");
        }
    }
}
