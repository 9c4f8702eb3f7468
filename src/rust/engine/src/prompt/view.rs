//! What a new session would freeze, as data and as printed text.

use super::estimate::{Class, estimate};
use super::render::{Frozen, SectionInfo};
use super::section::Tier;
use crate::message::Block;
use crate::value::{Value, json};

/// The parts of a prompt with their sizes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptView {
    /// The preset in use.
    pub preset: String,
    /// Names of the declared tools, in order.
    pub tool_names: Vec<String>,
    /// The stable part of the system prompt.
    pub t0: String,
    /// Its other part.
    pub t1: String,
    /// The declared tools as JSON.
    pub tools_json: String,
    /// The blocks of a first message, a blank line between them.
    pub first_message: String,
    /// The sections.
    pub sections: Vec<SectionInfo>,
    /// False when sizes were not asked for.
    pub counted: bool,
}

impl PromptView {
    /// A view of a frozen prompt, its tools, and the blocks that a first message has.
    pub fn new(
        preset: &str,
        frozen: Frozen,
        tool_names: Vec<String>,
        tools_json: String,
        blocks: &[Block],
        counted: bool,
    ) -> Self {
        let texts = blocks.iter().filter_map(|block| match block {
            Block::Context { text, .. } | Block::Text { text, .. } => Some(text.as_str()),
            _ => None,
        });
        PromptView {
            preset: preset.to_owned(),
            tool_names,
            t0: frozen.t0,
            t1: frozen.t1,
            tools_json,
            first_message: texts.collect::<Vec<_>>().join("\n\n"),
            sections: frozen.sections,
            counted,
        }
    }

    /// Sections, tools and first message together; `None` when sizes were not asked for.
    pub fn total_tokens(&self) -> Option<u64> {
        let parts = self.tier_tokens(Tier::T0) + self.tier_tokens(Tier::T1);
        let rest = estimate(&self.tools_json, Class::Json) + estimate(&self.first_message, Class::Prose);
        self.counted.then_some(parts + rest)
    }

    fn tier_tokens(&self, tier: Tier) -> u64 {
        self.sections.iter().filter(|s| s.tier == tier).map(|s| s.tokens).sum()
    }

    /// The view as data; `sections` has one array a column.
    pub fn to_json(&self) -> Value {
        let column = |value: fn(&SectionInfo) -> Value| self.sections.iter().map(value).collect::<Vec<_>>();
        let tokens = column(if self.counted { |s| json!(s.tokens) } else { |_| Value::Null });
        json!({
            "system": {"t0": self.t0, "t1": self.t1},
            "tools_json": self.tools_json,
            "first_message": self.first_message,
            "sections": {"name": column(|s| json!(s.name)), "tier": column(|s| json!(s.tier.as_str())), "tokens": tokens},
            "total_tokens": self.total_tokens(),
            "preset": self.preset,
            "tool_names": self.tool_names,
        })
    }

    /// The printed lines.
    pub fn format(&self) -> Vec<String> {
        let tier = |tier| self.counted.then(|| self.tier_tokens(tier));
        let tools = if self.tool_names.is_empty() { "(none)".to_owned() } else { self.tool_names.join(", ") };
        let mut lines = vec![format!("gptr prompt, preset {}{}", self.preset, count(self.total_tokens()))];
        lines.push(format!("-- system block T0{} --", count(tier(Tier::T0))));
        lines.extend(self.t0.lines().map(str::to_owned));
        lines.push(format!("-- system block T1{} --", count(tier(Tier::T1))));
        lines.extend(self.t1.lines().map(str::to_owned));
        lines.push(format!("-- tool array: {tools} --"));
        lines.push("-- first user message --".to_owned());
        lines.extend(self.first_message.lines().map(str::to_owned));
        lines.push("-- sections --".to_owned());
        lines.extend(self.table());
        lines
    }

    /// The sections as R prints a data frame without row names: columns to the right, one blank before each.
    fn table(&self) -> Vec<String> {
        let tokens = |s: &SectionInfo| if self.counted { s.tokens.to_string() } else { "NA".to_owned() };
        let head = ["name", "tier", "tokens"].map(str::to_owned);
        let body = self.sections.iter().map(|s| [s.name.clone(), s.tier.as_str().to_owned(), tokens(s)]);
        let rows: Vec<[String; 3]> = std::iter::once(head).chain(body).collect();
        let mut widths = [0_usize; 3];
        for row in &rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.chars().count());
            }
        }
        rows.iter()
            .map(|row| row.iter().zip(widths).map(|(cell, width)| format!(" {cell:>width$}")).collect())
            .collect()
    }
}

/// ` (<n> tokens)`, or nothing when the number is unknown.
fn count(tokens: Option<u64>) -> String {
    tokens.map(|n| format!(" ({} tokens)", thousands(n))).unwrap_or_default()
}

/// A number with a comma before each group of three digits.
pub fn thousands(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;
    use crate::value::Map;

    fn view(counted: bool) -> PromptView {
        let sections = vec![
            SectionInfo { name: "preamble".into(), tier: Tier::T0, tokens: 1200 },
            SectionInfo { name: "house".into(), tier: Tier::T1, tokens: 9 },
        ];
        let frozen = Frozen { t0: "You are.".into(), t1: "<house>\nx\n</house>".into(), sections, orphans: vec![] };
        let block =
            |text: &str| Block::Context { kind: "k".into(), attrs: Map::new(), text: text.into(), anchor: false };
        PromptView::new(
            "standard",
            frozen,
            vec!["read".into(), "r".into()],
            "[]".into(),
            &[block("<a>\n1\n</a>"), block("<b>\n2\n</b>")],
            counted,
        )
    }

    #[test]
    fn case_61_the_total_is_the_sum_of_its_parts() {
        let data = view(true).to_json();
        let first = estimate("<a>\n1\n</a>\n\n<b>\n2\n</b>", Class::Prose);
        assert_eq!(data["total_tokens"], 1200 + 9 + estimate("[]", Class::Json) + first);
        assert_eq!(data["sections"]["name"], json!(["preamble", "house"]));
    }

    #[test]
    fn case_61_without_tokens_sizes_are_unknown() {
        let data = view(false).to_json();
        assert_eq!(data["sections"]["tokens"], json!([null, null]));
        assert_eq!(data["total_tokens"], Value::Null);
        assert_eq!(view(false).format()[0], "gptr prompt, preset standard");
    }

    #[test]
    fn the_printed_form() {
        let expected = "\
gptr prompt, preset standard (1,216 tokens)
-- system block T0 (1,200 tokens) --
You are.
-- system block T1 (9 tokens) --
<house>
x
</house>
-- tool array: read, r --
-- first user message --
<a>
1
</a>

<b>
2
</b>
-- sections --
     name tier tokens
 preamble   T0   1200
    house   T1      9";
        assert_eq!(view(true).format().join("\n"), expected);
    }

    #[test]
    fn no_tools_and_large_numbers() {
        let none = PromptView { tool_names: vec![], ..view(true) };
        assert!(none.format().contains(&"-- tool array: (none) --".to_owned()));
        assert_eq!(
            [thousands(0), thousands(999), thousands(1000), thousands(1_234_567)],
            ["0", "999", "1,000", "1,234,567"]
        );
    }
}
